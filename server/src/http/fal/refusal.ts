import type { FastifyRequest } from 'fastify';

/** Whether a call came to one of the addresses for fal's client, which refuse in fal's format. */
export function speaksFal(req: FastifyRequest): boolean {
  return (req.routeOptions.url ?? req.url).startsWith('/fal/');
}

const files = 'Upload the file with POST /v1/files and put its file_id into the input.';

/** Calls of fal's clients that are not offered, by a part of their path. */
const notOffered: [path: RegExp, instead: string][] = [
  [/\/storage\/upload\/.*multipart/, `Files above 90 MiB are not taken in parts. ${files}`],
  [
    /\/storage\/upload/,
    'POST /fal/rest.fal.ai/storage/upload/initiate gives an address for one upload of up to 90 MiB.',
  ],
  [/\/storage\/|\/files\/upload/, `Uploads to fal's own storage are not offered. ${files}`],
  [/\/(stream|realtime|tokens)\b/, 'stream and realtime are not supported; use subscribe.'],
];

const offered =
  'Served are POST /fal/queue.fal.run/{model_id} and POST /fal/fal.run/{model_id}, the calls about ' +
  'their requests, and POST /fal/rest.fal.ai/storage/upload/initiate: subscribe, run, queue.* and ' +
  "storage.upload of fal's client, if its requestMiddleware keeps the host in the path.";

/** The way to go for the caller of an address that is not served. */
export function falOffer(path: string): string {
  return notOffered.find(([part]) => part.test(path))?.[1] ?? offered;
}
