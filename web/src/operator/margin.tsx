import { Stack, Text } from '@mantine/core';
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

/** The list price with its unit. */
export function PriceLines({ row }: { row: CatalogRow }) {
  const { t } = useTranslation('operator_catalog');
  return (
    <Stack gap={0} align="flex-end">
      {row.margins.map((margin) => (
        <span key={margin.of} className="number">
          {row.price_varies && <Small text={t('up_to')} />}
          {margin.of !== 'unit' && <Small text={t(margin.of)} />}
          <Usd micro={margin.price_usd_micro} />
        </span>
      ))}
      <Note style={{ whiteSpace: 'nowrap' }}>{t(`per.${row.unit}`)}</Note>
    </Stack>
  );
}

function Small({ text }: { text: string }) {
  return <Note span>{`${text} `}</Note>;
}

/** One line per kind of token, or a single line. */
export function MarginLines({ margins, what }: { margins: RowMargin[]; what: 'cost' | 'margin' }) {
  const { t } = useTranslation('operator_catalog');
  if (margins.every((margin) => margin.cost_usd_micro === null)) {
    return (
      <Dimmed style={{ whiteSpace: 'nowrap' }}>{what === 'cost' ? t('unknown_cost') : '—'}</Dimmed>
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

function MarginLine({ margin, what }: { margin: RowMargin; what: 'cost' | 'margin' }) {
  const amount = what === 'cost' ? margin.cost_usd_micro : margin.margin_usd_micro;
  if (amount === null) return <span>—</span>;
  const isLoss = what === 'margin' && BigInt(amount) < 0n;
  return (
    <Text span fz="inherit" className="number" {...(isLoss && { c: 'red' })}>
      <Usd micro={amount} />
      {what === 'margin' && margin.margin_ppm !== null && (
        <Text span size="xs" {...(!isLoss && { c: 'dimmed' })}>
          {' '}
          <Percent ppm={margin.margin_ppm} />
        </Text>
      )}
    </Text>
  );
}
