import { logReasonMax } from '../core/account/booking.ts';
import { lineOf, lineRule } from '../core/account/name.ts';
import { Refusal } from './refusal.ts';

/** Longest words to customers about a stopped model. */
export const statusNoteMax = 300;

/** For the details of the operator's log: the reason of an action, if any. Throws `Refusal`. */
export function reasonFrom(given: string | null): { reason?: string } {
  return given === null ? {} : { reason: demandLine('reason', given, logReasonMax) };
}

/** A caller's text on one line, without the spaces around it. Throws `Refusal`. */
export function demandLine(
  field: 'name' | 'note' | 'status_note' | 'reason' | 'reference',
  given: string,
  max: number,
): string {
  const text = lineOf(given, max);
  if (text !== null) return text;
  const reason = `${field === 'status_note' ? 'note' : field}_invalid` as const;
  const why = { reason, field, max_length: max };
  throw new Refusal(`${field} must be ${lineRule(max)}.`, why);
}
