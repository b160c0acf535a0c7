import { missingGuards } from './guards.ts';
import type { Law } from './law.ts';
import { logLaws } from './log-laws.ts';

/** The laws of the books, in the order in which the audit checks them. */
export const laws: Law[] = [
  {
    name: 'sums_are_zero',
    says: "customers' balances together equal all money that came in less all that went out, so all accounts sum to zero",
    broken: `
      select sum(b.credits_posted - b.debits_posted) - (
        select coalesce(sum(case when credit_account_id = account_id then amount_usd_micro
          else -amount_usd_micro end), 0)
        from transfers where kind in ('deposit', 'adjustment', 'charge', 'debt', 'expiry')
      ) as too_much_usd_micro
      from balances b
      having sum(b.credits_posted - b.debits_posted) <> (
        select coalesce(sum(case when credit_account_id = account_id then amount_usd_micro
          else -amount_usd_micro end), 0)
        from transfers where kind in ('deposit', 'adjustment', 'charge', 'debt', 'expiry'))`,
  },
  {
    name: 'sides_fit_the_kind',
    says: 'each kind of transfer moves money between the two accounts it is meant for',
    broken: `
      select id, kind from transfers where not case kind
        when 'deposit' then credit_account_id = account_id
          and debit_account_id = case when refunded_id is null
            then '00000000-0000-0000-0000-000000000001'::uuid
            else '00000000-0000-0000-0000-000000000002' end
        when 'adjustment' then '00000000-0000-0000-0000-000000000003' in (debit_account_id,
          credit_account_id)
        when 'debt' then '00000000-0000-0000-0000-000000000004' in (debit_account_id,
          credit_account_id)
        when 'expiry' then debit_account_id = account_id
          and credit_account_id = '00000000-0000-0000-0000-000000000001'
        else debit_account_id = account_id
          and credit_account_id = '00000000-0000-0000-0000-000000000002' end`,
  },
  {
    name: 'balances_recompute',
    says: 'each stored balance and debt equals the one recomputed from its transfers',
    broken: `
      select b.account_id, b.debits_pending, b.debits_posted, b.credits_posted, b.debt,
        t.pending as true_pending, t.debits as true_debits, t.credits as true_credits,
        t.debt as true_debt
      from balances b left join (
        select r.account_id,
          coalesce(sum(r.amount_usd_micro) filter (where r.kind = 'reserve' and s.id is null),
            0) as pending,
          coalesce(sum(r.amount_usd_micro) filter (where r.kind in ('charge', 'adjustment', 'debt',
            'expiry')
            and r.debit_account_id = r.account_id), 0) as debits,
          coalesce(sum(r.amount_usd_micro) filter (where r.kind in ('deposit', 'adjustment', 'debt')
            and r.credit_account_id = r.account_id), 0) as credits,
          coalesce(sum(case when r.credit_account_id = r.account_id then r.amount_usd_micro
            else -r.amount_usd_micro end) filter (where r.kind = 'debt'), 0) as debt
        from transfers r left join transfers s on s.pending_id = r.id group by r.account_id
      ) t using (account_id)
      where b.debits_pending <> coalesce(t.pending, 0) or b.debits_posted <> coalesce(t.debits, 0)
        or b.credits_posted <> coalesce(t.credits, 0) or b.debt <> coalesce(t.debt, 0)`,
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
            when 'reserve' then -t.amount_usd_micro
            when 'charge' then r.amount_usd_micro - t.amount_usd_micro
            when 'release' then t.amount_usd_micro
            else case when t.credit_account_id = t.account_id then t.amount_usd_micro
              else -t.amount_usd_micro end end) over w as expected
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
    name: 'refunds_within_charge',
    says: 'the refunds of a request come after its charge, go to the account that was charged and are together at most the charge',
    broken: `
      select f.refunded_id as request, f.refunded, c.amount_usd_micro as charged
      from (
        select refunded_id, account_id, sum(amount_usd_micro) as refunded, min(seq) as first
        from transfers where refunded_id is not null group by 1, 2
      ) f left join transfers c on c.pending_id = f.refunded_id and c.kind = 'charge'
        and c.account_id = f.account_id
      where c.id is null or f.refunded > c.amount_usd_micro or f.first < c.seq`,
  },
  {
    name: 'debts_are_paid_first',
    says: 'a debt grows only right before a correction that leaves nothing available, and each deposit or upward correction of an account in debt is followed at once by a payment of the debt, as large as the money allows',
    broken: `
      select account_id, seq, kind, amount_usd_micro, debt, next_kind, next_amount from (
        select t.*,
          t.credit_account_id = t.account_id as comes_in,
          coalesce(sum(case when t.kind <> 'debt' then 0
            when t.credit_account_id = t.account_id then t.amount_usd_micro
            else -t.amount_usd_micro end) over w, 0) as debt,
          lead(t.kind) over w as next_kind, lead(t.amount_usd_micro) over w as next_amount,
          lead(t.debit_account_id = t.account_id) over w as next_goes_out,
          lead(t.available_after_usd_micro) over w as next_available,
          lag(t.kind in ('deposit', 'adjustment') and t.credit_account_id = t.account_id) over w
            as follows_money
        from transfers t
        where t.account_id in (select account_id from transfers where kind = 'debt')
        window w as (partition by t.account_id order by t.seq)
      ) h
      where case when kind = 'debt' and comes_in
          then (next_kind, next_goes_out, next_available) is distinct from ('adjustment', true, 0)
        when kind = 'debt' then debt < 0 or follows_money is not true
        when kind in ('deposit', 'adjustment') and comes_in and debt > 0
          then (next_kind, next_goes_out, next_amount) is distinct from
            ('debt', true, least(debt, amount_usd_micro))
        else false end`,
  },
  {
    name: 'bonuses_end_once',
    says: "each bonus with an end has a deposit of the source bonus to the same account, and no more left than the deposit's amount; at most one expiry ends it, not before its end and of no more than the deposit's amount; each expiry ends a bonus",
    broken: `
      select coalesce(b.transfer_id, e.id) as bonus, b.left_usd_micro, t.amount_usd_micro,
        e.amount_usd_micro as expired
      from bonuses b full join (select * from transfers where kind = 'expiry') e
        on e.id = b.ended_by left join transfers t on t.id = b.transfer_id
      where b.transfer_id is null or t.source is distinct from 'bonus'
        or t.account_id <> b.account_id or b.left_usd_micro > t.amount_usd_micro
        or b.ended_by is not null and (e.id is null or e.account_id <> b.account_id
          or e.amount_usd_micro > t.amount_usd_micro or e.created_at < b.expires_at)`,
  },
  {
    name: 'receipts_are_paid_deposits',
    says: 'receipts are numbered without a gap, and each is for a deposit of its account that was paid',
    broken: `
      select r.number, r.n as expected, r.transfer_id, r.account_id, t.kind, t.source
      from (select *, row_number() over (order by number) as n from receipts) r
        left join transfers t on t.id = r.transfer_id and t.account_id = r.account_id
      where r.number <> r.n or (t.kind = 'deposit' and t.source in ('paid', 'chain')) is not true`,
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
    says: 'a request is final exactly when its reserve is settled: by a charge when COMPLETED, by a charge or a release when CANCELLED, by a release when FAILED; only a request whose caller asked to stop it while it ran is CANCELLED with a charge, by the rule that held then',
    broken: `
      select q.id, q.status, q.charged_usd_micro, s.kind as settled_by, s.amount_usd_micro
      from requests q left join transfers s on s.pending_id = q.id
      where case q.status
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
    says: 'the reserved amount of an account is the sum of the quotes of its requests that are not final',
    broken: `
      select b.account_id, b.debits_pending, coalesce(q.held, 0) as held from balances b left join (
        select account_id, sum(quoted_usd_micro) as held from requests
        where status in ('IN_QUEUE', 'IN_PROGRESS') group by account_id) q using (account_id)
      where b.debits_pending <> coalesce(q.held, 0)`,
  },
  {
    name: 'key_months_recompute',
    counter_of: 'key_id',
    says: "the stored sums of a key's month equal those recomputed from the key's reserves, and that month is neither before the month of the newest reserve nor in the future",
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
    counter_of: 'key_id',
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
    counter_of: 'account_id',
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
    says: "no request's next step is later than its lease, its deadline or the expiry of its outputs can explain, and a final request that still has a notification to send or outputs to delete has a next step",
    // Two hours is more than the longest lease or pause. A job may take a day at most.
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
    says: "rows that belong to a request have the request's account; a request that ran has its result; a request whose outputs have not expired has all of them",
    broken: `
      select c.what || ' of another account' as what, q.id from (
        select 'input' as what, request_id, account_id from request_inputs
        union all select 'result', request_id, account_id from request_results
        union all select 'output', request_id, account_id from outputs
        union all select 'notification', request_id, account_id from webhook_deliveries
      ) c join requests q on q.id = c.request_id where q.account_id <> c.account_id
      union all select 'no result', q.id from requests q
        where (q.status in ('COMPLETED', 'FAILED')
          or q.status = 'CANCELLED' and q.started_at is not null)
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
  ...logLaws,
  {
    name: 'spend_days_recompute',
    counter_of: 'account_id',
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
    says: "the constraints, unique indexes and triggers that protect the books and the operator's log are present, enabled and unchanged, there is no other trigger or rule, and none of their tables is unlogged (a crash would empty it)",
    broken: missingGuards,
  },
];
