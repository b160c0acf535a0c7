import { rawSql } from '../../src/lib/sql/sql.ts';
import type { Service } from './service.ts';
import { until } from './until.ts';

/**
 * Ends every pause of upstreams, and waits until the service has noticed. `modelId`: a model of the
 * paused upstream.
 */
export async function wellAgain(service: Service, modelId = 'fake/image'): Promise<void> {
  await service.db.run(rawSql('delete from upstreams'));
  const { key } = await service.account({ usd: 0 });
  await until('nothing rests any more', async () => {
    const call = { key, body: { prompt: 'x' } };
    return (await service.call('POST', `/v1/queue/${modelId}`, call)).status === 402;
  });
}
