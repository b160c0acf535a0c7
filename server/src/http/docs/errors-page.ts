import { errors, failures, type ErrorCode, type FailureCode } from '../../core/errors.ts';
import { advice, failureAdvice } from './advice.ts';
import { errorExamples } from './errors.ts';
import { codesOf, documentedPath } from '../openapi.ts';
import type { Route } from '../routes.ts';

/** `docs/errors.md`, made of the catalogue of codes and the table of routes. */
export function errorsPage(table: Route[]): string {
  const codes = Object.keys(errors) as ErrorCode[];
  return [
    ...head,
    '| code | status | type |',
    '|---|---|---|',
    ...codes.map(
      (code) => `| [\`${code}\`](#${code}) | ${errors[code].status} | \`${errors[code].type}\` |`,
    ),
    '',
    ...codes.flatMap((code) => section(code, table)),
    ...failuresHead,
    '| `error.code` | when it happens | what to do |',
    '|---|---|---|',
    ...(Object.keys(failures) as FailureCode[]).map((code) => {
      const { when, do: then } = failureAdvice[code];
      return `| \`${code}\` | ${when} | ${then} |`;
    }),
    '',
  ].join('\n');
}

const head = [
  '# Errors',
  '',
  '<!-- Made by `npm run generate` from server/src/core/errors.ts and ' +
    'server/src/http/docs/errors.ts. -->',
  '',
  'Every reply that is no success has this body, whatever the route:',
  '',
  '```json',
  JSON.stringify(errorExamples.insufficient_balance!.value, null, 2),
  '```',
  '',
  '- Go by `code`. The message is for people and says what to do next; its words may change.',
  '- `param` names the field, parameter or header at fault, or is null.',
  '- `details` is there where figures or allowed values help.',
  '- `request_id` is the `x-request-id` of the call: quote it when you ask for help.',
  '- New codes may be added: treat one you do not know by its HTTP status.',
  '',
  'Headers that come with errors: `Retry-After` (whole seconds) on 429 and 503, `x-should-retry: ' +
    'false` on 402,',
  '409 and a 503 that may have been charged, `Allow` on 405, `WWW-Authenticate` on 401.',
  '',
  'A call that is not readable as HTTP gets the same body with code `bad_request` and status ' +
    '400, 408 (it came too',
  'slowly) or 431 (its headers are larger than 16 KiB).',
  '',
  '## Codes',
  '',
];

const failuresHead = [
  '## Failures of accepted requests',
  '',
  'A request that was accepted (202) and then `FAILED` says why in `error.code` of its status ' +
    'and its card. These are',
  'not HTTP errors: the calls that tell them answer 200. Nothing is charged for a failed request.',
  '',
];

function section(code: ErrorCode, table: Route[]): string[] {
  const { status, type, message } = errors[code];
  const { when, do: then } = advice[code];
  return [
    `### ${code}`,
    '',
    `${status} · \`${type}\` · “${message}”`,
    '',
    `**When:** ${when}`,
    '',
    `**What to do:** ${then}`,
    '',
    `**From:** ${whence(code, table)}`,
    '',
  ];
}

function whence(code: ErrorCode, table: Route[]): string {
  const from = table.filter((route) => codesOf(route).includes(code));
  if (from.length === table.length) return 'every route.';
  const keyed = table.filter(({ who }) => who !== 'anyone');
  if (from.length === keyed.length && from.every(({ who }) => who !== 'anyone')) {
    return 'every route that takes a key.';
  }
  const below = table.filter(({ prefixed }) => prefixed);
  if (below.every((route) => from.includes(route))) {
    return 'every route below `/v1`, and `/readyz`.';
  }
  return `${from.map((route) => `\`${route.method} ${documentedPath(route)}\``).join(', ')}.`;
}
