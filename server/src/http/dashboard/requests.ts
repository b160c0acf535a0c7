import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { pageDetail, pageEntry } from '../../core/request/page-views.ts';
import { statuses } from '../../core/request/request.ts';
import * as sent from '../../db/deliveries.ts';
import * as keys from '../../db/keys.ts';
import * as pages from '../../db/request-pages.ts';
import * as requests from '../../db/requests.ts';
import { isUuid } from '../../lib/id.ts';
import {
  badParameter,
  limitOf,
  momentOf,
  optionalId,
  optionalOneOf,
  optionalText,
  type Query,
} from '../query.ts';
import type { Visit, WebDeps } from '../session/visit.ts';

const limits = { usual: 25, max: 100 };
/** Requests that one call looks at for those that fit; where few do, the page asks on. */
const lookMax = 100_000;

/**
 * GET /requests?status=&model_id=&key_id=&from=&to=&id=&before=&after=&limit=: a page of the
 * account's requests, newest first. `older` and `newer` are the ids to ask on from. `looked_to`
 * says how far back was looked where that ended before the page was full.
 */
export async function list(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const query = visit.query as Query;
  const limit = limitOf(query, limits);
  const before = optionalId(query, 'before', 'must be the id of a request');
  const after = optionalId(query, 'after', 'must be the id of a request');
  if (before !== null && after !== null)
    throw badParameter('after', 'and before exclude each other');
  const filter = filterOf(query, visit.account_id);
  const { ids, more, reached, isTop } =
    after === null
      ? await pageBelow(filter, before, limit, deps)
      : await pageAbove(filter, after, limit, deps);
  const rows = new Map(
    (await pages.findEntries(deps.db, ids, [visit.account_id])).map((row) => [row.id, row]),
  );
  const found = ids.flatMap((id) => rows.get(id) ?? []);
  return {
    data: found.map((row) => pageEntry(row, deps.links)),
    older: more ? (ids.at(-1) ?? null) : (reached?.id ?? null),
    newer: isTop ? null : (ids[0] ?? before),
    looked_to: reached?.created_at.toISOString() ?? null,
  };
}

interface Found {
  ids: string[];
  more: boolean;
  /** There is nothing newer. */
  isTop: boolean;
  /** Where the look ended, though there are more to look at. */
  reached: { id: string; created_at: Date } | null;
}

async function pageBelow(
  filter: pages.PageFilter,
  below_id: string | null,
  limit: number,
  { db }: Pick<WebDeps, 'db'>,
): Promise<Found> {
  const bounds = { below_id, limit: limit + 1, look: lookMax };
  const ids = await pages.idsBelow(db, filter, bounds);
  const more = ids.length > limit;
  const reached = more ? null : await pages.reach(db, filter, bounds);
  return { ids: ids.slice(0, limit), more, reached, isTop: below_id === null };
}

async function pageAbove(
  filter: pages.PageFilter,
  above_id: string,
  limit: number,
  { db }: Pick<WebDeps, 'db'>,
): Promise<Found> {
  const bounds = { above_id, limit: limit + 1, look: lookMax };
  const ids = await pages.idsAbove(db, filter, bounds);
  // Fewer than a page: what is newest, as the first page shows it.
  if (ids.length <= limit) return pageBelow(filter, null, limit, { db });
  return { ids: ids.slice(0, limit).toReversed(), more: true, reached: null, isTop: false };
}

function filterOf(query: Query, account_id: string): pages.PageFilter {
  return {
    account_id,
    status: optionalOneOf(query, 'status', statuses),
    model_id: optionalText(query, 'model_id'),
    key_id: optionalId(query, 'key_id', 'must be the id of a key'),
    from_ms: momentOf(query, 'from'),
    to_ms: momentOf(query, 'to'),
    ...idsOf(query),
  };
}

/** The beginning of an id stands for all that begin so. */
function idsOf(query: Query): Pick<pages.PageFilter, 'first_id' | 'last_id'> {
  const text = optionalText(query, 'id')?.trim().toLowerCase() ?? null;
  if (text === null) return { first_id: null, last_id: null };
  const first_id = `${text}${'00000000-0000-0000-0000-000000000000'.slice(text.length)}`;
  const last_id = `${text}${'ffffffff-ffff-ffff-ffff-ffffffffffff'.slice(text.length)}`;
  if (text.length <= 36 && isUuid(first_id) && isUuid(last_id)) return { first_id, last_id };
  throw badParameter('id', 'must be the id of a request, or how it begins');
}

/** GET /requests/choices: what the list can be narrowed to. */
export async function choices(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const rows = await keys.list(deps.db, visit.account_id);
  return {
    keys: rows.map(({ id, name, last4, revoked_at }) => {
      return { key_id: id, name, last4, revoked: revoked_at !== null };
    }),
  };
}

/** GET /requests/:request_id: everything about one. */
export async function read(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const id = (visit.params as { request_id: string }).request_id.toLowerCase();
  const row = isUuid(id) ? await deps.operations.card(id) : null;
  if (row === null || row.account_id !== visit.account_id) throw new ApiError('not_found');
  const { db, queue } = deps;
  const [status, outputs, attempts, deliveries, queue_position] = await Promise.all([
    deps.operations.status(id),
    requests.findOutputs(db, [id]),
    requests.attemptsOf(db, id),
    sent.ofRequest(db, id),
    row.status === 'IN_QUEUE' ? queue.position(row.upstream, id) : null,
  ]);
  const progress = status?.progress ?? null;
  const beside = { now: new Date(), outputs, progress, queue_position, attempts, deliveries };
  return pageDetail(row, beside, deps.links);
}
