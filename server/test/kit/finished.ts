import type { Metrics } from '../../src/lib/metrics.ts';

/** Number of calls that ended in any way: their replies are closed, but work may go on. */
export async function finished({ httpSeconds }: Metrics): Promise<number> {
  const { values } = await httpSeconds.get();
  const counts = values.filter(({ metricName }) => metricName?.endsWith('_count'));
  return counts.reduce((sum, { value }) => sum + value, 0);
}
