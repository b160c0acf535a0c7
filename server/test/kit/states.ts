import assert from 'node:assert/strict';
import { sql } from '../../src/lib/sql/sql.ts';
import { accept, images } from './fake.ts';
import type { Service, TestAccount } from './service.ts';

/** States in which a caller can find a request. */
export const states = [
  'IN_QUEUE',
  'claimed',
  'IN_PROGRESS',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;
export type State = (typeof states)[number];

/**
 * Submits two images, brings the request into the given state and returns its id. No other request
 * may be open.
 */
export async function requestIn(
  service: Service,
  account: TestAccount,
  state: State,
): Promise<string> {
  const { key } = account;
  const body = { prompt: 'a cat', num_images: 2 };
  const submitted = await service.call('POST', '/v1/queue/fake/image', { key, body });
  assert.equal(submitted.status, 202, submitted.text);
  const id: string = submitted.body.request_id;
  if (state === 'claimed') await claim(service, id);
  if (state === 'CANCELLED') await service.call('POST', `/v1/requests/${id}/cancel`, { key });
  if (state === 'IN_PROGRESS') {
    service.fake.behave = {
      start: (job) => ({ ...accept(service.fake, job), poll_after_ms: 60_000 }),
      poll: () => ({ state: 'running', progress: 0.5, logs: ['half'], poll_after_ms: 60_000 }),
    };
    await service.work();
    // The first poll reports the progress.
    await wake(service, id);
    await service.work();
  }
  if (state === 'COMPLETED' || state === 'FAILED') {
    service.fake.behave =
      state === 'FAILED'
        ? { poll: () => ({ state: 'failed', code: 'upstream_failed', message: 'out of paint' }) }
        : { poll: () => ({ state: 'done', result: images(2) }) };
    await service.work();
    await wake(service, id);
    await service.work();
  }
  service.fake.behave = {};
  return id;
}

/** Makes the request due now, unless it is final. */
export async function wake(service: Service, id: string): Promise<void> {
  await service.db.run(sql`update requests set wake_at = now() where id = ${id}
    and wake_at is not null`);
}

/** Claims the request as a worker does, without a call to the upstream. */
async function claim(service: Service, id: string): Promise<void> {
  await service.db.run(sql`
    update requests set slot = true, attempt = attempt + 1, wake_at = now() + interval '60 s'
      where id = ${id}`);
}
