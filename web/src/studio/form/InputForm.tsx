import {
  Button,
  Collapse,
  Group,
  SegmentedControl,
  Stack,
  Text,
  Textarea,
  UnstyledButton,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBulb, IconChevronDown, IconEraser } from '@tabler/icons-react';
import { useState, type KeyboardEvent } from 'react';
import { Dimmed, Note } from '../../components/styles.ts';
import { Copy } from '../../components/Copy.tsx';
import type { Input } from './draft.ts';
import { Field } from './Field.tsx';
import type { Model } from '../../api-types.ts';
import { exactJson } from '../../exact-json.ts';
import { usd } from '../models.ts';
import { defaultsOf, inOrder, isInFront, type Field as FieldOf } from './schema.ts';
import { isObject } from '../../../../client/src/unknown.ts';
import { useTranslation } from '../../i18n.ts';

/** The input of a model, as a form or as JSON. */
export function InputForm(props: {
  model: Model;
  fields: FieldOf[];
  priced: Set<string>;
  input: Input;
  set: (field: string, value: unknown) => void;
  replace: (input: Input) => void;
  errors: Record<string, string>;
  /** The service's defaults for omitted fields. */
  assumed: Input;
  onBroken: (isBroken: boolean) => void;
  onRun: () => void;
}) {
  const { model, fields, priced, input, set, replace, errors, assumed, onBroken, onRun } = props;
  const { t } = useTranslation('studio');
  const [view, setView] = useState<'form' | 'json'>('form');
  const [isOpen, { toggle }] = useDisclosure(false);
  const front = fields.filter((field) => isInFront(field, priced));
  const rest = fields.filter((field) => !front.includes(field));
  const isWrongInside = rest.some(({ name }) => errors[name] !== undefined);
  const unknown = Object.keys(errors).filter((name) => !fields.some((each) => each.name === name));
  const runByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    onRun();
  };
  const priceOf = usePriceOf(model);
  const show = (list: FieldOf[]) =>
    list.map((field) => (
      <Field
        key={field.name}
        field={field}
        value={input[field.name]}
        onChange={(value) => set(field.name, value)}
        error={errors[field.name]}
        assumed={assumed[field.name]}
        priceOf={(option) => priceOf(field.name, option)}
      />
    ));

  return (
    <Stack gap="md" onKeyDown={runByKey}>
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label={t('view')}
          data={[
            { value: 'form', label: t('form') },
            { value: 'json', label: 'JSON' },
          ]}
          value={view}
          onChange={(next) => {
            onBroken(false);
            setView(next);
          }}
        />
        <Group gap={4}>
          <Button
            variant="subtle"
            size="xs"
            px={8}
            leftSection={<IconBulb size={15} />}
            onClick={() =>
              replace(inOrder(fields, { ...defaultsOf(model.input_schema), ...model.example }))
            }
          >
            {t('example')}
          </Button>
          <Button
            variant="subtle"
            color="gray"
            size="xs"
            px={8}
            leftSection={<IconEraser size={15} />}
            onClick={() => replace(defaultsOf(model.input_schema))}
          >
            {t('clear')}
          </Button>
        </Group>
      </Group>
      {view === 'json' ? (
        <JsonView input={input} replace={replace} onBroken={onBroken} />
      ) : (
        <>
          {show(front)}
          {rest.length > 0 && (
            <>
              <UnstyledButton
                onClick={toggle}
                aria-expanded={isOpen || isWrongInside}
                fw={500}
                fz="sm"
                py={4}
              >
                <Group gap={6}>
                  <IconChevronDown
                    size={16}
                    style={{ transform: isOpen || isWrongInside ? undefined : 'rotate(-90deg)' }}
                  />
                  {t('advanced')}
                  <Dimmed className="number">{rest.length}</Dimmed>
                </Group>
              </UnstyledButton>
              <Collapse expanded={isOpen || isWrongInside}>
                <Stack gap="md">{show(rest)}</Stack>
              </Collapse>
            </>
          )}
        </>
      )}
      {(view === 'json' ? Object.keys(errors) : unknown).map((name) => (
        <Text key={name} size="sm" c="red" role="alert">
          {name}: {errors[name]}
        </Text>
      ))}
    </Stack>
  );
}

/** The unit price with an option of a field, if the option affects the price. */
function usePriceOf(model: Model) {
  const { t } = useTranslation('studio');
  return (field: string, option: unknown): string | null => {
    const per = (rate: number) => t(`per.${model.unit}`, { price: usd(rate) });
    const rate = model.price_by_resolution?.[String(option)];
    if (field === 'resolution') return rate === undefined ? null : per(rate);
    const extra = model.extras.find((each) => each.field === field && !each.per_item);
    return extra && option === true ? `+${per(extra.add_usd)}` : null;
  };
}

/** Keeps invalid JSON as typed; nothing is sent until it is valid. */
function JsonView(props: {
  input: Input;
  replace: (input: Input) => void;
  onBroken: (isBroken: boolean) => void;
}) {
  const { input, replace, onBroken } = props;
  const { t } = useTranslation('studio');
  const shown = JSON.stringify(input, null, 2);
  const [text, setText] = useState(shown);
  const [seen, setSeen] = useState(shown);
  const [isBroken, setBroken] = useState(false);
  // The input was changed elsewhere: by the example button, or by a request from the history.
  if (seen !== shown) {
    setSeen(shown);
    if (compact(text) !== JSON.stringify(input)) setText(shown);
  }
  const take = (next: string) => {
    setText(next);
    const value = parsed(next);
    const isInput = isObject(value);
    setBroken(!isInput);
    onBroken(!isInput);
    if (isInput) replace(value);
  };
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Note>{t('json_text')}</Note>
        <Copy text={text} what="JSON" />
      </Group>
      <Textarea
        aria-label={t('json_label')}
        value={text}
        onChange={({ currentTarget }) => take(currentTarget.value)}
        error={isBroken ? t('json_object') : undefined}
        autosize
        minRows={10}
        maxRows={26}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      />
    </Stack>
  );
}

function parsed(text: string): unknown {
  try {
    return exactJson(text);
  } catch {
    return undefined;
  }
}

function compact(text: string): string | undefined {
  return JSON.stringify(parsed(text));
}
