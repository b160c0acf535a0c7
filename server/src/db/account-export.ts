import { firstId } from '../lib/id.ts';
import { rawSql, type Connection } from '../lib/sql/sql.ts';

/**
 * An account and its requests, as far as they are kept, as lines of JSON without secrets. They are
 * read in pages, so they are not one snapshot. The export's test lists what is left out, and why.
 */

/** As everywhere else: in UTC, with milliseconds. */
const utc = (time: string) =>
  `to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const times = (...columns: string[]) =>
  columns.map((column) => `${utc(column)} as ${column.split('.')[1]!}`).join(', ');
/** Path and query of a webhook may be a password; null if the origin is not plain to see. */
const origin = (url: string) =>
  `substring(${url} from '(?i)^(https?://[^/?#@\\\\[:space:]]+)(?:[/?#]|$)')`;

/** Stored bytes of input and output in one page, beside one that is longer. */
const pageBytes = 65_536;

interface PageRow {
  after: string;
  line: string;
}

interface Section {
  kind: string;
  columns: string;
  /** Tables, and which rows are of the account $1. */
  from: string;
  /** The column that pages follow. */
  key: string;
  /** A key below all. */
  first?: string;
}

const sections: Section[] = [
  {
    kind: 'account',
    key: 'a.id',
    columns: `a.id as account_id, a.email, a.name, a.billed_to, a.status, a.is_operator,
      a.price_ppm, a.keys_by_api, ${times('a.created_at')}, b.debt::text as debt_usd_micro,
      (b.credits_posted - b.debits_posted - b.debits_pending)::text as available_usd_micro,
      b.debits_pending::text as reserved_usd_micro, (
        select json_build_object('low_balance_usd_micro', l.low_balance_usd_micro::text, 'emails',
          l.emails, 'webhook_origin', ${origin('l.webhook_url')}, 'key_limits', l.key_limits,
          'failing_webhooks', l.failing_webhooks, 'failing_jobs', l.failing_jobs)
        from alerts l where l.account_id = a.id) as alerts, (
        select json_agg(json_build_object('family', d.family, 'address', d.address, 'created_at',
          ${utc('d.created_at')}, 'retired_at', ${utc('d.retired_at')})
          order by d.created_at, d.address)
        from deposit_addresses d where d.account_id = a.id) as deposit_addresses`,
    from: `accounts a join balances b on b.account_id = a.id where a.id = $1`,
  },
  {
    kind: 'person',
    key: 'p.id',
    columns: `p.id as person_id, p.name, p.email, p.email_verified, p.two_factor_enabled,
      ${times('p.created_at')}, m.role, m.operator_role, ${utc('m.created_at')} as joined_at`,
    from: `members m join people p on p.id = m.person_id where m.account_id = $1`,
  },
  {
    kind: 'invitation',
    key: 'i.id',
    columns: `i.id as invitation_id, i.email, i.role, i.operator_role,
      ${times('i.created_at', 'i.expires_at', 'i.accepted_at')}`,
    from: `invitations i where i.account_id = $1`,
  },
  {
    kind: 'key',
    key: 'k.id',
    columns: `k.id as key_id, k.name, k.prefix, k.last4, k.scope, k.is_studio, k.models, k.rpm,
      k.open_jobs, k.monthly_limit_usd_micro::text as monthly_limit_usd_micro,
      k.created_by, ${times('k.created_at', 'k.expires_at', 'k.revoked_at')}`,
    from: `keys k where k.account_id = $1`,
  },
  {
    kind: 'request',
    key: 'r.id',
    columns: `r.id as request_id, r.key_id, r.person_id, r.model_id, r.kind as model_kind, r.status,
      r.quoted_usd_micro::text as quoted_usd_micro, r.charged_usd_micro::text as charged_usd_micro,
      r.error_code, s.error_message,
      ${times('r.created_at', 'r.started_at', 'r.completed_at', 'r.cleared_at')},
      i.caller_id, i.idempotency_key, i.metadata, ${origin('i.webhook_url')} as webhook_origin,
      i.input, s.output, s.quantity, s.input_tokens, s.output_tokens, s.cached_tokens,
      s.reasoning_tokens, (
        select json_agg(json_build_object('index', o.index, 'field', o.field, 'content_type',
          o.content_type, 'size', o.size, 'sha256', o.sha256, 'file_name', o.file_name)
          order by o.index) from outputs o where o.request_id = r.id) as outputs,
      exists (select from favorites f
        where f.account_id = r.account_id and f.request_id = r.id) as favorite`,
    from: `requests r join request_inputs i on i.request_id = r.id
      left join request_results s on s.request_id = r.id where r.account_id = $1
      and r.id = any(array(
        select id from (
          select id, sum(bytes) over (order by id) - bytes as before from (
            select r.id, pg_column_size(i.input) + coalesce(pg_column_size(s.output), 0) as bytes
            from requests r join request_inputs i on i.request_id = r.id
              left join request_results s on s.request_id = r.id
            where r.account_id = $1 and r.id > $2 order by r.id limit 50) near) page
        where before < ${pageBytes}))`,
  },
  {
    kind: 'transfer',
    key: 't.seq',
    first: '0',
    columns: `t.id as transfer_id, t.seq::text as seq, t.kind as transfer_kind,
      case when t.credit_account_id = t.account_id then 'in' else 'out' end as direction,
      t.amount_usd_micro::text as amount_usd_micro,
      t.available_after_usd_micro::text as available_after_usd_micro, t.pending_id, t.key_id,
      t.source, t.reference, t.reason, t.refunded_id, ${times('t.created_at')},
      (select ${utc('b.expires_at')} from bonuses b where b.transfer_id = t.id) as expires_at,
      (select json_build_object('number', c.number, 'seller', c.seller, 'buyer', c.buyer,
        'created_at', ${utc('c.created_at')}) from receipts c
        where c.transfer_id = t.id) as receipt, (
        select json_build_object('voucher_id', v.id, 'last4', v.last4,
          'created_at', ${utc('v.created_at')}, 'redeemed_at', ${utc('v.redeemed_at')})
        from vouchers v where v.redeemed_by = t.account_id and v.id =
          case when t.source = 'voucher' then substring(t.reference from 9)::uuid end) as voucher`,
    from: `transfers t where t.account_id = $1`,
  },
  {
    kind: 'deposit',
    key: 'c.id',
    columns: `c.id as deposit_id, c.chain, c.tx_hash, c.token, c.from_address, c.to_address,
      c.amount_usd_micro::text as amount_usd_micro, c.state, c.why, c.transfer_id,
      ${times('c.block_at', 'c.seen_at', 'c.credited_at')}`,
    from: `chain_deposits c where c.account_id = $1`,
  },
  {
    kind: 'file',
    key: 'f.id',
    columns: `f.id as file_id, f.content_type, f.size, f.sha256, f.metadata,
      ${times('f.created_at', 'f.expires_at')}`,
    from: `files f where f.account_id = $1`,
  },
  {
    kind: 'delivery',
    key: 'w.id',
    columns: `w.id as delivery_id, w.request_id, w.cause, ${origin('w.url')} as origin, w.status,
      w.error, w.duration_ms, ${times('w.created_at')}`,
    from: `webhook_deliveries w where w.account_id = $1`,
  },
  {
    kind: 'alert',
    key: 'c.id',
    first: '0',
    columns: `c.cause, c.subject, c.facts, ${times('c.found_at', 'c.notified_at')}`,
    from: `alert_causes c where c.account_id = $1`,
  },
  {
    kind: 'refusal',
    key: 'r.id',
    columns: `r.id as refusal_id, r.key_id, r.model_id, r.path, r.status, r.code, r.reason,
      r.call_id, ${times('r.created_at')}`,
    from: `refused_calls r where r.account_id = $1`,
  },
  {
    // Without the operators' names and notes.
    kind: 'action',
    key: 'l.id',
    columns: `l.id as log_id, l.action, ${times('l.created_at')}`,
    from: `operator_log l where l.account_id = $1`,
  },
];

/** Lines of JSON: first of the account, last one with the number of lines. */
export async function* accountLines(db: Connection, account_id: string): AsyncGenerator<string> {
  let lines = 1;
  for (const { kind, columns, from, key, first = firstId } of sections) {
    let after: string | undefined = first;
    while (after !== undefined) {
      const page: PageRow[] = await db.run<PageRow>(
        rawSql(
          `select ${key}::text as after, (select row_to_json(d)::text
             from (select '${kind}' as kind, ${columns}) d) as line
           from ${from} and ${key} > $2 order by ${key} limit 500`,
          [account_id, after],
        ),
      );
      lines += page.length;
      // Not as one text, because a page may have long lines.
      for (const { line } of page) yield `${line}\n`;
      after = page.at(-1)?.after;
    }
  }
  yield `${JSON.stringify({ kind: 'end', lines })}\n`;
}
