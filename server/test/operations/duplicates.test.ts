import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deposit } from '../kit/by-command-line.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { Reply, TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';

/** One Idempotency-Key from a hundred callers at once, over two processes that share a public address. */

let bases: string[];
const { service } = withService({ env: { FAREBOX_BASE_URL: 'http://localhost:1/v1' } });
before(async () => {
  bases = [service.base, (await service.another()).base];
});

const crowd = 100;
const cat = { prompt: 'a cat' };

function submits(
  account: TestAccount,
  key: string,
  bodyOf: (i: number) => object,
  count = crowd,
): Promise<Reply[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      service.call('POST', '/v1/queue/fake/image', {
        base: bases[i % 2]!,
        key: account.key,
        body: bodyOf(i),
        headers: { 'idempotency-key': key },
      }),
    ),
  );
}

function counts(replies: Reply[]): Record<number, number> {
  const all: Record<number, number> = {};
  for (const { status } of replies) all[status] = (all[status] ?? 0) + 1;
  return all;
}

async function rows({ account_id }: TestAccount): Promise<{ requests: bigint; reserves: bigint }> {
  const [row] = await service.db.run<{ requests: bigint; reserves: bigint }>(
    rawSql(
      `select (select count(*) from requests where account_id = $1) as requests,
      (select count(*) from transfers where account_id = $1 and kind = 'reserve') as reserves`,
      [account_id],
    ),
  );
  return row!;
}

describe('a hundred duplicates at once', () => {
  test('are one request: one 202 and ninety-nine 200, alike to the byte', async (t) => {
    const account = await service.account();
    const replies = await submits(account, 'once', () => cat);
    assert.deepEqual(counts(replies), { 200: 99, 202: 1 });
    t.diagnostic(`figure: ${replies.length} duplicates at once`);
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
    for (const { status, headers } of replies)
      assert.equal(headers.get('idempotent-replayed'), status === 200 ? 'true' : null);
    assert.deepEqual(await rows(account), { requests: 1n, reserves: 1n });
    assert.deepEqual(await service.balance(account), { available: 99_990_000n, reserved: 10_000n });
  });

  test('half of them with another body: the first one wins, the other half conflicts', async () => {
    const account = await service.account();
    const replies = await submits(account, 'halves', (i) => ({
      prompt: i % 4 < 2 ? 'a cat' : 'a dog',
    }));
    assert.deepEqual(counts(replies), { 200: 49, 202: 1, 409: 50 });
    for (const reply of replies.filter(({ status }) => status === 409))
      assertRefused(reply, 'idempotency_conflict');
    assert.equal(
      new Set(replies.filter(({ status }) => status < 300).map(({ text }) => text)).size,
      1,
    );
    assert.deepEqual(await rows(account), { requests: 1n, reserves: 1n });
  });

  test('of a submit that the balance just covers are one reservation and no 402', async () => {
    const account = await service.account({ usd: 0.01 });
    const replies = await submits(account, 'last-cent', () => cat);
    assert.deepEqual(counts(replies), { 200: 99, 202: 1 });
    assert.deepEqual(await service.balance(account), { available: 0n, reserved: 10_000n });
  });

  test('under ten keys are ten requests', async () => {
    const account = await service.account();
    const replies = (
      await Promise.all(
        Array.from({ length: 10 }, (_, k) => submits(account, `of-ten-${k}`, () => cat, 10)),
      )
    ).flat();
    assert.deepEqual(counts(replies), { 200: 90, 202: 10 });
    assert.deepEqual(await rows(account), { requests: 10n, reserves: 10n });
  });

  test('while the first is worked on and charged are still one', async () => {
    const account = await service.account();
    const working = (async () => {
      for (let i = 0; i < 20; i++) {
        await service.wakeAll();
        await service.work();
      }
    })();
    const replies = (await Promise.all([submits(account, 'busy', () => cat), working]))[0];
    assert.deepEqual(counts(replies), { 200: 99, 202: 1 });
    assert.equal(
      service.fake.starts.filter(({ request_id }) => request_id === replies[0]!.body.request_id)
        .length,
      1,
    );
  });
});

describe('a key whose first attempts were refused', () => {
  test('is not stored: once there is money, any of the calls may use it', async () => {
    const account = await service.account({ usd: 0 });
    const replies = await submits(account, 'poor', (i) => ({ prompt: `cat ${i % 3}` }));
    assert.deepEqual(counts(replies), { 402: 100 });
    for (const reply of replies) assertRefused(reply, 'insufficient_balance');
    assert.deepEqual(await rows(account), { requests: 0n, reserves: 0n });
    await deposit(service.db, {
      account_id: account.account_id,
      amount: 10_000n,
      reference: `late ${account.account_id}`,
    });
    const later = await submits(account, 'poor', () => ({ prompt: 'a dog' }), 10);
    assert.deepEqual(counts(later), { 200: 9, 202: 1 });
  });

  test('is used once while money comes in', async () => {
    const account = await service.account({ usd: 0 });
    const paying = deposit(service.db, {
      account_id: account.account_id,
      amount: 10_000n,
      reference: `meanwhile ${account.account_id}`,
    });
    const [replies] = await Promise.all([submits(account, 'hopeful', () => cat), paying]);
    const told = counts(replies);
    assert.ok((told[202] ?? 0) <= 1);
    const last = await submits(account, 'hopeful', () => cat, 1);
    assert.equal((told[202] ?? 0) + (last[0]!.status === 202 ? 1 : 0), 1);
    assert.deepEqual(await rows(account), { requests: 1n, reserves: 1n });
  });
});
