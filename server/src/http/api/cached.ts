import type { FastifyReply, FastifyRequest } from 'fastify';

/** A reply that is the same for everyone, or for one key, until it changes. */
interface Copy {
  etag: string;
  type: string;
  body: string | Buffer;
  /** The reply depends on what a key may do, and a change of that must show in the next call. */
  isPrivate?: boolean;
}

/** Clients may keep the reply for a minute, and then fetch it again only if it has changed. */
export function cached(req: FastifyRequest, reply: FastifyReply, copy: Copy): unknown {
  // The text is the same compressed or not, so its tag is weak.
  const etag = typeof copy.body === 'string' ? `W/${copy.etag}` : copy.etag;
  const life = copy.isPrivate ? 'private, no-cache' : 'public, max-age=60';
  reply.header('etag', etag).header('cache-control', life);
  if (matches(req.headers['if-none-match'], copy.etag)) return reply.code(304).send();
  reply.type(copy.type);
  return copy.body;
}

/** True if one of the tags in If-None-Match is ours. */
export function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
