import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { CallOptions } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';

/** Idempotency-Key: a repeated call gets the same reply, and is done once. */

const image = '/v1/queue/fake/image';
/** An address where no server listens, and that counts as public. */
const hook = 'http://127.0.0.1:9/hook';

const { service, account, submit, card, refused } = withService({
  env: { FAREBOX_TEST_PUBLIC_HOSTS: '127.0.0.1:9' },
});

describe('a repeat under the same Idempotency-Key', () => {
  const key = (text: string) => ({ 'idempotency-key': text });

  test('gets the same bytes, and costs nothing more', async () => {
    const own = await service.account();
    const first = await submit(
      { prompt: 'x', num_images: 2 },
      { key: own.key, headers: key('r1') },
    );
    const earlier = await traces(service);
    for (let i = 0; i < 3; i++) {
      const again = await submit(
        { prompt: 'x', num_images: 2 },
        { key: own.key, headers: key('r1') },
      );
      assert.equal(again.status, 200);
      assert.deepEqual(again.bytes, first.bytes);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.equal(again.headers.get('location'), first.headers.get('location'));
      assert.equal(again.headers.get('content-type'), first.headers.get('content-type'));
    }
    assert.deepEqual(await traces(service), earlier);
    assert.deepEqual(await service.balance(own), { available: 99_980_000n, reserved: 20_000n });
  });

  test('gets the same answer long after the job has ended', async () => {
    const first = await submit({ prompt: 'x' }, { headers: key('r2') });
    await service.work();
    await service.wakeAll();
    await service.work();
    assert.equal((await card(first)).status, 'COMPLETED');
    const again = await submit({ prompt: 'x' }, { headers: key('r2') });
    assert.equal(again.status, 200);
    assert.deepEqual(again.bytes, first.bytes);
  });

  test('gets the same answer after a cancel: the key is used up', async () => {
    const first = await submit({ prompt: 'x' }, { headers: key('r3') });
    await account.post(`/v1/requests/${first.body.request_id}/cancel`);
    const again = await submit({ prompt: 'x' }, { headers: key('r3') });
    assert.equal(again.status, 200);
    assert.deepEqual(again.bytes, first.bytes);
    assert.equal((await card(again)).status, 'CANCELLED');
  });

  test('sent many times at once makes one request', async () => {
    const own = await service.account();
    const { base } = await service.another();
    const bases = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? service.base : base));
    const replies = await Promise.all(
      bases.map((each) =>
        submit({ prompt: 'x' }, { key: own.key, headers: key('race'), base: each }),
      ),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [
      ...Array.from({ length: 19 }, () => 200),
      202,
    ]);
    assert.equal(new Set(replies.map(({ body }) => body.request_id)).size, 1);
    assert.equal((await service.balance(own)).reserved, 10_000n);
  });

  const alike: [string, unknown, CallOptions][] = [
    ['other white space', undefined, { raw: '{ "num_images":2 ,\n"prompt":"same" }' }],
    ['another order of fields', { num_images: 2, prompt: 'same' }, {}],
    ['a field of null', { prompt: 'same', num_images: 2, seed: null }, {}],
    ['an escaped letter', undefined, { raw: '{"prompt":"s\\u0061me","num_images":2}' }],
    ['another form of the number', undefined, { raw: '{"prompt":"same","num_images":2.0}' }],
    [
      'a field given twice, the last one the same',
      undefined,
      { raw: '{"prompt":"other","prompt":"same","num_images":2}' },
    ],
  ];
  for (const [name, body, options] of alike) {
    test(`is one for ${name}`, async () => {
      const own = await service.account();
      const headers = { ...key('alike'), 'content-type': 'application/json' };
      const first = await submit({ prompt: 'same', num_images: 2 }, { key: own.key, headers });
      const again = await submit(body, { key: own.key, headers, ...options });
      assert.equal(again.status, 200, again.text);
      assert.deepEqual(again.bytes, first.bytes);
    });
  }

  test('is recognised wherever the webhook is written', async () => {
    const headers = key('hooked');
    const first = await submit({ prompt: 'x', webhook_url: hook }, { headers });
    const again = await submit({ prompt: 'x' }, { headers, path: `${image}?webhook_url=${hook}` });
    assert.equal(again.status, 200, again.text);
    assert.deepEqual(again.bytes, first.bytes);
  });

  const different: [string, unknown, string][] = [
    ['another value', { prompt: 'y' }, image],
    ['a field more', { prompt: 'x', seed: 1 }, image],
    ['a number as a text', { prompt: 'x', num: '1' }, image],
    ['a webhook', { prompt: 'x', webhook_url: hook }, image],
    ['another model', { prompt: 'x' }, '/v1/queue/fake/film/text-to-video'],
    [
      'a chat',
      { model: 'fake/chat', messages: [{ role: 'user', content: 'x' }] },
      '/v1/chat/completions',
    ],
  ];
  for (const [name, body, path] of different) {
    test(`is none with ${name}: 409, and nothing happens`, async () => {
      const own = await service.account();
      const headers = key('one');
      await submit({ prompt: 'x' }, { key: own.key, headers });
      await refused(() => submit(body, { key: own.key, headers, path }), 'idempotency_conflict');
    });
  }

  test('is per account: another account may use the same key', async () => {
    const own = await service.account();
    const first = await submit({ prompt: 'x' }, { headers: key('shared') });
    const foreign = await submit({ prompt: 'y' }, { key: own.key, headers: key('shared') });
    assert.equal(foreign.status, 202);
    assert.notEqual(foreign.body.request_id, first.body.request_id);
  });

  const good = ['a', '!', '~', 'a'.repeat(255), '"quoted"', 'a,b', 'Case'];
  for (const text of good) {
    test(`takes the key ${text.slice(0, 20)}`, async () => {
      const own = await service.account();
      assert.equal(
        (await submit({ prompt: 'x' }, { key: own.key, headers: key(text) })).status,
        202,
      );
      assert.equal(
        (await submit({ prompt: 'x' }, { key: own.key, headers: key(text) })).status,
        200,
      );
      const other = text.toLowerCase() === text ? `${text.slice(0, 250)}_` : text.toLowerCase();
      assert.equal(
        (await submit({ prompt: 'x' }, { key: own.key, headers: key(other) })).status,
        202,
      );
    });
  }
  const bad: [string, string][] = [
    ['empty', ''],
    ['256 characters', 'a'.repeat(256)],
    ['a blank inside', 'a b'],
    ['a tab', 'a\tb'],
    ['a letter beyond ASCII', 'é'],
    ['two values', 'a, b'],
  ];
  for (const [name, text] of bad) {
    test(`refuses a key of ${name}`, async () => {
      const { param } = await refused(
        () => submit({ prompt: 'x' }, { headers: key(text) }),
        'bad_request',
      );
      assert.equal(param, 'Idempotency-Key');
    });
  }
});
