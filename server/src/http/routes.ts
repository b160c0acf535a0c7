import type { FastifyRequest } from 'fastify';
import type { KeyScope, Scope } from '../core/account/scope.ts';
import { balance } from './api/balance.ts';
import * as callbacks from './api/callbacks.ts';
import * as completions from './api/chat/completions.ts';
import { client } from './api/client.ts';
import * as deposits from './api/deposits.ts';
import type { ApiEndpoint, ApiShapes } from './api/endpoint.ts';
import { ofCall } from './database-share.ts';
import type {
  Handler,
  HttpDeps,
  KeyedHandler,
  KeyedRequest,
  OperatorHandler,
  OperatorRequest,
} from './deps.ts';
import * as docs from './docs/index.ts';
import { run as falRun } from './fal/run.ts';
import { estimate } from './api/estimate.ts';
import * as files from './api/files.ts';
import { guide } from './api/guide.ts';
import * as images from './api/images/images.ts';
import * as keys from './api/keys.ts';
import * as messages from './api/chat/messages.ts';
import * as models from './api/models.ts';
import * as ops from './api/ops.ts';
import * as outputs from './api/outputs.ts';
import * as queue from './api/queue.ts';
import * as requests from './api/requests.ts';
import * as responses from './api/chat/responses.ts';
import { usage } from './api/usage.ts';
import * as api from './operator/api/index.ts';
import { at, type At, type PathParams } from './path.ts';

/**
 * `who` may make the call. `key` and `operator`: the holder of such a key with this scope.
 * `key_or_signature`: the holder of any key, or of a signed address. `signature`: only the holder
 * of a signed address. The handler checks signatures itself. `prefixed` paths are below /v1.
 */
export type Call = { method: Method; path: string; prefixed: boolean } & (
  | { who: 'anyone' | 'key_or_signature' | 'signature'; handler: Handler }
  | { who: 'key'; scope: KeyScope; handler: KeyedHandler; ahead?: Ahead | undefined }
  | { who: 'operator'; scope: Scope; handler: OperatorHandler }
);
/** A call of the API, which the OpenAPI document describes. */
export type Route = Call & {
  docs: docs.RouteDocs;
  shapes: ApiShapes;
  /** The session of a signed-in person can also make it, without a key. */
  bySession?: boolean;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
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

/** Below /v1, with a key of scope `spend`, or for the pages with a session. */
export const keyedCalls: Row<KeyedRequest>[] = [
  row('GET', '/balance', docs.balance, balance),
  row('GET', '/deposit-addresses', docs.depositAddresses, deposits.addresses),
  row('GET', '/deposits', docs.listDeposits, deposits.list),
  row('POST', '/estimate', docs.estimate, estimate),
  row('POST', '/chat/completions', docs.chat, completions.create),
  row('POST', '/queue/*', docs.submit, queue.submit),
  row('GET', '/requests', docs.listRequests, requests.list),
  row('GET', '/requests/:request_id', docs.readRequest, requests.read),
  row('GET', '/requests/:request_id/status', docs.status, requests.status, requests.statusAhead),
  row('GET', '/requests/:request_id/status/stream', docs.statusStream, requests.stream),
  row('GET', '/requests/:request_id/response', docs.response, requests.response),
  row('POST', '/requests/:request_id/cancel', docs.cancel, requests.cancel),
  row('PUT', '/requests/:request_id/cancel', docs.cancelPut, requests.cancel),
  row('GET', '/usage', docs.usage, usage),
  row('POST', '/files', docs.upload, files.upload),
];

/** The same models in the form of other services, for their clients. The pages do not use them. */
const otherForms: Row<KeyedRequest>[] = [
  row('POST', '/responses', docs.createResponse, responses.create),
  row('POST', '/images/generations', docs.generateImages, images.generate),
  row('POST', '/images/edits', docs.editImages, images.edit),
  row('POST', '/messages', docs.messages, messages.create),
  row('POST', '/messages/count_tokens', docs.countTokens, messages.countTokens),
];

/** Below /v1, with a key of scope `keys`. The pages have their own calls for keys. */
const managingCalls: Row<KeyedRequest>[] = [
  row('POST', '/keys', docs.createOwnKey, keys.create),
  row('GET', '/keys', docs.listOwnKeys, keys.list),
  row('GET', '/keys/:key_id', docs.readOwnKey, keys.read),
  row('PATCH', '/keys/:key_id', docs.changeOwnKey, keys.change),
  row('DELETE', '/keys/:key_id', docs.revokeOwnKey, keys.revoke),
];

const account = '/operator/accounts/:account_id';
/** Below /v1/operator, with an operator key of this scope. */
const operatorCalls: [Scope, Row<OperatorRequest>][] = [
  ['read', row('GET', '/operator/accounts', docs.listAccounts, api.listAccounts)],
  ['accounts', row('POST', '/operator/accounts', docs.createAccount, api.createAccount)],
  ['read', row('GET', account, docs.readAccount, api.readAccount)],
  ['money', row('POST', `${account}/credits`, docs.credit, api.credit)],
  ['money', row('POST', `${account}/adjustments`, docs.adjust, api.adjust)],
  ['accounts', row('POST', `${account}/suspend`, docs.suspend, api.suspend)],
  ['accounts', row('POST', `${account}/resume`, docs.resume, api.resume)],
  ['read', row('GET', `${account}/keys`, docs.listKeys, api.listKeys)],
  ['keys', row('POST', `${account}/keys`, docs.createKey, api.createKey)],
  ['keys', row('PATCH', '/operator/keys/:key_id', docs.changeKey, api.changeKey)],
  ['keys', row('DELETE', '/operator/keys/:key_id', docs.revokeKey, api.revokeKey)],
  ['read', row('GET', '/operator/requests', docs.listAllRequests, api.listRequests)],
  ['money', row('POST', '/operator/requests/:request_id/refunds', docs.refund, api.refund)],
  ['read', row('GET', '/operator/transfers', docs.listTransfers, api.listTransfers)],
  ['read', row('GET', '/operator/usage', docs.readUsage, api.readUsage)],
  ['read', row('GET', '/operator/events', docs.listEvents, api.listEvents)],
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

/** Outside /v1, with a key of scope `spend`: the only address of fal that is useful by itself. */
const fal: Row<KeyedRequest>[] = [row('POST', '/fal/run/*', docs.falRun, falRun)];

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
    ...withKey(deps, 'spend', keyedCalls).map((route) => ({ ...route, bySession: true })),
    ...withKey(deps, 'spend', otherForms),
    ...withKey(deps, 'keys', managingCalls),
    ...operatorCalls.map(([scope, [method, path, about, { shapes, handle }]]): Route => {
      const handler: OperatorHandler = (req, reply) => handle(req, reply, ofCall(req, reply, deps));
      return { method, path, prefixed: true, docs: about, shapes, who: 'operator', scope, handler };
    }),
    ...bind(deps, 'key_or_signature', true, signed),
    ...bind(deps, 'signature', true, calledBack),
    ...withKey(deps, 'spend', fal).map((route) => ({ ...route, prefixed: false })),
    ...outside(deps),
  ];
}

/** Routes that a process without the API also serves. */
export function outside(deps: HttpDeps): Route[] {
  return bind(deps, 'anyone', false, health);
}

function withKey(deps: HttpDeps, scope: KeyScope, table: Row<KeyedRequest>[]): Route[] {
  return table.map(([method, path, about, { shapes, handle }, ahead]) => {
    const handler: KeyedHandler = (req, reply) => handle(req, reply, ofCall(req, reply, deps));
    const called = { method, path, prefixed: true, docs: about, shapes };
    return { ...called, who: 'key', scope, handler, ahead };
  });
}

function bind(
  deps: HttpDeps,
  who: 'anyone' | 'key_or_signature' | 'signature',
  prefixed: boolean,
  table: OpenRow[],
): Route[] {
  return table.map(([method, path, about, { shapes, handle }]) => {
    const handler: Handler = (req, reply) => handle(req, reply, ofCall(req, reply, deps));
    return { method, path, prefixed, docs: about, shapes, who, handler };
  });
}
