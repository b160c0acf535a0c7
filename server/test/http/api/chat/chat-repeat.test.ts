import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { sql } from '../../../../src/lib/sql/sql.ts';
import type { ChatCall } from '../../../../src/upstreams/upstream.ts';
import { openEvents } from '../../../kit/events.ts';
import { completion, type SaidReply } from '../../../kit/fake.ts';
import { lookUps } from '../../../kit/held.ts';
import { inLong } from '../../../kit/long.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { withService } from '../../../kit/with-service.ts';
import type { CallOptions, Reply } from '../../../kit/service.ts';
import { delta, openTap, usageChunk } from '../../../kit/tap.ts';
import { traces } from '../../../kit/traces.ts';
import { until } from '../../../kit/until.ts';

/**
 * Chat calls with an Idempotency-Key: their replies are repeated or awaited, or made again after a
 * failure.
 */

const { service, account } = withService({ times: { repeatWaitMs: 1_000 } });

const body = {
  model: 'fake/chat',
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens: 100,
};
let keys = 0;
const newKey = () => `key-${++keys}`;

function chat(key: string, options: CallOptions = {}): Promise<Reply> {
  const headers = { 'idempotency-key': key };
  return account.post('/v1/chat/completions', body, { headers, ...options });
}

async function stream(key: string, more: Record<string, unknown> = {}) {
  const whole = { ...body, stream: true, ...more };
  const headers = { 'idempotency-key': key };
  const events = await openEvents(service.base, '/v1/chat/completions', {
    key: account.key,
    body: whole,
    headers,
  });
  const all = await events.rest();
  assert.equal(all.pop()?.data, '[DONE]');
  return { events, chunks: all.map(({ data }) => JSON.parse(data)) };
}

const said = (text: string): SaidReply => ({
  outcome: 'reply',
  reply: completion(text, { prompt_tokens: 5, completion_tokens: 2 }),
});

/** The upstream holds every call until the test gives its outcome. */
function holding() {
  const calls: { call: ChatCall; answer: (outcome: SaidReply) => void }[] = [];
  service.fake.behave.chat = (call) =>
    new Promise((answer) => {
      calls.push({ call, answer });
    });
  const next = (n: number) => until(`upstream call ${n}`, () => calls[n - 1]);
  return { calls, next, letGo: () => (service.fake.behave = {}) };
}

const textOf = (chunks: any[]) =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

describe('a repeat', () => {
  test('of a reply is that reply, free, without an upstream', async () => {
    const key = newKey();
    const first = await chat(key);
    const earlier = await traces(service);
    const again = await chat(key);
    assert.equal(again.status, 200);
    assert.deepEqual(again.body, first.body);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(first.headers.get('idempotent-replayed'), null);
    assert.equal(again.headers.get('x-charge-usd-micro'), '0');
    assert.deepEqual(await traces(service), earlier);
  });

  test('is recognised by the values of the body, not by its bytes', async () => {
    const key = newKey();
    const first = await chat(key);
    const { model, messages, max_tokens } = body;
    const raw = `  ${JSON.stringify({ max_tokens, messages, model }, null, 3)}\n`;
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    assert.deepEqual((await chat(key, { body: undefined, raw, headers })).body, first.body);
  });

  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages'])
    test(`at ${path} is the same call with null for a field as without the field`, async () => {
      const whole = path === '/v1/responses' ? { model: body.model, input: 'hello' } : body;
      const send = (more: object) => account.post(path, { ...whole, ...more }, { headers });
      const headers = { 'idempotency-key': newKey() };
      const first = await send({});
      assert.equal(first.status, 200, first.text);
      const earlier = await traces(service);
      const again = await send({ temperature: null, metadata: null });
      assert.deepEqual(again.body, first.body);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assertRefused(await send({ temperature: 0 }), 'idempotency_conflict');
      assert.deepEqual(await traces(service), earlier);
    });

  test('of a stream is a stream of its whole text, usage where asked', async () => {
    for (const ask of [false, true]) {
      const key = newKey();
      service.fake.behave.chat = (call) => {
        const tap = openTap(call);
        for (const piece of ['one ', 'two ', 'three']) tap.push(delta(piece));
        tap.push(delta(null, 'stop'));
        tap.push(usageChunk(5, 3));
        tap.end();
        return tap.outcome;
      };
      const options = ask ? { stream_options: { include_usage: true } } : {};
      const first = await stream(key, options);
      const earlier = await traces(service);
      const again = await stream(key, options);
      service.fake.behave = {};
      assert.equal(again.events.headers['idempotent-replayed'], 'true');
      const { id, created } = first.chunks[0];
      const head = { id, created, model: 'fake/chat', object: 'chat.completion.chunk' };
      const said = { role: 'assistant', content: 'one two three' };
      const pending = ask ? { usage: null } : {};
      const expected = [
        {
          ...head,
          choices: [{ index: 0, delta: said, logprobs: null, finish_reason: null }],
          ...pending,
        },
        {
          ...head,
          choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }],
          ...pending,
        },
      ];
      assert.deepEqual(again.chunks, ask ? [...expected, first.chunks.at(-1)] : expected);
      assert.deepEqual(await traces(service), earlier);
    }
  });

  inLong('of a reply far larger than the buffer of a reader comes completely', async () => {
    const key = newKey();
    const long = 'so on and '.repeat(400_000);
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta(long, 'stop'));
      tap.end();
      return tap.outcome;
    };
    const first = await stream(key);
    service.fake.behave = {};
    assert.ok(textOf(first.chunks) === long);
    assert.ok(textOf((await stream(key)).chunks) === long);
  });

  test('of text that PostgreSQL cannot store has a replacement character in its place', async () => {
    const key = newKey();
    service.fake.behave.chat = () => said('a\0b\ud800');
    const first = await chat(key).finally(() => (service.fake.behave = {}));
    assert.equal(first.status, 200, first.text);
    assert.equal(first.body.choices[0].message.content, 'a\0b\ud800');
    assert.equal((await chat(key)).body.choices[0].message.content, 'a\ufffdb\ufffd');
  });

  test('of a stream that broke off is what was delivered, and that it broke off', async () => {
    const key = newKey();
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta('half of '));
      tap.break();
      return tap.outcome;
    };
    const first = await stream(key);
    service.fake.behave = {};
    const { error } = first.chunks.at(-1);
    assert.equal(error.code, 'submit_failed');
    assert.match(error.message, /call again; if this call had an Idempotency-Key, use a new one/);
    const earlier = await traces(service);
    const again = await stream(key);
    const fault = again.chunks.pop();
    const request_id = again.events.headers['x-request-id'];
    const { code, details, request_id: own } = fault.error;
    assert.deepEqual([code, own], ['submit_failed', request_id]);
    assert.deepEqual(details, { reason: 'first_call_broke_off' });
    assert.match(fault.error.message, /new Idempotency-Key/);
    assert.equal(textOf(again.chunks), 'half of ');
    assert.deepEqual(await traces(service), earlier);
  });

  test('of a stream whose caller was lost is what was delivered, and that it broke off', async () => {
    const key = newKey();
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta('half of '));
      return tap.outcome;
    };
    const events = await openEvents(service.base, '/v1/chat/completions', {
      key: account.key,
      body: { ...body, stream: true },
      headers: { 'idempotency-key': key },
    });
    assert.match((await events.next())!.data, /half of /);
    events.leave();
    await until('it is settled', async () => (await service.balance(account)).reserved === 0n);
    service.fake.behave = {};
    const earlier = await traces(service);
    const { chunks } = await stream(key);
    const { error } = chunks.pop();
    assert.equal(error.code, 'submit_failed');
    assert.equal(error.details.reason, 'first_call_broke_off', 'not that the model did');
    assert.equal(textOf(chunks), 'half of ');
    assert.deepEqual(await traces(service), earlier);
  });

  test('of a stream whose caller was lost before any output is that, and free', async () => {
    const key = newKey();
    const earlier = await service.balance(account);
    const begun = Promise.withResolvers<void>();
    service.fake.behave.chat = (call) => {
      begun.resolve();
      return openTap(call).outcome;
    };
    const events = await openEvents(service.base, '/v1/chat/completions', {
      key: account.key,
      body: { ...body, stream: true },
      headers: { 'idempotency-key': key },
    });
    await begun.promise;
    events.leave();
    await until('it is settled', async () => (await service.balance(account)).reserved === 0n);
    service.fake.behave = {};
    assert.deepEqual(await service.balance(account), earlier);
    const { events: again, chunks } = await stream(key);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(chunks.pop().error.code, 'submit_failed');
    assert.equal(textOf(chunks), '');
    assert.deepEqual(await service.balance(account), earlier);
  });

  test('of a stream whose model gave no finish reason is no fault: it had stopped', async () => {
    const key = newKey();
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      for (const piece of ['all ', 'of it']) tap.push(delta(piece));
      tap.end();
      return tap.outcome;
    };
    const first = await stream(key);
    service.fake.behave = {};
    const again = await stream(key);
    for (const { chunks } of [first, again]) {
      assert.equal(textOf(chunks), 'all of it');
      assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
      assert.equal(JSON.stringify(chunks).includes('error'), false);
    }
  });

  test('with another body, as a stream or at another address is a conflict', async () => {
    const key = newKey();
    await chat(key);
    const earlier = await traces(service);
    const others: Promise<Reply>[] = [
      chat(key, { body: { ...body, max_tokens: 101 } }),
      chat(key, { body: { ...body, stream: true } }),
      chat(key, { body: { ...body, unknown: 1 } }),
      service.call('POST', '/v1/queue/fake/image', {
        key: account.key,
        body: { prompt: 'x' },
        headers: { 'idempotency-key': key },
      }),
    ];
    for (const reply of await Promise.all(others)) assertRefused(reply, 'idempotency_conflict');
    assert.deepEqual(await traces(service), earlier);
  });

  test('by another account is a separate call', async () => {
    const key = newKey();
    const first = await chat(key);
    const other = await service.account();
    const theirs = await chat(key, { key: other.key });
    assert.equal(theirs.headers.get('idempotent-replayed'), null);
    assert.notEqual(theirs.body.id, first.body.id);
  });
});

describe('a repeat while the first call runs', () => {
  test('waits for it; ten of them cost one call, on two processes too', async () => {
    const key = newKey();
    const second = await service.another();
    const { calls, next, letGo } = holding();
    const earlier = await service.balance(account);
    const replies = Array.from({ length: 10 }, (_, i) =>
      chat(key, { base: i % 2 === 0 ? service.base : second.base }),
    );
    const first = await next(1);
    first.answer(said('hi'));
    const all = await Promise.all(replies);
    letGo();
    for (const reply of all) {
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(reply.body, all[0]!.body);
    }
    const replayed = all.filter(({ headers }) => headers.get('idempotent-replayed') === 'true');
    assert.equal(replayed.length, 9);
    assert.equal(calls.length, 1);
    assert.deepEqual(await service.balance(account), {
      available: earlier.available - 9n,
      reserved: 0n,
    });
  });

  test('gets a conflict when that takes too long, and then the reply', async () => {
    const key = newKey();
    const { calls, next, letGo } = holding();
    const first = chat(key);
    const { answer } = await next(1);
    const impatient = await chat(key);
    assertRefused(impatient, 'idempotency_conflict');
    assert.equal(impatient.headers.get('retry-after'), '1');
    assert.match(impatient.body.error.message, /still running/);
    answer(said('hi'));
    assert.equal((await first).status, 200);
    assert.deepEqual((await chat(key)).body, (await first).body);
    letGo();
    assert.equal(calls.length, 1);
  });

  test('runs in its place when it fails, on the same process and on another', async () => {
    const other = await service.another();
    for (const { base } of [service, other]) {
      const key = newKey();
      const { calls, next, letGo } = holding();
      const first = chat(key, { base });
      const failing = await next(1);
      const looked = await lookUps(service.app, 'status');
      // Sent to the process whose look-ups are counted.
      const second = chat(key, { base: service.base });
      await until('the repeat waits', async () => (await lookUps(service.app, 'status')) > looked);
      failing.answer({ outcome: 'not_accepted', message: 'busy' });
      assertRefused(await first, 'capacity_unavailable');
      (await next(2)).answer(said('hi'));
      const reply = await second;
      letGo();
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.headers.get('idempotent-replayed'), null);
      assert.equal(calls.length, 2);
    }
  });
});

describe('a call that failed frees its key', () => {
  const failures: [name: string, outcome: SaidReply, status: number][] = [
    ['rejected', { outcome: 'rejected', message: 'no cats' }, 400],
    ['not accepted', { outcome: 'not_accepted', message: 'busy' }, 503],
    ['unknown', { outcome: 'unknown', message: 'lost' }, 502],
    ['finished in error', { outcome: 'reply', reply: { error: {} } }, 502],
  ];
  for (const [name, outcome, status] of failures) {
    test(`${name}: the same call runs again, and so does another one`, async () => {
      const key = newKey();
      service.fake.behave.chat = () => outcome;
      assert.equal((await chat(key)).status, status);
      service.fake.behave = {};
      const again = await chat(key, { body: { ...body, max_tokens: 7 } });
      assert.equal(again.status, 200, again.text);
      assert.equal(again.headers.get('idempotent-replayed'), null);
      assertRefused(await chat(key), 'idempotency_conflict');
    });
  }

  test('refused before anything was reserved: the key was never used', async () => {
    const key = newKey();
    const poor = await service.account({ usd: 0 });
    assertRefused(await chat(key, { key: poor.key }), 'insufficient_balance');
    assertRefused(await chat(key, { body: { ...body, n: 2 } }), 'bad_request');
    assert.equal((await chat(key, { body: { ...body, max_tokens: 3 } })).status, 200);
  });
});

describe('a call whose process never came back', () => {
  test('is released when it is due, and its key is free', async () => {
    const key = newKey();
    const { next, letGo } = holding();
    const earlier = await service.balance(account);
    const first = chat(key);
    const { answer } = await next(1);
    letGo();
    assert.equal((await service.balance(account)).reserved, 348n);
    await service.work();
    assert.equal((await service.balance(account)).reserved, 348n, 'released before its time');
    await service.wakeAll();
    await service.work();
    assert.deepEqual(await service.balance(account), earlier);
    const [row] = await service.db.run<Record<string, unknown>>(sql`select status, error_code,
      charged_usd_micro from requests order by id desc limit 1`);
    assert.deepEqual(row, {
      status: 'FAILED',
      error_code: 'outcome_unknown',
      charged_usd_micro: 0n,
    });
    assert.equal((await chat(key)).headers.get('idempotent-replayed'), null);
    // The process was only slow: its caller gets the reply at no cost, and nothing else is written.
    const books = await traces(service);
    answer(said('late'));
    const late = await first;
    assert.equal(late.status, 200);
    assert.equal(late.body.choices[0].message.content, 'late');
    assert.equal(late.headers.get('x-charge-usd-micro'), '0');
    assert.equal(late.body.usage.cost_usd_micro, '0');
    assert.deepEqual(await traces(service), books);
  });
});
