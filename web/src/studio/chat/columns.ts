import { newKey } from '../../../../client/src/runtime.ts';
import { everyMessage } from './branches.ts';
import type { Conversation, ConversationDraft, Message } from './conversations.ts';
import { begin, edit, remove } from './talk.ts';

/**
 * Conversations side by side: several models get the same questions. Each column is a conversation
 * of its own, and `set` says which ones belong together.
 */

export const columnsMax = 4;

/** The conversations that stand beside this one, from left to right; itself too. */
export function columnsOf(list: Conversation[], shown: Conversation): Conversation[] {
  const { set } = shown;
  if (!set) return [shown];
  const beside = list.filter((each) => each.set?.id === set.id);
  return beside.toSorted((a, b) => a.set!.at - b.set!.at);
}

/** The list with each set once, in the order of `list`. */
export function setsOf(list: Conversation[]): Conversation[][] {
  const firsts = list.filter(
    ({ set }, i) => !set || list.findIndex((each) => each.set?.id === set.id) === i,
  );
  return firsts.map((each) => columnsOf(list, each));
}

/** Stores drafts that stand side by side; returns their ids. */
export function beginAll(account_id: string, drafts: ConversationDraft[]): string[] {
  const id = newKey().slice(-12);
  return drafts.map((draft, at) =>
    begin(account_id, drafts.length === 1 ? draft : { ...draft, set: { id, at } }),
  );
}

/** Puts another model beside these, which knows what was said so far. */
export function addColumn(account_id: string, columns: Conversation[], model: string): void {
  const first = columns[0]!;
  const id = first.set?.id ?? first.id;
  if (!first.set) edit(account_id, first.id, { set: { id, at: 0 } });
  const at = (columns.at(-1)!.set?.at ?? 0) + 1;
  const { title, system, max_tokens, temperature } = first;
  const messages = first.messages.map(asCopy);
  begin(account_id, { title, system, max_tokens, temperature, model, messages, set: { id, at } });
}

/** Its cost and its call belong to the column where it was said. */
function asCopy(message: Message): Message {
  const copy = { ...message };
  for (const field of ['cost_usd_micro', 'tokens', 'request_id', 'key'] as const)
    delete copy[field];
  return copy;
}

/** Takes a column out. It stays as a conversation of its own if others do not hold its messages. */
export function closeColumn(account_id: string, columns: Conversation[], closed: Conversation) {
  const others = columns.filter(({ id }) => id !== closed.id);
  const known = new Set(others.flatMap(everyMessage).map(({ id }) => id));
  if (everyMessage(closed).every(({ id }) => known.has(id))) remove(account_id, closed.id);
  else edit(account_id, closed.id, { set: undefined });
  if (others.length === 1) edit(account_id, others[0]!.id, { set: undefined });
}
