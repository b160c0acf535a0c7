import fastJson from 'fast-json-stringify';
import type { FastifyReply } from 'fastify';
import type { Static, TSchema } from './schema.ts';

/**
 * The values that a handler may return for a schema: rows as they are stored. When they are
 * written, amounts become decimal strings, times become ISO 8601, and fields that the schema does
 * not name are left out.
 */
export type Serializable<T> = T extends string
  ? string extends T
    ? string | bigint | Date
    : T
  : T extends number
    ? number extends T
      ? number | bigint
      : T
    : T extends readonly (infer Entry)[]
      ? readonly Serializable<Entry>[]
      : T extends object
        ? { [Field in keyof T]: Serializable<T[Field]> }
        : T;

/** Compiled at first use and kept as long as their schema. */
const compiled = new WeakMap<TSchema, (value: unknown) => string>();

/** JSON by the schema. Throws if a required field is missing. */
export function serialize<S extends TSchema>(schema: S, value: Serializable<Static<S>>): string {
  let write = compiled.get(schema);
  if (!write) compiled.set(schema, (write = fastJson(schema)));
  return write(value);
}

/** The body for an answer: JSON by its schema; without a schema, the answer as it is. */
export function bodyOf(reply: FastifyReply, schema: TSchema | undefined, answer: unknown): unknown {
  if (schema === undefined) return answer;
  reply.type('application/json; charset=utf-8');
  return serialize(schema, answer);
}
