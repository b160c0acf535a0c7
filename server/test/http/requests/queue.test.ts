import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { tinyPng } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';

/** POST /queue/{model_id}: accepted inputs, their reservations, and refusals that leave nothing. */

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const { service, account, submit, card, refused } = withService({
  env: { FAREBOX_OPEN_JOBS: '10000' },
});

describe('an accepted submit', () => {
  test('answers 202 with exactly the documented fields', async () => {
    const reply = await submit({ prompt: 'a cat', num_images: 2 });
    assert.equal(reply.status, 202);
    const { request_id, queue_position, ...rest } = reply.body;
    assert.match(request_id, uuid7);
    assert.ok(Number.isSafeInteger(queue_position) && queue_position >= 0);
    const base = `${service.app.baseUrl}/requests/${request_id}`;
    assert.deepEqual(rest, {
      status: 'IN_QUEUE',
      status_url: `${base}/status`,
      response_url: `${base}/response`,
      cancel_url: `${base}/cancel`,
      model_id: 'fake/image',
      quoted_usd_micro: '20000',
    });
    assert.equal(reply.headers.get('location'), rest.status_url);
    assert.equal(reply.headers.get('idempotent-replayed'), null);
  });

  test('reserves the quote, opens one job, and calls no upstream yet', async () => {
    const own = await service.account({ usd: 1 });
    const earlier = await traces(service);
    await submit({ prompt: 'a cat', num_images: 3 }, { key: own.key });
    assert.deepEqual(await service.balance(own), { available: 970_000n, reserved: 30_000n });
    const now = await traces(service);
    const grown = Object.keys(now).filter((name) => now[name] !== earlier[name]);
    assert.deepEqual(grown.sort(), [
      'open_jobs',
      'open_requests',
      'request_inputs',
      'requests',
      'reserved',
      'transfers',
    ]);
    assert.equal(now.upstream_starts, earlier.upstream_starts);
  });

  test('may reserve the whole balance, and not one micro-USD more', async () => {
    const own = await service.account({ usd: 0.02 });
    assert.equal((await submit({ prompt: 'x', num_images: 2 }, { key: own.key })).status, 202);
    assert.deepEqual(await service.balance(own), { available: 0n, reserved: 20_000n });
    const { details } = await refused(
      () => submit({ prompt: 'x' }, { key: own.key }),
      'insufficient_balance',
    );
    assert.deepEqual(details, {
      required_usd_micro: '10000',
      available_usd_micro: '0',
      reserved_usd_micro: '20000',
      top_up: [],
    });
  });

  test('of many at once reserves no more than there is', async () => {
    const own = await service.account({ usd: 0.05 });
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => submit({ prompt: 'x' }, { key: own.key })),
    );
    assert.equal(replies.filter(({ status }) => status === 202).length, 5);
    for (const reply of replies.filter(({ status }) => status !== 202))
      assertRefused(reply, 'insufficient_balance');
    assert.deepEqual(await service.balance(own), { available: 0n, reserved: 50_000n });
  });

  test('gives positions in the order of the queue', async () => {
    await service.work();
    // A process reads its queues only from time to time.
    const { base } = service;
    await until('the queue is seen to be empty', async () => {
      const { body } = await submit({ prompt: 'x' }, { base });
      if (body.queue_position === 0) return true;
      await account.post(`/v1/requests/${body.request_id}/cancel`);
    });
    for (const position of [1, 2, 3]) {
      assert.equal((await submit({ prompt: 'x' }, { base })).body.queue_position, position);
    }
  });

  test('has the same position as the status right after it', async () => {
    const { base } = service;
    const placeOf = async ({ body }: Reply): Promise<number> => {
      const path = `/v1/requests/${body.request_id}/status`;
      return (await account.get(path, { base })).body.queue_position;
    };
    const replies = [await submit({ prompt: 'x' }, { base })];
    const [row] = await service.db.run<{ n: number }>(sql`select count(*)::int as n from requests
      where status = 'IN_QUEUE'`);
    const ahead = row!.n - 1;
    await until('those that left are no longer seen', async () => {
      return (await placeOf(replies[0]!)) === ahead;
    });
    for (let i = 1; i < 4; i++) replies.push(await submit({ prompt: 'x' }, { base }));
    const places = await Promise.all(replies.map(placeOf));
    assert.deepEqual(places, [ahead, ahead + 1, ahead + 2, ahead + 3]);
    assert.deepEqual(
      replies.slice(1).map(({ body }) => body.queue_position),
      places.slice(1),
    );
  });

  test('keeps the input as it was sent, except null fields', async () => {
    const input = {
      prompt: 'ein Käfer 🪲 "quoted" \\ \n',
      seed: 2 ** 53,
      deep: { a: [1, [2, { b: '' }]] },
      'a key with blanks': true,
      toJSON: 'x',
      length: 5,
      hasOwnProperty: 'y',
    };
    assert.deepEqual((await card(await submit({ ...input, nothing: null }))).input, input);
  });

  const ids: [string, string][] = [
    ['with its slashes', '/v1/queue/fake/film/text-to-video'],
    ['with them encoded', '/v1/queue/fake%2Ffilm%2Ftext-to-video'],
  ];
  for (const [name, path] of ids) {
    test(`names the model ${name}`, async () => {
      const reply = await submit(
        { prompt: 'x', duration_seconds: 1, resolution: '480p' },
        { path },
      );
      assert.equal(reply.status, 202, reply.text);
      assert.equal(reply.body.model_id, 'fake/film/text-to-video');
      assert.equal(reply.body.quoted_usd_micro, '50000');
    });
  }

  const types = [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; charset = utf-8',
  ];
  for (const type of types) {
    test(`may be sent as ${type}`, async () => {
      const reply = await submit(undefined, {
        raw: '{"prompt":"x"}',
        headers: { 'content-type': type },
      });
      assert.equal(reply.status, 202, reply.text);
    });
  }
});

describe('a model that the queue does not take', () => {
  test('is a text model', async () => {
    await refused(
      () => submit({ prompt: 'x' }, { path: '/v1/queue/fake/chat' }),
      'use_chat_completions',
    );
  });
  const unknown = [
    'fake/none',
    'fake',
    '/fake/image',
    'FAKE/image',
    'fake/imagе',
    'fake/image%20',
    'fake/film',
    '__proto__',
  ];
  for (const id of unknown) {
    test(`is one that is not listed: "${id}"`, async () => {
      const path = `/v1/queue/${encodeURI(id).replaceAll('%25', '%')}`;
      await refused(() => submit({ prompt: 'x' }, { path }), 'unknown_model');
    });
  }
});

describe('a file in the input', () => {
  async function upload(by: TestAccount): Promise<string> {
    const { body } = await by.upload(tinyPng, 'image/png');
    return body.file_id;
  }

  test('is taken in any URL field of the account that uploaded it', async () => {
    const file_id = await upload(account);
    for (const input of [
      { image_url: file_id },
      { mask_url: file_id },
      { image_urls: [file_id, file_id] },
      { a: { b: [{ video_url: file_id }] } },
    ]) {
      assert.equal((await submit({ prompt: 'x', ...input })).status, 202, JSON.stringify(input));
    }
  });

  test('of another account is refused like an unknown one', async () => {
    const foreign = await upload(await service.account());
    const absent = `file_${'0'.repeat(12)}7000${'8'.repeat(16)}`;
    const [first, second] = [
      await refused(() => submit({ prompt: 'x', image_url: foreign }), 'invalid_input'),
      await refused(() => submit({ prompt: 'x', image_url: absent }), 'invalid_input'),
    ];
    const same = (error: Record<string, unknown>, id: string) =>
      JSON.stringify({ ...error, request_id: '' }).replaceAll(id, 'ID');
    assert.equal(same(first, foreign), same(second, absent));
    assert.equal(first.param, 'image_url');
    assert.equal(first.details.errors[0].path, '/image_url');
    const deep = { refs: [{ 'a/b': { mask_url: absent } }] };
    const third = await refused(() => submit({ prompt: 'x', ...deep }), 'invalid_input');
    assert.equal(third.param, 'refs');
    assert.equal(third.details.errors[0].path, '/refs/0/a~1b/mask_url');
  });

  test('that has expired is refused', async () => {
    const file_id = await upload(account);
    await service.db.run(rawSql(`update files set expires_at = now() - interval '1 s'`));
    await refused(() => submit({ prompt: 'x', image_url: file_id }), 'invalid_input');
  });

  const odd: [string, unknown][] = [
    ['capitals', `FILE_${'0'.repeat(32)}`],
    ['a short id', 'file_12'],
    ['a UUID', 'file_00000000-0000-7000-8000-000000000000'],
    ['a path', '/etc/passwd'],
    ['a file address', 'file:///etc/passwd'],
    ['a script', 'javascript:alert(1)'],
    ['a data address without data', 'data:image/png,'],
  ];
  for (const [name, value] of odd) {
    test(`is not ${name}`, async () => {
      await refused(() => submit({ prompt: 'x', image_url: value }), 'invalid_input');
    });
  }

  test('counts among at most 64 files and addresses', async () => {
    const urls = (n: number) => Array.from({ length: n }, (_, i) => `https://93.184.216.34/${i}`);
    assert.equal((await submit({ prompt: 'x', image_urls: urls(64) })).status, 202);
    const many = await refused(
      () => submit({ prompt: 'x', image_urls: urls(65) }),
      'invalid_input',
    );
    assert.deepEqual([many.param, many.details.errors[0].path], ['input', '']);
  });
});

describe('an input of very many values', () => {
  const times = <T>(length: number, make: (n: number) => T) =>
    Array.from({ length }, (_, n) => make(n));
  const names = (length: number) => Object.fromEntries(times(length, (n) => [`field_${n}`, 1]));
  const inputs: [string, number, object][] = [
    ['names', 400, { prompt: 'x', ...names(9_000), a: names(9_000), b: names(9_000) }],
    ['numbers', 400, { prompt: 'x', points: Array(20_000).fill(1) }],
    ['lists in lists', 400, { prompt: 'x', points: times(10_001, () => [0]) }],
    ['objects with names', 400, { prompt: 'x', points: times(20, () => names(1_000)) }],
    ['numbers, still few enough', 202, { prompt: 'x', points: Array(19_990).fill(1) }],
  ];
  for (const [name, status, input] of inputs)
    test(`(${name})`, async () => {
      const before = await traces(service);
      const { key } = account;
      const submitted = await service.call('POST', '/v1/queue/fake/image', { key, body: input });
      const body = { model_id: 'fake/image', input };
      const estimated = await service.call('POST', '/v1/estimate', { key, body });
      assert.equal(submitted.status, status);
      assert.equal(estimated.status, status === 202 ? 200 : status);
      if (status === 202) return;
      for (const { code, details } of [submitted.body.error, estimated.body.error]) {
        assert.equal(code, 'invalid_input');
        assert.deepEqual(details.rules, [{ reason: 'values_too_many', limit: 20_000 }]);
      }
      assert.deepEqual(await traces(service), before);
    });

  test('is none for the estimate of a chat', async () => {
    const messages = times(9_000, () => ({ role: 'user', content: 'x' }));
    const body = { model_id: 'fake/chat', input: { messages } };
    const reply = await account.post('/v1/estimate', body);
    assert.equal(reply.status, 200);
  });
});

describe('an input that does not fit', () => {
  const inputs: [string, unknown, { path: string }[]][] = [
    ['a missing field', {}, [{ path: '/prompt' }]],
    ['a wrong type', { prompt: 7 }, [{ path: '/prompt' }]],
    ['a text too long', { prompt: 'x'.repeat(1001) }, [{ path: '/prompt' }]],
    ['two faults', { image_url: 5 }, [{ path: '/prompt' }, { path: '/image_url' }]],
  ];
  for (const [name, input, errors] of inputs) {
    test(`gets an error that names the place: ${name}`, async () => {
      const { details } = await refused(() => submit(input), 'invalid_input');
      assert.deepEqual(
        details.errors.map(({ path }: { path: string }) => ({ path })),
        errors,
      );
      for (const { message } of details.errors) assert.ok(message.length > 3);
    });
  }
});

describe('open jobs', () => {
  test('of a key are bounded; one that ends makes room', async () => {
    const own = await service.account({ open_jobs: 2 });
    const first = await submit({ prompt: 'x' }, { key: own.key });
    await submit({ prompt: 'x' }, { key: own.key });
    const { details } = await refused(
      () => submit({ prompt: 'x' }, { key: own.key }),
      'rate_limited',
    );
    assert.deepEqual(details, { open_jobs_limit: 2 });
    await own.post(`/v1/requests/${first.body.request_id}/cancel`);
    assert.equal((await submit({ prompt: 'x' }, { key: own.key })).status, 202);
    await refused(() => submit({ prompt: 'x' }, { key: own.key }), 'rate_limited');
  });

  test('are named in the singular or plural', async () => {
    for (const [open_jobs, told] of [
      [1, '1 open job,'],
      [2, '2 open jobs,'],
    ] as const) {
      const { key } = await service.account({ open_jobs });
      for (let n = 0; n < open_jobs; n++) await submit({ prompt: 'x' }, { key });
      const { message } = await refused(() => submit({ prompt: 'x' }, { key }), 'rate_limited');
      assert.match(message, new RegExp(`^This key has ${told}`));
    }
  });

  test('of many submits at once are never more than allowed', async () => {
    const own = await service.account({ open_jobs: 3 });
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => submit({ prompt: 'x' }, { key: own.key })),
    );
    assert.equal(replies.filter(({ status }) => status === 202).length, 3);
    assert.equal((await service.balance(own)).reserved, 30_000n);
  });
});

describe('the monthly limit of a key', () => {
  test('counts reservations and charges, and no longer what is released', async () => {
    const own = await service.account({ monthly_limit_usd_micro: 30_000n });
    const of = (num_images: number) => submit({ prompt: 'x', num_images }, { key: own.key });
    const first = await of(2);
    await refused(() => of(2), 'key_limit_reached');
    await own.post(`/v1/requests/${first.body.request_id}/cancel`);
    assert.equal((await of(3)).status, 202);
    const { details } = await refused(() => of(1), 'key_limit_reached');
    assert.equal(details.spent_usd_micro, '30000');
    await service.work();
    await service.wakeAll();
    await service.work();
    // One of three images came, so one is charged.
    assert.equal((await of(2)).status, 202);
    await refused(() => of(1), 'key_limit_reached');
  });

  test('of 0 refuses every submit, and of null none', async () => {
    const none = await service.account({ monthly_limit_usd_micro: 0n });
    await refused(() => submit({ prompt: 'x' }, { key: none.key }), 'key_limit_reached');
    const free = await service.account({ monthly_limit_usd_micro: null });
    assert.equal((await submit({ prompt: 'x' }, { key: free.key })).status, 202);
  });
});
