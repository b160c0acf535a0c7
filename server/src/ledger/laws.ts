import { missingGuards } from './guards.ts';
import type { Law } from './law.ts';
import { logLaws } from './log-laws.ts';
import { countedLaws, requestLaws } from './request-laws.ts';
import { sealLaw } from './seals.ts';

/** Laws of balances and of the transfers that explain them. */
const transferLaws: Law[] = [
  {
    name: 'sums_are_zero',
    by: 'transfers',
    says: "customers' balances together equal all money that came in less all that went out, so all accounts sum to zero",
    broken: () => `
      select came - moved as too_much_usd_micro from (
        select coalesce(sum(credits - debits - base_credits + base_debits), 0) as came from span
      ) s cross join (
        select coalesce(sum(case when credit_account_id = account_id then amount_usd_micro
          else -amount_usd_micro end), 0) as moved
        from moved where is_compared
          and kind in ('deposit', 'adjustment', 'charge', 'debt', 'expiry')
      ) t where came <> moved`,
  },
  {
    name: 'sides_fit_the_kind',
    by: 'transfers',
    says: 'each kind of transfer moves money between the two accounts it is meant for',
    broken: () => `
      select id, kind from moved where not case kind
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
    by: 'transfers',
    says: 'each stored balance and debt equals the one recomputed from its transfers',
    broken: () => `
      select s.account_id, s.pending as debits_pending, s.debits as debits_posted,
        s.credits as credits_posted, s.debt,
        base_pending + coalesce(t.pending, 0) as true_pending,
        base_debits + coalesce(t.debits, 0) as true_debits,
        base_credits + coalesce(t.credits, 0) as true_credits,
        base_debt + coalesce(t.debt, 0) as true_debt
      from span s left join (
        select account_id, after_seq,
          sum(case when kind = 'reserve' then amount_usd_micro
            when settles = 'reserve' then -reserved else 0 end) as pending,
          coalesce(sum(amount_usd_micro) filter (where kind in ('charge', 'adjustment', 'debt',
            'expiry') and debit_account_id = account_id), 0) as debits,
          coalesce(sum(amount_usd_micro) filter (where kind in ('deposit', 'adjustment', 'debt')
            and credit_account_id = account_id), 0) as credits,
          coalesce(sum(case when credit_account_id = account_id then amount_usd_micro
            else -amount_usd_micro end) filter (where kind = 'debt'), 0) as debt
        from moved group by account_id, after_seq
      ) t using (account_id, after_seq)
      where s.pending <> base_pending + coalesce(t.pending, 0)
        or s.debits <> base_debits + coalesce(t.debits, 0)
        or s.credits <> base_credits + coalesce(t.credits, 0)
        or s.debt <> base_debt + coalesce(t.debt, 0)`,
  },
  {
    name: 'never_below_zero',
    by: 'all',
    says: 'no customer is below zero, reservations included',
    broken: () => `select account_id, credits_posted - debits_posted - debits_pending as available
      from balances
      where credits_posted - debits_posted - debits_pending < 0`,
  },
  {
    name: 'history_is_whole',
    by: 'transfers',
    says: "an account's transfers are numbered without a gap, and each continues the available balance of the one before",
    broken: () => `
      select account_id, seq, available_after_usd_micro, expected from (
        select account_id, seq, available_after_usd_micro,
          after_seq + row_number() over w as n,
          base_available + sum(case kind when 'deposit' then amount_usd_micro
            when 'reserve' then -amount_usd_micro
            when 'charge' then reserved - amount_usd_micro
            when 'release' then amount_usd_micro
            else case when credit_account_id = account_id then amount_usd_micro
              else -amount_usd_micro end end) over w as expected
        from moved window w as (partition by account_id, after_seq order by seq)
      ) h where seq <> n or available_after_usd_micro <> expected
      union all
      select account_id, upto_seq, null, last from (
        select s.account_id, s.upto_seq, coalesce((select max(seq) from transfers t
          where t.account_id = s.account_id and t.seq > s.after_seq and t.seq <= s.reach),
          s.after_seq) as last
        from span s
      ) e where upto_seq <> last`,
  },
  {
    name: 'settlement_fits_its_reserve',
    by: 'transfers',
    says: 'a charge or release settles a reserve of the same account; a charge is never more than the reserve, a release is exactly the reserve',
    broken: () => `
      select id, kind, amount_usd_micro, settles, reserved from moved
      where pending_id is not null and (settles is distinct from 'reserve'
        or reserved_of <> account_id or amount_usd_micro > reserved
        or (kind = 'release' and amount_usd_micro <> reserved))`,
  },
  {
    name: 'refunds_within_charge',
    by: 'all',
    says: 'the refunds of a request come after its charge, go to the account that was charged and are together at most the charge',
    broken: () => `
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
    by: 'transfers',
    says: 'a debt grows only right before a correction that leaves nothing available, and each deposit or upward correction of an account in debt is followed at once by a payment of the debt, as large as the money allows',
    broken: () => `
      select account_id, seq, kind, amount_usd_micro, debt, next_kind, next_amount from (
        select t.*, s.after_seq, s.reach,
          t.credit_account_id = t.account_id as comes_in,
          s.base_debt + coalesce(sum(case when t.kind <> 'debt' or t.seq <= s.after_seq then 0
            when t.credit_account_id = t.account_id then t.amount_usd_micro
            else -t.amount_usd_micro end) over w, 0) as debt,
          lead(t.kind) over w as next_kind, lead(t.amount_usd_micro) over w as next_amount,
          lead(t.debit_account_id = t.account_id) over w as next_goes_out,
          lead(t.available_after_usd_micro) over w as next_available,
          lag(t.kind in ('deposit', 'adjustment') and t.credit_account_id = t.account_id) over w
            as follows_money
        from span s join transfers t on t.account_id = s.account_id
          and t.seq >= s.after_seq and t.seq <= s.reach + 1
        where s.account_id in (select account_id from transfers where kind = 'debt')
        window w as (partition by t.account_id, s.after_seq order by t.seq)
      ) h
      where seq > after_seq and seq <= reach and case when kind = 'debt' and comes_in
          then (next_kind, next_goes_out, next_available) is distinct from ('adjustment', true, 0)
        when kind = 'debt' then debt < 0 or follows_money is not true
        when kind in ('deposit', 'adjustment') and comes_in and debt > 0
          then (next_kind, next_goes_out, next_amount) is distinct from
            ('debt', true, least(debt, amount_usd_micro))
        else false end`,
  },
  {
    name: 'bonuses_end_once',
    by: 'transfers',
    says: "each bonus with an end has a deposit of the source bonus to the same account, and no more left than the deposit's amount; at most one expiry ends it, not before its end and of no more than the deposit's amount; each expiry ends a bonus",
    broken: () => `
      select b.transfer_id as bonus, b.left_usd_micro, t.amount_usd_micro,
        e.amount_usd_micro as expired
      from bonuses b left join transfers e on e.id = b.ended_by and e.kind = 'expiry'
        left join transfers t on t.id = b.transfer_id
      where t.source is distinct from 'bonus' or t.account_id <> b.account_id
        or b.left_usd_micro > t.amount_usd_micro
        or b.ended_by is not null and (e.id is null or e.account_id <> b.account_id
          or e.amount_usd_micro > t.amount_usd_micro or e.created_at < b.expires_at)
      union all select id, null, null, amount_usd_micro from moved
        where kind = 'expiry' and not exists (select from bonuses b where b.ended_by = moved.id)`,
  },
  {
    name: 'receipts_are_paid_deposits',
    by: 'all',
    says: 'receipts are numbered without a gap, and each is for a deposit of its account that was paid',
    broken: () => `
      select r.number, r.n as expected, r.transfer_id, r.account_id, t.kind, t.source
      from (select *, row_number() over (order by number) as n from receipts) r
        left join transfers t on t.id = r.transfer_id and t.account_id = r.account_id
      where r.number <> r.n or (t.kind = 'deposit' and t.source in ('paid', 'chain')) is not true`,
  },
];

/** The laws of the books, in the order in which the audit checks them. */
export const laws: Law[] = [
  ...transferLaws,
  ...requestLaws,
  ...logLaws,
  ...countedLaws,
  sealLaw,
  {
    name: 'guards_stand',
    by: 'all',
    says: "the constraints, unique indexes and triggers that protect the books and the operator's log are present, enabled and unchanged, there is no other trigger or rule, and none of their tables is unlogged (a crash would empty it)",
    broken: () => missingGuards,
  },
];
