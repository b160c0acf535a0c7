import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { after, afterEach, before, describe, test } from 'node:test';
import { Farebox, FareboxError, type Status } from '../src/index.ts';
import { images, tinyPng } from '../../server/test/kit/fake.ts';
import { refused, startFaulty, type FaultyProxy } from '../../server/test/kit/faulty.ts';
import { startService, type Service, type TestAccount } from '../../server/test/kit/service.ts';
import { until } from '../../server/test/kit/until.ts';

/**
 * Waiting for long jobs and downloading outputs, through restarts, refusals and lost connections.
 */

let service: Service;
let faulty: FaultyProxy;
let account: TestAccount;
let farebox: Farebox;
before(async () => {
  service = await startService({ running: true });
  faulty = await startFaulty(service.base);
  account = await service.account();
  farebox = new Farebox({ apiKey: account.key, baseUrl: `${faulty.base}/v1` });
});
afterEach(() => {
  faulty.spoil = () => undefined;
  faulty.calls.length = 0;
  service.fake.behave = {};
});
after(async () => {
  await faulty.stop();
  await service.audit();
  await service.stop();
});

const model = 'fake/image';
const input = { prompt: 'a cat' };
const waits = /^\/v1\/requests\/[^/]+\/status/;

async function errorOf(work: Promise<unknown>): Promise<FareboxError> {
  const error = await work.then(
    () => assert.fail('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FareboxError, inspect(error));
  assert.ok(!inspect(error, { depth: 9 }).includes(account.key), 'the key shows');
  return error;
}

describe('waiting', () => {
  /** A request that runs until `release` is called. */
  async function held(): Promise<{ id: string; release: () => void }> {
    let over = false;
    service.fake.behave = {
      poll: () =>
        over
          ? { state: 'done', result: images(1) }
          : { state: 'running', progress: 0.5, poll_after_ms: 20 },
    };
    const { requestId } = await farebox.submit(model, input);
    faulty.calls.length = 0;
    return { id: requestId, release: () => (over = true) };
  }
  const asked = (times: number) =>
    until('the client asks again', () => faulty.calls.filter(isWait).length >= times);
  const isWait = ({ path }: { path: string }) => waits.test(path);

  test('goes on over a restart of the service', async () => {
    const first = await service.another();
    faulty.target = first.base;
    const { id, release } = await held();
    const seen: Status[] = [];
    const done = (async () => {
      for await (const status of farebox.watch(id)) seen.push(status);
    })();
    await until('it is watched', () => seen.some(({ status }) => status === 'IN_PROGRESS'));
    const before = faulty.calls.length;
    await first.app.stop(0);
    await until('it is looked for in vain', () => faulty.calls.length >= before + 2);
    release();
    const second = await service.another();
    faulty.target = second.base;
    await done;
    assert.equal(seen.at(-1)!.status, 'COMPLETED');
    faulty.target = service.base;
  });

  test('goes on over refusals and broken streams', async () => {
    const { id, release } = await held();
    const busy = refused(503, 'capacity_unavailable', { 'retry-after': '0' });
    faulty.meet(
      waits,
      'unsent',
      busy,
      { status: 502, body: 'Bad Gateway' },
      refused(429, 'rate_limited', { 'retry-after': '0' }),
    );
    const waiting = farebox.attach(id).wait();
    await asked(4);
    release();
    assert.equal((await waiting).status, 'COMPLETED');
  });

  test('works without streams if a proxy blocks them', async () => {
    const { id, release } = await held();
    faulty.spoil = ({ path }) => (path.endsWith('/stream') ? { status: 404, body: '' } : undefined);
    const error = await errorOf(farebox.attach(id).wait());
    assert.equal(error.code, 'unexpected_reply', 'what will not pass is not waited for');
    assert.equal(error.requestId, id);
    faulty.spoil = ({ path }) =>
      path.endsWith('/stream')
        ? refused(503, 'capacity_unavailable', { 'retry-after': '0' })
        : undefined;
    const waiting = farebox.attach(id).wait();
    await until('it polls', () => faulty.calls.some(({ path }) => path.endsWith('?wait=25')));
    release();
    assert.equal((await waiting).status, 'COMPLETED');
  });

  test('has its own timeout, which does not end the request', async () => {
    const { id, release } = await held();
    const late = await errorOf(farebox.attach(id).wait({ timeoutMs: 300 }));
    assert.deepEqual([late.code, late.requestId], ['timeout', id]);
    assert.match(late.message, /goes on/);
    const stopped = await errorOf(farebox.attach(id).wait({ signal: AbortSignal.timeout(50) }));
    assert.equal(stopped.code, 'timeout');
    const control = new AbortController();
    const waiting = errorOf(farebox.attach(id).result({ signal: control.signal }));
    control.abort(new Error('enough'));
    const given = await waiting;
    assert.deepEqual([given.code, given.requestId], ['aborted', id]);
    assert.match(inspect(given.cause), /enough/);
    release();
    assert.equal((await farebox.attach(id).wait()).status, 'COMPLETED', 'it was harmed');
  });

  test('of run throws with the id at its timeout, and the request goes on', async () => {
    service.fake.behave = { poll: () => ({ state: 'running', poll_after_ms: 20 }) };
    const late = await errorOf(farebox.run(model, input, { timeoutMs: 2000 }));
    assert.equal(late.code, 'timeout');
    service.fake.behave = {};
    assert.equal((await farebox.attach(late.requestId!).wait()).status, 'COMPLETED');
  });
});

describe('a download', () => {
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, i) => i % 251));

  test('that breaks off continues from the same byte', async () => {
    const png = Buffer.concat([tinyPng, bytes]);
    service.fake.behave = {
      poll: () => ({
        state: 'done',
        result: { media: [{ field: 'images', source: { bytes: png } }], fields: {} },
      }),
    };
    const { output } = await farebox.run(model, input);
    const link = new URL(output.images![0]!.url);
    const url = faulty.base + link.pathname + link.search;
    faulty.calls.length = 0;
    faulty.meet('/output/', { cutAt: 3_000 }, 'unsent', { cutAt: 2_000 });
    const seen: number[] = [];
    const blob = await farebox.download(url, { onProgress: ({ sent }) => void seen.push(sent) });
    assert.deepEqual(Buffer.from(await blob.arrayBuffer()), png);
    const ranges = faulty.calls.map(({ headers: given }) => given.range);
    assert.equal(ranges[0], undefined);
    assert.match(ranges[1]!, /^bytes=\d+-$/);
    assert.equal(ranges.length, 4);
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
      'it began anew',
    );
  });
});
