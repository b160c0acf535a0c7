import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { audit } from '../../src/ledger/audit.ts';
import { codeOf } from '../../src/lib/unknown.ts';
import {
  balanceOf,
  cancelled,
  completed,
  customer,
  end,
  failed,
  start,
  submit,
  type Customer,
} from '../kit/by-hand.ts';
import { laws } from '../chaos/guards.ts';
import { before, withDatabase } from '../kit/with-database.ts';

/** Refusals by the schema alone, without the service's code. */

const refusedChange = '23001';
const brokenCheck = '23514';
const taken = '23505';

let who: Customer;
/** Requests by their state. */
const ids: Record<'open' | 'running' | 'completed' | 'failed' | 'cancelled', string> = {} as never;

const { db } = withDatabase();
before(async () => {
  who = await customer(db, 1_000n);
  const queue = (upstream: string) => submit(db, who, { amount: 100n, upstream });
  ids.open = await queue('open');
  ids.running = await queue('running');
  await start(db, 'running');
  ids.completed = await queue('completed');
  await end(db, completed(who, await start(db, 'completed'), 70n));
  ids.failed = await queue('failed');
  await end(db, failed(who, await start(db, 'failed')));
  ids.cancelled = await queue('cancelled');
  await end(db, cancelled(who, ids.cancelled));
});

/** The SQLSTATE and the constraint with which a statement is refused. */
async function refusal(
  text: string,
  values: unknown[] = [],
): Promise<{ code: string; constraint: string | undefined }> {
  const books = () =>
    db.run(
      rawSql(
        'select (select json_agg(t order by seq) from transfers t)::text as t, (select json_agg(b)::text from balances b) as b',
      ),
    );
  const before = await books();
  try {
    await db.run(rawSql(text, values));
  } catch (error) {
    assert.deepEqual(await books(), before);
    return { code: codeOf(error), constraint: (error as { constraint?: string }).constraint };
  }
  throw new assert.AssertionError({ message: `it was not refused: ${text}` });
}

test('each law that `npm run sabotage` drops is one of the schema', async () => {
  for (const { drop } of Object.values(laws)) {
    const dropped = db.tx(async (tx) => {
      await tx.run(rawSql(drop));
      throw new Error('dropped');
    });
    await assert.rejects(dropped, { message: 'dropped' });
  }
});

describe('transfers are never changed', () => {
  const changes = [
    'update transfers set amount_usd_micro = amount_usd_micro + 1',
    'update transfers set reason = null',
    'update transfers set reason = null where false',
    "delete from transfers where kind = 'charge'",
    'delete from transfers where false',
    'truncate transfers',
    'with gone as (delete from transfers returning 1) select count(*) from gone',
    `insert into transfers select * from transfers on conflict (id) do update set amount_usd_micro = 0`,
  ];
  for (const text of changes) {
    test(text, async () => assert.equal((await refusal(text)).code, refusedChange));
  }
});

describe('a transfer is refused', () => {
  /** A valid release of the open request; each case makes one field of it invalid. */
  const fine = () => ({
    id: newId(),
    account_id: who.account_id,
    seq: 1_000,
    kind: 'release',
    debit_account_id: who.account_id,
    credit_account_id: '00000000-0000-0000-0000-000000000002',
    amount_usd_micro: 100,
    available_after_usd_micro: 0,
    pending_id: ids.open,
    source: null as string | null,
    refunded_id: null as string | null,
    reference: null as string | null,
    reason: null as string | null,
  });
  type Row = ReturnType<typeof fine>;
  const deposits = '00000000-0000-0000-0000-000000000001';

  const cases: [
    what: string,
    spoil: (row: Row) => Partial<Row>,
    code: string,
    constraint: string,
  ][] = [
    [
      'that settles what a charge has settled',
      () => ({ pending_id: ids.completed }),
      taken,
      'transfers_pending',
    ],
    [
      'that settles what a release has settled',
      () => ({ pending_id: ids.failed, kind: 'charge' }),
      taken,
      'transfers_pending',
    ],
    [
      'that settles what a cancellation has released',
      () => ({ pending_id: ids.cancelled }),
      taken,
      'transfers_pending',
    ],
    [
      'that settles nothing',
      () => ({ pending_id: null as never }),
      brokenCheck,
      'settlement_names_its_reserve',
    ],
    [
      'that is a reserve and settles one',
      () => ({ kind: 'reserve' }),
      brokenCheck,
      'settlement_names_its_reserve',
    ],
    [
      'whose amount is below zero',
      () => ({ amount_usd_micro: -1 }),
      brokenCheck,
      'transfers_amount_usd_micro_check',
    ],
    [
      'that leaves less than nothing',
      () => ({ available_after_usd_micro: -1 }),
      brokenCheck,
      'transfers_available_after_usd_micro_check',
    ],
    [
      'from an account to itself',
      (row) => ({ credit_account_id: row.account_id }),
      brokenCheck,
      'two_sides',
    ],
    [
      "between two accounts that are not the customer's",
      () => ({ debit_account_id: deposits }),
      brokenCheck,
      'two_sides',
    ],
    ['with a number that is taken', () => ({ seq: 1 }), taken, 'transfers_account_seq'],
    ['with the number 0', () => ({ seq: 0 }), brokenCheck, 'transfers_seq_check'],
    [
      'of a kind that there is not',
      () => ({ kind: 'gift', pending_id: null as never }),
      brokenCheck,
      'transfers_kind_check',
    ],
    ['whose id is taken', () => ({ id: ids.open }), taken, 'transfers_pkey'],
    [
      'that is a deposit without a reference',
      (row) => depositOf(row, { reference: null }),
      brokenCheck,
      'deposit_has_reference',
    ],
    [
      'that is a deposit without a source',
      (row) => depositOf(row, { source: null }),
      brokenCheck,
      'deposit_has_source',
    ],
    [
      'that is a deposit of a source that there is not',
      (row) => depositOf(row, { source: 'gift' }),
      brokenCheck,
      'transfers_source_check',
    ],
    [
      'that is no deposit and has a source',
      () => ({ source: 'paid' }),
      brokenCheck,
      'deposit_has_source',
    ],
    [
      'that is a debt of nothing',
      (row) => depositOf(row, { kind: 'debt', source: null, amount_usd_micro: 0 }),
      brokenCheck,
      'movement_has_amount',
    ],
    [
      'that is paid and a refund of a request',
      (row) => depositOf(row, { refunded_id: ids.completed }),
      brokenCheck,
      'refund_is_a_deposit',
    ],
    [
      'that is a deposit of nothing',
      (row) => depositOf(row, { amount_usd_micro: 0 }),
      brokenCheck,
      'movement_has_amount',
    ],
    [
      'whose reference is empty',
      (row) => depositOf(row, { reference: '' }),
      brokenCheck,
      'transfers_reference_check',
    ],
  ];

  for (const [what, spoil, code, constraint] of cases) {
    test(what, async () => {
      const row = fine();
      assert.deepEqual(await refusal(...insertion('transfers', { ...row, ...spoil(row) })), {
        code,
        constraint,
      });
    });
  }

  test('but not when nothing is wrong with it', async () => {
    const [text, values] = insertion('transfers', fine());
    const undone = new Error('undone');
    await assert.rejects(
      db.tx(async (tx) => {
        await tx.run(rawSql(text, values));
        throw undone;
      }),
      undone,
    );
  });

  function depositOf(row: Row, changes: Partial<Row>): Partial<Row> {
    return {
      kind: 'deposit',
      pending_id: null as never,
      debit_account_id: deposits,
      credit_account_id: row.account_id,
      source: 'paid',
      reference: 'a reference',
      ...changes,
    };
  }
});

describe('a balance is refused', () => {
  const changes: [change: string, constraint: string][] = [
    ['debits_pending = credits_posted + 1', 'never_below_zero'],
    ['debits_posted = credits_posted - debits_pending + 1', 'never_below_zero'],
    ['credits_posted = debits_posted + debits_pending - 1', 'never_below_zero'],
    ['debits_pending = -1', 'balances_debits_pending_check'],
    ['debits_posted = -1', 'balances_debits_posted_check'],
    ['credits_pending = 1', 'balances_credits_pending_check'],
    ['debt = -1', 'balances_debt_check'],
  ];
  for (const [change, constraint] of changes) {
    test(change, async () => {
      const { account_id } = who;
      assert.deepEqual(
        await refusal(`update balances set ${change} where account_id = $1`, [account_id]),
        { code: brokenCheck, constraint },
      );
    });
  }
});

describe('a request is refused', () => {
  type State = keyof typeof ids;
  const cancelledAt = 'started_at = now(), cancel_requested_at = now()';
  const changes: [what: string, state: State, change: string, constraint: string][] = [
    [
      'final without a charge',
      'running',
      "status = 'COMPLETED', completed_at = now(), slot = false",
      'final_means_settled',
    ],
    ['charged without being final', 'running', 'charged_usd_micro = 0', 'final_means_settled'],
    ['final without a time', 'completed', 'completed_at = null', 'final_has_time'],
    ['charged above its quote', 'completed', 'charged_usd_micro = 101', 'charge_within_quote'],
    ['charged below zero', 'completed', 'charged_usd_micro = -1', 'charge_within_quote'],
    ['failed and charged', 'failed', 'charged_usd_micro = 1', 'failure_is_free'],
    ['cancelled and charged', 'cancelled', 'charged_usd_micro = 1', 'cancel_costs_by_rule'],
    [
      'cancelled for free and charged',
      'cancelled',
      `${cancelledAt}, on_cancel = 'free', charged_usd_micro = 1`,
      'cancel_costs_by_rule',
    ],
    [
      'cancelled at full price and charged a part',
      'cancelled',
      `${cancelledAt}, on_cancel = 'full', charged_usd_micro = 99`,
      'cancel_costs_by_rule',
    ],
    ['cancelled by a rule without a time', 'running', "on_cancel = 'free'", 'cancel_has_rule'],
    ['cancelled without a rule', 'running', 'cancel_requested_at = now()', 'cancel_has_rule'],
    [
      'cancelled by a rule that there is not',
      'running',
      "cancel_requested_at = now(), on_cancel = 'half'",
      'requests_on_cancel_check',
    ],
    [
      'asked to stop before it started',
      'open',
      "cancel_requested_at = now(), on_cancel = 'free'",
      'started_is_cancelled_on_request',
    ],
    ['failed without a reason', 'failed', 'error_code = null', 'failure_has_code'],
    ['completed with a reason to fail', 'completed', "error_code = 'timeout'", 'failure_has_code'],
    [
      'failed for a reason that there is not',
      'failed',
      "error_code = 'bad_luck'",
      'requests_error_code_check',
    ],
    ['open without a due time', 'open', 'wake_at = null', 'open_request_wakes'],
    ['running without a due time', 'running', 'wake_at = null', 'open_request_wakes'],
    ['running without a deadline', 'running', 'deadline_at = null', 'progress_has_start'],
    ['running without a start', 'running', 'started_at = null', 'progress_has_start'],
    ['queued and started', 'open', 'started_at = now()', 'queued_not_started'],
    ['cancelled and started', 'cancelled', 'started_at = now()', 'cancelled_on_request'],
    ['final and in a place of its upstream', 'completed', 'slot = true', 'slot_is_open'],
    ['in a state that there is not', 'open', "status = 'LOST'", 'requests_status_check'],
  ];
  for (const [what, state, change, constraint] of changes) {
    test(what, async () => {
      assert.deepEqual(await refusal(`update requests set ${change} where id = $1`, [ids[state]]), {
        code: brokenCheck,
        constraint,
      });
    });
  }

  test('twice under one idempotency key of an account', async () => {
    await submit(db, who, { amount: 1n, idempotency_key: 'once' });
    const [text, values] = insertion('request_inputs', {
      request_id: newId(),
      account_id: who.account_id,
      idempotency_key: 'once',
      fingerprint: Buffer.alloc(32),
      input: '{}',
      quote: '{}',
    });
    assert.deepEqual(await refusal(text, values), {
      code: taken,
      constraint: 'request_inputs_idempotency',
    });
  });
});

test('after all of this the books are as they were', async () => {
  assert.deepEqual((await audit(db)).violations, []);
  assert.deepEqual(await balanceOf(db, who), {
    available: 1_000n - 70n - 200n - 1n,
    reserved: 201n,
  });
});

function insertion(table: string, row: Record<string, unknown>): [text: string, values: unknown[]] {
  const names = Object.keys(row);
  return [
    `insert into ${table} (${names}) values (${names.map((_, i) => `$${i + 1}`)})`,
    Object.values(row),
  ];
}
