import { Badge, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Percent } from '../components/Percent.tsx';
import { Usd } from '../components/Usd.tsx';
import { When } from '../components/When.tsx';
import './catalog-words.ts';

/** What the catalog's pages are told of a row, and how its price and margin are shown. */

export interface Problem {
  file: string;
  path: string;
  message: string;
  line: number | null;
}

export interface Margin {
  of: 'unit' | 'with_extras' | 'input' | 'output';
  price_usd_micro: string;
  cost_usd_micro: string | null;
  margin_usd_micro: string | null;
  margin_ppm: number | null;
}

export interface Route {
  upstream: string;
  model: string;
  weight: number | null;
  set_up: boolean;
  reason: string | null;
  margins: Margin[];
}

export interface Row {
  id: string;
  /** Null, with all that follows: it has never been good. */
  name: string | null;
  kind: 'image' | 'video' | 'text' | null;
  task: string | null;
  unit: string | null;
  uncensored: boolean;
  file: string;
  line: number | null;
  state: 'live' | 'stopped' | 'hidden' | 'left_out';
  reason: string | null;
  /** Since when, and which operator stopped it. */
  stopped: { since: string; by: string } | null;
  problem: Problem | null;
  price_varies: boolean;
  margins: Margin[];
  /** How a request can cost more than it is charged, in the operator's own words. */
  cost_may_exceed: string | null;
  /** Day on which its model and price were last looked at; null: its file states none. */
  checked_on: string | null;
  price_is_old: boolean;
  upstreams: Route[];
}

const colors = { live: 'fare', stopped: 'orange', hidden: 'gray', left_out: 'red' };

export function StateBadge({ row }: { row: Row }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Badge variant="dot" color={colors[row.state]} tt="none" fw={500}>
      {t(row.state)}
    </Badge>
  );
}

export function StoppedBy({ since, by }: { since: string; by: string }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
      {t('stopped_since')} <When at={since} />
      {` · ${by === 'command line' ? t('command_line') : by}`}
    </Text>
  );
}

/** Why callers do not see it, or see an older one. */
export function Reason({ row }: { row: Row }) {
  const { t } = useTranslation('operator_catalog');
  const { reason, problem, stopped, cost_may_exceed, checked_on, price_is_old } = row;
  return (
    <>
      {stopped !== null && <StoppedBy {...stopped} />}
      {cost_may_exceed !== null && (
        <Text size="xs" c="orange" title={cost_may_exceed}>
          {t('may_exceed')}
        </Text>
      )}
      {price_is_old && (
        <Text size="xs" c="orange">
          {t('checked', { day: checked_on })}
        </Text>
      )}
      {reason !== null && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {needed(reason, (variables) => t('needs', { variables }))}
        </Text>
      )}
      {problem !== null && (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }} title={problem.message}>
          {row.state !== 'left_out' && `${t('stale')}: `}
          {problem.line === null ? problem.file : `${problem.file}:${problem.line}`}
        </Text>
      )}
    </>
  );
}

/** The variables that are missing, where that is the reason; else the reason as it is told. */
export function needed(reason: string, inWords: (variables: string) => string): string {
  const reasons = reason
    .split('; ')
    .map((each) => /: it needs ([A-Z][A-Z0-9_]+(?:=on)?)$/.exec(each)?.[1]);
  return reasons.every((name) => name !== undefined) ? inWords(reasons.join(', ')) : reason;
}

/** The list price with what it counts. */
export function PriceLines({ row }: { row: Row }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Stack gap={0} align="flex-end">
      {row.margins.map((margin) => (
        <span key={margin.of} className="number">
          {row.price_varies && <Small text={t('up_to')} />}
          {margin.of !== 'unit' && <Small text={t(margin.of)} />}
          <Usd micro={margin.price_usd_micro} column />
        </span>
      ))}
      <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {t(`per.${row.unit}`)}
      </Text>
    </Stack>
  );
}

function Small({ text }: { text: string }) {
  return (
    <Text span size="xs" c="dimmed">
      {`${text} `}
    </Text>
  );
}

/** One line for each sort of token, or the one there is. */
export function MarginLines({ margins, what }: { margins: Margin[]; what: 'cost' | 'margin' }) {
  const { t } = useTranslation('operator_catalog');
  if (margins.every((margin) => margin.cost_usd_micro === null)) {
    return (
      <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {what === 'cost' ? t('unknown_cost') : '—'}
      </Text>
    );
  }
  return (
    <Stack gap={0} align="flex-end">
      {margins.map((margin) => (
        <MarginLine key={margin.of} margin={margin} what={what} />
      ))}
    </Stack>
  );
}

function MarginLine({ margin, what }: { margin: Margin; what: 'cost' | 'margin' }) {
  const amount = what === 'cost' ? margin.cost_usd_micro : margin.margin_usd_micro;
  if (amount === null) return <span>—</span>;
  const isLoss = what === 'margin' && BigInt(amount) < 0n;
  return (
    <Text span fz="inherit" className="number" {...(isLoss && { c: 'red' })}>
      <Usd micro={amount} column={what === 'cost'} />
      {what === 'margin' && margin.margin_ppm !== null && (
        <Text span size="xs" {...(!isLoss && { c: 'dimmed' })}>
          {' '}
          <Percent ppm={margin.margin_ppm} />
        </Text>
      )}
    </Text>
  );
}
