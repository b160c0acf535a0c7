/**
 * If a schema allows several forms (`anyOf`, `oneOf`), an input that fits none of them breaks the
 * rules of all. This reports only what helps the caller: the faults of the form that fits best, or
 * else a list of the forms. Pure.
 */

import type { ErrorObject } from 'ajv/dist/2020.js';
import { itemsOf, objectOf, type Json } from '../../lib/json.ts';

/** For every choice, keeps either the faults of one form or the fault of the choice itself. */
export function withoutOtherForms(errors: ErrorObject[]): ErrorObject[] {
  const left: ErrorObject[] = [];
  for (const error of errors) {
    if (!isChoice(error)) {
      left.push(error);
      continue;
    }
    // ajv reports a choice right after the errors of its forms.
    let from = left.length;
    while (from > 0 && formAt(error, left[from - 1]!) !== null) from--;
    const said = left.splice(from);
    left.push(...(faultsOfNearest(error, said) ?? [error]));
  }
  return left;
}

/** Describes the fault if no form comes close, or if more than one fits. */
export function choiceWords({ params, schema }: ErrorObject): string {
  if (Array.isArray(params.passingSchemas))
    return 'fits more than one of the allowed forms, but must fit exactly one';
  const fields = requiredByChoice(schema);
  if (fields !== null) return `needs ${fields.join(' or ')}`;
  const forms = itemsOf(schema).map((form) => formWords(objectOf(form)));
  if (forms.includes(null)) return 'fits none of the allowed forms';
  return `must be ${[...new Set(forms)].join('; or ')}`;
}

/**
 * The fields of a choice whose forms only require fields, such as `video_url` and `image_url`; null
 * for any other choice.
 */
export function requiredByChoice(branches: unknown): string[] | null {
  if (!Array.isArray(branches)) return null;
  const fields: string[] = [];
  for (const branch of branches.map(objectOf)) {
    if (!Array.isArray(branch.required) || Object.keys(branch).length !== 1) return null;
    fields.push(branch.required.join(' with '));
  }
  return fields;
}

/** The values of an enum, written as JSON. */
export function listOf(values: unknown): string {
  return itemsOf(values)
    .map((value) => JSON.stringify(value))
    .join(', ');
}

function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf';
}

/** The index of the choice's form that the error belongs to, or null. */
function formAt(choice: ErrorObject, error: ErrorObject): number | null {
  const { instancePath: place } = choice;
  const inside = error.instancePath === place || error.instancePath.startsWith(`${place}/`);
  if (!inside) return null;
  const forms = itemsOf(choice.schema).map(objectOf);
  const found = forms.findIndex(({ $ref }, i) =>
    error.schemaPath.startsWith(
      typeof $ref === 'string' ? `${$ref}/` : `${choice.schemaPath}/${i}/`,
    ),
  );
  return found === -1 ? null : found;
}

/**
 * The faults of the form that the input fits best: the form of the value's kind with the most
 * deeply nested fault. Null if there is none, or if several are equally deep.
 */
function faultsOfNearest(choice: ErrorObject, said: ErrorObject[]): ErrorObject[] | null {
  // If any one of several fields is enough, no single one is required.
  if (requiredByChoice(choice.schema) !== null) return null;
  const forms = Map.groupBy(said, (error) => formAt(choice, error));
  let nearest: ErrorObject[] | null = null;
  let deepest = -1;
  for (const faults of forms.values()) {
    if (faults.some((fault) => isOtherKind(fault, choice))) continue;
    const depth = faults.reduce((most, fault) => Math.max(most, depthOf(fault)), 0);
    if (depth === deepest) nearest = null;
    if (depth <= deepest) continue;
    nearest = faults;
    deepest = depth;
  }
  return nearest;
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length;
}

/**
 * True if the value is of another kind than the form, such as a text where the form is an object.
 */
function isOtherKind({ instancePath, keyword, schema }: ErrorObject, choice: ErrorObject): boolean {
  if (instancePath !== choice.instancePath) return false;
  const kind = kindOf(choice.data);
  if (keyword === 'type')
    return ![schema].flat().some((type) => (type === 'integer' ? 'number' : type) === kind);
  if (keyword === 'enum') return !itemsOf(schema).some((value) => kindOf(value) === kind);
  return keyword === 'const' && kindOf(schema) !== kind;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const kindWords: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  null: 'null',
};

/** Describes one form; null if its schema is of an unknown kind. */
function formWords(form: Json): string | null {
  const { enum: values, const: value, type, pattern, description, required } = form;
  if (Array.isArray(values)) return `one of ${listOf(values)}`;
  if (value !== undefined) return JSON.stringify(value);
  // Few people can read patterns, so a row may describe its own in words.
  if (type === 'string' && pattern !== undefined)
    return typeof description === 'string'
      ? description
      : `a string that matches ${String(pattern)}`;
  if (type === 'object') {
    const [last, ...others] = itemsOf(required).map(String).toReversed();
    if (last === undefined) return 'an object';
    if (others.length === 0) return `an object with ${last}`;
    return `an object with ${others.toReversed().join(', ')} and ${last}`;
  }
  return typeof type === 'string' && Object.hasOwn(kindWords, type) ? kindWords[type]! : null;
}
