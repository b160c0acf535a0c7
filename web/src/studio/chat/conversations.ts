/** Conversations of an account, kept in this browser only: the service keeps none of what is said. */

export interface Picture {
  file_id: string;
  name: string;
}

export interface Message {
  id: string;
  role: 'user' | 'assistant';
  content: string;
  pictures?: Picture[];
  /** What the model thought before it answered, where it tells. */
  reasoning?: string;
  model?: string;
  cost_usd_micro?: string;
  tokens?: { prompt: number; completion: number };
  /** What the service calls it, for its cost where that did not come along. */
  request_id?: string;
  /** Why it ended before its end, in words. */
  failure?: string;
  /** It was stopped by hand. */
  stopped?: boolean;
  /** The Idempotency-Key under which it was asked for. */
  key?: string;
}

export interface Conversation {
  id: string;
  title: string;
  model: string;
  system: string;
  /** Undefined leaves it to the service. */
  max_tokens?: number | undefined;
  temperature?: number | undefined;
  messages: Message[];
  updated_at: string;
}

/** More than anybody looks through; the oldest go first. */
const keptMax = 100;
const titleMax = 60;

/** All of them, the one that was talked in last first. */
export function load(account_id: string): Conversation[] {
  try {
    carryOver(account_id);
    const ids = Object.keys(localStorage).map((place) => idOf(account_id, place));
    return inOrder(ids.flatMap((id) => (id === null ? [] : (read(account_id, id) ?? []))));
  } catch {
    return [];
  }
}

/** What is kept of it now, whichever tab has written it; null where it is deleted. */
export function read(account_id: string, id: string): Conversation | null {
  return parsed<Conversation>(placeOf(account_id, id));
}

/**
 * Each has a place of its own, so that tabs which talk in different ones never write over each
 * other. A browser keeps some megabytes and no more: returns whose place this one has taken, and
 * null where it could not be kept.
 */
export function keep(account_id: string, conversation: Conversation): string[] | null {
  const place = placeOf(account_id, conversation.id);
  const text = JSON.stringify(conversation);
  const gone = write(place, text) ? [] : makeRoom(account_id, place, text);
  if (gone === null) return null;
  const kept = Object.keys(localStorage).filter((each) => idOf(account_id, each) !== null).length;
  const tooMany = kept > keptMax ? othersOf(account_id, place).slice(0, kept - keptMax) : [];
  for (const id of tooMany) forget(account_id, id);
  return [...gone, ...tooMany];
}

export function forget(account_id: string, id: string): void {
  try {
    localStorage.removeItem(placeOf(account_id, id));
  } catch {
    // Where nothing can be kept, nothing is.
  }
}

export function inOrder(all: Conversation[]): Conversation[] {
  return all.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at));
}

/** Whose place it is; null where it is none of this account's conversations. */
export function idOf(account_id: string, place: string): string | null {
  const head = placeOf(account_id, '');
  return place.startsWith(head) ? place.slice(head.length) : null;
}

function placeOf(account_id: string, id: string): string {
  return `farebox-chat ${account_id} ${id}`;
}

/** The oldest first. */
function othersOf(account_id: string, place: string): string[] {
  const ids = load(account_id).map(({ id }) => id);
  return ids.filter((id) => placeOf(account_id, id) !== place).toReversed();
}

function makeRoom(account_id: string, place: string, text: string): string[] | null {
  const gone = new Map<string, string>();
  for (const id of othersOf(account_id, place)) {
    const other = placeOf(account_id, id);
    gone.set(id, localStorage.getItem(other) ?? '');
    localStorage.removeItem(other);
    if (write(place, text)) return [...gone.keys()];
  }
  // The others were not what stood in its way.
  for (const [id, other] of gone) write(placeOf(account_id, id), other);
  return null;
}

function write(place: string, text: string): boolean {
  try {
    localStorage.setItem(place, text);
    return true;
  } catch {
    return false;
  }
}

function parsed<T>(place: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(place) ?? 'null') as T | null;
  } catch {
    return null;
  }
}

/** All of them stood in one place once. */
function carryOver(account_id: string): void {
  const before = `farebox-chats ${account_id}`;
  const all = parsed<Conversation[]>(before) ?? [];
  // There may not be room for both.
  localStorage.removeItem(before);
  for (const each of inOrder(all)) {
    const now = read(account_id, each.id);
    if (now && now.updated_at >= each.updated_at) continue;
    write(placeOf(account_id, each.id), JSON.stringify(each));
  }
}

export function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > titleMax ? `${line.slice(0, titleMax - 1)}…` : line;
}

/** What its replies have cost so far. */
export function costOf({ messages }: Conversation): bigint {
  return messages.reduce((sum, { cost_usd_micro = '0' }) => sum + BigInt(cost_usd_micro), 0n);
}

/** The body of the next call. Replies that brought nothing are left out. */
export function bodyOf(conversation: Conversation): Record<string, unknown> {
  const { model, system, max_tokens, temperature, messages } = conversation;
  return {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...messages.filter(isSaid).map(({ role, content, pictures = [] }) => ({
        role,
        content: pictures.length === 0 ? content : partsOf(content, pictures),
      })),
    ],
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
  };
}

function isSaid({ content, pictures }: Message): boolean {
  return content !== '' || (pictures?.length ?? 0) > 0;
}

function partsOf(content: string, pictures: Picture[]): unknown[] {
  return [
    ...(content === '' ? [] : [{ type: 'text', text: content }]),
    ...pictures.map(({ file_id }) => ({ type: 'image_url', image_url: { url: file_id } })),
  ];
}
