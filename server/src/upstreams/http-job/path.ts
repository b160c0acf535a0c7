import { digitsOf, isLong } from '../../lib/long-integers.ts';
import { tolerantJson } from '../../lib/tolerant-json.ts';
import { fieldOf } from '../../lib/unknown.ts';

/**
 * Paths into a reply: `data.task_id`, `outputs[0].url`, `outputs[].url`. If a path goes into a
 * string, the string is parsed as JSON, because some services return their result as a JSON text.
 */

export type Path = readonly Step[];
/** A name, an index, or every item. */
type Step = string | number | typeof each;

const each = Symbol('every item');
const form = /^(?:\[\d{0,4}\]|[\w-]+)(?:\[\d{0,4}\]|\.[\w-]+)*$/;
const stepsMax = 16;
/** Maximum number of values of a path: no request needs more. */
const valuesMax = 256;
const jsonTextMax = 4 * 1024 * 1024;

/** Throws an Error with words for the operator if the text is not a path. */
export function parsePath(text: string): Path {
  if (!form.test(text)) throw new Error(`"${text}" is not a path such as data.outputs[0].url`);
  const steps = [...text.matchAll(/\[(\d*)\]|[\w-]+/g)].map(([step, index]) => {
    if (index === undefined) return step;
    return index === '' ? each : Number(index);
  });
  if (steps.length > stepsMax) throw new Error(`"${text}" has more than ${stepsMax} steps`);
  return steps;
}

/** All values at the path, without null and missing ones. */
export function valuesAt(value: unknown, path: Path): unknown[] {
  let found = [value];
  for (const step of path) {
    found = found.flatMap((each) => inside(each, step)).slice(0, valuesMax);
  }
  return found.filter((each) => each !== null && each !== undefined);
}

/** The first value at any of the paths. */
export function valueAt(value: unknown, paths: readonly Path[]): unknown {
  for (const path of paths) {
    const [first] = valuesAt(value, path);
    if (first !== undefined) return first;
  }
  return undefined;
}

/** The first value as a text; undefined if it is not a text, number or boolean. */
export function textAt(value: unknown, paths: readonly Path[]): string | undefined {
  const found = digitsOf(valueAt(value, paths));
  if (typeof found === 'string') return found;
  return typeof found === 'number' || typeof found === 'boolean' ? String(found) : undefined;
}

/** The first value as a number, also if it is written as a text. */
export function numberAt(value: unknown, paths: readonly Path[]): number | undefined {
  const text = textAt(value, paths)?.trim();
  const number = text === undefined || text === '' ? NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function inside(value: unknown, step: Step): unknown[] {
  const container = typeof value === 'string' ? parsed(value) : value;
  if (typeof container !== 'object' || container === null || isLong(container)) return [];
  if (step === each) return Array.isArray(container) ? container : [];
  if (typeof step === 'number') return Array.isArray(container) ? [container[step]] : [];
  if (Array.isArray(container) || !Object.hasOwn(container, step)) return [];
  return [fieldOf(container, step)];
}

function parsed(text: string): unknown {
  return text.length > jsonTextMax ? null : tolerantJson(text);
}
