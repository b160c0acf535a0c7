import * as chat from './chat.ts';
import type { Handler, HttpDeps, KeyedHandler } from './deps.ts';
import * as docs from './docs.ts';
import { estimate } from './estimate.ts';
import * as files from './files.ts';
import { guide } from './guide.ts';
import * as models from './models.ts';
import * as ops from './ops.ts';
import * as outputs from './outputs.ts';
import * as queue from './queue.ts';
import * as requests from './requests.ts';

/**
 * Who may call: anyone; the holder of a key; or, for outputs, the holder of a signed link as well,
 * which the handler judges itself. `prefixed` paths lie below /v1.
 */
export type Route =
  | {
      method: Method;
      path: string;
      prefixed: boolean;
      who: 'anyone' | 'key_or_signature';
      docs: docs.RouteDocs;
      handler: Handler;
    }
  | {
      method: Method;
      path: string;
      prefixed: boolean;
      who: 'key';
      docs: docs.RouteDocs;
      handler: KeyedHandler;
    };

type Method = 'GET' | 'POST' | 'PUT';

/**
 * The whole API: the router, the OpenAPI document and the authorisation test read this one table.
 */
export function routes(deps: HttpDeps): Route[] {
  const anyone = (
    method: Method,
    path: string,
    handler: Handler,
    about: docs.RouteDocs,
  ): Route => ({ method, path, prefixed: true, who: 'anyone', docs: about, handler });
  const keyed = (
    method: Method,
    path: string,
    handler: KeyedHandler,
    about: docs.RouteDocs,
  ): Route => ({ method, path, prefixed: true, who: 'key', docs: about, handler });
  const signed = (
    method: Method,
    path: string,
    handler: Handler,
    about: docs.RouteDocs,
  ): Route => ({ method, path, prefixed: true, who: 'key_or_signature', docs: about, handler });
  const outside = (
    method: Method,
    path: string,
    handler: Handler,
    about: docs.RouteDocs,
  ): Route => ({ method, path, prefixed: false, who: 'anyone', docs: about, handler });

  return [
    anyone('GET', '/models', (req, reply) => models.list(req, reply, deps), docs.listModels),
    anyone('GET', '/models/*', (req, reply) => models.read(req, reply, deps), docs.readModel),
    anyone('GET', '/llms.txt', (req, reply) => guide(req, reply, deps), docs.guide),
    anyone('GET', '/openapi.json', (req, reply) => ops.openapi(req, reply, deps), docs.openapi),
    keyed('POST', '/estimate', (req) => estimate(req, deps), docs.estimate),
    keyed(
      'POST',
      '/chat/completions',
      (req, reply) => chat.completions(req, reply, deps),
      docs.chat,
    ),
    keyed('POST', '/queue/*', (req, reply) => queue.submit(req, reply, deps), docs.submit),
    keyed('GET', '/requests', (req, reply) => requests.list(req, reply, deps), docs.listRequests),
    keyed(
      'GET',
      '/requests/:request_id',
      (req, reply) => requests.read(req, reply, deps),
      docs.readRequest,
    ),
    keyed(
      'GET',
      '/requests/:request_id/status',
      (req, reply) => requests.status(req, reply, deps),
      docs.status,
    ),
    keyed(
      'GET',
      '/requests/:request_id/status/stream',
      (req, reply) => requests.stream(req, reply, deps),
      docs.statusStream,
    ),
    keyed(
      'GET',
      '/requests/:request_id/response',
      (req, reply) => requests.response(req, reply, deps),
      docs.response,
    ),
    keyed(
      'POST',
      '/requests/:request_id/cancel',
      (req, reply) => requests.cancel(req, reply, deps),
      docs.cancel,
    ),
    keyed(
      'PUT',
      '/requests/:request_id/cancel',
      (req, reply) => requests.cancel(req, reply, deps),
      docs.cancelPut,
    ),
    signed(
      'GET',
      '/requests/:request_id/output/:index',
      (req, reply) => outputs.read(req, reply, deps),
      docs.output,
    ),
    keyed('POST', '/files', (req, reply) => files.upload(req, reply, deps), docs.upload),
    outside('GET', '/livez', (req, reply) => ops.livez(req, reply), docs.livez),
    outside('GET', '/readyz', (req, reply) => ops.readyz(req, reply, deps), docs.readyz),
    outside('GET', '/metrics', (req, reply) => ops.metrics(req, reply, deps), docs.metrics),
  ];
}
