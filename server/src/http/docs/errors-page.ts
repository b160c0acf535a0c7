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
  "409, the 502 of a failed request of OpenAI's Images, a 503 that may have been charged, and the " +
    '503 of a `stopped` model, which has no `Retry-After`; ' +
    '`Allow` on 405; `WWW-Authenticate` on 401.',
  '',
  'A call that is not valid HTTP gets `bad_request` with 400, 408 (it came too slowly) or 431 ' +
    '(headers above 16 KiB).',
  '',
  '## Codes',
  '',
  "The exact codes of each call are in the OpenAPI document, in `x-error-codes` of the call's replies.",
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

/** Routes that give the code; if nearly all of a kind do, the kind and its exceptions. */
function whence(code: ErrorCode, table: ApiRoute[]): string {
  const gives = (route: ApiRoute) => codesOf(route).includes(code);
  const from = table.filter(gives);
  if (from.length === table.length) return 'every route.';
  const keyed = table.filter(({ who }) => who !== 'anyone');
  if (from.length === keyed.length && from.every(({ who }) => who !== 'anyone')) {
    return 'every route that takes a key.';
  }
  if (table.filter(({ prefixed }) => prefixed).every(gives)) {
    return 'every route below `/v1`, and `/readyz`.';
  }
  const parts = kinds.flatMap(([all, isIts]) => named(table.filter(isIts), gives, all));
  return `${parts.join(', ')}.`;
}

const isOf = (start: string) => (route: ApiRoute) => documentedPath(route).startsWith(start);
const isOperators = ({ who }: ApiRoute) => who === 'operator';
const isReplicates = isOf('/replicate/');

const kinds: [all: string, isIts: (route: ApiRoute) => boolean][] = [
  ['call of the API', (route) => !isOperators(route) && !isReplicates(route)],
  ['call of [Replicate](api/replicate.md)', isReplicates],
  ["call of the [operator's API](api/operator.md)", isOperators],
];

/** Few routes by name; many as their number, or as all but the exceptions. */
function named(routes: ApiRoute[], gives: (route: ApiRoute) => boolean, one: string): string[] {
  const from = routes.filter(gives);
  const others = routes.filter((route) => !gives(route)).map(nameOf);
  if (others.length === 0) return [`every ${one}`];
  if (from.length <= namesMax) return from.map(nameOf);
  const isNearlyAll = from.length > 2 * others.length;
  if (isNearlyAll && others.length <= namesMax) return [`every ${one} but ${others.join(', ')}`];
  return [isNearlyAll ? `almost every ${one}` : `${from.length} ${one.replace('call', 'calls')}`];
}

const namesMax = 10;

function nameOf(route: ApiRoute): string {
  return `\`${route.method} ${documentedPath(route)}\``;
}
