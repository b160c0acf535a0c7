import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EndTransition, MoveTransition, Output } from '../../src/core/request/request.ts';
import type { Claim } from '../../src/db/requests/queue.ts';
import * as requests from '../../src/db/requests/requests.ts';
import * as requestSteps from '../../src/db/requests/request-steps.ts';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { moveMany } from '../../src/operations/requests/advance.ts';
import { endMany, settleBatch } from '../../src/operations/requests/settle.ts';
import {
  balanceOf,
  begin,
  cancelled,
  claim,
  completed,
  customer,
  end,
  failed,
  requestRow,
  start,
  submit,
  submitOf,
  type Customer,
} from '../kit/by-hand.ts';
import { before, withBooks } from '../kit/with-database.ts';
import { until } from '../kit/until.ts';

let who: Customer;
const { db } = withBooks();
before(async () => void (who = await customer(db, 1_000_000n)));

let lanes = 0;
type State = 'waiting' | 'claimed' | 'running' | 'completed' | 'failed' | 'cancelled';

/** A request in this state, with its worker's attempt. */
async function request(state: State, webhook_url: string | null = null): Promise<Claim> {
  const upstream = `lane ${++lanes}`;
  const id = await submit(db, who, { amount: 100n, upstream, webhook_url });
  if (state === 'cancelled') await end(db, cancelled(who, id));
  if (state === 'waiting' || state === 'cancelled') return { id, attempt: 0 };
  const [claimed] = await claim(db, upstream);
  if (state === 'claimed') return claimed!;
  await begin(db, claimed!);
  if (state === 'completed') await end(db, completed(who, claimed!, 40n));
  if (state === 'failed') await end(db, failed(who, claimed!));
  return claimed!;
}

/** Everything of a request that a write could change. */
async function picture(id: string): Promise<unknown> {
  const [row] = await db.run(
    rawSql(
      `select (select to_jsonb(r) from requests r where r.id = $1) as request, (select jsonb_agg(a order by attempt) from attempts a where request_id = $1) as attempts,
      (select to_jsonb(s) from request_results s where request_id = $1) as result, (select jsonb_agg(o) from outputs o where request_id = $1) as outputs,
      (select jsonb_agg(w) from webhook_deliveries w where request_id = $1) as sent, (select count(*) from transfers where id = $1 or pending_id = $1) as transfers`,
      [id],
    ),
  );
  return row;
}

const endings: Record<EndTransition['to'], (claimed: Claim) => EndTransition> = {
  COMPLETED: (claimed) => completed(who, claimed, 40n),
  FAILED: (claimed) => failed(who, claimed),
  CANCELLED: ({ id }) => cancelled(who, id),
};

describe('an end takes', () => {
  const states: State[] = ['waiting', 'claimed', 'running', 'completed', 'failed', 'cancelled'];
  const takes: Record<EndTransition['to'], State[]> = {
    COMPLETED: ['running'],
    // A waiting request has no worker that could see it fail; its attempt is 0.
    FAILED: ['waiting', 'claimed', 'running'],
    CANCELLED: ['waiting', 'claimed'],
  };
  for (const to of Object.keys(takes) as EndTransition['to'][]) {
    for (const state of states) {
      const may = takes[to].includes(state);
      test(`${may ? 'what' : 'nothing that'} is ${state}, to be ${to}`, async () => {
        const claimed = await request(state);
        const before = [await picture(claimed.id), await balanceOf(db, who)];
        assert.deepEqual(await endMany(db, [endings[to](claimed)]), [may]);
        if (may) assert.equal((await requestRow(db, claimed.id)).status, to);
        else assert.deepEqual([await picture(claimed.id), await balanceOf(db, who)], before);
      });
    }
  }

  test('nothing of an unknown request', async () => {
    assert.deepEqual(await endMany(db, [failed(who, { id: newId(), attempt: 1 })]), [false]);
  });

  test('nothing under an older attempt, and nothing under a future one', async () => {
    const { id, attempt } = await request('running');
    const before = await picture(id);
    for (const other of [attempt - 1, attempt + 1]) {
      assert.deepEqual(
        await endMany(db, [
          completed(who, { id, attempt: other }, 1n),
          failed(who, { id, attempt: other }),
        ]),
        [false, false],
      );
    }
    assert.deepEqual(await picture(id), before);
  });
});

describe('a cancel of a running request', () => {
  const stopped = (claimed: Claim, charge: bigint): EndTransition => ({
    ...cancelled(who, claimed.id),
    ...claimed,
    to: 'CANCELLED',
    stopped: { charge, quantity: null, cost_usd_micro: null },
  });

  test('takes a running request only if its caller asked, and its charge only within the rule', async () => {
    const claimed = await request('running');
    const before = [await picture(claimed.id), await balanceOf(db, who)] as const;
    assert.deepEqual(await endMany(db, [stopped(claimed, 0n)]), [false]);
    assert.deepEqual([await picture(claimed.id), await balanceOf(db, who)], before);
    await requestSteps.askCancel(db, claimed.id, 'upstream');
    assert.deepEqual(await endMany(db, [stopped({ ...claimed, attempt: 9 }, 0n)]), [false]);
    const [above] = await endMany(db, [stopped(claimed, 101n)]);
    assert.match(String(above), /outside the reservation/);
    assert.deepEqual(await endMany(db, [stopped(claimed, 30n), stopped(claimed, 30n)]), [
      true,
      false,
    ]);
    const { available } = await balanceOf(db, who);
    assert.equal(available, before[1].available + 70n);
  });

  for (const [rule, charge] of [
    ['free', 1n],
    ['full', 99n],
  ] as const)
    test(`of the rule ${rule} with a charge of ${charge} of 100 is refused by the database`, async () => {
      const claimed = await request('running');
      await requestSteps.askCancel(db, claimed.id, rule);
      await assert.rejects(endMany(db, [stopped(claimed, charge)]), /cancel_costs_by_rule/);
      assert.equal(await end(db, failed(who, claimed)), true);
    });

  test('keeps the time and the rule of the first, and wakes the request once', async () => {
    const { id, ...claimed } = await request('running');
    const wakeAt = async () => (await picture(id)) as { request: Record<string, unknown> };
    const first = await requestSteps.askCancel(db, id, 'free');
    assert.equal(first!.is_new, true);
    const again = await requestSteps.askCancel(db, id, 'full');
    assert.deepEqual(
      [again!.is_new, again!.cancel_requested_at],
      [false, first!.cancel_requested_at],
    );
    const { request: row } = await wakeAt();
    assert.equal(row.on_cancel, 'free');
    assert.equal(await end(db, stopped({ id, ...claimed }, 0n)), true);
  });

  test('is not noted for what waits, is over or is not there', async () => {
    for (const state of ['waiting', 'claimed', 'completed', 'failed', 'cancelled'] as const) {
      const { id } = await request(state);
      const before = await picture(id);
      assert.equal(await requestSteps.askCancel(db, id, 'free'), null);
      assert.deepEqual(await picture(id), before);
    }
    assert.equal(await requestSteps.askCancel(db, newId(), 'free'), null);
  });
});

describe('many ends at once', () => {
  test('each get their own verdict, in order', async () => {
    const [a, b, c] = [
      await request('running'),
      await request('running'),
      await request('waiting'),
    ];
    const verdicts = await endMany(db, [
      completed(who, a, 40n),
      failed(who, { ...b, attempt: 7 }),
      completed(who, b, 101n),
      cancelled(who, c.id),
      failed(who, b),
    ]);
    assert.deepEqual(
      verdicts.map((told) => (told instanceof Error ? 'error' : told)),
      [true, false, 'error', true, true],
    );
    const statuses = await Promise.all(
      [a, b, c].map(async ({ id }) => (await requestRow(db, id)).status),
    );
    assert.deepEqual(statuses, ['COMPLETED', 'FAILED', 'CANCELLED']);
  });

  test('with one that cannot be written leave the others, and submits beside them, alone', async () => {
    const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    const [first, poisoned, deepest, last] = [
      await request('running'),
      await request('running'),
      await request('running'),
      await request('running'),
    ];
    const before = [await picture(poisoned.id), await balanceOf(db, who)] as const;
    const beside = submitOf(who, { amount: 100n, upstream: `lane ${++lanes}` });
    const { ended, submitted } = await settleBatch(
      db,
      [beside],
      [
        completed(who, first, 40n),
        { ...completed(who, poisoned, 40n), output: { meta: deep(7_000) } } as EndTransition,
        { ...completed(who, deepest, 40n), output: deep(1_000) } as EndTransition,
        failed(who, last),
      ],
    );
    assert.deepEqual(
      ended.map((told) => (told instanceof Error ? 'error' : told !== null)),
      [true, 'error', true, true],
    );
    assert.ok(!(submitted[0] instanceof Error));
    assert.equal((await requestRow(db, beside.row.id)).status, 'IN_QUEUE');
    // Three of four released the unused part, and a new one reserved a hundred.
    assert.deepEqual(await picture(poisoned.id), before[0]);
    assert.equal(
      (await balanceOf(db, who)).available,
      before[1].available + 60n + 60n + 100n - 100n,
    );
    assert.equal(await end(db, failed(who, poisoned)), true);
  });

  test('of one request in one batch take it once: the first', async () => {
    const claimed = await request('running');
    const before = await balanceOf(db, who);
    assert.deepEqual(
      await endMany(db, [
        completed(who, claimed, 30n),
        completed(who, claimed, 40n),
        failed(who, claimed),
      ]),
      [true, false, false],
    );
    assert.equal((await balanceOf(db, who)).available, before.available + 70n);
  });

  test('of one request from twenty sides take it once', async () => {
    for (let round = 0; round < 5; round++) {
      const claimed = await request('claimed');
      const tries = Array.from({ length: 20 }, (_, i) =>
        end(db, i % 2 === 0 ? cancelled(who, claimed.id) : failed(who, claimed)),
      );
      assert.equal((await Promise.all(tries)).filter((won) => won).length, 1);
    }
  });

  test('in batches of opposite order never deadlock', async () => {
    for (let round = 0; round < 5; round++) {
      const all = await Promise.all(Array.from({ length: 10 }, () => request('waiting')));
      const batch = all.map(({ id }) => cancelled(who, id));
      const verdicts = await Promise.all([endMany(db, batch), endMany(db, batch.toReversed())]);
      assert.equal(verdicts.flat().filter((won) => won === true).length, 10);
    }
  });

  test('of nothing are nothing', async () => assert.deepEqual(await endMany(db, []), []));
});

describe('an end that meets an uncommitted move', () => {
  const started = "status = 'IN_PROGRESS', started_at = now(), deadline_at = now()";
  const cases: [
    what: string,
    state: State,
    move: string,
    ending: (claimed: Claim) => EndTransition,
  ][] = [
    ['a cancel and a begin', 'claimed', started, ({ id }) => cancelled(who, id)],
    ['a late success and a new claim', 'running', 'attempt = attempt + 1', endings.COMPLETED],
    ['a late failure and a new claim', 'claimed', 'attempt = attempt + 1', endings.FAILED],
  ];
  for (const [what, state, move, ending] of cases) {
    test(`waits for it and finds itself overtaken: ${what}`, async () => {
      const claimed = await request(state);
      const money = await balanceOf(db, who);
      let verdicts: Promise<unknown>;
      await db.tx(async (tx) => {
        await tx.run(rawSql(`update requests set ${move} where id = $1`, [claimed.id]));
        verdicts = endMany(db, [ending(claimed)]);
        await until('it waits', async () => {
          const waiting = `select 1 from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`;
          return (await db.run(rawSql(waiting))).length > 0;
        });
      });
      assert.deepEqual(await verdicts!, [false]);
      assert.deepEqual(await balanceOf(db, who), money);
    });
  }
});

describe('after an end', () => {
  const output = (index: number): Output => ({
    index,
    field: 'images',
    storage_key: `k${index}`,
    content_type: 'image/png',
    size: 2 ** 40,
    sha256: 'a'.repeat(64),
    width: 1,
    height: 2,
    duration_seconds: null,
    file_name: 'f.png',
  });

  test('a completed request has its charge, its outputs and their expiry', async () => {
    const claimed = await request('running');
    await end(db, {
      ...completed(who, claimed, 40n),
      outputs: [output(0), output(1)],
      ttl_seconds: 3_600,
    } as EndTransition);
    const row = await requestRow(db, claimed.id);
    assert.deepEqual(
      [row.status, row.charged_usd_micro, row.slot, row.error_code],
      ['COMPLETED', 40n, false, null],
    );
    assert.equal(row.expires_at!.getTime() - row.completed_at!.getTime(), 3_600_000);
    const { request_id: _id, ...first } = (await requests.findOutputs(db, [claimed.id]))[0]!;
    assert.deepEqual(first, output(0));
    assert.deepEqual(await wakes(claimed.id), row.expires_at, 'it wakes to delete them');
  });

  test('a request with a webhook is due at once', async () => {
    const claimed = await request('running', 'https://me.test/');
    await end(db, { ...completed(who, claimed, 40n), outputs: [output(0)] } as EndTransition);
    const row = await requestRow(db, claimed.id);
    assert.deepEqual([row.webhook_state, await wakes(claimed.id)], ['pending', row.completed_at]);
  });

  test('a request without outputs and webhook is never due again', async () => {
    for (const state of ['failed', 'cancelled'] as const) {
      const { id } = await request(state);
      const { expires_at, webhook_state } = await requestRow(db, id);
      assert.deepEqual([await wakes(id), expires_at, webhook_state], [null, null, null]);
    }
  });

  test('a failure has its code and its message, cut to the stored length', async () => {
    const claimed = await request('running');
    await end(db, { ...failed(who, claimed), message: 'x'.repeat(5_000) } as EndTransition);
    const { error_code, error_message, charged_usd_micro } = await requestRow(db, claimed.id);
    assert.deepEqual(
      [error_code, error_message, charged_usd_micro],
      ['upstream_failed', 'x'.repeat(2_000), 0n],
    );
  });

  async function wakes(id: string): Promise<Date | null> {
    const [row] = await db.run<{ wake_at: Date | null }>(sql`select wake_at from requests
      where id = ${id}`);
    return row!.wake_at;
  }
});

describe('a move under another attempt changes nothing', () => {
  const moves: Record<
    MoveTransition['to'],
    { state: State; move: (claimed: Claim) => MoveTransition; url?: string }
  > = {
    begin: {
      state: 'claimed',
      move: (claimed) => ({
        ...claimed,
        to: 'begin',
        upstream: 'fake',
        model: 'm',
        class: 'C',
        request_hash: Buffer.alloc(32),
        deadline_seconds: 60,
        lease_seconds: 60,
      }),
    },
    accepted: {
      state: 'running',
      move: (claimed) => ({
        ...claimed,
        to: 'accepted',
        started_in: 99,
        handle: { h: 1 },
        wake_seconds: 9,
      }),
    },
    wait: {
      state: 'running',
      move: (claimed) => ({
        ...claimed,
        to: 'wait',
        wake_seconds: 9,
        started_in: claimed.attempt,
        outcome: 'unknown',
        message: 'm',
        progress: null,
      }),
    },
    requeue: { state: 'claimed', move: (claimed) => ({ ...claimed, to: 'requeue' }) },
    notified: {
      state: 'completed',
      url: 'https://me.test/',
      move: (claimed) => ({
        ...claimed,
        to: 'notified',
        account_id: who.account_id,
        url: 'u',
        status: 200,
        error: null,
        duration_ms: 1,
        delivered: true,
      }),
    },
    expired: { state: 'completed', move: (claimed) => ({ ...claimed, to: 'expired' }) },
    idle: { state: 'completed', move: (claimed) => ({ ...claimed, to: 'idle' }) },
  };
  for (const [to, { state, move, url }] of Object.entries(moves)) {
    test(to, async () => {
      const claimed = await request(state, url ?? null);
      await db.run(sql`with living as (
             update requests set expires_at = now() + interval '1 h', wake_at = now()
             where id = ${claimed.id} and status = 'COMPLETED' returning id, account_id)
           insert into outputs (request_id, index, account_id, field, storage_key, content_type, size, sha256, file_name)
           select id, 0, account_id, 'images', 'k', 'image/png', 1, repeat('0', 64), 'f' from living`);
      const before = await picture(claimed.id);
      for (const attempt of [claimed.attempt - 1, claimed.attempt + 1]) {
        const moved = await moveMany(db, [move({ id: claimed.id, attempt })]);
        // The delivery of a sent notification is recorded even if another worker has the request.
        if (to === 'notified')
          await db.run(sql`delete from webhook_deliveries where request_id = ${claimed.id}`);
        assert.deepEqual(moved, [false]);
      }
      assert.deepEqual(await picture(claimed.id), before);
      assert.deepEqual(await moveMany(db, [move(claimed)]), [true], 'and under its own it does');
      assert.notDeepEqual(await picture(claimed.id), before);
    });
  }
});

describe('a move of a request that is over changes nothing', () => {
  for (const state of ['completed', 'failed', 'cancelled'] as const) {
    test(state, async () => {
      const claimed = await request(state);
      const before = await picture(claimed.id);
      const moved = await moveMany(db, [
        {
          ...claimed,
          to: 'begin',
          upstream: 'fake',
          model: 'm',
          class: 'A',
          request_hash: Buffer.alloc(32),
          deadline_seconds: 60,
          lease_seconds: 60,
        },
        {
          ...claimed,
          to: 'wait',
          wake_seconds: 9,
          started_in: claimed.attempt,
          outcome: 'unknown',
          message: 'm',
          progress: null,
        },
        { ...claimed, to: 'requeue' },
      ]);
      assert.deepEqual(moved, [false, false, false]);
      assert.deepEqual(await picture(claimed.id), before);
    });
  }
});

describe('the handle of a job', () => {
  test('is stored even by a claim that was overtaken, because the job is paid for', async () => {
    const { id, attempt } = await request('running');
    await db.run(rawSql('update requests set attempt = attempt + 1 where id = $1', [id]));
    assert.deepEqual(
      await moveMany(db, [
        { id, attempt, to: 'accepted', started_in: attempt, handle: { job: 7 }, wake_seconds: 1 },
      ]),
      [false],
    );
    const [loaded] = await requestSteps.loadClaimed(db, [{ id, attempt: attempt + 1 }]);
    assert.deepEqual(
      [loaded!.handle, loaded!.outcome, loaded!.started_in],
      [{ job: 7 }, 'accepted', attempt],
    );
  });

  test('is never written over', async () => {
    const { id, attempt } = await request('running');
    const accept = (handle: object) =>
      moveMany(db, [
        {
          id,
          attempt,
          to: 'accepted',
          started_in: attempt,
          handle: { ...handle },
          wake_seconds: 1,
        },
      ]);
    await accept({ job: 1 });
    await accept({ job: 2 });
    assert.deepEqual((await requestSteps.loadClaimed(db, [{ id, attempt }]))[0]!.handle, {
      job: 1,
    });
  });
});

describe('the deadline', () => {
  test('runs from the first start and not from a later one', async () => {
    const { id, attempt } = await request('running');
    const [first] = await db.run(sql`select started_at, deadline_at from requests
      where id = ${id}`);
    await db.run(rawSql('update requests set attempt = attempt + 1 where id = $1', [id]));
    assert.equal(await begin(db, { id, attempt: attempt + 1 }, 99_999), true);
    assert.deepEqual(
      (await db.run(rawSql('select started_at, deadline_at from requests where id = $1', [id])))[0],
      first,
    );
  });
});

test('a claim that is handed back can be claimed at once, and its slot is free', async () => {
  const claimed = await request('claimed');
  assert.deepEqual(await moveMany(db, [{ ...claimed, to: 'requeue' }]), [true]);
  const { status, slot } = await requestRow(db, claimed.id);
  assert.deepEqual([status, slot], ['IN_QUEUE', false]);
  const running = await request('running');
  await moveMany(db, [{ ...running, to: 'requeue' }]);
  const row = await requestRow(db, running.id);
  assert.deepEqual(
    [row.status, row.slot],
    ['IN_PROGRESS', true],
    'a job that runs keeps its place',
  );
});

test('many moves of many kinds in one call each get their verdict, in order', async () => {
  const [a, b, c] = [await request('claimed'), await request('running'), await request('running')];
  const moved = await moveMany(db, [
    {
      ...b,
      to: 'wait',
      wake_seconds: 9,
      started_in: b.attempt,
      outcome: null,
      message: null,
      progress: { progress: 0.5, logs: ['x'] },
    },
    { ...a, to: 'requeue' },
    { id: c.id, attempt: 9, to: 'requeue' },
    { ...c, to: 'accepted', started_in: c.attempt, handle: {}, wake_seconds: 1 },
  ]);
  assert.deepEqual(moved, [true, true, false, true]);
  assert.deepEqual((await requestRow(db, b.id)).progress, { progress: 0.5, logs: ['x'] });
});

test('a start that was handed to the same upstream twice is on record twice', async () => {
  const upstream = `lane ${++lanes}`;
  await submit(db, who, { amount: 1n, upstream });
  const { id, attempt } = await start(db, upstream);
  await moveMany(db, [
    {
      id,
      attempt,
      to: 'wait',
      wake_seconds: 0,
      started_in: attempt,
      outcome: 'not_accepted',
      message: 'busy',
      progress: null,
    },
  ]);
  await db.run(rawSql('update requests set attempt = attempt + 1 where id = $1', [id]));
  await begin(db, { id, attempt: attempt + 1 });
  const rows = await db.run(sql`select attempt, outcome, message from attempts
    where request_id = ${id} order by attempt`);
  assert.deepEqual(rows, [
    { attempt: 1, outcome: 'not_accepted', message: 'busy' },
    { attempt: 2, outcome: null, message: null },
  ]);
});
