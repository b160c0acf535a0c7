import { isObject, type Json } from '../../../lib/json.ts';

/** Reads the messages of a chat call, which come unchecked. */

/** The objects of a list; empty for anything else. */
export function listOf(list: unknown): Json[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Text of the last message of role `user`; empty if there is none. */
export function lastUserText(messages: unknown): string {
  const last = listOf(messages).findLast((message) => message.role === 'user');
  return last ? textOf(last.content) : '';
}

/** The parts of a content; empty if it is a plain text. */
export function partsOf(content: unknown): Json[] {
  return Array.isArray(content) ? listOf(content) : [];
}

export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return partsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join(' ')
    .trim();
}
