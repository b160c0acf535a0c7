import type { App } from '../../src/app.ts';
import { until } from './until.ts';

/**
 * Starts a call that waits for its request to change, and returns once the service holds it. `look`
 * asks the same service for a status: polls are answered in order, so its answer means that the
 * waiting call has had its own first poll.
 */
export async function held<T>(
  app: App,
  start: () => Promise<T>,
  look: () => Promise<unknown>,
): Promise<{ reply: Promise<T> }> {
  const earlier = await lookUps(app, 'status');
  const reply = start();
  await until('the call has looked', async () => (await lookUps(app, 'status')) > earlier);
  await look();
  return { reply };
}

/** Counts the database lookups of one kind of batch so far. */
export async function lookUps(app: App, batch: string): Promise<number> {
  const { values } = await app.metrics.batchSize.get();
  const sum = values.find(
    ({ metricName, labels }) => metricName === 'farebox_batch_size_sum' && labels.batch === batch,
  );
  return sum?.value ?? 0;
}
