import { isObject, itemsOf, objectOf, parseJson, type Json } from '../../lib/json.ts';
import type { ThoughtBlock } from '../chat/conversation.ts';
import type { ThoughtPiece } from '../chat/reply.ts';
import { isFilled } from '../check.ts';
import { badMessages } from '../bad-request.ts';

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
export type Thought = Omit<ThoughtPiece, 'type' | 'index'>;

/** The facts of a thought that proves nothing. */
export const unproven = { signature: null, id: null, format: null };

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

/** Begins a text with facts about reasoning, which callers send back unread. */
const mark = 'farebox1.';
/** Callers can write such texts themselves, so a packed value is limited like every body. */
const limits = { depth: 8, values: 4_096 };

export function pack(value: Json): string {
  return mark + Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The packed value; null if we did not pack the text. Throws `bad_messages` if it was changed. */
export function unpack(text: string, at: string): Json | null {
  if (!text.startsWith(mark)) return null;
  try {
    const value = parseJson(Buffer.from(text.slice(mark.length), 'base64url'), limits);
    if (isObject(value)) return value;
  } catch {
    // Refused like any other value that is not an object.
  }
  throw badMessages(at, 'must be as it was in the reply');
}

type Origin = Pick<Thought, 'id' | 'format'>;

/**
 * The signature of a thinking block and the data of a redacted one. Claude's are passed on as they
 * are. With other models, the text also holds the id and the format that their servers expect back.
 */
export function packProof(proof: string, { id, format }: Origin): string {
  if (id === null && (format ?? claudeFormat) === claudeFormat) return proof;
  return pack({ proof, id, format });
}

/** The proof and its origin. Throws `bad_messages`, as `unpack` does. */
export function unpackProof(text: string, at: string): Origin & { proof: string } {
  const { proof, id, format } = unpack(text, at) ?? {};
  if (!isFilled(proof)) return { proof: text, id: null, format: claudeFormat };
  return { proof, id: isFilled(id) ? id : null, format: isFilled(format) ? format : null };
}

/** Only signed or hidden reasoning can be given back to its model as its own. */
export function thoughtBlock(
  form: 'text' | 'hidden',
  said: string,
  signature: unknown,
  at: string,
): ThoughtBlock {
  if (!isFilled(signature)) return { type: 'thought', form, text: said, ...unproven, at };
  const { proof, ...origin } = unpackProof(signature, at);
  return form === 'hidden'
    ? { type: 'thought', form, text: proof, signature: null, ...origin, at }
    : { type: 'thought', form, text: said, signature: proof, ...origin, at };
}

/**
 * Reasoning in items of OpenAI's Responses. A model gets its reasoning back as it wrote it, so an
 * item holds all of it in `encrypted_content`, which clients send back unread: as details in
 * OpenRouter's form, and as a text if its server knows no details.
 */
export function packThoughts(thoughts: readonly ThoughtPiece[]): string {
  const details = thoughts.flatMap((each) =>
    each.index === null ? [] : [detailOf(each, each.index)],
  );
  const plain = thoughts.filter(({ index }) => index === null).map(({ text }) => text);
  return pack({ details, text: plain.join('') });
}

/** The thoughts in a text that `packThoughts` made. Throws `bad_messages` for any other. */
export function unpackThoughts({ details, text }: Json, at: string): Thought[] {
  const thoughts = itemsOf(details).map(thoughtIn);
  if (typeof text !== 'string' || !Array.isArray(details) || thoughts.includes(null))
    throw badMessages(at, 'must be as it was in the reply');
  const plain: Thought = { form: 'text', text, ...unproven };
  return [...(text === '' ? [] : [plain]), ...thoughts.filter((each) => each !== null)];
}
