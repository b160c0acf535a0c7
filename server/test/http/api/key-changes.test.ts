import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../../src/core/errors.ts';
import * as accounts from '../../../src/db/accounts/accounts.ts';
import * as keys from '../../../src/db/accounts/keys.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { rotateKey } from '../../../src/operations/accounts/key-rotation.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';

/** An operator's change of a key or an account applies at once: no process remembers a key. */

const { service } = withService();

describe('a change applies from the next call on, on every process', () => {
  let bases: string[];
  before(async () => {
    bases = [service.base, (await service.another()).base];
  });

  interface Change {
    name: string;
    /** A call that shows the change, and its answers before and after. */
    call: { method: string; path: string; body?: unknown };
    change: (account: TestAccount) => Promise<unknown>;
    expected: [before: number, after: number, code: ErrorCode | null];
    shows?: (reply: Reply) => void;
  }
  const list = { method: 'GET', path: '/v1/requests' };
  const submit = { method: 'POST', path: '/v1/queue/fake/image', body: { prompt: 'a cat' } };
  const rotate = (account: TestAccount, overlap_hours: number) =>
    rotateKey(service.db, { key_id: account.key_id, last4: account.key.slice(-4), overlap_hours });
  const limits = (account: TestAccount, given: Parameters<typeof keys.change>[2]) =>
    keys.change(service.db, account.key_id, given, 'operator');

  const inDatabase = (account: TestAccount, set: string) =>
    service.db.run(rawSql(`update keys set ${set} where id = $1`, [account.key_id]));
  const changes: Change[] = [
    {
      name: 'a revocation',
      call: list,
      expected: [200, 401, 'unauthorized'],
      change: (account) => keys.revoke(service.db, account.key_id),
    },
    {
      name: 'a suspension',
      call: submit,
      expected: [202, 401, 'unauthorized'],
      change: (account) => accounts.setStatus(service.db, account.account_id, 'suspended'),
    },
    {
      name: 'a monthly limit',
      call: submit,
      expected: [202, 402, 'key_limit_reached'],
      change: (account) => limits(account, { monthly_limit_usd_micro: 20_000n }),
    },
    {
      name: 'a limit of open jobs',
      call: submit,
      expected: [202, 429, 'rate_limited'],
      change: (account) => limits(account, { open_jobs: 1 }),
    },
    {
      name: 'a limit of calls',
      call: list,
      expected: [200, 429, 'rate_limited'],
      change: (account) => limits(account, { rpm: 2 }),
    },
    {
      name: 'a raised limit of calls',
      call: list,
      expected: [200, 200, null],
      change: (account) => limits(account, { rpm: 77 }),
      shows: (reply) => assert.equal(reply.headers.get('ratelimit-limit'), '77'),
    },
    {
      name: 'an end that is moved in the database',
      call: submit,
      expected: [202, 401, 'unauthorized'],
      change: (account) => inDatabase(account, `expires_at = now()`),
      shows: (reply) => assert.match(reply.body.error.message, /^This key expired on 20/),
    },
    {
      name: 'a rotation without an overlap',
      call: submit,
      expected: [202, 401, 'unauthorized'],
      change: (account) => rotate(account, 0),
    },
    {
      name: 'the end of an overlap',
      call: submit,
      expected: [202, 401, 'unauthorized'],
      change: async (account) => {
        await rotate(account, 24);
        await inDatabase(account, 'previous_until = now()');
      },
      shows: (reply) => assert.match(reply.body.error.message, /rotated.*Use the newer secret/),
    },
    {
      name: 'a list of models',
      call: submit,
      expected: [202, 403, 'forbidden'],
      change: (account) => limits(account, { models: ['fake/chat', 'fake/film/text-to-video'] }),
      shows: (reply) => {
        const { message, param, details } = reply.body.error;
        assert.match(message, /^This key may use fake\/chat and 1 more, but not fake\/image\./);
        assert.equal(param, 'model_id');
        assert.deepEqual(details, { models: ['fake/chat', 'fake/film/text-to-video'] });
      },
    },
  ];
  for (const { name, call, change, expected, shows } of changes) {
    test(`${name} does`, async () => {
      const account = await service.account();
      const [asBefore, asAfter, code] = expected;
      const ask = (base: string) =>
        service.call(call.method, call.path, { key: account.key, body: call.body, base });
      for (const base of bases) assert.equal((await ask(base)).status, asBefore);
      await change(account);
      const earlier = await traces(service);
      for (const base of bases.toReversed()) {
        const reply = await ask(base);
        assert.equal(reply.status, asAfter, reply.text);
        if (code) assertRefused(reply, code);
        shows?.(reply);
      }
      assert.deepEqual(await traces(service), earlier);
    });
  }

  const undone: [
    string,
    (account: TestAccount) => Promise<unknown>,
    (account: TestAccount) => Promise<unknown>,
  ][] = [
    [
      'a suspension that is lifted',
      (account) => accounts.setStatus(service.db, account.account_id, 'suspended'),
      (account) => accounts.setStatus(service.db, account.account_id, 'active'),
    ],
    [
      'a monthly limit that is taken away',
      (account) => limits(account, { monthly_limit_usd_micro: 0n }),
      (account) => limits(account, { monthly_limit_usd_micro: null }),
    ],
  ];
  for (const [name, change, undo] of undone) {
    test(`${name} opens the way again`, async () => {
      const account = await service.account();
      const ask = (base: string) => account.post(submit.path, submit.body, { base });
      await change(account);
      for (const base of bases) assert.ok((await ask(base)).status >= 400);
      await undo(account);
      for (const base of bases) assert.equal((await ask(base)).status, 202);
    });
  }

  test('an earlier secret stays valid during the overlap, with the same limits and balance', async () => {
    const account = await service.account({ monthly_limit_usd_micro: 30_000n, rpm: 50 });
    const ask = (key: string, base: string) =>
      service.call('POST', submit.path, { key, body: submit.body, base });
    assert.equal((await ask(account.key, bases[0]!)).status, 202);
    const { key } = await rotate(account, 1);
    assert.equal((await ask(account.key, bases[1]!)).status, 202);
    const third = await ask(key, bases[0]!);
    assert.equal(third.status, 202);
    assert.equal(third.headers.get('ratelimit-remaining'), '47');
    for (const text of [account.key, key])
      assertRefused(await ask(text, bases[1]!), 'key_limit_reached');
    const [row] = await keys.list(service.db, { account_id: account.account_id, limit: 100 });
    assert.deepEqual([row!.id, row!.spent_usd_micro], [account.key_id, 30_000n]);
  });

  test('another key of the account goes on working when one is revoked', async () => {
    const account = await service.account();
    const second = await account.another();
    await keys.revoke(service.db, account.key_id);
    assertRefused(await account.get('/v1/requests'), 'unauthorized');
    assert.equal((await second.get('/v1/requests')).status, 200);
  });

  const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
  const input = { prompt: 'a cat' };
  const tokens = { input_tokens: 1, output_tokens: 1 };
  const calls: [what: string, path: string, body: object, allowed: string][] = [
    ['a submit', '/v1/queue/fake/image', input, 'fake/image'],
    ['a chat', '/v1/chat/completions', chat, 'fake/chat'],
    ['an estimate', '/v1/estimate', { model_id: 'fake/image', input }, 'fake/image'],
    ['an estimate of text', '/v1/estimate', { model_id: 'fake/chat', input: tokens }, 'fake/chat'],
  ];
  for (const [what, path, body, allowed] of calls) {
    test(`${what} is for the models of the key, and no other is priced or started`, async () => {
      const account = await service.account();
      const ask = () => account.post(path, body);
      await limits(account, { models: [allowed, 'fake/film/text-to-video'] });
      assert.ok((await ask()).status < 300);
      await limits(account, { models: ['fake/film/text-to-video'] });
      const earlier = await traces(service);
      assertRefused(await ask(), 'forbidden');
      assert.deepEqual(await traces(service), earlier);
    });
  }

  test('an unknown model is unknown, regardless of the models of the key', async () => {
    const account = await service.account();
    await limits(account, { models: ['fake/image'] });
    const body = { model_id: 'fake/none', input: {} };
    const reply = await account.post('/v1/estimate', body);
    assertRefused(reply, 'unknown_model');
  });

  test('requests of a revoked key stay with its account', async () => {
    const account = await service.account();
    const { body } = await service.call(submit.method, submit.path, {
      key: account.key,
      body: submit.body,
    });
    const id = body.request_id;
    const second = await account.another();
    await keys.revoke(service.db, account.key_id);
    const reply = await second.post(`/v1/requests/${id}/cancel`);
    assert.deepEqual(reply.body, { request_id: id, status: 'CANCELLED' });
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });
});
