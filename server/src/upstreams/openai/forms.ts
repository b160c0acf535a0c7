import type { ChatApi } from '../../core/chat-apis/chat-api.ts';
import { completionFromChunks } from '../../core/chat/completion.ts';
import type { Json } from '../../lib/json.ts';
import { readEvents } from '../../lib/outbound/event-stream.ts';
import type { ChatCall } from '../upstream.ts';
import { parsed, readChunks, tidied } from './chunks.ts';
import type { Options } from './options.ts';
import { errorIn } from './wire.ts';

/** Ample: the last event of OpenAI's Responses repeats the whole reply, and the call's tools. */
const eventCharsMax = 32 * 1024 * 1024;

/** The form of chat calls and their replies at a server. */
export interface ChatForm {
  /** Appended to the server's address. */
  path: string;
  /** True if the server takes text files as text. */
  readsText: boolean;
  /** The call's body. `messages`: the call's messages with their files filled in. */
  body(call: ChatCall, messages: unknown): Json;
  /** A whole reply as a chat completion. `choices` is empty if the reply has none. */
  reply(value: Json, call: ChatCall): Json;
  /**
   * The chunks of a stream. Throws if the stream breaks off or has an invalid chunk; earlier chunks
   * count as delivered.
   */
  chunks(bytes: AsyncIterable<Uint8Array>, call: ChatCall): AsyncGenerator<Json>;
}

type CompletionOptions = Pick<Options, 'token_limit' | 'include_usage'>;

/** OpenAI's chat completions: a call is passed on with few changes. */
export function completionForm(options: CompletionOptions): ChatForm {
  return {
    path: '/chat/completions',
    readsText: false,
    body({ model, body, stream }, messages) {
      const { max_tokens, messages: _own, ...rest } = body;
      return {
        ...rest,
        model,
        messages,
        ...(max_tokens !== undefined && { [options.token_limit]: max_tokens }),
        ...(stream && { stream: true }),
        ...(stream && options.include_usage && { stream_options: { include_usage: true } }),
      };
    },
    reply: tidied,
    chunks: readChunks,
  };
}

/** A server that speaks another API. */
export function translatedForm(api: ChatApi): ChatForm {
  return {
    path: api.path,
    readsText: api.readsText,
    body: ({ model, body, stream }, messages) => api.call({ ...body, model, messages, stream }),
    reply(value, { body, model }) {
      const error = errorIn(value);
      const reader = api.reader(body);
      const chunks = reader.events(value)?.flatMap(reader.read);
      if (error !== null || chunks === undefined) return { choices: [], ...(error && { error }) };
      const broken = chunks.find((chunk) => chunk.error !== undefined);
      if (broken) return { choices: [], error: broken.error };
      return completionFromChunks(chunks, { id: '', created: 0, model });
    },
    chunks: (bytes, { body }) => translated(bytes, api, body),
  };
}

async function* translated(
  bytes: AsyncIterable<Uint8Array>,
  api: ChatApi,
  body: Json,
): AsyncGenerator<Json> {
  const { read, state } = api.reader(body);
  for await (const { data } of readEvents(bytes, eventCharsMax)) {
    const text = data.trim();
    if (text === '[DONE]') break;
    if (text === '') continue;
    yield* read(parsed(text));
    if (state() === 'ended') return;
  }
  if (state() === 'open') throw new Error('its stream ended before the reply was complete');
}
