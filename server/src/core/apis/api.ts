import type { Json } from '../../lib/json.ts';
import type { ApiName, Conversation } from '../chat/conversation.ts';
import type { ReplyEvent } from '../chat/reply.ts';
import type { Metadata } from '../request/metadata.ts';

/** A caller's call. */
export interface ReadCall {
  model: string;
  stream: boolean;
  /** The most tokens of the reply; null: not said. */
  max_tokens: number | null;
  conversation: Conversation;
  /** Stored with the request. */
  metadata: Metadata | null;
  /** The caller's names of given fields that reach no upstream. */
  ignored: string[];
}

/** A call as an upstream gets it. */
export interface WrittenCall {
  body: Json;
  /** The caller's names of what this API or this upstream cannot say. */
  ignored: string[];
  /** The caller's names of tools whose names were shortened, by the short name. */
  names: ReadonlyMap<string, string>;
  /** Fields of messages in the body that only some servers know. */
  fields: ReadonlySet<string>;
}

export interface CallSettings {
  /** The upstream's name of the model. */
  model: string;
  max_tokens: number;
  stream: boolean;
}

/** The abilities of an upstream's models, from its definition. */
export interface ApiDialect {
  /** Whether marks for the cache are sent. */
  cacheControl: boolean;
  /** Most characters of a tool's name. */
  tool_name_max: number;
}

/** Reads one reply, which may be anything. Its events are the same in pieces or at once. */
export interface ReplyReader {
  /**
   * Reads a piece of a streamed reply, or a whole reply. `name`: the name of its server-sent event.
   * `mayCount`: it may have a usage. Pieces that the API does not have add nothing.
   *
   * @throws ReplyBroken if the piece says that the reply failed; its other parts are said before
   */
  read(piece: Json, name?: string, mayCount?: boolean): void;
  /** Nothing more will follow, so the rest need not be read. */
  isOver(): boolean;
  /**
   * Says what is left, with the end of the reply. `at`: where reading stopped.
   *
   * @throws ReplyBroken if the reply has not come to its end
   */
  end(at: EndOfBytes): void;
  /** Says what is left of a reply that broke off. */
  cut(): void;
}

/** At a `[DONE]`, at the last byte, or at a break or a piece that cannot be read. */
export type EndOfBytes = 'mark' | 'last' | 'fault';

/** Begins to read a reply. `say` gets its events, in order and at once. */
export type OpenReader = (context: ReplyContext, say: EmitEvent) => ReplyReader;

export type EmitEvent = (event: ReplyEvent) => void;

/** Facts of the call that its reader needs. */
export interface ReplyContext {
  /** For the ids of tool calls that came without one: the request, and the caller's API. */
  request_id: string;
  api: ApiName;
  /** The caller's names of the tools whose input is a text. */
  custom: ReadonlySet<string>;
  /** The caller's name of a tool, from the name that the upstream says. */
  ownName: (sent: string) => string;
  /** The ids of the calls of earlier turns. Some servers use them again. */
  usedIds: () => Iterable<string>;
  stops: readonly string[];
}

/** Writes one reply in the caller's API, whole or as server-sent events. */
export interface ReplyWriter {
  /** `usage`: what is known of the prompt so far, in the names of chat completions. */
  begin(usage: () => Json): SentEvent[];
  add(event: ReplyEvent): SentEvent[];
  /** A sign of life while the model is silent. */
  alive(): SentEvent[];
  /** `usage`: the charged one, with the names of chat completions and `cost_usd_micro`. */
  end(usage: Json): SentEvent[];
  /** The reply broke off. `usage` is null if nothing was charged. */
  fail(error: ShownError, usage: Json | null): SentEvent[];
  /** The whole reply of the events that were added. */
  whole(usage: Json): Json;
}

export interface SentEvent {
  event?: string;
  data: string;
}

/** An error as callers see it. */
export interface ShownError {
  code: string;
  message: string;
  type: string;
  param: string | null;
  request_id: string;
  details?: Record<string, unknown> | undefined;
}

/** Facts of the call that its writer repeats. */
export interface AnswerContext {
  /** The request's id, and the creation time in unix seconds. */
  request_id: string;
  created: number;
  /** The time now, in unix seconds. */
  now: () => number;
  model: string;
  /** The caller's body. */
  body: Json;
  /** Only a reply that is not streamed is kept for `whole`. */
  stream: boolean;
}
