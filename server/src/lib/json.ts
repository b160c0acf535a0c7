import { isUtf8 } from 'node:buffer';
import { exactJson, isLong } from './long-integers.ts';
import { messageOf } from './unknown.ts';

/**
 * JSON from outside. Input that `JSON.parse` accepts but that would do harm later is refused here,
 * so that no other code has to consider it. The last value of a repeated key counts.
 */

/** A JSON object whose members are not known yet. */
export type Json = Record<string, unknown>;

export interface JsonLimits {
  /** Maximum nesting of arrays and objects; `[]` is 1, a plain number 0. May be 1,000 at most. */
  depth: number;
  /** Maximum number of values in a long text: a million empty lists take seconds to walk. */
  values: number;
}

/**
 * The body is not JSON that this service accepts. The message is meant for the caller: what is
 * wrong, where, and what is allowed.
 */
export class JsonError extends Error {
  /** For example `messages[0].content`; null: the whole body. */
  readonly place: string | null;
  constructor(message: string, place: string | null = null) {
    super(message);
    this.name = 'JsonError';
    this.place = place;
  }
}

interface Problem {
  what: string;
  /** From the innermost key or index outwards. */
  path: (string | number)[];
}

/** The only problem without a path, because the path of a deep value would not help. */
const deep: Problem = { what: 'is nested too deeply', path: [] };

/** The walk recurses once per level; this many levels are far below the limit of the stack. */
const depthCeiling = 1_000;

/**
 * From this length (characters) on, the depth is checked before parsing, because V8 needs 2 s for
 * five million levels (10 MiB).
 */
const scanFrom = 16_384;

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
  if (limits.depth > depthCeiling) throw new RangeError(`depth is at most ${depthCeiling}`);
  const text = decode(body);
  if (text.length >= scanFrom) judgeUnparsed(text, limits);
  let value: unknown;
  try {
    value = exactJson(text);
  } catch (error) {
    // V8 quotes a few characters of the body, which may cut a surrogate pair in two.
    throw new JsonError(`The body is not valid JSON: ${messageOf(error).toWellFormed()}`);
  }
  // Well-formed UTF-8 has no lone surrogates and JSON no raw NUL, so only escapes can produce them.
  const problem = findProblem(value, limits.depth, text.includes('\\u'));
  if (problem === null) return value;
  if (problem === deep) throw tooDeep(limits.depth);
  const place = placeOf(problem.path);
  throw new JsonError(`The body${place === null ? '' : ` at ${place}`} ${problem.what}`, place);
}

function decode(body: Buffer): string {
  if (body.length === 0) throw new JsonError('The body is empty; send JSON.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new JsonError('The body begins with a byte order mark; send UTF-8 without it.');
  }
  if (!isUtf8(body)) throw new JsonError('The body is not valid UTF-8; send JSON in UTF-8.');
  return body.toString('utf8');
}

/**
 * Counts brackets and commas outside strings. The result for invalid JSON is irrelevant, because
 * the parser rejects it.
 */
function judgeUnparsed(text: string, { depth, values }: JsonLimits): void {
  let open = 0;
  let seen = 1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = closingQuote(text, i);
    } else if (code === 0x5b || code === 0x7b) {
      if (++open > depth) throw tooDeep(depth);
      seen++;
    } else if (code === 0x5d || code === 0x7d) {
      open--;
    } else if (code === 0x2c) {
      seen++;
    }
    if (seen > values) {
      throw new JsonError(`The body holds too many values; at most ${values} are allowed.`);
    }
  }
}

function closingQuote(text: string, openingQuote: number): number {
  let quote = openingQuote;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote === -1) return text.length;
    let before = quote - 1;
    while (text.charCodeAt(before) === 0x5c) before--;
    // After an even number of backslashes, which escape each other, the quote is not escaped.
    if ((quote - before) % 2 === 1) return quote;
  }
}

function tooDeep(depth: number): JsonError {
  return new JsonError(`The body is nested too deeply; at most ${depth} levels are allowed.`);
}

function findProblem(value: unknown, left: number, escaped: boolean): Problem | null {
  if (typeof value === 'string') return escaped ? stringProblem(value) : null;
  if (typeof value === 'number') {
    return Number.isFinite(value) ? null : at('holds a number beyond 1.8e308; send a smaller one.');
  }
  if (typeof value !== 'object' || value === null || isLong(value)) return null;
  if (left === 0) return deep;
  return isObject(value)
    ? objectProblem(value, left, escaped)
    : listProblem(itemsOf(value), left, escaped);
}

function listProblem(list: unknown[], left: number, escaped: boolean): Problem | null {
  for (let i = 0; i < list.length; i++) {
    const problem = findProblem(list[i], left - 1, escaped);
    if (problem !== null) return within(problem, i);
  }
  return null;
}

function objectProblem(
  object: Record<string, unknown>,
  left: number,
  escaped: boolean,
): Problem | null {
  for (const key in object) {
    if (key === '__proto__') return at('holds the key "__proto__"; use another name.');
    if (escaped) {
      const problem = stringProblem(key);
      if (problem !== null) return within(problem, key);
    }
    const value = object[key];
    if (key === 'constructor' && isPoison(value)) {
      return at('holds "constructor.prototype"; use other names.');
    }
    const problem = findProblem(value, left - 1, escaped);
    if (problem !== null) return within(problem, key);
  }
  return null;
}

function isPoison(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, 'prototype');
}

function stringProblem(text: string): Problem | null {
  if (text.includes('\0')) return at('holds a NUL character (\\u0000); leave it out.');
  if (!text.isWellFormed()) {
    return at('holds half of a surrogate pair (\\ud800 to \\udfff); send whole characters.');
  }
  return null;
}

function at(what: string): Problem {
  return { what, path: [] };
}

function within(problem: Problem, step: string | number): Problem {
  if (problem !== deep) problem.path.push(step);
  return problem;
}

/** `messages[0].content`, or null for the root. Unusual keys are quoted and long ones cut. */
function placeOf(path: (string | number)[]): string | null {
  if (path.length === 0) return null;
  const steps = path.reverse().map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    if (/^\w{1,40}$/.test(step)) return `.${step}`;
    return `[${JSON.stringify(step.slice(0, 40).toWellFormed())}]`;
  });
  return steps.join('').replace(/^\./, '');
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
