/** The scale of a chart's axis. */
export interface Scale {
  /** Marked values, the highest first. */
  ticks: number[];
  /** How far below the top of the chart a value lies, as a share of its height. */
  depth: (value: number) => number;
}

/** A scale from 0, or from the lowest value below it, to round numbers. */
export function scaleOf(values: readonly number[]): Scale {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const step = roundStep((high - low) / 3);
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  const count = Math.max(1, last - first);
  const ticks = Array.from({ length: count + 1 }, (_, i) => exact((first + count - i) * step));
  return { ticks, depth: (value) => ((first + count) * step - value) / (count * step) };
}

/** The least of 1, 2, 2.5, 5, 10, 20 … that is not smaller. */
function roundStep(size: number): number {
  if (size <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(size));
  return exact([1, 2, 2.5, 5, 10].find((each) => each * power >= size * (1 - 1e-9))! * power);
}

/** Without the last digits, which binary fractions get wrong. */
function exact(value: number): number {
  return Number(value.toPrecision(12));
}

/** The places of at most `most` labels below `count` columns, at equal distances from the last. */
export function labelled(count: number, most: number): Set<number> {
  const every = Math.max(1, Math.ceil(count / most));
  return new Set(Array.from({ length: Math.ceil(count / every) }, (_, i) => count - 1 - i * every));
}
