import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { after, afterEach, before, describe, test } from 'node:test';
import { Farebox, FareboxError, type FareboxOptions } from '../src/index.ts';
import { rawSql } from '../../server/src/lib/sql/sql.ts';
import { tinyPng } from '../../server/test/kit/fake.ts';
import { refused, startFaulty, type FaultyProxy } from '../../server/test/kit/faulty.ts';
import { isLong } from '../../server/test/kit/long.ts';
import { startService, type Service, type TestAccount } from '../../server/test/kit/service.ts';
import { until } from '../../server/test/kit/until.ts';

/** Faults of a call: nothing is lost, nothing is done twice, no key leaks. */

let service: Service;
let faulty: FaultyProxy;
let account: TestAccount;
let farebox: Farebox;
before(async () => {
  // Without a worker, requests stay in the queue.
  service = await startService({ env: { FAREBOX_OPEN_JOBS: '1000' } });
  faulty = await startFaulty(service.base);
  account = await service.account();
  farebox = clientOf();
});
afterEach(() => {
  faulty.spoil = () => undefined;
  faulty.calls.length = 0;
});
after(async () => {
  await faulty.stop();
  await service.audit();
  await service.stop();
});

const model = 'fake/image';
const input = { prompt: 'a cat' };
const call = { model: 'fake/chat', messages: [{ role: 'user' as const, content: 'hi' }] };

function clientOf(options: FareboxOptions = {}): Farebox {
  return new Farebox({ apiKey: account.key, baseUrl: `${faulty.base}/v1`, ...options });
}

async function errorOf(work: Promise<unknown>): Promise<FareboxError> {
  const error = await work.then(
    () => assert.fail('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FareboxError, inspect(error));
  assert.ok(!inspect(error, { depth: 9 }).includes(account.key), 'the key shows');
  return error;
}

async function requestsMade(): Promise<number> {
  return count('select count(*) as n from requests where account_id = $1');
}

/** A reservation has the id of its request. */
async function reservesMade(): Promise<number> {
  return count(
    'select count(*) as n from transfers t join requests r on r.id = t.id where r.account_id = $1',
  );
}

async function count(question: string): Promise<number> {
  const [row] = await service.db.run<{ n: bigint }>(rawSql(question, [account.account_id]));
  return Number(row!.n);
}

/** Asserts that the work made one request and one reservation, whatever happened to its calls. */
async function once<T>(work: () => Promise<T>): Promise<T> {
  const [requests, reserves] = [await requestsMade(), await reservesMade()];
  const done = await work();
  assert.equal(await requestsMade(), requests + 1, 'requests');
  assert.equal(await reservesMade(), reserves + 1, 'reservations');
  return done;
}

describe('a reply that breaks off', () => {
  /**
   * In the long form every byte, as far as a key's limit of open jobs allows, the others in steps.
   */
  const places = [...range(0, 900, isLong ? 1 : 20), ...range(900, 1_600, 37)];

  function range(from: number, to: number, by: number): number[] {
    return Array.from({ length: Math.ceil((to - from) / by) }, (_, i) => from + i * by);
  }

  /** A client whose first call breaks off at this byte. */
  const cutting = (cutAt: number) => clientOf({ headers: { 'x-cut': String(cutAt) } });
  const cutFirst = () => {
    const met = new Set<unknown>();
    faulty.spoil = ({ headers }) => {
      const at = headers['x-cut'];
      if (at === undefined || met.has(at)) return undefined;
      met.add(at);
      return { cutAt: Number(at) };
    };
  };

  test('of a submit, at any byte, leads to the one request it made', async () => {
    const [requests, reserves] = [await requestsMade(), await reservesMade()];
    cutFirst();
    const jobs = await Promise.all(places.map((at) => cutting(at).submit(model, input)));
    assert.equal(new Set(jobs.map(({ requestId }) => requestId)).size, places.length);
    assert.equal(await requestsMade(), requests + places.length, 'requests');
    assert.equal(await reservesMade(), reserves + places.length, 'reservations');
    const tries = Map.groupBy(faulty.calls, ({ headers }) => headers['x-cut']);
    for (const at of places) {
      const keys = tries.get(String(at))!.map(({ headers }) => headers['idempotency-key']);
      assert.equal(new Set(keys).size, 1, `other keys where it was cut at ${at}`);
    }
    assert.ok(tries.get('0')!.length === 2 && tries.get('40')!.length === 2);
  });

  test('of a status, at any byte, is asked for again', async () => {
    const { requestId } = await farebox.submit(model, input);
    cutFirst();
    const found = await Promise.all(places.map((at) => cutting(at).status(requestId)));
    assert.deepEqual(new Set(found.map(({ status }) => status)), new Set(['IN_QUEUE']));
  });

  test('of every submit throws, and names the key under which a repeat is safe', async () => {
    const error = await once(async () => {
      faulty.meet('/queue/', ...Array.from({ length: 2 }, () => ({ cutAt: 30 })));
      return errorOf(clientOf({ maxRetries: 1 }).submit(model, input));
    });
    assert.equal(error.code, 'connection_error');
    assert.match(error.message, new RegExp(error.idempotencyKey!));
    const requests = await requestsMade();
    await farebox.submit(model, input, { idempotencyKey: error.idempotencyKey! });
    assert.equal(await requestsMade(), requests, 'a second request');
  });

  test('and whose repeat is refused: the error says that the first try may have succeeded', async () => {
    const later = refused(429, 'rate_limited', { 'x-should-retry': 'false' });
    const error = await once(async () => {
      faulty.meet('/queue/', { cutAt: 0 }, later);
      return errorOf(farebox.run(model, input));
    });
    assert.deepEqual([error.code, error.mayHaveBeenAccepted], ['rate_limited', true]);
    assert.match(
      error.message,
      new RegExp(`unknown whether the call was accepted.*${error.idempotencyKey!}`),
    );
    faulty.meet('/queue/', later);
    const first = await errorOf(farebox.run(model, input));
    assert.deepEqual([first.code, first.mayHaveBeenAccepted], ['rate_limited', false]);
    assert.doesNotMatch(first.message, /unknown whether/);
  });

  test('and a signal that fires before the repeat: likewise', async () => {
    const control = new AbortController();
    faulty.meet('/queue/', { status: 500, headers: { 'retry-after': '30' } });
    const submitting = errorOf(farebox.submit(model, input, { signal: control.signal }));
    await until('it was sent', () => faulty.calls.length === 1);
    control.abort();
    assert.equal((await submitting).mayHaveBeenAccepted, true);
    const never = await errorOf(farebox.submit(model, input, { signal: control.signal }));
    assert.deepEqual([never.code, never.mayHaveBeenAccepted], ['aborted', false]);
  });

  test('of a chat is repeated without a second charge', async () => {
    const reply = await once(async () => {
      faulty.meet('/chat/', { cutAt: 100 });
      return farebox.chat.create(call);
    });
    assert.equal(reply.choices[0]!.message.content, 'hello');
    assert.equal(service.fake.chats.length, 1, 'the model was asked twice');
  });

  test('of an upload is sent again, if the bytes are still there', async () => {
    faulty.meet('/files', { cutAt: 20 });
    assert.equal((await farebox.upload(tinyPng)).size, tinyPng.length);
    assert.equal(faulty.calls.length, 2);
    faulty.calls.length = 0;
    faulty.meet('/files', { cutAt: 20 });
    const stream = new Blob([new Uint8Array(tinyPng)]).stream() as ReadableStream<Uint8Array>;
    assert.equal((await errorOf(farebox.upload(stream))).code, 'connection_error');
    assert.equal(faulty.calls.length, 1, 'what is gone by cannot be sent again');
  });

  test('of a cancel that succeeded causes no error', async () => {
    const job = await farebox.submit(model, input);
    faulty.meet('/cancel', { cutAt: 10 });
    await job.cancel();
    assert.equal((await job.status()).status, 'CANCELLED');
  });
});

test('a reused key with new uploads says to upload the files first', async () => {
  const idempotencyKey = 'with-a-file';
  const image_url = new Blob([new Uint8Array(tinyPng)]);
  const given = { ...input, image_url };
  const transfers = await service.transfers();
  await farebox.submit(model, given, { idempotencyKey });
  const error = await errorOf(farebox.submit(model, given, { idempotencyKey }));
  assert.equal(error.code, 'idempotency_conflict');
  assert.match(error.message, /upload\(\).*file_id/);
  assert.equal(await service.transfers(), transfers + 1);
  const { file_id } = await farebox.upload(image_url);
  const kept = { ...input, image_url: file_id };
  const first = await farebox.submit(model, kept, { idempotencyKey: 'with-its-id' });
  const again = await farebox.submit(model, kept, { idempotencyKey: 'with-its-id' });
  assert.equal(again.requestId, first.requestId);
  const other = { idempotencyKey: 'with-its-id' };
  const plain = await errorOf(farebox.submit(model, input, other));
  assert.doesNotMatch(plain.message, /upload/);
});

describe('a temporary refusal', () => {
  test('is retried after the time that it names, and reported before', async () => {
    const told: [string, boolean][] = [];
    const client = clientOf({
      onRetry: ({ error, waitMs }) => told.push([error.code, waitMs >= 1_000 && waitMs < 2_000]),
    });
    await once(async () => {
      faulty.meet('/queue/', refused(429, 'rate_limited', { 'retry-after': '1' }));
      const startedAt = performance.now();
      await client.submit(model, input);
      const ms = performance.now() - startedAt;
      assert.ok(ms >= 1_000 && ms < 4_000, `${ms} ms`);
    });
    assert.deepEqual(told, [['rate_limited', true]]);
  });

  test('of a proxy, without our error form, is retried in the same way', async () => {
    faulty.meet('/balance', { status: 502, body: '<html>Bad Gateway</html>' }, 'unsent');
    await farebox.balance();
    assert.equal(faulty.calls.length, 3);
  });

  test('is not retried if its header says so, or if the wait is too long', async () => {
    const stop = refused(503, 'capacity_unavailable', { 'x-should-retry': 'false' });
    for (const fault of [stop, refused(429, 'rate_limited', { 'retry-after': '3600' })]) {
      faulty.calls.length = 0;
      faulty.meet('/balance', fault);
      await errorOf(farebox.balance());
      assert.equal(faulty.calls.length, 1);
    }
    faulty.calls.length = 0;
    faulty.meet('/balance', refused(500, 'internal_error'));
    await errorOf(clientOf({ maxRetries: 0 }).balance());
    assert.equal(faulty.calls.length, 1);
  });

  test('about money or a conflict is never retried, whatever its headers say', async () => {
    for (const [status, code] of [
      [402, 'insufficient_balance'],
      [409, 'idempotency_conflict'],
    ] as const) {
      faulty.calls.length = 0;
      faulty.meet('/queue/', refused(status, code, { 'x-should-retry': 'true' }));
      assert.equal((await errorOf(farebox.submit(model, input))).code, code);
      assert.equal(faulty.calls.length, 1);
    }
  });

  test('because our own chat still runs is waited for', async () => {
    const reply = await once(async () => {
      faulty.meet(
        '/chat/',
        { cutAt: 0 },
        refused(409, 'idempotency_conflict', { 'retry-after': '0' }),
      );
      return farebox.chat.create(call);
    });
    assert.equal(reply.choices.length, 1);
    assert.equal(faulty.calls.length, 3);
  });
});

describe('a call that is given up', () => {
  test('by a signal or a timeout releases everything', async () => {
    faulty.meet('/balance', 'silence', 'silence', 'silence');
    const late = await errorOf(farebox.balance({ timeoutMs: 50, maxRetries: 0 }));
    assert.equal(late.code, 'timeout');
    const control = new AbortController();
    const { signal } = control;
    let listeners = 0;
    const { addEventListener: add, removeEventListener: remove } = signal;
    signal.addEventListener = (...args: any[]) => (listeners++, add.apply(signal, args as never));
    signal.removeEventListener = (...args: any[]) => (
      listeners--,
      remove.apply(signal, args as never)
    );
    faulty.spoil = () => undefined;
    for (let i = 0; i < 3; i++) await farebox.balance({ signal });
    const { requestId } = await farebox.submit(model, input, { signal });
    await farebox.status(requestId, { signal, waitSeconds: 0.1 });
    for await (const _ of farebox.watch(requestId, { signal })) break;
    assert.equal(listeners, 0, 'listeners stay on the signal');
    control.abort();
    assert.equal((await errorOf(farebox.balance({ signal }))).code, 'aborted');
  });

  test('names the key under which a submit or chat is safe to send again', async () => {
    const idempotencyKey = 'given-up';
    const stopped = AbortSignal.abort();
    for (const options of [{ timeoutMs: 50, maxRetries: 0 }, { signal: stopped }]) {
      faulty.spoil = () => 'silence';
      const told = { ...options, idempotencyKey };
      const submit = await errorOf(farebox.submit(model, input, told));
      const chat = await errorOf(farebox.chat.create(call, told));
      assert.deepEqual(
        [submit.idempotencyKey, chat.idempotencyKey],
        [idempotencyKey, idempotencyKey],
      );
    }
  });

  test('in the middle of a run says how to find what it may have submitted', async () => {
    const run = (idempotencyKey: string) =>
      errorOf(farebox.run(model, input, { timeoutMs: 1500, maxUsdMicro: 10_000n, idempotencyKey }));
    faulty.meet('/estimate', 'silence');
    const before = await run('before');
    assert.deepEqual([before.requestId, before.mayHaveBeenAccepted], [null, false]);
    assert.doesNotMatch(before.message, /attach|idempotencyKey/);
    faulty.meet('/queue/', { cutAt: 0 }, 'silence', 'silence');
    const during = await run('during');
    assert.deepEqual([during.code, during.requestId], ['timeout', null]);
    assert.equal(during.idempotencyKey, 'during');
    assert.match(during.message, /idempotencyKey "during"/);
    assert.doesNotMatch(during.message, /attach/);
    faulty.spoil = () => undefined;
    const { requestId } = await farebox.submit(model, input, { idempotencyKey: 'during' });
    const after = await run('during');
    assert.equal(after.requestId, requestId, 'the key leads to what was submitted');
    assert.ok(after.message.includes(`attach("${requestId}")`));
    assert.equal((await farebox.status(requestId)).status, 'IN_QUEUE', 'it was taken back');
  });

  test('is not sent again', async () => {
    const control = new AbortController();
    faulty.meet('/queue/', refused(503, 'capacity_unavailable', { 'retry-after': '30' }));
    const submitting = errorOf(farebox.submit(model, input, { signal: control.signal }));
    await until('it was sent', () => faulty.calls.length === 1);
    control.abort();
    assert.equal((await submitting).code, 'aborted');
    assert.equal(faulty.calls.length, 1);
  });
});

describe('an invalid argument', () => {
  const odd = <T>(value: unknown) => value as T;

  test('as a limit of the price is refused before anything is sent', async () => {
    for (const maxUsdMicro of ['0.01', '10000', 0.01, 10_000, NaN, null, {}]) {
      const limit = odd<bigint>(maxUsdMicro);
      const error = await errorOf(farebox.run(model, input, { maxUsdMicro: limit }));
      assert.deepEqual([error.code, error.param], ['bad_argument', 'maxUsdMicro']);
      assert.match(error.message, /parseUsd\('0\.05'\)/);
    }
    assert.equal(faulty.calls.length, 0);
  });

  test('as a time, a number of tries or a signal is refused before anything is sent', async () => {
    const { requestId } = await farebox.submit(model, input);
    faulty.calls.length = 0;
    const options = [
      { timeoutMs: odd<number>('1000') },
      { timeoutMs: NaN },
      { timeoutMs: 0 },
      { timeoutMs: -1 },
      { maxRetries: NaN },
      { maxRetries: odd<number>('2') },
      { maxRetries: -1 },
      { signal: odd<AbortSignal>(new AbortController()) },
    ];
    for (const each of options) {
      const calls = [
        farebox.balance(each),
        farebox.run(model, input, each),
        farebox.submit(model, input, each),
        farebox.submit(model, { image_url: tinyPng }, each),
        farebox.chat.create(call, each),
        farebox.attach(requestId).wait(each),
        farebox.upload(tinyPng, each),
        farebox.download(`${faulty.base}/a.png`, each),
      ];
      for (const error of await Promise.all(calls.map(errorOf)))
        assert.deepEqual([error.code, error.param], ['bad_argument', Object.keys(each)[0]]);
    }
    for (const waitSeconds of [NaN, -1, odd<number>('5')]) {
      const error = await errorOf(farebox.status(requestId, { waitSeconds }));
      assert.deepEqual([error.code, error.param], ['bad_argument', 'waitSeconds']);
    }
    for (const each of options.slice(0, 7))
      assert.throws(() => clientOf(each as FareboxOptions), { code: 'bad_argument' });
    assert.equal(faulty.calls.length, 0);
  });

  test('as a header or a date is refused at once, without a second try', async () => {
    for (const idempotencyKey of ['日', 'zwölf', 'a\nb', 'a b', '', 'x'.repeat(256)]) {
      const submit = await errorOf(farebox.submit(model, input, { idempotencyKey }));
      const chat = await errorOf(farebox.chat.create(call, { idempotencyKey }));
      for (const error of [submit, chat])
        assert.deepEqual([error.code, error.param], ['bad_argument', 'idempotencyKey']);
    }
    const date = await errorOf(farebox.requests.list({ from: new Date('x') }));
    assert.deepEqual([date.code, date.param], ['bad_argument', 'from']);
    const header = await errorOf(clientOf({ headers: { 'x-mine': 'secret 日' } }).balance());
    assert.deepEqual([header.code, header.param], ['bad_argument', 'headers']);
    assert.ok(!header.message.includes('secret'));
    const type = { contentType: 'image/日' };
    assert.equal((await errorOf(farebox.upload(tinyPng, type))).code, 'bad_argument');
    assert.equal(faulty.calls.length, 0);
  });
});

describe('a key', () => {
  test('follows no redirect and goes to no other host', async () => {
    const seen: unknown[] = [];
    const other = await startFaulty(service.base);
    other.spoil = ({ headers: given }) => {
      seen.push(given.authorization);
      return { status: 200, body: 'bytes' };
    };
    const location = `${other.base}/v1/balance`;
    faulty.meet('/balance', { status: 307, headers: { location } });
    const error = await errorOf(farebox.balance());
    assert.equal(error.code, 'unexpected_reply');
    assert.match(error.message, /redirect/);
    assert.deepEqual(seen, []);
    assert.equal((await farebox.download(`${other.base}/a.png`)).size, 5);
    assert.deepEqual(seen, [undefined]);
    await other.stop();
  });

  test('that is empty is refused before anything is sent', () => {
    const made = () => new Farebox({ apiKey: ' ', baseUrl: faulty.base });
    assert.throws(made, { code: 'bad_argument', param: 'apiKey' });
  });

  test('that no header can hold is refused without showing it', () => {
    assert.throws(
      () => new Farebox({ apiKey: 'fbx_secret\nx: y', baseUrl: faulty.base }),
      (error: FareboxError) => error.code === 'bad_argument' && !inspect(error).includes('secret'),
    );
  });
});
