import { useSyncExternalStore } from 'react';
import { ApiFailure, call, send } from '../api.ts';
import { eventsOf } from '../sse.ts';
import {
  bodyOf,
  load,
  save,
  titleOf,
  type Conversation,
  type Message,
  type Picture,
} from './conversations.ts';
import { isFinal, newKey, type Card } from './runs.ts';

/**
 * The conversations of one account and the replies that are on their way. It lives beside the
 * pages, so that a reply comes in while somebody looks at another one.
 */
export interface Talk {
  list: Conversation[];
  /** Of the replies that are being written: their conversation, and how to stop them. */
  writing: Map<string, AbortController>;
}

interface Store {
  talk: Talk;
  listeners: Set<() => void>;
}

const stores = new Map<string, Store>();
/** The settlement of a stopped reply follows a moment after it. */
const settleTries = [300, 800, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 60_000, 60_000];
const drawMs = 40;

function storeOf(account_id: string): Store {
  let store = stores.get(account_id);
  if (!store) {
    store = { talk: { list: load(account_id), writing: new Map() }, listeners: new Set() };
    stores.set(account_id, store);
  }
  return store;
}

export function useTalk(account_id: string): Talk {
  const store = storeOf(account_id);
  return useSyncExternalStore(
    (listener) => {
      store.listeners.add(listener);
      return () => void store.listeners.delete(listener);
    },
    () => store.talk,
  );
}

function change(account_id: string, with_: Partial<Talk>, keep = true): void {
  const store = storeOf(account_id);
  const list = with_.list && keep ? save(account_id, with_.list) : with_.list;
  store.talk = { ...store.talk, ...with_, ...(list && { list }) };
  for (const listener of store.listeners) listener();
}

export function edit(account_id: string, id: string, with_: Partial<Conversation>, keep = true) {
  const { list } = storeOf(account_id).talk;
  const next = list.map((each) => (each.id === id ? { ...each, ...with_ } : each));
  change(account_id, { list: next }, keep);
}

export function begin(account_id: string, wanted: Omit<Conversation, 'id' | 'updated_at'>): string {
  const id = newKey().slice(-12);
  const made = { ...wanted, id, updated_at: new Date().toISOString() };
  change(account_id, { list: [made, ...storeOf(account_id).talk.list] });
  return id;
}

export function remove(account_id: string, id: string): void {
  const { list, writing } = storeOf(account_id).talk;
  writing.get(id)?.abort();
  change(account_id, { list: list.filter((each) => each.id !== id) });
}

export function find(account_id: string, id: string | undefined): Conversation | undefined {
  return storeOf(account_id).talk.list.find((each) => each.id === id);
}

export function stop(account_id: string, id: string): void {
  storeOf(account_id).talk.writing.get(id)?.abort();
}

export interface Ask {
  account_id: string;
  id: string;
  path: (path: string) => string;
  words: { lost: string; broke: (error: Broken) => string };
  /** Money has moved. */
  settled: () => void;
}

/** Adds what somebody said, and asks for the reply. */
export function say(ask: Ask, content: string, pictures: Picture[]): void {
  const conversation = find(ask.account_id, ask.id);
  if (!conversation) return;
  const said: Message = {
    id: newKey(),
    role: 'user',
    content,
    ...(pictures.length > 0 && { pictures }),
  };
  const title = conversation.title || titleOf(content);
  edit(ask.account_id, ask.id, { title, messages: [...conversation.messages, said] });
  void answer(ask);
}

/** Takes the last reply away and asks for another one. */
export function again(ask: Ask): void {
  const conversation = find(ask.account_id, ask.id);
  if (!conversation) return;
  const last = conversation.messages.findLastIndex(({ role }) => role === 'user');
  edit(ask.account_id, ask.id, { messages: conversation.messages.slice(0, last + 1) });
  void answer(ask);
}

async function answer(ask: Ask): Promise<void> {
  const { account_id, id } = ask;
  const conversation = find(account_id, id);
  const { writing } = storeOf(account_id).talk;
  if (!conversation || writing.has(id)) return;
  const body = { ...bodyOf(conversation), stream: true, stream_options: { include_usage: true } };
  const abort = new AbortController();
  const key = newKey();
  let message: Message = {
    id: key,
    role: 'assistant',
    content: '',
    model: conversation.model,
    key,
  };
  change(account_id, { writing: new Map(writing).set(id, abort) });
  const before = conversation.messages;
  const show = (isLast: boolean) => {
    clearTimeout(due);
    due = undefined;
    const updated_at = new Date().toISOString();
    edit(account_id, id, { messages: [...before, message], updated_at }, isLast);
  };
  let due: ReturnType<typeof setTimeout> | undefined;
  // A fast model writes hundreds of pieces a second; an eye sees fewer.
  const draw = (with_: Partial<Message>, isLast = false) => {
    message = { ...message, ...with_ };
    if (isLast) show(true);
    else due ??= setTimeout(() => show(false), drawMs);
  };
  try {
    draw({});
    const reply = await open(ask.path('/v1/chat/completions'), body, key, abort.signal);
    for await (const { data } of eventsOf(reply.body!)) {
      if (data === '[DONE]') break;
      const chunk = JSON.parse(data) as Chunk;
      const request_id = /^chatcmpl-([0-9a-f-]{36})$/.exec(chunk.id ?? '')?.[1];
      if (request_id) message = { ...message, request_id };
      if (chunk.error) draw({ failure: ask.words.broke(chunk.error) });
      draw(grown(message, chunk));
    }
    draw({}, true);
  } catch (error) {
    if (abort.signal.aborted) draw({ stopped: true }, true);
    else draw({ failure: error instanceof ApiFailure ? error.message : ask.words.lost }, true);
  } finally {
    const left = new Map(storeOf(account_id).talk.writing);
    left.delete(id);
    change(account_id, { writing: left });
    ask.settled();
  }
  await settle(ask, message);
}

const settling = new Set<string>();

/** Whether a reply that ended, or whose page was left, has a cost that is still to be learnt. */
export function isUnsettled({ cost_usd_micro, request_id }: Message): boolean {
  return cost_usd_micro === undefined && request_id !== undefined;
}

/** Asks what such a reply has cost, until it is settled. */
export async function settle(ask: Ask, message: Message): Promise<void> {
  if (!isUnsettled(message) || settling.has(message.id)) return;
  settling.add(message.id);
  const cost_usd_micro = await charged(ask.path(`/v1/requests/${message.request_id}`));
  settling.delete(message.id);
  if (cost_usd_micro !== null) note(ask, message.id, { cost_usd_micro });
  ask.settled();
}

/** How a reply ended before its end. */
export interface Broken {
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
  error?: Broken;
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

/** Once more under the same key where the connection broke before there was an answer. */
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

/** What a reply that was cut short has cost, once it is settled. */
async function charged(address: string): Promise<string | null> {
  for (const ms of settleTries) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    const card = await call<Card>(address).catch(() => null);
    if (card && isFinal(card.status)) return card.charged_usd_micro ?? '0';
  }
  return null;
}

function note({ account_id, id }: Ask, message_id: string, with_: Partial<Message>): void {
  const conversation = find(account_id, id);
  if (!conversation) return;
  const messages = conversation.messages.map((each) =>
    each.id === message_id ? { ...each, ...with_ } : each,
  );
  edit(account_id, id, { messages });
}
