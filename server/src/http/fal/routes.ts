import { statusAhead } from '../requests/status.ts';
import { below, key, row, signature, type Row } from '../row.ts';
import * as queue from './queue.ts';
import * as upload from './upload.ts';

/**
 * Serves fal's own JavaScript client. The addresses that it knows, including the host, are below
 * /fal, so its users change only the base address. These calls use fal's protocol and are not part
 * of /v1.
 */

/** A path has the first two segments of a model's id, or three if the first is a namespace. */
const apps = ['/:owner/:alias', '/:namespace/:owner/:alias'] as const;

/** The names that fal's clients of different years know the same host by. */
const queueHosts = ['queue.fal.run', 'queue.fal.dev'] as const;
const runHosts = ['fal.run', 'fal.dev'] as const;
const restHosts = ['rest.fal.ai', 'rest.alpha.fal.ai', 'rest.shark.fal.ai'] as const;

const spend = key('spend');

const keyed: Row[] = [
  ...queueHosts.flatMap((host): Row[] => [
    row(spend, 'POST', `/${host}/*`, queue.submit),
    ...apps.flatMap((app): Row[] => [
      row(spend, 'GET', `/${host}${app}/requests/:request_id`, queue.result),
      row(
        spend,
        'GET',
        `/${host}${app}/requests/:request_id/status`,
        queue.status,
        undefined,
        statusAhead,
      ),
      row(spend, 'GET', `/${host}${app}/requests/:request_id/status/stream`, queue.stream),
      row(spend, 'PUT', `/${host}${app}/requests/:request_id/cancel`, queue.cancel),
    ]),
  ]),
  ...runHosts.map((host) => row(spend, 'POST', `/${host}/*`, queue.run)),
  ...restHosts.map((host) =>
    row(spend, 'POST', `/${host}/storage/upload/initiate`, upload.initiate),
  ),
];

export const falCalls: Row[] = below('/fal', [
  ...keyed,
  row(signature, 'PUT', '/uploads/:file_id', upload.receive),
]);
