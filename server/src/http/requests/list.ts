import { Readable } from 'node:stream';
import { failures } from '../../core/errors.ts';
import { formatUsd } from '../../core/price/money.ts';
import type { Kind } from '../../core/catalog/catalog.ts';
import { callerIdMax, isCallerId } from '../../core/request/call-number.ts';
import { metadataAsked, readMetadata, type Metadata } from '../../core/request/metadata.ts';
import { statuses, type Status } from '../../core/request/request.ts';
import { listEntry } from '../../core/request/line.ts';
import { withMargins, type MarginRow } from '../../db/requests/margins.ts';
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
import { keyedEndpoint, operatorEndpoint, sessionEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { RequestList, StatusName } from './schema.ts';
import { AnyRequest, entryOf, marginOf, RequestEntry } from './views.ts';
import type { CallDeps } from '../deps.ts';

/** The lists of requests, newest first: for a key, for people of an account, for the operator. */

/** Rows that an export reads at a time. */
const exportRows = 500;

const momentForms =
  'an ISO 8601 date, or a time with `Z` or an offset (write `+` as `%2B`): `2026-01-31`, ' +
  '`2026-01-31T00:00:00Z`.';

const callId = s.text(
  'Only requests of the call with this number: `call_id`, that of a repeat, or `caller_id`.',
  { maxLength: callerIdMax },
);

const filters = {
  status: s.optional(StatusName),
  model_id: s.optional(s.text('Only requests of this model.', { maxLength: 300 })),
  key_id: s.optional(s.id('Only requests made with this key.')),
  person_id: s.optional(s.id('Only requests of this person, who was signed in.')),
  from: s.optional(s.moment(`Only requests created at this moment or later: ${momentForms}`)),
  to: s.optional(s.moment(`Only requests created before this moment: ${momentForms}`)),
};

interface ListQuery {
  status?: Status;
  error_code?: string;
  model_id?: string;
  key_id?: string;
  person_id?: string;
  upstream?: string;
  kind?: Kind;
  call_id?: string;
  from?: string;
  to?: string;
}

/** `account_id`: null for all accounts. */
function filterOf(account_id: string | null, asked: ListQuery): pages.PageFilter {
  const { status = null, model_id = null, key_id = null, from, to } = asked;
  const { upstream = null, error_code = null, kind } = asked;
  return {
    ...pages.anyRequest,
    account_id,
    status,
    model_id,
    key_id,
    person_id: asked.person_id ?? null,
    upstream,
    error_code,
    ...(kind && { kinds: [kind] }),
    call_id: asked.call_id?.trim() ?? null,
    from_ms: from === undefined ? null : Date.parse(from),
    to_ms: to === undefined ? null : Date.parse(to),
  };
}

export const metadataQuery = s.object({
  'metadata.NAME': s.optional(
    s.text('Only requests whose metadata has this value under NAME; several names may be given.', {
      maxLength: 512,
    }),
  ),
});

/** GET /requests, with a key. */
export const list = keyedEndpoint(
  {
    query: s.form({ ...filters, call_id: s.optional(callId), ...s.pageQuery(20) }),
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

const ofAll = {
  account_id: s.optional(s.text('Only of this account.')),
  status: s.optional(s.choice(statuses, 'Only in this state.')),
  error_code: s.optional(s.choice(keysOf(failures), 'Only failed with this code.')),
  kind: s.optional(KindName),
  model_id: s.optional(s.text('Only of this model.', { maxLength: 300 })),
  key_id: s.optional(s.text('Only of this key.')),
  upstream: s.optional(s.text('Only at this upstream.', { maxLength: 300 })),
  call_id: s.optional(callId),
  from: s.optional(s.moment('Submitted at this time or later.')),
  to: s.optional(s.moment('Submitted before this time.')),
};

function filterOfAll({
  account_id: account,
  key_id: key,
  ...asked
}: ListQuery & { account_id?: string }): pages.PageFilter {
  const key_id = key === undefined ? {} : { key_id: requireId(key) };
  return filterOf(account === undefined ? null : requireId(account), { ...asked, ...key_id });
}

/** GET /operator/requests: requests of all accounts. */
export const listAll = operatorEndpoint(
  { query: s.form({ ...ofAll, ...s.pageQuery(25) }), reply: s.pageOf(AnyRequest) },
  ({ query }, { db }) => marginPage(db, filterOfAll(query), query),
);

/** GET /operator/requests/export: all that match, newest first, sent while they are read. */
export const exportAll = operatorEndpoint(
  { query: s.form(ofAll) },
  async ({ req, reply, query }, { db }) => {
    const filter = filterOfAll(query);
    reply
      .type('text/csv; charset=utf-8; header=present')
      .header('content-disposition', 'attachment; filename="farebox-requests.csv"');
    if (req.method === 'HEAD') return reply.send();
    // Text is made only when the reader takes it, so a slow reader holds no memory and no database
    // connection.
    return reply.send(Readable.from(csvOf(filter, db), { highWaterMark: 1 }));
  },
);

type ExportedRow = ReturnType<typeof marginOf<MarginRow>>;
const usd = (micro: bigint | null) => micro && formatUsd(micro);

const exported: [name: string, cell: (row: ExportedRow) => Cell][] = [
  ['request_id', (row) => row.request_id],
  ['created_utc', (row) => row.created_at.toISOString()],
  ['completed_utc', (row) => row.completed_at && row.completed_at.toISOString()],
  ['account_id', (row) => row.account_id],
  ['email', (row) => row.email],
  ['key_id', (row) => row.key_id],
  ['model_id', (row) => row.model_id],
  ['kind', (row) => row.kind],
  ['upstream', (row) => row.upstream],
  ['status', (row) => row.status],
  ['error_code', (row) => row.error_code],
  ['quoted_usd', (row) => usd(row.quoted_usd_micro)],
  ['charged_usd', (row) => usd(row.charged_usd_micro)],
  ['refunded_usd', (row) => usd(row.refunded_usd_micro)],
  ['cost_usd', (row) => usd(row.cost_usd_micro)],
  ['margin_usd', (row) => usd(row.margin_usd_micro)],
  ['call_id', (row) => row.call_id],
  ['caller_id', (row) => row.caller_id],
];

/** Each statement reads no more than those of a page do. */
async function* csvOf(filter: pages.PageFilter, db: Database): AsyncGenerator<string> {
  yield csvLine(exported.map(([name]) => name));
  let cursor: string | undefined;
  do {
    const { data, next_cursor } = await marginPage(db, filter, { cursor, limit: exportRows });
    yield data.map((row) => csvLine(exported.map(([, cell]) => cell(row)))).join('');
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
}

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
export const listOwn = sessionEndpoint(
  {
    query: s.form({
      ...filters,
      metadata: s.optional(s.text('Only requests with this pair: NAME=VALUE.', { maxLength: 600 })),
      id: s.optional(
        s.text('A request id, its beginning, or a number of its call.', { maxLength: 300 }),
      ),
      limit: s.pageQuery(25).limit,
      cursor: s.optional(s.text(undefined, { pattern: cursorForm.source, rule: s.cursorRule })),
    }),
    reply: s.named(
      'RequestPage',
      s.pageWith(RequestEntry, {
        previous_cursor: s.nullable(s.text('The `cursor` of the page with newer requests.')),
        looked_to: s.nullable(
          s.time(
            'Time of the last request searched, if the search ended before the page was full.',
          ),
        ),
      }),
    ),
  },
  async ({ query: { id: asked, limit, cursor = null, ...query }, req }, { db, links }) => {
    const turned = cursor?.startsWith('-') ? cursor.slice(1) : null;
    const pageFor = (filter: pages.PageFilter) =>
      turned === null ? pageBelow(db, filter, cursor, limit) : pageAbove(db, filter, turned, limit);
    const metadata = pairOf(query.metadata);
    const filter = { ...filterOf(req.account_id, query), metadata, ...requireIds(asked) };
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
function requireIds(given: string | undefined): IdRange {
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
export const choices = sessionEndpoint(
  {
    reply: s.object({
      keys: s.list(
        s.namedObject('KeyName', {
          key_id: s.id(),
          name: s.text(),
          last4: s.text(),
          revoked: s.boolean(),
        }),
      ),
      people: s.list(
        s.namedObject('PersonName', { person_id: s.id(), name: s.text(), email: s.text() }),
        'The people of the account.',
      ),
    }),
  },
  async ({ req }, { db }) => {
    const [named, people] = await Promise.all([
      keys.listNames(db, req.account_id, livingKeysMax + 1),
      members.list(db, req.account_id),
    ]);
    return { keys: named, people };
  },
);
