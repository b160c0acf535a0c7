import { itemsOf, objectOf } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { mediaInputsMax } from '../catalog/media-input.ts';
import { tooManyMedia } from './chat-media.ts';
import { badMessages } from './chat-messages.ts';

/** Maximum number of messages, and of the parts of all their contents together. */
export const messagesMax = 10_000;
/** Maximum number of tools, also those inside others. Agents with many servers offer hundreds. */
const toolsMax = 1_000;

/**
 * Throws `bad_messages` if a call has too many messages, parts, files or tools. Called before any
 * of them is read, because that takes time, and nobody pays for a refusal. `field`: the caller's
 * name of the list of messages.
 */
export function demandFew(call: Record<string, unknown>, field: 'messages' | 'input'): void {
  const tools = itemsOf(call.tools);
  const inner = tools.map((tool) => itemsOf(objectOf(tool).tools).length);
  if (inner.reduce((sum, count) => sum + count, tools.length) > toolsMax)
    throw tooMany('tools', 'tools', toolsMax);
  const messages = itemsOf(call[field]);
  let parts = 0;
  let files = 0;
  if (messages.length > messagesMax) throw tooMany(field, 'messages');
  for (const message of messages) {
    const { content } = objectOf(message);
    if (!Array.isArray(content)) continue;
    parts += content.length;
    for (const part of content) if (namesFile(part)) files += 1;
    if (files > mediaInputsMax) throw tooManyMedia(field);
  }
  if (parts > messagesMax) throw tooMany(field, 'parts in all its messages');
}

function namesFile(part: unknown): boolean {
  const { url } = objectOf(objectOf(part).image_url);
  return isFilled(url) && !/^data:/i.test(url);
}

function tooMany(field: string, what: string, max_items = messagesMax) {
  return badMessages(field, `must hold at most ${max_items} ${what}`, { max_items });
}
