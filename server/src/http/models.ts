import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog, Model } from '../core/catalog.ts';
import { catalogEntry } from '../core/catalog-entry.ts';
import { ApiError } from '../core/errors.ts';
import { cached } from './cached.ts';
import type { HttpDeps } from './deps.ts';

const type = 'application/json; charset=utf-8';

/** Texts of the newest catalog, made once a version. */
interface Rendered {
  version: string;
  list: string;
  entries: Map<string, string>;
}

let rendered: WeakMap<Catalog, Rendered> = new WeakMap();

function render(catalog: Catalog): Rendered {
  const known = rendered.get(catalog);
  if (known) return known;
  const entries = new Map<string, string>();
  for (const model of catalog.models.values())
    entries.set(model.id, JSON.stringify(catalogEntry(model)));
  const list = `{"object":"list","data":[${[...entries.values()].join(',')}]}`;
  const made = { version: `"${catalog.version}"`, list, entries };
  rendered.set(catalog, made);
  return made;
}

/** GET /models */
export async function list(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<unknown> {
  const { version, list: body } = render(deps.catalog());
  return cached(req, reply, { etag: version, type, body });
}

/** GET /models/{model_id} */
export async function read(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<unknown> {
  const id = (req.params as { '*': string })['*'];
  const { version, entries } = render(deps.catalog());
  const body = entries.get(id);
  if (body === undefined)
    throw new ApiError('not_found', {
      message: `There is no model "${id.slice(0, 200)}". GET /v1/models lists them.`,
    });
  return cached(req, reply, { etag: version, type, body });
}

/** The row a call names. Throws `unknown_model`. */
export function findModel(deps: HttpDeps, id: unknown): Model {
  const model = typeof id === 'string' ? deps.catalog().models.get(id) : undefined;
  if (model) return model;
  const named =
    typeof id === 'string'
      ? `No model has the id "${id.slice(0, 200)}".`
      : 'The model id is missing.';
  throw new ApiError('unknown_model', {
    message: `${named} GET /v1/models lists the ids, to be used exactly as listed.`,
    param: 'model_id',
  });
}
