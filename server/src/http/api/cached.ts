import type { FastifyReply, FastifyRequest } from 'fastify';

/** A reply that is the same for everyone, or for one key, until it changes. */
interface Copy {
  etag: string;
  type: string;
  body: string | Buffer;
  /** The reply depends on the key's rights, and a change of them must show in the next call. */
  isPrivate?: boolean;
}

/**
 * Sends the copy, or 304 if the client's copy is still current. Clients may keep a public copy for
 * a minute; they check a private copy at each call.
 */
export function sendCached(req: FastifyRequest, reply: FastifyReply, copy: Copy): unknown {
  // The text is the same compressed or not, so its tag is weak.
  const etag = typeof copy.body === 'string' ? `W/${copy.etag}` : copy.etag;
  const life = copy.isPrivate ? 'private, no-cache' : 'public, max-age=60';
  reply.header('etag', etag).header('cache-control', life);
  if (matches(req.headers['if-none-match'], copy.etag)) return reply.code(304).send();
  reply.type(copy.type);
  return copy.body;
}

/** True if If-None-Match has this tag, or is `*`. */
export function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
