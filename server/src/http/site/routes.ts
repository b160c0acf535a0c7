import type { FastifyReply, FastifyRequest } from 'fastify';
import { guide } from '../api/guide.ts';
import type { WebDeps } from '../session/visit.ts';

type Handler = (req: FastifyRequest, reply: FastifyReply, deps: WebDeps) => Promise<unknown>;

/** Pages for people and programs, without signing in. They are the same for every caller. */
export const siteRoutes: [path: string, Handler][] = [['/llms.txt', open(guide.handle)]];

/** Pages of any origin may read it. */
function open(handler: Handler): Handler {
  return (req, reply, deps) =>
    handler(
      req,
      reply.headers({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'etag',
        'x-content-type-options': 'nosniff',
      }),
      deps,
    );
}
