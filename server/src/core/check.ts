import { isObject, type Json } from '../lib/json.ts';
import { isLong } from '../lib/long-integers.ts';
import { isOneOf } from '../lib/records.ts';

/** A check of a value; `is` completes an error message: "must be …". */
export interface Check {
  is: string;
  test(value: unknown): boolean;
  /** The meanings of a text's words, in any case. Other words count as unknown fields. */
  meanings?: Readonly<Partial<Record<string, string>>>;
}

/** An object with these fields. `isText`: the value may also be a plain string. */
export interface KnownFields {
  isText?: true;
  fields: Readonly<Record<string, Shape>>;
}

export type Shape = Check | KnownFields | { list: Shape };

export const text: Check = { is: 'a string', test: (v) => typeof v === 'string' };
export const number: Check = { is: 'a number', test: (v) => typeof v === 'number' };
export const integer: Check = { is: 'an integer', test: (v) => Number.isSafeInteger(v) };
/** An integer of any length, such as a seed of 64 bits. */
export const longInteger: Check = {
  is: 'an integer',
  test: (v) => Number.isSafeInteger(v) || isLong(v),
};
export const boolean: Check = { is: 'true or false', test: (v) => typeof v === 'boolean' };
export const object: Check = { is: 'an object', test: isObject };
export const numbers: Check = {
  is: 'an object of numbers',
  test: (v) => isObject(v) && Object.values(v).every((each) => typeof each === 'number'),
};
export const scalar: Check = {
  is: 'a string, a number, true or false',
  test: (v) => ['string', 'number', 'boolean'].includes(typeof v),
};
/** A text that says something, such as a name or an id. */
export const filled: Check = { is: 'a string that is not empty', test: isFilled };
/** The value must be one of these texts. */
export function oneOf(...texts: readonly string[]): Check {
  const is = `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
  return { is, test: (v) => isOneOf(texts, v) };
}
export const textOrTexts: Check = {
  is: 'a string or a list of strings',
  test: (v) => typeof v === 'string' || (Array.isArray(v) && v.every((s) => typeof s === 'string')),
};

/** In optional fields null means not given, as in OpenAI's own service. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Made many times in a call, so without lists between. A field `__proto__` would become none. */
export function givenFields(fields: Json): Json {
  const given: Json = {};
  for (const name of Object.keys(fields))
    if (isGiven(fields[name]) && name !== '__proto__') given[name] = fields[name];
  return given;
}

export function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
