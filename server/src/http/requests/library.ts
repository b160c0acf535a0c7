import { ApiError } from '../../core/errors.ts';
import { addFavorite, removeFavorite } from '../../db/requests/library.ts';
import * as pages from '../../db/requests/request-pages.ts';
import { findOutputs } from '../../db/requests/requests.ts';
import { isUuid } from '../../lib/id.ts';
import { zipOf } from '../../storage/zip.ts';
import { sessionEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { storedHeaders } from '../api/stored.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import type { SessionRequest, WebDeps } from '../session/session-request.ts';
import { entryOf, RequestEntry } from './views.ts';
import type { FileDeps } from '../deps.ts';

/** The library of an account: everything that its jobs have made, on the web pages. */

/** More words make a search no better. */
const wordsMax = 8;

/** GET /library: completed jobs, newest first. */
export const list = sessionEndpoint(
  {
    query: s.form({
      q: s.optional(s.text('Words that the prompt has, in any order.', { maxLength: 200 })),
      kind: s.optional(s.choice(['image', 'video'])),
      model_id: s.optional(s.text('Only of this model.', { maxLength: 300 })),
      from: s.optional(s.moment('Created at this time or later.')),
      to: s.optional(s.moment('Created before this time.')),
      favorites: s.optional(s.boolean('True: only favorites.')),
      limit: s.pageQuery(60).limit,
      cursor: s.optional(s.cursor()),
    }),
    reply: s.named(
      'LibraryPage',
      s.pageWith(RequestEntry, {
        looked_to: s.nullable(
          s.time(
            'Time of the last request searched, if the search ended before the page was full.',
          ),
        ),
      }),
    ),
  },
  async ({ req, query }, { db, links }) => {
    const { q = '', kind, model_id = null, from, to, favorites = false } = query;
    const words = q.normalize('NFC').split(/\s+/).filter(Boolean).slice(0, wordsMax);
    const filter: pages.PageFilter = {
      ...pages.anyRequest,
      account_id: req.account_id,
      status: 'COMPLETED',
      model_id,
      ...(kind && { kinds: [kind] }),
      from_ms: from === undefined ? null : Date.parse(from),
      to_ms: to === undefined ? null : Date.parse(to),
      library: { words, favorites },
    };
    const bounds = { below_id: query.cursor ?? null, limit: query.limit };
    const page = await pages.pageBelow(db, filter, bounds);
    const rows = await pages.findEntries(db, page.ids, [req.account_id]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return {
      data: page.ids.flatMap((id) => byId.get(id) ?? []).map((row) => entryOf(row, links)),
      next_cursor: pages.nextBehind(page),
      looked_to: page.reached?.created_at ?? null,
    };
  },
);

/** An account may mark this many requests. */
const favoritesMax = 10_000;
const Favorite = s.object({ favorite: s.boolean() });

/** PUT /requests/:request_id/favorite: marks a job of the account, on all its people's devices. */
export const mark = sessionEndpoint(
  { params: ['request_id'], reply: Favorite },
  async ({ req, params }, deps) => {
    const request_id = await ownJob(req, params.request_id, deps);
    const { account_id } = req;
    if (!(await addFavorite(deps.db, { account_id, request_id }, favoritesMax)))
      throw new ApiError('bad_request', {
        message: `An account may have ${favoritesMax} favorites. Remove one first.`,
      });
    deps.hints.tellChanged([request_id]);
    return { favorite: true };
  },
);

/** DELETE /requests/:request_id/favorite */
export const unmark = sessionEndpoint(
  { params: ['request_id'], reply: Favorite },
  async ({ req, params }, deps) => {
    const request_id = await ownJob(req, params.request_id, deps);
    await removeFavorite(deps.db, { account_id: req.account_id, request_id });
    deps.hints.tellChanged([request_id]);
    return { favorite: false };
  },
);

async function ownJob(req: SessionRequest, text: string, deps: WebDeps): Promise<string> {
  const id = requireId(text);
  const row = await deps.operations.status(id);
  if (row?.account_id !== req.account_id || row.kind === 'text') throw new ApiError('not_found');
  return id;
}

/** Many ids must fit into one address. */
const zippedMax = 100;
const idsForm = /^[0-9a-f-]{36}(?:,[0-9a-f-]{36})*$/;

/** GET /library/zip: the kept outputs of these requests in one file, as it is read from storage. */
export const zip = sessionEndpoint(
  { query: s.form({ ids: s.text(`At most ${zippedMax} ids of requests, with commas between.`) }) },
  async ({ req, reply, query }, deps: FileDeps) => {
    const ids = idsForm.test(query.ids) ? query.ids.split(',') : [];
    if (ids.length === 0 || ids.length > zippedMax || !ids.every(isUuid))
      throw badField('ids', `1 to ${zippedMax} ids of requests, with commas between`);
    const entries = await pages.findEntries(deps.db, ids, [req.account_id]);
    const kept = new Map(
      entries.filter(({ kept: outputs }) => outputs !== null).map((row) => [row.id, row]),
    );
    const outputs = await findOutputs(deps.db, [...kept.keys()]);
    if (outputs.length === 0) throw new ApiError('expired');
    const files = outputs.map((output) => {
      const { prompt, completed_at } = kept.get(output.request_id)!;
      return { ...output, prompt: prompt ?? '', at: completed_at! };
    });
    const { size, stream } = zipOf(files, deps.storage);
    return reply
      .headers({
        ...storedHeaders,
        'content-type': 'application/zip',
        'content-length': String(size),
        'content-disposition': 'attachment; filename="library.zip"',
        'cache-control': 'private, no-store',
      })
      .send(stream);
  },
);
