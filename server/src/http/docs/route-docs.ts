import type { ErrorCode } from '../../core/errors.ts';
import type { Schema, TSchema } from '../schemas/schema.ts';
import type { HeaderUse } from './headers.ts';

/**
 * The parts of a route's OpenAPI documentation that neither its row in the table nor its schemas
 * have.
 */

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
}

/** By media type. */
export type Content = Record<string, { schema: Schema; examples?: Examples }>;

export type Examples = Record<string, { summary?: string; value: unknown }>;

export interface BodyDocs {
  description: string;
  examples?: Examples;
  /** Used instead of JSON with a schema. */
  content?: Content;
  /** The schema of a form that the call also takes. */
  form?: TSchema;
}

/** A reply that is not an error. */
export interface ReplyDocs extends BodyDocs {
  /** Headers besides the headers that every reply has. */
  headers?: HeaderUse[];
  /** Used instead of the route's schema, if its replies differ. */
  schema?: TSchema;
  /** Examples of the events of a stream. */
  events?: Examples;
}

export interface WebhookDocs {
  operationId: string;
  summary: string;
  description: string;
  headers: Parameter[];
  body: BodyDocs;
  replies: Record<string, { description: string }>;
}

export interface RouteDocs {
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  headers?: Parameter[];
  /** Descriptions of query parameters that differ from their schema's. */
  query?: Record<string, string>;
  body?: BodyDocs;
  replies: Record<number, ReplyDocs>;
  /** Codes of this route alone; codes of its kind, such as `unauthorized`, are added. */
  errors: ErrorCode[];
  /** Codes that this route sends with another status than the catalogue says. */
  errorsAt?: Record<number, { codes: ErrorCode[]; description: string; headers: HeaderUse[] }>;
  /** By status: headers of error replies besides the usual ones. */
  errorHeaders?: Record<number, HeaderUse[]>;
  webhook?: WebhookDocs;
  /** Used instead of the security that follows from the route's `who`. */
  security?: Record<string, string[]>[];
}

export function header(
  name: string,
  description: string,
  more: Omit<Schema, 'type'> = {},
): Parameter {
  return { name, in: 'header', description, schema: { type: 'string', ...more } };
}

/** A single example, without a name. */
export function one(value: unknown): Examples {
  return { example: { value } };
}
