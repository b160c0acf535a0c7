import { isObject, itemsOf, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';

/**
 * Reasoning in OpenRouter's form, `reasoning_details`. A model gets it back in the next call, where
 * a signature or encrypted data prove that it is the model's own.
 */

/** More than any reply has. Without a limit, a faulty upstream could add one in every chunk. */
const detailsMax = 256;

/** Adds the pieces of a chunk. Pieces of one detail have the same type and index. */
export function growDetails(details: Json[], pieces: unknown): void {
  for (const piece of itemsOf(pieces).filter(isObject)) {
    const last = details.findLast(
      ({ type, index }) => type === piece.type && index === piece.index,
    );
    // Encrypted data comes whole, and nothing follows a signature.
    const isOpen = piece.type !== 'reasoning.encrypted' && !isFilled(last?.signature);
    if (last && isOpen) growDetail(last, piece);
    else if (details.length < detailsMax) details.push({ ...piece });
  }
}

function growDetail(detail: Json, { text, summary, ...others }: Json): void {
  for (const [field, piece] of Object.entries({ text, summary }))
    if (typeof piece === 'string') detail[field] = `${detail[field] ?? ''}${piece}`;
  for (const [field, value] of Object.entries(others)) detail[field] ??= value;
}
