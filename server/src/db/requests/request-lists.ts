import type { AttemptOutcome } from '../../core/request/request.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';
import { withAsked } from './call-numbers.ts';
import { lineColumns, type LineRow } from './request-lines.ts';
import { nextBehind, pageBelow, type PageBounds, type PageFilter } from './request-pages.ts';
import { requestColumns } from './requests.ts';

export type ListedRow = LineRow & { email: string };

/** A page of requests, newest first, and the id below which the next page begins. */
export async function list(
  db: Connection,
  filter: PageFilter,
  bounds: PageBounds,
): Promise<{ rows: ListedRow[]; next: string | null }> {
  const page = await pageBelow(db, filter, bounds);
  return { rows: await findListed(db, page.ids), next: nextBehind(page) };
}

/**
 * The newest requests that match, for the operator. No statement reads more than `look` requests,
 * however many are read in all.
 */
export async function listNewest(
  db: Connection,
  filter: PageFilter,
  { limit, look }: Omit<PageBounds, 'below_id'>,
): Promise<ListedRow[]> {
  const ids: string[] = [];
  let below_id: string | null = null;
  do {
    const page = await pageBelow(db, filter, { below_id, limit: limit - ids.length, look });
    ids.push(...page.ids);
    below_id = page.reached?.id ?? null;
  } while (below_id !== null && ids.length < limit);
  return findListed(db, ids);
}

const listedColumns = columns('a', { email: of<string>() });

/** These requests with the addresses of their accounts, newest first. */
async function findListed(db: Connection, ids: string[]): Promise<ListedRow[]> {
  const rows = await db.run(sql`
    select ${requestColumns}, ${lineColumns}, ${listedColumns} from unnest(${ids}::uuid[]) m (id)
    cross join lateral (select * from requests where id = m.id limit 1) r
    join accounts a on a.id = r.account_id
    order by r.id desc`);
  return rows.map(withAsked);
}

/** One attempt to start a request at an upstream, with fields that only the operator may see. */
const attemptColumns = columns('a', {
  attempt: of<number>(),
  upstream: of<string>(),
  /** The name of the key that was used, if the upstream has several. */
  key: of<string | null>(),
  class: of<string>(),
  outcome: of<AttemptOutcome>(),
  message: of<string | null>(),
  handle: of<Record<string, unknown> | null>(),
  created_at: of<Date>(),
  /**
   * When the next route was called because this start's answer was lost. The start may have cost
   * money.
   */
  left_at: of<Date | null>(),
  /** The cost of a left start, once its outcome was resolved. */
  cost_usd_micro: of<bigint | null>(),
  /** When the outcome became known; null if it is unknown, or if the answer ended the request. */
  answered_at: of<Date | null>(),
});
export type AttemptRow = RowOf<typeof attemptColumns>;

export function listAttempts(db: Connection, requestId: string): Promise<AttemptRow[]> {
  return db.run(sql`
    select ${attemptColumns} from attempts a where request_id = ${requestId} order by attempt`);
}

/** The name of the key that this attempt used; null if its upstream has one key only. */
export async function findKeyOfAttempt(
  db: Connection,
  requestId: string,
  attempt: number,
): Promise<string | null> {
  const [row] = await db.run<{ key: string | null }>(sql`
    select key from attempts where request_id = ${requestId} and attempt = ${attempt}`);
  return row?.key ?? null;
}
