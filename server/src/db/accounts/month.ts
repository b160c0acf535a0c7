import { constant } from '../../lib/sql/sql.ts';

/** SQL for the first day of the present month (UTC). */
export const monthStart = `date_trunc('month', now() at time zone 'utc')`;

/** The month of a key that has spent nothing yet, so that this month's are soon found. */
export const neverUsed = constant(`'1970-01-01'`);

/** Charged plus reserved micro-USD of this month, from a row `u` of `key_usage`. */
export const spentThisMonth = `case when u.month = ${monthStart}::date
  then u.pending_usd_micro + u.posted_usd_micro else 0 end`;

/** The end of this month, in JSON's form of times. */
export const monthEnd = `to_char(${monthStart} + interval '1 month',
  'YYYY-MM-DD"T"HH24:MI:SS".000Z"')`;
