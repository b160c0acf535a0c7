import { Anchor, Divider, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { QueryLink } from '../../address.ts';
import { Dimmed, Note } from '../../components/styles.ts';
import type { RequestDetail } from '../../api-types.ts';
import { Usd } from '../../components/text.tsx';
import { SectionCard } from '../../components/frame/SectionCard.tsx';
import { formatUsd } from '../../money.ts';
import { Facts } from '../../components/Facts.tsx';
import { useTranslation } from '../../i18n.ts';

/** Cards beside a request: its price and its metadata. */

export function PriceCard({ request }: { request: RequestDetail }) {
  const { t, language } = useTranslation('request');
  const { quoted_usd_micro: quoted, charged_usd_micro: charged, quote } = request;
  const { refunded_usd_micro: refunded } = request;
  const { breakdown, assumptions, unit, quantity } = quote;
  const returned = charged === null ? null : BigInt(quoted) - BigInt(charged);
  const inTokens = unit === '1M tokens';
  const amount = (units: number) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: 6 }).format(
      inTokens ? Math.round(units * 1e6) : units,
    );
  const assumed = Object.entries(assumptions).map(([name, value]) => `${name} ${String(value)}`);
  const delivered = request.delivered_quantity;
  return (
    <SectionCard title={t('price')}>
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
    </SectionCard>
  );
}

function Amount(props: { name: string; micro: string | bigint; strong?: boolean }) {
  const { name, micro, strong = false } = props;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" c={strong ? undefined : 'dimmed'}>
        {name}
      </Text>
      <Text span fw={strong ? 600 : 400} fz={strong ? 'lg' : 'sm'}>
        <Usd micro={micro} />
      </Text>
    </Group>
  );
}

/** The caller's own pairs; each leads to all requests that have it. */
export function MetadataCard({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  if (Object.keys(request.metadata).length === 0) return null;
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
    <SectionCard title={t('metadata')}>
      <Facts rows={rows} />
    </SectionCard>
  );
}
