import type { Registry } from 'prom-client';

/**
 * A histogram in Prometheus' form for what is observed at every call. Its series are found by one
 * look-up in a map, where prom-client's own makes and sorts a text of all labels each time.
 */
export interface FastHistogram<Label extends string> {
  observe(labels: Record<Label, string>, value: number): void;
  /** As prom-client's metrics answer. */
  get(): Promise<{ values: Value[] }>;
}

interface Value {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

export interface HistogramOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  /** Upper bounds, rising. */
  buckets: readonly number[];
  registry: Registry;
}

interface Series {
  labels: Record<string, string>;
  /** How many fell into each bucket; the last one has no bound. */
  counts: number[];
  sum: number;
}

export function createHistogram<Label extends string>(
  options: HistogramOptions<Label>,
): FastHistogram<Label> {
  const { name, help, labelNames, buckets, registry } = options;
  const series = new Map<string, Series>();
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    reset: () => series.clear(),
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...series.values()].flatMap((each) => valuesOf(name, buckets, each)),
    }),
  };
  // Its type wants one of prom-client's classes; what it calls is `get` and `reset`.
  registry.registerMetric(metric as never);
  return {
    get: metric.get,
    observe(labels, value) {
      let key = '';
      for (const label of labelNames) key += `${labels[label]}\n`;
      let found = series.get(key);
      if (!found) {
        found = { labels, counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 };
        series.set(key, found);
      }
      let at = 0;
      while (at < buckets.length && value > buckets[at]!) at++;
      found.counts[at]!++;
      found.sum += value;
    },
  };
}

function valuesOf(
  name: string,
  buckets: readonly number[],
  { labels, counts, sum }: Series,
): Value[] {
  let total = 0;
  const cumulated = counts.map((count, i) => {
    total += count;
    const le = i < buckets.length ? buckets[i]! : '+Inf';
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total };
  });
  return [
    ...cumulated,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ];
}
