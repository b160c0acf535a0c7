import {
  Type,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from 'typebox';
import { microUsdPattern } from '../../core/price/money.ts';

/**
 * The schemas of calls and replies: JSON Schema as OpenAPI 3.0 knows it, each with its TypeScript
 * type. Validation, serialisation, the OpenAPI document and the types of the client and the web
 * pages all come from them.
 */

export type { Static, TObject, TSchema } from 'typebox';

/** JSON Schema as OpenAPI 3.0 knows it, as far as this service reads it. */
export interface Schema {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string;
  format?: string;
  pattern?: string;
  /** The rule in words, if the other keywords do not say it well. */
  rule?: string;
  nullable?: boolean;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  example?: unknown;
}

/** More keywords of a schema: `minimum`, `maxLength`, `default` … */
type Keywords = Record<string, unknown>;

const about = (description: string | undefined, more: Keywords): Keywords =>
  description === undefined ? more : { description, ...more };

export function text(description?: string, more: Keywords = {}) {
  return Type.String(about(description, more));
}

export function integer(description?: string, more: Keywords = {}) {
  return Type.Integer(about(description, more));
}

export function number(description?: string, more: Keywords = {}) {
  return Type.Number(about(description, more));
}

export function boolean(description?: string, more: Keywords = {}) {
  return Type.Boolean(about(description, more));
}

export function list<S extends TSchema>(items: S, description?: string, more: Keywords = {}) {
  return Type.Array(items, about(description, more));
}

/** One of these strings or whole numbers. */
export function choice<const T extends string | number>(
  values: readonly T[],
  description?: string,
  more: Keywords = {},
): TUnsafe<T> {
  const type = typeof values[0] === 'number' ? 'integer' : 'string';
  return Type.Unsafe<T>({ ...about(description, more), type, enum: [...values] });
}

/** A reply may gain fields with time; `optional` marks fields that can be missing. */
export function object<P extends TProperties>(properties: P, more: Keywords = {}): TObject<P> {
  return Type.Object(properties, more);
}

/** Marks a field that can be missing. */
export const optional = Type.Optional;

/** An object that may have further fields, of an upstream or of OpenAI's protocol for example. */
export function openObject<P extends TProperties>(properties: P, more: Keywords = {}) {
  return object(properties, { ...more, additionalProperties: true });
}

/** An object whose keys are data: ids, names, codes. */
export function record<S extends TSchema>(values: S, description?: string) {
  const schema = { ...about(description, {}), type: 'object', additionalProperties: values };
  return Type.Unsafe<Record<string, Static<S>>>(schema);
}

/** An object that this service only passes on. */
export function anything(description?: string): TUnsafe<Record<string, unknown>> {
  return Type.Unsafe<Record<string, unknown>>({
    ...about(description, {}),
    type: 'object',
    additionalProperties: true,
  });
}

/** One of several forms. */
export function either<const S extends readonly TSchema[]>(
  forms: S,
  description?: string,
): TUnsafe<Static<S[number]>> {
  return Type.Unsafe<Static<S[number]>>({ ...about(description, {}), anyOf: [...forms] });
}

/** A flag that is only present if it is true. */
export function onlyTrue(description?: string): TUnsafe<true> {
  return Type.Unsafe<true>({ ...about(description, {}), type: 'boolean', enum: [true] });
}

export function nullable<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  const { enum: members }: Schema = schema;
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    ...(members && { enum: [...members, null] }),
    nullable: true,
  });
}

/** For OpenAI's and Anthropic's calls: their own services treat null as missing. */
export function optionalOrNull<S extends TSchema>(schema: S) {
  return optional(nullable(schema));
}

/**
 * Gives the schema a name: a component of the OpenAPI document, a type of the client and the web
 * pages. Copies made by `optional` and `nullable` keep the name.
 */
export function named<S extends TSchema>(name: string, schema: S): S {
  return { ...schema, title: name };
}

export function namedObject<P extends TProperties>(name: string, fields: P, more?: Keywords) {
  return named(name, object(fields, more));
}

export function namedOpenObject<P extends TProperties>(name: string, fields: P, more?: Keywords) {
  return named(name, openObject(fields, more));
}

export const signedMicroUsdPattern = '^(0|-?[1-9][0-9]{0,17})$';
const abovePattern = '^[1-9][0-9]{0,17}$';
const moneyPatterns: ReadonlySet<string> = new Set([
  microUsdPattern,
  signedMicroUsdPattern,
  abovePattern,
]);

/** Whether a text is micro-USD. Other texts may have a pattern, too. */
export function isMoney({ pattern }: Schema): boolean {
  return pattern !== undefined && moneyPatterns.has(pattern);
}

/** Whole micro-USD as a decimal string, so that no reader loses digits. */
export function microUsd(description?: string) {
  return text(description, { pattern: microUsdPattern, example: '39000' });
}

/** An amount that may be below zero. */
export function signedMicroUsd(description?: string) {
  return text(description, { pattern: signedMicroUsdPattern });
}

/** An amount from zero that a caller gives. */
export function amountFromZero(description?: string) {
  return text(description, { pattern: microUsdPattern, format: 'micro_usd', example: '39000' });
}

/** An amount above zero that a caller gives. */
export function amount(description?: string) {
  return text(description, { pattern: abovePattern });
}

/** A date, or a time with its zone, as a query parameter. */
export function moment(description?: string) {
  return text(description, { format: 'moment' });
}

/** ISO 8601 in UTC. */
export function time(description?: string) {
  return text(description, { format: 'date-time', example: '2026-03-01T12:00:00.000Z' });
}

export function url(description?: string) {
  return text(description, { format: 'uri' });
}

/** A text of a caller on one line, which `demandLine` reads. */
export function line(max: number, description?: string) {
  return text(description, { minLength: 1, maxLength: max });
}

/** `emailOf` checks the address. */
export function email() {
  return text('An e-mail address.');
}

export function id(description?: string) {
  return text(description, { format: 'uuid' });
}

/** The body of a call, or the filters of a list: unknown fields are refused. */
export function form<P extends TProperties>(properties: P): TObject<P> {
  return Type.Object(properties, { additionalProperties: false });
}

/** The rule for a `cursor`, in the words of a refusal. */
export const cursorRule = 'a next_cursor of this list';

/** The beginning of a page: an id, which callers treat as opaque. */
export function cursor() {
  return text('The `next_cursor` of the page before.', { format: 'cursor', rule: cursorRule });
}

/** `limit` and `cursor` of a list. */
export function pageQuery(usual: number, max = 100) {
  return {
    limit: integer('Entries of a page.', { minimum: 1, maximum: max, default: usual }),
    cursor: optional(cursor()),
  };
}

/** A page of a list; `next_cursor` is null on the last one. */
export function pageOf<S extends TSchema>(entry: S) {
  return pageWith(entry, {});
}

/** A page with more fields beside its list. */
export function pageWith<S extends TSchema, P extends TProperties>(entry: S, more: P) {
  return object({ data: list(entry), next_cursor: nullable(text()), ...more });
}
