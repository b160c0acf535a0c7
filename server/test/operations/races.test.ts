import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adjust, deposit } from '../kit/by-command-line.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { createFake, images } from '../kit/fake.ts';
import { isLong } from '../kit/long.ts';
import type { Reply, TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';

/** Submits, charges, refunds, cancels, deposits and corrections of one account, all at the same time. */

let other: string;
// Four images are requested, and none, one or two are delivered, so most of each reservation
// returns.
const fake = createFake({
  behave: {
    start: (job, self) => {
      const key = job.idempotency_key;
      self.jobs.set(key, { request_id: job.request_id, polls: 0 });
      return { outcome: 'accepted', handle: { key }, poll_after_ms: 0 };
    },
    poll: ({ key }) => {
      const kind = Number.parseInt(String(key).slice(-1), 16) % 3;
      if (kind === 2) return { state: 'failed', code: 'upstream_failed', message: 'no luck' };
      return { state: 'done', result: images(kind + 1) };
    },
  },
});
const { service } = withService({ fake, running: true });
before(async () => {
  other = (await service.another()).base;
});

function submit(account: TestAccount, i: number): Promise<Reply> {
  const body = { prompt: `cat ${i}`, num_images: 4 };
  return account.post('/v1/queue/fake/image', body, { base: i % 2 === 0 ? service.base : other });
}

async function cancel(account: TestAccount, { body }: Reply): Promise<Reply> {
  return account.post(`/v1/requests/${body.request_id}/cancel`);
}

async function settle({ account_id }: TestAccount): Promise<void> {
  await until(
    'every request is final',
    async () => {
      const [row] = await service.db.run<{ n: bigint }>(sql`select count(*) as n from requests
        where account_id = ${account_id} and status in ('IN_QUEUE', 'IN_PROGRESS')`);
      return row!.n === 0n;
    },
    20_000,
  );
}

async function statuses({ account_id }: TestAccount): Promise<Record<string, number>> {
  const rows = await service.db.run<{ status: string; n: bigint; charged: bigint }>(sql`
    select status, count(*) as n, sum(charged_usd_micro)::bigint as charged from requests
      where account_id = ${account_id} group by status`);
  return Object.fromEntries(
    rows.flatMap(({ status, n, charged }) => [
      [status, Number(n)],
      [`${status} charged`, Number(charged)],
    ]),
  );
}

describe('submits while earlier ones are charged, refunded and cancelled', () => {
  test('spend released money, never more than there is, and all adds up in the end', async () => {
    const account = await service.account({ usd: 0.4, open_jobs: 1_000 });
    const replies: Reply[] = [];
    const countAccepted = () => replies.filter(({ status }) => status === 202).length;
    const caller = async (n: number) => {
      // Ten fit at a time. Refusals are quick, so callers repeat until a reservation has returned.
      for (let i = 0; i < 12 || (countAccepted() <= 10 && i < 1_000); i++) {
        const reply = await submit(account, n * 1_000 + i);
        replies.push(reply);
        if (reply.status === 202 && i % 3 === 0) await cancel(account, reply);
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, n) => caller(n)));
    await settle(account);
    const accepted = countAccepted();
    assert.ok(
      replies.every(
        ({ status, body }) => status === 202 || body.error.code === 'insufficient_balance',
      ),
    );
    assert.ok(accepted > 10, `${accepted}: nothing came back in time to be spent again`);
    const told = await statuses(account);
    assert.equal((told.COMPLETED ?? 0) + (told.FAILED ?? 0) + (told.CANCELLED ?? 0), accepted);
    assert.deepEqual([told['FAILED charged'] ?? 0, told['CANCELLED charged'] ?? 0], [0, 0]);
    const { available, reserved } = await service.balance(account);
    assert.equal(reserved, 0n);
    assert.equal(available, 400_000n - BigInt(told['COMPLETED charged'] ?? 0));
  });
});

describe('deposits and corrections while the account is busy', () => {
  test('are booked once each, and nothing is lost between them', async () => {
    const account = await service.account({ usd: 1, open_jobs: 1_000 });
    const { account_id } = account;
    const work: Promise<unknown>[] = [];
    for (let i = 0; i < 24; i++) {
      work.push(submit(account, i));
      const reference = `${account_id} ${i % 8}`;
      work.push(deposit(service.db, { account_id, amount: 1_000n, reference }));
      work.push(
        adjust(service.db, {
          account_id,
          amount: -500n,
          reference: `${reference} back`,
          reason: 'a fee',
        }),
      );
    }
    await Promise.all(work);
    await settle(account);
    const told = await statuses(account);
    const { available } = await service.balance(account);
    assert.equal(available, 1_000_000n + 8n * 500n - BigInt(told['COMPLETED charged'] ?? 0));
  });
});

describe('a cancel at the moment of the claim', () => {
  test('has one winner: cancelled and never started, or refused and run', async (t) => {
    const account = await service.account({ usd: 100, open_jobs: 10_000 });
    // With a slot for each request, a fast machine would claim nearly all before their cancel.
    service.fake.concurrency = 12;
    const outcomes: { cancelled: boolean; id: string }[] = [];
    const racers = 20;
    const each = isLong ? 15 : 6;
    const racer = async (n: number) => {
      for (let i = 0; i < each; i++) {
        const reply = await submit(account, n * 100 + i);
        assert.equal(reply.status, 202);
        // Cancels some requests before a worker sees them, some at the same time, some later.
        for (let turn = 0; turn < (n * 7 + i) % 12; turn++)
          await new Promise((resolve) => setImmediate(resolve));
        const { status, body } = await cancel(account, reply);
        if (status !== 200) assert.equal(body.error.code, 'not_cancellable');
        outcomes.push({ cancelled: status === 200, id: reply.body.request_id });
      }
    };
    await Promise.all(Array.from({ length: racers }, (_, n) => racer(n)));
    await settle(account);
    const rows = await service.db.run<{ id: string; status: string }>(sql`
      select id, status from requests where account_id = ${account.account_id}`);
    const status = new Map(rows.map((row) => [row.id, row.status]));
    const started = new Set(service.fake.starts.map(({ request_id }) => request_id));
    for (const { cancelled, id } of outcomes) {
      assert.equal(status.get(id) === 'CANCELLED', cancelled, id);
      assert.equal(
        started.has(id),
        !cancelled,
        'what was cancelled reached no upstream, what was not did',
      );
    }
    const all = outcomes.length;
    assert.equal(all, racers * each);
    const won = outcomes.filter(({ cancelled }) => cancelled).length;
    assert.ok(won > 5 && won < all - 5, `${won} of ${all} cancels won: these were no races`);
    assert.equal(
      service.fake.starts.length,
      new Set(service.fake.starts.map(({ request_id }) => request_id)).size,
    );
    const charged = rows.filter((row) => row.status === 'CANCELLED').length;
    assert.equal(charged, won);
    t.diagnostic(`figure: ${won} of ${all} cancels won the race`);
  });
});
