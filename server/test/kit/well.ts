import { rawSql } from '../../src/lib/sql.ts';
import type { Service } from './service.ts';
import { until } from './until.ts';

/** No upstream rests any more, and the service has seen it. `modelId`: one of the upstream's. */
export async function wellAgain(service: Service, modelId = 'fake/image'): Promise<void> {
  await service.db.run(rawSql('delete from upstreams'));
  const { key } = await service.account({ usd: 0 });
  await until('nothing rests any more', async () => {
    const call = { key, body: { prompt: 'x' } };
    return (await service.call('POST', `/v1/queue/${modelId}`, call)).status === 402;
  });
}
