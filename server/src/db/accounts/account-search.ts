import { keyHintIn } from '../../core/account/key.ts';
import { requestOfNumber } from '../../core/request/call-number.ts';
import { hashVoucherCode, parseVoucherCode, voucherHintIn } from '../../core/account/voucher.ts';
import { firstId, isUuid, lastId } from '../../lib/id.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { rawSql, type Connection, type Statement } from '../../lib/sql/sql.ts';
import { accountColumns } from './accounts.ts';
import { monthStart } from './month.ts';

/**
 * Finds accounts for an operator: by their own names, and by their people, keys, requests and
 * payments.
 */

const figures = columns('p', {
  /** Charged and reserved this month (UTC), over all its keys. */
  month_usd_micro: of<bigint>(`(
    select coalesce(sum(u.pending_usd_micro + u.posted_usd_micro), 0)::bigint
    from key_usage u where u.account_id = a.id and u.month = ${monthStart}::date)`),
  /** The fields that matched; empty if all accounts are listed. */
  matched: of<Match[]>(),
});
export type FoundRow = RowOf<typeof accountColumns> & RowOf<typeof figures>;

/** `said`: the text that matched; null if the account's row shows it, or for a payment. */
export interface Match {
  by: 'account' | 'person' | 'key' | 'request' | 'payment' | 'voucher';
  said: string | null;
}

export interface AccountSearch {
  /**
   * Beginnings of words, an id, a reference, or the hint of a key or a voucher. Null: all accounts.
   */
  words: string | null;
  only: 'active' | 'suspended' | 'operators' | null;
  below_id: string | null;
  limit: number;
}

const conditions = {
  active: `a.status = 'active'`,
  suspended: `a.status = 'suspended'`,
  operators: 'a.is_operator',
};
const matchedMax = 3;

/** Newest first. */
export async function search(db: Connection, wanted: AccountSearch): Promise<FoundRow[]> {
  const { words, only, below_id } = wanted;
  // Part of the SQL: for a parameter, PostgreSQL would assume a large limit and read whole tables.
  const limit = Math.floor(wanted.limit);
  const values = [below_id ?? lastId];
  if (words === null) {
    const more = only === null ? '' : `and ${conditions[only]}`;
    const page = `select a.id, '[]'::jsonb as matched from accounts a where a.id < $1 ${more}
      order by a.id desc limit ${limit}`;
    return db.run(withFigures(page, values));
  }
  // Checked one account at a time, because only few accounts match.
  const more =
    only === null ? '' : `and (select ${conditions[only]} from accounts a where a.id = f.id)`;
  // The indexes find all matches, and the newest of them are taken. For a rare word, a search from
  // the newest account down would read every account.
  const page = `with found as materialized (${matchSources}), page as (
      select distinct f.id from found f where f.id < $1 ${more} order by f.id desc limit ${limit}
    )
    select id, jsonb_agg(distinct jsonb_build_object('by', f.by, 'said', f.said)) as matched
    from page join found f using (id) group by id`;
  const rows = await db.run(withFigures(page, [...values, ...tracesOf(words)]));
  return rows.map((row) => ({ ...row, matched: row.matched.slice(0, matchedMax) }));
}

export async function findWithFigures(db: Connection, id: string): Promise<FoundRow | null> {
  const page = `select $1::uuid as id, '[]'::jsonb as matched`;
  const [row] = await db.run(withFigures(page, [id]));
  return row ?? null;
}

function withFigures(page: string, values: unknown[]): Statement<FoundRow> {
  const list = [accountColumns, figures].map((each) => each(String)).join(', ');
  const text = `select ${list} from (${page}) p
    join accounts a on a.id = p.id join balances b on b.account_id = a.id order by a.id desc`;
  // The text is built of columns, which say what their rows hold.
  return rawSql(text, values) as Statement<FoundRow>;
}

/** Must be the same expression as in the indexes. */
const wordsIn = (text: string) =>
  `to_tsvector('simple', regexp_replace(${text}, '[!-/:-@\\[-\`{-~]+', ' ', 'g'))`;

/** Finds accounts, and says what matched. Each part of the union uses its own index. */
const matchSources = `
  select a.id, 'account' as by, null as said from accounts a
    where ${wordsIn(`a.email || ' ' || coalesce(a.name, '')`)} @@ $2::tsquery
      or a.id between $3 and $4
  union all select m.account_id, 'person', p.name || ' <' || p.email || '>' from (
    select id, name, email from people
      where ${wordsIn(`email || ' ' || name`)} @@ $2::tsquery or id = $5) p
    -- The limit is never reached; it makes the planner look up the few accounts of each person.
    cross join lateral (select account_id from members where person_id = p.id limit 10000) m
  union all select account_id, 'key', name || ' ' || prefix || '…' || last4 from keys
    where id = $5 or (prefix = $6 and last4 = coalesce($7, last4))
  union all select account_id, 'request', id::text from requests where id = $11
  -- A caller may send the same number with every call.
  union all (select account_id, 'request', request_id::text from request_inputs
    where caller_id = $8 limit 100)
  union all select account_id, 'payment', null from transfers
    -- A reservation has the id of its request, which is found as a request.
    where id = $5 and kind <> 'reserve'
  union all select account_id, 'payment', null from transfers where reference = $8
  union all select redeemed_by, 'voucher', coalesce(note || ' ', '') || '…' || last4 from vouchers
    where redeemed_by is not null and ${wordsIn('note')} @@ $2::tsquery
  union all select redeemed_by, 'voucher', coalesce(note || ' ', '') || '…' || last4 from vouchers
    where redeemed_by is not null and last4 = $9
  union all select redeemed_by, 'voucher', coalesce(note || ' ', '') || '…' || last4 from vouchers
    where redeemed_by is not null and (id = $5 or code_hash = $10)`;

/** The values of `traces`, beginning with $2. */
function tracesOf(words: string): unknown[] {
  const text = words.trim();
  const id = isUuid(text.toLowerCase()) ? text.toLowerCase() : null;
  const key = keyHintIn(text);
  const code = parseVoucherCode(text);
  return [
    termsOf(text) ?? '',
    ...idRange(text),
    id,
    key?.prefix ?? null,
    key?.last4 ?? null,
    text,
    voucherHintIn(text),
    code === null ? null : hashVoucherCode(code),
    requestOfNumber(text),
  ];
}

/** 'Ana acme' → "'ana':* & 'acme':*"; null if the text has no word. */
function termsOf(words: string): string | null {
  const found = words.toLowerCase().match(/[^\s!-/:-@[-`{-~]+/g);
  return found && found.map((word) => `'${word}':*`).join(' & ');
}

/** The range of ids that begin with these characters; an empty range if no id can begin so. */
function idRange(words: string): [string, string] {
  const text = words.toLowerCase();
  const isStart =
    /^[0-9a-f-]{6,36}$/.test(text) && lastId.startsWith(text.replace(/[0-9a-f]/g, 'f'));
  return isStart
    ? [text + firstId.slice(text.length), text + lastId.slice(text.length)]
    : [lastId, firstId];
}
