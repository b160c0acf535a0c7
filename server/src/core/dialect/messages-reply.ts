import { itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { chunksFromCompletion } from '../chat/completion.ts';
import { errors, type ErrorCode } from '../errors.ts';
import { countsOf } from '../chat/counts.ts';
import { toolInput } from '../chat/tool-input.ts';
import type { ReplyEvents, SentEvent, ShownError, StreamedCall } from './dialect.ts';
import { openBlocks } from './messages-blocks.ts';

/** Writes a chat completion as a message of Anthropic's Messages, whole or as events. */

/** A whole reply, with the content that the events of a stream add up to. */
export function messagesReply(completion: Json, { stop_sequences }: Json): Json {
  const id = String(completion.id);
  const blocks = openBlocks(requestOf(id), itemsOf(stop_sequences));
  const events = [...chunksFromCompletion(completion, false).flatMap(blocks.add), ...blocks.end()];
  return {
    ...messageOf(id, completion.model),
    content: contentOf(events),
    ...blocks.stopped(),
    usage: usageOf(completion),
  };
}

export function messagesEvents({ head, body }: StreamedCall): ReplyEvents {
  const blocks = openBlocks(requestOf(head.id), itemsOf(body.stop_sequences));
  const message = messageOf(head.id, head.model);
  const last = (delta: Json, completion: Json): Json => ({
    type: 'message_delta',
    delta,
    usage: usageOf(completion),
  });
  return {
    begin: () => [sent({ type: 'message_start', message })],
    add: (chunk) => blocks.add(chunk).map(sent),
    end: (completion) => [
      ...blocks.end().map(sent),
      sent(last(blocks.stopped(), completion)),
      sent({ type: 'message_stop' }),
    ],
    fail: (error, completion) => [
      ...blocks.end().map(sent),
      ...(completion ? [sent(last({ stop_reason: null, stop_sequence: null }, completion))] : []),
      sent(messagesError(error, errors[error.code as ErrorCode].status)),
    ],
  };
}

const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** Anthropic's form of an error, with our code and details. */
export function messagesError({ request_id, ...error }: ShownError, status: number): Json {
  const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { ...error, type }, request_id };
}

function sent(event: Json): SentEvent {
  return { event: String(event.type), data: JSON.stringify(event) };
}

function requestOf(completionId: string): string {
  return completionId.replace(/^chatcmpl-/, '');
}

/**
 * The beginning of a message. Its counts come at the end, because only the model's server knows
 * them.
 */
function messageOf(completionId: string, model: unknown): Json {
  return {
    id: `msg_${requestOf(completionId)}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf({}),
  };
}

function contentOf(events: Json[]): Json[] {
  const content: Json[] = [];
  const inputs = new Map<Json, string>();
  for (const { type, content_block, delta } of events) {
    if (type === 'content_block_start') content.push({ ...objectOf(content_block) });
    const block = content.at(-1);
    if (type !== 'content_block_delta' || !block) continue;
    const { text = '', thinking = '', signature = '', partial_json = '' } = objectOf(delta);
    if (block.type === 'text') block.text = `${block.text}${text}`;
    else if (block.type === 'tool_use')
      inputs.set(block, `${inputs.get(block) ?? ''}${partial_json}`);
    else {
      block.thinking = `${block.thinking}${thinking}`;
      block.signature = `${block.signature}${signature}`;
    }
  }
  for (const [block, text] of inputs) block.input = toolInput(text);
  return content;
}

/** `input_tokens` leaves out tokens that were read from a cache or written to it. */
function usageOf(completion: Json): Json {
  const counts = countsOf(completion);
  const { cached_tokens, cache_write_tokens, reasoning_tokens, cost_usd_micro } = counts;
  return {
    input_tokens: counts.prompt_tokens - cached_tokens - cache_write_tokens,
    cache_creation_input_tokens: cache_write_tokens,
    cache_read_input_tokens: cached_tokens,
    output_tokens: counts.completion_tokens,
    ...(reasoning_tokens !== null && {
      output_tokens_details: { thinking_tokens: reasoning_tokens },
    }),
    ...(cost_usd_micro !== undefined && { cost_usd_micro }),
  };
}
