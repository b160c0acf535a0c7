/** Describes the errors of the schema check, for the person who wrote the file. */

import type { ErrorObject } from 'ajv/dist/2020.js';
import { itemsOf, objectOf } from '../../lib/json.ts';
import { isFilled } from '../check.ts';

export interface RowFault {
  /** JSON pointer. */
  path: string;
  /** A sentence that names the row or field and what is allowed. */
  message: string;
}

/** One fault for each error of the schema, which must be compiled with `verbose`. */
export function schemaFaults(errors: readonly ErrorObject[], content: unknown): RowFault[] {
  const faults: RowFault[] = [];
  for (const error of errors) {
    // "if" only reports that one of its branches failed, and the branch has its own error.
    if (error.keyword === 'if') continue;
    const row = /^\/models\/(\d+)(.*)$/s.exec(error.instancePath);
    const id = row ? idOf(content, Number(row[1])) : '';
    const name = (row ? row[2]! : error.instancePath).slice(1).replaceAll('/', '.');
    faults.push({ path: error.instancePath, message: `${id}${sentence(name, error)}.` });
  }
  return faults;
}

function idOf(content: unknown, index: number): string {
  const { id } = objectOf(itemsOf(objectOf(content).models)[index]);
  return typeof id === 'string' ? `${id}: ` : `row ${index + 1}: `;
}

function sentence(name: string, error: ErrorObject): string {
  const subject = name === '' ? 'this' : name;
  const within = name === '' ? '' : `${name}.`;
  const params = objectOf(error.params);
  const { description, properties } = objectOf(error.parentSchema);
  const about = isFilled(description) ? ` (${description})` : '';
  switch (error.keyword) {
    case 'required':
      return `${within}${String(params.missingProperty)} is missing`;
    case 'false schema':
      return `${subject} does not belong in a row of this kind`;
    case 'additionalProperties': {
      const known = Object.keys(objectOf(properties)).join(', ');
      return `${within}${String(params.additionalProperty)} is not a known field; known fields are ${known}`;
    }
    case 'enum':
      return `${subject} must be one of ${itemsOf(params.allowedValues).join(', ')}${about}`;
    case 'const':
      return `${subject} must be ${JSON.stringify(params.allowedValue)}`;
    case 'pattern':
      return `${subject} must be: ${String(description ?? params.pattern)}`;
    default:
      return `${subject} ${error.message}${about}`;
  }
}
