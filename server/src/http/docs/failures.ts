import { errors, type ErrorCode } from '../../core/errors.ts';
import type { Json } from '../../lib/json.ts';
import { keysOf } from '../../lib/records.ts';
import type { ApiRoute } from '../routes.ts';
import { ErrorBody } from '../schemas/error-schema.ts';
import type { TSchema } from '../schemas/schema.ts';
import { advice } from './advice.ts';
import { headers, rateHeaders, type HeaderName, type HeaderUse } from './headers.ts';
import { documentedSchema } from './named.ts';

/** The error replies of a call, and the headers of all its replies. */

/** Definitions that routes share, to be written once under `components`. */
export interface SharedComponents {
  replies: Set<ErrorCode>;
  headers: Set<HeaderName>;
}

/**
 * Rate headers of a route. A call that needs no key but comes with one counts against that key's
 * rate.
 */
export function rateOf(who: ApiRoute['who']): HeaderUse[] {
  if (who === 'key' || who === 'operator') return rateHeaders;
  return who === 'key_or_signature' ? rateHeaders.map((name): HeaderUse => `${name}?`) : [];
}

/** Error codes of a route, in the order of the catalogue: its own, and those of its kind. */
export function codesOf({ prefixed, who, path, shapes, docs }: ApiRoute): ErrorCode[] {
  const codes = new Set<ErrorCode>([
    'method_not_allowed',
    'internal_error',
    ...(docs.errors ?? []),
  ]);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  if (who === 'key' || who === 'key_or_signature' || who === 'operator')
    add('unauthorized', 'forbidden', 'rate_limited');
  if (prefixed) add('capacity_unavailable');
  if (shapes.query ?? shapes.rawQuery) add('bad_request');
  if (path.includes(':')) add('bad_request', 'not_found');
  if (shapes.body ?? shapes.rawBody)
    add('bad_request', 'payload_too_large', 'unsupported_media_type');
  return keysOf(errors).filter((code) => codes.has(code));
}

export function failures(route: ApiRoute, used: SharedComponents): Json {
  const { errorsAt = {}, errorHeaders = {} } = route.docs;
  const byStatus = Map.groupBy(codesOf(route), (code) => errors[code].status);
  const replies: Json = {};
  for (const [status, codes] of byStatus) {
    const [code] = codes;
    const own: HeaderUse[] = errorHeaders[status] ?? [];
    const { failure } = route.shapes;
    if (failure) {
      replies[status] = errorReply(codes, own, used, failure);
    } else if (codes.length === 1 && own.length === 0) {
      used.replies.add(code!);
      replies[status] = { $ref: `#/components/responses/${code}` };
    } else {
      replies[status] = errorReply(codes, own, used);
    }
  }
  for (const [status, { codes, headers: own = [] }] of Object.entries(errorsAt))
    replies[status] = errorReply(codes, own, used, route.shapes.failure);
  return replies;
}

/** Headers that follow from the status of an error. */
const usual: Record<number, HeaderUse[]> = {
  401: ['Challenge?'],
  402: ['ShouldRetry'],
  405: ['Allow'],
  409: ['ShouldRetry'],
  429: ['RetryAfter', ...rateHeaders],
  // A stopped model has the latter in place of the former.
  503: ['RetryAfter?', 'ShouldRetry?'],
};

/** `failure`: the schema of the body, if it is not the usual one. */
export function errorReply(
  codes: ErrorCode[],
  own: HeaderUse[],
  used: SharedComponents,
  failure?: TSchema,
): Json {
  const { status } = errors[codes[0]!];
  const said = codes.map((code) => `- \`${code}\`: ${advice[code].when}`);
  const description = codes.length === 1 ? advice[codes[0]!].when : said.join('\n');
  const examples = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }] as const);
  const content = {
    'application/json': failure
      ? { schema: documentedSchema(failure) }
      : { schema: documentedSchema(ErrorBody), examples: Object.fromEntries(examples) },
  };
  const uses: HeaderUse[] = ['RequestId', ...(usual[status] ?? []), ...own];
  return { description, headers: headerObjects(uses, used), content, 'x-error-codes': codes };
}

export function headerObjects(uses: HeaderUse[], used: SharedComponents): Json {
  const entries = uses.map((use): [string, Json] => {
    const optional = use.endsWith('?');
    // The type of `use` ensures that this is the name of a header.
    const name = (optional ? use.slice(0, -1) : use) as HeaderName;
    if (optional) return [headers[name].name, headerObject(name, false)];
    used.headers.add(name);
    return [headers[name].name, { $ref: `#/components/headers/${name}` }];
  });
  return Object.fromEntries(entries);
}

export function headerObject(header: HeaderName, required: boolean): Json {
  const { description, schema, example } = headers[header];
  return { description, ...(required && { required }), schema, example };
}
