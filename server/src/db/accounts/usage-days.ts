import { constant, rawSql, sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';
import { chargeSums, entries } from './revenue.ts';

/** Stored sums of an account's days. Nothing that counts in a stretch changes once it is over. */

export const tokens = [
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'reasoning_tokens',
] as const;
export const usageTotals = ['completed', 'failed', 'charged_usd_micro', ...tokens];
/** The sums of `usageTotals` over entries. */
export const usageSums = [
  chargeSums,
  ...tokens.map((name) => `coalesce(sum(${name}), 0)::bigint`),
].join(', ');

/** Leaves out starts that were left for the next route: they are neither requests nor charges. */
export const counts = '(done is not null or charged is not null)';

/** Days (UTC), such as 2027-01-31: `from` is included, `to` is not. */
export interface Period {
  from: string;
  to: string;
}

/** A day of which the sums of what ended before `until` are to be stored. */
export interface Stretch {
  day: string;
  until: Date;
}

/** Until when a day is stored: SQL of a row of usage_rollups. */
export const storedUntil = `coalesce(until, (day + 1)::timestamp at time zone 'utc')`;

/**
 * The days of a period that are not stored as far as they could be. Transactions that began in an
 * hour have ended an hour later, so nothing that counts in a stored stretch changes.
 */
export function findUnstored(
  db: Connection,
  account_id: string,
  { from, to }: Period,
): Promise<Stretch[]> {
  return db.run<Stretch>(sql`
    select to_char(d, 'YYYY-MM-DD') as day, wanted as until
    from generate_series(${from}::date::timestamp, ${to}::date::timestamp - interval '1 day',
      interval '1 day') d
    cross join lateral (select least((d + interval '1 day') at time zone 'utc',
      date_trunc('hour', now() - interval '1 hour', 'utc')) as wanted) w
    where wanted > d at time zone 'utc' and not exists (
      select from usage_rollups where account_id = ${account_id} and day = d::date
        and ${constant(storedUntil)} >= wanted)
    order by d`);
}

/** Stores the sums of one day of an account up to `until`, where they do not reach as far yet. */
export async function storeDay(
  tx: Transaction,
  account_id: string,
  { day, until }: Stretch,
): Promise<void> {
  // Locks the day, so that two calls store each stretch once.
  const [stored] = await tx.run<{ until: Date }>(sql`
    insert into usage_rollups as r (account_id, day, until)
    values (${account_id}, ${day}::date, ${day}::date::timestamp at time zone 'utc')
    on conflict (account_id, day) do update set until = r.until
    returning ${constant(storedUntil)} as until`);
  const since = stored?.until ?? new Date(day);
  if (since >= until) return;
  tx.send(sql`
    update usage_rollups set until = ${until}
    where account_id = ${account_id} and day = ${day}::date`);
  const during = (at: string) => `${at} >= $2::timestamptz and ${at} < $3::timestamptz`;
  await tx.run(
    rawSql(
      `insert into usage_days (account_id, day, model_id, key_id, person_id,
        ${usageTotals.join(', ')})
      select account_id, day, model_id, key_id, person_id, ${usageSums}
      from (${entries(during, '', '$1::uuid')}) e where ${counts}
      group by account_id, day, model_id, key_id, person_id`,
      [account_id, since, until],
    ),
  );
}
