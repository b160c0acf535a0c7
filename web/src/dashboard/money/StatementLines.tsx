import { Anchor, Card, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Dimmed, Note } from '../../components/styles.ts';
import type { StatementLine } from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { Usd, useMoment, When } from '../../components/text.tsx';
import { wholeUsd } from '../../money.ts';
import { daysOf, useLines, type Day } from './statement-data.ts';
import type { StatementSearch } from './money-search.ts';
import classes from './StatementLines.module.css';
import { More } from '../../components/list/More.tsx';
import { Paid } from './Paid.tsx';
import { useTranslation } from '../../i18n.ts';

/** The cost of each request, by day. `empty` is shown when there is none. */
export function StatementLines({ search, empty }: { search: StatementSearch; empty: ReactNode }) {
  const list = useLines(search);
  const { rows, error, more } = list;
  if (error) return <Failure error={error} retry={list.retry} />;
  if (!rows) return <Skeleton h={360} radius="md" />;
  if (rows.length === 0) return empty;
  return (
    <Stack gap="lg">
      {daysOf(rows, more !== null).map((day) => (
        <DayOf key={day.date} day={day} />
      ))}
      <More of={list} mt={0} style={{ justifyContent: 'start' }} />
    </Stack>
  );
}

function DayOf({ day }: { day: Day }) {
  const { t } = useTranslation('money');
  const date = useMoment({ dateStyle: 'medium' })(day.lines[0]!.created_at);
  const sums = day.sums && [
    day.sums.out > 0n && t('day_out', { amount: wholeUsd(day.sums.out) }),
    day.sums.in > 0n && t('day_in', { amount: wholeUsd(day.sums.in) }),
  ];
  return (
    <section aria-label={date}>
      <Group justify="space-between" mb={6} gap="md">
        <Text component="h2" size="sm" fw={600}>
          {date}
        </Text>
        <Dimmed className="number" data-day={day.date}>
          {sums?.filter(Boolean).join(' · ')}
        </Dimmed>
      </Group>
      <Card withBorder padding={0} component="ul" className={classes.lines}>
        {day.lines.map((line) => (
          <LineOf key={line.id} line={line} />
        ))}
      </Card>
    </section>
  );
}

function LineOf({ line }: { line: StatementLine }) {
  const { t } = useTranslation('money');
  const { held_usd_micro: held, effect_usd_micro: effect } = line;
  return (
    <li className={classes.line} data-line={line.kind}>
      <div className={classes.what}>
        <What line={line} />
        <Note component="div" className="wrap">
          <When at={line.created_at} as="time" />
          {line.reason && ` · ${line.reason}`}
          {line.kind === 'debt' &&
            ` · ${t(line.effect_usd_micro.startsWith('-') ? 'debt_out' : 'debt_in')}`}
          {line.reference &&
            line.source !== 'voucher' &&
            line.transaction === null &&
            ` · ${line.reference}`}
          <Paid transferId={line.id} of={line} />
        </Note>
      </div>
      {held === null ? (
        <Text component="div" size="sm" ta="right" fw={600} c={colorOf(effect)}>
          <Usd micro={effect} signed digits="whole" />
        </Text>
      ) : (
        <Dimmed component="div" ta="right">
          {t('held')} <Usd micro={held} digits="whole" />
        </Dimmed>
      )}
      <Dimmed component="div" className={classes.balance}>
        {held === null && (
          <>
            {t('balance')} <Usd micro={line.balance_usd_micro} digits="whole" />
          </>
        )}
      </Dimmed>
    </li>
  );
}

function colorOf(effect: string): string | undefined {
  if (effect === '0') return 'dimmed';
  return effect.startsWith('-') ? undefined : 'var(--mantine-color-fare-text)';
}

function What({ line }: { line: StatementLine }) {
  const { t } = useTranslation('money');
  if (line.request_id === null || line.source !== null) {
    return (
      <Text size="sm" fw={500} className="wrap">
        {t(line.source === null ? `kinds.${line.kind}` : `deposit.${line.source}`)}
        {line.request_id !== null && (
          <>
            {': '}
            <RequestLink line={line} />
          </>
        )}
      </Text>
    );
  }
  const { unit, quantity } = line;
  const isFree = line.kind === 'release';
  const amount =
    unit && quantity !== null && !isFree && t(`amount.${unit}`, amountOf(unit, quantity));
  return (
    <Text size="sm" className="wrap">
      <RequestLink line={line} />
      {amount && `, ${amount}`}
      {isFree && (
        <Dimmed span>
          {' · '}
          {t(line.status === 'CANCELLED' ? 'cancelled_free' : 'failed_free')}
        </Dimmed>
      )}
    </Text>
  );
}

function RequestLink({ line: { request_id, model_name } }: { line: StatementLine }) {
  const { t } = useTranslation('money');
  return (
    <Anchor component={Link} to={`/dashboard/requests/${request_id}`} size="sm" fw={500}>
      {model_name ?? t('request', { id: request_id })}
    </Anchor>
  );
}

/** A quantity of millions of tokens as a number of tokens. */
function amountOf(unit: NonNullable<StatementLine['unit']>, quantity: number) {
  return { count: unit === '1M tokens' ? Math.round(quantity * 1e6) : quantity };
}
