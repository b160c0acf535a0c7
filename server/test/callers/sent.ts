import { chatMedia } from '../../src/core/chat/chat-media.ts';
import { messageFields } from '../../src/core/chat/optional-fields.ts';
import type { ReadCall, WrittenCall } from '../../src/core/apis/api.ts';
import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import { writeCompletionsCall } from '../../src/core/apis/completions/write-call.ts';
import { readMessagesCall } from '../../src/core/apis/messages/read-call.ts';
import { writeMessagesCall } from '../../src/core/apis/messages/write-call.ts';
import { readResponsesCall } from '../../src/core/apis/responses/read-call.ts';
import { writeResponsesCall } from '../../src/core/apis/responses/write-call.ts';
import { heard } from './heard.ts';

/** Reads a caller's call, and writes it for an upstream of each API. */

type Json = Record<string, any>;
export type ApiName = 'completions' | 'messages' | 'responses';

const readers: Record<ApiName, (body: Json) => ReadCall> = {
  completions: readCompletionsCall,
  messages: (body) => readMessagesCall({ max_tokens: 9_000, ...body }),
  responses: readResponsesCall,
};

const dialect = { passes: new Set(['prompt_cache_key']), cacheControl: false, tool_name_max: 64 };
const writers: Record<ApiName, (call: ReadCall) => WrittenCall> = {
  completions: (call) =>
    writeCompletionsCall(call.conversation, calling, {
      ...dialect,
      developer: false,
      custom_tools: false,
      message_fields: new Set(messageFields),
      token_limit: 'max_tokens',
      include_usage: false,
    }),
  messages: (call) =>
    writeMessagesCall(call.conversation, calling, {
      ...dialect,
      cacheControl: true,
      thinking: 'adaptive',
      sampling: true,
    }),
  responses: (call) => writeResponsesCall(call.conversation, calling, dialect),
};
const calling = { model: 'm', max_tokens: 9_000, stream: false };

/** A call as an upstream gets it: what was said, and the other fields. */
export interface SentCall {
  says?: string;
  more?: Json;
  /** The names in `x-ignored-fields`. */
  ignored?: string[];
  /** In place of the others: the field at fault. */
  refused?: string;
}

const usual = new Set([
  'model',
  'max_tokens',
  'max_output_tokens',
  'store',
  'system',
  'messages',
  'input',
]);

export function toldTo(api: ApiName, door: ApiName, body: Json): SentCall {
  try {
    const call = readers[door]({ model: 'a/b', ...body });
    chatMedia(call.conversation);
    const written = writers[api](call);
    const more = Object.entries(written.body).filter(([name]) => !usual.has(name));
    const ignored = [...new Set([...call.ignored, ...written.ignored])];
    return {
      says: heard[api]!(written.body as Json),
      ...(more.length > 0 && { more: Object.fromEntries(more) }),
      ...(ignored.length > 0 && { ignored }),
    };
  } catch (error) {
    return { refused: refusedField(error) };
  }
}

function refusedField(error: unknown): string {
  if (error instanceof Error && 'param' in error && 'code' in error) return String(error.param);
  throw error;
}
