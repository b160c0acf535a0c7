import { Readable } from 'node:stream';
import { failures } from '../../core/errors.ts';
import { formatUsd } from '../../core/price/money.ts';
import type { Kind } from '../../core/catalog/catalog.ts';
import { callerIdMax, isCallerId } from '../../core/request/call-number.ts';
import { metadataAsked, readMetadata, type Metadata } from '../../core/request/metadata.ts';
import { statuses, type Status } from '../../core/request/request.ts';
import { listEntry } from '../../core/request/line.ts';
import { withMargins, type MarginRow } from '../../db/accounts/margins.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as members from '../../db/accounts/members.ts';
import * as pages from '../../db/requests/request-pages.ts';
import * as requestLists from '../../db/requests/request-lists.ts';
import { csvLine, type Cell } from '../../lib/csv.ts';
import { firstId, isUuid, lastId } from '../../lib/id.ts';
import { objectOf } from '../../lib/json.ts';
import { keysOf } from '../../lib/records.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { livingKeysMax } from '../../operations/accounts/key.ts';
import { KindName } from '../api/model-schema.ts';
import { keyedEndpoint, operatorEndpoint, visitEndpoint } from '../endpoint.ts';
import { idOf } from '../form.ts';
import {
  boolean,
  choice,
  cursorRule,
  form,
  id,
  list as listOf,
  moment,
  named,
  nullable,
  object,
  optional,
  pageOf,
  pageQuery,
  pageWith,
  text,
  time,
} from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { RequestList, StatusName } from './schema.ts';
import { AnyRequest, entryOf, marginOf, RequestEntry } from './views.ts';
import type { CallDeps } from '../deps.ts';

/** The lists of requests, newest first: for a key, for people of an account, for the operator. */

const momentForms =
  'an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, ' +
  '`2026-01-31T00:00:00Z`.';

const callId = text(
  'Only requests of the call with this number: `call_id`, that of a repeat, or `caller_id`.',
  { maxLength: callerIdMax },
);

const filters = {
  status: optional(StatusName),
  model_id: optional(text('Only requests of this model.', { maxLength: 300 })),
  key_id: optional(id('Only requests made with this key.')),
  from: optional(moment(`Only requests created at this moment or later: ${momentForms}`)),
  to: optional(moment(`Only requests created before this moment: ${momentForms}`)),
};

interface ListQuery {
  status?: Status;
  model_id?: string;
  key_id?: string;
  upstream?: string;
  call_id?: string;
  from?: string;
  to?: string;
}

/** `account_id`: null for all accounts. */
function filterOf(account_id: string | null, asked: Asked): pages.PageFilter {
  const { status = null, model_id = null, key_id = null, upstream = null, from, to } = asked;
  return {
    ...pages.anyRequest,
    account_id,
    status,
    model_id,
    key_id,
    upstream,
    call_id: asked.call_id?.trim() ?? null,
    from_ms: from === undefined ? null : Date.parse(from),
    to_ms: to === undefined ? null : Date.parse(to),
  };
}

export const metadataQuery = object({
  'metadata.NAME': optional(
    text('Only requests whose metadata has this value under NAME; several names may be given.', {
      maxLength: 512,
    }),
  ),
});

/** GET /requests, with a key. */
export const list = keyedEndpoint(
  {
    query: form({ ...filters, call_id: optional(callId), ...pageQuery(20) }),
    rawQuery: metadataQuery,
    reply: RequestList,
  },
  async ({ req, query }, deps: CallDeps) => {
    if (query.model_id === '')
      throw badField('model_id', 'the id of a model, as GET /v1/models lists it');
    const metadata = metadataAsked(objectOf(req.query));
    const filter = { ...filterOf(req.caller.account_id, query), metadata };
    const bounds = { below_id: query.cursor ?? null, limit: query.limit };
    const { rows, next } = await requestLists.list(deps.db, filter, bounds);
    return { data: rows.map((row) => listEntry(row, deps.links)), next_cursor: next };
  },
);

/** GET /operator/requests: requests of all accounts. */
export const listAll = operatorEndpoint(
  {
    query: form({
      account_id: optional(text('Only of this account.')),
      status: optional(choice(statuses, 'Only in this state.')),
      model_id: optional(text('Only of this model.', { maxLength: 300 })),
      key_id: optional(text('Only of this key.')),
      upstream: optional(text('Only at this upstream.', { maxLength: 300 })),
      call_id: optional(callId),
      from: optional(moment('Submitted at this time or later.')),
      to: optional(moment('Submitted before this time.')),
      ...pageQuery(25),
    }),
    reply: pageOf(AnyRequest),
  },
  ({ query: { account_id, key_id, ...query } }, { db }) => {
    const account = account_id === undefined ? null : idOf(account_id);
    const filter = filterOf(account, query);
    return marginPage(
      db,
      key_id === undefined ? filter : { ...filter, key_id: idOf(key_id) },
      query,
    );
  },
);

async function marginPage(
  db: Database,
  filter: pages.PageFilter,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
) {
  const page = await pages.pageBelow(db, filter, { below_id: cursor ?? null, limit });
  const rows = await withMargins(db, page.ids);
  return { data: rows.map(marginOf), next_cursor: pages.nextBehind(page) };
}

/** A request's id: the page below it; with a minus before it, the page above it. */
const cursorForm = /^-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** GET /requests of the pages. Its list can also be turned back to newer requests. */
export const listOwn = visitEndpoint(
  {
    query: form({
      ...filters,
      metadata: optional(text('Only requests with this pair: NAME=VALUE.', { maxLength: 600 })),
      id: optional(
        text('A request id, its beginning, or a number of its call.', { maxLength: 300 }),
      ),
      limit: pageQuery(25).limit,
      cursor: optional(text(undefined, { pattern: cursorForm.source, rule: cursorRule })),
    }),
    reply: named(
      'RequestPage',
      pageWith(RequestEntry, {
        previous_cursor: nullable(text('The `cursor` of the page with newer requests.')),
        looked_to: nullable(
          time('Time of the last request searched, if the search ended before the page was full.'),
        ),
      }),
    ),
  },
  async ({ query: { id: asked, limit, cursor = null, ...query }, req }, { db, links }) => {
    const turned = cursor?.startsWith('-') ? cursor.slice(1) : null;
    const pageFor = (filter: pages.PageFilter) =>
      turned === null ? pageBelow(db, filter, cursor, limit) : pageAbove(db, filter, turned, limit);
    const metadata = pairOf(query.metadata);
    const filter = { ...filterOf(req.account_id, query), metadata, ...idsOf(asked) };
    const found = await pageFor(filter);
    // A number of the caller's may look like the beginning of an id.
    const other = found.ids.length === 0 && filter.call_id === null ? asked?.trim() : undefined;
    const page = other === undefined ? found : await pageFor({ ...filter, ...byCall(other) });
    const entries = await pages.findEntries(db, page.ids, [req.account_id]);
    const rows = new Map(entries.map((row) => [row.id, row]));
    const newest = page.ids[0] ?? cursor;
    return {
      data: page.ids.flatMap((each) => rows.get(each) ?? []).map((row) => entryOf(row, links)),
      next_cursor: pages.nextBehind(page),
      previous_cursor: page.isTop ? null : `-${newest}`,
      looked_to: page.reached?.created_at ?? null,
    };
  },
);

interface TurnedPage extends pages.RequestIdPage {
  /** There is nothing newer. */
  isTop: boolean;
}

async function pageBelow(
  db: Database,
  filter: pages.PageFilter,
  below_id: string | null,
  limit: number,
): Promise<TurnedPage> {
  const page = await pages.pageBelow(db, filter, { below_id, limit });
  return { ...page, isTop: below_id === null };
}

async function pageAbove(
  db: Database,
  filter: pages.PageFilter,
  above_id: string,
  limit: number,
): Promise<TurnedPage> {
  const ids = await pages.listIdsAbove(db, filter, { above_id, limit: limit + 1 });
  // If all newer requests fit on a page, the reply is the first page.
  if (ids.length <= limit) return pageBelow(db, filter, null, limit);
  return { ids: ids.slice(0, limit).toReversed(), more: true, reached: null, isTop: false };
}

function pairOf(given: string | undefined): Metadata | null {
  if (given === undefined) return null;
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(given) ?? [];
  if (name === undefined) throw badField('metadata', 'NAME=VALUE');
  return readMetadata({ [name]: value }, 'metadata');
}

type IdRange = Pick<pages.PageFilter, 'first_id' | 'last_id' | 'call_id'>;

/** The range of all ids that begin with the given text; for any other text, a number of a call. */
function idsOf(given: string | undefined): IdRange {
  if (given === undefined) return { first_id: null, last_id: null, call_id: null };
  const start = given.trim().toLowerCase();
  const first_id = `${start}${firstId.slice(start.length)}`;
  const last_id = `${start}${lastId.slice(start.length)}`;
  if (start.length <= 36 && isUuid(first_id) && isUuid(last_id))
    return { first_id, last_id, call_id: null };
  if (isCallerId(given.trim())) return byCall(given.trim());
  const rule = 'the id of a request, its beginning, or the number of a call';
  throw badField('id', rule, { reason: 'request_id_invalid' });
}

function byCall(call_id: string): IdRange {
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
