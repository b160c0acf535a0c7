import type { FastifyReply } from 'fastify';

/** The headers set so far, for a reply that is written by hand from here on. */
export function hijackHeaders(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );
}
