import type { Schema } from '../schemas/schema.ts';
import { exampleId } from './examples.ts';

/** A reply header. In `headers`, the key of each is its name in the document. */
interface Header {
  /** As on the wire. */
  name: string;
  description: string;
  schema: Schema;
  example: string | number;
}

export const headers = {
  RequestId: h(
    'x-request-id',
    'Identifies this call. Quote it when you ask for help.',
    str(),
    'req_k3v9XzQ21f',
  ),
  AnthropicId: h(
    'request-id',
    "The same as `x-request-id`, for Anthropic's clients.",
    str(),
    'req_k3v9XzQ21f',
  ),
  RateLimitPolicy: h(
    'RateLimit-Policy',
    'The limit that applies: `q` calls in a window of `w` seconds. It is named ' +
      "`account-calls` if the limit of all the account's keys together has fewer calls left.",
    str('^"(account-)?calls";q=[0-9]+;w=[0-9]+$'),
    '"calls";q=600;w=60',
  ),
  RateLimit: h(
    'RateLimit',
    'The state of the limit in `RateLimit-Policy`: `r` calls left, `t` seconds until its window ' +
      'ends.',
    str('^"(account-)?calls";r=[0-9]+;t=[0-9]+$'),
    '"calls";r=599;t=60',
  ),
  RateLimitLimit: h('RateLimit-Limit', 'Calls allowed per minute.', int(), 600),
  RateLimitRemaining: h('RateLimit-Remaining', 'Calls left in this window.', int(), 599),
  RateLimitReset: h('RateLimit-Reset', 'Seconds until the window ends.', int(), 60),
  RetryAfter: h('Retry-After', 'Whole seconds to wait before the next call.', int(), 2),
  ShouldRetry: h(
    'x-should-retry',
    'Tells stock OpenAI clients not to retry the call.',
    { type: 'string', enum: ['false'] },
    'false',
  ),
  Challenge: h('WWW-Authenticate', 'How to authenticate.', str(), 'Key realm="farebox"'),
  Allow: h('Allow', 'The methods of this path.', str(), 'GET, HEAD'),
  Location: h(
    'Location',
    'The `status_url` of the request.',
    { type: 'string', format: 'uri' },
    `http://localhost:8080/v1/requests/${exampleId}/status`,
  ),
  StoreLocation: h(
    'Location',
    'An address in the storage, valid as long as the link. Send no key there.',
    { type: 'string', format: 'uri' },
    'https://media.example.com/outputs/0?X-Amz-Signature=5f1d',
  ),
  FalRequestId: h('x-fal-request-id', 'The id of the request.', str(), exampleId),
  PollAfter: h(
    'openai-poll-after-ms',
    'How long to wait before the next poll, in milliseconds. Missing once the video has ended.',
    int(),
    2000,
  ),
  PreferenceApplied: h(
    'Preference-Applied',
    'The request was completed within the time of `Prefer: wait`, and the body is its output.',
    { type: 'string', enum: ['wait'] },
    'wait',
  ),
  Replayed: h(
    'Idempotent-Replayed',
    'The stored reply of an earlier call with the same `Idempotency-Key`.',
    { type: 'string', enum: ['true'] },
    'true',
  ),
  Charge: h(
    'x-charge-usd-micro',
    'Cost of this call in micro-USD; 0 for a repeat that gets the reply of an earlier call.',
    str('^(0|[1-9][0-9]*)$'),
    '5',
  ),
  Ignored: h(
    'x-ignored-fields',
    'Fields of the call that the model does not get, and at most 20 inputs that it does not know, ' +
      'percent-encoded. Missing if there are none.',
    str(),
    'top_k, messages[].foo',
  ),
  ETag: h('ETag', 'Version of the content, for `If-None-Match`.', str('^(W/)?".*"$'), '"5f3a9c"'),
  CacheControl: h(
    'Cache-Control',
    'How long the reply may be cached.',
    str(),
    'public, max-age=60',
  ),
  AcceptRanges: h(
    'Accept-Ranges',
    '`none` for small versions, which are sent whole.',
    str('^(bytes|none)$'),
    'bytes',
  ),
  ContentRange: h(
    'Content-Range',
    'The range that is sent and the total size; with status 416 only the size.',
    str('^bytes ([0-9]+-[0-9]+|[*])/[0-9]+$'),
    'bytes 0-1023/20480',
  ),
  ContentDisposition: h(
    'Content-Disposition',
    'Suggests a file name. `attachment` for types that a browser might execute.',
    str(),
    'inline; filename="5e0b8a6d2f10-0.png"',
  ),
  NoSniff: h(
    'X-Content-Type-Options',
    'Browsers must use the type in `Content-Type`.',
    str('^nosniff$'),
    'nosniff',
  ),
  ContentSecurityPolicy: h(
    'Content-Security-Policy',
    'The file may neither run scripts nor load anything.',
    str(),
    "sandbox; default-src 'none'",
  ),
  ResourcePolicy: h(
    'Cross-Origin-Resource-Policy',
    'Pages of any origin may show the file.',
    str('^cross-origin$'),
    'cross-origin',
  ),
  AllowOrigin: h(
    'Access-Control-Allow-Origin',
    'Scripts of any origin may read the file.',
    str('^[*]$'),
    '*',
  ),
  ReferrerPolicy: h(
    'Referrer-Policy',
    'Browsers send the signed link to no other site.',
    str('^no-referrer$'),
    'no-referrer',
  ),
  AccelBuffering: h(
    'X-Accel-Buffering',
    'On streams: asks proxies not to buffer events.',
    str('^no$'),
    'no',
  ),
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;

/** A question mark means that only some of the replies have the header. */
export type HeaderUse = HeaderName | `${HeaderName}?`;

/** Sent with every reply to a call whose key was accepted; documented for successes and 429. */
export const rateHeaders: HeaderName[] = [
  'RateLimitPolicy',
  'RateLimit',
  'RateLimitLimit',
  'RateLimitRemaining',
  'RateLimitReset',
];

function h(name: string, description: string, schema: Schema, example: string | number): Header {
  return { name, description, schema, example };
}

function str(pattern?: string): Schema {
  return { type: 'string', ...(pattern !== undefined && { pattern }) };
}

function int(): Schema {
  return { type: 'integer', minimum: 0 };
}
