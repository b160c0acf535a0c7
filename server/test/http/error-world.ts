import assert from 'node:assert/strict';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { requestIn } from '../kit/states.ts';
import { until } from '../kit/until.ts';
import type { CallOptions, Reply, Service, TestAccount } from '../kit/service.ts';

/** One way to cause an error. */
export interface Scenario {
  name: string;
  call: (w: World) => Promise<Reply>;
  /** The status, if it is not the catalogue's. */
  status?: number;
  param?: string | null;
  message?: RegExp;
  details?: unknown;
  headers?: Record<string, string>;
  /** Requests that the call leaves in the database; default: none. */
  leaves?: 'a released request' | 'cancelled requests';
}

export const secret = Buffer.from('a secret of at least thirty-two characters');
export const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
export const absent = '00000000-0000-7000-8000-000000000000';

/** Accounts and requests that the scenarios find, and ways to call. */
export type World = Awaited<ReturnType<typeof createWorld>>;

export async function createWorld(service: Service) {
  const rich = await service.account();
  const limited = await service.account({ monthly_limit_usd_micro: 25_000n });
  const settings = { FAREBOX_METRICS_TOKEN: 'the token', FAREBOX_IN_FLIGHT_MAX: '1' };
  const { base } = await service.another(settings);
  const completed = await requestIn(service, rich, 'COMPLETED');
  const failed = await requestIn(service, rich, 'FAILED');
  const cancelled = await requestIn(service, rich, 'CANCELLED');
  const ways = waysToCall(service, rich);
  const queued = await ways.queue({ prompt: 'a cat' }, { headers: { 'idempotency-key': 'used' } });
  await ways.queue({ prompt: 'a cat' }, { key: limited.key });
  return {
    service,
    /** The same service with a metrics token, and room for one call at a time. */
    strict: { base },
    rich,
    limited,
    poor: await service.account({ usd: 0.015 }),
    busy: await service.account({ rpm: 1 }),
    narrow: await service.account({ models: ['fake/chat'] }),
    over: await service.account({ expires_at: new Date('2026-01-01') }),
    completed,
    failed,
    cancelled,
    queued: queued.body.request_id as string,
    ...ways,
    ...circumstances(service, ways, base, completed),
  };
}

type Ways = ReturnType<typeof waysToCall>;

function waysToCall(service: Service, { key }: TestAccount) {
  const call = (method: string, path: string, options: CallOptions = {}): Promise<Reply> =>
    service.call(method, path, { key, ...options });
  const post =
    (path: string) =>
    (body: unknown, options: CallOptions = {}) =>
      call('POST', path, { body, ...options });
  return {
    call,
    queue: post('/v1/queue/fake/image'),
    film: post('/v1/queue/fake/film/text-to-video'),
    estimate: post('/v1/estimate'),
    complete: post('/v1/chat/completions'),
  };
}

type Work = () => Promise<Reply>;

function circumstances(service: Service, ways: Ways, strictBase: string, completed: string) {
  /** Makes one call while the upstream behaves in this way. */
  const acting = (behave: Service['fake']['behave'], work: Work): Promise<Reply> => {
    service.fake.behave = behave;
    return work().finally(() => (service.fake.behave = {}));
  };

  /** Makes one call while the database is changed. */
  const having = async (change: string, undo: string, work: Work): Promise<Reply> => {
    await service.db.run(rawSql(change));
    return work().finally(() => service.db.run(rawSql(undo)));
  };

  const submit = async () => {
    const reply = await ways.queue({ prompt: 'x' });
    if (reply.status === 202)
      await ways.call('POST', `/v1/requests/${reply.body.request_id}/cancel`);
    return reply;
  };

  /**
   * Submits while a change of the database keeps the queue closed. The service reads its queues
   * from time to time, so it waits until the queue closes, and then until it is open again.
   */
  const closed = async (change: string, undo: string): Promise<Reply> => {
    const reply = await having(change, undo, () =>
      until('the queue is closed', async () => {
        const answer = await submit();
        return answer.status === 503 && answer;
      }),
    );
    await until('the queue is open again', async () => (await submit()).status === 202);
    return reply;
  };

  const aDayLater = (work: Work): Promise<Reply> => {
    const shift = (sign: string) =>
      `update requests set completed_at = completed_at ${sign} interval '1 day' where id = '${completed}'`;
    return having(shift('-'), shift('+'), work);
  };

  /** Makes one call while the strict service is busy with the only call that it allows. */
  const besides = async (work: Work): Promise<Reply> => {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    service.fake.behave.chat = async () => {
      asked.resolve();
      await gate.promise;
      return { outcome: 'rejected', message: 'that is enough' };
    };
    const held = ways.complete(chat, { base: strictBase });
    await asked.promise;
    const reply = await work();
    assert.equal((await service.call('GET', '/livez', { base: strictBase })).status, 200);
    gate.resolve();
    await held;
    service.fake.behave = {};
    return reply;
  };
  return { acting, having, closed, aDayLater, besides };
}

/** A body without a Content-Length. */
export function streamOf(bytes: number): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.alloc(bytes, 'a'));
      controller.close();
    },
  });
}

export function nextMonth(): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
}
