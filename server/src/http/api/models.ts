import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Catalog } from '../../core/catalog/catalog.ts';
import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import { ApiError } from '../../core/errors.ts';
import { unknownModel } from '../../core/catalog/find-model.ts';
import { hashKey, parseAuthorization } from '../../core/account/key.ts';
import { findModels } from '../../db/accounts/keys.ts';
import { keyHeaders } from '../auth.ts';
import type { RunTimes } from '../../operations/upstreams/run-times.ts';
import { listPpm } from '../../core/price/rates.ts';
import { sendCached } from './cached.ts';
import type { CallDeps, CatalogDeps, RequestDeps } from '../deps.ts';
import * as s from '../schemas/schema.ts';
import { openEndpoint } from '../endpoint.ts';
import { KindName, Model, ModelList } from './model-schema.ts';

const type = 'application/json; charset=utf-8';

/** Replies made from a catalog and its run times, once per version of both. */
interface RenderedModels {
  times: RunTimes;
  version: string;
  list: string;
  entries: Map<string, string>;
}

let rendered: WeakMap<Catalog, RenderedModels> = new WeakMap();

async function render({ catalog: current, runTimes }: CatalogDeps): Promise<RenderedModels> {
  const catalog = current();
  const times = await runTimes();
  const known = rendered.get(catalog);
  if (known?.times === times) return known;
  const entries = new Map<string, string>();
  for (const model of catalog.models.values()) {
    const seconds = times.get(model.id) ?? null;
    const entry: s.Static<typeof Model> = catalogEntry(model, listPpm, seconds);
    entries.set(model.id, JSON.stringify(entry));
  }
  const list = listOf([...entries.values()]);
  const made = { times, version: tagOf(list), list, entries };
  rendered.set(catalog, made);
  return made;
}

function tagOf(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}

function listOf(entries: string[]): string {
  return `{"object":"list","data":[${entries.join(',')}]}`;
}

const listShapes = { query: s.object({ kind: s.optional(KindName) }), written: ModelList };

/** GET /models?kind=: a key that is limited to some models gets only those. */
export const list = openEndpoint(listShapes, async ({ req, reply, query }, deps: RequestDeps) => {
  const { models } = deps.catalog();
  const { version, list: whole, entries } = await render(deps);
  const { kind = null } = query;
  const allowed = await allowedModels(req, deps);
  // Without this header a cache could give one caller's list to another.
  reply.header('vary', 'authorization, x-api-key');
  if (kind === null && allowed === null)
    return sendCached(req, reply, { etag: version, type, body: whole });
  const shown = [...models.values()].filter(
    ({ id, kind: of }) => (kind ?? of) === of && (allowed?.includes(id) ?? true),
  );
  const body = listOf(shown.map(({ id }) => entries.get(id)!));
  if (allowed === null) return sendCached(req, reply, { etag: version, type, body });
  return sendCached(req, reply, { etag: tagOf(body), type, body, isPrivate: true });
});

/**
 * The models that the key is limited to; null: all. The call needs no key, so an unknown key is no
 * error.
 */
async function allowedModels(req: FastifyRequest, { db }: CallDeps): Promise<string[] | null> {
  const key = parseAuthorization(keyHeaders(req));
  return key === null ? null : findModels(db, hashKey(key));
}

/** GET /models/{model_id} */
export const read = openEndpoint(
  { params: ['*'], written: Model },
  async ({ req, reply }, deps: CatalogDeps) => {
    const id = req.params['*'];
    const { version, entries } = await render(deps);
    const body = entries.get(id);
    if (body === undefined)
      throw new ApiError('not_found', {
        ...unknownModel(id, deps.catalog(), 'GET /v1/models lists them.'),
      });
    return sendCached(req, reply, { etag: version, type, body });
  },
);
