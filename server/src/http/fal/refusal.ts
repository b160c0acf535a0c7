import type { FastifyRequest } from 'fastify';

/**
 * Whether a call came in through the addresses for fal's client, and is refused in fal's format.
 */
export function speaksFal(req: FastifyRequest): boolean {
  return (req.routeOptions.url ?? req.url).startsWith('/fal/');
}

/** The supported calls, for callers of any other. */
export const falOffer =
  "With fal's client, subscribe, queue.* and storage.upload of up to 90 MiB work here; run, stream " +
  'and realtime do not: use subscribe. A larger file: POST /v1/files, its file_id in the input.';
