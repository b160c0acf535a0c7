import type { HeaderUse } from './headers.ts';
import { cachedHeaders } from './models.ts';
import { requestIdParameter } from './requests.ts';
import type { Content, RouteDocs } from './schema.ts';

/** GET /requests/{request_id}/output/{index} */

const bytes: Content = Object.fromEntries(
  ['image/*', 'video/*', 'audio/*'].map((type) => [
    type,
    { schema: { type: 'string', format: 'binary' } },
  ]),
);

const file: HeaderUse[] = [
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
  ],
  replies: {
    200: { description: 'The whole output.', headers: file, content: bytes },
    206: { description: 'The part asked for.', headers: [...file, 'ContentRange'], content: bytes },
    304: { description: 'You have it.', headers: file },
  },
  errors: ['bad_request', 'not_found', 'expired'],
  errorsAt: {
    416: {
      codes: ['bad_request'],
      description: 'The range lies outside the output.',
      headers: [...file, 'ContentRange'],
    },
  },
};
