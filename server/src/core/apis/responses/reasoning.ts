import { itemsOf, type Json } from '../../../lib/json.ts';
import { badMessages } from '../../chat/chat-messages.ts';
import type { ThoughtPiece } from '../../chat/reply.ts';
import { pack } from '../packed.ts';
import { detailOf, thoughtIn, type Thought } from '../thoughts.ts';

/**
 * Reasoning in items of OpenAI's Responses. A model gets its reasoning back as it wrote it, so an
 * item holds all of it in `encrypted_content`, which clients send back unread: as details in
 * OpenRouter's form, and as a text if its server knows no details.
 */
export function packedThoughts(thoughts: readonly ThoughtPiece[]): string {
  const details = thoughts.flatMap((each) =>
    each.index === null ? [] : [detailOf(each, each.index)],
  );
  const plain = thoughts.filter(({ index }) => index === null).map(({ text }) => text);
  return pack({ details, text: plain.join('') });
}

/** The thoughts in a text that `packedThoughts` made. Throws `bad_messages` for any other. */
export function unpackedThoughts({ details, text }: Json, at: string): Thought[] {
  const thoughts = itemsOf(details).map(thoughtIn);
  if (typeof text !== 'string' || !Array.isArray(details) || thoughts.includes(null))
    throw badMessages(at, 'must be as it was in the reply');
  const plain: Thought = { form: 'text', text, signature: null, id: null, format: null };
  return [...(text === '' ? [] : [plain]), ...thoughts.filter((each) => each !== null)];
}
