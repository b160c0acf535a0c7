import type { FastifyRequest } from 'fastify';
import { balance } from './api/balance.ts';
import * as callbacks from './api/callbacks.ts';
import * as chat from './api/chat.ts';
import { client } from './api/client.ts';
import type { ApiEndpoint, ApiShapes } from './api/endpoint.ts';
import type { Handler, HttpDeps, Keyed, KeyedHandler } from './deps.ts';
import * as docs from './docs/index.ts';
import { estimate } from './api/estimate.ts';
import * as files from './api/files.ts';
import { guide } from './api/guide.ts';
import * as models from './api/models.ts';
import * as ops from './api/ops.ts';
import * as outputs from './api/outputs.ts';
import * as queue from './api/queue.ts';
import * as requests from './api/requests.ts';

/**
 * Who may call: anyone; the holder of a key; for outputs, also the holder of a signed link; or only
 * the holder of a signed address. The handler checks signatures itself. `prefixed` paths are below
 * /v1.
 */
export type Call = { method: Method; path: string; prefixed: boolean } & (
  | { who: 'anyone' | 'key_or_signature' | 'signature'; handler: Handler }
  | { who: 'key'; handler: KeyedHandler; ahead?: Ahead | undefined }
);
/** A call of the API, which the OpenAPI document describes. */
export type Route = Call & { docs: docs.RouteDocs; shapes: ApiShapes };

type Method = 'GET' | 'POST' | 'PUT';
type Row = [Method, string, docs.RouteDocs];
type OpenRow = [...Row, ApiEndpoint<FastifyRequest>];
/** Begins the call's first look-up while its key is still checked. */
export type Ahead = (req: Keyed, deps: HttpDeps) => void;

/** Below /v1, with a key. */
export const keyedCalls: [...Row, ApiEndpoint, Ahead?][] = [
  ['GET', '/balance', docs.balance, balance],
  ['POST', '/estimate', docs.estimate, estimate],
  ['POST', '/chat/completions', docs.chat, chat.completions],
  ['POST', '/queue/*', docs.submit, queue.submit],
  ['GET', '/requests', docs.listRequests, requests.list],
  ['GET', '/requests/:request_id', docs.readRequest, requests.read],
  ['GET', '/requests/:request_id/status', docs.status, requests.status, requests.statusAhead],
  ['GET', '/requests/:request_id/status/stream', docs.statusStream, requests.stream],
  ['GET', '/requests/:request_id/response', docs.response, requests.response],
  ['POST', '/requests/:request_id/cancel', docs.cancel, requests.cancel],
  ['PUT', '/requests/:request_id/cancel', docs.cancelPut, requests.cancel],
  ['POST', '/files', docs.upload, files.upload],
];

/** Below /v1, with a key or a signed link. */
const signed: OpenRow[] = [
  ['GET', '/requests/:request_id/output/:index', docs.output, outputs.read],
  ['GET', '/files/:file_id', docs.readFile, files.read],
];

/** Below /v1, for upstreams: the address itself is signed, and the upstream signs the call. */
const calledBack: OpenRow[] = [
  ['POST', '/callbacks/:upstream/:request_id/:attempt/:sig', docs.callback, callbacks.receive],
];

/** Below /v1, without a key. */
const open: OpenRow[] = [
  ['GET', '/models', docs.listModels, models.list],
  ['GET', '/models/*', docs.readModel, models.read],
  ['GET', '/llms.txt', docs.guide, guide],
  ['GET', '/farebox-client.tgz', docs.client, client],
  ['GET', '/openapi.json', docs.openapi, ops.openapi],
];

/** Outside /v1: for operators and supervisors. */
const health: OpenRow[] = [
  ['GET', '/livez', docs.livez, ops.livez],
  ['GET', '/readyz', docs.readyz, ops.readyz],
  ['GET', '/metrics', docs.metrics, ops.metrics],
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

/** Routes that a process without an API answers as well. */
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
