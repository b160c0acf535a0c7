import type { HeaderUse } from './headers.ts';
import { ifNoneMatch } from './models.ts';
import { header, type Content, type Parameter, type RouteDocs } from './route-docs.ts';

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

/** What a download may ask for. */
export const rangeHeaders: Parameter[] = [
  {
    ...header(
      'Range',
      'One range of bytes. Several ranges, and other units, are answered with the whole.',
    ),
    example: 'bytes=0-1023',
  },
  ifNoneMatch,
  header('If-Range', 'The `ETag` you have a part of; with another one the whole is sent.'),
];

export const output: RouteDocs = {
  operationId: 'readOutput',
  tag: 'Requests',
  summary: 'Download an output',
  description:
    'The bytes of one output. With `exp` and `sig`, as they stand in a signed link, no key is ' +
    'needed; without them, the key of the owning account. Outputs live 24 hours after ' +
    'completion. Only pictures, video and audio that browsers cannot run are sent `inline`.',
  headers: rangeHeaders,
  replies: {
    200: { description: 'The whole output.', headers: storedHeaders, content: mediaBytes },
    206: {
      description: 'The part asked for.',
      headers: [...storedHeaders, 'ContentRange'],
      content: mediaBytes,
    },
    304: { description: 'You have it.', headers: storedHeaders },
  },
  errors: ['bad_request', 'not_found', 'expired'],
  errorsAt: {
    416: {
      codes: ['bad_request'],
      description: 'The range lies outside the output.',
      headers: [...storedHeaders, 'ContentRange'],
    },
  },
};
