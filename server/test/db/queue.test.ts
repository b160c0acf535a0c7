import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import * as queue from '../../src/db/requests/queue.ts';
import * as upstreamPauses from '../../src/db/upstreams/pauses.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import {
  begin,
  cancelled,
  claim,
  completed,
  customer,
  end,
  requestRow,
  start,
  submit,
  type Customer,
} from '../kit/by-hand.ts';
import { withDatabase } from '../kit/with-database.ts';
import { until } from '../kit/until.ts';
import type { UpstreamRefusal } from '../../src/core/catalog/upstream-key.ts';

const { db } = withDatabase();

/** The upstream of a test; each test has its own. */
let upstream: string;
let tests = 0;
beforeEach(() => void (upstream = `upstream ${++tests}`));

const lane = (concurrency: number) => ({ upstream, concurrency });
const claimSome = (concurrency: number, limit = 1_000, lease = 60) =>
  queue.claimQueued(db, lane(concurrency), limit, lease);
const ids = (claims: queue.Claim[]) => claims.map(({ id }) => id);

async function submits(who: Customer, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < count; i++) made.push(await submit(db, who, { amount: 0n, upstream }));
  return made;
}

/** Customers in the order of their ids, which is the order of their turns. */
async function customers(count: number): Promise<Customer[]> {
  const made: Customer[] = [];
  for (let i = 0; i < count; i++) made.push(await customer(db, 0n));
  return made;
}

async function owners(claimed: string[]): Promise<string[]> {
  const rows = await Promise.all(claimed.map((id) => requestRow(db, id)));
  return rows.map(({ account_id }) => account_id);
}

const setWake = (id: string, seconds: number) =>
  db.run(
    rawSql(`update requests set wake_at = now() + $2::float8 * interval '1 s' where id = $1`, [
      id,
      seconds,
    ]),
  );

describe('claiming what is queued', () => {
  test("takes an account's oldest first", async () => {
    const [who] = await customers(1);
    const made = await submits(who!, 5);
    for (const expected of made) assert.deepEqual(ids(await claimSome(1_000, 1)), [expected]);
    assert.deepEqual(await claimSome(1_000), []);
  });

  test('counts the attempt, takes a slot and sets the lease', async () => {
    const [who] = await customers(1);
    const [id] = await submits(who!, 1);
    assert.deepEqual(await claimSome(1, 1, 30), [{ id, attempt: 1 }]);
    const [row] = await db.run<{ status: string; slot: boolean; seconds: number }>(
      rawSql(
        'select status, slot, extract(epoch from wake_at - now())::float8 as seconds from requests where id = $1',
        [id],
      ),
    );
    assert.deepEqual(
      [row!.status, row!.slot],
      ['IN_QUEUE', true],
      'IN_PROGRESS begins with the first call, not with the claim',
    );
    assert.ok(row!.seconds > 25 && row!.seconds <= 30, String(row!.seconds));
  });

  test('takes no more requests than the upstream has slots, and another once a slot is free', async () => {
    const [who] = await customers(1);
    await submits(who!, 6);
    const first = await claimSome(4);
    assert.equal(first.length, 4);
    assert.deepEqual(await claimSome(4), []);
    await begin(db, first[0]!);
    assert.deepEqual(await claimSome(4), [], 'a running job keeps its place');
    await end(db, completed(who!, first[0]!, 0n));
    await end(db, cancelled(who!, first[1]!.id));
    assert.equal((await claimSome(4)).length, 2);
  });

  test('takes none if more slots are in use than there are', async () => {
    const [who] = await customers(1);
    await submits(who!, 6);
    await claimSome(4);
    assert.deepEqual(await claimSome(2), []);
  });

  test('leaves other upstreams alone', async () => {
    const [who] = await customers(1);
    await submits(who!, 2);
    assert.deepEqual(
      await queue.claimQueued(db, { upstream: 'another', concurrency: 9 }, 9, 60),
      [],
    );
    assert.equal((await claimSome(9)).length, 2);
  });

  test('leaves chat calls alone', async () => {
    const [who] = await customers(1);
    await submit(db, who!, { amount: 0n, upstream, call_seconds: 60 });
    assert.deepEqual(await claimSome(9), []);
  });

  test('by ten workers at once gives each request to one of them and fills the slots exactly', async () => {
    const all = await customers(3);
    for (const who of all) await submits(who, 30);
    const claims = (await Promise.all(Array.from({ length: 10 }, () => claimSome(50, 20)))).flat();
    assert.equal(claims.length, 50);
    assert.equal(new Set(ids(claims)).size, 50);
    assert.ok(claims.every(({ attempt }) => attempt === 1));
  });
});

test('by a second worker meanwhile counts the slots that the first one leaves', async () => {
  const [who] = await customers(1);
  const made = await submits(who!, 8);
  let claiming: Promise<queue.Claim[]>;
  await db.run(rawSql('insert into upstreams (name) values ($1)', [upstream]));
  await db.tx(async (tx) => {
    await tx.run(rawSql('select name from upstreams where name = $1 for update', [upstream]));
    await tx.run(
      rawSql('update requests set slot = true where id = any($1::uuid[])', [made.slice(4)]),
    );
    claiming = claimSome(4);
    await until('it waits for its turn', async () => {
      const waiting = `select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return (await db.run(rawSql(waiting))).length > 0;
    });
  });
  assert.deepEqual(await claiming!, []);
});

describe('turns', () => {
  test('go round the accounts, regardless of how much each has queued', async () => {
    const all = await customers(11);
    await submits(all[0]!, 200);
    for (const who of all.slice(1)) await submits(who, 1);
    const served: string[] = [];
    for (let round = 0; round < 4; round++) {
      const claims = await claimSome(4);
      assert.equal(claims.length, 4, 'no slot stays empty while something waits');
      served.push(...(await owners(ids(claims))));
      for (const { id } of claims) await finish(id);
    }
    const turn = all.map(({ account_id }) => account_id);
    const [first] = turn;
    assert.deepEqual(
      served.slice(0, 12).toSorted(),
      [first, ...turn],
      'one turn serves each of the eleven once',
    );
    assert.deepEqual(served.slice(12), [first, first, first, first]);
  });

  test('serve a new account in the next turn, not after all waiting requests', async () => {
    const [many, newcomer] = await customers(2);
    await submits(many!, 100);
    const running = await claimSome(4);
    const [his] = await submits(newcomer!, 1);
    await finish(running[0]!.id);
    assert.deepEqual(ids(await claimSome(4)), [his]);
  });

  test('continue where they stopped, one slot at a time', async () => {
    const all = await customers(5);
    for (const who of all) await submits(who, 3);
    const served: string[] = [];
    for (let i = 0; i < 15; i++) {
      const [claimed] = await claimSome(1);
      served.push(...(await owners([claimed!.id])));
      await finish(claimed!.id);
    }
    const turn = all.map(({ account_id }) => account_id);
    assert.deepEqual(served, [...turn, ...turn, ...turn]);
  });

  test('share the slots evenly between two accounts with many requests', async () => {
    const [a, b] = await customers(2);
    await submits(a!, 40);
    await submits(b!, 40);
    const claimed = await owners(ids(await claimSome(20)));
    assert.equal(claimed.filter((id) => id === a!.account_id).length, 10);
  });

  test('leave a new account half of the slots, regardless of what another holds and has queued', async () => {
    const [greedy, newcomer, third] = await customers(3);
    await submits(greedy!, 50);
    const held = ids(await claimSome(9));
    assert.equal(held.length, 9, 'an account alone may have them all');
    await submits(newcomer!, 20);
    for (const id of held.slice(0, 4)) await finish(id);
    assert.deepEqual(await ownersOf(claimSome(9)), Array(4).fill(newcomer!.account_id));
    for (const id of held.slice(4, 6)) await finish(id);
    const next = await ownersOf(claimSome(9));
    assert.deepEqual(next, [greedy!.account_id, newcomer!.account_id].toSorted());
    await submits(third!, 1);
    await finish(held[6]!);
    assert.deepEqual(await ownersOf(claimSome(9)), [third!.account_id]);
  });

  test('leave no slot empty: an account that waits alone takes the rest, and one slot goes round', async () => {
    const [a, b] = await customers(2);
    await submits(a!, 10);
    await submits(b!, 1);
    const first = await ownersOf(claimSome(8));
    assert.equal(first.filter((id) => id === a!.account_id).length, 4);
    assert.deepEqual(await ownersOf(claimSome(8)), Array(3).fill(a!.account_id));
    const [narrowA, narrowB] = await customers(2);
    upstream = `${upstream} narrow`;
    await submits(narrowA!, 2);
    await submits(narrowB!, 2);
    const served: string[] = [];
    for (let i = 0; i < 4; i++) {
      const [claimed] = await claimSome(1);
      served.push(...(await owners([claimed!.id])));
      await finish(claimed!.id);
    }
    const turn = [narrowA!.account_id, narrowB!.account_id];
    assert.deepEqual(served, [...turn, ...turn]);
  });

  const ownersOf = async (claiming: Promise<queue.Claim[]>) =>
    (await owners(ids(await claiming))).toSorted();

  /** Frees the slot, as an end does. */
  const finish = (id: string) =>
    db.run(
      rawSql(
        `update requests set slot = false, status = 'CANCELLED', charged_usd_micro = 0, completed_at = now() where id = $1`,
        [id],
      ),
    );
});

describe('a request that was tried and waits for a slot again', () => {
  /** A request that began, was refused, and waits for a slot. */
  const tried = async (id: string) => {
    await db.run(
      rawSql(
        `update requests set status = 'IN_PROGRESS', slot = false, waits = true, attempt = attempt + 1,
           started_at = now(), deadline_at = now() + interval '1 h', wake_at = now() + interval '5 s'
         where id = $1`,
        [id],
      ),
    );
  };

  test('has its place in the line by its age, and is claimed with a slot and a lease', async () => {
    const [who] = await customers(1);
    const made = await submits(who!, 4);
    await tried(made[1]!);
    assert.deepEqual(ids(await claimSome(2)), made.slice(0, 2));
    const sql = `select status, slot, waits, leased, attempt from requests where id = $1`;
    const [row] = await db.run(rawSql(sql, [made[1]]));
    assert.deepEqual(row, {
      status: 'IN_PROGRESS',
      slot: true,
      waits: false,
      leased: true,
      attempt: 2,
    });
    assert.deepEqual(await claimSome(2), [], 'and takes one of the slots');
  });

  test('leaves other accounts their turn, however many of them wait', async () => {
    const [flood, other] = await customers(2);
    const many = await submits(flood!, 40);
    for (const id of many) await tried(id);
    const [his] = await submits(other!, 1);
    const claimed = ids(await claimSome(2));
    assert.deepEqual(claimed.toSorted(), [many[0]!, his!].toSorted());
  });

  test('is claimed by one worker, in its turn or when it is due', async () => {
    const [who] = await customers(1);
    const [id] = await submits(who!, 1);
    await tried(id!);
    assert.ok((await queue.listWaitingUpstreams(db)).some((each) => each.upstream === upstream));
    await setWake(id!, -100_000);
    const due = await queue.claimDue(db, 1, 60);
    assert.deepEqual(ids(due), [id]);
    assert.deepEqual(await claimSome(9), [], 'whoever looks for a place itself is not in line');
  });

  test('takes no slot by itself that is not free', async () => {
    const [who] = await customers(1);
    const made = await submits(who!, 2);
    await claimSome(1, 1);
    await tried(made[1]!);
    await setWake(made[1]!, -100_000);
    const [claimed] = await queue.claimDue(db, 1, 60);
    const take = (concurrency: number) =>
      queue.takeSlot(db, claimed!, { ...lane(concurrency), model: 'm' });
    assert.deepEqual([await take(1), await take(2)], [false, true]);
  });
});

describe('claiming what is due', () => {
  test('takes a request whose lease is over, under a new attempt', async () => {
    const [who] = await customers(1);
    const [id] = await submits(who!, 1);
    const [first] = await claimSome(1);
    await setWake(id!, 1);
    assert.deepEqual(mine(await queue.claimDue(db, 100, 60), id!), []);
    await setWake(id!, -1);
    assert.deepEqual(mine(await queue.claimDue(db, 100, 60), id!), [
      { id, attempt: first!.attempt + 1 },
    ]);
    assert.deepEqual(mine(await queue.claimDue(db, 100, 60), id!), [], 'its new lease runs');
    assert.equal(await begin(db, first!), false, 'the first claim is void');
    assert.equal(await begin(db, { id: id!, attempt: 2 }), true);
  });

  test('leaves unclaimed requests to the queue, even if they are due', async () => {
    const [who] = await customers(1);
    const [id] = await submits(who!, 1);
    await setWake(id!, -100);
    assert.deepEqual(mine(await queue.claimDue(db, 100, 60), id!), []);
  });

  test('takes the most overdue first', async () => {
    const [who] = await customers(1);
    const made = await submits(who!, 3);
    await claimSome(3);
    for (const [i, id] of made.entries()) await setWake(id, -100_000 - i);
    const taken: string[] = [];
    for (let i = 0; i < 3; i++) taken.push(...ids(await queue.claimDue(db, 1, 60)));
    assert.deepEqual(taken, made.toReversed());
  });

  test('by ten workers at once gives each request to one of them, and none waits for another', async () => {
    const [who] = await customers(1);
    const made = await submits(who!, 60);
    await claimSome(100);
    for (const id of made) await setWake(id, -1);
    const claims = (
      await Promise.all(Array.from({ length: 10 }, () => queue.claimDue(db, 20, 60)))
    ).flat();
    const ours = claims.filter(({ id }) => made.includes(id));
    assert.equal(ours.length, 60);
    assert.equal(new Set(ids(ours)).size, 60);
  });

  test('skips a row that another transaction has locked', async () => {
    const [who] = await customers(1);
    const [id] = await submits(who!, 1);
    await claimSome(1);
    await setWake(id!, -1);
    await db.tx(async (tx) => {
      await tx.run(rawSql('select id from requests where id = $1 for update', [id]));
      assert.deepEqual(mine(await queue.claimDue(db, 100, 60), id!), []);
    });
    assert.equal(mine(await queue.claimDue(db, 100, 60), id!).length, 1);
  });

  const mine = (claims: queue.Claim[], id: string) => claims.filter((each) => each.id === id);
});

describe('the next due time', () => {
  test('is the soonest of claimed, running and notified requests, without queued ones', async () => {
    await db.run(
      rawSql(
        `update requests set wake_at = case when status = 'IN_QUEUE' or status = 'IN_PROGRESS' then now() + interval '1 day' end`,
      ),
    );
    const far = await queue.readNextDueMs(db);
    assert.ok(far === null || far > 80_000_000, String(far));
    const [who] = await customers(1);
    const [id] = await submits(who!, 1);
    assert.equal((await queue.readNextDueMs(db)) === null, far === null);
    await claimSome(1, 1, 5);
    const soon = await queue.readNextDueMs(db);
    assert.ok(soon! > 3_000 && soon! <= 5_000, String(soon));
    await setWake(id!, -10);
    assert.equal(await queue.readNextDueMs(db), 0);
  });
});

describe('an upstream that fails', () => {
  const state = async () => (await queue.queueStates(db, [upstream], 10))[0]!;
  const accounts = [1, 2].map((n) => `01890f5e-27c1-7d3a-9e4f-00000000000${n}`);
  const fail = (
    pause_seconds = 0,
    account_id = accounts[0]!,
    threshold = 3,
    pauses_at_once = true,
    counts_alone = false,
  ) =>
    upstreamPauses.noteFailure(db, upstream, {
      account_id,
      message: 'it broke',
      // A pause of the whole upstream.
      why: pause_seconds > 0 ? 'account' : 'busy',
      model: 'flux',
      pause_seconds,
      pauses_at_once,
      account_wide: false,
      counts_alone,
      threshold,
      model_threshold: threshold,
      failure_pause_seconds: 30,
    });

  test('is paused after so many failures in a row, and not before', async () => {
    const [who] = await customers(1);
    await submits(who!, 1);
    for (const failures of [1, 2]) {
      await fail();
      assert.ok(
        (await queue.listWaitingUpstreams(db)).some((w) => w.upstream === upstream),
        `after ${failures}`,
      );
    }
    await fail(0, accounts[1]);
    assert.ok(!(await queue.listWaitingUpstreams(db)).some((w) => w.upstream === upstream));
    const { paused_seconds } = await state();
    assert.ok(paused_seconds > 25 && paused_seconds <= 30, String(paused_seconds));
  });

  test('that succeeds in between is counted from 0 again', async () => {
    for (const who of accounts) await fail(0, who);
    await upstreamPauses.noteSuccess(db, upstream, 'flux');
    for (const who of accounts) await fail(0, who);
    assert.equal((await state()).paused_seconds, 0);
  });

  test('for one account only is not paused; the first failure of another account counts with them', async () => {
    for (let i = 0; i < 20; i++) await fail();
    assert.equal((await state()).paused_seconds, 0);
    await fail(0, accounts[1]);
    assert.ok((await state()).paused_seconds > 25);
    await upstreamPauses.noteSuccess(db, upstream, 'flux');
    for (let i = 0; i < 20; i++) await fail(0, accounts[1]);
    assert.equal((await state()).paused_seconds, 0, 'a success forgets who failed before it');
  });

  test('for one account only, in a way that no input can cause, is paused as for several', async () => {
    for (let i = 0; i < 2; i++) await fail(0, accounts[0], 3, true, true);
    assert.equal((await state()).paused_seconds, 0);
    await fail(0, accounts[0], 3, true, true);
    assert.ok((await state()).paused_seconds > 25);
  });

  test('is paused as long as it asks, and a shorter wish does not shorten the pause', async () => {
    await fail(100);
    await fail(10);
    const { paused_seconds } = await state();
    assert.ok(paused_seconds > 95 && paused_seconds <= 100, String(paused_seconds));
    await upstreamPauses.noteSuccess(db, upstream, 'flux');
    assert.equal((await state()).paused_seconds, 0);
  });

  test('is paused for a refusal of one account only once another account is refused too', async () => {
    for (let i = 0; i < 5; i++) await fail(100, accounts[0], 99, false);
    assert.equal((await state()).paused_seconds, 0);
    await fail(100, accounts[1], 99, false);
    assert.ok((await state()).paused_seconds > 95, 'and long before the threshold');
  });

  test('forgets an old failure, even if others failed meanwhile', async () => {
    const age = (column: string) =>
      db.run(
        rawSql(`update upstreams set ${column} = now() - interval '11 min' where name = $1`, [
          upstream,
        ]),
      );
    await fail(0, accounts[1]);
    await fail();
    await age('other_failed_at');
    for (let i = 0; i < 6; i++) await fail();
    assert.equal((await state()).paused_seconds, 0, 'the other one failed too long ago');
    await age('failed_at');
    assert.equal((await fail(0, accounts[1])).failures, 1, 'and so long ago is not in a row');
    assert.equal((await state()).paused_seconds, 0);
    for (let i = 0; i < 2; i++) await fail();
    assert.ok((await state()).paused_seconds > 25, 'two of these minutes do count');
  });

  test('stays paused when a start from before the pause succeeds', async () => {
    await fail(100);
    assert.deepEqual(await upstreamPauses.noteSuccess(db, upstream, 'flux', 5), []);
    assert.ok((await state()).paused_seconds > 95);
    const again = await upstreamPauses.noteSuccess(db, upstream, 'flux');
    assert.deepEqual(again, [{ model: '' }]);
    assert.equal((await state()).paused_seconds, 0);
    assert.deepEqual(
      await upstreamPauses.noteSuccess(db, upstream, 'flux'),
      [],
      'which is told once',
    );
  });

  test('says whether the upstream or a model is now paused, else which pause is longest', async () => {
    const told = async (why: UpstreamRefusal, pause_seconds: number) => {
      const { model, was_paused, paused_seconds } = await upstreamPauses.noteFailure(db, upstream, {
        account_id: accounts[0]!,
        message: 'it broke',
        why,
        model: 'flux',
        pause_seconds,
        pauses_at_once: true,
        account_wide: false,
        counts_alone: false,
        threshold: 99,
        model_threshold: 99,
        failure_pause_seconds: 30,
      });
      return [model, was_paused, Math.round(paused_seconds)];
    };
    assert.deepEqual(await told('lost', 0), ['', false, 0]);
    assert.deepEqual(await told('model', 60), ['flux', false, 60]);
    assert.deepEqual(await told('account', 20), ['', false, 20]);
    assert.deepEqual(await told('account', 20), ['flux', true, 60]);
  });

  test('does not pause other upstreams', async () => {
    const [who] = await customers(1);
    await submits(who!, 1);
    await upstreamPauses.noteFailure(db, `${upstream} b`, {
      account_id: accounts[0]!,
      message: 'x',
      why: 'busy',
      model: 'flux',
      pause_seconds: 60,
      pauses_at_once: true,
      account_wide: false,
      counts_alone: false,
      threshold: 1,
      model_threshold: 1,
      failure_pause_seconds: 60,
    });
    assert.ok((await queue.listWaitingUpstreams(db)).some((w) => w.upstream === upstream));
  });
});

test('the state of a queue is its oldest request and the time that it has waited', async () => {
  const [who] = await customers(1);
  const made = await submits(who!, 5);
  await db.run(
    rawSql(`update requests set created_at = now() - interval '90 s' where id = $1`, [made[0]]),
  );
  // In the requested order, even if statistics make PostgreSQL join in another order.
  await db.run(rawSql('analyze requests, upstreams'));
  const [known, empty] = await queue.queueStates(db, [upstream, 'nobody waits here'], 3);
  assert.deepEqual(known!.ids, made.slice(0, 3));
  assert.ok(
    known!.oldest_seconds >= 90 && known!.oldest_seconds < 100,
    String(known!.oldest_seconds),
  );
  assert.deepEqual(empty, {
    upstream: 'nobody waits here',
    ids: [],
    oldest_seconds: 0,
    paused_seconds: 0,
    closed: false,
    paused_models: {},
    stopped_models: {},
  });
  await claim(db, upstream, 1);
  assert.deepEqual(
    (await queue.queueStates(db, [upstream], 3))[0]!.ids,
    made.slice(1, 4),
    'what is claimed waits no more',
  );
});

test('upstreams with waiting requests are named once each, others are not', async () => {
  const [who] = await customers(1);
  await submits(who!, 3);
  await submit(db, who!, { amount: 0n, upstream: `${upstream} b` });
  await start(db, `${upstream} b`);
  const waiting = (await queue.listWaitingUpstreams(db)).map((w) => w.upstream);
  assert.deepEqual(
    waiting.filter((name) => name.startsWith(upstream)),
    [upstream],
  );
  assert.equal(new Set(waiting).size, waiting.length);
});
