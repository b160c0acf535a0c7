import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

/**
 * Checks replies against the committed OpenAPI document: status, headers, code of an error, every
 * field of the body. Callers must accept unknown fields, but we must not send any that the document
 * does not name.
 */

type Json = Record<string, unknown>;
export type ReplyHeaders = Headers | Record<string, string | string[] | number | undefined>;

interface Operation extends Json {
  operationId: string;
  responses: Record<string, Json>;
}

interface DocumentedPath {
  template: string;
  pattern: RegExp;
  operations: Record<string, Operation>;
}

const methods = ['get', 'put', 'post', 'delete', 'patch'];
/** Error codes of Node's HTTP parser and of the router, before a route is known. */
const withoutRoute: Record<number, string[]> = {
  400: ['bad_request'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  408: ['bad_request'],
  431: ['bad_request'],
  500: ['internal_error'],
  503: ['capacity_unavailable'],
};

export const document = JSON.parse(
  readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'),
) as Json & { paths: Record<string, Json>; components: Record<string, Record<string, Json>> };

const paths: DocumentedPath[] = Object.entries(document.paths).map(([template, item]) => ({
  template,
  pattern: patternOf(template, 'servers' in item),
  operations: Object.fromEntries(
    methods.filter((method) => method in item).map((method) => [method, item[method] as Operation]),
  ),
}));

/**
 * Throws if the document does not allow this reply. `path` may have a query and an origin. `body`:
 * the parsed JSON, or the text or bytes as received; undefined if it was not read.
 */
export function checkReply(
  method: string,
  path: string,
  status: number,
  headers: ReplyHeaders,
  body: unknown,
): void {
  const name = `${method.toUpperCase()} ${path} → ${status}`;
  const sent = fieldsOf(headers);
  const found = findOperation(method, path);
  if (typeof found === 'string' || status === 408 || status === 431) {
    checkWithoutRoute(name, typeof found === 'string' ? found : 'No route', status, sent, body);
    return;
  }
  const { operation } = found;
  const documented = operation.responses[status];
  if (documented === undefined) {
    const known = Object.keys(operation.responses).join(', ');
    throw fault(
      name,
      `status ${status} is not documented of ${operation.operationId} (${known})`,
      body,
    );
  }
  assert.notEqual(status, 405, `${name}: the document has this method`);
  const response = resolve(documented);
  const promised = (response.headers ?? {}) as Record<string, Json>;
  checkHeaders(name, promised, sent);
  if (status < 400) checkNoOthers(name, promised, sent);
  if (method.toUpperCase() !== 'HEAD') checkContent(name, response, sent, body);
}

/** The operation for this call, or why there is none. */
export function findOperation(
  method: string,
  path: string,
): { template: string; operation: Operation } | string {
  const { pathname } = new URL(path, 'http://localhost');
  const fitting = paths.filter(({ pattern }) => pattern.test(pathname));
  // A path that goes on after a model's id also fits one that ends with it.
  const documented = fitting.find(({ template }) => !template.endsWith('{model_id}')) ?? fitting[0];
  if (!documented) return 'No route';
  const wanted = method.toLowerCase() === 'head' ? 'get' : method.toLowerCase();
  const operation = documented.operations[wanted];
  if (!operation) return 'No method';
  return { template: documented.template, operation };
}

/** Resolves a reference inside the document. */
export function resolve(node: Json): Json {
  if (typeof node.$ref !== 'string') return node;
  const parts = node.$ref.slice(2).split('/');
  return parts.reduce<unknown>((at, part) => (at as Json)[part], document) as Json;
}

/**
 * Null if the value fits the schema, otherwise what is wrong. `closed`: fields that the schema does
 * not name are faults too, unless it allows others.
 */
export function schemaFault(schema: Json, value: unknown, closed: boolean): string | null {
  const validate = compiled(schema, closed);
  if (validate(value)) return null;
  const [error] = validate.errors!;
  const { instancePath, message, params } = error!;
  const field = (params as { additionalProperty?: string }).additionalProperty;
  if (field !== undefined)
    return `the field ${instancePath}/${field} is not in the document; has npm run generate been run?`;
  return `${instancePath || 'the value'} ${message} ${JSON.stringify(params)}`;
}

function patternOf(template: string, outside: boolean): RegExp {
  // A model id has slashes; everything else is one segment.
  const escaped = template.replace(/[.]/g, String.raw`\.`);
  const source = escaped.replace('{model_id}', '.*').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${outside ? '' : '/v1'}${source}$`);
}

function checkWithoutRoute(
  name: string,
  why: string,
  status: number,
  headers: Map<string, string>,
  body: unknown,
): void {
  const codes = withoutRoute[status];
  if (!codes || (why === 'No method' && status === 404)) {
    throw fault(name, `${why} of the document answers here, so ${status} must not come`, body);
  }
  const form = /^\w+ (\/v1)*\/messages/.test(name) ? 'MessagesError' : 'Error';
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${form}` } } };
  checkContent(name, { content, 'x-error-codes': codes }, headers, body);
}

function checkHeaders(
  name: string,
  documented: Record<string, Json>,
  sent: Map<string, string>,
): void {
  for (const [header, node] of Object.entries(documented)) {
    const { required, schema } = resolve(node) as { required?: boolean; schema: Json };
    const text = sent.get(header.toLowerCase());
    if (text === undefined) {
      assert.ok(!required, `${name}: the header ${header} is missing`);
      continue;
    }
    const value = schema.type === 'integer' && /^\d+$/.test(text) ? Number(text) : text;
    const wrong = schemaFault(schema, value, true);
    assert.equal(
      wrong,
      null,
      `${name}: the header ${header}: ${text} is not as documented: ${wrong}`,
    );
  }
}

/** Headers of the message or the connection, which the document does not list by call. */
const ofHttp = [
  'content-type',
  'content-length',
  'content-encoding',
  'vary',
  'date',
  'connection',
  'keep-alive',
  // Sent to browsers on every call, as docs/api/conventions.md says.
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'x-content-type-options',
];
ofHttp.push('transfer-encoding');

function checkNoOthers(
  name: string,
  documented: Record<string, Json>,
  sent: Map<string, string>,
): void {
  const known = new Set([...ofHttp, ...Object.keys(documented).map((each) => each.toLowerCase())]);
  const others = [...sent.keys()].filter((header) => !known.has(header));
  assert.deepEqual(others, [], `${name}: headers that are not in the document`);
}

function checkContent(
  name: string,
  response: Json,
  headers: Map<string, string>,
  body: unknown,
): void {
  const content = response.content as Record<string, { schema: Json }> | undefined;
  if (!content) {
    const empty = body === undefined || body === null || body === '' || isEmptyBytes(body);
    if (!empty) throw fault(name, 'has a body where the document has none', body);
    return;
  }
  const type = (headers.get('content-type') ?? '').split(';')[0]!.trim();
  const documented = content[type] ?? content[type.replace(/\/.*/, '/*')];
  if (!documented) {
    throw fault(
      name,
      `the content type "${type}" is not documented (${Object.keys(content)})`,
      body,
    );
  }
  if (body === undefined) return;
  if (type === 'text/event-stream') return checkEvents(name, documented.schema, body);
  if (type !== 'application/json') return;
  const value = parsed(body);
  const wrong = schemaFault(documented.schema, value, true);
  if (wrong !== null) throw fault(name, wrong, value);
  const codes = response['x-error-codes'] as string[] | undefined;
  if (codes) {
    const { code } = (value as { error: { code: string } }).error;
    if (!codes.includes(code))
      throw fault(name, `${code} is not documented here (${codes})`, value);
  }
}

/** Checks the data of every event; a stream that was cut may end inside one. */
function checkEvents(name: string, schema: Json, body: unknown): void {
  for (const event of textOf(body).split('\n\n').slice(0, -1)) {
    const data = event.split('\n').filter((line) => line.startsWith('data: '));
    const text = data.map((line) => line.slice(6)).join('\n');
    if (text === '' || text === '[DONE]') continue;
    const wrong = schemaFault(schema, JSON.parse(text), true);
    if (wrong !== null) throw fault(name, `an event: ${wrong}`, text);
  }
}

const validators = new Map<string, ValidateFunction>();
const engines = { open: engine(document), closed: engine(closeObjects(document) as Json) };

function compiled(schema: Json, closed: boolean): ValidateFunction {
  const key = `${closed} ${JSON.stringify(schema)}`;
  let validate = validators.get(key);
  if (!validate) {
    const ajv = engines[closed ? 'closed' : 'open'];
    validate = ajv.compile(absolute(closed ? closeObjects(schema) : schema) as Json);
    validators.set(key, validate);
  }
  return validate;
}

/**
 * A validator. Ajv supports OpenAPI's `nullable`; words such as `example` are not part of JSON
 * Schema.
 */
function engine(root: Json): Ajv {
  const ajv = new Ajv({ strict: false, allErrors: false, logger: false });
  addFormats.default(ajv);
  const { schemas } = root.components as Record<string, Json>;
  ajv.addSchema({ $id: 'document', components: { schemas } });
  return ajv;
}

/** Makes references within the document absolute, so that they work outside it. */
function absolute(node: unknown): unknown {
  return mapObjects(node, (object) =>
    typeof object.$ref === 'string' ? { $ref: `document${object.$ref}` } : object,
  );
}

function closeObjects(node: unknown): unknown {
  return mapObjects(node, (object) =>
    object.type === 'object' && object.properties && object.additionalProperties === undefined
      ? { ...object, additionalProperties: false }
      : object,
  );
}

function mapObjects(node: unknown, map: (object: Json) => Json): unknown {
  if (Array.isArray(node)) return node.map((item) => mapObjects(item, map));
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([name, value]) => [name, mapObjects(value, map)]);
  return map(Object.fromEntries(entries) as Json);
}

function fieldsOf(headers: ReplyHeaders): Map<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const given = entries.filter(([, value]) => value !== undefined);
  return new Map(given.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function parsed(body: unknown): unknown {
  return typeof body === 'string' || body instanceof Uint8Array ? JSON.parse(textOf(body)) : body;
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString('utf8');
}

function isEmptyBytes(body: unknown): boolean {
  return body instanceof Uint8Array && body.length === 0;
}

function fault(name: string, wrong: string, body: unknown): Error {
  const shown = body instanceof Uint8Array ? textOf(body) : body;
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return new Error(`${name}: ${wrong}\n${text?.slice(0, 1000) ?? ''}`);
}
