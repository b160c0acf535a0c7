import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { adjust, deposit, refund } from '../kit/by-command-line.ts';
import type { EndTransition } from '../../src/core/request/request.ts';
import { audit } from '../../src/ledger/audit.ts';
import { rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { Refusal } from '../../src/operations/refusal.ts';
import { endMany } from '../../src/operations/requests/settle.ts';
import {
  begin,
  cancelled,
  claim,
  completed,
  customer,
  failed,
  secondKey,
  submitOf,
  type Customer,
  submitMany,
} from '../kit/by-hand.ts';
import { withDatabase } from '../kit/with-database.ts';
import { isLong } from '../kit/long.ts';
import { LedgerModel, type Ask, type Finish, type Verdict } from './model.ts';

/**
 * Random lives of two accounts, played on PostgreSQL and on the model in step: each verdict and, after every step,
 * every balance, key and status are the same. `npm run test:full` plays more of them; a longer search:
 * LEDGER_RUNS=5000 LEDGER_STEPS=200, and LEDGER_SEED to
 * play one again.
 */
const numRuns = Number(process.env.LEDGER_RUNS ?? (isLong ? 60 : 8));
const steps = Number(process.env.LEDGER_STEPS ?? 40);
const seed = Number(process.env.LEDGER_SEED ?? Date.now() % 2 ** 31);

/** The first key of each account has no limits, the second has low ones. */
const keys = [
  { account: 0, limit: null, open_jobs: 1_000 },
  { account: 0, limit: 120n, open_jobs: 2 },
  { account: 1, limit: null, open_jobs: 1_000 },
  { account: 1, limit: 120n, open_jobs: 2 },
];

type Step =
  | {
      do: 'book';
      kind: 'deposit' | 'adjust';
      account: number;
      amount: bigint;
      reference: number;
      allows_debt: boolean;
    }
  | { do: 'refund'; request: number; amount: bigint | null; reference: number }
  | { do: 'submit'; asks: Ask[] }
  | { do: 'claim' }
  | { do: 'reclaim' | 'begin'; request: number; late: number }
  | {
      do: 'finish';
      finishes: { request: number; finish: Finish['to']; charge: bigint; late: number }[];
    };

const amount = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt(0n, 60n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 400n) },
);
const account = fc.nat(1);
/** The request of a step, counted from the newest, so that steps often have the same request. */
const request = fc.nat(7);
/** How many claims the writer's own claim is behind the newest one: mostly 0. */
const late = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.nat(2) },
);

const ask: fc.Arbitrary<Ask> = fc.record({
  key: fc.nat(keys.length - 1),
  amount,
  idempotency: fc.option(
    fc.record({
      key: fc.constantFrom('k', 'l', 'm'),
      body: fc.constantFrom('one', 'one', 'one', 'two'),
    }),
    { freq: 2 },
  ),
  is_call: fc.oneof(
    { weight: 3, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

const finish = fc.record({
  request,
  finish: fc.constantFrom<Finish['to']>('COMPLETED', 'COMPLETED', 'FAILED', 'CANCELLED'),
  charge: fc.bigInt(-1n, 61n),
  late,
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('book' as const),
      kind: fc.constantFrom('deposit' as const, 'adjust' as const),
      account,
      amount: fc.bigInt(-80n, 160n),
      reference: fc.nat(5),
      allows_debt: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      request,
      amount: fc.option(fc.bigInt(0n, 40n)),
      reference: fc.nat(5),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      asks: fc.array(ask, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('claim' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('begin' as const), request, late }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reclaim' as const), request, late }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      finishes: fc.array(finish, { minLength: 1, maxLength: 3 }),
    }),
  },
);

const database = withDatabase();

test(`the ledger agrees with its model: ${numRuns} lives of about ${steps} steps, LEDGER_SEED=${seed}`, async (t) => {
  const seen = new Map<Verdict, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 2 * steps, size: 'max' }),
      async (life) => {
        const pair = await openPair(database.db);
        for (const each of life) {
          const { real, expected } = await play(pair, each);
          assert.deepEqual(real, expected, `verdict of ${show(each)}`);
          for (const verdict of expected) seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
          assert.deepEqual(await realState(pair), modelState(pair), `state after ${show(each)}`);
        }
      },
    ),
    { numRuns, seed, endOnFailure: numRuns > 500 },
  );
  assert.deepEqual((await audit(database.db)).violations, []);
  t.diagnostic(
    `figure: ${numRuns} lives, ${[...seen.values()].reduce((a, b) => a + b, 0)} verdicts`,
  );
  const all: Verdict[] = [
    'booked',
    'replayed',
    'refused',
    'accepted',
    'insufficient_balance',
    'key_limit_reached',
    'rate_limited',
    'idempotency_conflict',
    'ended',
    'overtaken',
    'error',
    'begun',
    'claimed',
  ];
  // Lives without these verdicts would prove nothing.
  if (numRuns >= 60)
    assert.deepEqual(
      all.filter((verdict) => (seen.get(verdict) ?? 0) < 3),
      [],
      'verdicts that were hardly met',
    );
});

interface Pair {
  db: Database;
  model: LedgerModel;
  lane: string;
  owners: Customer[];
  /** Ids of the requests, in the order of the model. */
  ids: string[];
  begun: Set<string>;
}

async function openPair(db: Database): Promise<Pair> {
  const first = [await customer(db, 0n), await customer(db, 0n)];
  const owners = await Promise.all(
    keys.map(async ({ account: n }, i) =>
      i % 2 === 0 ? first[n]! : { ...first[n]!, key_id: await secondKey(db, first[n]!.account_id) },
    ),
  );
  return {
    db,
    model: new LedgerModel(2, keys),
    lane: randomUUID(),
    owners,
    ids: [],
    begun: new Set(),
  };
}

type Verdicts = { real: Verdict[]; expected: Verdict[] };

function play(pair: Pair, each: Step): Promise<Verdicts> {
  if (each.do === 'book') return book(pair, each);
  if (each.do === 'refund') return giveBack(pair, each);
  if (each.do === 'submit') return submit(pair, each.asks);
  if (each.do === 'claim') return claimNext(pair);
  if (each.do === 'finish') return finishAll(pair, each.finishes);
  return take(pair, each);
}

async function book(
  { db, model, lane, owners }: Pair,
  each: Extract<Step, { do: 'book' }>,
): Promise<Verdicts> {
  const { kind, account: n, reference, allows_debt } = each;
  const name = `${lane} ${reference}`;
  const expected = [model.book(kind, n, each.amount, { reference: name, allows_debt })];
  const wanted = { account_id: owners[n * 2]!.account_id, amount: each.amount, reference: name };
  try {
    const { replayed } = await (kind === 'deposit'
      ? deposit(db, wanted)
      : adjust(db, { ...wanted, allows_debt, reason: 'x' }));
    return { real: [replayed ? 'replayed' : 'booked'], expected };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { real: ['refused'], expected };
  }
}

async function giveBack(
  { db, model, lane, ids }: Pair,
  each: Extract<Step, { do: 'refund' }>,
): Promise<Verdicts> {
  const n = ids.length - 1 - each.request;
  if (n < 0) return { real: [], expected: [] };
  const reference = `${lane} ${each.reference}`;
  const expected = [model.refund(n, each.amount, reference)];
  const wanted = { request_id: ids[n]!, amount: each.amount, reference, reason: 'x' };
  try {
    const { replayed } = (await refund(db, wanted))!;
    return { real: [replayed ? 'replayed' : 'booked'], expected };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { real: ['refused'], expected };
  }
}

async function submit(pair: Pair, asks: Ask[]): Promise<Verdicts> {
  const { db, model, lane, owners, ids } = pair;
  const verdicts = await submitMany(
    db,
    asks.map(({ key, amount: price, idempotency, is_call }) =>
      submitOf(owners[key]!, {
        amount: price,
        upstream: lane,
        limit: keys[key]!.limit,
        open_jobs: is_call ? null : keys[key]!.open_jobs,
        idempotency_key: idempotency?.key ?? null,
        body: idempotency?.body ?? '',
        call_seconds: is_call ? 600 : null,
      }),
    ),
  );
  const expected = asks.map((each, i) => {
    const [verdict, n] = model.submit(each);
    const told = verdicts[i]!;
    if (verdict === 'accepted' && !(told instanceof Error)) ids.push(told.request_id);
    if (verdict === 'replayed' && !(told instanceof Error)) assert.equal(told.request_id, ids[n]);
    return verdict;
  });
  const real = verdicts.map((told): Verdict => {
    if (told instanceof Error) return told.code as Verdict;
    return told.replayed ? 'replayed' : 'accepted';
  });
  return { real, expected };
}

/**
 * Asserts that the claimed request is the oldest of an account; the turns belong to other tests.
 */
async function claimNext({ db, model, lane, ids }: Pair): Promise<Verdicts> {
  const claimable = model.claimable();
  const [claimed] = await claim(db, lane);
  if (!claimed)
    return { real: ['nothing'], expected: [claimable.length === 0 ? 'nothing' : 'claimed'] };
  const n = ids.indexOf(claimed.id);
  assert.ok(claimable.includes(n), `${n} is not among ${claimable}`);
  model.claim(n);
  assert.equal(claimed.attempt, model.requests[n]!.attempt);
  return { real: ['claimed'], expected: ['claimed'] };
}

async function take(
  { db, model, ids, begun }: Pair,
  each: { do: 'reclaim' | 'begin'; request: number; late: number },
): Promise<Verdicts> {
  const n = ids.length - 1 - each.request;
  if (n < 0) return { real: [], expected: [] };
  const id = ids[n]!;
  if (each.do === 'begin') {
    const attempt = model.requests[n]!.attempt - each.late;
    const claimOf = `${id} ${attempt}`;
    // A claim begins once; a chat call begins with its submit.
    if (model.requests[n]!.is_call || attempt < 1 || begun.has(claimOf))
      return { real: [], expected: [] };
    begun.add(claimOf);
    const expected = model.begin(n, attempt);
    return {
      real: [(await begin(db, { id, attempt })) ? 'begun' : 'overtaken'],
      expected: [expected],
    };
  }
  const rows = await db.run(
    rawSql(
      `update requests set attempt = attempt + 1 where id = $1 and status in ('IN_QUEUE', 'IN_PROGRESS')
     and (status <> 'IN_QUEUE' or slot) returning id`,
      [id],
    ),
  );
  return { real: [rows.length === 1 ? 'claimed' : 'nothing'], expected: [model.reclaim(n)] };
}

async function finishAll(
  { db, model, owners, ids }: Pair,
  finishes: { request: number; finish: Finish['to']; charge: bigint; late: number }[],
): Promise<Verdicts> {
  const known = finishes
    .map((each) => ({ ...each, n: ids.length - 1 - each.request }))
    .filter(({ n }) => n >= 0);
  const endings: EndTransition[] = known.map(({ n, finish: to, charge, late: claims }) => {
    const { key, attempt, is_call } = model.requests[n]!;
    const claimed = { id: ids[n]!, attempt: attempt - claims };
    if (to === 'CANCELLED') return { ...cancelled(owners[key]!, claimed.id), opens_job: !is_call };
    return to === 'FAILED'
      ? failed(owners[key]!, claimed, !is_call)
      : completed(owners[key]!, claimed, charge, !is_call);
  });
  if (endings.length === 0) return { real: [], expected: [] };
  const verdicts = await endMany(db, endings);
  const expected = known.map(({ n, finish: to, charge }, i) => {
    const { attempt } = endings[i]!;
    return model.finish(n, to === 'CANCELLED' ? { to } : { to, charge, attempt: attempt! });
  });
  return {
    real: verdicts.map((told) => (told instanceof Error ? 'error' : told ? 'ended' : 'overtaken')),
    expected,
  };
}

/** The state on which decisions about money and limits depend, in the form of the model. */
async function realState({ db, owners, lane }: Pair): Promise<unknown> {
  const [row] = await db.run<{ accounts: unknown; keys: unknown; requests: unknown }>(
    rawSql(
      `select (select json_agg(json_build_array(credits_posted::text, debits_posted::text, debits_pending::text, debt::text) order by account_id)
        from balances where account_id = any($1::uuid[])) as accounts,
      (select json_agg(json_build_array(pending_usd_micro::text, posted_usd_micro::text, open_requests) order by account_id, key_id)
        from key_usage where account_id = any($1::uuid[])) as keys,
      (select json_agg(json_build_array(status, attempt, slot, quoted_usd_micro::text, charged_usd_micro::text) order by id)
        from requests where upstream in ($2, 'fake') and account_id = any($1::uuid[])) as requests`,
      [[...new Set(owners.map(({ account_id }) => account_id))], lane],
    ),
  );
  return { ...row, requests: row!.requests ?? [] };
}

function modelState({ model }: Pair): unknown {
  return {
    accounts: model.accounts.map(({ credits, debits, pending, debt }) =>
      [credits, debits, pending, debt].map(String),
    ),
    keys: model.keys.map(({ pending, posted, open }) => [String(pending), String(posted), open]),
    requests: model.requests.map(({ status, attempt, slot, quoted, charged }) => [
      status,
      attempt,
      slot,
      String(quoted),
      charged === null ? null : String(charged),
    ]),
  };
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each));
}
