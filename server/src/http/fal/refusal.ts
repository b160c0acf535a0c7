import type { FastifyRequest } from 'fastify';

/** Whether a call came to one of the addresses for fal's client, which refuse in fal's format. */
export function speaksFal(req: FastifyRequest): boolean {
  return (req.routeOptions.url ?? req.url).startsWith('/fal/');
}

/** The supported calls, for callers of any other call. */
export const falOffer =
  "With fal's client, subscribe, queue.* and storage.upload of up to 90 MiB work here; run, stream " +
  'and realtime do not: use subscribe. A larger file: POST /v1/files, its file_id in the input.';
