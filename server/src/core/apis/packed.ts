import { isObject, parseJson, type Json } from '../../lib/json.ts';
import { badMessages } from '../chat/chat-messages.ts';

/** Packs facts about reasoning into a text that callers send back unread. */

const mark = 'farebox1.';
/** Callers can write such texts themselves, so a packed value is limited like every body. */
const limits = { depth: 8, values: 4_096 };

export function pack(value: Json): string {
  return mark + Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * The packed value; null if this service did not pack the text.
 *
 * @throws ApiError `bad_messages` if this service packed the text and somebody changed it
 */
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
