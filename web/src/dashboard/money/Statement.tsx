import {
  Anchor,
  Box,
  Button,
  Chip,
  Group,
  Menu,
  SegmentedControl,
  Select,
  Skeleton,
  Stack,
  Text,
} from '@mantine/core';
import { IconCoins, IconDownload, IconFilterOff } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { useState, type ComponentProps, type ReactNode } from 'react';
import { useTranslation } from '../../i18n.ts';
import { DateField } from '../../components/date/DateField.tsx';
import { Dimmed, Note, PlainButton } from '../../components/styles.ts';
import type { Movement } from '../../api-types.ts';
import { Empty } from '../../components/list/Empty.tsx';
import { Usd, When } from '../../components/text.tsx';
import { formatUsd } from '../../money.ts';
import { MoneyFrame } from './MoneyFrame.tsx';
import { Paid } from './Paid.tsx';
import { kinds, statementSearch, type StatementSearch } from './money-search.ts';
import { StatementLines } from './StatementLines.tsx';
import { periodsAt, useExportPath, useStatement, useTotals } from './statement-data.ts';
import { PagedList } from '../../components/list/PagedList.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';

export function Statement() {
  const { t } = useTranslation('money');
  const navigate = useNavigate();
  const search = useQueryOf(statementSearch);
  const isLedger = search.view === 'ledger';
  const choose = (chosen: StatementSearch) =>
    void navigate({
      to: '/dashboard/money',
      search: chosen,
      replace: true,
      resetScroll: false,
    });
  const { view, ...filter } = search;
  const isFiltered = Object.keys(filter).length > 0;
  const kept: StatementSearch = view ? { view } : {};
  const empty = {
    icon: isFiltered ? <IconFilterOff /> : <IconCoins />,
    title: t(isFiltered ? 'none_filtered' : 'none'),
    text: t(isFiltered ? 'none_filtered_text' : 'none_text'),
    children: isFiltered ? (
      <PlainButton onClick={() => choose(kept)}>{t('clear')}</PlainButton>
    ) : (
      <Button component={Link} to="/dashboard/money/top-up">
        {t('tabs.top_up')}
      </Button>
    ),
  };
  return (
    <MoneyFrame part="statement">
      <SegmentedControl
        mb="sm"
        aria-label={t('view')}
        data={(['requests', 'ledger'] as const).map((value) => ({
          value,
          label: t(`views.${value}`),
        }))}
        value={isLedger ? 'ledger' : 'requests'}
        onChange={(chosen) => {
          const { kind: _kind, view: _view, ...dates } = search;
          choose(chosen === 'ledger' ? { ...dates, view: 'ledger' } : dates);
        }}
      />
      <Dimmed maw={720} mb="md">
        {t(isLedger ? 'statement_text' : 'lines_text')}
      </Dimmed>
      <Filters search={search} choose={choose} />
      {isLedger ? (
        <>
          {isFiltered && <Sums search={search} />}
          <Ledger search={search} empty={empty} />
        </>
      ) : (
        <StatementLines search={search} empty={<Empty {...empty} />} />
      )}
    </MoneyFrame>
  );
}

/** Every transfer as booked. */
function Ledger(props: { search: StatementSearch; empty: ComponentProps<typeof Empty> }) {
  const { t } = useTranslation('money');
  const list = useStatement(props.search);
  const columns: Column<Movement>[] = [
    column.plain(t('when'), (row) => <When at={row.created_at} as="exact" />),
    column.plain(t('what'), (row) => (
      <Box maw={420}>
        <Text size="sm" fw={500}>
          {nameOf(row, t)}
        </Text>
        <About row={row} />
      </Box>
    )),
    column.figure(t('change'), (row) => <Change row={row} />),
    column.usd(t('common:available'), (row) => row.available_after_usd_micro, 'six'),
  ];
  return (
    <PagedList
      of={list}
      empty={props.empty}
      label={t('views.ledger')}
      columns={columns}
      keyOf={({ transfer_id }) => transfer_id}
      card={(row) => <PhoneCard row={row} />}
    />
  );
}

function Filters(props: { search: StatementSearch; choose: (search: StatementSearch) => void }) {
  const { t } = useTranslation('money');
  const { search, choose } = props;
  const exportPath = useExportPath(search);
  const { from, to, kind } = search;
  const periods = periodsAt(new Date());
  const known = Object.keys(periods).find(
    (name) => periods[name]!.from === from && periods[name]!.to === to,
  );
  const [own, setOwn] = useState(known === undefined);
  const isOwn = own || known === undefined;
  const choosePeriod = (name: string | null) => {
    setOwn(name === 'own');
    if (name === null || name === 'own') return;
    choose({ ...(search.view && { view: search.view }), ...(kind && { kind }), ...periods[name] });
  };
  const chooseDay = (side: 'from' | 'to', day: string) => {
    const { [side]: _before, ...rest } = search;
    choose({ ...rest, ...(day && { [side]: day }) });
  };
  return (
    <Stack gap="sm" mb="md">
      <Group align="flex-end" gap="sm">
        <Select
          label={t('common:period')}
          data={[...Object.keys(periods), 'own'].map((name) => ({
            value: name,
            label: t(`periods.${name}`),
          }))}
          value={isOwn ? 'own' : known!}
          onChange={choosePeriod}
          allowDeselect={false}
          w={{ base: '100%', xs: 200 }}
        />
        {isOwn &&
          (['from', 'to'] as const).map((side) => (
            <DateField
              key={side}
              label={t(side)}
              value={search[side] ?? ''}
              onChange={(day) => chooseDay(side, day)}
              w={{ base: 'calc(50% - 6px)', xs: 180 }}
            />
          ))}
        <Menu position="bottom-end" width={300}>
          <Menu.Target>
            <PlainButton leftSection={<IconDownload size={16} />} ml={{ base: 0, sm: 'auto' }}>
              {t('export')}
            </PlainButton>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label>{t('export_text')}</Menu.Label>
            {(['csv', 'json'] as const).map((format) => (
              <Menu.Item key={format} component="a" href={exportPath(format)} download>
                {t(`export_${format}`)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </Group>
      {search.view === 'ledger' && (
        <Chip.Group
          multiple
          value={kind?.split(',') ?? []}
          onChange={(chosen) => {
            const { kind: _before, ...rest } = search;
            const wanted = kinds.filter((each) => chosen.includes(each)).join(',');
            choose({ ...rest, ...(wanted && { kind: wanted }) });
          }}
        >
          <Group gap={6} role="group" aria-label={t('only')}>
            {kinds.map((each) => (
              <Chip key={each} value={each} size="sm" variant="outline">
                {t(`kinds_many.${each}`)}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      )}
    </Stack>
  );
}

/** Totals of all rows that match, not only of those loaded. */
function Sums({ search }: { search: StatementSearch }) {
  const { t } = useTranslation('money');
  const totals = useTotals(search);
  const sums: [name: string, shown: ReactNode][] = [
    ['movements', <span className="number">{totals?.movements}</span>],
    ['in', totals && <Usd micro={totals.in_usd_micro} signed />],
    ['out', totals && <Usd micro={-BigInt(totals.out_usd_micro)} />],
    ['net', totals && <Usd micro={totals.net_usd_micro} signed />],
  ];
  // A charge changes the available balance only by the rest of the reservation that it releases, so
  // the charged amounts have their own total.
  if (totals && totals.charged_usd_micro !== '0')
    sums.push(['charged', <Usd micro={totals.charged_usd_micro} />]);
  return (
    <Group gap="4px 32px" mb="md" role="group" aria-label={t('sums.title')}>
      {sums.map(([name, shown]) => (
        <div key={name}>
          <Note>{t(`sums.${name}`)}</Note>
          <Text component="div" fw={600}>
            {totals ? shown : <Skeleton h={24} w={80} />}
          </Text>
        </div>
      ))}
    </Group>
  );
}

function PhoneCard({ row }: { row: Movement }) {
  const { t } = useTranslation('money');
  return (
    <>
      <Group justify="space-between" wrap="nowrap" gap="md">
        <Text size="sm" fw={600}>
          {nameOf(row, t)}
        </Text>
        <Change row={row} />
      </Group>
      <About row={row} />
      <Group justify="space-between" mt={6} gap="md">
        <Note>
          <When at={row.created_at} as="exact" />
        </Note>
        <Note>
          {t('common:available')}: <Usd micro={row.available_after_usd_micro} digits="six" />
        </Note>
      </Group>
    </>
  );
}

function nameOf({ kind, source }: Movement, t: (name: string) => string): string {
  return t(source === null ? `kinds.${kind}` : `deposit.${source}`);
}

function Change({ row }: { row: Movement }) {
  const change = BigInt(row.change_usd_micro);
  // The released rest of a reservation is not income.
  const isIncome = change > 0n && (row.source !== null || row.kind === 'adjustment');
  return (
    <Text
      component="span"
      size="sm"
      fw={600}
      c={isIncome ? 'var(--mantine-color-fare-text)' : change === 0n ? 'dimmed' : undefined}
    >
      <Usd micro={change} signed digits="six" />
    </Text>
  );
}

/** The purpose of the transfer, in one or two lines. */
function About({ row }: { row: Movement }) {
  const { t } = useTranslation('money');
  const { kind, request_id, model_id, source, reference, reason, amount_usd_micro: amount } = row;
  const reserved = row.reserved_usd_micro;
  return (
    <Note component="div" className="wrap">
      {request_id && (
        <Anchor component={Link} to={`/dashboard/requests/${request_id}`} size="xs" c="inherit">
          {model_id ?? t('request', { id: request_id })}
        </Anchor>
      )}
      {kind === 'charge' && (
        <div>
          {amount === reserved
            ? t('charged_all', { amount: `$${formatUsd(amount)}` })
            : t('charged_of', {
                amount: `$${formatUsd(amount)}`,
                rest: `$${formatUsd(row.change_usd_micro)}`,
              })}
        </div>
      )}
      {kind === 'release' && <div>{t('returned')}</div>}
      {kind === 'debt' && <div>{t(`debt_${row.direction}`)}</div>}
      {reason && <div>{reason}</div>}
      {reference && source !== 'voucher' && row.transaction === null && <div>{reference}</div>}
      <Paid transferId={row.transfer_id} of={row} />
    </Note>
  );
}
