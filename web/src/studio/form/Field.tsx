import {
  ActionIcon,
  Box,
  Group,
  Input,
  JsonInput,
  SegmentedControl,
  Select,
  Slider,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Tooltip,
} from '@mantine/core';
import { IconDice5, IconPlus } from '@tabler/icons-react';
import { useEffect, useId, useState, type ReactNode } from 'react';
import { exactJson, shownNumber, typedNumber } from '../../exact-json.ts';
import { RowButton } from '../../components/styles.ts';
import { Clear, Default } from '../runs/Clear.tsx';
import type { ControlProps, PropsOf } from './control.ts';
import { MediaField } from './MediaField.tsx';
import { RatioField, SizeField } from './ShapeField.tsx';
import { anotherSeed, type Control, type Field as FieldOf } from './schema.ts';
import { useTranslation } from '../../i18n.ts';
import { NumberInput } from '../../components/NumberInput.tsx';

/** One field of a model's input, with the control for its schema. */

export interface FieldProps {
  field: FieldOf;
  value: unknown;
  onChange: (value: unknown) => void;
  /** The service's error for this field. */
  error: string | undefined;
  assumed: unknown;
  priceOf: ControlProps['priceOf'];
}

/** Options are shown side by side up to this number, and up to this many letters in total. */
const segments = { options: 5, letters: 26 };
/** A slider with more steps is too fine to use. */
const sliderStepsMax = 200;

export function useFieldLabel() {
  const { t } = useTranslation('studio');
  return ({ name, schema }: FieldOf) =>
    t(`field.${name}`, { defaultValue: schema.title ?? readableName(name) });
}

function readableName(name: string): string {
  const words = name.replace(/_urls?$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function Field({ field, value, onChange, error, assumed, priceOf }: FieldProps) {
  const id = useId();
  const label = useFieldLabel()(field);
  const { control, required, schema } = field;
  const fallback = schema.default;
  const given = { id, label, value, onChange, error, required, fallback, assumed, priceOf };
  const extra = priceOf(true);
  if (control.as === 'switch') {
    return (
      <Switch
        label={extra === null ? label : `${label} · ${extra}`}
        description={schema.description}
        checked={(value ?? assumed) === true}
        error={error}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  return (
    <Input.Wrapper
      id={id}
      label={label}
      description={schema.description}
      error={error}
      withAsterisk={required}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      labelElement={isLabelled(control) ? 'label' : 'div'}
      data-field={field.name}
    >
      <Box mt={4} mb={6}>
        {controlFor(control, given)}
      </Box>
    </Input.Wrapper>
  );
}

/** Whether a label can name the control. A label names one control, so groups name themselves. */
function isLabelled(control: Control): boolean {
  return ['text', 'number', 'seed', 'json'].includes(control.as);
}

function controlFor(control: Control, given: ControlProps): ReactNode {
  switch (control.as) {
    case 'text':
      return <TextControl {...given} control={control} />;
    case 'number':
      return <NumberControl {...given} control={control} />;
    case 'seed':
      return <SeedControl {...given} control={control} />;
    case 'choice':
      return <ChoiceControl {...given} control={control} />;
    case 'ratio':
      return <RatioField {...given} control={control} />;
    case 'size':
      return <SizeField {...given} control={control} />;
    case 'media':
      return <MediaField {...given} media={control.media} many={false} max={1} />;
    case 'media_list':
      return <MediaField {...given} media={control.media} many max={control.max} />;
    case 'text_list':
      return <TextListControl {...given} control={control} />;
    default:
      return <JsonControl {...given} />;
  }
}

function TextControl({ id, control, value, onChange, error, required }: PropsOf<'text'>) {
  const { t } = useTranslation('studio');
  const text = typeof value === 'string' ? value : '';
  const { max = Infinity } = control;
  // The schema counts characters, not the halves of one. A longer text is kept, to be shortened.
  const count = text.length > max ? [...text].length : 0;
  const given = {
    id,
    required,
    error: count > max ? t('too_long', { count, max }) : Boolean(error),
    value: text,
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value),
  };
  return control.long ? (
    <Textarea {...given} autosize minRows={2} maxRows={14} />
  ) : (
    <TextInput {...given} />
  );
}

function NumberControl(given: PropsOf<'number'>) {
  const { id, label, control, value, onChange, error, required, assumed } = given;
  const { min, max, step, whole } = control;
  const number = typeof value === 'number' ? value : undefined;
  const taken = typeof assumed === 'number' ? assumed : undefined;
  const input = (
    <NumberInput
      id={id}
      required={required}
      error={Boolean(error)}
      value={shownNumber(value)}
      placeholder={taken?.toString()}
      onChange={(next) => onChange(typedNumber(next))}
      min={min}
      max={max}
      step={step}
      allowDecimal={!whole}
      clampBehavior="blur"
      // Trimming would round long integers.
      trimLeadingZeroesOnBlur={false}
      w={min === undefined || max === undefined ? 160 : 96}
      styles={{ input: { fontVariantNumeric: 'tabular-nums' } }}
    />
  );
  if (min === undefined || max === undefined || (max - min) / step > sliderStepsMax) return input;
  return (
    <Group gap="md" wrap="nowrap">
      <Slider
        flex={1}
        thumbLabel={label}
        min={min}
        max={max}
        step={step}
        label={null}
        value={number ?? taken ?? min}
        onChange={(next) => onChange(rounded(next))}
      />
      {input}
    </Group>
  );
}

/** Removes binary rounding errors of steps of a tenth. */
function rounded(value: number): number {
  return Number(value.toFixed(6));
}

function SeedControl({ id, control, value, onChange, error, required }: PropsOf<'seed'>) {
  const { t } = useTranslation('studio');
  return (
    <Group gap="xs" wrap="nowrap">
      <NumberInput
        id={id}
        required={required}
        error={Boolean(error)}
        value={shownNumber(value)}
        onChange={(next) => onChange(typedNumber(next))}
        min={control.min}
        max={control.max}
        clampBehavior="none"
        trimLeadingZeroesOnBlur={false}
        allowDecimal={false}
        hideControls
        placeholder={t('seed_free')}
        flex={1}
      />
      <Tooltip label={t('dice')}>
        <ActionIcon
          variant="default"
          size={36}
          aria-label={t('dice')}
          onClick={() => onChange(anotherSeed(control.min, control.max))}
        >
          <IconDice5 size={20} stroke={1.6} />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

function ChoiceControl(given: PropsOf<'choice'>) {
  const { t } = useTranslation('studio');
  const { label, control, value, onChange, required, fallback, assumed, priceOf } = given;
  const { options } = control;
  const texts = options.map(String);
  const data = options.map((option) => {
    const price = priceOf(option);
    return { value: String(option), label: price === null ? `${option}` : `${option} · ${price}` };
  });
  const letters = data.map((each) => each.label).join('').length;
  const chosen = value === undefined ? null : String(value);
  const shown = chosen ?? (assumed === undefined ? null : String(assumed));
  const choose = (text: string | null) =>
    onChange(text === null ? fallback : options[texts.indexOf(text)]);
  const isDefault = value === fallback;
  if (texts.length <= segments.options && letters <= segments.letters) {
    return (
      <Group gap="xs">
        <SegmentedControl
          aria-label={label}
          data={data}
          value={shown ?? ''}
          onChange={choose}
          withItemsBorders={false}
        />
        {!required && isDefault && <Default isShown={shown !== null} />}
        {!required && !isDefault && (
          <Clear label={t('leave_open', { field: label })} onClick={() => choose(null)} />
        )}
      </Group>
    );
  }
  return (
    <Select
      aria-label={label}
      data={data}
      value={shown}
      onChange={choose}
      clearable={!required && !isDefault}
      rightSection={isDefault && shown !== null ? <Default isShown /> : undefined}
      rightSectionWidth={isDefault && shown !== null ? 78 : undefined}
      searchable={texts.length > 12}
      placeholder={t('choose')}
      clearButtonProps={{ 'aria-label': t('leave_open', { field: label }) }}
    />
  );
}

function TextListControl({ label, control, value, onChange }: PropsOf<'text_list'>) {
  const { t } = useTranslation('studio');
  const items = Array.isArray(value) ? value.map(String) : [];
  const put = (next: string[]) => onChange(next.length === 0 ? undefined : next);
  return (
    <Stack gap={6}>
      {items.map((item, i) => (
        <Group key={i} gap={6} wrap="nowrap">
          <TextInput
            flex={1}
            aria-label={`${label} ${i + 1}`}
            value={item}
            onChange={({ currentTarget }) => put(items.with(i, currentTarget.value))}
          />
          <Clear
            label={t('remove_item', { what: `${label} ${i + 1}` })}
            onClick={() => put(items.toSpliced(i, 1))}
          />
        </Group>
      ))}
      {items.length < control.max && (
        <RowButton
          leftSection={<IconPlus size={14} />}
          onClick={() => put([...items, ''])}
          style={{ alignSelf: 'start' }}
        >
          {t('add')}
        </RowButton>
      )}
    </Stack>
  );
}

/** The control for schemas that have no other. Accepts only valid JSON. */
function JsonControl({ id, value, onChange, error }: ControlProps) {
  const { t } = useTranslation('studio');
  const shown = value === undefined ? '' : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    if (!isBroken) setText((before) => (sameJson(before, shown) ? before : shown));
  }, [shown, isBroken]);
  const take = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() === '' ? undefined : exactJson(next));
      setBroken(false);
    } catch {
      setBroken(true);
    }
  };
  return (
    <>
      <JsonInput
        id={id}
        value={text}
        onChange={take}
        error={Boolean(error) || isBroken}
        autosize
        minRows={2}
        maxRows={12}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      />
      {isBroken && (
        <Text size="xs" c="red" mt={4} role="alert">
          {t('json_broken')}
        </Text>
      )}
    </>
  );
}

function sameJson(a: string, b: string): boolean {
  try {
    return JSON.stringify(exactJson(a)) === JSON.stringify(exactJson(b));
  } catch {
    return a.trim() === b.trim();
  }
}
