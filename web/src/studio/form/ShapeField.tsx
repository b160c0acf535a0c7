import { Box, Group, Select, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useRef, type KeyboardEvent } from 'react';
import { Dimmed } from '../../components/styles.ts';
import { Clear, Default } from '../runs/Clear.tsx';
import type { PropsOf } from './control.ts';
import { sidesOf } from './schema.ts';
import classes from './ShapeField.module.css';
import { objectOf } from '../../../../client/src/unknown.ts';
import { useTranslation } from '../../i18n.ts';
import { NumberInput } from '../../components/NumberInput.tsx';

/** Aspect ratios or sizes, each with a small drawing. */
export function RatioField(given: PropsOf<'ratio'>) {
  const { t } = useTranslation('studio');
  const { label, control, value, onChange, error, required, fallback } = given;
  const { options, free } = control;
  const chosen = typeof value === 'string' ? value : undefined;
  const isOwn = chosen !== undefined && !options.includes(chosen);
  const buttons = useRef<(HTMLButtonElement | null)[]>([]);
  const current = Math.max(0, options.indexOf(chosen ?? ''));
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (current + step + options.length) % options.length;
    onChange(options[next]);
    buttons.current[next]?.focus();
  };
  return (
    <Group gap={6}>
      <Group gap={6} role="radiogroup" aria-label={label} onKeyDown={move}>
        {options.map((option, i) => (
          <UnstyledButton
            key={option}
            ref={(node) => {
              buttons.current[i] = node;
            }}
            className={classes.ratio}
            role="radio"
            aria-checked={option === chosen}
            tabIndex={i === current ? 0 : -1}
            onClick={() => onChange(option === chosen && !required ? fallback : option)}
          >
            <Shape ratio={option} />
            <Text fz={11} span>
              {option.replaceAll('_', ' ').replace('*', '×')}
            </Text>
          </UnstyledButton>
        ))}
      </Group>
      {free && (
        <TextInput
          aria-label={t('own_ratio')}
          placeholder={t('own_ratio_hint')}
          w={86}
          size="sm"
          error={Boolean(error)}
          value={isOwn ? chosen : ''}
          onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
        />
      )}
      {!required && value === fallback && <Default isShown={chosen !== undefined} />}
      {!required && value !== fallback && (
        <Clear label={t('leave_open', { field: label })} onClick={() => onChange(fallback)} />
      )}
    </Group>
  );
}

const side = 20;

function Shape({ ratio }: { ratio: string }) {
  const [width, height] = sidesOf(ratio) ?? [1, 1];
  const scale = side / Math.max(width, height);
  return (
    <Box className={classes.frame}>
      <Box
        className={classes.shape}
        style={{
          width: width * scale,
          height: height * scale,
          borderStyle: sidesOf(ratio) ? 'solid' : 'dashed',
        }}
      />
    </Box>
  );
}

const own = 'own';

/** A size by name, or as width and height. */
export function SizeField({ label, control, value, onChange, required }: PropsOf<'size'>) {
  const { t } = useTranslation('studio');
  const { names, min, max } = control;
  const size = sizeOf(value);
  const chosen = size ? own : typeof value === 'string' ? value : null;
  const choose = (name: string | null) => {
    if (name === null) onChange(undefined);
    else onChange(name === own ? { width: 1024, height: 1024 } : name);
  };
  return (
    <Group gap="xs" align="center">
      <Select
        aria-label={label}
        data={[
          ...names.map((name) => ({ value: name, label: name.replaceAll('_', ' ') })),
          { value: own, label: t('own_size') },
        ]}
        value={chosen}
        onChange={choose}
        clearable={!required}
        placeholder={t('choose')}
        clearButtonProps={{ 'aria-label': t('leave_open', { field: label }) }}
        w={190}
      />
      {size && (
        <Group gap={6} wrap="nowrap">
          {(['width', 'height'] as const).map((name) => (
            <NumberInput
              key={name}
              aria-label={t(`field.${name}`)}
              value={size[name]}
              min={min}
              max={max}
              step={64}
              w={96}
              allowDecimal={false}
              onChange={(next) => typeof next === 'number' && onChange({ ...size, [name]: next })}
            />
          ))}
          <Dimmed>px</Dimmed>
        </Group>
      )}
    </Group>
  );
}

function sizeOf(value: unknown): { width: number; height: number } | null {
  if (typeof value === 'string') {
    const [, width, height] = /^(\d+)x(\d+)$/.exec(value) ?? [];
    return width && height ? { width: Number(width), height: Number(height) } : null;
  }
  const { width, height } = objectOf(value);
  return typeof width === 'number' && typeof height === 'number' ? { width, height } : null;
}
