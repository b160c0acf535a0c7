import { itemsOf, objectOf, type Json } from '../../lib/json.ts';

/**
 * APIs of upstreams in which a chat call can be written. Inside, each call is a chat completion; an
 * upstream that speaks another API gets the call, and gives its reply, through one of these.
 */
export interface ChatApi {
  /** Below the upstream's address. */
  path: string;
  /**
   * The call in the API's form. `body` is that of a chat completion with `model` and `max_tokens`.
   *
   * @throws ApiError that names the field if a part of a message cannot be expressed
   */
  call(body: Json): Json;
  /** Optional fields of a chat that it can express. */
  optional: ReadonlySet<string>;
  /** Given fields that cannot be expressed, and so reach no model, beside optional ones. */
  ignored(body: Json): string[];
  /** Reads the reply of one call. */
  reader(body: Json): ReplyReader;
}

/** Reads one reply as untrusted data: values of the wrong type count as absent. */
export interface ReplyReader {
  /** The chunks that an event adds to the reply; `error` in a chunk ends it. */
  read(event: Json): Json[];
  /** A whole reply as such events; null if it has no output. */
  events(reply: Json): Json[] | null;
  /** `complete`: it has its finish reason. `ended`: nothing follows either. */
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

/** The parts of a content, a text being one part, each with its path. */
export function partsOf({ content }: Json, at: string): { part: Json; at: string }[] {
  if (typeof content === 'string') return [{ part: { type: 'text', text: content }, at }];
  return itemsOf(content).map((part, k) => ({ part: objectOf(part), at: `${at}.content[${k}]` }));
}

/** The media type and the base64 of a `data:` address; null if it is none. */
export function dataIn(address: unknown): { media_type: string; data: string } | null {
  const [, media_type, data] = /^data:([^;,]*)[^,]*;base64,(.*)$/is.exec(String(address)) ?? [];
  return data === undefined ? null : { media_type: media_type!.toLowerCase(), data };
}

export const anyObject: Json = { type: 'object', properties: {} };
