import { errors, type ErrorCode } from '../core/errors.ts';
import { about, keyed, securitySchemes, tags } from './docs/about.ts';
import { advice } from './docs/advice.ts';
import { errorExamples } from './docs/errors.ts';
import { headers, rateHeaders, type HeaderName, type HeaderUse } from './docs/headers.ts';
import { collectNamed, documented, withReferences } from './docs/named.ts';
import { pathParameters } from './docs/path-parameters.ts';
import type {
  BodyDocs,
  Content,
  Examples,
  Parameter,
  ReplyDocs,
  RouteDocs,
} from './docs/route-docs.ts';
import type { Json } from '../lib/json.ts';
import { documentedOrigin } from './openapi-text.ts';
import { ErrorBody } from './schemas/error-schema.ts';
import type { Route } from './routes.ts';
import type { Schema, TSchema } from './schemas/schema.ts';

/** Makes the OpenAPI document from the table of routes, their schemas and their texts. */

/** Definitions that routes share, to be written once under `components`. */
interface Used {
  replies: Set<ErrorCode>;
  headers: Set<HeaderName>;
}

/** OpenAPI 3.0.3 of all routes, in their order. */
export function openapiDocument(table: Route[]): Json {
  const paths: Record<string, Json> = {};
  const used: Used = { replies: new Set(), headers: new Set() };
  for (const route of table) {
    const path = documentedPath(route);
    paths[path] ??= route.prefixed ? {} : { servers: [{ url: documentedOrigin }] };
    paths[path][route.method.toLowerCase()] = operation(route, used);
  }
  const replies = [...used.replies].map((code) => [code, errorReply([code], [], used)] as const);
  return {
    openapi: '3.0.3',
    info: about,
    servers: [{ url: `${documentedOrigin}/v1` }],
    tags,
    security: keyed,
    paths,
    components: {
      securitySchemes,
      schemas: Object.fromEntries(
        [...namedSchemas(table)].map(([name, schema]) => [name, withReferences(schema)]),
      ),
      headers: Object.fromEntries(
        [...used.headers].map((name) => [name, headerObject(name, true)]),
      ),
      examples: errorExamples,
      responses: Object.fromEntries(replies),
    },
  };
}

/** Every schema of the document that has a name. */
export function namedSchemas(table: Route[]): Map<string, Schema> {
  const named = new Map<string, Schema>();
  const shapes = table.flatMap(({ shapes: { params: _params, ...schemas } }): TSchema[] =>
    Object.values(schemas),
  );
  for (const schema of [...shapes, ErrorBody]) collectNamed(schema, named);
  return named;
}

/** `/queue/*` → `/queue/{model_id}`: the only wildcard stands for a model id. */
export function documentedPath({ path }: Pick<Route, 'path'>): string {
  return path.replace('*', '{model_id}').replace(/:(\w+)/g, '{$1}');
}

function operation(route: Route, used: Used): Json {
  const { docs, shapes } = route;
  const { operationId, tag, summary, description, body, headers: inHeaders = [] } = docs;
  const security = docs.security ?? securityOf(route);
  const parameters = [...inPath(documentedPath(route)), ...inQuery(route), ...inHeaders];
  return {
    operationId,
    tags: [tag],
    summary,
    description:
      route.who === 'operator' || (route.who === 'key' && route.scope === 'keys')
        ? `${description} Scope: \`${route.scope}\`.`
        : description,
    ...(security && { security }),
    ...(route.bySession && { 'x-by-session': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBody(body, shapes.body ?? shapes.rawBody) }),
    responses: { ...successes(route, used), ...failures(route, used) },
    ...(docs.webhook && { callbacks: callbacksOf(docs, shapes.webhook) }),
  };
}

function inPath(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name: name!, in: 'path', required: true, ...pathParameters[name!]! };
  });
}

function inQuery({ docs, shapes }: Route): Parameter[] {
  const fields = { ...shapes.query?.properties, ...shapes.rawQuery?.properties };
  const required: readonly string[] = shapes.query?.required ?? [];
  return Object.entries(fields).map(([name, field]) => {
    const { description, example, ...schema }: Schema = field;
    return {
      name,
      in: 'query',
      ...(required.includes(name) && schema.default === undefined && { required: true }),
      description: docs.query?.[name] ?? description ?? '',
      schema: documented(schema),
      ...(example !== undefined && { example }),
    };
  });
}

function requestBody({ description, examples, content, form }: BodyDocs, schema?: TSchema): Json {
  const asForm = form && { 'multipart/form-data': { schema: documented(form) } };
  return {
    description,
    required: true,
    content: { ...(content ?? json(schema!, examples)), ...asForm },
  };
}

function json(schema: TSchema, examples?: Examples): Content {
  return {
    'application/json': { schema: documented(schema), ...(examples && { examples }) },
  };
}

/** The call that a submit's `webhook_url` gets. */
function callbacksOf({ tag, webhook }: RouteDocs, schema?: TSchema): Json {
  const { operationId, summary, description, headers: parameters, body, replies } = webhook!;
  const post = {
    operationId,
    tags: [tag],
    summary,
    description,
    security: [],
    parameters,
    requestBody: requestBody(body, schema),
    responses: replies,
  };
  return { final: { '{$request.query.webhook_url}': { post } } };
}

function securityOf({ who }: Route): Json[] | null {
  if (who === 'anyone' || who === 'signature') return [];
  if (who === 'operator')
    return [{ OperatorKey: [] }, { OperatorBearer: [] }, { OperatorXApiKey: [] }];
  if (who === 'key_or_signature') return [{}, ...keyed];
  return null;
}

function successes({ docs, who, shapes }: Route, used: Used): Json {
  const entries = Object.entries(docs.replies).map(([status, reply]): [string, Json] => {
    const { description, headers: own = [] } = reply;
    const content = Number(status) < 300 ? contentOf(reply, shapes) : {};
    return [
      status,
      {
        description,
        headers: headerObjects(['RequestId', ...rateOf(who), ...own], used),
        ...(Object.keys(content).length > 0 && { content }),
      },
    ];
  });
  return Object.fromEntries(entries);
}

function contentOf(docs: ReplyDocs, { reply, written, events }: Route['shapes']): Content {
  const body = docs.schema ?? reply ?? written;
  return {
    ...docs.content,
    ...(body && json(body, docs.examples)),
    ...(events && {
      'text/event-stream': {
        schema: documented(events),
        ...(docs.events && { examples: docs.events }),
      },
    }),
  };
}

/**
 * Rate headers of a route. A call that needs no key but comes with one counts against that key's
 * rate.
 */
function rateOf(who: Route['who']): HeaderUse[] {
  if (who === 'key' || who === 'operator') return rateHeaders;
  return who === 'key_or_signature' ? rateHeaders.map((name): HeaderUse => `${name}?`) : [];
}

/** Error codes of a route: its own codes, and the codes of its kind. */
export function codesOf({ prefixed, who, docs }: Route): ErrorCode[] {
  const codes: ErrorCode[] = [...docs.errors];
  if (who === 'key' || who === 'key_or_signature' || who === 'operator')
    codes.push('unauthorized', 'forbidden', 'rate_limited');
  if (prefixed) codes.push('capacity_unavailable');
  codes.push('method_not_allowed', 'internal_error');
  return [...new Set(codes)];
}

function failures(route: Route, used: Used): Json {
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
  for (const [status, { codes, description, headers: own }] of Object.entries(errorsAt)) {
    replies[status] = { ...errorReply(codes, own, used, route.shapes.failure), description };
  }
  return replies;
}

/** Headers that follow from the status of an error. */
const usual: Record<number, HeaderUse[]> = {
  401: ['Challenge?'],
  402: ['ShouldRetry'],
  405: ['Allow'],
  409: ['ShouldRetry'],
  429: ['RetryAfter', ...rateHeaders],
  503: ['RetryAfter'],
};

/** `failure`: the schema of the body, if it is not the usual one. */
function errorReply(codes: ErrorCode[], own: HeaderUse[], used: Used, failure?: TSchema): Json {
  const { status } = errors[codes[0]!];
  const said = codes.map((code) => `- \`${code}\`: ${advice[code].when}`);
  const description = codes.length === 1 ? advice[codes[0]!].when : said.join('\n');
  const examples = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }] as const);
  const content = {
    'application/json': failure
      ? { schema: documented(failure) }
      : { schema: documented(ErrorBody), examples: Object.fromEntries(examples) },
  };
  const uses: HeaderUse[] = ['RequestId', ...(usual[status] ?? []), ...own];
  return { description, headers: headerObjects(uses, used), content, 'x-error-codes': codes };
}

function headerObjects(uses: HeaderUse[], used: Used): Json {
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

function headerObject(header: HeaderName, required: boolean): Json {
  const { description, schema, example } = headers[header];
  return { description, ...(required && { required }), schema, example };
}
