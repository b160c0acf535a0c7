import { Group, Stack, Text, VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { briefUsd } from '../../money.ts';
import { Dimmed } from '../styles.ts';
import classes from './Chart.module.css';
import { ChartTable } from './ChartTable.tsx';
import { Bars, Grid, Lines } from './drawing.tsx';
import { labelled, scaleOf } from './scale.ts';
import { type ChartProps, type Series, type Values, sumOf, valueOf } from './values.tsx';
import { useTranslation } from '../../i18n.ts';

/** The height of a chart with its axis, for what holds its place. */
export const chartHeight = 246;

/** Bars or lines over columns such as days, with a table of the same values behind it. */
export function Chart(props: ChartProps) {
  if (props.asTable) return <ChartTable {...props} />;
  return (
    <Stack gap="sm">
      <Plot {...props} />
      <Legend {...props} />
      <VisuallyHidden>
        <ChartTable {...props} isHidden />
      </VisuallyHidden>
    </Stack>
  );
}

function Plot(props: ChartProps) {
  const { label, columns, series, before, shape = 'bars', isOpen = false } = props;
  const [at, setAt] = useState<number | null>(null);
  const scale = scaleOf([
    ...(shape === 'bars' ? stackEnds(series) : series.flatMap(({ values }) => known(values))),
    ...known(before?.values ?? []),
  ]);
  const shown = labelled(columns.length, 7);
  const drawn = { columns: columns.length, series, scale, at, isOpen };
  return (
    <div className={classes.frame}>
      <div className={classes.scale} aria-hidden>
        {scale.ticks.map((tick) => (
          <span key={tick}>{(props.format ?? usdText)(tick)}</span>
        ))}
      </div>
      <div
        className={classes.plot}
        role="img"
        aria-label={label}
        // A keyboard goes from column to column.
        tabIndex={0}
        onKeyDown={(event) => setAt((was) => afterKey(event, was, columns.length))}
        onFocus={() => setAt((was) => was ?? columns.length - 1)}
        onBlur={() => setAt(null)}
        onPointerMove={(event) => setAt(columnUnder(event, columns.length))}
        onPointerLeave={() => setAt(null)}
      >
        <Grid {...drawn} />
        {shape === 'bars' ? <Bars {...drawn} /> : <Lines {...drawn} />}
        {before && <Lines {...drawn} series={[{ ...before, color: 'var(--n8)' }]} isBefore />}
        {at !== null && columns[at] && <Tip {...props} at={at} />}
      </div>
      <div className={classes.names} aria-hidden>
        {columns.map(
          ({ short }, i) =>
            shown.has(i) && (
              <span
                key={i}
                style={
                  columns.length > 9 && i === columns.length - 1
                    ? { right: 0, transform: 'none' }
                    : { left: `${((i + 0.5) / columns.length) * 100}%` }
                }
              >
                {short}
              </span>
            ),
        )}
      </div>
    </div>
  );
}

const known = (values: Values) => values.filter((value) => value !== null);

/** The lower and the upper end of each stack. */
function stackEnds(series: readonly Series[]): number[] {
  const count = series[0]?.values.length ?? 0;
  return Array.from({ length: count }, (_, i) => {
    const parts = series.map(({ values }) => values[i] ?? 0);
    const sum = (sign: number) =>
      parts.reduce((total, part) => (part * sign > 0 ? total + part : total), 0);
    return [sum(-1), sum(1)];
  }).flat();
}

function columnUnder(event: PointerEvent<HTMLElement>, count: number): number {
  const { left, width } = event.currentTarget.getBoundingClientRect();
  return Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * count)));
}

function afterKey(event: KeyboardEvent, was: number | null, count: number): number | null {
  const now = was ?? count - 1;
  const moves: Record<string, number | null> = {
    ArrowLeft: Math.max(0, now - 1),
    ArrowRight: Math.min(count - 1, now + 1),
    Home: 0,
    End: count - 1,
    Escape: null,
  };
  const to = moves[event.key];
  if (to === undefined) return was;
  event.preventDefault();
  return to;
}

function usdText(micro: number): string {
  return briefUsd(BigInt(Math.round(micro)));
}

/** The values of one column. */
function Tip({ at, columns, series, before, shape = 'bars', format }: ChartProps & { at: number }) {
  const { t } = useTranslation('common');
  const isLeft = at < columns.length / 2;
  const place = ((isLeft ? at + 1 : columns.length - at) / columns.length) * 100;
  const parts = series.filter(({ values }) => shape === 'lines' || values[at] !== 0);
  const isSum = shape === 'bars' && series.length > 1;
  return (
    <div className={classes.tip} style={{ [isLeft ? 'left' : 'right']: `calc(${place}% + 8px)` }}>
      <Text fw={600} fz={13} mb={2}>
        {columns[at]!.long}
      </Text>
      {isSum && (
        <Row
          name={t('total')}
          value={valueOf(sumOf(series.map((of) => of.values[at] ?? null)), format)}
        />
      )}
      {parts.map(({ name, color, values }) => (
        <Row
          key={name}
          name={name}
          mark={<Swatch color={color} />}
          value={valueOf(values[at] ?? null, format)}
        />
      ))}
      {before && (
        <Row
          name={before.name}
          mark={<span className={classes.dashed} />}
          value={valueOf(before.values[at] ?? 0, format)}
        />
      )}
    </div>
  );
}

function Row({ name, mark, value }: { name: string; mark?: ReactNode; value: ReactNode }) {
  return (
    <Group justify="space-between" gap="lg" wrap="nowrap">
      <Group gap={6} wrap="nowrap" miw={0}>
        {mark}
        <Text fz={13} truncate>
          {name}
        </Text>
      </Group>
      <Text fz={13} component="span" fw={mark ? 400 : 600}>
        {value}
      </Text>
    </Group>
  );
}

function Swatch({ color }: { color: string }) {
  return <span className={classes.swatch} style={{ background: color }} aria-hidden />;
}

/** Names of the colours; of stacked bars with their sums. */
function Legend({ series, before, shape = 'bars', format }: ChartProps) {
  if (series.length < 2 && !before) return null;
  return (
    <Group gap="4px 16px">
      {series.map(({ name, color, values }) => (
        <Group key={name} gap={6} wrap="nowrap" maw="100%">
          <Swatch color={color} />
          <Text size="sm" truncate title={name}>
            {name}
          </Text>
          {shape === 'bars' && <Dimmed span>{valueOf(sumOf(values), format)}</Dimmed>}
        </Group>
      ))}
      {before && (
        <Group gap={6} wrap="nowrap">
          <span className={classes.dashed} aria-hidden />
          <Dimmed span>{before.name}</Dimmed>
          {shape === 'bars' && <Dimmed span>{valueOf(sumOf(before.values), format)}</Dimmed>}
        </Group>
      )}
    </Group>
  );
}
