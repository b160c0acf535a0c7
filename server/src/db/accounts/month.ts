/** SQL of the running month in UTC. */
export const monthStart = `date_trunc('month', now() at time zone 'utc')`;

/** The running month's micro-USD of a row `u` of `key_usage`: charged plus reserved. */
export const spentThisMonth = `case when u.month = ${monthStart}::date
  then u.pending_usd_micro + u.posted_usd_micro else 0 end`;

/** In the form that JSON has for times. */
export const monthEnd = `to_char(${monthStart} + interval '1 month',
  'YYYY-MM-DD"T"HH24:MI:SS".000Z"')`;
