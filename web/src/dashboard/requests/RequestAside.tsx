import { Anchor, Divider, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { QueryLink } from '../../address.ts';
import { Dimmed, Note, Dot } from '../../components/styles.ts';
import type { RequestDetail } from '../../api-types.ts';
import { Duration, formatDuration, Usd } from '../../components/text.tsx';
import { Part } from '../../components/frame/Part.tsx';
import { formatUsd } from '../../money.ts';
import { useKeyNames } from './requests-data.ts';
import {
  Facts as FactList,
  Moments,
  useCallNumbers,
  type Moment,
} from '../../components/Facts.tsx';
import './requests-words.ts';

/** The side column of a request: price, timeline, webhook deliveries. */

export function PriceCard({ request }: { request: RequestDetail }) {
  const { t, i18n } = useTranslation('request');
  const { quoted_usd_micro: quoted, charged_usd_micro: charged, quote } = request;
  const { refunded_usd_micro: refunded } = request;
  const { breakdown, assumptions, unit, quantity } = quote;
  const returned = charged === null ? null : BigInt(quoted) - BigInt(charged);
  const inTokens = unit === '1M tokens';
  const amount = (units: number) =>
    new Intl.NumberFormat(i18n.language, { maximumFractionDigits: 6 }).format(
      inTokens ? Math.round(units * 1e6) : units,
    );
  const assumed = Object.entries(assumptions).map(([name, value]) => `${name} ${String(value)}`);
  const delivered = request.delivered_quantity;
  return (
    <Part title={t('price')}>
      <Stack gap={6}>
        <Amount name={t('quoted')} micro={quoted} strong={charged === null} />
        {charged === null ? (
          <Dimmed ta="right">{t('reserved')}</Dimmed>
        ) : (
          <Amount name={t('common:charged')} micro={charged} strong />
        )}
        {returned !== null && returned > 0n && <Amount name={t('returned')} micro={returned} />}
        {refunded !== '0' && <Amount name={t('refunded')} micro={refunded} />}
      </Stack>
      <Divider my="sm" />
      <Stack gap="xs">
        {breakdown.map((line, i) => (
          <Group key={i} justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
            <div>
              <Text size="sm">{line.label}</Text>
              <Note>
                {amount(line.quantity)} × ${formatUsd(line.unit_price_usd_micro)} {t(`per.${unit}`)}
              </Note>
            </div>
            <Text size="sm" span>
              <Usd micro={line.amount_usd_micro} />
            </Text>
          </Group>
        ))}
        {delivered !== null && delivered !== quantity && (
          <Dimmed>
            {t('delivered', { quantity: amount(delivered), unit: t(`unit.${unit}`) })}
          </Dimmed>
        )}
        {assumed.length > 0 && (
          <Dimmed className="wrap">{t('assumed', { what: assumed.join(', ') })}</Dimmed>
        )}
      </Stack>
    </Part>
  );
}

function Amount(props: { name: string; micro: string | bigint; strong?: boolean }) {
  const { name, micro, strong = false } = props;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" c={strong ? undefined : 'dimmed'}>
        {name}
      </Text>
      <Text span fw={strong ? 650 : 400} fz={strong ? 'lg' : 'sm'}>
        <Usd micro={micro} />
      </Text>
    </Group>
  );
}

export function TimelineCard({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const moments = useMoments(request);
  return (
    <Part title={t('timeline')}>
      <Moments moments={moments} />
    </Part>
  );
}

function useMoments(request: RequestDetail): Moment[] {
  const { t, i18n } = useTranslation('request');
  const { created_at, started_at, completed_at, status, attempts, deliveries } = request;
  const between = (from: string, to: string) =>
    formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)), i18n.language);
  const moments: Moment[] = [{ at: created_at, what: t('created') }];
  for (const [i, { at, outcome }] of attempts.entries()) {
    const isBad = outcome === 'rejected' || outcome === 'missing';
    moments.push({
      at,
      what: t(`attempt.${outcome ?? 'under_way'}`),
      more: i === 0 ? t('waited', { time: between(created_at, at) }) : undefined,
      ...(isBad && { color: 'red' }),
    });
  }
  if (started_at && attempts.length === 0) moments.push({ at: started_at, what: t('started') });
  if (completed_at) {
    moments.push({
      at: completed_at,
      what: t(`end.${status}`),
      more: started_at ? t('ran', { time: between(started_at, completed_at) }) : undefined,
      color: status === 'FAILED' ? 'red' : status === 'CANCELLED' ? 'gray' : 'fare',
    });
  }
  for (const { at, status: answered } of deliveries) {
    const isGood = answered !== null && answered >= 200 && answered < 300;
    const what = answered === null ? t('not_notified') : t('notified', { status: answered });
    moments.push({ at, what, color: isGood ? 'fare' : 'red' });
  }
  const gone = request.outputs.length > 0 && request.outputs.every(({ url }) => url === null);
  if (gone && request.expires_at)
    moments.push({ at: request.expires_at, what: t('expired'), color: 'gray' });
  return moments;
}

const stateColors = { pending: 'gray', delivered: 'fare', failed: 'red' } as const;

export function WebhookCard(props: {
  webhook: NonNullable<RequestDetail['webhook']>;
  request: RequestDetail;
}) {
  const { t } = useTranslation('request');
  const { webhook, request } = props;
  const state = webhook.state ?? 'pending';
  const last = request.deliveries.at(-1);
  return (
    <Part title={t('webhook')}>
      <Stack gap="xs">
        <Text size="sm" ff="monospace" className="wrap">
          {webhook.url}
        </Text>
        <Group justify="space-between">
          <Dot color={stateColors[state]}>{t(`webhook_state.${state}`)}</Dot>
          {last && (
            <Dimmed>
              {t('last_answer')}: {last.status ?? t('no_answer')}
            </Dimmed>
          )}
        </Group>
        {last?.error && <Dimmed className="wrap">{last.error}</Dimmed>}
      </Stack>
    </Part>
  );
}

/** The caller's own pairs; each leads to all requests that have it. */
export function MetadataCard({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const rows = Object.entries(request.metadata).map(([name, value]): [string, ReactNode] => {
    const pair = `${name}=${value}`;
    return [
      name,
      <Anchor
        key={name}
        component={QueryLink}
        to="/dashboard/requests"
        search={{ metadata: pair }}
        className="wrap"
        aria-label={t('find_metadata', { pair })}
      >
        {value || '""'}
      </Anchor>,
    ];
  });
  return (
    <Part title={t('metadata')}>
      <FactList rows={rows} />
    </Part>
  );
}

export function Facts({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const keys = useKeyNames();
  const numbers = useCallNumbers(request);
  const { kind, key_id, created_at, started_at, completed_at } = request;
  const key = keys?.get(key_id);
  const rows: [string, ReactNode][] = [
    [t('kind'), t(`common:kind.${kind}`)],
    [t('key'), keys && (key ? `${key.name} …${key.last4}` : t('requests:unknown_key'))],
    [t('requests:column.duration'), <Duration from={started_at ?? created_at} to={completed_at} />],
    ...numbers,
  ];
  return (
    <Part title={t('common:facts')}>
      <FactList rows={rows} />
    </Part>
  );
}
