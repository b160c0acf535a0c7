import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/core/errors.ts';
import * as accounts from '../../src/db/accounts.ts';
import * as keys from '../../src/db/keys.ts';
import { createKey } from '../../src/operations/key.ts';
import { assertRefused } from '../kit/refusal.ts';
import { startService, type Reply, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';

/** What an operator changes of a key or an account holds at once: there is no time in which a key is remembered. */

const none = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
let service: Service;
before(async () => {
  service = await startService();
});
after(async () => {
  await service.audit();
  await service.stop();
});

describe('a change holds from the next call on, on every process', () => {
  let bases: string[];
  before(async () => {
    bases = [service.base, (await service.another()).base];
  });

  interface Change {
    name: string;
    /** What the call that shows it is answered before and after. */
    call: { method: string; path: string; body?: unknown };
    change: (account: TestAccount) => Promise<unknown>;
    expected: [before: number, after: number, code: ErrorCode | null];
    shows?: (reply: Reply) => void;
  }
  const list = { method: 'GET', path: '/v1/requests' };
  const submit = { method: 'POST', path: '/v1/queue/fake/image', body: { prompt: 'a cat' } };
  const limits = (account: TestAccount, given: Parameters<typeof keys.setLimits>[2]) =>
    keys.setLimits(service.db, account.key_id, given);

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
      const ask = (base: string) =>
        service.call('POST', submit.path, { key: account.key, body: submit.body, base });
      await change(account);
      for (const base of bases) assert.ok((await ask(base)).status >= 400);
      await undo(account);
      for (const base of bases) assert.equal((await ask(base)).status, 202);
    });
  }

  test('another key of the account goes on working when one is revoked', async () => {
    const account = await service.account();
    const second = await createKey(service.db, {
      account_id: account.account_id,
      name: 'two',
      ...none,
    });
    await keys.revoke(service.db, account.key_id);
    assertRefused(await service.call('GET', '/v1/requests', { key: account.key }), 'unauthorized');
    assert.equal((await service.call('GET', '/v1/requests', { key: second.key })).status, 200);
  });

  test('what a revoked key submitted stays with its account', async () => {
    const account = await service.account();
    const { body } = await service.call(submit.method, submit.path, {
      key: account.key,
      body: submit.body,
    });
    const id = body.request_id;
    const second = await createKey(service.db, {
      account_id: account.account_id,
      name: 'two',
      ...none,
    });
    await keys.revoke(service.db, account.key_id);
    const reply = await service.call('POST', `/v1/requests/${id}/cancel`, { key: second.key });
    assert.deepEqual(reply.body, { request_id: id, status: 'CANCELLED' });
    assert.deepEqual(await service.balance(account), { available: 100_000_000n, reserved: 0n });
  });
});
