import type { FastifyRequest } from 'fastify';
import { balance } from './api/balance.ts';
import * as callbacks from './api/callbacks.ts';
import * as chat from './api/chat.ts';
import { client } from './api/client.ts';
import type { ApiEndpoint, ApiShapes } from './api/endpoint.ts';
import type { Handler, HttpDeps, KeyedRequest, KeyedHandler } from './deps.ts';
import * as docs from './docs/index.ts';
import { estimate } from './api/estimate.ts';
import * as files from './api/files.ts';
import { guide } from './api/guide.ts';
import * as models from './api/models.ts';
import * as ops from './api/ops.ts';
import * as outputs from './api/outputs.ts';
import * as queue from './api/queue.ts';
import * as requests from './api/requests.ts';
import { at, type At, type PathParams } from './path.ts';

/**
 * The callers that a call is open to: anyone; the holder of a key; for outputs, also the holder of
 * a signed link; or only the holder of a signed address. The handler checks signatures itself.
 * `prefixed` paths are below /v1.
 */
export type Call = { method: Method; path: string; prefixed: boolean } & (
  | { who: 'anyone' | 'key_or_signature' | 'signature'; handler: Handler }
  | { who: 'key'; handler: KeyedHandler; ahead?: Ahead | undefined }
);
/** A call of the API, which the OpenAPI document describes. */
export type Route = Call & { docs: docs.RouteDocs; shapes: ApiShapes };

type Method = 'GET' | 'POST' | 'PUT';
type Row<Request> = [Method, string, docs.RouteDocs, ApiEndpoint<Request>, Ahead?];
type OpenRow = Row<FastifyRequest>;
/** Begins the call's first look-up while its key is still being checked. */
export type Ahead<Params = unknown> = (req: At<Params>, deps: HttpDeps) => void;

/** A row of a table. It compiles only if the path has the parameters that the handler needs. */
function row<const Path extends string, Request extends FastifyRequest>(
  method: Method,
  path: Path,
  about: docs.RouteDocs,
  { shapes, handle }: ApiEndpoint<Request, PathParams<Path>>,
  ahead?: Ahead<PathParams<Path>>,
): Row<Request> {
  return [
    method,
    path,
    about,
    { shapes, handle: (req, reply, deps) => handle(at(path, req), reply, deps) },
    ahead && ((req, deps) => ahead(at(path, req), deps)),
  ];
}

/** Below /v1, with a key. */
export const keyedCalls: Row<KeyedRequest>[] = [
  row('GET', '/balance', docs.balance, balance),
  row('POST', '/estimate', docs.estimate, estimate),
  row('POST', '/chat/completions', docs.chat, chat.completions),
  row('POST', '/queue/*', docs.submit, queue.submit),
  row('GET', '/requests', docs.listRequests, requests.list),
  row('GET', '/requests/:request_id', docs.readRequest, requests.read),
  row('GET', '/requests/:request_id/status', docs.status, requests.status, requests.statusAhead),
  row('GET', '/requests/:request_id/status/stream', docs.statusStream, requests.stream),
  row('GET', '/requests/:request_id/response', docs.response, requests.response),
  row('POST', '/requests/:request_id/cancel', docs.cancel, requests.cancel),
  row('PUT', '/requests/:request_id/cancel', docs.cancelPut, requests.cancel),
  row('POST', '/files', docs.upload, files.upload),
];

/** Below /v1, with a key or a signed link. */
const signed: OpenRow[] = [
  row('GET', '/requests/:request_id/output/:index', docs.output, outputs.read),
  row('GET', '/files/:file_id', docs.readFile, files.read),
];

/** Below /v1, for upstreams: the address itself is signed, and the upstream signs the call. */
const calledBack: OpenRow[] = [
  row('POST', '/callbacks/:upstream/:request_id/:attempt/:sig', docs.callback, callbacks.receive),
];

/** Below /v1, without a key. */
const open: OpenRow[] = [
  row('GET', '/models', docs.listModels, models.list),
  row('GET', '/models/*', docs.readModel, models.read),
  row('GET', '/llms.txt', docs.guide, guide),
  row('GET', '/farebox-client.tgz', docs.client, client),
  row('GET', '/openapi.json', docs.openapi, ops.openapi),
];

/** Outside /v1: for operators and supervisors. */
const health: OpenRow[] = [
  row('GET', '/livez', docs.livez, ops.livez),
  row('GET', '/readyz', docs.readyz, ops.readyz),
  row('GET', '/metrics', docs.metrics, ops.metrics),
];

/** The whole API: the router, the OpenAPI document and the authorisation test read these tables. */
export function routes(deps: HttpDeps): Route[] {
  return [
    ...bind(deps, 'anyone', true, open),
    ...keyedCalls.map(([method, path, about, { shapes, handle }, ahead]): Route => {
      const handler: KeyedHandler = (req, reply) => handle(req, reply, deps);
      return { method, path, prefixed: true, docs: about, shapes, who: 'key', handler, ahead };
    }),
    ...bind(deps, 'key_or_signature', true, signed),
    ...bind(deps, 'signature', true, calledBack),
    ...outside(deps),
  ];
}

/** Routes that a process without the API also serves. */
export function outside(deps: HttpDeps): Route[] {
  return bind(deps, 'anyone', false, health);
}

function bind(
  deps: HttpDeps,
  who: 'anyone' | 'key_or_signature' | 'signature',
  prefixed: boolean,
  table: OpenRow[],
): Route[] {
  return table.map(([method, path, about, { shapes, handle }]) => {
    const handler: Handler = (req, reply) => handle(req, reply, deps);
    return { method, path, prefixed, docs: about, shapes, who, handler };
  });
}
