import type { FastifyReply, FastifyRequest } from 'fastify';
import { ofCall } from '../database-share.ts';
import type { HttpDeps, KeyedRequest } from '../deps.ts';
import { statusAhead } from '../api/requests.ts';
import { at, type At, type PathParams } from '../path.ts';
import type { Ahead, Call } from '../routes.ts';
import * as queue from './queue.ts';
import * as upload from './upload.ts';

/**
 * Serves fal's own JavaScript client. The addresses that it knows, including the host, are below
 * /fal, so its users change only the base address. These calls use fal's protocol and are not part
 * of /v1.
 */

type KeyedCall<Params = unknown> = (
  req: At<Params, KeyedRequest>,
  reply: FastifyReply,
  deps: HttpDeps,
) => Promise<unknown>;

/** A path has the first two segments of a model's id, or three if the first is a namespace. */
const apps = ['/:owner/:alias', '/:namespace/:owner/:alias'] as const;

/** The names that fal's clients of different years know the same host by. */
const queueHosts = ['queue.fal.run', 'queue.fal.dev'] as const;
const runHosts = ['fal.run', 'fal.dev'] as const;
const restHosts = ['rest.fal.ai', 'rest.alpha.fal.ai', 'rest.shark.fal.ai'] as const;

type Row = [Call['method'], string, KeyedCall, Ahead?];

function row<const Path extends string>(
  method: Call['method'],
  path: Path,
  call: KeyedCall<PathParams<Path>>,
  ahead?: Ahead<PathParams<Path>>,
): Row {
  return [
    method,
    path,
    (req, reply, deps) => call(at(path, req), reply, deps),
    ahead && ((req, deps) => ahead(at(path, req), deps)),
  ];
}

const keyed: Row[] = [
  ...queueHosts.flatMap((host): Row[] => [
    row('POST', `/${host}/*`, queue.submit),
    ...apps.flatMap((app): Row[] => [
      row('GET', `/${host}${app}/requests/:request_id`, queue.result),
      row('GET', `/${host}${app}/requests/:request_id/status`, queue.status, statusAhead),
      row('GET', `/${host}${app}/requests/:request_id/status/stream`, queue.stream),
      row('PUT', `/${host}${app}/requests/:request_id/cancel`, queue.cancel),
    ]),
  ]),
  ...runHosts.map((host) => row('POST', `/${host}/*`, queue.run)),
  ...restHosts.map((host) => row('POST', `/${host}/storage/upload/initiate`, upload.initiate)),
];

export function falCalls(deps: HttpDeps): Call[] {
  return [
    ...keyed.map(([method, path, call, ahead]): Call => {
      const handler = (req: KeyedRequest, reply: FastifyReply) =>
        call(req, reply, ofCall(req, reply, deps));
      const about = { prefixed: false, who: 'key', scope: 'spend' } as const;
      return { method, path: `/fal${path}`, ...about, handler, ahead };
    }),
    {
      method: 'PUT',
      path: '/fal/uploads/:file_id',
      prefixed: false,
      who: 'signature',
      handler: (req: FastifyRequest, reply: FastifyReply) =>
        upload.receive(at('/fal/uploads/:file_id', req), reply, ofCall(req, reply, deps)),
    },
  ];
}
