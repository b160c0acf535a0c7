import type { Json } from '../lib/json.ts';
import { about, keySecurity, securitySchemes, tagOf, tagsOf } from './docs/about.ts';
import { errorExamples } from './docs/errors.ts';
import {
  errorReply,
  failures,
  headerObject,
  headerObjects,
  rateOf,
  type SharedComponents,
} from './docs/failures.ts';
import { collectNamed, documentedSchema, withReferences } from './docs/named.ts';
import { pathParameters } from './docs/parameters.ts';
import { readProse, type ApiProse, type Prose } from './docs/prose.ts';
import type { Content, Examples, Parameter, RouteDocs } from './docs/route-docs.ts';
import { borrowedExample, shownExamples, type ShownExamples } from './docs/shown.ts';
import { documentedOrigin } from './openapi-text.ts';
import type { ApiRoute } from './routes.ts';
import { ErrorBody } from './schemas/error-schema.ts';
import type { Schema, TSchema } from './schemas/schema.ts';

/** Makes the OpenAPI document from the table of routes, their schemas and docs/api/. */

interface DocumentParts extends SharedComponents {
  prose: ApiProse;
  shown: ShownExamples;
}

/** OpenAPI 3.0.3 of all routes, in their order. */
export function openapiDocument(table: ApiRoute[], prose = readProse()): Json {
  const paths: Record<string, Json> = {};
  const shown = shownExamples(table, prose.calls, callOf);
  const making: DocumentParts = { replies: new Set(), headers: new Set(), prose, shown };
  for (const route of table) {
    const path = documentedPath(route);
    paths[path] ??= route.prefixed ? {} : { servers: [{ url: documentedOrigin }] };
    paths[path][route.method.toLowerCase()] = operation(route, making);
  }
  demandCalls(table, prose);
  const replies = [...making.replies].map(
    (code) => [code, errorReply([code], [], making)] as const,
  );
  return {
    openapi: '3.0.3',
    info: { ...about, description: prose.overview },
    servers: [{ url: `${documentedOrigin}/v1` }],
    tags: tagsOf(prose),
    security: keySecurity,
    paths,
    components: {
      securitySchemes,
      schemas: Object.fromEntries(
        [...namedSchemas(table)].map(([name, schema]) => [name, withReferences(schema)]),
      ),
      headers: Object.fromEntries(
        [...making.headers].map((name) => [name, headerObject(name, true)]),
      ),
      examples: errorExamples,
      responses: Object.fromEntries(replies),
    },
  };
}

/** Throws if docs/api/ describes a call that does not exist. */
function demandCalls(table: ApiRoute[], { calls }: ApiProse): void {
  const known = new Set(table.flatMap((route) => [callOf(route), route.docs.webhook?.call]));
  for (const [call, { page }] of calls)
    if (!known.has(call)) throw new Error(`docs/api/${page}.md: there is no call ${call}`);
}

/** As the headings of docs/api/ name it. */
export function callOf(route: Pick<ApiRoute, 'method' | 'path'>): string {
  return `${route.method} ${documentedPath(route)}`;
}

/** Every schema of the document that has a name. */
export function namedSchemas(table: ApiRoute[]): Map<string, Schema> {
  const named = new Map<string, Schema>();
  const shapes = table.flatMap(({ shapes: { params: _params, ...schemas } }): TSchema[] =>
    Object.values(schemas),
  );
  for (const schema of [...shapes, ErrorBody]) collectNamed(schema, named);
  return named;
}

/** `/queue/*` → `/queue/{model_id}`: the only wildcard stands for a model id. */
export function documentedPath({ path, docs }: Pick<ApiRoute, 'path'> & Partial<ApiRoute>): string {
  return (docs?.path ?? path).replace('*', '{model_id}').replace(/:(\w+)/g, '{$1}');
}

function operation(route: ApiRoute, making: DocumentParts): Json {
  const { docs, shapes, who } = route;
  const prose = proseFor(callOf(route), making);
  const { summary, description, page } = prose;
  const security = docs.security ?? securityOf(route);
  const parameters = [...inPath(documentedPath(route)), ...inQuery(route), ...(docs.headers ?? [])];
  const isScoped = who === 'operator' || (who === 'key' && route.scope === 'keys');
  const responses = { ...successes(route, prose, making), ...failures(route, making) };
  for (const place of Object.keys(prose.examples))
    if (!(place in responses) && !['request', 'event'].includes(place))
      throw new Error(`docs/api/${page}.md: ${callOf(route)} has no reply ${place}`);
  return {
    operationId: docs.operationId,
    tags: [tagOf(page)],
    summary,
    description: isScoped ? `${description}\n\nScope: \`${route.scope}\`.` : description,
    ...(security && { security }),
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(docs.body, shapes.body ?? shapes.rawBody, prose),
    responses,
    ...(docs.webhook && { callbacks: callbacksOf(docs.webhook, shapes.webhook, making, page) }),
  };
}

function proseFor(call: string, { prose }: Pick<DocumentParts, 'prose'>): Prose {
  const found = prose.calls.get(call);
  if (!found) throw new Error(`docs/api/ does not describe ${call}`);
  return found;
}

function inPath(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name: name!, in: 'path', required: true, ...pathParameters[name!]! };
  });
}

function inQuery({ shapes }: ApiRoute): Parameter[] {
  const fields = { ...shapes.query?.properties, ...shapes.rawQuery?.properties };
  const required: readonly string[] = shapes.query?.required ?? [];
  return Object.entries(fields).map(([name, field]) => {
    const { description, example, ...schema }: Schema = field;
    return {
      name,
      in: 'query',
      ...(required.includes(name) && schema.default === undefined && { required: true }),
      description: description ?? '',
      schema: documentedSchema(schema),
      ...(example !== undefined && { example }),
    };
  });
}

function requestBody(docs: RouteDocs['body'], schema: TSchema | undefined, prose: Prose): Json {
  const { content, form } = docs ?? {};
  if (!schema && !content && !form) return {};
  const asForm = form && { 'multipart/form-data': { schema: documentedSchema(form) } };
  const plain = content ?? (schema && json(schema, prose.examples.request));
  return { requestBody: { required: true, content: { ...plain, ...asForm } } };
}

function json(schema: TSchema, examples?: Examples): Content {
  return {
    'application/json': { schema: documentedSchema(schema), ...(examples && { examples }) },
  };
}

/** The call that a submit's `webhook_url` gets. */
function callbacksOf(
  { operationId, call, headers: parameters }: NonNullable<RouteDocs['webhook']>,
  schema: TSchema | undefined,
  making: DocumentParts,
  page: string,
): Json {
  const prose = proseFor(call, making);
  const { summary, description } = prose;
  const post = {
    operationId,
    tags: [tagOf(page)],
    summary,
    description,
    security: [],
    parameters,
    ...requestBody(undefined, schema, prose),
    responses: { '2XX': { description: 'Received.' }, '4XX': { description: 'Failed.' } },
  };
  return { final: { '{$request.query.webhook_url}': { post } } };
}

function securityOf({ who }: ApiRoute): Json[] | null {
  if (who === 'anyone' || who === 'signature') return [];
  if (who === 'operator')
    return [{ OperatorKey: [] }, { OperatorBearer: [] }, { OperatorXApiKey: [] }];
  if (who === 'key_or_signature') return [{}, ...keySecurity];
  return null;
}

/** Descriptions of replies, whose details are in the description of the call. */
const outcomes: Record<string, string> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'Done, without a body.',
  206: 'The requested range.',
  302: 'The bytes are at `Location`.',
  304: 'Not changed: your copy is current.',
};

function successes(route: ApiRoute, prose: Prose, making: DocumentParts): Json {
  const replies = Object.entries(route.docs.replies ?? { 200: {} });
  const entries = replies.map(([status, reply]): [string, Json] => {
    const content = contentOf(route, status, prose, making.shown);
    return [
      status,
      {
        description: outcomes[status]!,
        headers: headerObjects(
          ['RequestId', ...rateOf(route.who), ...(reply.headers ?? [])],
          making,
        ),
        ...(Object.keys(content).length > 0 && { content }),
      },
    ];
  });
  return Object.fromEntries(entries);
}

function contentOf(route: ApiRoute, status: string, prose: Prose, shown: ShownExamples): Content {
  const { docs, shapes } = route;
  if (Number(status) >= 300) return {};
  const { content, schema } = docs.replies?.[Number(status)] ?? {};
  const body = schema ?? shapes.reply ?? shapes.written;
  const { event } = prose.examples;
  return {
    ...content,
    ...(body && json(body, prose.examples[status] ?? borrowedExample(body, shown))),
    ...(shapes.events && {
      'text/event-stream': {
        schema: documentedSchema(shapes.events),
        ...(event && { examples: event }),
      },
    }),
  };
}
