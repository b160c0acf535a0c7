/**
 * If a schema takes one of several forms (`anyOf`, `oneOf`), an input that fits none breaks the
 * rules of all. Reports only what the caller can have meant: the faults of the nearest form, or
 * else which forms there are. Pure.
 */

import type { ErrorObject } from 'ajv/dist/2020.js';
import { itemsOf, objectOf, type Json } from '../../lib/json.ts';

/** Keeps for every choice either the faults of one form, or the choice itself. */
export function withoutOtherForms(errors: ErrorObject[]): ErrorObject[] {
  const left: ErrorObject[] = [];
  for (const error of errors) {
    if (!isChoice(error)) {
      left.push(error);
      continue;
    }
    // The checker reports a choice right after the errors of its forms.
    let from = left.length;
    while (from > 0 && formAt(error, left[from - 1]!) !== null) from--;
    const said = left.splice(from);
    left.push(...(faultsOfNearest(error, said) ?? [error]));
  }
  return left;
}

/** The fault if no form comes near, or more than one fits. */
export function choiceWords({ params, schema }: ErrorObject): string {
  if (Array.isArray(params.passingSchemas))
    return 'fits more than one of the allowed forms, and only one may fit';
  const fields = requiredByChoice(schema);
  if (fields !== null) return `needs ${fields.join(' or ')}`;
  const forms = itemsOf(schema).map((form) => formWords(objectOf(form)));
  if (forms.includes(null)) return 'fits none of the allowed forms';
  return `must be ${[...new Set(forms)].join('; or ')}`;
}

/** For example "video_url or image_url"; null if the branches ask for anything else. */
export function requiredByChoice(branches: unknown): string[] | null {
  if (!Array.isArray(branches)) return null;
  const fields: string[] = [];
  for (const branch of branches.map(objectOf)) {
    if (!Array.isArray(branch.required) || Object.keys(branch).length !== 1) return null;
    fields.push(branch.required.join(' with '));
  }
  return fields;
}

/** Values of an enum as JSON writes them. */
export function listOf(values: unknown): string {
  return itemsOf(values)
    .map((value) => JSON.stringify(value))
    .join(', ');
}

function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf';
}

/** Which of the choice's forms the error is about; null: none. */
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
 * The faults of the form where they lie deepest, among the forms of the value's kind: the caller
 * got furthest in it. Null if there is none, or several.
 */
function faultsOfNearest(choice: ErrorObject, said: ErrorObject[]): ErrorObject[] | null {
  // If several fields would do, no single one of them is required.
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

/** The whole value is a text, for example, but the form is an object. */
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
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  null: 'null',
};

/** One form in words; null if its schema is of an unknown kind. */
function formWords(form: Json): string | null {
  const { enum: values, const: value, type, pattern, description, required } = form;
  if (Array.isArray(values)) return `one of ${listOf(values)}`;
  if (value !== undefined) return JSON.stringify(value);
  // Few people read patterns: a row may describe its own.
  if (type === 'string' && pattern !== undefined)
    return typeof description === 'string' ? description : `a text that matches ${String(pattern)}`;
  if (type === 'object') {
    const [last, ...others] = itemsOf(required).map(String).toReversed();
    if (last === undefined) return 'an object';
    if (others.length === 0) return `an object with ${last}`;
    return `an object with ${others.toReversed().join(', ')} and ${last}`;
  }
  return typeof type === 'string' && Object.hasOwn(kindWords, type) ? kindWords[type]! : null;
}
