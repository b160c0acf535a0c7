import type { Metadata } from '../../core/request/metadata.ts';
import type { Status } from '../../core/request/request.ts';
import { firstId, idsWritten, lastId } from '../../lib/id.ts';
import { sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';
import { hasPairs } from './metadata.ts';
import type { RequestRow } from './requests.ts';

/** Requests for the lists on the web pages: pages in both directions, and requests that change. */

/** One line of a page. */
export interface EntryRow extends RequestRow {
  /** Progress of a running request; null: not reported. */
  progress: number | null;
  metadata: Metadata | null;
  /** The number of outputs that are still kept, and the index of the first. */
  outputs: number;
  output_index: number | null;
  output_type: string | null;
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
}

/**
 * The given requests that belong to the given accounts, each with its account's present balance.
 */
export function findEntries(
  db: Connection,
  ids: string[],
  accountIds: string[],
): Promise<EntryRow[]> {
  return db.run<EntryRow>(sql`
    select r.id, r.account_id, r.key_id, r.model_id, r.kind, r.upstream, r.status, r.slot,
      r.attempt, r.quoted_usd_micro, r.charged_usd_micro, r.error_code, r.webhook_state,
      r.expires_at, r.created_at, r.started_at, r.completed_at,
      case when r.status = 'IN_PROGRESS' then (
        select case when json_typeof(a.progress -> 'progress') = 'number'
          then (a.progress ->> 'progress')::float8 end
        from attempts a where a.request_id = r.id order by a.attempt desc limit 1) end as progress,
      case when r.expires_at > now() then (
        select count(*)::int from outputs o where o.request_id = r.id) else 0 end as outputs,
      (select i.metadata from request_inputs i where i.request_id = r.id) as metadata,
      o.index as output_index, o.content_type as output_type,
      b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro
    from requests r join balances b on b.account_id = r.account_id
    left join outputs o on o.request_id = r.id and o.index = 0 and r.expires_at > now()
    where r.id = any(${ids}::uuid[]) and r.account_id = any(${accountIds}::uuid[])`);
}

export interface PageFilter {
  /** Null: requests of all accounts. */
  account_id: string | null;
  status: Status | null;
  model_id: string | null;
  key_id: string | null;
  /** Only requests of the account that have all these pairs; left out: all. */
  metadata?: Metadata | null;
  /** Left out: all upstreams. */
  upstream?: string | null;
  /** Bounds of `created_at` in ms since 1970, inclusive and exclusive. */
  from_ms: number | null;
  to_ms: number | null;
  /** The lowest and the highest id that match the searched text. */
  first_id: string | null;
  last_id: string | null;
}

export interface PageBounds {
  /** Only requests older than this one. */
  below_id: string | null;
  limit: number;
  /** How many requests are read at most, whether they match or not. */
  look: number;
}

/** No index contains `created_at`; bounds on the ids limit the search to a narrow period. */
function stretch({ from_ms, to_ms, first_id, last_id }: PageFilter) {
  const written = idsWritten(from_ms, to_ms);
  const first = first_id ?? firstId;
  const last = last_id ?? lastId;
  return {
    first: written.first > first ? written.first : first,
    last: written.last < last ? written.last : last,
  };
}

/** Changes the SQL text, because a search over all accounts needs another index. */
function ofAccount({ account_id }: PageFilter): Fragment {
  return account_id === null ? () => 'true' : (bind) => `account_id = ${bind(account_id)}`;
}

function paired({ account_id, metadata = null }: PageFilter): Fragment {
  if (metadata === null) return () => 'true';
  return (bind) => hasPairs(metadata, { id: 'id', account: bind(account_id) }, bind);
}

/** Matching ids, newest first. */
export async function idsBelow(
  db: Connection,
  filter: PageFilter,
  { below_id, limit, look }: PageBounds,
): Promise<string[]> {
  const { first, last } = stretch(filter);
  const rows = await db.run<{ id: string }>(sql`
    select id from (
      select id, status, model_id, key_id, upstream, created_at from requests
      where ${ofAccount(filter)} and id >= ${first}::uuid and id <= ${last}::uuid
        and id < ${below_id ?? lastId}::uuid
      order by id desc limit ${look}::int
    ) r
    where (${filter.status}::text is null or status = ${filter.status})
      and (${filter.model_id}::text is null or model_id = ${filter.model_id})
      and (${filter.key_id}::uuid is null or key_id = ${filter.key_id})
      and ${paired(filter)}
      and (${filter.upstream ?? null}::text is null or upstream = ${filter.upstream ?? null})
      and created_at >= coalesce('epoch'::timestamptz
        + ${filter.from_ms}::float8 * interval '1 ms', '-infinity')
      and created_at < coalesce('epoch'::timestamptz
        + ${filter.to_ms}::float8 * interval '1 ms', 'infinity')
    order by id desc limit ${limit}::int`);
  return rows.map(({ id }) => id);
}

/** Matching ids that are newer than this one, oldest first. */
export async function idsAbove(
  db: Connection,
  filter: PageFilter,
  { above_id, limit, look }: { above_id: string; limit: number; look: number },
): Promise<string[]> {
  const { first, last } = stretch(filter);
  const rows = await db.run<{ id: string }>(sql`
    select id from (
      select id, status, model_id, key_id, upstream, created_at from requests
      where ${ofAccount(filter)} and id >= ${first}::uuid and id <= ${last}::uuid
        and id > ${above_id}::uuid
      order by id limit ${look}::int
    ) r
    where (${filter.status}::text is null or status = ${filter.status})
      and (${filter.model_id}::text is null or model_id = ${filter.model_id})
      and (${filter.key_id}::uuid is null or key_id = ${filter.key_id})
      and ${paired(filter)}
      and (${filter.upstream ?? null}::text is null or upstream = ${filter.upstream ?? null})
      and created_at >= coalesce('epoch'::timestamptz
        + ${filter.from_ms}::float8 * interval '1 ms', '-infinity')
      and created_at < coalesce('epoch'::timestamptz
        + ${filter.to_ms}::float8 * interval '1 ms', 'infinity')
    order by id limit ${limit}::int`);
  return rows.map(({ id }) => id);
}

/** The last request that a search of `look` rows reads; null if there are fewer rows. */
export async function reach(
  db: Connection,
  filter: PageFilter,
  { below_id, look }: Pick<PageBounds, 'below_id' | 'look'>,
): Promise<{ id: string; created_at: Date } | null> {
  const { first, last } = stretch(filter);
  const [row] = await db.run<{ id: string; created_at: Date }>(sql`
    select id, created_at from requests where id = (
      select id from requests
      where ${ofAccount(filter)} and id >= ${first}::uuid and id <= ${last}::uuid
        and id < ${below_id ?? lastId}::uuid
      order by id desc offset ${look - 1}::int limit 1)`);
  return row ?? null;
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
