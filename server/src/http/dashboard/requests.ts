import { ApiError } from '../../core/errors.ts';
import { isCallerId } from '../../core/request/call-number.ts';
import { readMetadata, type Metadata } from '../../core/request/metadata.ts';
import * as sent from '../../db/requests/deliveries.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as pages from '../../db/requests/request-pages.ts';
import * as requests from '../../db/requests/requests.ts';
import * as requestLists from '../../db/requests/request-lists.ts';
import { findCharge } from '../../ledger/bookings.ts';
import { firstId, isUuid, lastId } from '../../lib/id.ts';
import { livingKeysMax } from '../../operations/accounts/key.ts';
import { StatusName } from '../api/request-schema.ts';
import {
  boolean,
  id,
  list as listOf,
  moment,
  named,
  nullable,
  object,
  optional,
  pageQuery,
  text,
  time,
  type Static,
} from '../schemas/schema.ts';
import { visitEndpoint } from '../endpoint.ts';
import type { WebDeps } from '../session/visit.ts';
import { badField } from '../schemas/validate.ts';
import { detailOf, entryOf, RequestDetail, RequestEntry } from './views.ts';

const PageQuery = object({
  status: optional(StatusName),
  model_id: optional(text(undefined, { maxLength: 300 })),
  key_id: optional(id()),
  metadata: optional(text('Only requests with this pair: NAME=VALUE.', { maxLength: 600 })),
  from: optional(moment()),
  to: optional(moment()),
  id: optional(text('A request id, its beginning, or a number of its call.', { maxLength: 300 })),
  before: optional(id('A request id; the reply has the requests before it (older ones).')),
  after: optional(id('A request id; the reply has the requests after it (newer ones).')),
  limit: pageQuery(25).limit,
});

/** GET /requests: a page of the account's requests, newest first. */
export const list = visitEndpoint(
  {
    query: PageQuery,
    reply: named(
      'RequestPage',
      object({
        data: listOf(RequestEntry),
        older: nullable(id('`before` of the page with older requests; null: there is none.')),
        newer: nullable(id('`after` of the page with newer requests; null: there is none.')),
        looked_to: nullable(
          time('Time of the last request searched, if the search ended before the page was full.'),
        ),
      }),
    ),
  },
  async ({ query, req }, deps) => {
    const { limit, before = null, after = null } = query;
    if (before !== null && after !== null) throw badField('after', 'left out if before is given');
    const pageOf = (filter: pages.PageFilter) =>
      after === null
        ? pageBelow(filter, before, limit, deps)
        : pageAbove(filter, after, limit, deps);
    const filter = filterOf(query, req.account_id);
    const found = await pageOf(filter);
    // A number of the caller's may look like the beginning of an id.
    const other = found.ids.length === 0 && filter.call_id === null ? query.id?.trim() : undefined;
    const { ids, more, reached, isTop } =
      other === undefined ? found : await pageOf({ ...filter, ...byCall(other) });
    const rows = new Map(
      (await pages.findEntries(deps.db, ids, [req.account_id])).map((row) => [row.id, row]),
    );
    return {
      data: ids.flatMap((id) => rows.get(id) ?? []).map((row) => entryOf(row, deps.links)),
      older: more ? (ids.at(-1) ?? null) : (reached?.id ?? null),
      newer: isTop ? null : (ids[0] ?? before),
      looked_to: reached?.created_at ?? null,
    };
  },
);

interface Found extends pages.Page {
  /** There is nothing newer. */
  isTop: boolean;
}

async function pageBelow(
  filter: pages.PageFilter,
  below_id: string | null,
  limit: number,
  { db }: Pick<WebDeps, 'db'>,
): Promise<Found> {
  const page = await pages.pageBelow(db, filter, { below_id, limit });
  return { ...page, isTop: below_id === null };
}

async function pageAbove(
  filter: pages.PageFilter,
  above_id: string,
  limit: number,
  { db }: Pick<WebDeps, 'db'>,
): Promise<Found> {
  const bounds = { above_id, limit: limit + 1 };
  const ids = await pages.idsAbove(db, filter, bounds);
  // If all newer requests fit on a page, the reply is the first page.
  if (ids.length <= limit) return pageBelow(filter, null, limit, { db });
  return { ids: ids.slice(0, limit).toReversed(), more: true, reached: null, isTop: false };
}

function filterOf(query: Static<typeof PageQuery>, account_id: string): pages.PageFilter {
  const { status = null, model_id = null, key_id = null, from, to } = query;
  const from_ms = from === undefined ? null : Date.parse(from);
  const to_ms = to === undefined ? null : Date.parse(to);
  const metadata = pairOf(query.metadata);
  return { account_id, status, model_id, key_id, metadata, from_ms, to_ms, ...idsOf(query.id) };
}

function pairOf(given: string | undefined): Metadata | null {
  if (given === undefined) return null;
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(given) ?? [];
  if (name === undefined) throw badField('metadata', 'NAME=VALUE');
  return readMetadata({ [name]: value }, 'metadata');
}

type Named = Pick<pages.PageFilter, 'first_id' | 'last_id' | 'call_id'>;

/** The range of all ids that begin with the given text; for any other text, a number of a call. */
function idsOf(given: string | undefined): Named {
  if (given === undefined) return { first_id: null, last_id: null, call_id: null };
  const text = given.trim().toLowerCase();
  const first_id = `${text}${firstId.slice(text.length)}`;
  const last_id = `${text}${lastId.slice(text.length)}`;
  if (text.length <= 36 && isUuid(first_id) && isUuid(last_id))
    return { first_id, last_id, call_id: null };
  if (isCallerId(given.trim())) return byCall(given.trim());
  const rule = 'the id of a request, its beginning, or the number of a call';
  throw badField('id', rule, { reason: 'request_id_invalid' });
}

function byCall(call_id: string): Named {
  return { first_id: null, last_id: null, call_id };
}

/**
 * GET /requests/choices: the values by which the list can be filtered: all unrevoked keys, the
 * studio's too, and as many of the newest revoked ones.
 */
export const choices = visitEndpoint(
  {
    reply: object({
      keys: listOf(
        named('KeyName', object({ key_id: id(), name: text(), last4: text(), revoked: boolean() })),
      ),
    }),
  },
  async ({ req }, { db }) => {
    return { keys: await keys.names(db, req.account_id, livingKeysMax + 1) };
  },
);

/** GET /requests/:request_id: everything about one request. */
export const read = visitEndpoint(
  { params: ['request_id'], reply: RequestDetail },
  async ({ req, params }, deps) => {
    const id = params.request_id.toLowerCase();
    const row = isUuid(id) ? await deps.operations.card(id) : null;
    if (row === null || row.account_id !== req.account_id) throw new ApiError('not_found');
    const { db, queue } = deps;
    const [status, outputs, attempts, deliveries, queue_position, charge] = await Promise.all([
      deps.operations.status(id),
      requests.findOutputs(db, [id]),
      requestLists.attemptsOf(db, id),
      sent.newestOf(db, id),
      row.status === 'IN_QUEUE' ? queue.position(row.upstream, id) : null,
      findCharge(db, id),
    ]);
    const progress = status?.progress ?? null;
    const refunded_usd_micro = charge?.refunded ?? 0n;
    const beside = { outputs, progress, queue_position, attempts, deliveries, refunded_usd_micro };
    return detailOf(row, beside, deps.links);
  },
);
