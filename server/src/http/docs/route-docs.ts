import type { ErrorCode } from '../../core/errors.ts';
import type { Schema, TSchema } from '../schemas/schema.ts';
import type { HeaderUse } from './headers.ts';

/**
 * The parts of a call's OpenAPI documentation that neither its row in the table nor its schemas nor
 * docs/api/ have.
 */
export interface RouteDocs {
  operationId: string;
  /** As the document shows it, if a wildcard stands for more than a model's id. */
  path?: string;
  headers?: Parameter[];
  body?: BodyDocs;
  /** By status: replies that are not errors. Left out: 200. */
  replies?: Record<number, ReplyDocs>;
  /** Codes of this call besides those of its kind, which `codesOf` adds. */
  errors?: ErrorCode[];
  /** Codes that this call sends with another status than the catalogue says. */
  errorsAt?: Record<number, { codes: ErrorCode[]; headers?: HeaderUse[] }>;
  /** By status: headers of error replies besides the usual ones. */
  errorHeaders?: Record<number, HeaderUse[]>;
  webhook?: WebhookDocs;
  /** Used instead of the security that follows from the route's `who`. */
  security?: Record<string, string[]>[];
}

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

export type Examples = Record<string, { value: unknown }>;

interface BodyDocs {
  /** Used instead of JSON with a schema. */
  content?: Content;
  /** The schema of a form that the call also takes. */
  form?: TSchema;
}

interface ReplyDocs {
  /** Headers besides the headers that every reply has. */
  headers?: HeaderUse[];
  /** Used instead of JSON with a schema. */
  content?: Content;
  /** Used instead of the route's schema, if its replies differ. */
  schema?: TSchema;
}

interface WebhookDocs {
  operationId: string;
  /** Its heading in docs/api/. */
  call: string;
  headers: Parameter[];
}

export function header(
  name: string,
  description: string,
  more: Omit<Schema, 'type'> = {},
): Parameter {
  return { name, in: 'header', description, schema: { type: 'string', ...more } };
}

export function bytesOf(...types: string[]): Content {
  return Object.fromEntries(
    types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
  );
}
