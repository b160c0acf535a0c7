import { accountsIn, type Law } from './law.ts';

/** Laws of requests, and of the transfers and other rows that belong to each. */
export const requestLaws: Law[] = [
  {
    name: 'one_settlement_a_reserve',
    by: 'requests',
    says: 'a reserve is settled at most once',
    broken: ({ ids }) => `
      select pending_id, count(*) as settlements from transfers
      where pending_id is not null and ${ids('pending_id')}
      group by pending_id having count(*) > 1`,
  },
  {
    name: 'request_and_reserve_agree',
    by: 'requests',
    says: 'each request has exactly one reserve, of the quoted amount, and each reserve belongs to a request',
    broken: ({ ids }) => `
      select coalesce(q.id, r.id) as id, q.quoted_usd_micro, r.amount_usd_micro as reserved
      from (select * from requests where ${ids('id')}) q
        full join (select * from transfers where kind = 'reserve' and ${ids('id')}) r
          on r.id = q.id
      where q.id is null or r.id is null or q.quoted_usd_micro <> r.amount_usd_micro
        or q.account_id <> r.account_id
        or q.key_id <> r.key_id`,
  },
  {
    name: 'final_means_settled',
    by: 'requests',
    says: 'a request is final exactly when its reserve is settled: by a charge when COMPLETED, by a charge or a release when CANCELLED, by a release when FAILED; only a request whose caller asked to stop it while it ran is CANCELLED with a charge, by the rule that held then',
    broken: ({ ids }) => `
      select q.id, q.status, q.charged_usd_micro, s.kind as settled_by, s.amount_usd_micro
      from requests q
        left join transfers s on s.pending_id = q.id and ${ids('s.pending_id')}
      where ${ids('q.id')} and case q.status
        when 'COMPLETED' then s.kind is distinct from 'charge'
          or s.amount_usd_micro <> q.charged_usd_micro
        when 'FAILED' then s.kind is distinct from 'release' or q.charged_usd_micro <> 0
        when 'CANCELLED' then
          s.kind is distinct from case when q.charged_usd_micro = 0 then 'release' else 'charge' end
          or s.kind = 'charge' and (s.amount_usd_micro <> q.charged_usd_micro
            or q.cancel_requested_at is null or q.on_cancel is distinct from 'upstream'
              and (q.on_cancel is distinct from 'full'
                or q.charged_usd_micro <> q.quoted_usd_micro))
          or q.started_at is not null and q.cancel_requested_at is null
        else s.id is not null end`,
  },
  {
    name: 'held_equals_open_requests',
    by: 'all',
    says: 'the reserved amount of an account is the sum of the quotes of its requests that are not final',
    broken: () => `
      select b.account_id, b.debits_pending, coalesce(q.held, 0) as held from balances b left join (
        select account_id, sum(quoted_usd_micro) as held from requests
        where status in ('IN_QUEUE', 'IN_PROGRESS') group by account_id) q using (account_id)
      where b.debits_pending <> coalesce(q.held, 0)`,
  },
  {
    name: 'key_months_recompute',
    by: 'accounts',
    counter_of: 'key_id',
    says: "the stored sums of a key's month equal those recomputed from the key's reserves, and that month is neither before the month of the newest reserve nor in the future",
    broken: ({ accounts }) => `
      with t as (
        select r.key_id, r.account_id,
          date_trunc('month', r.created_at at time zone 'utc')::date as month,
          coalesce(sum(r.amount_usd_micro) filter (where s.id is null), 0) as pending,
          coalesce(sum(s.amount_usd_micro) filter (where s.kind = 'charge'), 0) as posted
        from transfers r left join transfers s on s.pending_id = r.id
        where r.kind = 'reserve' and ${accounts('r.account_id')} group by 1, 2, 3)
      select u.key_id, u.month, u.pending_usd_micro, u.posted_usd_micro, t.pending, t.posted,
        n.newest as newest_month
      from key_usage u left join t using (key_id, account_id, month)
        left join (select key_id, max(month) as newest from t group by 1) n using (key_id)
      where ${accounts('u.account_id')} and (u.pending_usd_micro <> coalesce(t.pending, 0)
        or u.posted_usd_micro <> coalesce(t.posted, 0) or u.month < n.newest
        or u.month > (clock_timestamp() + interval '1 hour') at time zone 'utc')`,
  },
  {
    name: 'key_jobs_recompute',
    by: 'all',
    counter_of: 'key_id',
    says: "the stored count of a key's open jobs equals the number of its jobs that are not final",
    broken: () => `
      select u.key_id, u.open_requests, coalesce(q.open, 0) as open from key_usage u left join (
        select key_id, count(*) as open from requests where status in ('IN_QUEUE', 'IN_PROGRESS')
          and kind <> 'text'
        group by key_id) q using (key_id)
      where u.open_requests <> coalesce(q.open, 0)`,
  },
  {
    name: 'account_jobs_recompute',
    by: 'all',
    counter_of: 'account_id',
    says: "the stored count of an account's open jobs equals the sum over its keys",
    broken: () => `
      select b.account_id, b.open_requests, coalesce(u.open, 0) as open from balances b left join (
        select account_id, sum(open_requests) as open from key_usage group by account_id) u
        using (account_id)
      where b.open_requests <> coalesce(u.open, 0)`,
  },
  {
    name: 'open_request_wakes',
    by: 'requests',
    says: 'each request that is not final has a time at which a worker looks at it next',
    broken: ({ ids }) => `
      select id, status from requests
      where ${ids('id')} and status in ('IN_QUEUE', 'IN_PROGRESS') and wake_at is null`,
  },
  {
    name: 'requests_wake_in_time',
    by: 'requests',
    says: "no request's next step is later than its lease, its deadline or the expiry of its outputs can explain, and a final request that still has a notification to send or outputs to delete has a next step",
    broken: ({ ids }) => `
      select id, status, wake_at, deadline_at, expires_at, webhook_state from requests
      where ${ids('id')} and case status
        when 'IN_QUEUE' then wake_at > now() + interval '2 hours'
        when 'IN_PROGRESS' then wake_at > greatest(now(), deadline_at) + interval '2 hours'
          or deadline_at > now() + interval '26 hours'
        else wake_at > greatest(now() + interval '2 hours', expires_at)
          or wake_at is null and (expires_at is not null or webhook_state = 'pending') end`,
  },
  {
    name: 'children_fit_their_request',
    by: 'requests',
    says: "rows that belong to a request have the request's account; a request that ran has its result; a request whose outputs have not expired has all of them",
    broken: ({ ids }) => `
      select c.what || ' of another account' as what, q.id from (
        select 'input' as what, request_id, account_id from request_inputs
          where ${ids('request_id')}
        union all select 'result', request_id, account_id from request_results
          where ${ids('request_id')}
        union all select 'output', request_id, account_id from outputs
          where ${ids('request_id')}
        union all select 'notification', request_id, account_id from webhook_deliveries
          where ${ids('request_id')}
      ) c join requests q on q.id = c.request_id and ${ids('q.id')}
      where q.account_id <> c.account_id
      union all select 'no result', q.id from requests q
        left join request_results s on s.request_id = q.id and ${ids('s.request_id')}
        where ${ids('q.id')} and s.request_id is null and (q.status in ('COMPLETED', 'FAILED')
          or q.status = 'CANCELLED' and q.started_at is not null)
      union all select 'outputs are missing', q.id from requests q left join (
        select request_id, count(*) as kept, max(index) as last from outputs
        where ${ids('request_id')} group by request_id
      ) o on o.request_id = q.id
        where ${ids('q.id')} and (q.expires_at is not null and o.kept is null
          or o.kept <> o.last + 1)`,
  },
  {
    name: 'quote_prices_the_reserve',
    by: 'requests',
    says: 'the stored quote of a request has the price that was reserved',
    broken: ({ ids }) => `
      select i.request_id, i.quote->>'price_usd_micro' as quoted, r.amount_usd_micro as reserved
      from request_inputs i
        join transfers r on r.id = i.request_id and r.kind = 'reserve' and ${ids('r.id')}
      where ${ids('i.request_id')}
        and i.quote->>'price_usd_micro' is distinct from r.amount_usd_micro::text`,
  },
];

/** Laws of stored sums, and of rows without which others mean nothing. */
export const countedLaws: Law[] = [
  {
    name: 'spend_days_recompute',
    by: 'accounts',
    counter_of: 'account_id',
    says: 'the stored daily sums of an account equal those recomputed from its requests of these days, which are all final',
    broken: ({ accounts }) => `
      with t as (
        select q.account_id, (q.created_at at time zone 'utc')::date as day, q.kind, q.model_id,
          sum(q.charged_usd_micro) as charged, count(*) as requests,
          bool_or(q.charged_usd_micro is null) as open
        from requests q join spend_rollups r using (account_id)
        where ${accounts('q.account_id')} and q.created_at >= r.since::timestamp at time zone 'utc'
          and q.created_at < r.until::timestamp at time zone 'utc' group by 1, 2, 3, 4),
      d as (
        select d.* from spend_days d join spend_rollups r using (account_id)
        where ${accounts('d.account_id')} and d.day >= r.since and d.day < r.until)
      select account_id, day, kind, model_id, d.charged_usd_micro as kept, t.charged, t.open,
        d.requests as kept_requests, t.requests
      from t full join d using (account_id, day, kind, model_id)
      where d.charged_usd_micro is distinct from t.charged
        or d.requests is distinct from t.requests or t.open`,
  },
  {
    name: 'usage_days_recompute',
    by: 'accounts',
    counter_of: 'account_id',
    says: 'the stored usage of an account by day equals that recomputed from its requests and refunds of these days',
    broken: ({ accounts }) => `
      with marked as (
        select account_id, day, day::timestamp at time zone 'utc' as began,
          coalesce(until, (day + 1)::timestamp at time zone 'utc') as ended
        from usage_rollups where ${accounts('account_id')}),
      counted as (
        select m.account_id, m.day, q.model_id, q.key_id, q.person_id,
          (q.status = 'COMPLETED')::int as completed, (q.status = 'FAILED')::int as failed,
          q.charged_usd_micro as charged, s.input_tokens, s.output_tokens, s.cached_tokens,
          s.reasoning_tokens
        from marked m join request_results s on s.account_id = m.account_id
          and s.created_at >= m.began and s.created_at < m.ended
          join requests q on q.id = s.request_id
        union all
        select m.account_id, m.day, q.model_id, q.key_id, q.person_id, 0, 0, -t.amount_usd_micro,
          0, 0, 0, 0
        from marked m join transfers t on t.account_id = m.account_id and t.kind = 'deposit'
          and t.refunded_id is not null and t.created_at >= m.began and t.created_at < m.ended
          join requests q on q.id = t.refunded_id
        union all
        select account_id, day, model_id, key_id, person_id, -completed, -failed,
          -charged_usd_micro, -input_tokens, -output_tokens, -cached_tokens, -reasoning_tokens
        from usage_days where ${accounts('account_id')}),
      missed as (
        select account_id, day, model_id, key_id, person_id, sum(completed) as completed,
          sum(failed) as failed, sum(charged) as charged, sum(input_tokens) as input_tokens,
          sum(output_tokens) as output_tokens, sum(cached_tokens) as cached_tokens,
          sum(reasoning_tokens) as reasoning_tokens
        from counted group by 1, 2, 3, 4, 5)
      select * from missed
      where completed <> 0 or failed <> 0 or charged <> 0 or input_tokens <> 0
        or output_tokens <> 0 or cached_tokens <> 0 or reasoning_tokens <> 0`,
  },
  {
    name: 'transfer_sums_recompute',
    by: 'accounts',
    counter_of: 'account_id',
    says: 'the stored sums of blocks of transfers equal those recomputed from these transfers',
    broken: ({ accounts }) => `
      with told as (
        select account_id, block, kind, movements, in_usd_micro, out_usd_micro, amount_usd_micro,
          earliest, latest
        from transfer_sums where ${accounts('account_id')}),
      stepped as (
        select t.account_id, t.seq, t.kind, t.amount_usd_micro, t.created_at,
          t.available_after_usd_micro - coalesce(lag(t.available_after_usd_micro) over (
            partition by t.account_id order by t.seq), 0) as step
        from (select account_id, max(block) as newest from told group by 1) n
          join transfers t on t.account_id = n.account_id and t.seq <= (n.newest + 1) * 1024),
      counted as (
        select account_id, (seq - 1) / 1024, kind, count(*)::int,
          sum(greatest(step, 0))::bigint, sum(greatest(-step, 0))::bigint,
          sum(amount_usd_micro)::bigint, min(created_at), max(created_at)
        from stepped group by 1, 2, 3)
      (table told except table counted) union all (table counted except table told)`,
  },
  {
    name: 'nothing_is_orphaned',
    by: 'requests',
    says: 'the row that another row belongs to always exists, and no required row is missing',
    // There are no foreign keys here: each would lock the parent row, and every submit waits for
    // that row.
    broken: ({ ids }) => `
      select 'account without balance' as what, id from accounts a
        where not exists (select from balances b where b.account_id = a.id)
      union all select 'balance without account', account_id from balances b
        where not exists (select from accounts a where a.id = b.account_id)
      union all select 'transfers without account', account_id from (${accountsIn('transfers')}) t
        where not exists (select from accounts a where a.id = t.account_id)
      union all select 'key without usage', id from keys k
        where not exists (select from key_usage u where u.key_id = k.id)
      union all select 'usage without key', key_id from key_usage u
        where not exists (select from keys k where (k.id, k.account_id) = (u.key_id, u.account_id))
      union all select 'file without account', id from files f
        where not exists (select from accounts a where a.id = f.account_id)
      union all select 'request without key', id from requests q
        where ${ids('q.id')} and not exists (
          select from keys k where (k.id, k.account_id) = (q.key_id, q.account_id))
      union all select 'request without input', q.id from requests q
        left join request_inputs i on i.request_id = q.id and ${ids('i.request_id')}
        where ${ids('q.id')} and i.request_id is null
      union all select 'output without completed request', c.request_id from outputs c
        left join requests q on q.id = c.request_id
        where ${ids('c.request_id')} and q.status is distinct from 'COMPLETED'
      union all select c.what, c.request_id from (
        select 'input without request' as what, request_id from request_inputs
          where ${ids('request_id')}
        union all select 'result without request', request_id from request_results
          where ${ids('request_id')}
        union all select 'attempt without request', request_id from attempts
          where ${ids('request_id')}
        union all select 'notification without request', request_id from webhook_deliveries
          where request_id is not null and ${ids('request_id')}
      ) c left join requests q on q.id = c.request_id and ${ids('q.id')} where q.id is null`,
  },
];
