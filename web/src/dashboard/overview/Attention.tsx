import { Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { QueryLink } from '../../address.ts';
import type { Overview } from '../../api-types.ts';
import { Todo, type TodoLine } from '../../components/Home.tsx';
import { Dimmed, Heading, RowButton } from '../../components/styles.ts';
import { usePercent } from '../../components/text.tsx';
import { briefUsd } from '../../money.ts';
import '../keys/refused-texts.ts';
import type { Pace } from './pace.ts';
import { useTranslation } from '../../i18n.ts';

interface Line extends Omit<TodoLine, 'act'> {
  to: string;
  search?: Record<string, unknown>;
  action: string;
}

const shownMax = 5;
/** A key that has used so much of its limit is shown, in millionths. */
const nearPpm = 800_000;
/** A balance that lasts fewer days is shown. */
const fewDays = 3;

/** Lines that somebody should look at, each with its way there. */
export function Attention({ data, pace }: { data: Overview | undefined; pace: Pace | null }) {
  const { t } = useTranslation('overview');
  const lines = useLines(data, pace).slice(0, shownMax);
  return (
    <section>
      <Heading mb={4}>{t('attention')}</Heading>
      {data === undefined && <Skeleton h={60} />}
      {data && lines.length === 0 && <Dimmed mih={60}>{t('attention_none')}</Dimmed>}
      <Todo
        lines={lines.map(({ to, search, action, ...line }) => ({
          ...line,
          act: search ? (
            <RowButton component={QueryLink} to={to} search={search}>
              {action}
            </RowButton>
          ) : (
            <RowButton component={Link} to={to}>
              {action}
            </RowButton>
          ),
        }))}
      />
    </section>
  );
}

function useLines(data: Overview | undefined, pace: Pace | null): Line[] {
  const { t } = useTranslation('overview');
  const percent = usePercent();
  if (!data) return [];
  const { debt_usd_micro: debt, reserved_usd_micro: reserved, month, refused } = data;
  const { failed_webhooks: failed, failing_jobs } = data;
  const topUp = { to: '/dashboard/money/top-up', action: t('top_up') };
  const isLow = pace !== null && pace.lasts < fewDays;
  const money: Line[] = [
    ...(debt === '0'
      ? []
      : [
          {
            id: 'debt',
            title: t('debt', { amount: briefUsd(debt, 'up') }),
            ...(reserved !== '0' && { text: t('debt_held', { amount: briefUsd(reserved) }) }),
            isBad: true,
            ...topUp,
          },
        ]),
    ...(isLow && data.steps.topped_up
      ? [{ id: 'low', title: t('low'), text: t('lasts', { count: pace.lasts }), ...topUp }]
      : []),
  ];
  const calls: Line[] = refused.map(({ key_id, name, code, calls: count }) => ({
    id: `${key_id} ${code}`,
    title: `${name}: ${t('refused:calls', { count })}`,
    text: t(`refused:why.${code}`, { defaultValue: code }),
    isBad: code === 'key_limit_reached' || code === 'insufficient_balance',
    code,
    to: '/dashboard/requests',
    search: { status: 'REFUSED', key: key_id, code },
    action: t('look'),
  }));
  const keys = month.keys.flatMap((key): Line[] => {
    const limit = key.monthly_limit_usd_micro;
    const used = limit === null ? 0 : ppmOf(BigInt(key.spent_usd_micro), BigInt(limit));
    if (used < nearPpm || key.revoked) return [];
    const [title, isBad] = used >= 1_000_000 ? ['key_full', true] : ['key_near', false];
    return [
      {
        id: key.key_id,
        title: t(title, { name: key.name }),
        text: t('key_used', { percent: percent(used) }),
        isBad,
        to: '/dashboard/keys',
        action: t('change'),
      },
    ];
  });
  const hooks: Line[] =
    failed === 0
      ? []
      : [
          {
            id: 'webhooks',
            title: t('webhooks_failed', { count: failed }),
            isBad: true,
            to: '/dashboard/webhooks',
            search: { failed: true },
            action: t('common:open'),
          },
        ];
  const jobs: Line[] =
    failing_jobs === null
      ? []
      : [
          {
            id: 'jobs',
            title: t('jobs_failing', { ...failing_jobs }),
            isBad: true,
            to: '/dashboard/requests',
            search: { status: 'FAILED' },
            action: t('common:open'),
          },
        ];
  return [...money, ...keys, ...hooks, ...jobs, ...calls];
}

/** The share of `part` in millionths; a limit of 0 is used up. */
export function ppmOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 1_000_000 : Number((part * 1_000_000n) / whole);
}
