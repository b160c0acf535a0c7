import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { auditLock, proveBooks } from '../../src/ledger/audit.ts';
import { auditNews } from '../../src/operations/audit.ts';
import { guards } from '../../src/ledger/guards.ts';
import { laws as allLaws } from '../../src/ledger/laws.ts';
import { runLongTransaction } from '../../src/lib/sql/long-transaction.ts';
import { rawSql, type Connection } from '../../src/lib/sql/sql.ts';
import {
  cancelled,
  completed,
  customer,
  end,
  failed,
  secondKey,
  start,
  submit,
  type Customer,
} from '../kit/by-hand.ts';
import { before, withDatabase } from '../kit/with-database.ts';

/**
 * Changes by somebody with the database in his hands, in its own schema, guards and all: the audit
 * sees them.
 */

let who: Customer;
let other: Customer;
const ids: Record<string, string> = {};

const { db } = withDatabase();
before(async () => {
  who = await customer(db, 1_000_000n);
  other = await customer(db, 1_000n);
  const queue = (upstream: string) => submit(db, who, { amount: 100n, upstream });
  ids.queued = await queue('queued');
  ids.running = await queue('running');
  await start(db, 'running');
  ids.completed = await queue('completed');
  const claimed = await start(db, 'completed');
  await end(db, { ...completed(who, claimed, 60n), outputs: [0, 1, 2].map(output) } as never);
  ids.failed = await queue('failed');
  await end(db, failed(who, await start(db, 'failed')));
  ids.cancelled = await queue('cancelled');
  await end(db, cancelled(who, ids.cancelled));
  ids.told = await submit(db, who, { amount: 1n, upstream: 'told', webhook_url: 'https://x.test' });
  await end(db, failed(who, await start(db, 'told')));
  ids.call = await submit(db, who, { amount: 100n, call_seconds: 600 });
  Object.assign(ids, { who: who.account_id, other: other.account_id });
  await db.run(
    rawSql(
      `insert into webhook_deliveries (request_id, attempt, account_id, url, duration_ms) values ($1, 1, $2, 'u', 1)`,
      [ids.told, who.account_id],
    ),
  );
});

function output(index: number) {
  return {
    index,
    field: 'images',
    storage_key: `k${index}`,
    content_type: 'image/png',
    size: 1,
    sha256: '0'.repeat(64),
    width: null,
    height: null,
    duration_seconds: null,
    file_name: 'f',
  };
}

class RolledBack extends Error {}

/** The laws that this SQL breaks. Its transaction is rolled back. */
async function brokenBy(text: string): Promise<string[]> {
  const given = text.replace(/(?<!:):([a-z]+)/g, (_, name: string) => `'${ids[name]}'`);
  let broken: string[] = [];
  const doomed = db.tx(async (tx) => {
    if (given !== '') await tx.run(rawSql(given));
    broken = (await proveBooks(tx)).violations.map(({ law }) => law);
    throw new RolledBack();
  });
  await assert.rejects(doomed, RolledBack);
  return broken;
}

const unlocked = (text: string) =>
  `alter table transfers disable trigger transfers_append_only; ${text}; alter table transfers enable trigger transfers_append_only`;

const done: [law: string, what: string, sql: string][] = [
  [
    'guards_stand',
    'a transfer on a chain that may be credited twice',
    'alter table chain_deposits drop constraint chain_deposits_chain_tx_hash_log_position_key',
  ],
  [
    'guards_stand',
    'the trigger that keeps transfers as they are, disabled',
    'alter table transfers disable trigger transfers_append_only',
  ],
  [
    'guards_stand',
    'the same for replicas only',
    'alter table transfers enable replica trigger transfers_append_only',
  ],
  ['guards_stand', 'the same, dropped', 'drop trigger transfers_append_only on transfers'],
  [
    'guards_stand',
    "the trigger that keeps the operator's log as it is, dropped",
    'drop trigger operator_log_append_only on operator_log',
  ],
  ['guards_stand', 'the same of receipts', 'drop trigger receipts_append_only on receipts'],
  [
    'guards_stand',
    'the trigger that refuses older versions, disabled',
    'alter table requests disable trigger requests_version',
  ],
  [
    'guards_stand',
    'the same of what became of unknown outcomes, disabled',
    'alter table resolutions disable trigger resolutions_append_only',
  ],
  ['guards_stand', 'a table that a crash would empty', 'alter table transfers set unlogged'],
  ['guards_stand', 'a result that a crash would empty', 'alter table audit_results set unlogged'],
  [
    'guards_stand',
    'a rule that keeps no result',
    'create rule quiet as on update to audit_results do instead nothing',
  ],
  [
    'guards_stand',
    'a trigger that moves the progress of audits',
    `create function moved() returns trigger language plpgsql as 'begin return null; end';
     create trigger moved before update on audit_progress for each row execute function moved()`,
  ],
  [
    'guards_stand',
    'the CHECK that a voucher is worth something, dropped',
    'alter table vouchers drop constraint vouchers_amount_usd_micro_check',
  ],
  [
    'guards_stand',
    'the same, for deletes only',
    `drop trigger transfers_append_only on transfers; create trigger transfers_append_only before delete on transfers for each statement execute function refuse_change()`,
  ],
  [
    'guards_stand',
    'the same, refusing nothing',
    'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return null; end $$',
  ],
  [
    'guards_stand',
    'the CHECK against overdrawing, dropped',
    'alter table balances drop constraint never_below_zero',
  ],
  [
    'guards_stand',
    'the same, not validated',
    `alter table balances drop constraint never_below_zero; alter table balances add constraint never_below_zero
      check (credits_posted - debits_posted - debits_pending >= 0) not valid`,
  ],
  [
    'guards_stand',
    'the same, allowing everything',
    'alter table balances drop constraint never_below_zero; alter table balances add constraint never_below_zero check (true)',
  ],
  [
    'guards_stand',
    'the same, bound by another AND',
    `alter table requests drop constraint cleared_is_over; alter table requests add constraint cleared_is_over
      check ((cleared_at is null or completed_at is not null) and wake_at is null) not valid;
      update pg_constraint set convalidated = true where conname = 'cleared_is_over'`,
  ],
  [
    'guards_stand',
    'the trigger that keeps transfers as they are, when a column changes only',
    `drop trigger transfers_append_only on transfers; create trigger transfers_append_only before delete or update of amount_usd_micro or truncate on transfers for each statement execute function refuse_change()`,
  ],
  [
    'guards_stand',
    'the same, refusing all but one',
    `create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
  exception when others then return null;
end $$`,
  ],
  [
    'guards_stand',
    'another trigger beside it, which drops rows',
    `create function mine() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger mine before insert on transfers for each row execute function mine()`,
  ],
  [
    'guards_stand',
    'a rule that drops rows',
    'create rule mine as on insert to transfers where new.amount_usd_micro > 100 do instead nothing',
  ],
  [
    'guards_stand',
    'the triggers of a foreign key, disabled',
    'alter table keys disable trigger all',
  ],
  [
    'guards_stand',
    'an index of the same name that is unique for few',
    'drop index transfers_pending; create unique index transfers_pending on transfers (pending_id) where amount_usd_micro > 100',
  ],
  ['guards_stand', 'the index that lets a reserve be settled once', 'drop index transfers_pending'],
  [
    'guards_stand',
    'the same, not unique',
    'drop index transfers_pending; create index transfers_pending on transfers (pending_id)',
  ],
  ['guards_stand', 'the index of references', 'drop index transfers_reference'],
  [
    'requests_wake_in_time',
    'a queued request that is due in ten years',
    `update requests set wake_at = wake_at + interval '10 years' where id = :queued`,
  ],
  [
    'requests_wake_in_time',
    'a running request that is due in ten years',
    `update requests set wake_at = wake_at + interval '10 years' where id = :running`,
  ],
  [
    'requests_wake_in_time',
    'the same, its deadline with it',
    `update requests set wake_at = wake_at + interval '10 years', deadline_at = deadline_at + interval '10 years' where id = :call`,
  ],
  [
    'requests_wake_in_time',
    'outputs that nothing will delete',
    'update requests set wake_at = null where id = :completed',
  ],
  [
    'requests_wake_in_time',
    'outputs that are deleted in ten years',
    `update requests set wake_at = wake_at + interval '10 years' where id = :completed`,
  ],
  [
    'requests_wake_in_time',
    'a notification that nobody will send',
    'update requests set wake_at = null where id = :told',
  ],
  [
    'children_fit_their_request',
    'the result of a request deleted',
    'delete from request_results where request_id = :completed',
  ],
  [
    'children_fit_their_request',
    'a result given to another account',
    'update request_results set account_id = :other where request_id = :failed',
  ],
  [
    'children_fit_their_request',
    'an input given to another account',
    'update request_inputs set account_id = :other where request_id = :queued',
  ],
  [
    'children_fit_their_request',
    'an output given to another account',
    'update outputs set account_id = :other',
  ],
  [
    'children_fit_their_request',
    'a notification given to another account',
    'update webhook_deliveries set account_id = :other',
  ],
  [
    'children_fit_their_request',
    'all outputs deleted',
    'delete from outputs where request_id = :completed',
  ],
  [
    'children_fit_their_request',
    'an output out of the middle deleted',
    'delete from outputs where request_id = :completed and index = 1',
  ],
  [
    'quote_prices_the_reserve',
    'a stored quote altered',
    `update request_inputs set quote = '{"price_usd_micro":"99"}' where request_id = :completed`,
  ],
  [
    'request_and_reserve_agree',
    "an account's last transfer, a reserve, deleted and its balance put right",
    unlocked(`
      delete from transfers where id = :call;
      update balances set debits_pending = debits_pending - 100, last_seq = last_seq - 1 where account_id = :who`),
  ],
];

describe('the audit sees', () => {
  for (const [law, what, text] of done) {
    test(`${law}: ${what}`, async () => {
      assert.deepEqual(await brokenBy(''), [], 'it is clean before');
      assert.ok((await brokenBy(text)).includes(law), `${law} is not among the broken ones`);
      assert.deepEqual(await brokenBy(''), [], 'it is clean after');
    });
  }

  test('every guard that the schema has on the tables of the books', async () => {
    const tables = Object.keys(guards.constraint);
    const there = await db.run<{ guard: string; on_table: string; name: string; text: string }>(
      rawSql(
        `select 'constraint' as guard, conrelid::regclass::text as on_table, conname as name,
           pg_get_constraintdef(oid) as text from pg_constraint
           where conrelid = any($1::regclass[]) and contype in ('c', 'p', 'u', 'f')
         union all select 'unique index', indrelid::regclass::text, indexrelid::regclass::text,
           pg_get_indexdef(indexrelid) from pg_index i
           where indrelid = any($1::regclass[]) and indisunique
             and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
         union all select 'trigger', tgrelid::regclass::text, tgname,
           pg_get_triggerdef(t.oid) || ' AS ' || prosrc from pg_trigger t join pg_proc p on p.oid = tgfoid
           where tgrelid = any($2::regclass[]) and not tgisinternal`,
        [tables, [...new Set([...tables, ...Object.keys(guards.trigger)])]],
      ),
    );
    const kept = Object.entries(guards).flatMap(([guard, on_tables]) =>
      Object.entries(on_tables).flatMap(([on_table, names]) =>
        Object.entries(names).map(([name, text]) => ({ guard, on_table, name, text })),
      ),
    );
    for (const row of there)
      row.text = row.text.replace(' ON public.', ' ON ').replace(/\s+/g, ' ').trim();
    const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row)).toSorted();
    assert.deepEqual(sorted(kept), sorted(there));
  });

  test('nothing wrong where the schema has a name that must be quoted', async () => {
    let found: string[] = [];
    const doomed = db.tx(async (tx) => {
      await tx.run(
        rawSql('alter schema public rename to "My books"; set local search_path to "My books"'),
      );
      found = (await proveBooks(tx)).violations.map(({ law }) => law);
      throw new RolledBack();
    });
    await assert.rejects(doomed, RolledBack);
    assert.deepEqual(found, []);
  });
});

test('the rows of a violation have named columns', async () => {
  let found: Record<string, unknown>[] = [];
  const doomed = db.tx(async (tx) => {
    await tx.run(
      rawSql('update balances set credits_posted = credits_posted + 1 where account_id = $1', [
        who.account_id,
      ]),
    );
    const { violations } = await proveBooks(tx);
    found = violations.find(({ law }) => law === 'sums_are_zero')!.found;
    throw new RolledBack();
  });
  await assert.rejects(doomed, RolledBack);
  assert.deepEqual(found, [{ too_much_usd_micro: '1' }]);
});

test('no law reads a table over and over, however many keys one account has', async () => {
  const many = await customer(db, 1_000_000n);
  for (let n = 0; n < 40; n++) {
    const key_id = await secondKey(db, many.account_id);
    for (let each = 0; each < 5; each++)
      await submit(db, { ...many, key_id }, { amount: 1n, upstream: 'idle' });
  }
  await db.run(rawSql('analyze'));
  const [total] = await db.run<{ n: bigint }>(rawSql('select count(*) as n from transfers'));
  const laws: string[] = [];
  const listening: Connection = {
    run: async (statement) => {
      laws.push(statement.text);
      return db.run(statement);
    },
  };
  await proveBooks(listening);
  assert.equal(laws.length, allLaws.length + 1);
  for (const text of laws) {
    const [row] = await db.run<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      rawSql(`explain (analyze, format json) ${text}`),
    );
    const read = rowsRead(row!['QUERY PLAN'][0].Plan);
    assert.ok(read <= Number(total!.n) * 3, `${read} rows of ${total!.n} transfers: ${text}`);
  }
});

interface Node {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
}

/** The rows read from transfers, over all nodes of a plan. */
function rowsRead(node: Node): number {
  const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0);
  const own = node['Relation Name'] === 'transfers' ? each * node['Actual Loops'] : 0;
  return own + (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), 0);
}

describe('of several processes', () => {
  test('one audits at a time; the others read nothing and try again later', async () => {
    const first = runLongTransaction(db, 'read only', async (tx) => {
      await tx.run(rawSql('select pg_advisory_xact_lock($1)', [auditLock]));
      return auditNews(db, { days: 1 });
    });
    assert.equal(await first, null);
    assert.equal(
      (await auditNews(db, { days: 1 }))!.report.ok,
      true,
      'nobody holds the lock any more',
    );
    assert.equal(
      (await auditNews(db, { days: 1 }))!.report.ok,
      true,
      'the one before let go of it',
    );
  });
});
