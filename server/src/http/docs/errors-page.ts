import { errors, failures, type ErrorCode } from '../../core/errors.ts';
import { keysOf } from '../../lib/records.ts';
import { advice, failureAdvice } from './advice.ts';
import { errorExamples } from './errors.ts';
import { codesOf } from './failures.ts';
import { documentedPath } from '../openapi.ts';
import type { ApiRoute } from '../routes.ts';

/** `docs/errors.md`, made from the error codes and the table of routes. */
export function errorsPage(table: ApiRoute[]): string {
  const codes = keysOf(errors);
  return [
    ...head,
    ...codes.flatMap((code) => section(code, table)),
    ...failuresHead,
    '| `error.code` | when it happens | what to do |',
    '|---|---|---|',
    ...keysOf(failures).map((code) => {
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
    'server/src/http/docs/advice.ts. -->',
  '',
  "Every error reply has this body, which `/v1/messages` sends in Anthropic's form:",
  '',
  '```json',
  JSON.stringify(errorExamples.insufficient_balance!.value, null, 2),
  '```',
  '',
  '- Go by `code`, and by the HTTP status for a code that you do not know. The words of the message may change.',
  '- `param` names the field, parameter or header at fault, or is null. `details` has numbers or allowed values.',
  '- `request_id` is the `x-request-id` of the call: quote it when you ask for help.',
  '',
  'Headers that come with errors: `Retry-After` (whole seconds) on 429, 503, and a 409 whose first ' +
    'call is still running; `x-should-retry: false` on 402,',
  "409, the 502 of a failed request of OpenAI's Images, and a 503 that may have been charged; " +
    '`Allow` on 405; `WWW-Authenticate` on 401.',
  '',
  'A call that is not valid HTTP gets `bad_request` with 400, 408 (it came too slowly) or 431 ' +
    '(headers above 16 KiB).',
  '',
  '## Codes',
  '',
];

const failuresHead = [
  '## Failures of accepted requests',
  '',
  'A request that `FAILED` after 202 has one of these in `error.code` of its status and its card. ' +
    'Nothing is charged for it.',
  '',
];

function section(code: ErrorCode, table: ApiRoute[]): string[] {
  const { status, type } = errors[code];
  const { when, do: then } = advice[code];
  return [
    `### ${code}`,
    '',
    `${status} · \`${type}\``,
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
  const ofOperator = table.filter(({ who }) => who === 'operator');
  const isWhole = ofOperator.every((route) => from.includes(route));
  const listed = from.filter(({ who }) => !(isWhole && who === 'operator'));
  const names = listed.map((route) => `\`${route.method} ${documentedPath(route)}\``);
  return `${[...names, ...(isWhole ? ["every call of the [operator's API](api/operator.md)"] : [])].join(', ')}.`;
}
