import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpDeps } from './deps.ts';

/** GET /llms.txt */
export async function guide(_req: FastifyRequest, reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  reply.type('text/plain; charset=utf-8');
  return [...deps.catalog().models.keys()].join('\n');
}
