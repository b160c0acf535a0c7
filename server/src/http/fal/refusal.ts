import type { FastifyRequest } from 'fastify';

/** Whether a call came in by the door for fal's client, which is then refused in fal's words. */
export function speaksFal(req: FastifyRequest): boolean {
  return (req.routeOptions.url ?? req.url).startsWith('/fal/');
}

/** What that door has, for who asks for something else. */
export const falOffer =
  "Of fal's client, subscribe, queue.* and storage.upload of up to 90 MiB work here; run, stream " +
  'and realtime do not: use subscribe. A larger file: POST /v1/files, its file_id in the input.';
