import type { ErrorCode } from '../../core/errors.ts';
import type { HeaderUse } from './headers.ts';

/** The words in which the routes are described: JSON Schema as OpenAPI 3.0 knows it. */

export type Schema = Record<string, unknown>;

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
}

/** By media type. Several examples have names. */
export type Content = Record<string, { schema: Schema; examples?: Record<string, Example> }>;

export interface Example {
  summary?: string;
  value: unknown;
}

/** A reply that is no error. */
export interface Reply {
  description: string;
  /** Those that every reply has are added. */
  headers?: HeaderUse[];
  content?: Content;
}

/** Everything the OpenAPI document says of a route that its row in the table does not. */
export interface RouteDocs {
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  parameters?: Parameter[];
  body?: { description: string; required: true; content: Content };
  replies: Record<number, Reply>;
  /** Codes of this route alone; those of its kind, such as `unauthorized`, are added. */
  errors: ErrorCode[];
  /** Where a code comes with another status than the catalogue's. */
  errorsAt?: Record<number, { codes: ErrorCode[]; description: string; headers: HeaderUse[] }>;
  /** Names of headers that some error replies carry besides the usual. */
  errorHeaders?: Record<number, HeaderUse[]>;
  callbacks?: Record<string, unknown>;
  /** In place of what follows from who may call. */
  security?: Record<string, string[]>[];
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function text(description: string, more: Schema = {}): Schema {
  return { type: 'string', description, ...more };
}

export function integer(description: string, more: Schema = {}): Schema {
  return { type: 'integer', description, ...more };
}

export function number(description: string, more: Schema = {}): Schema {
  return { type: 'number', description, ...more };
}

export function boolean(description: string, more: Schema = {}): Schema {
  return { type: 'boolean', description, ...more };
}

export function list(items: Schema, description: string, more: Schema = {}): Schema {
  return { type: 'array', items, description, ...more };
}

/** An object that has these fields, the `optional` ones aside; more may come with time. */
export function object(
  properties: Record<string, Schema>,
  optional: string[] = [],
  more: Schema = {},
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...more };
}

/** An object whose further fields are somebody else's to name. */
export function openObject(
  properties: Record<string, Schema>,
  optional: string[] = [],
  more: Schema = {},
): Schema {
  return object(properties, optional, { ...more, additionalProperties: true });
}

/** An object of which nothing is known beforehand. */
export function anything(description: string): Schema {
  return { type: 'object', description, additionalProperties: true };
}

/** Takes a schema that states its type, as OpenAPI 3.0 asks. */
export function nullable(schema: Schema): Schema {
  if (schema.type === undefined) throw new Error('nullable needs a type beside it');
  if (schema.enum !== undefined) throw new Error('of an enumeration take nullableRef');
  return { ...schema, nullable: true };
}

/**
 * A named enumeration, or null. Null is kept apart: generators make code that does not compile of
 * an enumeration that holds it beside texts.
 */
export function nullableRef(name: string, description: string): Schema {
  return { description, anyOf: [ref(name), { type: 'string', nullable: true, enum: [null] }] };
}

const microUsdPattern = '^(0|[1-9][0-9]*)$';

/** An amount: whole micro-USD as a decimal text, so that no reader loses digits. */
export function microUsd(description: string): Schema {
  return text(description, { pattern: microUsdPattern, example: '39000' });
}

export function time(description: string): Schema {
  return text(description, { format: 'date-time', example: '2026-03-01T12:00:00.000Z' });
}

export function url(description: string): Schema {
  return text(description, { format: 'uri' });
}

/** One example without a name of its own. */
export function json(schema: Schema, examples?: Record<string, Example>): Content {
  return { 'application/json': { schema, ...(examples && { examples }) } };
}

export function one(value: unknown): Record<string, Example> {
  return { example: { value } };
}
