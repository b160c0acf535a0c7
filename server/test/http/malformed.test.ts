import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { errors, type ErrorCode } from '../../src/core/errors.ts';
import { readObject } from '../../src/http/body.ts';
import type { HttpDeps, KeyedRequest } from '../../src/http/deps.ts';
import type { Times } from '../../src/http/times.ts';
import { createBudget } from '../../src/lib/budget.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { finished } from '../kit/finished.ts';
import { inShare } from '../kit/long.ts';
import { assertErrorShape } from '../kit/refusal.ts';
import { assertUnharmed, leavingNothing, send } from '../kit/rough.ts';
import { fakeCatalog, startService, type Service } from '../kit/service.ts';
import { requestIn, wake } from '../kit/states.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import { exchange } from '../kit/wire.ts';
import { media } from '../upstreams/fakes/kit.ts';
import * as bodies from './malformed/bodies.ts';
import * as chat from './malformed/chat.ts';
import * as headers from './malformed/headers.ts';
import * as json from './malformed/json.ts';
import * as numbers from './malformed/numbers.ts';
import * as paths from './malformed/paths.ts';
import * as requests from './malformed/requests.ts';
import { marker, post, type Row, type World } from './malformed/row.ts';

/**
 * Calls that no client should make: broken, hostile or odd, at every place that reads them. Each is
 * refused in the common form or taken; nothing else happens.
 */

let service: Service;
let world: World;
before(async () => {
  const short = { bodyMs: 4_000, uploadWindowMs: 4_000, headersMs: 1_500, connectionsCheckMs: 50 };
  world = await openWorld(short);
  ({ service } = world);
});
after(async () => {
  await service.audit();
  await service.stop();
});

async function openWorld(times: Partial<Times>): Promise<World> {
  const opened = await startService({
    catalog: fakeCatalog + numbers.edges,
    env: { FAREBOX_OPEN_JOBS: '10000', FAREBOX_UPLOAD_MAX_BYTES: String(bodies.uploadMaxBytes) },
    times,
  });
  assert.equal(opened.app.catalog.current().models.size, 6, opened.log.join(''));
  const account = await opened.account({ usd: 10_000 });
  return { service: opened, account, done: await requestIn(opened, account, 'COMPLETED') };
}

const all = [json, chat, numbers, headers, requests, paths, bodies];
/** Number of calls at a time. */
const concurrency = 8;

async function assertAnswer([, call, answers, more]: Row, at = world): Promise<void> {
  const reply = await call(at);
  if (answers.length === 0) return;
  assert.ok(reply, 'no reply');
  const { status, text } = reply;
  const code = status >= 400 && text !== '' ? assertErrorShape(reply) : null;
  const isOne = (answer: ErrorCode | number) =>
    answer === status || (answer === code && errors[code].status === status);
  assert.ok(answers.some(isOne), `${status} ${text.slice(0, 300)}`);
  await more?.(reply, at);
}

describe('is refused:', { concurrency }, () => {
  let earlier: Awaited<ReturnType<typeof traces>>;
  before(async () => void (earlier = await traces(service)));
  const rows = all.flatMap(({ refused }) => inShare(3, refused));
  for (const row of rows) test(row[0], () => assertAnswer(row));
  after(async () => {
    await idle();
    assert.deepEqual(await traces(service), earlier, 'a refused call left something behind');
  });
});

describe('is taken:', { concurrency }, () => {
  /** A service with the usual time limits, because large bodies may come slowly. */
  let patient: World;
  before(async () => void (patient = await openWorld({})));
  after(async () => {
    await assertUnharmed(patient.service, patient.account, marker);
    await patient.service.audit();
    await patient.service.stop();
  });
  const tables = [json, chat, numbers, headers, bodies];
  const rows = tables.flatMap(({ taken }) => inShare(3, taken));
  for (const row of rows) test(row[0], () => assertAnswer(row, patient));
});

test('a deep body is answered soon', async () => {
  const begun = performance.now();
  const deep = `{"a":${'['.repeat(5 * 1024 * 1024)}`;
  await assertAnswer(['deep', post('/v1/chat/completions', deep), ['bad_request']]);
  assert.ok(performance.now() - begun < 5_000);
});

test('many slow heads do not block other calls', async () => {
  const slow = Array.from({ length: 100 }, () =>
    exchange(service.base, 'GET /livez HTTP/1.1\r\nX: '),
  );
  const answer = service.call('GET', '/v1/models');
  const first = await Promise.race([answer, ...slow]);
  assert.equal(first, await answer, 'it waited until a slow one was cut off');
  assert.equal((await answer).status, 200);
  for (const { closed } of await Promise.all(slow)) assert.ok(closed);
});

describe('a sender who leaves while the key is looked up', () => {
  test('ends the call at once', { timeout: 10_000 }, async () => {
    const body = new PassThrough().destroy();
    await once(body, 'close');
    const given = { 'content-type': 'application/json' };
    const req = {
      headers: given,
      body,
      caller: { account_id: 'a' },
      atEnd: [],
    } as unknown as KeyedRequest;
    const reply = { raw: new PassThrough() } as unknown as FastifyReply;
    const settings = { times: { bodyMs: 3_600_000 } };
    const budgets = { bodies: createBudget(100, 100), reading: createBudget(2, null) };
    const deps = { ...budgets, settings } as HttpDeps;
    await assert.rejects(readObject(req, reply, 100, deps), { code: 'bad_request' });
  });

  test('is not an error of the service', async () => {
    await leavingNothing(service, async () => {
      const released = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const lock = service.db.tx(async (tx) => {
        await tx.run(rawSql('lock table key_windows in access exclusive mode'));
        locked.resolve();
        await released.promise;
      });
      await locked.promise;
      const earlier = await finished(service.app.metrics);
      for (const [path, type] of bodies.readers) {
        const typed = [`Content-Type: ${type}`, 'Content-Length: 100'];
        const options = { headers: typed, body: '{"prompt":', leave: 'rudely' } as const;
        await send(service, world.account, `POST ${path}`, options);
      }
      const over = earlier + bodies.readers.length;
      await until('all have left', async () => (await finished(service.app.metrics)) >= over);
      released.resolve();
      await lock;
      await service.call('GET', '/v1/requests', { key: world.account.key });
    });
    const levels = service.log.map((line) => JSON.parse(line).level as number);
    assert.ok(Math.max(...levels) < 40, service.log.join(''));
  });
});

test('a length of next to nothing runs to its end, and is charged at most 1', async () => {
  const { key } = world.account;
  const source = { bytes: media.mp4 };
  const result = { media: [{ field: 'video', source }], fields: {} };
  service.fake.behave = { poll: () => ({ state: 'done', result }) };
  const body = { prompt: 'x', resolution: '480p', duration_seconds: 1e-320 };
  const reply = await service.call('POST', '/v1/queue/fake/film/text-to-video', { key, body });
  await service.work();
  await wake(service, reply.body.request_id);
  await service.work();
  const card = await service.call('GET', `/v1/requests/${reply.body.request_id}`, { key });
  assert.equal(card.body.status, 'COMPLETED');
  assert.ok(Number(card.body.charged_usd_micro) <= 1);
  service.fake.behave = {};
});

test('after all these calls the service is unharmed', () =>
  assertUnharmed(service, world.account, marker));

async function idle(): Promise<void> {
  await until(
    'no call is under way',
    async () => (await service.app.metrics.inFlight.get()).values[0]?.value === 0,
  );
}
