import type { Json } from '../../lib/json.ts';
import type { Chat } from '../chat/chat.ts';
import type { CompletionIdentity } from '../chat/completion.ts';

/**
 * The API in which a caller writes a chat call and reads its reply. Inside the service, every call
 * is a chat completion, so all dialects have the same prices, limits and records.
 */
export interface Dialect {
  /** The path of its calls below /v1. A repeat of a call must have the same path. */
  path: string;
  /** The field with the call's messages. */
  list: 'messages' | 'input';
  /**
   * The same call as the body of a chat completion. Throws an `ApiError` that names the caller's
   * field if the call asks for something that a chat completion cannot express.
   */
  chatBody(body: Json): Json;
  /**
   * Names of fields that have no effect, in a call that `chatBody` has read. The method is
   * missing if the call is a chat completion itself.
   */
  ignored?(body: Json): string[];
  /**
   * The path of the caller's field for a path of the chat body, such as `messages[1].content[0]`.
   * The method is missing if all paths are the same.
   */
  pathOf?(param: string, body: Json): string;
  /** A whole reply. `body`: the call as received. `endedSeconds`: unix time of its end. */
  reply(completion: Json, body: Json, endedSeconds: number): Json;
  /** Begins the events of a streamed reply. */
  events(call: StreamedCall): ReplyEvents;
}

export interface StreamedCall {
  /** As received. */
  body: Json;
  chat: Chat;
  head: CompletionIdentity;
}

/** The events of one streamed reply: `begin`, any number of `add`, then `end` or `fail`. */
export interface ReplyEvents {
  begin(): SentEvent[];
  add(chunk: Json): SentEvent[];
  /** `completion` is what all chunks add up to, with the charged usage. */
  end(completion: Json, endedSeconds: number): SentEvent[];
  /** The reply broke off. `completion` is null if nothing was charged. */
  fail(error: ShownError, completion: Json | null): SentEvent[];
}

/** A server-sent event. */
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
