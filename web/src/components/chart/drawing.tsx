import classes from './Chart.module.css';
import type { Scale } from './scale.ts';
import type { Series, Values } from './values.tsx';

/** The drawn parts of a chart. Their sizes are shares, so nothing has to be measured. */

interface DrawingProps {
  /** How many columns there are. */
  columns: number;
  series: readonly Series[];
  scale: Scale;
  /** The chosen column. */
  at: number | null;
  isOpen: boolean;
}

const percent = (share: number) => `${share * 100}%`;

/** The lines of the axis, and the ground of the chosen column. */
export function Grid({ columns, scale, at }: DrawingProps) {
  return (
    <svg className={classes.drawing} aria-hidden>
      {at !== null && (
        <rect
          className={classes.ground}
          x={percent(at / columns)}
          y={0}
          width={percent(1 / columns)}
          height="100%"
        />
      )}
      {scale.ticks.map((tick) => {
        const y = percent(scale.depth(tick));
        return <line key={tick} className={classes.line} x1="0" x2="100%" y1={y} y2={y} />;
      })}
    </svg>
  );
}

/** A bar for each column, with a part for each series. */
export function Bars({ columns, series, scale, isOpen }: DrawingProps) {
  const width = columns > 45 ? 0.8 : 0.7;
  return (
    <svg className={classes.drawing} aria-hidden data-chart="bars">
      {Array.from({ length: columns }, (_, i) =>
        stacked(series, i).map(({ color, from, to }) => (
          <rect
            key={color}
            className={isOpen && i === columns - 1 ? classes.open : undefined}
            x={percent((i + (1 - width) / 2) / columns)}
            width={percent(width / columns)}
            y={percent(scale.depth(Math.max(from, to)))}
            height={percent(Math.abs(scale.depth(to) - scale.depth(from)))}
            fill={color}
            rx={2}
          />
        )),
      )}
    </svg>
  );
}

/** The parts of a column's bar; those below 0 hang down from it. */
function stacked(series: readonly Series[], i: number) {
  let [up, down] = [0, 0];
  return series.flatMap(({ color, values }) => {
    const value = values[i] ?? 0;
    if (value === 0) return [];
    const from = value > 0 ? up : down;
    if (value > 0) up += value;
    else down += value;
    return [{ color, from, to: from + value }];
  });
}

interface Stretch {
  /** Its first column. */
  from: number;
  values: number[];
}

/** Columns side by side that have values; a line has a gap between them. */
function stretchesOf(values: Values): Stretch[] {
  const found: Stretch[] = [];
  values.forEach((value, i) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last && last.from + last.values.length === i) last.values.push(value);
    else found.push({ from: i, values: [value] });
  });
  return found;
}

/** A line for each series, the first one over a ground of its colour. */
export function Lines(props: DrawingProps & { isBefore?: boolean }) {
  const { columns, series, scale, at, isBefore = false } = props;
  const pointsOf = ({ from, values }: Stretch) =>
    values.map((value, i) => `${from + i + 0.5},${scale.depth(value)}`).join(' ');
  const [first] = series;
  const zero = scale.depth(0);
  return (
    <svg className={classes.drawing} aria-hidden data-chart={isBefore ? 'before' : 'lines'}>
      <svg width="100%" height="100%" viewBox={`0 0 ${columns} 1`} preserveAspectRatio="none">
        {first &&
          !isBefore &&
          stretchesOf(first.values).map((each) => {
            const [left, right] = [each.from + 0.5, each.from + each.values.length - 0.5];
            return (
              <polygon
                key={each.from}
                className={classes.area}
                fill={first.color}
                points={`${left},${zero} ${pointsOf(each)} ${right},${zero}`}
              />
            );
          })}
        {series.flatMap(({ name, color, values }) =>
          stretchesOf(values).map((each) => (
            // The first point again: a line of one point alone is not drawn, of it twice it is a dot.
            <polyline
              key={`${name} ${each.from}`}
              className={isBefore ? `${classes.curve} ${classes.before}` : classes.curve}
              stroke={color}
              points={`${pointsOf({ ...each, values: each.values.slice(0, 1) })} ${pointsOf(each)}`}
            />
          )),
        )}
      </svg>
      {at !== null &&
        !isBefore &&
        series.map(
          ({ name, color, values: { [at]: value = null } }) =>
            value !== null && (
              <circle
                key={name}
                className={classes.point}
                cx={percent((at + 0.5) / columns)}
                cy={percent(scale.depth(value))}
                r={4.5}
                fill={color}
              />
            ),
        )}
    </svg>
  );
}
