import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled, isGiven } from '../check.ts';
import { badMessages } from '../chat/chat-messages.ts';
import { growDetails, responsesFormat } from '../chat/reasoning-details.ts';
import type { ReasoningDelta } from './deltas.ts';
import { pack, unpack } from './packed.ts';

/**
 * Reasoning in items of OpenAI's Responses. A model gets its reasoning back as it wrote it, so an
 * item holds all of it in `encrypted_content`, which clients send back unread.
 */

/** The text is for servers that know no details; the details have OpenRouter's form. */
export interface Reasoning {
  details: Json[];
  text: string;
}

/** `isOurs`: this service wrote the item. */
interface ReadReasoning extends Reasoning {
  isOurs: boolean;
}

export function growReasoning(reasoning: Reasoning, delta: ReasoningDelta): void {
  const { type, kind, text, signature, id, format: form, index } = delta;
  if (index === null) {
    reasoning.text += text;
    return;
  }
  const field = kind === 'encrypted' ? 'data' : kind;
  const origin = { signature, id, format: form, index };
  const said = text !== '' && { [field]: text };
  growDetails(reasoning.details, [{ type: `${type}.${kind}`, ...said, ...origin }]);
}

export function packed({ details, text }: Reasoning): string {
  return pack({ details, text });
}

/**
 * Reads the reasoning in an item. `from`: the first index for details that this service did not
 * write, which have none.
 *
 * @throws ApiError `bad_messages`
 */
export function reasoningOf(item: Json, at: string, from: number): ReadReasoning {
  const { encrypted_content: data } = item;
  if (isGiven(data) && typeof data !== 'string')
    throw badMessages(`${at}.encrypted_content`, 'must be a string');
  const own = isFilled(data) ? unpack(data, `${at}.encrypted_content`) : null;
  if (own) return { ...ownReasoning(own, `${at}.encrypted_content`), isOurs: true };
  const origin = { ...(isFilled(item.id) && { id: item.id }), format: responsesFormat };
  const written = [
    ...textsIn(item.summary, `${at}.summary`).map((summary) => ({
      type: 'reasoning.summary',
      summary,
    })),
    ...textsIn(item.content, `${at}.content`).map((text) => ({ type: 'reasoning.text', text })),
    ...(isFilled(data) ? [{ type: 'reasoning.encrypted', data }] : []),
  ];
  const details = written.map((detail, i) => ({ ...detail, ...origin, index: from + i }));
  return { details, text: '', isOurs: false };
}

function ownReasoning({ details, text }: Json, at: string): Reasoning {
  if (typeof text !== 'string' || !Array.isArray(details) || !details.every(isObject))
    throw badMessages(at, 'must be as it was in the reply');
  return { details, text };
}

function textsIn(list: unknown, at: string): string[] {
  if (isGiven(list) && !Array.isArray(list)) throw badMessages(at, 'must be a list');
  return itemsOf(list).map((part, i) => {
    const { text } = objectOf(part);
    if (typeof text !== 'string') throw badMessages(`${at}[${i}].text`, 'must be a string');
    return text;
  });
}
