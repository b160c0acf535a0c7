import type { HeaderUse } from './headers.ts';
import { cachedHeaders } from './models.ts';
import { requestIdParameter } from './requests.ts';
import type { Content, Parameter, RouteDocs } from './schema.ts';

/** GET /requests/{request_id}/output/{index} */

export const mediaBytes: Content = Object.fromEntries(
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

/** A signed link's query, and what a download may ask for. */
export const storedParameters: Parameter[] = [
  {
    name: 'exp',
    in: 'query',
    description: 'Unix seconds until which the link is good.',
    schema: { type: 'integer', minimum: 0 },
    example: 1_772_452_803,
  },
  {
    name: 'sig',
    in: 'query',
    description: 'Signature of the link: unpadded base64url.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
    example: 'Zk3xH0m1Yb7QpVtq2n8sJcWf5aLrD9uEoT6gKiBvXyM',
  },
  {
    name: 'Range',
    in: 'header',
    description:
      'One range of bytes. Several ranges, and other units, are answered with the whole.',
    schema: { type: 'string' },
    example: 'bytes=0-1023',
  },
  ...cachedHeaders.parameters,
  {
    name: 'If-Range',
    in: 'header',
    description: 'The `ETag` you have a part of; with another one the whole is sent.',
    schema: { type: 'string' },
  },
];

export const output: RouteDocs = {
  operationId: 'readOutput',
  tag: 'Requests',
  summary: 'Download an output',
  description:
    'The bytes of one output. With `exp` and `sig`, as they stand in a signed link, no key is ' +
    'needed; without them, the key of the owning account. Outputs live 24 hours after ' +
    'completion. Only pictures, video and audio that browsers cannot run are sent `inline`.',
  parameters: [
    requestIdParameter,
    {
      name: 'index',
      in: 'path',
      required: true,
      description: 'Which output, from 0.',
      schema: { type: 'integer', minimum: 0 },
      example: 0,
    },
    ...storedParameters,
  ],
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
