import { isObject, parseJson, type Json } from '../../lib/json.ts';
import { badMessages } from '../chat/chat-messages.ts';

/** A text that holds facts about reasoning. Callers send it back unread. */

const mark = 'farebox1.';
/** Callers can write such texts themselves, so they are limited like every body. */
const limits = { depth: 8, values: 4_096 };

export function pack(value: Json): string {
  return mark + Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * Null: the text is somebody else's.
 *
 * @throws ApiError `bad_messages` if it is ours and was changed since
 */
export function unpack(text: string, at: string): Json | null {
  if (!text.startsWith(mark)) return null;
  try {
    const value = parseJson(Buffer.from(text.slice(mark.length), 'base64url'), limits);
    if (isObject(value)) return value;
  } catch {
    // As below.
  }
  throw badMessages(at, 'must be as it was in the reply');
}
