import type { HeaderUse } from '../headers.ts';
import { ifNoneMatch } from './models.ts';
import { header, type Content, type Parameter, type RouteDocs } from '../route-docs.ts';

/** GET /requests/{request_id}/output/{index} */

const mediaBytes: Content = Object.fromEntries(
  ['image/*', 'video/*', 'audio/*'].map((type) => [
    type,
    { schema: { type: 'string', format: 'binary' } },
  ]),
);

export const storedHeaders: HeaderUse[] = [
  'ETag',
  'AcceptRanges',
  'CacheControl',
  'ContentDisposition',
  'NoSniff',
  'ContentSecurityPolicy',
  'ResourcePolicy',
  'AllowOrigin',
  'ReferrerPolicy',
];

/** A refused range has a body of its own. */
export const refusedRangeHeaders: HeaderUse[] = [
  ...storedHeaders.filter((name) => name !== 'ETag' && name !== 'ContentDisposition'),
  'ContentRange',
];

/** Parameters of a download. */
export const rangeHeaders: Parameter[] = [
  {
    ...header(
      'Range',
      'One range of bytes. If several ranges or other units are asked for, the whole file is sent.',
    ),
    example: 'bytes=0-1023',
  },
  ifNoneMatch,
  header(
    'If-Range',
    'The `ETag` of your partial copy; if it is out of date, the whole file is sent.',
  ),
];

export const output: RouteDocs = {
  operationId: 'readOutput',
  tag: 'Requests',
  summary: 'Download an output',
  description:
    'The bytes of one output. A signed link, with `exp` and `sig`, needs no key; without ' +
    'them, a key of the owning account is required. Outputs are kept for 24 hours after ' +
    'completion. Only images, video and audio that browsers cannot execute are sent ' +
    '`inline`.',
  headers: rangeHeaders,
  replies: {
    200: { description: 'The whole output.', headers: storedHeaders, content: mediaBytes },
    206: {
      description: 'The requested range.',
      headers: [...storedHeaders, 'ContentRange'],
      content: mediaBytes,
    },
    304: { description: 'Not changed: you have the current version.', headers: storedHeaders },
  },
  errors: ['bad_request', 'not_found', 'expired'],
  errorsAt: {
    416: {
      codes: ['bad_request'],
      description: 'The range is outside the output.',
      headers: refusedRangeHeaders,
    },
  },
};
