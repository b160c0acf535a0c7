import type { FastifyRequest } from 'fastify';

/** Whether a call came to one of the addresses for fal's client, which refuse in fal's format. */
export function speaksFal(req: FastifyRequest): boolean {
  return (req.routeOptions.url ?? req.url).startsWith('/fal/');
}

/** The supported calls, for callers of any other call. */
export const falOffer =
  "With fal's client, these work here: subscribe, run, queue.*, and storage.upload up to 90 MiB. " +
  'stream and realtime are not supported; use subscribe. Upload larger files with POST ' +
  '/v1/files and put the file_id into the input.';
