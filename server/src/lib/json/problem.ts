import { isLong } from '../long-integers.ts';

/** Finds what `JSON.parse` accepts though it would do harm later. */

export interface JsonProblem {
  what: string;
  /** From the innermost key or index outwards. */
  path: (string | number)[];
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

/** The only problem without a path, because the path of a deep value would not help. */
const deep: JsonProblem = { what: 'is nested too deeply', path: [] };

export function tooDeep(depth: number): JsonError {
  return new JsonError(`The body is nested too deeply; at most ${depth} levels are allowed.`);
}

/** Throws `JsonError` if the value holds a problem. `outer` gives the path in the whole body. */
export function demandHarmless(
  value: unknown,
  depth: number,
  escaped: boolean,
  outer: (path: (string | number)[]) => (string | number)[] = (path) => path,
): void {
  const problem = findProblem(value, depth, escaped);
  if (problem === deep) throw tooDeep(depth);
  if (problem !== null) throw errorOf(problem.what, outer(problem.path.toReversed()));
}

function errorOf(what: string, path: (string | number)[]): JsonError {
  const place = placeOf(path);
  return new JsonError(`The body${place === null ? '' : ` at ${place}`} ${what}`, place);
}

/** `escaped`: the text has escapes, without which no string can hold NUL or half a pair. */
function findProblem(value: unknown, left: number, escaped: boolean): JsonProblem | null {
  if (typeof value === 'string') return escaped ? stringProblem(value) : null;
  if (typeof value === 'number') {
    return Number.isFinite(value) ? null : at('holds a number beyond 1.8e308; send a smaller one.');
  }
  if (typeof value !== 'object' || value === null || isLong(value)) return null;
  if (left === 0) return deep;
  return Array.isArray(value)
    ? listProblem(value, left, escaped)
    : objectProblem(value as Record<string, unknown>, left, escaped);
}

function listProblem(list: readonly unknown[], left: number, escaped: boolean): JsonProblem | null {
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
): JsonProblem | null {
  for (const key in object) {
    if (key === '__proto__') return at('holds the key "__proto__"; use another name.');
    if (escaped) {
      const problem = stringProblem(key);
      if (problem !== null) return within(problem, key);
    }
    const value = object[key];
    if (isPoison(key, value)) return at(poison);
    const problem = findProblem(value, left - 1, escaped);
    if (problem !== null) return within(problem, key);
  }
  return null;
}

const poison = 'holds "constructor.prototype"; use other names.';

function isPoison(key: string, value: unknown): boolean {
  if (key !== 'constructor' || typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, 'prototype');
}

/** As `demandHarmless`, for a member whose own members came one after the other. */
export function demandNoPoison(key: string, value: unknown, path: (string | number)[]): void {
  if (isPoison(key, value)) throw errorOf(poison, path);
}

function stringProblem(text: string): JsonProblem | null {
  // guard: no-nul-in-texts
  if (text.includes('\0')) return at('holds a NUL character (\\u0000); leave it out.');
  if (!text.isWellFormed()) {
    return at('holds half of a surrogate pair (\\ud800 to \\udfff); send whole characters.');
  }
  return null;
}

function at(what: string): JsonProblem {
  return { what, path: [] };
}

function within(problem: JsonProblem, step: string | number): JsonProblem {
  if (problem !== deep) problem.path.push(step);
  return problem;
}

/** `messages[0].content`, or null for the root. Unusual keys are quoted and long ones cut. */
function placeOf(path: readonly (string | number)[]): string | null {
  if (path.length === 0) return null;
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    if (/^\w{1,40}$/.test(step)) return `.${step}`;
    return `[${JSON.stringify(step.slice(0, 40).toWellFormed())}]`;
  });
  return steps.join('').replace(/^\./, '');
}
