import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dimmed, Note, Dot } from '../components/styles.ts';
import type { CatalogRow, RowMargin } from '../api-types.ts';
import { Percent, Usd, When } from '../components/text.tsx';
import { useTranslation } from '../i18n.ts';
import './models/catalog-texts.ts';

/** How the catalog pages show a row with its price and margin. */

const colors = { live: 'fare', stopped: 'orange', hidden: 'gray', left_out: 'red' };

export function StateBadge({ row }: { row: CatalogRow }) {
  const { t } = useTranslation('operator_catalog');
  return <Dot color={colors[row.state]}>{t(row.state)}</Dot>;
}

export function StoppedBy({ since, by }: { since: string; by: string }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Note className="wrap">
      {t('stopped_since')} <When at={since} />
      {` · ${by === 'command line' ? t('command_line') : by}`}
    </Note>
  );
}

/** The reason why callers do not see the row, or see an older version. */
export function Reason({ row }: { row: CatalogRow }) {
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
        <Note className="wrap">{needed(reason, (variables) => t('needs', { variables }))}</Note>
      )}
      {problem !== null && (
        <Text size="xs" c="red" className="wrap" title={problem.message}>
          {row.state !== 'left_out' && `${t('stale')}: `}
          {problem.line === null ? problem.file : `${problem.file}:${problem.line}`}
        </Text>
      )}
    </>
  );
}

/** The missing variables if they are the reason; otherwise the reason as reported. */
export function needed(reason: string, inWords: (variables: string) => string): string {
  const reasons = reason
    .split('; ')
    .map((each) => /: it needs ([A-Z][A-Z0-9_]+(?:=on)?)$/.exec(each)?.[1]);
  return reasons.every((name) => name !== undefined) ? inWords(reasons.join(', ')) : reason;
}

type Prices = Pick<CatalogRow, 'margins' | 'rates'>;

/** One range over the resolutions, or a line for each kind of token. */
function linesOf({ margins, rates }: Prices): RowMargin[][] {
  const isKnown = rates.some(({ cost_usd_micro }) => cost_usd_micro !== null);
  const isPlain = margins.every(({ of, cost_usd_micro: cost }) => of === 'unit' || cost === null);
  return rates.length > 0 && (isKnown || isPlain) ? [rates] : margins.map((margin) => [margin]);
}

/** The list price with its unit. */
export function PriceLines({ of, unit }: { of: Prices; unit: CatalogRow['unit'] }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Lines>
      {linesOf(of).map((range) => (
        <span key={range[0]!.of}>
          {range[0]!.of !== 'unit' && <Note span>{`${t(range[0]!.of)} `}</Note>}
          <Range of={range.map((each) => each.price_usd_micro)} />
        </span>
      ))}
      <Note span>{t(`per.${unit}`)}</Note>
    </Lines>
  );
}

/** Beside each other, or one below the other where the place is narrow. */
function Lines({ children }: { children: ReactNode }) {
  return (
    <Group gap="0 8px" justify="flex-end" className="number">
      {children}
    </Group>
  );
}

/** From the least to the most. */
function Range({ of }: { of: (string | null)[] }) {
  const known = of
    .filter((each) => each !== null)
    .toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
  const [least, most] = [known[0], known.at(-1)];
  if (least === undefined) return '—';
  return (
    <>
      <Usd micro={least} />
      {most !== least && (
        <>
          {' – '}
          <Usd micro={most!} />
        </>
      )}
    </>
  );
}

/** The cost, or what is left of the price. */
export function MarginLines({ of, what }: { of: Prices; what: 'cost' | 'margin' }) {
  const { t } = useTranslation('operator_catalog');
  const lines = linesOf(of);
  if (lines.flat().every(({ cost_usd_micro }) => cost_usd_micro === null)) {
    return (
      <Dimmed style={{ whiteSpace: 'nowrap' }}>{what === 'cost' ? t('unknown_cost') : '—'}</Dimmed>
    );
  }
  return (
    <Lines>
      {lines.map((range) => (
        <MarginLine key={range[0]!.of} range={range} what={what} />
      ))}
    </Lines>
  );
}

function MarginLine({ range, what }: { range: RowMargin[]; what: 'cost' | 'margin' }) {
  const isLoss = what === 'margin' && range.some((each) => each.margin_usd_micro?.startsWith('-'));
  const shares = range.flatMap(({ margin_ppm: ppm }) => ppm ?? []);
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  return (
    <Text span fz="inherit" {...(isLoss && { c: 'red' })}>
      <Range of={range.map((each) => each[`${what}_usd_micro`])} />
      {what === 'margin' && shares.length > 0 && (
        <Text span size="xs" className="number" {...(!isLoss && { c: 'dimmed' })}>
          {' '}
          <Percent ppm={least} />
          {most !== least && (
            <>
              {' – '}
              <Percent ppm={most} />
            </>
          )}
        </Text>
      )}
    </Text>
  );
}
