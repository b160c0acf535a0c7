import type { Law } from './law.ts';

/** The form of the reference of a voucher's deposit. */
const ofVoucher = '^voucher:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
/** The form of the reference of a deposit from a chain. */
const ofChain = '^chain:[a-z][a-z0-9-]{1,29}:0x[0-9a-f]{64}:[0-9]+$';
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

/** Money that came in, compared with the vouchers and the operator's log. */
export const logLaws: Law[] = [
  {
    name: 'vouchers_are_deposits',
    by: 'all',
    says: "each redeemed voucher has exactly one deposit of the source voucher, with the voucher's amount, account and time of redemption, and each such deposit has its voucher",
    broken: () => `
      select v.id as voucher, v.amount_usd_micro, v.redeemed_by, t.id as transfer, t.kind,
        t.source, t.amount_usd_micro as booked, t.account_id as booked_to
      from vouchers v full join (select * from transfers
        where reference is not null
          and (source = 'voucher' or reference ~ '${ofVoucher}')) t
        on t.reference = 'voucher:' || v.id
      where (t.id is not null or v.redeemed_at is not null) and (t.kind, t.source, t.account_id,
        t.amount_usd_micro, t.created_at) is distinct from
        ('deposit', 'voucher', v.redeemed_by, v.amount_usd_micro, v.redeemed_at)`,
  },
  {
    name: 'chain_deposits_are_deposits',
    by: 'all',
    says: "each credited deposit from a chain has exactly one transfer of the source chain, with its amount, account and time; each transfer of this source has its deposit from a chain; each credit in the operator's log has its deposit; each credited deposit went to an address of its account or is in the operator's log",
    broken: () => `
      select c.id as deposit, c.state, c.account_id, c.amount_usd_micro, t.id as transfer, t.kind,
        t.source, t.amount_usd_micro as booked, t.account_id as booked_to
      from chain_deposits c full join (select * from transfers
        where reference is not null and (source = 'chain' or reference ~ '${ofChain}')) t
        on t.reference = 'chain:' || c.chain || ':' || c.tx_hash || ':' || c.log_position
      where (t.id is not null or c.state = 'credited') and (t.kind, t.source, t.id, t.account_id,
        t.amount_usd_micro, t.created_at) is distinct from
        ('deposit', 'chain', c.transfer_id, c.account_id, c.amount_usd_micro, c.credited_at)
      union all select c.id, c.state, c.account_id, c.amount_usd_micro,
        (l.details->>'transfer_id')::uuid, 'logged', null,
        (l.details->>'amount_usd_micro')::bigint, l.account_id
      from operator_log l left join chain_deposits c on c.id::text = l.target
      where l.action = 'deposit.credit' and (l.details->>'transfer_id', l.account_id,
        l.details->>'amount_usd_micro', l.created_at) is distinct from
        (c.transfer_id::text, c.account_id, c.amount_usd_micro::text, c.credited_at)
      union all select c.id, c.state, c.account_id, c.amount_usd_micro, c.transfer_id,
        'nobody''s', null, null, null
      from chain_deposits c where c.state = 'credited'
        and not exists (select from deposit_addresses a
          where a.address = c.to_address and a.account_id = c.account_id)
        and not exists (select from operator_log l
          where l.action = 'deposit.credit' and l.target = c.id::text)`,
  },
  {
    name: 'deposits_are_logged',
    by: 'all',
    says: "each deposit and correction has a row in the operator's log with the same account, amount, source, end, refunded request, reference, reason and time, and each such row has its deposit or correction",
    // The log row and its transfer are written in one transaction, so their times are exactly
    // equal. Log rows without a source were written before deposits had one; the source of their
    // deposits is `paid`.
    broken: () => `
      select coalesce(t.id::text, l.transfer_id) as transfer, t.kind, t.source, t.account_id,
        t.amount, t.reference, t.created_at, l.account_id as logged_account,
        l.amount as logged_amount, l.reference as logged_reference, l.created_at as logged_at
      from (
        select id, kind, source, refunded_id, t.account_id, reference, reason, created_at,
          b.expires_at,
          case when credit_account_id = t.account_id then amount_usd_micro
            else -amount_usd_micro end::text as amount
        from transfers t left join bonuses b on b.transfer_id = t.id
        where kind in ('deposit', 'adjustment')
          and source is distinct from 'voucher' and source is distinct from 'chain'
      ) t full join (
        select details->>'transfer_id' as transfer_id, account_id, created_at,
          case action when 'account.adjust' then 'adjustment' else 'deposit' end as kind,
          case when action <> 'account.adjust' then coalesce(details->>'source', 'paid')
            end as source,
          case action when 'request.refund' then target end as refunded_id,
          (details->>'expires_at')::timestamptz as expires_at,
          details->>'amount_usd_micro' as amount,
          ${trimmed("details->>'reference'")} as reference,
          ${trimmed("details->>'reason'")} as reason
        from operator_log
        where action in ('account.credit', 'account.adjust', 'request.refund')
          and details->>'replayed' = 'false'
      ) l on l.transfer_id = t.id::text
      where (t.kind, t.source, t.refunded_id::text, t.account_id, t.amount, t.reference, t.reason,
        t.expires_at, t.created_at) is distinct from (l.kind, l.source, l.refunded_id,
        l.account_id, l.amount, l.reference, l.reason, l.expires_at, l.created_at)
        and (l.transfer_id is not null or t.created_at >= ${allIsLogged})`,
  },
  {
    name: 'vouchers_are_logged',
    by: 'all',
    says: "each voucher has the amount and expiry that the operator's log recorded for it, no voucher is missing, and a cancelled voucher stays cancelled",
    broken: () => `
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
    by: 'all',
    says: "the rows of the operator's log are numbered without a gap, and each resolved unknown outcome has its row there",
    broken: () => `
      select 'gap' as what, seq, n as expected, created_at from (
        select seq, row_number() over (order by seq) as n, created_at from operator_log) l
      where seq <> n
      union all select 'resolution of ' || min(request_id::text), null, null, created_at
      from resolutions r where created_at >= ${allIsLogged} and not exists (
        select from operator_log l where l.action in ('request.resolve', 'request.resolve_many')
          and l.created_at = r.created_at)
      group by created_at`,
  },
];
