import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { objectOf } from '../../lib/json.ts';
import { toItsEnd } from '../call.ts';
import { withOwnerShare } from '../database-share.ts';
import { noStore } from '../speaks-messages.ts';
import type { Row } from '../row.ts';
import { pagesDir } from './pages.ts';
import {
  demandOperator,
  demandOwnOrigin,
  demandRight,
  demandSession,
  type SessionRequest,
  type WebDeps,
} from './session-request.ts';

/** Adds the calls of the web pages. Each call is checked before anything of its body is read. */
export function mountWeb(app: FastifyInstance, table: Row[], deps: WebDeps): void {
  app
    .decorateRequest('session')
    .decorateRequest('account_id')
    .decorateRequest('role')
    .decorateRequest('grant');
  app.register(fastifyStatic, { root: pagesDir, serve: false, preCompressed: true });
  for (const route of table) {
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      url: route.path,
      exposeHeadRoute: false,
      bodyLimit: Number.MAX_SAFE_INTEGER,
      config: { isStranger: route.who === 'anyone' && route.method !== 'GET' },
      onRequest: toItsEnd(async (req, reply) => {
        if (route.path.startsWith('/api/')) reply.headers(noStore);
        demandOwnOrigin(req, deps);
        await judge(route, req, reply, withOwnerShare(req, reply, deps));
        demandStorable(req);
      }),
      handler: toItsEnd((req, reply) => route.handle(req, reply, withOwnerShare(req, reply, deps))),
    });
  }
}

/** Throws `not_found` for a path with NUL, which PostgreSQL cannot store. */
function demandStorable({ params }: FastifyRequest): void {
  const parts = Object.values(objectOf(params));
  if (parts.some((part) => typeof part === 'string' && part.includes('\0')))
    throw new ApiError('not_found');
}

async function judge(
  route: Row,
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<void> {
  if (route.who !== 'session') return;
  const session = await demandSession(req, reply, deps);
  const visit = Object.assign(req, { session }) as SessionRequest;
  visit.belongsTo(session.person_id);
  if (route.need === 'signed_in') return;
  if (route.need === 'operate') await demandOperator(visit, route, deps);
  else await demandRight(visit, route.need, deps);
}
