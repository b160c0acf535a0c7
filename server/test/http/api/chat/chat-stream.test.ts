import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { sql } from '../../../../src/lib/sql/sql.ts';
import type { ChatCall } from '../../../../src/upstreams/upstream.ts';
import { openEvents, type Events, type StreamEvent } from '../../../kit/events.ts';
import { isLong } from '../../../kit/long.ts';
import { fakeCatalog, shortChatRow, startService } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { delta, openTap, usageChunk, type Tap } from '../../../kit/tap.ts';
import { assertTokensCharged } from '../../../kit/tokens.ts';
import { until } from '../../../kit/until.ts';

/**
 * Chat as a stream: the text that comes through, and the charge after a break by any side at any
 * point. A prompt token costs one micro-USD and a completion token two.
 */

const hello = [{ role: 'user', content: 'hello' }];
/** 3 for the message and a quarter of the word's 5 bytes, rounded up. */
const helloCount = 5;
/** Each piece has two and a half tokens. */
const pieces = ['ten bytes ', 'and again ', 'and so on ', 'to its end'];

/** The prompt's bound: 128 for the call, 16 for the message, 4 for five Latin letters. */
const helloBound = 128n + 16n + 4n;
/** The bound of so many pieces, by the rule for words. */
const boundOf = (delivered: 0 | 1 | 4): bigint => ({ 0: 0n, 1: 8n, 4: 27n })[delivered];

/** The charge when nobody reported usage: a quarter of the delivered bytes, rounded up. */
function countedCost(delivered: number): bigint {
  const bytes = pieces.slice(0, delivered).join('').length;
  return BigInt(helloCount + 2 * Math.ceil(bytes / 4));
}

after(() => assertTokensCharged(service));
const { service, account } = withService({
  catalog: `${fakeCatalog}${shortChatRow('fake/short', false)}${shortChatRow('fake/short/thinks', true)}`,
  times: { keepAliveMs: 40, stallMs: 500 },
});

interface BegunStream {
  events: Events;
  tap: Tap;
  call: ChatCall;
  /** The money that the account lost since, once nothing is reserved. */
  cost(): Promise<bigint>;
}

/** Starts a stream whose upstream sends what the test says. */
async function begin(
  body: Record<string, unknown> = {},
  options: { deaf?: boolean; base?: string } = {},
): Promise<BegunStream> {
  const earlier = await service.balance(account);
  const asked = Promise.withResolvers<{ call: ChatCall; tap: Tap }>();
  service.fake.behave.chat = (call) => {
    const tap = openTap(call, options);
    asked.resolve({ call, tap });
    return tap.outcome;
  };
  const whole = { model: 'fake/chat', messages: hello, max_tokens: 100, stream: true, ...body };
  const events = await openEvents(options.base ?? service.base, '/v1/chat/completions', {
    key: account.key,
    body: whole,
  });
  assert.equal(events.status, 200);
  const { call, tap } = await asked.promise;
  service.fake.behave = {};
  const cost = async () => {
    await until(
      'the call is settled',
      async () => (await service.balance(account)).reserved === 0n,
    );
    return earlier.available - (await service.balance(account)).available;
  };
  return { events, tap, call, cost };
}

/** How the account's newest request ended. */
async function end(of = service, whose = account): Promise<unknown[]> {
  const [row] = await of.db.run<{ status: string; error_code: string | null }>(sql`
    select status, error_code from requests where account_id = ${whose.account_id}
      order by id desc limit 1`);
  return [row!.status, row!.error_code];
}

/** Reads events until this many chunks have come, comments left out. */
async function read(events: Events, count: number): Promise<StreamEvent[]> {
  const found: StreamEvent[] = [];
  while (found.length < count) {
    const event = await events.next();
    assert.ok(event, 'the stream ended early');
    if (event.comment === undefined) found.push(event);
  }
  return found;
}

const parsed = (events: StreamEvent[]) =>
  events.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data));

async function openStreams(): Promise<number> {
  return (await service.app.metrics.streams.get()).values[0]!.value;
}

/** Disconnects the client and waits until the service has noticed. */
async function leave(events: Events): Promise<void> {
  events.leave();
  await until('the service has noticed', async () => (await openStreams()) === 0);
}

describe('a stream that comes to its end', () => {
  const wholes: { name: string; ask: boolean; usage: boolean; cost: bigint }[] = [
    { name: 'usage not asked for, the upstream gives it', ask: false, usage: true, cost: 25n },
    { name: 'usage asked for', ask: true, usage: true, cost: 25n },
    {
      name: 'usage asked for, and the upstream gives none',
      ask: true,
      usage: false,
      cost: countedCost(4),
    },
  ];
  for (const { name, ask, usage, cost } of wholes) {
    test(`${name}: the chunks, usage where asked, [DONE], and its charge`, async () => {
      const options = ask ? { stream_options: { include_usage: true } } : {};
      const { events, tap, cost: charged } = await begin(options);
      assert.equal(events.status, 200);
      assert.match(String(events.headers['content-type']), /^text\/event-stream\b/);
      assert.equal(events.headers['cache-control'], 'no-store');
      assert.ok(events.headers['x-request-id']);
      for (const piece of pieces) tap.push(delta(piece));
      tap.push(delta(null, 'stop'));
      if (usage) tap.push(usageChunk(7, 9));
      tap.end();
      const all = await events.rest();
      assert.equal(await events.closed, true);
      assert.equal(all.at(-1)!.data, '[DONE]');
      const chunks = parsed(all);
      const { id, created } = chunks[0];
      assert.match(id, /^chatcmpl-[0-9a-f-]{36}$/);
      const head = { id, object: 'chat.completion.chunk', created, model: 'fake/chat' };
      const last = ask ? chunks.pop() : undefined;
      const pending = ask ? { usage: null } : {};
      const sent = [...pieces.map((content) => [{ content }, null]), [{}, 'stop']] as const;
      const expected = sent.map(([piece, finish_reason], i) => {
        const delta = { ...(i === 0 && { role: 'assistant' }), ...piece };
        const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
        return { ...head, choices, ...pending };
      });
      assert.deepEqual(chunks, expected);
      if (ask) {
        const [prompt, text] = usage ? [7, 9] : [helloCount, 10];
        const tokens = {
          prompt_tokens: prompt,
          completion_tokens: text,
          total_tokens: prompt + text,
        };
        assert.deepEqual(last, {
          ...head,
          choices: [],
          usage: { ...tokens, cost_usd_micro: String(cost) },
        });
      }
      assert.equal(await charged(), cost);
      assert.equal(tap.returned(), true);
    });
  }

  test('comments come while the model thinks, and none after the end', async () => {
    const { events, tap, cost } = await begin();
    for (let i = 0; i < 2; i++) assert.equal((await events.next())!.comment, 'keep-alive');
    tap.push(delta('x', 'stop'));
    tap.end();
    const last = await events.rest();
    assert.deepEqual(
      last.map(({ data }) => data === '[DONE]'),
      [false, false, true],
    );
    assert.equal(await cost(), BigInt(helloCount + 2));
  });

  test('zero output with an error finish is free, and says so', async () => {
    const { events, tap, cost } = await begin({ stream_options: { include_usage: true } });
    tap.push(delta(null, 'error'));
    tap.push(usageChunk(7, 9));
    tap.end();
    const last = parsed(await events.rest()).at(-1);
    assert.equal(last.error.details.reason, 'model_broke_off');
    assert.equal(await cost(), 0n);
  });
});

describe('a fault in the middle is a last chunk with an error, then [DONE]', () => {
  const faults: [name: string, play: (tap: Tap) => void][] = [
    ['the connection breaks', (tap) => tap.break(new Error('reset by 10.1.2.3'))],
    [
      'the upstream says so itself',
      (tap) => tap.push({ error: { message: 'at 10.1.2.3', code: 'theirs' } }),
    ],
    ['what comes is no chunk', (tap) => tap.push(5 as unknown as Record<string, unknown>)],
  ];
  for (const [name, play] of faults) {
    for (const delivered of [0, 2]) {
      test(`${name} after ${delivered} chunks`, async () => {
        const { events, tap, call, cost } = await begin({
          stream_options: { include_usage: true },
        });
        for (const piece of pieces.slice(0, delivered)) tap.push(delta(piece));
        play(tap);
        const all = await events.rest();
        assert.equal(await events.closed, true);
        const charge = delivered === 0 ? 0n : countedCost(delivered);
        // If there is a charge, it comes in a chunk before the error.
        const told = parsed(all).filter(({ usage }) => (usage ?? null) !== null);
        assert.deepEqual(
          told.map(({ choices, usage }) => [choices, usage.cost_usd_micro]),
          delivered === 0 ? [] : [[[], String(charge)]],
        );
        assert.equal(all.length, delivered + told.length + 2);
        assert.equal(all.at(-1)!.data, '[DONE]');
        const { error, ...others } = JSON.parse(all.at(-2)!.data);
        assert.deepEqual(others, {});
        assert.equal(error.code, 'submit_failed');
        assert.equal(error.type, 'upstream_error');
        assert.equal(error.request_id, events.headers['x-request-id']);
        assert.doesNotMatch(JSON.stringify(all), /10\.1\.2\.3|theirs/);
        assert.equal(await cost(), charge);
        assert.equal(call.signal.aborted, true, 'the upstream was left hanging');
        const failure = ['FAILED', 'upstream_failed'];
        assert.deepEqual(await end(), delivered === 0 ? failure : ['COMPLETED', null]);
      });
    }
  }

  test('without usage if none was asked for', async () => {
    const { events, tap, cost } = await begin();
    tap.push(delta(pieces[0]!));
    tap.break();
    const chunks = parsed(await events.rest());
    assert.deepEqual(
      chunks.map((chunk) => 'usage' in chunk),
      [false, false],
    );
    assert.equal(await cost(), countedCost(1));
  });
});

describe('a caller who leaves', () => {
  for (let delivered = 0; delivered <= pieces.length; delivered++) {
    const got = delivered === 0 ? 0n : countedCost(delivered);

    test(`after ${delivered} chunks, row says stop: the upstream is let go, what came is charged`, async () => {
      const { events, tap, call, cost } = await begin();
      for (const piece of pieces.slice(0, delivered)) tap.push(delta(piece));
      await read(events, delivered);
      assert.equal(call.signal.aborted, false);
      await leave(events);
      assert.equal(await cost(), got);
      assert.deepEqual(await end(), ['COMPLETED', null]);
      assert.equal(call.signal.aborted, true);
      assert.equal(tap.returned(), true);
    });

    test(`after ${delivered} chunks, and the upstream sends on all the same: no more is charged`, async () => {
      const { events, tap, call, cost } = await begin({}, { deaf: true });
      for (const piece of pieces.slice(0, delivered)) tap.push(delta(piece));
      await read(events, delivered);
      await leave(events);
      assert.equal(call.signal.aborted, true);
      for (const piece of pieces) tap.push(delta(piece));
      assert.equal(await cost(), got);
      assert.deepEqual(await end(), ['COMPLETED', null]);
      await until('the service reads no more', () => tap.returned());
      assert.equal(tap.taken(), delivered + 1);
    });

    test(`after ${delivered} chunks, row says finish: it is read to its usage, which is charged`, async () => {
      const { events, tap, call, cost } = await begin({ model: 'fake/drain/chat' });
      for (const piece of pieces.slice(0, delivered)) tap.push(delta(piece));
      await read(events, delivered);
      await leave(events);
      assert.equal(call.signal.aborted, false);
      for (const piece of pieces.slice(delivered)) tap.push(delta(piece));
      tap.push(usageChunk(7, 9));
      tap.end();
      assert.equal(await cost(), 25n);
      assert.equal(tap.taken(), pieces.length + 1);
    });
  }

  test('row says finish, and no usage comes: the bound of all that was written is charged', async () => {
    const { events, tap, cost } = await begin({ model: 'fake/drain/chat' });
    tap.push(delta(pieces[0]!));
    await read(events, 1);
    await leave(events);
    for (const piece of pieces.slice(1)) tap.push(delta(piece));
    tap.end();
    assert.equal(await cost(), helloBound + 2n * boundOf(4));
  });

  for (const delivered of [0, 1, 4] as const) {
    for (const [model, charged] of [
      ['fake/short', helloBound + 2n * boundOf(delivered)],
      ['fake/short/thinks', helloBound + 2n * 100n],
    ] as const) {
      for (const stays of [false, true]) {
        if (stays && delivered === 0) continue;
        // Each case takes the whole second that the row allows.
        if (!isLong && delivered !== 1) continue;
        const who = stays ? 'stays' : 'leaves';
        test(`${model}, ${who} after ${delivered} chunks: no usage comes in time, the bound is charged`, async () => {
          const { events, tap, call, cost } = await begin({ model });
          for (const piece of pieces.slice(0, delivered)) tap.push(delta(piece));
          await read(events, delivered);
          if (!stays) await leave(events);
          assert.equal(call.signal.aborted, false);
          assert.equal(await cost(), charged);
          assert.equal(call.signal.aborted, true);
          assert.deepEqual(await end(), ['COMPLETED', null]);
        });
      }
    }
  }

  test('row says finish, and the model breaks off before any output: that is its failure', async () => {
    const { events, tap, cost } = await begin({ model: 'fake/drain/chat' });
    await leave(events);
    tap.break();
    assert.equal(await cost(), 0n);
    assert.deepEqual(await end(), ['FAILED', 'upstream_failed']);
  });

  test('before the upstream has answered: the upstream is stopped, and nothing is charged', async () => {
    const earlier = await service.balance(account);
    const asked = Promise.withResolvers<AbortSignal>();
    service.fake.behave.chat = ({ signal }) => {
      asked.resolve(signal);
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    };
    const left = new AbortController();
    const reply = account.post(
      '/v1/chat/completions',
      { model: 'fake/chat', messages: hello, stream: true },
      { signal: left.signal },
    );
    const signal = await asked.promise;
    service.fake.behave = {};
    left.abort();
    await assert.rejects(reply);
    await until('the upstream is let go', () => signal.aborted);
    await until(
      'nothing is reserved',
      async () => (await service.balance(account)).reserved === 0n,
    );
    assert.deepEqual(await service.balance(account), earlier);
  });

  test('while the process stops: what was delivered is charged before it ends', async () => {
    for (const model of ['fake/chat', 'fake/drain/chat']) {
      const { app, base } = await service.another();
      const { events, tap, cost } = await begin({ model }, { base });
      tap.push(delta(pieces[0]!));
      await read(events, 1);
      events.leave();
      await until(
        'it is noticed',
        async () => (await app.metrics.streams.get()).values[0]!.value === 0,
      );
      // A quarter of this time is left for the charge.
      await app.stop(1_600);
      assert.equal((await service.balance(account)).reserved, 0n, model);
      assert.equal(await cost(), countedCost(1));
    }
  });
});

test('a caller who does not read is cut off, the upstream is stopped, and memory stays limited', async () => {
  const { events, tap, call, cost } = await begin({ max_tokens: 8_000 });
  const big = 'x'.repeat(64 * 1024);
  events.stopReading();
  const most = 512;
  for (let i = 0; i < most; i++) tap.push(delta(big));
  await until('the upstream is let go', () => call.signal.aborted);
  assert.ok(tap.taken() < most / 2, `${tap.taken()} of ${most} chunks of 64 KiB were taken`);
  assert.equal(await cost(), 148n + 16_000n, 'what was delivered is above the reservation');
  assert.equal(await openStreams(), 0);
  events.leave();
});

test('neither a slow caller nor a silent model delays the settlement past its time', async () => {
  const catalog = fakeCatalog.replaceAll('kind: text', 'kind: text\n    job_age_seconds: 2');
  const hasty = await startService({ catalog });
  try {
    const { account_id, key, ...rest } = await hasty.account();
    const body = { model: 'fake/chat', messages: hello, max_tokens: 100, stream: true };
    hasty.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta(pieces[0]!));
      tap.push(delta('x'.repeat(16 * 1024 * 1024)));
      return tap.outcome;
    };
    const events = await openEvents(hasty.base, '/v1/chat/completions', { key, body });
    events.stopReading();
    const owner = { account_id, key, ...rest };
    await until('it is settled', async () => (await hasty.balance(owner)).reserved === 0n);
    assert.equal((await hasty.balance(owner)).available, 100_000_000n - countedCost(1));
    events.leave();
    hasty.fake.behave.chat = (call) => openTap(call).outcome;
    const silent = await openEvents(hasty.base, '/v1/chat/completions', { key, body });
    const [fault] = parsed(await silent.rest());
    assert.equal(fault.error.code, 'submit_failed');
    assert.deepEqual(await end(hasty, owner), ['FAILED', 'upstream_failed']);
    hasty.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta(pieces[0]!));
      return tap.outcome;
    };
    const late = await openEvents(hasty.base, '/v1/chat/completions', { key, body });
    const told = parsed(await late.rest()).at(-1).error;
    assert.deepEqual([told.code, told.details.reason], ['submit_failed', 'time_was_up']);
    assert.doesNotMatch(told.message, /model ended the reply early|no more/);
    await hasty.audit();
  } finally {
    await hasty.stop();
  }
});

test('a call that was released when it was due is not streamed to its end', async () => {
  const { events, tap, cost } = await begin();
  tap.push(delta(pieces[0]!));
  await read(events, 1);
  await service.wakeAll();
  await service.work();
  assert.equal(await cost(), 0n);
  tap.push(delta(null, 'stop'));
  tap.end();
  const last = await events.rest();
  assert.equal(await events.closed, false, 'the reply came to a proper end');
  assert.ok(last.every(({ data }) => data !== '[DONE]'));
});
