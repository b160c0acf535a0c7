import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../src/core/errors.ts';
import { isDataError, sql } from '../../src/lib/sql/sql.ts';
import type { Submit, SubmitResult } from '../../src/operations/requests/admit.ts';
import {
  balanceOf,
  cancelled,
  customer,
  end,
  requestRow,
  secondKey,
  submit,
  submitOf,
  trySubmit,
  usageOf,
  type Customer,
  type SubmitInput,
  submitMany,
} from '../kit/by-hand.ts';
import { withBooks } from '../kit/with-database.ts';

const { db } = withBooks();

const many = (who: Customer, wanted: SubmitInput[]) =>
  submitMany(
    db,
    wanted.map((each) => submitOf(who, each)),
  );
const verdict = (told: SubmitResult | ApiError) =>
  told instanceof ApiError ? told.code : told.replayed ? 'replayed' : 'accepted';

async function traces(): Promise<Record<string, bigint>> {
  const [row] = await db.run<Record<string, bigint>>(sql`
    select (select count(*) from requests) as requests,
    (select count(*) from request_inputs) as inputs, (select count(*) from transfers) as transfers`);
  return row!;
}

describe('each of a batch has its own verdict', () => {
  test('in order, with what the earlier ones have left', async () => {
    const who = await customer(db, 100n);
    const told = await many(who, [
      { amount: 60n },
      { amount: 50n },
      { amount: 40n },
      { amount: 1n },
      { amount: 0n },
    ]);
    assert.deepEqual(told.map(verdict), [
      'accepted',
      'insufficient_balance',
      'accepted',
      'insufficient_balance',
      'accepted',
    ]);
    assert.deepEqual(await balanceOf(db, who), { available: 0n, reserved: 100n });
    const { details } = told[1] as ApiError;
    assert.deepEqual(details, {
      required_usd_micro: '50',
      available_usd_micro: '40',
      reserved_usd_micro: '60',
    });
  });

  test('and an empty account does not affect others', async () => {
    const [poor, rich] = [await customer(db, 0n), await customer(db, 100n)];
    const told = await submitMany(db, [
      submitOf(poor, { amount: 1n }),
      submitOf(rich, { amount: 100n }),
      submitOf(poor, { amount: 1n }),
    ]);
    assert.deepEqual(told.map(verdict), [
      'insufficient_balance',
      'accepted',
      'insufficient_balance',
    ]);
  });

  test('a refused one leaves no trace', async () => {
    const who = await customer(db, 100n);
    const before = await traces();
    const told = await many(who, [
      { amount: 101n, idempotency_key: 'a' },
      { amount: 1n, limit: 0n },
      { amount: 1n, open_jobs: 0 },
    ]);
    assert.deepEqual(told.map(verdict), [
      'insufficient_balance',
      'key_limit_reached',
      'rate_limited',
    ]);
    assert.deepEqual(await traces(), before);
    assert.deepEqual(await usageOf(db, who), {
      ...(await usageOf(db, who)),
      pending: 0n,
      posted: 0n,
      open: 0,
    });
  });

  test('the same key in one batch is one request, another body under it a conflict', async () => {
    const who = await customer(db, 100n);
    const told = await many(who, [
      { amount: 10n, idempotency_key: 'k', body: 'one' },
      { amount: 10n, idempotency_key: 'k', body: 'one' },
      { amount: 10n, idempotency_key: 'k', body: 'two' },
      { amount: 10n, idempotency_key: 'l', body: 'one' },
    ]);
    assert.deepEqual(told.map(verdict), [
      'accepted',
      'replayed',
      'idempotency_conflict',
      'accepted',
    ]);
    assert.equal((told[0] as SubmitResult).request_id, (told[1] as SubmitResult).request_id);
    assert.deepEqual(await balanceOf(db, who), { available: 80n, reserved: 20n });
  });

  test('a key that was refused first is free for the next in the same batch', async () => {
    const who = await customer(db, 10n);
    const told = await many(who, [
      { amount: 11n, idempotency_key: 'k', body: 'one' },
      { amount: 10n, idempotency_key: 'k', body: 'two' },
    ]);
    assert.deepEqual(told.map(verdict), ['insufficient_balance', 'accepted']);
  });

  test('the same key of two accounts is two requests', async () => {
    const [a, b] = [await customer(db, 10n), await customer(db, 10n)];
    const told = await submitMany(db, [
      submitOf(a, { amount: 10n, idempotency_key: 'k' }),
      submitOf(b, { amount: 10n, idempotency_key: 'k' }),
    ]);
    assert.deepEqual(told.map(verdict), ['accepted', 'accepted']);
  });

  test('two keys of one account share its balance and not their limits', async () => {
    const first = await customer(db, 100n);
    const second = { ...first, key_id: await secondKey(db, first.account_id) };
    const wanted = { amount: 30n, limit: 50n };
    const told = await submitMany(
      db,
      [first, first, second, second].map((who) => submitOf(who, wanted)),
    );
    assert.deepEqual(told.map(verdict), [
      'accepted',
      'key_limit_reached',
      'accepted',
      'key_limit_reached',
    ]);
    assert.deepEqual((told[1] as ApiError).details!.spent_usd_micro, '30');
    const more = await submitMany(
      db,
      [first, second].map((who) => submitOf(who, { amount: 41n })),
    );
    assert.deepEqual(more.map(verdict), ['insufficient_balance', 'insufficient_balance']);
  });
});

describe('a replay', () => {
  test('returns the first answer, whatever has changed since', async () => {
    const who = await customer(db, 100n);
    const wanted = { amount: 100n, idempotency_key: 'k' };
    const first = (await trySubmit(db, who, wanted)) as SubmitResult;
    await end(db, cancelled(who, first.request_id));
    const refusal = new ApiError('capacity_unavailable');
    const again = (await trySubmit(db, who, {
      ...wanted,
      limit: 0n,
      open_jobs: 0,
      refusal,
    })) as SubmitResult;
    const { model_id, kind, quoted_usd_micro, queue_position } = first;
    assert.deepEqual(
      { ...again },
      {
        ...again,
        replayed: true,
        request_id: first.request_id,
        model_id,
        kind,
        quoted_usd_micro,
        queue_position,
      },
    );
    assert.deepEqual(await balanceOf(db, who), { available: 100n, reserved: 0n });
  });

  test('works with another key of the account', async () => {
    const who = await customer(db, 100n);
    const first = await submit(db, who, { idempotency_key: 'k', amount: 1n });
    const other = { ...who, key_id: await secondKey(db, who.account_id) };
    const again = (await trySubmit(db, other, {
      idempotency_key: 'k',
      amount: 1n,
    })) as SubmitResult;
    assert.deepEqual([again.replayed, again.request_id], [true, first]);
  });
});

describe('a refusal that comes before all others', () => {
  test('takes nothing, and its own error is returned', async () => {
    const who = await customer(db, 100n);
    const refusal = new ApiError('capacity_unavailable', { message: 'resting' });
    assert.equal(await trySubmit(db, who, { refusal, idempotency_key: 'k' }), refusal);
    assert.deepEqual(await balanceOf(db, who), { available: 100n, reserved: 0n });
    assert.equal(
      verdict(await trySubmit(db, who, { amount: 1n, idempotency_key: 'k', body: 'another' })),
      'accepted',
      'the key was not kept',
    );
  });
});

describe('after an accepted submit', () => {
  test('a queued job waits for no deadline, in no slot, with a due time', async () => {
    const who = await customer(db, 100n);
    const id = await submit(db, who, { amount: 10n, webhook_url: 'https://me.test/' });
    const { status, slot, attempt, charged_usd_micro, webhook_state, started_at } =
      await requestRow(db, id);
    assert.deepEqual(
      [status, slot, attempt, charged_usd_micro, webhook_state, started_at],
      ['IN_QUEUE', false, 0, null, 'pending', null],
    );
    assert.equal((await usageOf(db, who)).open, 1);
  });

  test('a chat call begins at once, does not count as a job, and is released when it is due', async () => {
    const who = await customer(db, 100n);
    const id = await submit(db, who, { amount: 10n, call_seconds: 90, open_jobs: null });
    const { status, slot, attempt } = await requestRow(db, id);
    assert.deepEqual([status, slot, attempt], ['IN_PROGRESS', false, 1]);
    const [row] = await db.run<{ seconds: number }>(sql`
      select extract(epoch from wake_at - created_at)::float8 as seconds from requests
        where id = ${id}`);
    assert.equal(row!.seconds, 90);
    assert.equal((await usageOf(db, who)).open, 0);
  });
});

describe('what the database cannot keep', () => {
  const spoiled: Record<string, Partial<Submit['row']>> = {
    'a text with NUL': { model_id: 'fake/\0' },
    'an input that is no JSON': { input: '{' },
    'an Idempotency-Key that is too long': {
      idempotency_key: 'k'.repeat(256),
      fingerprint: Buffer.alloc(32),
    },
  };
  for (const [what, values] of Object.entries(spoiled)) {
    test(`${what}: the batch fails by a fault of its values, and nothing of the others is kept`, async () => {
      const who = await customer(db, 100n);
      const before = await traces();
      const [good, bad] = [submitOf(who, { amount: 1n }), submitOf(who, { amount: 1n })];
      Object.assign(bad.row, values);
      await assert.rejects(submitMany(db, [good, bad]), isDataError);
      assert.deepEqual(await traces(), before);
      assert.deepEqual(
        (await submitMany(db, [good])).map(verdict),
        ['accepted'],
        'tried on its own, the good one goes through',
      );
    });
  }
});

test('three hundred submits of three accounts in thirty batches at once come out exact', async () => {
  const all = [await customer(db, 50n), await customer(db, 7n), await customer(db, 1_000n)];
  const batches = Array.from({ length: 30 }, (_, n) =>
    submitMany(
      db,
      Array.from({ length: 10 }, (_unused, i) => submitOf(all[(n + i) % 3]!, { amount: 1n })),
    ),
  );
  const told = (await Promise.all(batches)).flat();
  assert.equal(told.filter((each) => verdict(each) === 'accepted').length, 50 + 7 + 100);
  const left = await Promise.all(all.map((who) => balanceOf(db, who)));
  assert.deepEqual(left, [
    { available: 0n, reserved: 50n },
    { available: 0n, reserved: 7n },
    { available: 900n, reserved: 100n },
  ]);
});
