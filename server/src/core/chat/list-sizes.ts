import { itemsOf, objectOf } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { mediaInputsMax } from '../catalog/media-input.ts';
import { badMessages } from './chat-messages.ts';

/** Maximum number of messages, and of the parts of all their contents together. */
export const messagesMax = 10_000;

/**
 * Throws `bad_messages` if a call has too many messages, parts or files. Called before any of them
 * is read, because that takes time, and nobody pays for a refusal. `field`: the caller's name of
 * the list.
 */
export function demandFew(list: unknown, field: 'messages' | 'input'): void {
  const messages = itemsOf(list);
  let parts = 0;
  let files = 0;
  if (messages.length > messagesMax) throw tooMany(field, 'messages');
  for (const message of messages) {
    const { content } = objectOf(message);
    if (!Array.isArray(content)) continue;
    parts += content.length;
    for (const part of content) if (namesFile(part)) files += 1;
    if (files > mediaInputsMax)
      throw badMessages(field, `have more than ${mediaInputsMax} files and addresses`, {
        reason: 'media_too_many',
        limit: mediaInputsMax,
      });
  }
  if (parts > messagesMax) throw tooMany(field, 'parts in all its messages');
}

function namesFile(part: unknown): boolean {
  const { url } = objectOf(objectOf(part).image_url);
  return isFilled(url) && !/^data:/i.test(url);
}

function tooMany(field: string, what: string) {
  const said = `must hold at most ${messagesMax} ${what}`;
  return badMessages(field, said, { max_items: messagesMax });
}
