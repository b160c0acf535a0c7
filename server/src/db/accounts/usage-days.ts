import { rawSql, type Connection } from '../../lib/sql/sql.ts';
import { boundary, chargeSums, entries } from './revenue.ts';

/** Stored sums of past days of an account. Nothing that counts in a day changes once it is over. */

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

/** Days are stored this long, so that a caller cannot have any number of them stored. */
const storedDays = 190;

/** Days (UTC), such as 2027-01-31: `from` is included, `to` is not. */
export interface Period {
  from: string;
  to: string;
}

/**
 * The day before which the sums of the period can be read from stored days, and those of its days
 * that have to be stored first.
 */
export async function findUnstored(
  db: Connection,
  account_id: string,
  { from, to }: Period,
): Promise<{ stored_to: string; days: string[] }> {
  const [row] = await db.run<{ stored_to: string; days: string[] }>(
    rawSql(
      `select to_char(until, 'YYYY-MM-DD') as stored_to, array(
        select to_char(d, 'YYYY-MM-DD')
        from generate_series($2::date::timestamp, until - interval '1 day', interval '1 day') d
        where not exists (
          select from usage_rollups where account_id = $1 and day = d::date) order by d) as days
      from (select case when $2::date < ${boundary} - interval '${storedDays} days'
        then $2::date::timestamp
        else greatest($2::date::timestamp, least($3::date::timestamp, ${boundary})) end
      ) p (until)`,
      [account_id, from, to],
    ),
  );
  return row!;
}

/** Stores the sums of one day of an account, unless another call has done so. */
export async function storeDay(db: Connection, account_id: string, day: string): Promise<void> {
  const during = (at: string) => `${at} >= $2::date::timestamp at time zone 'utc'
    and ${at} < ($2::date + 1)::timestamp at time zone 'utc'`;
  await db.run(
    rawSql(
      `with marked as (
        insert into usage_rollups (account_id, day) values ($1, $2::date)
        on conflict do nothing returning day
      )
      insert into usage_days (account_id, day, model_id, key_id, person_id,
        ${usageTotals.join(', ')})
      select account_id, day, model_id, key_id, person_id, ${usageSums}
      from (${entries(during, '', '$1::uuid')}) e
      where ${counts} and exists (select from marked)
      group by account_id, day, model_id, key_id, person_id`,
      [account_id, day],
    ),
  );
}
