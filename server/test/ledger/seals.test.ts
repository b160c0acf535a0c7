import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { proveBooks, proveNews } from '../../src/ledger/audit.ts';
import { changedSince, newestHead, readHead, seal } from '../../src/ledger/seals.ts';
import { nextStretches } from '../../src/ledger/stretches.ts';
import { listKeptTables } from '../../src/db/snapshot.ts';
import { firstId, lastId } from '../../src/lib/id.ts';
import { rawSql, within, type Transaction } from '../../src/lib/sql/sql.ts';
import { auditNews } from '../../src/operations/audit.ts';
import { commandLine } from '../../src/operations/operator-action.ts';
import { deposit } from '../../src/operations/accounts/book-by-hand.ts';
import { addHistory } from '../kit/add-history.ts';
import { completed, customer, end, start, submit, type Customer } from '../kit/by-hand.ts';
import { endDay, endDayIn } from '../kit/end-day.ts';
import { before, withDatabase } from '../kit/with-database.ts';

/**
 * Seals: what was once sealed cannot be changed unseen, even by somebody who changes all other rows
 * to fit. Each change is made by SQL without the triggers, and undone.
 */

let who: Customer;
let other: Customer;
/** The head that was printed. */
let printed: string;

const { db } = withDatabase();
before(async () => {
  who = await customer(db, 1_000n);
  other = await customer(db, 1_000n);
  for (const each of [who, other]) await use(each, 2);
  await endDay(db);
  await audited();
  for (const each of [who, other]) await use(each, 1);
  await endDay(db);
  await audited();
  printed = (await newestHead(db))!.head;
  await use(who, 1);
});

async function use(customer: Customer, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    await submit(db, customer, { amount: 100n, upstream: 'seals' });
    await end(db, completed(customer, await start(db, 'seals'), 60n));
  }
}

async function audited() {
  const made = await auditNews(db, { days: 1 });
  assert.deepEqual(made!.report.violations, []);
  return made!;
}

interface Change {
  what: string;
  sql: string;
  /** Laws beside `seals_stand` that find it, too. */
  also?: string[];
}

/** Lowers a charge of the first day, its request, its key and all balances after it. */
const cheaper = (amount: number) => `
  update transfers set amount_usd_micro = ${amount} where id = (select id from transfers
    where account_id = :who and kind = 'charge' order by seq limit 1);
  update requests q set charged_usd_micro = ${amount} from transfers t where t.pending_id = q.id
    and t.account_id = :who and t.amount_usd_micro = ${amount};
  update transfers set available_after_usd_micro = available_after_usd_micro + 60 - ${amount}
    where account_id = :who and seq >= (select min(seq) from transfers
      where account_id = :who and kind = 'charge');
  update balances set debits_posted = debits_posted - 60 + ${amount} where account_id = :who;
  update key_usage set posted_usd_micro = posted_usd_micro - 60 + ${amount}
    where account_id = :who;`;

/** Removes the last transfers of the first day's stretch with their request, and renumbers. */
const without = `
  create temp table gone on commit drop as select q.id from requests q
    where account_id = :who order by id limit 1;
  delete from transfers where id in (select id from gone) or pending_id in (select id from gone);
  delete from requests where id in (select id from gone);
  delete from request_inputs where request_id in (select id from gone);
  delete from request_results where request_id in (select id from gone);
  delete from outputs where request_id in (select id from gone);
  delete from attempts where request_id in (select id from gone);
  update transfers set seq = seq - 2, available_after_usd_micro = available_after_usd_micro + 60
    where account_id = :who and seq > 1;
  update balances set last_seq = last_seq - 2, debits_posted = debits_posted - 60
    where account_id = :who;
  update key_usage set posted_usd_micro = posted_usd_micro - 60 where account_id = :who;`;

const gift = `
  update transfers set seq = seq + 1, available_after_usd_micro = available_after_usd_micro + 5
    where account_id = :who and seq > 1;
  insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
      amount_usd_micro, available_after_usd_micro, source, reference, created_at)
    select gen_random_uuid(), account_id, 2, kind, debit_account_id, credit_account_id, 5, 1005,
      source, 'gift', created_at from transfers where account_id = :who and seq = 1;
  insert into operator_log select (jsonb_populate_record(l, jsonb_build_object(
      'id', gen_random_uuid(), 'seq', (select max(seq) + 1 from operator_log),
      'details', l.details::jsonb || jsonb_build_object('amount_usd_micro', '5', 'reference', 'gift',
        'transfer_id', (select id from transfers where reference = 'gift'))))).*
    from operator_log l where action = 'account.credit' and account_id = :who;
  update balances set last_seq = last_seq + 1, credits_posted = credits_posted + 5
    where account_id = :who;`;

/** A correction of 5 micro-USD upwards, with this number. */
function correction(seq: number | string) {
  return `insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
      amount_usd_micro, available_after_usd_micro, created_at)
    select gen_random_uuid(), account_id, ${seq}, 'adjustment',
      '00000000-0000-0000-0000-000000000003', account_id, 5,
      credits_posted - debits_posted + 5, '2020-01-01'
    from balances where account_id = :other;`;
}

/** The first request takes the place of the second, and the other way round. */
const swapped = `
  with of as (select id, seq, available_after_usd_micro from transfers
    where account_id = :who and seq between 2 and 5)
  update transfers t set seq = there.seq,
      available_after_usd_micro = there.available_after_usd_micro
    from of here join of there on there.seq = case when here.seq > 3 then here.seq - 2
      else here.seq + 2 end where t.id = here.id;`;

const account = ['transfers', 'requests', 'key_usage', 'balances', 'bonuses', 'request_inputs']
  .concat(['request_results', 'outputs'])
  .map((table) => `delete from ${table} where account_id = :who;`)
  .join(' ');
const whole = `
  delete from attempts where request_id in (select id from requests where account_id = :who);
  ${account}
  delete from operator_log where account_id = :who;
  with n as (select id, row_number() over (order by seq) as n from operator_log)
    update operator_log l set seq = n.n from n where n.id = l.id;
  delete from keys where account_id = :who; delete from accounts where id = :who;`;

/** Somebody who knows of seals computes all of them again. */
const sealedAnew = `
  delete from seals; delete from seal_heads; delete from audit_progress;`;

const changes: Change[] = [
  {
    what: 'a transfer changed',
    sql: 'update transfers set amount_usd_micro = 61 where account_id = :who and seq = 3',
    also: [
      'sums_are_zero',
      'balances_recompute',
      'history_is_whole',
      'final_means_settled',
      'key_months_recompute',
    ],
  },
  { what: 'a transfer changed, and all that follows fitted', sql: cheaper(50) },
  { what: 'a charge made free, and all fitted', sql: cheaper(0) },
  {
    what: 'the reason of a transfer changed',
    sql: `update transfers set reason = 'another' where account_id = :who and seq = 2`,
  },
  {
    what: 'the time of a transfer changed by a microsecond',
    sql: `update transfers set created_at = created_at + interval '1 microsecond'
      where account_id = :other and seq = 4`,
  },
  { what: 'a request removed with its transfers, and all fitted', sql: without },
  { what: 'a deposit inserted with its row of the log, and all fitted', sql: gift },
  { what: 'two requests in another order', sql: swapped },
  { what: 'a whole account removed, with its row of the log', sql: whole },
  {
    what: 'a deposit rewritten with its row of the log, and all fitted',
    sql: `
      update transfers set reference = 'another' where account_id = :other and seq = 1;
      update operator_log set details = jsonb_set(details::jsonb, '{reference}', '"another"')
        where account_id = :other and action = 'account.credit'`,
  },
  {
    what: 'the sums of a seal changed',
    sql: 'update seals set debits_posted = debits_posted + 1 where account_id = :who and head = 1',
  },
  {
    what: 'the hash of a seal changed',
    sql: `update seals set hash = sha256('x') where account_id = :other and head = 2`,
  },
  {
    what: 'a seal removed',
    sql: 'delete from seals where account_id = :who and head = 1',
  },
  {
    what: 'an account removed with its seals',
    sql: `${whole} delete from seals where account_id = :who`,
  },
  {
    what: 'the hash of a head changed',
    sql: `update seal_heads set hash = sha256('x') where number = 1`,
  },
  {
    what: 'the hash of a head removed',
    sql: `alter table seal_heads alter hash drop not null;
      update seal_heads set hash = null where number = 2`,
  },
  {
    what: 'a transfer before the first one',
    sql: `alter table transfers drop constraint transfers_seq_check; ${correction(0)}`,
    also: ['sums_are_zero', 'balances_recompute', 'history_is_whole'],
  },
];

/** Changes that leave the database in accord with itself, so that only the printed head tells. */
const unseen: Change[] = [
  { what: 'a charge made cheaper, and all sealed anew', sql: cheaper(10) + sealedAnew },
  { what: 'an account removed, and all sealed anew', sql: whole + sealedAnew },
  { what: 'a deposit inserted, and all sealed anew', sql: gift + sealedAnew },
];

/** Makes the change without triggers and indexes, looks, and undoes it. */
async function after<T>({ sql }: Change, look: (tx: Transaction) => Promise<T>): Promise<T> {
  return undone(async (tx) => {
    await tx.run(rawSql('set local session_replication_role = replica'));
    await tx.run(rawSql('drop index transfers_account_seq'));
    await tx.run(
      rawSql(
        sql.replaceAll(':who', `'${who.account_id}'`).replaceAll(':other', `'${other.account_id}'`),
      ),
    );
    return look(tx);
  });
}

/** Undoes all that the work writes. */
async function undone<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
  const undo = new Error('undo');
  let seen: T | undefined;
  const broken = db.tx(async (tx) => {
    seen = await work(tx);
    throw undo;
  });
  await broken.catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return seen!;
}

const lawsIn = ({ violations }: { violations: { law: string }[] }) =>
  violations.map(({ law }) => law).filter((law) => law !== 'guards_stand');

describe('what was sealed is found if it is changed:', () => {
  for (const change of changes) {
    test(change.what, async () => {
      const laws = [...(change.also ?? []), 'seals_stand'];
      const [full, part, since] = await after(change, async (tx) => [
        lawsIn(await proveBooks(tx)),
        lawsIn((await proveNews(tx, 1, [])).report),
        await changedSince(tx, readHead(printed)!),
      ]);
      assert.deepEqual(full, laws);
      // It also compares the transfers with the sums of their seals.
      assert.ok(part.includes('seals_stand'), 'a part of a small history is all of it');
      assert.ok(since.found.length > 0, 'and so does a head');
    });
  }

  test('nothing, while nothing was changed', async () => {
    const unchanged = { what: '', sql: 'select 1' };
    const [full, part, since] = await after(unchanged, async (tx) => [
      lawsIn(await proveBooks(tx)),
      lawsIn((await proveNews(tx, 1, [])).report),
      await changedSince(tx, readHead(printed)!),
    ]);
    assert.deepEqual([full, part, since], [[], [], { isKnown: true, found: [] }]);
  });
});

describe('only a head that was kept elsewhere finds', () => {
  for (const change of unseen) {
    test(change.what, async () => {
      const [laws, since] = await after(change, async (tx) => {
        const { round } = await proveNews(tx, 1, []);
        const spans = round.news.spans.filter(({ upto_seq }) => upto_seq > 0n);
        await seal(tx, { ...round, spans });
        return [lawsIn(await proveBooks(tx)), await changedSince(tx, readHead(printed)!)];
      });
      assert.deepEqual(laws, []);
      assert.equal(since.isKnown, false);
    });
  }
});

describe('what is new', () => {
  test('is also a transfer above the last number of an idle account', async () => {
    const change = { what: '', sql: correction('last_seq + 1') };
    const [full, news] = await after(change, async (tx) => [
      lawsIn(await proveBooks(tx)),
      lawsIn((await proveNews(tx, 1, [])).report),
    ]);
    assert.deepEqual(full, ['sums_are_zero', 'balances_recompute', 'history_is_whole']);
    assert.deepEqual(news, full);
  });

  test('is no account without transfers', async () => {
    const { account_id } = await customer(db, 0n);
    const { round } = await undone((tx) => proveNews(tx, 1, []));
    assert.ok(!round.news.spans.some((span) => span.account_id === account_id));
  });

  test('is more than an audit reads after an upgrade, so that no round has ended', async () => {
    const { report, round } = await undone(async (tx) => {
      await tx.run(rawSql('set local session_replication_role = replica'));
      await tx.run(rawSql(sealedAnew));
      await addHistory(tx, who.account_id, 100_001);
      return proveNews(tx, 1, []);
    });
    assert.deepEqual([report.violations, round.isBehind], [[], true]);
    assert.equal(round.progress.whole_at, null);
    const next = round.part.accounts![1];
    assert.equal(next, other.account_id, 'one account may have more than a part');
  });

  test('is proved to its end while a law is broken, however much it is', async () => {
    const { report, round } = await undone(async (tx) => {
      await addHistory(tx, who.account_id, 100_002);
      await tx.run(rawSql('set local session_replication_role = replica'));
      await tx.run(
        rawSql(
          `update transfers t set available_after_usd_micro = 1 from balances b
          where (t.account_id, t.seq) = (b.account_id, b.last_seq) and b.account_id = $1`,
          [who.account_id],
        ),
      );
      return proveNews(tx, 1, ['one_settlement_a_reserve']);
    });
    assert.deepEqual([lawsIn(report), round.isBehind], [['history_is_whole'], true]);
  });

  test('is no request after the newest one, though the clock ran ahead', async () => {
    const old = '01800000-0000-7000-8000-000000000000';
    const kept = await undone(async (tx) => {
      await tx.run(rawSql('set local session_replication_role = replica'));
      await tx.run(
        rawSql(`delete from requests where id <> (select id from requests limit 1);
          update requests set id = '${old}'; ${sealedAnew}`),
      );
      const one = (await nextStretches(tx, 1)).requestsTo;
      await tx.run(rawSql('delete from requests'));
      return [one, (await nextStretches(tx, 1)).requestsTo];
    });
    assert.deepEqual(kept, [old, firstId]);
  });
});

describe('what is old', () => {
  test('is proved in parts with as many seals as the share of the time', async () => {
    const many = 30_000;
    const { part } = await undone(async (tx) => {
      await tx.run(rawSql('set local session_replication_role = replica'));
      await tx.run(
        rawSql(`insert into seals select gen_random_uuid(), 1, 1, 0, 0, 0, 0, sha256('x')
            from generate_series(1, ${many});
          update seal_heads set seals = seals + ${many} where number = 1;
          update balances set last_seq = 10 * ${many} where account_id = '${other.account_id}';
          update audit_progress set account_id = '${firstId}', last_seq = 0,
            part_at = now() - interval '1 hour'`),
      );
      return nextStretches(tx, 1 / 24);
    });
    assert.ok(part.spans.length > many, `${part.spans.length} seals`);
  });

  test('is remembered over a crash, and stays out of exports', async () => {
    const [kept] = await db.run<{ n: bigint }>(
      rawSql(`select count(*) as n from pg_class where relpersistence = 'p'
        and oid in ('audit_results'::regclass, 'audit_progress'::regclass)`),
    );
    assert.equal(kept!.n, 2n);
    const names = (await listKeptTables(db)).map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => name.startsWith('audit_')),
      [],
    );
  });
});

describe('sealing', () => {
  test('leaves a transaction that commits late to the next seals', async () => {
    await endDay(db);
    let sealed: Awaited<ReturnType<typeof audited>> | undefined;
    const work = db.tx(async (tx) => {
      const reference = 'begun before, committed after';
      const late = { account_id: other.account_id, amount: 7n, reference };
      await deposit(within(db, tx), commandLine, late);
      sealed = await audited();
    });
    await work;
    assert.ok(sealed?.sealed);
    assert.equal((await audited()).report.checked.transfers, 17, 'it is new now');
    await endDay(db);
    assert.equal((await audited()).sealed?.transfers, 1);
    const { head } = (await newestHead(db))!;
    assert.deepEqual((await changedSince(db, readHead(head)!)).found, []);
  });

  test('makes early heads of the running day; the last one covers the day that is over', async () => {
    const [days, made] = await undone(async (tx) => {
      await endDayIn(tx);
      await addHistory(tx, who.account_id, 100_001);
      const heads = [];
      for (let round = await nextStretches(tx, 1); round.wantsSeal;) {
        const spans = round.news.spans.filter(({ after_seq, upto_seq }) => upto_seq > after_seq);
        heads.push([round.isDayOver, (await seal(tx, { ...round, spans })).day]);
        round = await nextStretches(tx, 1);
      }
      const [day] = await tx.run<{ today: string; before: string }>(
        rawSql(`select to_char(now() at time zone 'utc', 'YYYY-MM-DD') as today,
          to_char(now() at time zone 'utc' - interval '1 day', 'YYYY-MM-DD') as before`),
      );
      return [day!, heads] as const;
    });
    assert.deepEqual(made, [
      [false, days.today],
      [true, days.before],
    ]);
  });

  test('of two audits at once makes one head; who waits finds nothing to seal', async () => {
    await use(who, 1);
    await endDay(db);
    const before = (await newestHead(db))!.number;
    const made = await Promise.all([1, 2, 3].map(() => auditNews(db, { days: 1, waits: true })));
    assert.equal(made.filter((each) => each!.sealed !== null).length, 1);
    assert.equal((await newestHead(db))!.number, before + 1n);
  });

  test('waits while a law is broken, which is proved over all history until it holds', async () => {
    await use(who, 1);
    await endDay(db);
    const [old] = await db.run<{ id: string }>(
      rawSql('select id from requests where account_id = $1 order by id limit 1', [who.account_id]),
    );
    const set = (cost: number) =>
      db.run(rawSql('update requests set charged_usd_micro = $1 where id = $2', [cost, old!.id]));
    await set(59);
    for (const _again of [1, 2]) {
      const { report, sealed } = (await auditNews(db, { days: 1 }))!;
      assert.deepEqual([lawsIn(report), sealed], [['final_means_settled'], null]);
      // As if the part with this request came much later.
      await db.run(rawSql(`update audit_progress set request_id = '${lastId}'`));
    }
    await set(60);
    assert.equal((await audited()).sealed?.transfers, 2);
  });
});
