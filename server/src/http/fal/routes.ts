import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpDeps, Keyed } from '../deps.ts';
import { statusAhead } from '../api/requests.ts';
import type { Ahead, Call } from '../routes.ts';
import * as queue from './queue.ts';
import * as upload from './upload.ts';

/**
 * Serves fal's own JavaScript client: below /fal it finds the addresses it knows, including the
 * host, so that its users change only the base address. It speaks fal's protocol and is not part of
 * /v1.
 */

type KeyedCall = (req: Keyed, reply: FastifyReply, deps: HttpDeps) => Promise<unknown>;

/** A path contains the first two segments of a model's id, or three if the first is a namespace. */
const apps = ['/:owner/:alias', '/:namespace/:owner/:alias'];

type Row = [Call['method'], string, KeyedCall, Ahead?];

const keyed: Row[] = [
  ['POST', '/queue.fal.run/*', queue.submit],
  ...apps.flatMap((app): Row[] => [
    ['GET', `/queue.fal.run${app}/requests/:request_id`, queue.result],
    ['GET', `/queue.fal.run${app}/requests/:request_id/status`, queue.status, statusAhead],
    ['GET', `/queue.fal.run${app}/requests/:request_id/status/stream`, queue.stream],
    ['PUT', `/queue.fal.run${app}/requests/:request_id/cancel`, queue.cancel],
  ]),
  ['POST', '/rest.fal.ai/storage/upload/initiate', upload.initiate],
];

export function falCalls(deps: HttpDeps): Call[] {
  return [
    ...keyed.map(([method, path, call, ahead]): Call => {
      const handler = (req: Keyed, reply: FastifyReply) => call(req, reply, deps);
      return { method, path: `/fal${path}`, prefixed: false, who: 'key', handler, ahead };
    }),
    {
      method: 'PUT',
      path: '/fal/uploads/:file_id',
      prefixed: false,
      who: 'signature',
      handler: (req: FastifyRequest, reply: FastifyReply) => upload.receive(req, reply, deps),
    },
  ];
}
