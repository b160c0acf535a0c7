import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { adjust, deposit } from '../kit/by-command-line.ts';
import type { BookedSource } from '../../src/core/account/source.ts';
import type { Claim } from '../../src/db/requests/queue.ts';
import { audit } from '../../src/ledger/audit.ts';
import { Books } from '../../src/ledger/ledger.ts';
import { newId } from '../../src/lib/id.ts';
import { Refusal } from '../../src/operations/refusal.ts';
import {
  balanceOf,
  begin,
  cancelled,
  claim,
  completed,
  customer,
  end,
  failed,
  trySubmit,
  usageOf,
  type Customer,
} from '../kit/by-hand.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';

/**
 * Lives of an account, a line an event: what happens, the verdict, and what is then available, reserved and counted
 * for the key's month. A letter names a request; `@2` is a worker's claim of that number.
 */
const lives: Record<string, string> = {
  'a reservation is charged once, and its rest returns': `
    deposit 100 in         booked                  100    0    0
    submit a 60            accepted                 40   60   60
    start a                begun                    40   60   60
    complete a@1 45        ended                    55    0   45
    complete a@1 45        overtaken                55    0   45
    fail a@1               overtaken                55    0   45
    cancel a               overtaken                55    0   45`,

  'a failure returns all of it': `
    deposit 100 in         booked                  100    0    0
    submit a 100           accepted                  0  100  100
    start a                begun                     0  100  100
    fail a@1               ended                   100    0    0
    complete a@1 100       overtaken               100    0    0`,

  'a cancellation returns all of it, while it is queued and only then': `
    deposit 100 in         booked                  100    0    0
    submit a 30            accepted                 70   30   30
    submit b 30            accepted                 40   60   60
    cancel a               ended                    70   30   30
    cancel a               overtaken                70   30   30
    start b                begun                    70   30   30
    cancel b               overtaken                70   30   30
    complete b@1 30        ended                    70    0   30`,

  'a cancellation beats a claim that has not begun': `
    deposit 100 in         booked                  100    0    0
    submit a 30            accepted                 70   30   30
    claim a                claimed                  70   30   30
    cancel a               ended                   100    0    0
    begin a@1              overtaken               100    0    0
    complete a@1 30        overtaken               100    0    0`,

  'what is not there cannot be reserved, to the last micro': `
    deposit 100 in         booked                  100    0    0
    submit a 101           insufficient_balance    100    0    0
    submit b 100           accepted                  0  100  100
    submit c 1             insufficient_balance      0  100  100
    cancel b               ended                   100    0    0
    submit d 100           accepted                  0  100  100`,

  'an empty account may do what costs nothing': `
    submit a 1             insufficient_balance      0    0    0
    submit b 0             accepted                  0    0    0
    start b                begun                     0    0    0
    complete b@1 0         ended                     0    0    0`,

  'a charge above the reservation is an error, and one below zero too': `
    deposit 100 in         booked                  100    0    0
    submit a 60            accepted                 40   60   60
    start a                begun                    40   60   60
    complete a@1 61        error                    40   60   60
    complete a@1 -1        error                    40   60   60
    complete a@1 0         ended                   100    0    0`,

  'a late worker moves no money': `
    deposit 100 in         booked                  100    0    0
    submit a 60            accepted                 40   60   60
    start a                begun                    40   60   60
    reclaim a              claimed                  40   60   60
    complete a@1 60        overtaken                40   60   60
    fail a@1               overtaken                40   60   60
    complete a@2 10        ended                    90    0   10
    complete a@1 60        overtaken                90    0   10`,

  'a queued request can fail and cannot complete': `
    deposit 100 in         booked                  100    0    0
    submit a 60            accepted                 40   60   60
    claim a                claimed                  40   60   60
    complete a@1 60        overtaken                40   60   60
    fail a@1               ended                   100    0    0`,

  'a deposit is booked once, and its reference is its own': `
    deposit 100 in         booked                  100    0    0
    deposit 100 in         replayed                100    0    0
    deposit 101 in         refused                 100    0    0
    adjust 100 in          refused                 100    0    0
    deposit 0 none         refused                 100    0    0
    deposit -5 none        refused                 100    0    0
    deposit 5 none         booked                  105    0    0`,

  'a deposit has one source, and no other under its reference': `
    deposit 10 a bonus     booked                   10    0    0
    deposit 10 a bonus     replayed                 10    0    0
    deposit 10 a           refused                  10    0    0
    deposit 10 a refund    refused                  10    0    0
    adjust 10 a            refused                  10    0    0
    deposit 10 b           booked                   20    0    0
    deposit 10 b paid      replayed                 20    0    0
    deposit 10 b bonus     refused                  20    0    0`,

  'a correction goes both ways and never below zero, reservations included': `
    deposit 100 in         booked                  100    0    0
    adjust 20 gift         booked                  120    0    0
    adjust 20 gift         replayed                120    0    0
    submit a 100           accepted                 20  100  100
    adjust -21 fee         refused                  20  100  100
    adjust -20 fee         booked                    0  100  100
    adjust -20 fee         replayed                  0  100  100
    adjust 20 fee          refused                   0  100  100
    deposit 20 fee         refused                   0  100  100
    adjust 0 null          refused                   0  100  100
    start a                begun                     0  100  100
    complete a@1 70        ended                    30    0   70`,

  'the same key is one request, whatever happened to it since': `
    deposit 100 in         booked                  100    0    0
    submit a 60 key=k      accepted                 40   60   60
    submit b 60 key=k      replayed a               40   60   60
    submit c 60 key=k/x    idempotency_conflict     40   60   60
    start a                begun                    40   60   60
    complete a@1 60        ended                    40    0   60
    submit d 60 key=k      replayed a               40    0   60
    submit e 60 key=l      insufficient_balance     40    0   60
    submit f 30 key=l/x    accepted                 10   30   90`,

  'a failed job keeps its key, a failed call frees it': `
    deposit 100 in         booked                  100    0    0
    submit a 40 key=k      accepted                 60   40   40
    start a                begun                    60   40   40
    fail a@1               ended                   100    0    0
    submit b 40 key=k      replayed a              100    0    0
    call c 40 key=l        accepted                 60   40   40
    call d 40 key=l        replayed c               60   40   40
    fail c@1               ended                   100    0    0
    call e 40 key=l        accepted                 60   40   40
    complete e@1 40        ended                    60    0   40
    call f 40 key=l        replayed e               60    0   40`,

  'a key has its limit, counted in what is reserved and what is charged': `
    deposit 100 in         booked                  100    0    0
    submit a 30 limit=50   accepted                 70   30   30
    submit b 21 limit=50   key_limit_reached        70   30   30
    submit c 20 limit=50   accepted                 50   50   50
    submit d 1 limit=50    key_limit_reached        50   50   50
    start a                begun                    50   50   50
    complete a@1 10        ended                    70   20   30
    submit e 20 limit=50   accepted                 50   40   50
    cancel c               ended                    70   20   30
    submit f 20 limit=50   accepted                 50   40   50
    submit g 0 limit=0     key_limit_reached        50   40   50`,

  "a key's limit is told before the balance": `
    deposit 10 in          booked                   10    0    0
    submit a 60 limit=50   key_limit_reached        10    0    0
    submit b 50 limit=50   insufficient_balance     10    0    0`,
};

describe('the life of an account', () => {
  let database: TestDatabase;
  before(async () => void (database = await testDatabase()));
  after(() => database.close());

  for (const [what, life] of Object.entries(lives)) {
    test(what, async () => {
      const { db } = database;
      const who = await customer(db, 0n);
      const play = player(who);
      for (const line of life.trim().split('\n')) {
        const [, event, expected] = /^\s*(.*?)\s{2,}(.*)$/.exec(line)!;
        const verdict = await play(event!);
        const { available, reserved } = await balanceOf(db, who);
        const { pending, posted } = await usageOf(db, who);
        const [said] = expected!.split(/\s+(?=-?\d)/);
        const figures = [available, reserved, pending + posted].join(' ');
        assert.equal(`${verdict} ${figures}`, expected!.replace(/\s+/g, ' '), `${event}: ${said}`);
      }
    });
  }

  test('and the books balance after all of them', async () => {
    const report = await audit(database.db);
    assert.deepEqual(report.violations, []);
    assert.ok(report.checked.accounts >= Object.keys(lives).length);
  });

  /** Returns a function that plays an event of the account and returns its verdict. */
  function player(who: Customer): (event: string) => Promise<string> {
    const { db } = database;
    const ids = new Map<string, string>();
    const isCall = new Map<string, boolean>();
    const lane = (name: string) => `${who.account_id} ${name}`;

    async function book(
      verb: string,
      amount: bigint,
      name: string,
      source?: BookedSource,
    ): Promise<string> {
      const wanted = { account_id: who.account_id, amount, reference: lane(name) };
      try {
        const { replayed } = await (verb === 'deposit'
          ? deposit(db, { ...wanted, ...(source && { source }) })
          : adjust(db, { ...wanted, reason: 'a reason' }));
        return replayed ? 'replayed' : 'booked';
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error));
        return 'refused';
      }
    }

    async function ask(
      verb: string,
      name: string,
      amount: bigint,
      options: string[],
    ): Promise<string> {
      const given = Object.fromEntries(options.map((option) => option.split('=')));
      const [key = null, body = ''] = given.key?.split('/') ?? [];
      const limit = given.limit === undefined ? null : BigInt(given.limit);
      const call_seconds = verb === 'call' ? 60 : null;
      const wanted = {
        amount,
        idempotency_key: key,
        body,
        limit,
        call_seconds,
        upstream: lane(name),
      };
      const verdict = await trySubmit(db, who, wanted);
      if (verdict instanceof Error) return verdict.code;
      if (verdict.replayed)
        return `replayed ${[...ids].find(([, id]) => id === verdict.request_id)![0]}`;
      ids.set(name, verdict.request_id);
      isCall.set(name, verb === 'call');
      return 'accepted';
    }

    async function reclaim(name: string): Promise<string> {
      const rows = await db.run({
        text: 'update requests set attempt = attempt + 1 where id = $1 returning id',
        values: [ids.get(name)],
      });
      return rows.length === 1 ? 'claimed' : 'gone';
    }

    async function settle(
      verb: string,
      { id, attempt }: Claim,
      opensJob: boolean,
      amount: bigint,
    ): Promise<string> {
      const ending =
        verb === 'fail'
          ? failed(who, { id, attempt }, opensJob)
          : completed(who, { id, attempt }, amount, opensJob);
      try {
        return (await end(db, ending)) ? 'ended' : 'overtaken';
      } catch (error) {
        assert.match(String(error), /outside the reservation/);
        return 'error';
      }
    }

    return async (event) => {
      const [verb, first, ...rest] = event.split(' ') as [string, string, ...string[]];
      const [name, attempt] = first.split('@') as [string, string | undefined];
      const claimed = { id: ids.get(name)!, attempt: Number(attempt) };
      if (verb === 'deposit' || verb === 'adjust')
        return book(verb, BigInt(first), rest[0]!, rest[1] as BookedSource | undefined);
      if (verb === 'submit' || verb === 'call')
        return ask(verb, name, BigInt(rest[0]!), rest.slice(1));
      if (verb === 'claim') return (await claim(db, lane(name))).length === 1 ? 'claimed' : 'gone';
      if (verb === 'reclaim') return reclaim(name);
      if (verb === 'begin') return (await begin(db, claimed)) ? 'begun' : 'overtaken';
      if (verb === 'cancel')
        return (await end(db, cancelled(who, claimed.id))) ? 'ended' : 'overtaken';
      if (verb !== 'start') return settle(verb, claimed, !isCall.get(name), BigInt(rest[0] ?? 0));
      const [found] = await claim(db, lane(name));
      return found && (await begin(db, found)) ? 'begun' : 'overtaken';
    };
  }
});

describe('the books refuse what no caller should ask', () => {
  const account_id = newId();
  const open = () =>
    new Books([
      {
        account_id,
        debits_pending: 50n,
        debits_posted: 0n,
        credits_posted: 100n,
        debt: 0n,
        last_seq: 3n,
        open_requests: 1,
        kept_bytes: 2n,
      },
    ]);
  const ids = { id: newId(), request_id: newId(), account_id };
  const settlement = { ...ids, reserved: 50n, closes_job: true };

  test('an account whose balance is not open', () => {
    assert.throws(() => open().funds(newId()), /no balance is open/);
  });

  for (const charge of [51n, -1n]) {
    test(`a charge of ${charge} out of 50`, () => {
      const books = open();
      assert.throws(() => books.settle({ ...settlement, charge }), /outside the reservation/);
      assert.deepEqual(books.funds(account_id), {
        available_usd_micro: 50n,
        reserved_usd_micro: 50n,
        debt_usd_micro: 0n,
      });
      assert.deepEqual(books.changes(), { balances: [], transfers: [] });
    });
  }

  test('a refused reservation changes nothing', () => {
    const books = open();
    const who = { request_id: newId(), account_id, key_id: newId() };
    const hold = { ...who, opens_job: true, bytes: 7 };
    assert.equal(books.reserve({ ...hold, amount: 51n }), false);
    assert.deepEqual(books.changes(), { balances: [], transfers: [] });
    assert.equal(books.reserve({ ...hold, amount: 50n }), true);
    const { balances, transfers } = books.changes();
    assert.deepEqual(balances, [
      {
        account_id,
        debits_pending: 50n,
        debits_posted: 0n,
        credits_posted: 0n,
        debt: 0n,
        last_seq: 1n,
        open_requests: 1,
        kept_bytes: 7n,
      },
    ]);
    assert.deepEqual(
      transfers.map(({ seq, kind, available_after }) => [seq, kind, available_after]),
      [[4n, 'reserve', 0n]],
    );
  });
});
