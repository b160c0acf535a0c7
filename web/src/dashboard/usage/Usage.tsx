import { Anchor, Group, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconChartBar, IconDownload } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { QueryLink, useQueryOf } from '../../address.ts';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Failure, showFailure } from '../../components/Failure.tsx';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { saveText } from '../../components/save.ts';
import { Dimmed, Note, PlainButton } from '../../components/styles.ts';
import { Percent, Usd } from '../../components/text.tsx';
import { useModelNames } from '../../requests/model-names.tsx';
import { useKeyNames, usePeopleNames } from '../requests/requests-data.ts';
import { csvOf, dollars, type Sum } from './usage-lines.ts';
import { groups, periods, usageSearch } from './usage-search.ts';
import { linesMax, useUsage, type UsageGrouping } from './usage-data.ts';
import { useTranslation } from '../../i18n.ts';
import type { Translate } from '../../texts/format.ts';
import './usage-texts.ts';

/** The most expensive lines, which are shown. */
const shownMax = 100;

/** The cost of some days by model, key, day or metadata, beside the days before. */
export function Usage() {
  const { t } = useTranslation('usage');
  const navigate = useNavigate();
  const { by = 'model', days = '30', name = '' } = useQueryOf(usageSearch);
  const asked: UsageGrouping = { by, days: Number(days), name };
  const choose = (search: object) =>
    void navigate({
      to: '/dashboard/usage',
      search: { by, days, name: name || undefined, ...search },
    });
  return (
    <>
      <PageTitle title={t('common:nav.usage')} text={t('text')}>
        <Export asked={asked} />
      </PageTitle>
      <Group gap="sm" mb="md" align="flex-end">
        <SegmentedControl
          aria-label={t('common:period')}
          data={periods.map((value) => ({ value, label: t('days', { days: value }) }))}
          value={days}
          onChange={(value) => choose({ days: value })}
        />
        <SegmentedControl
          aria-label={t('by')}
          data={groups.map((value) => ({ value, label: t(`groups.${value}`) }))}
          value={by}
          onChange={(value) => choose({ by: value })}
        />
        {by === 'metadata' && <Name name={name} onChange={(typed) => choose({ name: typed })} />}
      </Group>
      {by === 'metadata' && name === '' ? (
        <Dimmed>{t('name_wanted')}</Dimmed>
      ) : (
        <Sums asked={asked} />
      )}
    </>
  );
}

function Name(props: { name: string; onChange: (name: string | undefined) => void }) {
  const { t } = useTranslation('usage');
  const [typed, setTyped] = useState(props.name);
  const tell = useDebouncedCallback((text: string) => props.onChange(text || undefined), 400);
  return (
    <TextInput
      aria-label={t('name')}
      placeholder={t('name_hint')}
      maxLength={64}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        tell(currentTarget.value.trim());
      }}
      spellCheck={false}
      autoComplete="off"
    />
  );
}

function Sums({ asked }: { asked: UsageGrouping }) {
  const { t } = useTranslation('usage');
  const found = useUsage(asked);
  const { by, days } = asked;
  const { sums, isCut, error } = found;
  const columns: Column<Sum>[] = [
    column.plain(t(`groups.${by}`), (sum) => <Value sum={sum} asked={asked} />),
    column.count(t('requests'), (sum) => sum.requests),
    column.count(t('failed'), (sum) => sum.failed),
    column.count(t('tokens'), (sum) => sum.tokens),
    column.usd(t('charged'), (sum) => String(sum.charged)),
    ...(by === 'day' || isCut
      ? []
      : [
          column.usd<Sum>(t('before', { days }), (sum) => String(sum.before)),
          column.figure<Sum>(t('change'), (sum) => <Change sum={sum} />),
        ]),
  ];
  if (error) return <Failure error={error} retry={found.retry} />;
  if (sums?.length === 0)
    return <Empty icon={<IconChartBar />} title={t('none')} text={t('none_text')} />;
  return (
    <>
      {!isCut && <Total sums={sums} asked={asked} />}
      <DataList
        label={t('common:nav.usage')}
        columns={columns}
        rows={sums?.slice(0, shownMax)}
        keyOf={({ value }) => value ?? ''}
      />
      {isCut && <Note mt="sm">{t('cut', { read: linesMax })}</Note>}
      {sums && !isCut && sums.length > shownMax && (
        <Note mt="sm">{t('more', { count: shownMax })}</Note>
      )}
    </>
  );
}

/** Keeps its place while there are no sums. */
function Total({ sums, asked: { days } }: { sums: Sum[] | undefined; asked: UsageGrouping }) {
  const { t } = useTranslation('usage');
  const sum = (of: 'charged' | 'before') => (sums ?? []).reduce((all, each) => all + each[of], 0n);
  return (
    <Text mb="md" {...(!sums && { style: { visibility: 'hidden' } })}>
      <Text span fz={28} fw={600}>
        <Usd micro={sum('charged')} />
      </Text>{' '}
      {sum('before') !== 0n && (
        <Dimmed span>
          <Usd micro={sum('before')} /> · {t('before', { days })}
        </Dimmed>
      )}
    </Text>
  );
}

/** The value of the group; it leads to its requests. */
function Value({ sum: { value }, asked }: { sum: Sum; asked: UsageGrouping }) {
  const { t } = useTranslation('usage');
  const nameOf = useNameOf(asked);
  const search = searchOf(asked, value);
  if (value === null) return <Dimmed span>{without(asked, t)}</Dimmed>;
  return search ? (
    <Anchor
      component={QueryLink}
      to="/dashboard/requests"
      search={search}
      size="sm"
      className="wrap"
    >
      {nameOf(value)}
    </Anchor>
  ) : (
    <span className="number">{nameOf(value)}</span>
  );
}

/** The line of requests without a value. */
function without({ by, name }: UsageGrouping, t: Translate): string {
  return by === 'person' ? t('programs') : t('without', { name });
}

function searchOf(
  { by, name }: UsageGrouping,
  value: string | null,
): Record<string, string> | null {
  if (value === null || by === 'day') return null;
  return by === 'metadata' ? { metadata: `${name}=${value}` } : { [by]: value };
}

function useNameOf({ by }: UsageGrouping): (value: string) => string {
  const { t } = useTranslation('requests');
  const modelName = useModelNames();
  const keys = useKeyNames();
  const people = usePeopleNames();
  if (by === 'model') return modelName;
  if (by === 'key') return (id) => keys?.get(id)?.name ?? t('unknown_key');
  if (by === 'person') return (id) => people?.get(id) ?? t('unknown_person');
  return (value) => value;
}

function Change({ sum: { charged, before } }: { sum: Sum }) {
  const { t } = useTranslation('usage');
  if (before <= 0n) return <Dimmed span>{charged > 0n ? t('fresh') : '—'}</Dimmed>;
  const ppm = Number(((charged - before) * 1_000_000n) / before);
  return (
    <span className="number">
      {ppm > 0 && '+'}
      <Percent ppm={ppm} />
    </span>
  );
}

/** Saves the lines that were read, with exact amounts. */
function Export({ asked }: { asked: UsageGrouping }) {
  const { t } = useTranslation('usage');
  const found = useUsage(asked);
  const nameOf = useNameOf(asked);
  const { by, days, name } = asked;
  const write = () => {
    const head = [by === 'metadata' ? name : by, 'name', 'requests', 'failed', 'tokens'];
    const { sums, isCut } = found;
    const rows = sums!.map((sum) => [
      sum.value ?? '',
      sum.value === null ? without(asked, t) : nameOf(sum.value),
      ...[sum.requests, sum.failed, sum.tokens].map(String),
      ...[sum.charged, ...(isCut ? [] : [sum.before])].map(dollars),
    ]);
    const day = new Date().toISOString().slice(0, 10);
    const amounts = ['charged_usd', ...(isCut ? [] : [`charged_usd_${days}_days_before`])];
    const csv = csvOf([...head, ...amounts], rows);
    try {
      saveText(`usage-${by}-${day}.csv`, csv, 'text/csv');
    } catch (error) {
      showFailure(error);
    }
  };
  return (
    <PlainButton
      leftSection={<IconDownload size={16} />}
      disabled={!found.sums || found.sums.length === 0}
      onClick={write}
    >
      {t('csv')}
    </PlainButton>
  );
}
