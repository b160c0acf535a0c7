import { completionsReader } from '../core/apis/completions/read-reply.ts';
import {
  writeCompletionsCall,
  type CompletionsDialect,
} from '../core/apis/completions/write-call.ts';
import { readReply } from '../core/apis/read-reply.ts';
import { replyContextOf } from '../core/apis/writing.ts';
import { messageFields, optionalNames } from '../core/chat/optional-fields.ts';
import type { ReplyEvent } from '../core/chat/reply.ts';
import type { Json } from '../lib/json.ts';
import type { ChatCall } from './upstream.ts';

/** Chat with upstreams in this process, which speak chat completions without a network. */

const all = {
  passes: new Set(optionalNames),
  developer: true,
  custom_tools: true,
  message_fields: new Set(messageFields),
  tool_name_max: Infinity,
  token_limit: 'max_tokens',
  include_usage: false,
} as const;

/** The call as a chat completion. `passes`: the optional fields that it has. */
export function completionOf(
  call: Pick<ChatCall, 'model' | 'conversation' | 'max_tokens' | 'cacheControl' | 'stream'>,
  passes: ReadonlySet<string> = all.passes,
  more: Partial<CompletionsDialect> = {},
) {
  const cacheControl = call.cacheControl && passes.has('cache_control');
  return writeCompletionsCall(call.conversation, call, { ...all, passes, cacheControl, ...more });
}

/** The events of chunks, or of a whole chat completion. */
export function eventsOf(
  { request_id, conversation }: ChatCall,
  chunks: AsyncIterable<Json> | Iterable<Json>,
): AsyncGenerator<ReplyEvent> {
  return readReply(chunks, completionsReader, replyContextOf(request_id, conversation));
}
