import type { FastifyRequest } from 'fastify';

/**
 * Whether a call came to the addresses of Anthropic's Messages, also below a mistaken base address.
 * Their clients expect errors in Anthropic's form.
 */
export function speaksMessages(req: FastifyRequest): boolean {
  return /^(\/+v1)*\/+messages(?=[/?]|$)/.test(req.routeOptions.url ?? req.url);
}

/** The id of the call. Anthropic's clients read it under a name of their own. */
export function idHeaders(req: FastifyRequest): Record<string, string> {
  return { 'x-request-id': req.id, ...(speaksMessages(req) && { 'request-id': req.id }) };
}
