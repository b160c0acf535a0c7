import { isObject, objectOf, type Json } from '../../lib/json.ts';
import type { ThoughtBlock } from '../chat/conversation.ts';
import type { ThoughtPiece } from '../chat/reply.ts';
import { isFilled } from '../check.ts';

/**
 * Reasoning in OpenRouter's form, `reasoning_details`. A model gets it back in the next call, where
 * a signature or hidden data prove that it is the model's own.
 */

/** OpenRouter's names for the formats of Claude's reasoning and of reasoning in Responses. */
export const claudeFormat = 'anthropic-claude-v1';
export const responsesFormat = 'openai-responses-v1';
/** Our name for a signature in Google's `extra_content`. The thought has the id of its call. */
export const googleFormat = 'google-extra-content';

/** Google's form of a proof, beside a call or a message. */
export function googleExtra(thought_signature: string): Json {
  return { extra_content: { google: { thought_signature } } };
}

/** The proof in Google's form; empty if there is none. */
export function googleProof({ extra_content }: Json): string {
  const { thought_signature: proof } = objectOf(objectOf(extra_content).google);
  return isFilled(proof) ? proof : '';
}

/** A thought without its place in a call or in a reply. */
export type Thought = Pick<ThoughtBlock, 'form' | 'text' | 'signature' | 'id' | 'format'>;

const fields = {
  text: { type: 'reasoning.text', text: 'text' },
  summary: { type: 'reasoning.summary', text: 'summary' },
  hidden: { type: 'reasoning.encrypted', text: 'data' },
} as const;

/** One detail. A piece with a signature alone has no text. */
export function detailOf({ form, text, signature, id, format }: Thought, index: number): Json {
  const { type, text: field } = fields[form];
  return {
    type,
    ...((text !== '' || signature === null) && { [field]: text }),
    ...(signature !== null && { signature }),
    ...(id !== null && { id }),
    ...(format !== null && { format }),
    index,
  };
}

/** The thought in a detail; null if there is none. */
export function thoughtIn(detail: unknown): Thought | null {
  if (!isObject(detail)) return null;
  const form = (['text', 'summary', 'hidden'] as const).find(
    (each) => fields[each].type === detail.type,
  );
  if (form === undefined) return null;
  const filled = (value: unknown) => (isFilled(value) ? value : null);
  const text = filled(detail[fields[form].text]) ?? '';
  const signature = filled(detail.signature);
  if (text === '' && signature === null) return null;
  return { form, text, signature, id: filled(detail.id), format: filled(detail.format) };
}

/** Whether two pieces may be of one thought; later pieces need not repeat the format. */
export function isOneFormat(one: string | null, other: string | null): boolean {
  return one === null || other === null || one === other;
}

/** Whether a piece may be of the same thought. */
export function isOfThought(
  { form, format, index, signature }: ThoughtPiece,
  piece: ThoughtPiece,
): boolean {
  // Hidden data comes whole, and nothing follows a signature.
  if (form === 'hidden' || signature !== null || form !== piece.form) return false;
  if (index !== null && piece.index !== null && index !== piece.index) return false;
  return isOneFormat(format, piece.format);
}

/** Adds a piece to a list in which the pieces of each thought are joined. */
export function growThoughts(thoughts: ThoughtPiece[], piece: ThoughtPiece): void {
  const i = thoughts.findLastIndex((each) => isOfThought(each, piece));
  const last = thoughts[i];
  if (last === undefined) thoughts.push({ ...piece });
  else
    thoughts[i] = {
      ...last,
      text: last.text + piece.text,
      signature: piece.signature,
      id: last.id ?? piece.id,
      format: last.format ?? piece.format,
      index: last.index ?? piece.index,
    };
}
