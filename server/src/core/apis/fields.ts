import { isCount } from '../../lib/json.ts';
import { badField } from '../bad-request.ts';
import { isFilled, isGiven } from '../check.ts';

/** Fields that the calls of all APIs have. */

export function readModel(value: unknown): string {
  if (!isFilled(value)) throw badField('model', 'the id of a text model');
  return value;
}

export function readFlag(value: unknown, field: string): boolean {
  if (!isGiven(value)) return false;
  if (typeof value !== 'boolean') throw badField(field, 'true or false');
  return value;
}

/** Null: not given. */
export function readTokenLimit(value: unknown, field: string): number | null {
  if (!isGiven(value)) return null;
  if (!isCount(value) || value < 1) throw badField(field, 'an integer of at least 1');
  return value;
}
