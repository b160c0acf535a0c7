import { isUtf8 } from 'node:buffer';
import { inPieces, type JsonLimits } from './json/pieces.ts';
import { JsonError } from './json/problem.ts';
import { exactJson, isLong } from './long-integers.ts';

export { JsonError, type JsonLimits };

/**
 * JSON from outside. Input that `JSON.parse` accepts but that would do harm later is refused here,
 * so that no other code has to consider it. The last value of a repeated key counts.
 */

/** A JSON object whose members are not known yet. */
export type Json = Record<string, unknown>;

/** The check of a value recurses once per level; this is far below the limit of the stack. */
const depthCeiling = 1_000;

/**
 * Parses UTF-8 JSON.
 *
 * Refuses: bytes that are not UTF-8, a byte order mark, deeper nesting than `limits.depth`, NUL
 * characters and lone surrogates in strings and keys (PostgreSQL's jsonb cannot store them),
 * numbers beyond 1.8e308, the key `__proto__` and `constructor.prototype`. Integers beyond 2^53
 * keep their digits, as long integers.
 *
 * @throws JsonError
 */
export function parseJson(body: Buffer, limits: JsonLimits): unknown {
  const pieces = parseInPieces(body, limits);
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

/** As `parseJson`; yields after each piece of a long text, so that other work can go on. */
export function* parseInPieces(body: Buffer, limits: JsonLimits): Generator<void, unknown> {
  if (limits.depth > depthCeiling) throw new RangeError(`depth is at most ${depthCeiling}`);
  const text = decode(body);
  yield;
  return yield* inPieces(text, limits);
}

function decode(body: Buffer): string {
  if (body.length === 0) throw new JsonError('The body is empty; send JSON.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new JsonError('The body begins with a byte order mark; send UTF-8 without it.');
  }
  if (!isUtf8(body)) throw new JsonError('The body is not valid UTF-8; send JSON in UTF-8.');
  return body.toString('utf8');
}

/** A JSON object, neither a list nor null. A long integer is none. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLong(value);
}

/** The object itself, or an empty object if the value is not an object. */
export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** The list itself, or an empty list if the value is not a list. */
export function itemsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Parses JSON that this service or one of its packages has written. Throws a SyntaxError if the
 * text is not JSON.
 */
export function fromJson<T>(text: string): T {
  // Not checked, because the value had this type when it was written.
  return exactJson(text) as T;
}

/** A whole number ≥ 0. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/**
 * The same text for equal values, whatever the order of their keys: keys sorted by UTF-16 code
 * units, no white space, strings and numbers in ECMAScript's form (RFC 8785). Undefined members are
 * left out, as in `JSON.stringify`. Takes results of `parseJson`, and recurses once per level.
 *
 * @throws TypeError for values that JSON does not have: bigint, function, NaN, Infinity, undefined
 * outside an object.
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError('JSON has no form for this number');
      return String(value);
    case 'object':
      if (isLong(value)) return value.rawJSON;
      if (isObject(value)) return canonicalObject(value);
      return value === null ? 'null' : `[${itemsOf(value).map(canonicalJson).join(',')}]`;
    default:
      throw new TypeError(`JSON has no form for a ${typeof value}`);
  }
}

function canonicalObject(object: Record<string, unknown>): string {
  let text = '';
  for (const key of Object.keys(object).sort()) {
    const value = object[key];
    if (value === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(value)}`;
  }
  return `{${text}}`;
}

/** A text from outside as PostgreSQL can store it: U+FFFD replaces NUL and lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** Whether lists and objects are nested at most `depth` levels; `[]` is 1, a plain number 0. */
export function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || isLong(value)) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithinDepth(inner, depth - 1));
}

/**
 * `JSON.stringify` with U+FFFD for what jsonb cannot store: NUL and lone surrogates.
 *
 * @throws RangeError for nesting deeper than 1,000 levels, before recursion could exhaust the
 * stack.
 */
export function storableJson(value: unknown): string {
  if (!isWithinDepth(value, depthCeiling))
    throw new RangeError(`JSON to be stored is nested more than ${depthCeiling} levels deep`);
  const text = JSON.stringify(value);
  if (!text.includes('\\u')) return text;
  // Matches one escape after the other, so that an escaped backslash does not begin another escape.
  return text.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (escape) =>
    escape.length > 2 ? '\ufffd' : escape,
  );
}
