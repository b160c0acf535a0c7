import type { Conversation, Message } from './conversations.ts';

/** Versions of a conversation: a question that was changed, a reply that was asked for again. */

type Thread = Pick<Conversation, 'messages' | 'branches'>;

/** Cuts the conversation off before a message; what was there is kept as another version. */
export function branchedAt({ messages, branches }: Thread, id: string): Thread {
  const from = messages.findIndex((each) => each.id === id);
  if (from === -1) return { messages, branches };
  const before = idBefore(messages, from);
  const { at, tails } = branches?.[before] ?? { at: 0, tails: [[]] };
  const all = [...tails.with(at, messages.slice(from)), []];
  return {
    messages: messages.slice(0, from),
    branches: { ...branches, [before]: { at: all.length - 1, tails: all } },
  };
}

/** Shows another version of what follows the message `before`; '' is the conversation's start. */
export function switchedTo({ messages, branches }: Thread, before: string, to: number): Thread {
  const branch = branches?.[before];
  const from = before === '' ? 0 : messages.findIndex(({ id }) => id === before) + 1;
  const shown = branch?.tails[to];
  if (!branch || !shown || to === branch.at || (before !== '' && from === 0))
    return { messages, branches };
  const tails = branch.tails.with(branch.at, messages.slice(from)).with(to, []);
  return {
    messages: [...messages.slice(0, from), ...shown],
    branches: { ...branches, [before]: { at: to, tails } },
  };
}

/** Where a message stands among its versions; null if it has no others. */
export function versionOf({ messages, branches }: Thread, index: number) {
  const before = idBefore(messages, index);
  const branch = branches?.[before];
  return branch ? { before, at: branch.at, count: branch.tails.length } : null;
}

export function everyMessage({ messages, branches }: Thread): Message[] {
  return [messages, ...Object.values(branches ?? {}).flatMap(({ tails }) => tails)].flat();
}

/** The cost of the conversation's replies so far, of all versions. */
export function costOf(conversation: Thread): bigint {
  const costs = everyMessage(conversation).map(({ cost_usd_micro = '0' }) =>
    BigInt(cost_usd_micro),
  );
  return costs.reduce((sum, cost) => sum + cost, 0n);
}

function idBefore(messages: Message[], i: number): string {
  return messages[i - 1]?.id ?? '';
}
