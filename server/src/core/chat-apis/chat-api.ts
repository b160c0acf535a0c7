import { itemsOf, objectOf, type Json } from '../../lib/json.ts';

/**
 * A chat API that upstreams speak. Inside the service, each call is a chat completion. A `ChatApi`
 * translates calls and replies for upstreams that speak another API.
 */
export interface ChatApi {
  /** Below the upstream's address. */
  path: string;
  /** True if `call` decodes text files, so their data must be there. */
  readsText: boolean;
  /**
   * The call in the API's form. `body`: a chat completion's, with `model` and `max_tokens`.
   *
   * @throws ApiError that names the field if a part of a message cannot be expressed
   */
  call(body: Json): Json;
  /** Fields of `optional-fields.ts` that the API can express. */
  optional: ReadonlySet<string>;
  /**
   * The fields of `body` that this API cannot express. They do not reach the model. Fields of
   * `optional-fields.ts` that are not in `optional` are not listed.
   */
  ignored(body: Json): string[];
  /** Reads the reply of one call. */
  reader(body: Json): ReplyReader;
}

/** Reads one reply as untrusted data: values of the wrong type count as absent. */
export interface ReplyReader {
  /** The chunks that an event adds to the reply. A chunk with `error` ends the reply. */
  read(event: Json): Json[];
  /** A whole reply as events for `read`; null if it has no output. */
  events(reply: Json): Json[] | null;
  /** `complete`: the finish reason has arrived. `ended`: nothing more will follow. */
  state(): 'open' | 'complete' | 'ended';
}

/** Names of the given fields among `names`. */
export function givenOf(names: readonly string[], body: Json): string[] {
  return names.filter((name) => (body[name] ?? null) !== null);
}

/** A chunk that adds `delta` to the reply. `choice`: further fields of its choice. */
export function chunkOf(delta: Json, more: Json = {}, choice: Json = {}): Json {
  return {
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
    ...more,
  };
}

/** A piece of the tool call with this index. */
export function callChunk(index: number, call: Json): Json {
  return chunkOf({ tool_calls: [{ index, ...call }] });
}

/** Messages of the body, each with its path. */
export function messagesOf({ messages }: Json): { message: Json; at: string }[] {
  return itemsOf(messages).map((message, i) => ({
    message: objectOf(message),
    at: `messages[${i}]`,
  }));
}

/** The parts of a message's content, each with its path. A plain text is one part. */
export function partsOf({ content }: Json, at: string): { part: Json; at: string }[] {
  if (typeof content === 'string') return [{ part: { type: 'text', text: content }, at }];
  return itemsOf(content).map((part, k) => ({ part: objectOf(part), at: `${at}.content[${k}]` }));
}

export const anyObject: Json = { type: 'object', properties: {} };
