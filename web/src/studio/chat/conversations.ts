import { fromJson } from '../../../../client/src/unknown.ts';

/** Conversations of an account, stored in this browser only; the service stores no messages. */

/** A file of a message: an image, a sound, a PDF or a text. */
export interface ChatFile {
  file_id: string;
  name: string;
  /** Its content type. */
  type: string;
  /** Until when the service has it; unknown of old ones. */
  expires_at?: string;
  /** Neither the service nor this browser has it now. */
  gone?: boolean;
}

export interface Message {
  id: string;
  role: 'user' | 'assistant';
  content: string;
  files?: ChatFile[];
  /** The model's reasoning, if it sends any. */
  reasoning?: string;
  model?: string;
  cost_usd_micro?: string;
  tokens?: { prompt: number; completion: number };
  /** The id of the request, to look up a cost that did not arrive. */
  request_id?: string;
  /** The reason why the reply ended early, as text. */
  failure?: string;
  /** True if the user stopped the reply. */
  stopped?: boolean;
  /** The Idempotency-Key of the call. */
  key?: string;
}

/** All versions of what follows one message. The shown one, at `at`, is in `messages`; its tail is empty. */
export interface Branch {
  at: number;
  tails: Message[][];
}

export interface Conversation {
  id: string;
  title: string;
  model: string;
  system: string;
  /** If undefined, the service's default applies. */
  max_tokens?: number | undefined;
  temperature?: number | undefined;
  messages: Message[];
  /** Other versions, by the id of the message that they follow; '' is the start. */
  branches?: Record<string, Branch> | undefined;
  /** The set of conversations that get the same questions, and its place among them. */
  set?: { id: string; at: number } | undefined;
  updated_at: string;
}

/** A conversation before it is stored. */
export type ConversationDraft = Omit<Conversation, 'id' | 'updated_at'>;

/** A conversation on the page; it has an id from the first message on. */
export type Column = ConversationDraft & { id?: string };

/** Applies a change to the shown messages and to all others. */
export function inAll(
  { messages, branches }: Pick<Conversation, 'messages' | 'branches'>,
  change: (messages: Message[]) => Message[],
): Pick<Conversation, 'messages' | 'branches'> {
  const others = Object.entries(branches ?? {}).map(([before, { at, tails }]) => {
    const changed = tails.map((tail, i) => (i === at ? tail : change(tail)));
    return [before, { at, tails: changed }] as const;
  });
  return { messages: change(messages), ...(branches && { branches: Object.fromEntries(others) }) };
}

/** Maximum number of conversations; beyond this number the oldest are removed. */
const keptMax = 100;
const titleMax = 60;

/** All conversations, the last used one first. */
export function load(account_id: string): Conversation[] {
  try {
    carryOver(account_id);
    const ids = Object.keys(localStorage).map((place) => idOf(account_id, place));
    return inOrder(ids.flatMap((id) => (id === null ? [] : (read(account_id, id) ?? []))));
  } catch {
    return [];
  }
}

/** The stored conversation, even if another tab wrote it; null if it was deleted. */
export function read(account_id: string, id: string): Conversation | null {
  const stored = parsed<Conversation & { messages: OldMessage[] }>(placeOf(account_id, id));
  return stored && { ...stored, ...inAll(stored, (messages) => messages.map(renewed)) };
}

/** As messages were stored when they had images only. */
type OldMessage = Message & { pictures?: { file_id: string; name: string }[] };

function renewed({ pictures, ...message }: OldMessage): Message {
  return pictures ? { ...message, files: pictures.map(asImage) } : message;
}

export function asImage({ file_id, name }: { file_id: string; name: string }): ChatFile {
  return { file_id, name, type: 'image/*' };
}

/**
 * Stores a conversation under its own name, so that tabs never overwrite each other's. A browser
 * stores only a few megabytes: returns the ids removed to make room, or null if there was no room
 * even then.
 */
export function keep(account_id: string, conversation: Conversation): string[] | null {
  const place = placeOf(account_id, conversation.id);
  const text = JSON.stringify(conversation);
  const gone = write(place, text) ? [] : makeRoom(account_id, place, text);
  if (gone === null) return null;
  const kept = Object.keys(localStorage).filter((each) => idOf(account_id, each) !== null).length;
  const tooMany = kept > keptMax ? othersOf(account_id, place).slice(0, kept - keptMax) : [];
  for (const id of tooMany) removeStored(account_id, id);
  return [...gone, ...tooMany];
}

export function removeStored(account_id: string, id: string): void {
  try {
    localStorage.removeItem(placeOf(account_id, id));
  } catch {
    // The browser allows no storage, so nothing is kept.
  }
}

export function inOrder(all: Conversation[]): Conversation[] {
  return all.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at));
}

/** The id in a storage name; null if it is not a conversation of this account. */
export function idOf(account_id: string, place: string): string | null {
  const head = placeOf(account_id, '');
  return place.startsWith(head) ? place.slice(head.length) : null;
}

function placeOf(account_id: string, id: string): string {
  return `farebox-chat ${account_id} ${id}`;
}

/** The other stored conversations, oldest first. */
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
  // Even removing others did not make room, so they are put back.
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
    return fromJson(localStorage.getItem(place) ?? 'null');
  } catch {
    return null;
  }
}

/** Splits up the single storage entry that used to hold all conversations. */
function carryOver(account_id: string): void {
  const before = `farebox-chats ${account_id}`;
  const all = parsed<Conversation[]>(before) ?? [];
  // There may not be room for the old and the new entries at once.
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

/** The body of the next call, without empty replies. */
export function bodyOf(conversation: Conversation): Record<string, unknown> {
  const { model, system, max_tokens, temperature, messages } = conversation;
  return {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...messages.filter(isSaid).map(({ role, content, files = [] }) => ({
        role,
        content: files.length === 0 ? content : partsOf(content, files),
      })),
    ],
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
  };
}

function isSaid({ content, files }: Message): boolean {
  return content !== '' || (files?.length ?? 0) > 0;
}

function partsOf(content: string, files: ChatFile[]): unknown[] {
  return [...(content === '' ? [] : [{ type: 'text', text: content }]), ...files.map(partOf)];
}

/** A file that is gone is named, so that the conversation can go on without it. */
function partOf({ file_id, name, type, gone }: ChatFile): unknown {
  if (gone) return { type: 'text', text: `[${name}]` };
  switch (modalityOf(type)) {
    case 'image':
      return { type: 'image_url', image_url: { url: file_id } };
    case 'audio':
      return { type: 'input_audio', input_audio: { data: file_id, format: formatOf(type) } };
    default:
      return { type: 'file', file: { file_id, filename: name } };
  }
}

/** The kind of part that a file is sent as. */
export function modalityOf(type: string): 'image' | 'audio' | 'file' {
  if (type.startsWith('image/')) return 'image';
  return type.startsWith('audio/') ? 'audio' : 'file';
}

/** The format of a sound as callers name it, such as `mp3`. */
function formatOf(type: string): string {
  const format = type.replace(/^audio\/(?:x-)?/, '').replace(/;.*$/, '');
  return format === 'mpeg' ? 'mp3' : format;
}
