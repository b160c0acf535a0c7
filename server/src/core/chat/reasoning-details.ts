import { isObject, itemsOf, type Json } from '../../lib/json.ts';
import { isFilled, isGiven } from '../check.ts';

/**
 * Reasoning in OpenRouter's form, `reasoning_details`. A model gets it back in the next call, where
 * a signature or encrypted data prove that it is the model's own.
 */

/** OpenRouter's names for the formats of Claude's reasoning and of reasoning in Responses. */
export const claudeFormat = 'anthropic-claude-v1';
export const responsesFormat = 'openai-responses-v1';

/**
 * More details than any reply has. Without a limit, a faulty upstream could add one in every chunk.
 */
const detailsMax = 256;

/** Adds the pieces of a chunk. Pieces of one detail have the same type, index and format. */
export function growDetails(details: Json[], pieces: unknown): void {
  for (const piece of itemsOf(pieces).filter(isObject)) {
    const last = details.findLast(
      ({ type, index, format }) =>
        type === piece.type && index === piece.index && isOneFormat(format, piece.format),
    );
    // Encrypted data comes whole, and nothing follows a signature.
    const isOpen = piece.type !== 'reasoning.encrypted' && !isFilled(last?.signature);
    if (last && isOpen) growDetail(last, piece);
    else if (details.length < detailsMax) details.push({ ...piece });
  }
}

/** Whether two pieces may be of one thought; later pieces need not repeat the format. */
export function isOneFormat(one: unknown, other: unknown): boolean {
  return !isGiven(one) || !isGiven(other) || one === other;
}

function growDetail(detail: Json, { text, summary, ...others }: Json): void {
  for (const [field, piece] of Object.entries({ text, summary }))
    if (typeof piece === 'string') detail[field] = `${detail[field] ?? ''}${piece}`;
  for (const [field, value] of Object.entries(others)) detail[field] ??= value;
}
