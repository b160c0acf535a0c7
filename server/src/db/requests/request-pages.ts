import type { Kind } from '../../core/catalog/catalog.ts';
import type { Metadata } from '../../core/request/metadata.ts';
import type { Status } from '../../core/request/request.ts';
import { firstId, idsWritten, lastId } from '../../lib/id.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { constant, sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';
import { idsOfNumber, withAsked } from './call-numbers.ts';
import { hasWords, libraryJobs, type LibrarySearch } from './library.ts';
import { lineColumns, type LineRow } from './request-lines.ts';
import { progressShare, requestColumns } from './requests.ts';

/** Requests for the lists on the web pages: pages in both directions, and requests that change. */

/** Fields of a line on a page. */
const entryColumns = columns('b', {
  progress: progressShare,
  available_usd_micro: of<bigint>('b.credits_posted - b.debits_posted - b.debits_pending'),
  reserved_usd_micro: of<bigint>('b.debits_pending'),
  debt_usd_micro: of<bigint>('b.debt'),
});
export type EntryRow = LineRow & RowOf<typeof entryColumns>;

/**
 * The given requests that belong to the given accounts, each with its account's present balance.
 */
export async function findEntries(
  db: Connection,
  ids: string[],
  accountIds: string[],
): Promise<EntryRow[]> {
  const rows = await db.run(sql`
    select ${requestColumns}, ${lineColumns}, ${entryColumns}
    from requests r join balances b on b.account_id = r.account_id
    where r.id = any(${ids}::uuid[]) and r.account_id = any(${accountIds}::uuid[])`);
  return rows.map(withAsked);
}

export interface PageFilter {
  /** Null: requests of all accounts. */
  account_id: string | null;
  status: Status | null;
  model_id: string | null;
  key_id: string | null;
  /** Left out: all people, and programs. */
  person_id?: string | null;
  /** Left out: all kinds. */
  kinds?: readonly Kind[];
  /** Only requests of the account that have all these pairs; left out: all. */
  metadata?: Metadata | null;
  /** Left out: all upstreams. */
  upstream?: string | null;
  /** Only requests that failed with this code; left out: all. */
  error_code?: string | null;
  /** Bounds of `created_at` in ms since 1970, inclusive and exclusive. */
  from_ms: number | null;
  to_ms: number | null;
  /** The lowest and the highest id that match the searched text. */
  first_id: string | null;
  last_id: string | null;
  /** Only requests that this id or number of a call leads to; left out: all. */
  call_id?: string | null;
  /** Only jobs of the account's library; left out: all requests. */
  library?: LibrarySearch | null;
}

/** The filter that every request matches. */
export const anyRequest: PageFilter = {
  account_id: null,
  status: null,
  model_id: null,
  key_id: null,
  from_ms: null,
  to_ms: null,
  first_id: null,
  last_id: null,
};

/** The most rows that one statement searches. If too few match, the page asks for more. */
export const scanMax = 100_000;

interface Bounds {
  limit: number;
  /** How many requests are read at most, whether they match or not. Left out: `scanMax`. */
  look?: number;
}

export interface PageBounds extends Bounds {
  /** Only requests older than this one. */
  below_id: string | null;
}

/** The share of `look` that is read of requests found by metadata, by prompt, or by a number. */
const pairedShare = 1 / 10;
const calledShare = 1 / 100;
/** A search by several pairs reads the rarest; the requests of each are counted up to here. */
const countMax = 200;

/** The end of a page where its search begins, and its direction. */
export interface PageDirection {
  sort: 'asc' | 'desc';
  /** Exclusive; null: from the first or the last request. */
  from: string | null;
}

const below = (from: string | null): PageDirection => ({ sort: 'desc', from });

/** No index contains `created_at`; bounds on the ids limit the search to a narrow period. */
function stretch(
  { from_ms, to_ms, first_id, last_id }: PageFilter,
  { sort, from }: PageDirection,
  id: string,
) {
  const written = idsWritten(from_ms, to_ms);
  const first = first_id ?? firstId;
  const last = last_id ?? lastId;
  const past = sort === 'desc' ? '<' : '>';
  return (bind: (value: unknown) => string) =>
    `${id} >= ${bind(written.first > first ? written.first : first)}::uuid
      and ${id} <= ${bind(written.last < last ? written.last : last)}::uuid
      and ${id} ${past} ${bind(from ?? (sort === 'desc' ? lastId : firstId))}::uuid`;
}

/** Changes the SQL text, because a search over all accounts needs another index. */
function ofAccount({ account_id }: PageFilter): Fragment {
  return account_id === null ? () => 'true' : (bind) => `account_id = ${bind(account_id)}`;
}

/**
 * A partial index has the few requests of an account that are not COMPLETED. PostgreSQL uses it
 * only if the SQL text itself contains that condition.
 */
function inState({ account_id, status }: PageFilter): Fragment {
  if (account_id === null || status === null || status === 'COMPLETED') return () => 'true';
  return (bind) => `status = ${bind(status)} and status <> 'COMPLETED'`;
}

/** As `inState`: another partial index has the requests of people who were signed in. */
function ofPerson({ account_id, person_id = null }: PageFilter): Fragment {
  if (account_id === null || person_id === null) return () => 'true';
  return (bind) => `person_id = ${bind(person_id)} and person_id is not null`;
}

/** The columns that a filter compares. */
const compared = 'status, kind, model_id, key_id, person_id, upstream, error_code, created_at';

/** At most `look` requests, in order, whether they match or not. All of them are in one index. */
function candidates(filter: PageFilter, way: PageDirection, look: number): Fragment {
  const most = readMax(filter, look);
  const { call_id: number = null, account_id } = filter;
  if (number !== null) {
    const bounds = (id: string) => stretch(filter, way, id);
    return idsOfNumber({ number, account_id, bounds, sort: way.sort, most });
  }
  if (filter.library && account_id !== null) {
    const bounds = (id: string) => stretch(filter, way, id);
    return libraryJobs({ ...filter.library, account_id, bounds, sort: way.sort, most });
  }
  if (filter.metadata) return pairedCandidates(filter, filter.metadata, way, most);
  const column = indexedBy(filter);
  if (column !== null) return endedAndOpen(filter, column, way, most);
  const bounds = stretch(filter, way, 'id');
  return (bind) => `
    select id, ${compared} from requests
    where ${ofAccount(filter)(bind)} and ${inState(filter)(bind)}
      and ${ofPerson(filter)(bind)} and ${bounds(bind)}
    order by id ${way.sort} limit ${bind(most)}::int`;
}

/** The column by whose value an index has the requests of an account that have ended. */
function indexedBy(filter: PageFilter): 'model_id' | 'key_id' | null {
  const { account_id, status, model_id, key_id, person_id = null } = filter;
  const isOther = person_id !== null || (status !== null && status !== 'COMPLETED');
  if (account_id === null || isOther) return null;
  return model_id !== null ? 'model_id' : key_id !== null ? 'key_id' : null;
}

/**
 * Requests of the account with this value. Open ones, which are few, are found by their status: an
 * index that had them too would be written at each step of a request.
 */
function endedAndOpen(
  filter: PageFilter,
  column: 'model_id' | 'key_id',
  way: PageDirection,
  most: number,
): Fragment {
  const bounds = stretch(filter, way, 'id');
  return (bind) => {
    const where = `${ofAccount(filter)(bind)} and ${column} = ${bind(filter[column])}
      and ${bounds(bind)}`;
    const end = `order by id ${way.sort} limit ${bind(most)}::int`;
    const parts = [
      'completed_at is not null',
      `status = 'IN_QUEUE' and status <> 'COMPLETED'`,
      `status = 'IN_PROGRESS' and status <> 'COMPLETED'`,
    ].map((state) => `(select id, ${compared} from requests where ${where} and ${state} ${end})`);
    return `${parts.join(' union all ')} ${end}`;
  };
}

/** A request that is found in another table than its own takes more reads. */
function readMax({ call_id = null, metadata, library }: PageFilter, look: number): number {
  const isPaired = metadata || library;
  return Math.ceil(look * (call_id !== null ? calledShare : isPaired ? pairedShare : 1));
}

/** Requests of the account that have one of these pairs: the pair that the fewest have. */
function pairedCandidates(
  filter: PageFilter,
  metadata: Metadata,
  way: PageDirection,
  most: number,
): Fragment {
  const bounds = stretch(filter, way, 'request_id');
  return (bind) => {
    const account = `account_id = ${bind(filter.account_id)}::uuid`;
    const pairs = `${bind(JSON.stringify(metadata))}::jsonb`;
    return `
    with rarest as materialized (
      select name, value from jsonb_each_text(${pairs}) n (name, value)
      order by (select count(*) from (
        select from metadata_pairs p where ${account} and p.name = n.name and p.value = n.value
          and ${bounds(bind)} limit ${countMax}) few)
      limit 1
    )
    select request_id as id from metadata_pairs
    where ${account} and name = (select name from rarest) and value = (select value from rarest)
      and ${bounds(bind)}
    order by request_id ${way.sort} limit ${bind(most)}::int`;
  };
}

/** The candidates with the fields that a filter compares. */
function candidatesToSearch(filter: PageFilter, way: PageDirection, look: number): Fragment {
  const found = candidates(filter, way, look);
  const { library } = filter;
  if (!filter.metadata && !library && (filter.call_id ?? null) === null) return found;
  const words: Fragment = library ? hasWords('c.prompt', library.words) : () => 'true';
  // The limit makes PostgreSQL read the requests one by one, so that a full page ends the search.
  return (bind) => `
    select c.id, r.* from (${found(bind)}) c cross join lateral (
      select ${compared} from requests
      where id = c.id and ${ofAccount(filter)(bind)} limit 1
    ) r where ${words(bind)} order by c.id ${way.sort}`;
}

/** All pairs. Every candidate of a search by pairs has one of them already. */
function hasAll({ metadata, call_id = null }: PageFilter): Fragment {
  if (!metadata || (call_id === null && Object.keys(metadata).length === 1)) return () => 'true';
  return (bind) => `(select i.metadata @> ${bind(JSON.stringify(metadata))}::jsonb
      from request_inputs i where i.request_id = r.id)`;
}

/** The ids of a page, in order. Reads at most `look` requests. */
function matchingIds(
  filter: PageFilter,
  way: PageDirection,
  { limit, look = scanMax }: Bounds,
): Fragment {
  const { status, model_id, key_id, kinds = null, from_ms, to_ms } = filter;
  const { upstream = null, error_code = null, person_id = null } = filter;
  const ms = `* interval '1 ms'`;
  return (bind) => `
    select id from (${candidatesToSearch(filter, way, look)(bind)}) r
    where (${bind(status)}::text is null or status = ${bind(status)})
      and (${bind(model_id)}::text is null or model_id = ${bind(model_id)})
      and (${bind(key_id)}::uuid is null or key_id = ${bind(key_id)})
      and (${bind(person_id)}::uuid is null or person_id = ${bind(person_id)})
      and (${bind(kinds)}::text[] is null or kind = any(${bind(kinds)}))
      and (${bind(upstream)}::text is null or upstream = ${bind(upstream)})
      and (${bind(error_code)}::text is null or error_code = ${bind(error_code)})
      and created_at >= coalesce('epoch'::timestamptz + ${bind(from_ms)}::float8 ${ms}, '-infinity')
      and created_at < coalesce('epoch'::timestamptz + ${bind(to_ms)}::float8 ${ms}, 'infinity')
      and ${hasAll(filter)(bind)}
    order by id ${way.sort} limit ${bind(limit)}::int`;
}

/** Matching ids that are newer than this one, oldest first. */
export function listIdsAbove(
  db: Connection,
  filter: PageFilter,
  { above_id, ...bounds }: Bounds & { above_id: string },
): Promise<string[]> {
  return listIds(db, filter, { sort: 'asc', from: above_id }, bounds);
}

async function listIds(
  db: Connection,
  filter: PageFilter,
  way: PageDirection,
  bounds: Bounds,
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(sql`
    select id from (${matchingIds(filter, way, bounds)}) m order by id ${constant(way.sort)}`);
  return rows.map(({ id }) => id);
}

/** The last request that a search of `look` rows reads; null if there are fewer rows. */
async function reach(
  db: Connection,
  filter: PageFilter,
  way: PageDirection,
  { look = scanMax }: Omit<Bounds, 'limit'>,
): Promise<{ id: string; created_at: Date } | null> {
  const most = readMax(filter, look);
  const [row] = await db.run<{ id: string; created_at: Date }>(sql`
    select id, created_at from requests where id = (
      select id from (${candidates(filter, way, look)}) c
      order by id ${constant(way.sort)} offset ${most - 1}::int limit 1)`);
  return row ?? null;
}

export interface RequestIdPage {
  /** In the page's order. */
  ids: string[];
  /** Further requests match. */
  more: boolean;
  /** The last request that was searched, if the search ended before the page was full. */
  reached: { id: string; created_at: Date } | null;
}

/** A page of matching requests, newest first, and where the next one begins. */
export function pageBelow(
  db: Connection,
  filter: PageFilter,
  { below_id, ...bounds }: PageBounds,
): Promise<RequestIdPage> {
  return pageOn(db, filter, below(below_id), bounds);
}

/** A page of matching requests in one of two directions, and where the next one begins. */
export async function pageOn(
  db: Connection,
  filter: PageFilter,
  way: PageDirection,
  { limit, ...bounds }: Bounds,
): Promise<RequestIdPage> {
  const ids = await listIds(db, filter, way, { ...bounds, limit: limit + 1 });
  const more = ids.length > limit;
  const reached = more ? null : await reach(db, filter, way, bounds);
  return { ids: ids.slice(0, limit), more, reached };
}

/** The id behind which the next page begins; null: there is none. */
export function nextBehind({ ids, more, reached }: RequestIdPage): string | null {
  return (more ? ids.at(-1) : reached?.id) ?? null;
}

/** The open requests among the `newest` of each account. */
export async function openAmongNewest(
  db: Connection,
  accountIds: string[],
  newest: number,
): Promise<{ account_id: string; id: string }[]> {
  return db.run<{ account_id: string; id: string }>(sql`
    select d.account_id, r.id from unnest(${accountIds}::uuid[]) as d (account_id)
    cross join lateral (
      select n.id, n.status from requests n where n.account_id = d.account_id
      order by n.id desc limit ${newest}::int
    ) r where r.status in ('IN_QUEUE', 'IN_PROGRESS')`);
}
