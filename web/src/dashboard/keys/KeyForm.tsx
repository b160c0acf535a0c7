import { Button, Group, MultiSelect, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { PlainButton } from '../../components/styles.ts';
import type { Key, KeyCeilings, NewKey } from '../../api-types.ts';
import { DateField } from '../../components/date/DateField.tsx';
import { dateOf, dayMs, dayOfDate, addToDay } from '../../components/date/days.ts';
import { Drawer } from '../../components/Dialog.tsx';
import { Failure } from '../../components/Failure.tsx';
import { useFields } from '../../components/Form.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { useMoment } from '../../components/text.tsx';
import { formatUsd, parseUsd } from '../../money.ts';
import { keysOf } from '../../records.ts';
import { modelsQuery } from '../../studio/models.ts';
import { KeyScope, ManagerWarning, type Scope } from './KeyScope.tsx';
import { useKeyChange, type Defaults, type KeyFields } from './key-data.ts';
import { lines } from './keys-texts.ts';
import { useTranslation } from '../../i18n.ts';
import { NumberInput } from '../../components/NumberInput.tsx';

interface Props {
  /** The key to change; null to create one. */
  changed: Key | null;
  defaults: Defaults;
  ceilings: KeyCeilings;
  onClose: () => void;
  onMade: (key: NewKey) => void;
}

/** Creates or changes a key. */
export function KeyForm(props: Props & { opened: boolean }) {
  const { t } = useTranslation('keys');
  const { opened, onClose } = props;
  // Keeps the last value while the drawer closes.
  const [changed, setChanged] = useState(props.changed);
  if (opened && changed !== props.changed) setChanged(props.changed);
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="md"
      title={changed ? t('edit_title') : t('create')}
    >
      <Fields key={changed?.key_id ?? 'new'} {...props} changed={changed} />
    </Drawer>
  );
}

const lineNames = keysOf(lines);
type Lines = Record<keyof typeof lines, string>;

interface KeyFormValues {
  lines: Lines;
  scope: Scope;
  limit: string;
  /** When the key ends: `keep`, `never`, `date`, or a number of days from now. */
  end: string;
  date: string;
  models: string[];
  rpm: number | string;
  open_jobs: number | string;
}

const spans = ['7', '30', '90', '365'];

function typedOf(key: Key | null, set: KeyCeilings): KeyFormValues {
  const limit = key ? key.monthly_limit_usd_micro : set.monthly_ceiling_usd_micro;
  return {
    // TypeScript does not follow the names.
    lines: Object.fromEntries(lineNames.map((name) => [name, key?.[name] ?? ''])) as Lines,
    scope: key?.scope ?? 'spend',
    limit: limit === null ? '' : formatUsd(limit).replaceAll(',', ''),
    end: key?.expires_at ? 'keep' : 'never',
    date: addToDay(dayOfDate(new Date()), { months: 1 }),
    models: key?.models ?? [],
    rpm: (key ? key.rpm : set.rpm_ceiling) ?? '',
    open_jobs: (key ? key.open_jobs : set.open_jobs_ceiling) ?? '',
  };
}

function Fields(props: Props) {
  const { t } = useTranslation('keys');
  const { changed, ceilings, onClose, onMade } = props;
  const fields = useFields(() => typedOf(changed, ceilings));
  const { values: typed, set, field } = fields;
  const save = useKeyChange(async (fields: KeyFields, api) => {
    const { scope } = typed;
    if (!changed) return api('POST /keys', { body: { ...fields, scope, name: typed.lines.name } });
    await api('PATCH /keys/:key_id', { params: { key_id: changed.key_id }, body: fields });
    return null;
  });
  const limit = typed.limit.trim() === '' ? null : parseUsd(typed.limit);
  const isWrong = typed.limit.trim() !== '' && !isAmount(typed.limit, 'from_zero');
  const isStudio = changed?.is_studio ?? false;
  const isManager = typed.scope === 'keys';
  const ceiling = (changed ?? ceilings).monthly_ceiling_usd_micro;
  const labels = {
    ...Object.fromEntries(lineNames.map((name) => [name, t(name)])),
    monthly_limit_usd_micro: t('limit'),
    expires_at: t('end'),
    rpm: t('rpm'),
    open_jobs: t('open_jobs'),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isWrong && !isManager) return;
    save.mutate(fieldsOf(typed, limit, isStudio), {
      onSuccess: (made) => (made ? onMade(made) : onClose()),
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {!isStudio &&
          lineNames.map((name) => (
            <TextInput
              key={name}
              label={t(name)}
              description={t(`${name}_hint`)}
              value={typed.lines[name]}
              onChange={({ currentTarget: { value } }) =>
                set({ lines: { ...typed.lines, [name]: value } })
              }
              {...lines[name]}
              data-autofocus={name === 'name' || undefined}
              autoComplete="off"
            />
          ))}
        {!changed && <KeyScope scope={typed.scope} onChange={(scope) => set({ scope })} />}
        {isManager && <ManagerWarning />}
        {!isManager && (
          <MoneyInput
            {...field('limit')}
            label={t('limit')}
            description={
              ceiling === null
                ? t(isStudio ? 'limit_hint_studio' : 'limit_hint')
                : t('ceiling', { most: `$${formatUsd(ceiling)}` })
            }
            placeholder={t('no_limit_placeholder')}
            required={ceiling !== null}
            allows="from_zero"
          />
        )}
        {!isStudio && <End fields={fields} changed={changed} />}
        {!isStudio && !isManager && <Models {...field('models')} />}
        <Rates {...props} fields={fields} />
        {save.error && <Failure error={save.error} labels={labels} />}
        <Group justify="flex-end">
          <PlainButton onClick={onClose}>{t('common:cancel')}</PlainButton>
          <Button type="submit" loading={save.isPending}>
            {changed ? t('common:save') : t('create')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface PartProps {
  fields: ReturnType<typeof useFields<KeyFormValues>>;
  changed: Key | null;
}

function End({ fields: { values, field }, changed }: PartProps) {
  const { t } = useTranslation('keys');
  const moment = useMoment();
  const kept = changed?.expires_at;
  const data = [
    ...(kept ? [{ value: 'keep', label: t('end_keep', { at: moment(kept) }) }] : []),
    { value: 'never', label: t('end_never') },
    ...spans.map((days) => ({ value: days, label: t('end_days', { count: Number(days) }) })),
    { value: 'date', label: t('end_date') },
  ];
  return (
    <>
      <Select
        label={t('end')}
        description={t('end_hint')}
        data={data}
        allowDeselect={false}
        {...field('end')}
      />
      {values.end === 'date' && (
        <DateField
          label={t('end_last_day')}
          required
          min={dayOfDate(new Date())}
          max="2199-12-31"
          {...field('date')}
        />
      )}
    </>
  );
}

function Models({
  value: chosen,
  onChange,
}: {
  value: string[];
  onChange: (ids: string[]) => void;
}) {
  const { t } = useTranslation('keys');
  const { data } = useQuery(modelsQuery);
  const ids = new Set([...(data?.map(({ id }) => id) ?? []), ...chosen]);
  return (
    <MultiSelect
      label={t('common:nav.models')}
      description={t('models_hint')}
      placeholder={chosen.length === 0 ? t('models_all') : undefined}
      data={[...ids].toSorted()}
      value={chosen}
      onChange={onChange}
      searchable
      clearable
      limit={60}
      maxValues={200}
      nothingFoundMessage={t('common:nothing_found')}
      clearButtonProps={{ 'aria-label': t('models_all') }}
      hidePickedOptions
    />
  );
}

function Rates(props: PartProps & { defaults: Defaults; ceilings: KeyCeilings }) {
  const { t } = useTranslation('keys');
  const { fields, changed, defaults, ceilings } = props;
  const ceilingOf = (name: keyof Defaults) => (changed ?? ceilings)[`${name}_ceiling`];
  const mostOf = (name: keyof Defaults) =>
    ceilingOf(name) ?? Math.max(defaults[name], changed?.[name] ?? 0);
  return (
    <SimpleGrid cols={2}>
      {limitsOf(fields.values.scope).map((name) => (
        <NumberInput
          key={name}
          label={t(name)}
          placeholder={String(defaults[name])}
          description={t(ceilingOf(name) === null ? 'at_most' : 'ceiling', { most: mostOf(name) })}
          required={ceilingOf(name) !== null}
          {...fields.field(name)}
          min={1}
          max={mostOf(name)}
          clampBehavior="blur"
          allowDecimal={false}
          allowNegative={false}
          hideControls
        />
      ))}
    </SimpleGrid>
  );
}

/** A key that manages keys runs no jobs. */
function limitsOf(scope: Scope) {
  return scope === 'keys' ? (['rpm'] as const) : (['rpm', 'open_jobs'] as const);
}

function fieldsOf(typed: KeyFormValues, limit: bigint | null, isStudio: boolean): KeyFields {
  const whole = (value: number | string) => (value === '' ? null : Number(value));
  const end = typed.end !== 'keep' && { expires_at: endOf(typed) };
  if (typed.scope === 'keys') return { ...linesOf(typed), rpm: whole(typed.rpm), ...end };
  const limits = {
    monthly_limit_usd_micro: limit === null ? null : String(limit),
    rpm: whole(typed.rpm),
    open_jobs: whole(typed.open_jobs),
  };
  if (isStudio) return limits;
  return {
    ...linesOf(typed),
    ...limits,
    models: typed.models.length === 0 ? null : typed.models,
    ...end,
  };
}

/** An empty line removes its setting. */
function linesOf({ lines }: KeyFormValues): Partial<KeyFields> {
  return Object.fromEntries(Object.entries(lines).map(([name, line]) => [name, line || null]));
}

function endOf({ end, date }: KeyFormValues): string | null {
  if (end === 'never') return null;
  if (end !== 'date') return new Date(Date.now() + Number(end) * dayMs).toISOString();
  // The end of that day in the user's time zone.
  const last = dateOf(date);
  last.setHours(23, 59, 59, 999);
  return last.toISOString();
}
