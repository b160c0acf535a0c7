import { ApiFailure, call, send } from '../../api.ts';
import { isFinal } from '../../../../client/src/watch.ts';
import { eventsOf } from '../../../../client/src/events.ts';
import { chunksOfStream, newKey } from '../../../../client/src/runtime.ts';
import { errorText } from '../../i18n.ts';
import { branchedAt } from './branches.ts';
import {
  bodyOf,
  removeStored,
  idOf,
  inAll,
  inOrder,
  keep,
  load,
  read,
  titleOf,
  type Conversation,
  type Message,
  type ChatFile,
  type ConversationDraft,
} from './conversations.ts';
import type { Card } from '../runs/runs.ts';
import { createStore, type Store } from '../../store.ts';
import { fromJson } from '../../../../client/src/unknown.ts';

/**
 * The conversations of one account and the replies in progress. Kept outside the pages, so that a
 * reply goes on arriving while another page is shown.
 */
export interface Talk {
  list: Conversation[];
  /** Replies in progress, by conversation. */
  writing: Map<string, Reply>;
}

interface Reply {
  message: Message;
  /** The message that it answers. */
  to: string | undefined;
  abort: AbortController;
}

interface KeptConversations {
  /** The conversations as stored, without the replies in progress. */
  kept: Conversation[];
  /** Ids of conversations that the browser has no room to store: only this page has them. */
  unkept: Set<string>;
  talk: Store<Talk>;
}

const stores = new Map<string, KeptConversations>();
/** Waits in milliseconds between checks for the cost of a stopped reply, which is charged later. */
const settleTries = [300, 800, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 60_000, 60_000];
const drawMs = 40;

function storeOf(account_id: string): KeptConversations {
  let store = stores.get(account_id);
  if (!store) {
    const kept = load(account_id);
    const talk = createStore<Talk>({ list: kept, writing: new Map() });
    store = { kept, unkept: new Set(), talk };
    stores.set(account_id, store);
  }
  return store;
}

export function useTalk(account_id: string): Talk {
  return storeOf(account_id).talk.use();
}

function change(
  account_id: string,
  with_: Partial<Pick<KeptConversations, 'kept'> & Pick<Talk, 'writing'>>,
) {
  const store = storeOf(account_id);
  const { kept = store.kept, writing = store.talk.get().writing } = with_;
  store.kept = inOrder(kept);
  const list = store.kept.map((each) => withReply(each, writing.get(each.id)));
  store.talk.set({ list, writing });
}

function withReply(conversation: Conversation, reply: Reply | undefined): Conversation {
  if (!reply) return conversation;
  return { ...conversation, ...placedIn(conversation, reply) };
}

/** Puts the reply into the version whose message it answers. */
function placedIn(conversation: Conversation, reply: Reply): Partial<Conversation> {
  const { messages } = conversation;
  const isAnswered = (tail: Message[]) => tail.some(({ id }) => id === reply.to);
  const isShown = reply.to === undefined || isAnswered(messages);
  if (isShown) return { messages: placed(messages, reply) };
  return inAll(conversation, (tail) => (isAnswered(tail) ? placed(tail, reply) : tail));
}

/** Puts the reply right after the message it answers: another tab may have added messages since. */
function placed(messages: Message[], { message, to }: Reply): Message[] {
  const mine = messages.findIndex(({ id }) => id === message.id);
  if (mine !== -1) return messages.with(mine, message);
  const asked = messages.findIndex(({ id }) => id === to);
  const next = messages.findIndex(({ role }, i) => i > asked && role === 'user');
  const at = asked === -1 || next === -1 ? messages.length : next;
  return messages.toSpliced(at, 0, message);
}

type Change = Partial<Conversation> | ((now: Conversation) => Partial<Conversation>);

/** Changes the stored conversation, which another tab may have changed or deleted. */
export function edit(account_id: string, id: string, how: Change): void {
  const { kept, unkept } = storeOf(account_id);
  const now = unkept.has(id) ? kept.find((each) => each.id === id) : read(account_id, id);
  if (!now) return drop(account_id, id);
  put(account_id, { ...now, ...(typeof how === 'function' ? how(now) : how) });
}

function put(account_id: string, conversation: Conversation): void {
  const { kept, unkept } = storeOf(account_id);
  const { id } = conversation;
  const gone = keep(account_id, conversation);
  if (gone) unkept.delete(id);
  else unkept.add(id);
  const others = kept.filter((each) => each.id !== id && !gone?.includes(each.id));
  change(account_id, { kept: [conversation, ...others] });
}

export function begin(account_id: string, wanted: ConversationDraft): string {
  const id = newKey().slice(-12);
  put(account_id, { ...wanted, id, updated_at: new Date().toISOString() });
  return id;
}

/** Adds the conversations of a file; false if the browser has no room for all of them. */
export function take(account_id: string, conversations: Conversation[]): boolean {
  for (const each of conversations) put(account_id, each);
  const { unkept } = storeOf(account_id);
  return conversations.every(({ id }) => !unkept.has(id));
}

export function remove(account_id: string, id: string): void {
  removeStored(account_id, id);
  drop(account_id, id);
}

/** Removes a conversation that is no longer stored. */
function drop(account_id: string, id: string): void {
  const { kept, unkept } = storeOf(account_id);
  stop(account_id, id);
  unkept.delete(id);
  change(account_id, { kept: kept.filter((each) => each.id !== id) });
}

/** Takes over changes by another tab. `key` is null if that tab cleared the whole storage. */
window.addEventListener('storage', ({ key }) => {
  for (const [account_id, { kept }] of stores) {
    const id = key === null ? null : idOf(account_id, key);
    if (id !== null) reread(account_id, id);
    else if (key === null) for (const each of kept) reread(account_id, each.id);
  }
});

function reread(account_id: string, id: string): void {
  const { kept, unkept } = storeOf(account_id);
  if (unkept.has(id)) return;
  const now = read(account_id, id);
  if (now) change(account_id, { kept: [now, ...kept.filter((each) => each.id !== id)] });
  else drop(account_id, id);
}

export function find(account_id: string, id: string | undefined): Conversation | undefined {
  return storeOf(account_id)
    .talk.get()
    .list.find((each) => each.id === id);
}

export function stop(account_id: string, id: string): void {
  storeOf(account_id).talk.get().writing.get(id)?.abort.abort();
}

export interface Ask {
  account_id: string;
  id: string;
  path: (path: string) => string;
  words: { lost: string; broke: (error: BrokenReply) => string };
  /** Called when money has moved. */
  settled: () => void;
}

/** Adds the user's message and asks for the reply. */
export function sendMessage(ask: Ask, content: string, files: ChatFile[]): void {
  const said: Message = {
    id: `studio-${newKey()}`,
    role: 'user',
    content,
    ...(files.length > 0 && { files }),
  };
  edit(ask.account_id, ask.id, ({ title, messages }) => ({
    title: title || titleOf(content || (files[0]?.name ?? '')),
    messages: [...messages, said],
    updated_at: new Date().toISOString(),
  }));
  void answer(ask);
}

/** Asks for another reply. A reply with text is kept as another version, an empty one goes. */
export function askAgain(ask: Ask): void {
  const shown = find(ask.account_id, ask.id)?.messages ?? [];
  const last = shown.at(-1);
  edit(ask.account_id, ask.id, (now) => ({
    ...(last?.role === 'assistant' &&
      (last.content === ''
        ? { messages: now.messages.filter(({ id }) => id !== last.id) }
        : branchedAt(now, last.id))),
    updated_at: new Date().toISOString(),
  }));
  void answer(ask);
}

/** Asks with other words from a message of the user on; what was there is kept beside it. */
export function editQuestion(ask: Ask, message: Message, content: string): void {
  edit(ask.account_id, ask.id, (now) => {
    const { messages, branches } = branchedAt(now, message.id);
    const said = { ...message, id: `studio-${newKey()}`, content };
    return { messages: [...messages, said], branches, updated_at: new Date().toISOString() };
  });
  void answer(ask);
}

async function answer(ask: Ask): Promise<void> {
  const { account_id, id } = ask;
  const conversation = find(account_id, id);
  if (!conversation || storeOf(account_id).talk.get().writing.has(id)) return;
  const { model, messages } = conversation;
  const body = { ...bodyOf(conversation), stream: true, stream_options: { include_usage: true } };
  const abort = new AbortController();
  const key = `studio-${newKey()}`;
  let message: Message = { id: key, role: 'assistant', content: '', model, key };
  const reply = (): Reply => ({ message, to: messages.at(-1)?.id, abort });
  const show = () => {
    due = undefined;
    write(account_id, id, reply());
  };
  let due: ReturnType<typeof setTimeout> | undefined;
  // A fast model sends hundreds of chunks a second; rendering fewer is enough.
  const draw = (with_: Partial<Message>) => {
    message = { ...message, ...with_ };
    due ??= setTimeout(show, drawMs);
  };
  let isWhole = false;
  try {
    show();
    const stream = await open(ask.path('/v1/chat/completions'), body, key, abort.signal);
    for await (const { data } of eventsOf(chunksOfStream(stream.body!))) {
      isWhole = data === '[DONE]';
      if (isWhole) break;
      const chunk = fromJson<Chunk>(data);
      const request_id = /^chatcmpl-([0-9a-f-]{36})$/.exec(chunk.id ?? '')?.[1];
      if (request_id) message = { ...message, request_id };
      if (chunk.error) draw({ failure: ask.words.broke(chunk.error) });
      draw(grown(message, chunk));
    }
    // A proxy may end a stream that broke as if it were whole.
    if (!isWhole && message.failure === undefined) draw({ failure: ask.words.lost });
  } catch (error) {
    if (abort.signal.aborted) draw({ stopped: true });
    else draw({ failure: error instanceof ApiFailure ? errorText(error) : ask.words.lost });
  } finally {
    clearTimeout(due);
    edit(account_id, id, (now) => ({
      ...placedIn(now, reply()),
      updated_at: new Date().toISOString(),
    }));
    write(account_id, id, null);
    ask.settled();
  }
  await settle(ask, message);
}

/** Shows the part of the reply that has arrived; null after the reply has ended. */
function write(account_id: string, id: string, reply: Reply | null): void {
  const writing = new Map(storeOf(account_id).talk.get().writing);
  if (reply) writing.set(id, reply);
  else writing.delete(id);
  change(account_id, { writing });
}

const settling = new Set<string>();

/** Whether the cost of an ended or abandoned reply is still to be looked up. */
export function isUnsettled({ cost_usd_micro, request_id }: Message): boolean {
  return cost_usd_micro === undefined && request_id !== undefined;
}

/** Looks up the cost of an ended reply, unless the cost is known. Gives up after some minutes. */
export async function settle(ask: Ask, message: Message): Promise<void> {
  if (!isUnsettled(message) || settling.has(message.id)) return;
  settling.add(message.id);
  const cost_usd_micro = await readCharge(ask.path(`/v1/requests/${message.request_id}`));
  settling.delete(message.id);
  if (cost_usd_micro !== null) noteInMessage(ask, message.id, { cost_usd_micro });
  ask.settled();
}

/** Why a reply ended early. */
export interface BrokenReply {
  code: string;
  message: string;
  details?: { reason?: string };
}

interface Chunk {
  id?: string;
  choices?: { delta?: { content?: string; reasoning_content?: string; reasoning?: string } }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    cost_usd_micro?: string;
  } | null;
  error?: BrokenReply;
}

function grown(message: Message, { choices = [], usage }: Chunk): Partial<Message> {
  const delta = choices[0]?.delta ?? {};
  const thought = delta.reasoning_content ?? delta.reasoning;
  return {
    content: message.content + (delta.content ?? ''),
    ...(thought && { reasoning: (message.reasoning ?? '') + thought }),
    ...(usage?.cost_usd_micro !== undefined && {
      cost_usd_micro: usage.cost_usd_micro,
      tokens: { prompt: usage.prompt_tokens, completion: usage.completion_tokens },
    }),
  };
}

/** Makes the call, and repeats it under the same key if the connection broke before a reply. */
async function open(
  address: string,
  body: unknown,
  key: string,
  signal: AbortSignal,
): Promise<Response> {
  const options = { body, headers: { 'idempotency-key': key }, signal };
  try {
    return await send(address, options);
  } catch (error) {
    if (error instanceof ApiFailure || signal.aborted) throw error;
    return send(address, options);
  }
}

/** The cost of an interrupted reply; null if it is not charged within some minutes. */
async function readCharge(address: string): Promise<string | null> {
  for (const ms of settleTries) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    const card = await call<Card>(address).catch(() => null);
    if (card && isFinal(card)) return card.charged_usd_micro ?? '0';
  }
  return null;
}

function noteInMessage({ account_id, id }: Ask, message_id: string, with_: Partial<Message>): void {
  edit(account_id, id, (now) =>
    inAll(now, (messages) =>
      messages.map((each) => (each.id === message_id ? { ...each, ...with_ } : each)),
    ),
  );
}
