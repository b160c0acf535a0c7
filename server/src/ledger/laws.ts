import { missingGuards } from './guards.ts';

/**
 * The laws of the books, in SQL that shares no code with the code that writes them. Each query
 * selects the rows that break the law; no rows means that the law is kept.
 */
interface Law {
  name: string;
  says: string;
  broken: string;
}

/** The form of the reference that a voucher's deposit has. */
const ofVoucher = '^voucher:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
/**
 * Since this migration, every deposit and correction has a row in the operator's log, however it
 * was made.
 */
const allIsLogged = `(select applied_at from migrations where name like '%_operator_log.sql')`;
/**
 * Removes surrounding white space: logged references and reasons from the pages were once kept as
 * typed.
 */
const trimmed = (text: string) => `regexp_replace(${text}, '^\\s+|\\s+$', '', 'g')`;

export const laws: Law[] = [
  {
    name: 'sums_are_zero',
    says: "customers' balances together equal all money that came in less all that went out, so all accounts sum to zero",
    broken: `
      select sum(b.credits_posted - b.debits_posted) - (
        select coalesce(sum(case when credit_account_id = account_id then amount_usd_micro
          else -amount_usd_micro end), 0)
        from transfers where kind in ('deposit', 'adjustment', 'charge')) as too_much_usd_micro
      from balances b
      having sum(b.credits_posted - b.debits_posted) <> (
        select coalesce(sum(case when credit_account_id = account_id then amount_usd_micro
          else -amount_usd_micro end), 0)
        from transfers where kind in ('deposit', 'adjustment', 'charge'))`,
  },
  {
    name: 'sides_fit_the_kind',
    says: 'each kind of transfer moves money between the two accounts it is meant for',
    broken: `
      select id, kind from transfers where not case kind
        when 'deposit' then credit_account_id = account_id
          and debit_account_id = '00000000-0000-0000-0000-000000000001'
        when 'adjustment' then '00000000-0000-0000-0000-000000000003' in (debit_account_id,
          credit_account_id)
        else debit_account_id = account_id
          and credit_account_id = '00000000-0000-0000-0000-000000000002' end`,
  },
  {
    name: 'balances_recompute',
    says: 'each stored balance equals the one recomputed from its transfers',
    broken: `
      select b.account_id, b.debits_pending, b.debits_posted, b.credits_posted,
        t.pending as true_pending, t.debits as true_debits, t.credits as true_credits
      from balances b left join (
        select r.account_id,
          coalesce(sum(r.amount_usd_micro) filter (where r.kind = 'reserve' and s.id is null),
            0) as pending,
          coalesce(sum(r.amount_usd_micro) filter (where r.kind in ('charge', 'adjustment')
            and r.debit_account_id = r.account_id), 0) as debits,
          coalesce(sum(r.amount_usd_micro) filter (where r.kind in ('deposit', 'adjustment')
            and r.credit_account_id = r.account_id), 0) as credits
        from transfers r left join transfers s on s.pending_id = r.id group by r.account_id
      ) t using (account_id)
      where b.debits_pending <> coalesce(t.pending, 0) or b.debits_posted <> coalesce(t.debits, 0)
        or b.credits_posted <> coalesce(t.credits, 0)`,
  },
  {
    name: 'never_below_zero',
    says: 'no customer is below zero, reservations included',
    broken: `select account_id, credits_posted - debits_posted - debits_pending as available
      from balances
      where credits_posted - debits_posted - debits_pending < 0`,
  },
  {
    name: 'history_is_whole',
    says: "an account's transfers are numbered without a gap, and each continues the available balance of the one before",
    broken: `
      select account_id, seq, available_after_usd_micro, expected from (
        select t.account_id, t.seq, t.available_after_usd_micro,
          row_number() over w as n,
          sum(case t.kind when 'deposit' then t.amount_usd_micro
            when 'adjustment' then case when t.credit_account_id = t.account_id
              then t.amount_usd_micro else -t.amount_usd_micro end
            when 'reserve' then -t.amount_usd_micro
            when 'charge' then r.amount_usd_micro - t.amount_usd_micro
            else t.amount_usd_micro end) over w as expected
        from transfers t left join transfers r on r.id = t.pending_id
        window w as (partition by t.account_id order by t.seq)
      ) h where seq <> n or available_after_usd_micro <> expected
      union all
      select b.account_id, b.last_seq, null, max(t.seq) from balances b left
        join transfers t using (account_id)
      group by b.account_id, b.last_seq having b.last_seq <> coalesce(max(t.seq), 0)`,
  },
  {
    name: 'settlement_fits_its_reserve',
    says: 'a charge or release settles a reserve of the same account; a charge is never more than the reserve, a release is exactly the reserve',
    broken: `
      select s.id, s.kind, s.amount_usd_micro, r.kind as settles, r.amount_usd_micro as reserved
      from transfers s left join transfers r on r.id = s.pending_id
      where s.pending_id is not null and (r.id is null or r.kind <> 'reserve'
        or r.account_id <> s.account_id
        or s.amount_usd_micro > r.amount_usd_micro or (s.kind = 'release'
          and s.amount_usd_micro <> r.amount_usd_micro))`,
  },
  {
    name: 'one_settlement_a_reserve',
    says: 'a reserve is settled at most once',
    broken: `select pending_id, count(*) as settlements from transfers where pending_id is not null
      group by pending_id having count(*) > 1`,
  },
  {
    name: 'request_and_reserve_agree',
    says: 'each request has exactly one reserve, of the quoted amount, and each reserve belongs to a request',
    broken: `
      select coalesce(q.id, r.id) as id, q.quoted_usd_micro, r.amount_usd_micro as reserved
      from requests q full join (select * from transfers where kind = 'reserve') r on r.id = q.id
      where q.id is null or r.id is null or q.quoted_usd_micro <> r.amount_usd_micro
        or q.account_id <> r.account_id
        or q.key_id <> r.key_id`,
  },
  {
    name: 'final_means_settled',
    says: 'a request is final exactly when its reserve is settled, by a charge when COMPLETED, else by a release',
    broken: `
      select q.id, q.status, q.charged_usd_micro, s.kind as settled_by, s.amount_usd_micro
      from requests q left join transfers s on s.pending_id = q.id
      where case q.status
        when 'COMPLETED' then s.kind is distinct from 'charge'
          or s.amount_usd_micro <> q.charged_usd_micro
        when 'FAILED' then s.kind is distinct from 'release' or q.charged_usd_micro <> 0
        when 'CANCELLED' then s.kind is distinct from 'release' or q.charged_usd_micro <> 0
        else s.id is not null end`,
  },
  {
    name: 'held_equals_open_requests',
    says: 'the reserved amount of an account is the sum of the quotes of its requests that are not final',
    broken: `
      select b.account_id, b.debits_pending, coalesce(q.held, 0) as held from balances b left join (
        select account_id, sum(quoted_usd_micro) as held from requests
        where status in ('IN_QUEUE', 'IN_PROGRESS') group by account_id) q using (account_id)
      where b.debits_pending <> coalesce(q.held, 0)`,
  },
  {
    name: 'key_months_recompute',
    says: "the stored month of a key has the sums recomputed from the key's reserves, and is neither before the month of the newest reserve nor in the future",
    // After a failover, the new server's clock may be an hour behind the one that wrote the month.
    broken: `
      with t as (
        select r.key_id, r.account_id,
          date_trunc('month', r.created_at at time zone 'utc')::date as month,
          coalesce(sum(r.amount_usd_micro) filter (where s.id is null), 0) as pending,
          coalesce(sum(s.amount_usd_micro) filter (where s.kind = 'charge'), 0) as posted
        from transfers r left join transfers s on s.pending_id = r.id
        where r.kind = 'reserve' group by 1, 2, 3)
      select u.key_id, u.month, u.pending_usd_micro, u.posted_usd_micro, t.pending, t.posted,
        n.newest as newest_month
      from key_usage u left join t using (key_id, account_id, month)
        left join (select key_id, max(month) as newest from t group by 1) n using (key_id)
      where u.pending_usd_micro <> coalesce(t.pending, 0)
        or u.posted_usd_micro <> coalesce(t.posted, 0) or u.month < n.newest
        or u.month > (clock_timestamp() + interval '1 hour') at time zone 'utc'`,
  },
  {
    name: 'key_jobs_recompute',
    says: "the stored count of a key's open jobs equals the number of its jobs that are not final",
    broken: `
      select u.key_id, u.open_requests, coalesce(q.open, 0) as open from key_usage u left join (
        select key_id, count(*) as open from requests where status in ('IN_QUEUE', 'IN_PROGRESS')
          and kind <> 'text'
        group by key_id) q using (key_id)
      where u.open_requests <> coalesce(q.open, 0)`,
  },
  {
    name: 'account_jobs_recompute',
    says: "the stored count of an account's open jobs equals the sum over its keys",
    broken: `
      select b.account_id, b.open_requests, coalesce(u.open, 0) as open from balances b left join (
        select account_id, sum(open_requests) as open from key_usage group by account_id) u
        using (account_id)
      where b.open_requests <> coalesce(u.open, 0)`,
  },
  {
    name: 'open_request_wakes',
    says: 'each request that is not final has a time at which a worker looks at it next',
    broken: `select id, status from requests where status in ('IN_QUEUE', 'IN_PROGRESS')
      and wake_at is null`,
  },
  {
    name: 'requests_wake_in_time',
    says: "no request's next step is later than its lease, deadline or the expiry of its outputs explains, and a final request that still has a notification to send or outputs to delete has a next step",
    // Two hours is more than the longest lease or pause, and a day more than the longest job.
    broken: `
      select id, status, wake_at, deadline_at, expires_at, webhook_state from requests
      where case status
        when 'IN_QUEUE' then wake_at > now() + interval '2 hours'
        when 'IN_PROGRESS' then wake_at > greatest(now(), deadline_at) + interval '2 hours'
          or deadline_at > now() + interval '26 hours'
        else wake_at > greatest(now() + interval '2 hours', expires_at)
          or wake_at is null and (expires_at is not null or webhook_state = 'pending') end`,
  },
  {
    name: 'children_fit_their_request',
    says: "rows that belong to a request have the request's account; a completed or failed request has its result; a request whose outputs have not expired has all of them",
    broken: `
      select c.what || ' of another account' as what, q.id from (
        select 'input' as what, request_id, account_id from request_inputs
        union all select 'result', request_id, account_id from request_results
        union all select 'output', request_id, account_id from outputs
        union all select 'notification', request_id, account_id from webhook_deliveries
      ) c join requests q on q.id = c.request_id where q.account_id <> c.account_id
      union all select 'no result', q.id from requests q where q.status in ('COMPLETED', 'FAILED')
        and not exists (select from request_results s where s.request_id = q.id)
      union all select 'outputs are missing', q.id from requests q left join (
        select request_id, count(*) as kept, max(index) as last from outputs group by request_id
      ) o on o.request_id = q.id
        where q.expires_at is not null and o.kept is null or o.kept <> o.last + 1`,
  },
  {
    name: 'quote_prices_the_reserve',
    says: 'the stored quote of a request has the price that was reserved',
    broken: `
      select i.request_id, i.quote->>'price_usd_micro' as quoted, r.amount_usd_micro as reserved
      from request_inputs i join transfers r on r.id = i.request_id and r.kind = 'reserve'
      where i.quote->>'price_usd_micro' is distinct from r.amount_usd_micro::text`,
  },
  {
    name: 'vouchers_are_deposits',
    says: "each redeemed voucher has exactly one deposit, with the voucher's amount, account and time of redemption, and each deposit by voucher has its voucher",
    broken: `
      select v.id as voucher, v.amount_usd_micro, v.redeemed_by, t.id as transfer, t.kind,
        t.amount_usd_micro as booked, t.account_id as booked_to
      from vouchers v full join (select * from transfers
        where reference ~ '${ofVoucher}') t
        on t.reference = 'voucher:' || v.id
      where (t.id is not null or v.redeemed_at is not null) and (t.kind, t.account_id,
        t.amount_usd_micro, t.created_at) is distinct from
        ('deposit', v.redeemed_by, v.amount_usd_micro, v.redeemed_at)`,
  },
  {
    name: 'deposits_are_logged',
    says: "each deposit and correction has a row in the operator's log with the same account, amount, reference, reason and time, and each such row has its deposit or correction",
    // The log row and its transfer are written in one transaction, so their times are exactly
    // equal.
    broken: `
      select coalesce(t.id::text, l.transfer_id) as transfer, t.kind, t.account_id, t.amount,
        t.reference, t.created_at, l.account_id as logged_account, l.amount as logged_amount,
        l.reference as logged_reference, l.created_at as logged_at
      from (
        select id, kind, account_id, reference, reason, created_at,
          case when credit_account_id = account_id then amount_usd_micro
            else -amount_usd_micro end::text as amount
        from transfers where kind in ('deposit', 'adjustment') and reference !~ '${ofVoucher}'
      ) t full join (
        select details->>'transfer_id' as transfer_id, account_id, created_at,
          case action when 'account.credit' then 'deposit' else 'adjustment' end as kind,
          details->>'amount_usd_micro' as amount,
          ${trimmed("details->>'reference'")} as reference,
          ${trimmed("details->>'reason'")} as reason
        from operator_log where action in ('account.credit', 'account.adjust')
          and details->>'replayed' = 'false'
      ) l on l.transfer_id = t.id::text
      where (t.kind, t.account_id, t.amount, t.reference, t.reason, t.created_at) is distinct from
        (l.kind, l.account_id, l.amount, l.reference, l.reason, l.created_at)
        and (l.transfer_id is not null or t.created_at >= ${allIsLogged})`,
  },
  {
    name: 'vouchers_are_logged',
    says: "each voucher has the amount and expiry that the operator's log recorded for it, no voucher is missing, and a cancelled voucher stays cancelled",
    broken: `
      select 'made' as what, v.created_at, v.vouchers, v.amount, v.expires_at,
        l.vouchers as logged_vouchers, l.amount as logged_amount, l.expires_at as logged_expires_at
      from (
        select created_at, amount_usd_micro::text as amount, expires_at, count(*) as vouchers
        from vouchers group by 1, 2, 3
      ) v full join (
        select created_at, details->>'amount_usd_micro' as amount,
          (details->>'expires_at')::timestamptz as expires_at,
          (details->>'count')::bigint as vouchers
        from operator_log where action = 'voucher.create'
      ) l on v.created_at = l.created_at
      where (v.vouchers, v.amount, v.expires_at) is distinct from
        (l.vouchers, l.amount, l.expires_at)
        and (l.created_at is not null or v.created_at >= ${allIsLogged})
      union all select 'taken back', l.created_at, null, v.amount_usd_micro::text, v.expires_at,
        null, null, null
      from operator_log l join vouchers v on v.id::text = l.target
      where l.action = 'voucher.void' and v.voided_at is null`,
  },
  {
    name: 'log_is_whole',
    says: "the rows of the operator's log are numbered without a gap, and each resolved unknown outcome has its row there",
    broken: `
      select 'gap' as what, seq, n as expected, created_at from (
        select seq, row_number() over (order by seq) as n, created_at from operator_log) l
      where seq <> n
      union all select 'resolution of ' || min(request_id::text), null, null, created_at
      from resolutions r where created_at >= ${allIsLogged} and not exists (
        select from operator_log l where l.action in ('request.resolve', 'request.resolve_many')
          and l.created_at = r.created_at)
      group by created_at`,
  },
  {
    name: 'spend_days_recompute',
    says: 'the stored daily sums of an account equal those recomputed from its requests of these days, which are all final',
    broken: `
      with t as (
        select q.account_id, (q.created_at at time zone 'utc')::date as day, q.kind, q.model_id,
          sum(q.charged_usd_micro) as charged, count(*) as requests,
          bool_or(q.charged_usd_micro is null) as open
        from requests q join spend_rollups r using (account_id)
        where q.created_at >= r.since::timestamp at time zone 'utc'
          and q.created_at < r.until::timestamp at time zone 'utc' group by 1, 2, 3, 4),
      d as (
        select d.* from spend_days d join spend_rollups r using (account_id)
        where d.day >= r.since and d.day < r.until)
      select account_id, day, kind, model_id, d.charged_usd_micro as kept, t.charged, t.open,
        d.requests as kept_requests, t.requests
      from t full join d using (account_id, day, kind, model_id)
      where d.charged_usd_micro is distinct from t.charged
        or d.requests is distinct from t.requests or t.open`,
  },
  {
    name: 'nothing_is_orphaned',
    says: 'the row that another row belongs to always exists, and no required row is missing',
    // There are no foreign keys here: each would lock the parent row, and every submit waits for
    // that row.
    broken: `
      select 'account without balance' as what, id from accounts a
        where not exists (select from balances b where b.account_id = a.id)
      union all select 'balance without account', account_id from balances b
        where not exists (select from accounts a where a.id = b.account_id)
      union all select 'transfer without account', id from transfers t
        where not exists (select from accounts a where a.id = t.account_id)
      union all select 'key without usage', id from keys k
        where not exists (select from key_usage u where u.key_id = k.id)
      union all select 'usage without key', key_id from key_usage u
        where not exists (select from keys k where (k.id, k.account_id) = (u.key_id, u.account_id))
      union all select 'request without key', id from requests q
        where not exists (select from keys k where (k.id, k.account_id) = (q.key_id, q.account_id))
      union all select 'request without input', id from requests q
        where not exists (select from request_inputs i where i.request_id = q.id)
      union all select 'file without account', id from files f
        where not exists (select from accounts a where a.id = f.account_id)
      union all select 'output without completed request', c.request_id from outputs c
        left join requests q on q.id = c.request_id where q.status is distinct from 'COMPLETED'
      union all select c.what, c.request_id from (
        select 'input without request' as what, request_id from request_inputs
        union all select 'result without request', request_id from request_results
        union all select 'attempt without request', request_id from attempts
        union all select 'notification without request', request_id from webhook_deliveries
          where request_id is not null
      ) c where not exists (select from requests q where q.id = c.request_id)`,
  },
  {
    name: 'guards_stand',
    says: "the constraints, unique indexes and append-only triggers that protect the books and the operator's log are present, enabled and unchanged, there is no other trigger or rule, and none of their tables is unlogged (a crash would empty it)",
    broken: missingGuards,
  },
];
