import { rawSql, type Database } from '../server/src/lib/sql/sql.ts';
import { createAccount } from '../server/src/operations/accounts/account.ts';
import { deposit } from '../server/src/operations/accounts/book-by-hand.ts';
import { commandLine } from '../server/src/operations/operator-action.ts';
import { createKey } from '../server/src/operations/accounts/key.ts';

/**
 * Fills a database with finished calls of the last 90 days, so that the books balance. Every second
 * one is of one account, the others are dealt out to a thousand accounts in turns. Every fourth is
 * an image with a prompt.
 */

const accountCount = 1_001;
const days = 90;
const batch = 250_000;
const quote = 1_000;
const charge = 900;
const paid = 1_000_000_000_000n;

/** The account with half of all requests; `rare_key` made none of them. */
export interface Large {
  account_id: string;
  key: string;
  rare_key: string;
}

/** Adds what is missing to `wanted` requests. Goes on where an earlier call was interrupted. */
export async function fill(
  db: Database,
  wanted: number,
  tell: (done: number) => void,
  payloadBytes = 0,
): Promise<Large> {
  await db.run(
    rawSql(`create table if not exists bench_fill (
      done bigint, ended timestamptz, account_id uuid, key text, rare_key uuid)`),
  );
  const find = () =>
    db.run<Large & { done: bigint }>(
      rawSql('select done, account_id, key, rare_key from bench_fill'),
    );
  let [state] = await find();
  if (!state) {
    await makeAccounts(db);
    [state] = await find();
  }
  for (let done = Number(state!.done); done < wanted; done += batch) {
    await db.tx(async (tx) => {
      for (const text of rowsFrom(done, Math.min(wanted, done + batch), wanted, payloadBytes))
        await tx.run(rawSql(text));
    });
    tell(Math.min(wanted, done + batch));
  }
  if (Number(state!.done) < wanted) await db.run(rawSql('vacuum analyze'));
  return state!;
}

async function makeAccounts(db: Database): Promise<void> {
  const limits = { rpm: 1_000_000_000, open_jobs: 100_000_000 };
  const make = (account_id: string, name: string) =>
    createKey(db, { who: 'operator' }, { account_id, name, ...limits });
  for (let n = accountCount - 1; n >= 0; n--) {
    const email = `history-${n}@example.com`;
    const { id: account_id } = await createAccount(db, { email, is_operator: false });
    await deposit(db, commandLine, { account_id, amount: paid, reference: `history ${n}` });
    const { answer } = await make(account_id, 'history');
    if (n > 0) continue;
    const rare = await make(account_id, 'rare');
    await db.run(
      rawSql('insert into bench_fill values (0, now(), $1, $2, $3)', [
        account_id,
        answer.key,
        rare.answer.key_id,
      ]),
    );
  }
}

/** `owner` is the number of an account, `nth` counts the requests of each. */
function rowsFrom(done: number, until: number, wanted: number, payloadBytes: number): string[] {
  // Random, because repeats would be compressed.
  const payload = (of: string) =>
    payloadBytes === 0
      ? of
      : `json_build_object('text', (select string_agg(md5(random()::text || n + g), '') from generate_series(1, ${payloadBytes} / 32) g))`;
  const id = (variant: string) => `(ms || '7${variant}8000' || lpad(to_hex(n), 12, '0'))::uuid`;
  const revenue = `'00000000-0000-0000-0000-000000000002'::uuid`;
  const priced = `{"price_usd_micro":"${quote}","unit":"request","quantity":1,"unit_price_usd_micro":"${quote}","breakdown":[],"assumptions":{}}`;
  return [
    'set local statement_timeout = 0',
    `create temp table history on commit drop as
      select n, at, nth, w.account_id, w.key_id, ${id('000')} as id, ${id('001')} as charge,
        n % 8 < 2 as is_image
      from (select n, at, lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as ms,
          case n % 2 when 0 then 0 else 1 + n / 2 % ${accountCount - 1} end as owner,
          case n % 2 when 0 then n / 2 else n / 2 / ${accountCount - 1} end as nth
        from generate_series(${done}, ${until - 1}) n cross join lateral (
          select f.ended - interval '${days} days' * (${wanted} - n) / ${wanted} as at
          from bench_fill f) t) h
      join (select a.id as account_id, k.id as key_id, substr(a.email, 9)::text as name
        from accounts a join keys k on k.account_id = a.id and k.name = 'history'
        where a.email like 'history-%') w on w.name = h.owner || '@example.com'`,
    `insert into requests (id, account_id, key_id, model_id, kind, upstream, quoted_usd_micro,
        charged_usd_micro, status, attempt, created_at, started_at, completed_at, deadline_at)
      select id, account_id, key_id, case when is_image then 'bench/image' else 'bench/chat' end,
        case when is_image then 'image' else 'text' end, 'bench', ${quote}, ${charge}, 'COMPLETED',
        1, at, at, at, at from history order by n`,
    `insert into request_inputs (request_id, account_id, input, quote, prompt, created_at)
      select id, account_id, ${payload("'{}'")}, '${priced}',
        case when is_image then 'a lighthouse above the sea, number ' || n end, at
      from history order by n`,
    `insert into request_results (request_id, account_id, output, quantity, cost_usd_micro, created_at)
      select id, account_id, ${payload('null')}, 1, 700, at from history order by n`,
    `insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
        amount_usd_micro, available_after_usd_micro, key_id, pending_id, created_at)
      select m.id, account_id, 2 + 2 * nth + m.part, m.kind, account_id, ${revenue}, m.amount,
        ${paid} - ${charge} * nth - m.amount, m.key_id, m.pending_id, at
      from history h cross join lateral (values
        (0, h.id, 'reserve', ${quote}, h.key_id, null::uuid),
        (1, h.charge, 'charge', ${charge}, null, h.id)
      ) m (part, id, kind, amount, key_id, pending_id) order by n, m.part`,
    `update balances b set last_seq = last_seq + 2 * h.count,
        debits_posted = debits_posted + ${charge} * h.count
      from (select account_id, count(*) from history group by 1) h
      where h.account_id = b.account_id`,
    `update key_usage u set month = date_trunc('month', now() at time zone 'utc'),
        posted_usd_micro = case when u.month = date_trunc('month', now() at time zone 'utc')
          then posted_usd_micro else 0 end + h.posted
      from (select key_id, coalesce(sum(${charge}) filter (where
          date_trunc('month', at at time zone 'utc') = date_trunc('month', now() at time zone 'utc')
        ), 0) as posted from history group by 1) h
      where h.key_id = u.key_id`,
    `update bench_fill set done = ${until}`,
  ];
}
