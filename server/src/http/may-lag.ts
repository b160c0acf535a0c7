import type { FastifyRequest } from 'fastify';
import { standbyFirst } from '../lib/sql/standby.ts';
import { shareOf, withMembers } from './database-share.ts';
import type { HttpDeps } from './deps.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * A call whose reply may be some seconds old: the standby answers it, if there is one. The primary
 * answers all that decides, that can be spent, or that is looked at right after it was written.
 */
export function mayLag<Request extends FastifyRequest, Deps extends HttpDeps, Params>({
  shapes,
  handle,
}: Endpoint<Request, Deps, Params>): Endpoint<Request, Deps, Params> {
  return {
    shapes,
    handle(req, reply, deps) {
      const { db, reader } = deps;
      if (reader === null) return handle(req, reply, deps);
      // Long sums there keep no place from what reads at the primary.
      const there = withMembers<HttpDeps>(deps, { statements: deps.standbyReads });
      const own = { ...reader, standby: shareOf(reader.standby, req, reply, there) };
      const first = withMembers(db, standbyFirst(own, db));
      return handle(req, reply, withMembers<HttpDeps>(deps, { db: first }) as Deps);
    },
  };
}
