import { objectOf, type Json } from '../../../lib/json.ts';
import { countsIn } from '../../chat/chat-bill.ts';
import {
  isOfThought,
  type FinishReason,
  type ReplyEvent,
  type ThoughtPiece,
} from '../../chat/reply.ts';
import { tooLongWordsOfMessages } from '../../chat/refusal.ts';
import { toolInput } from '../writing.ts';
import { errors, type ErrorCode } from '../../errors.ts';
import type { AnswerContext, ReplyWriter, SentEvent, ShownError } from '../api.ts';
import { inOrder, type OrderedEntry } from '../ordered.ts';
import { packProof } from '../thoughts.ts';

/** Writes a reply in Anthropic's Messages. */
export function messagesWriter({ request_id, model, stream }: AnswerContext): ReplyWriter {
  const blocks = inOrder(blockOf);
  const content = openContent();
  let hasRefused = false;
  let stopped = messageDelta(null);

  function write(events: Json[]): SentEvent[] {
    if (stream) return events.map(eventOf);
    events.forEach(content.add);
    return [];
  }

  const message = (usage: Json): Json => ({
    id: `msg_${request_id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: content.blocks(),
    ...stopped,
    diagnostics: null,
    usage: usageOf(usage),
  });
  const last = (usage: Json): SentEvent =>
    eventOf({ type: 'message_delta', delta: stopped, usage: usageOf(usage) });

  return {
    begin: (usage) => [eventOf({ type: 'message_start', message: message(usage()) })],
    add(event) {
      hasRefused ||= event.type === 'refusal';
      if (event.type === 'end') stopped = stopOf(event.reason, event.stop, hasRefused);
      return write(blocks.add(event));
    },
    alive: () => [eventOf({ type: 'ping' })],
    end: (usage) => [...write(blocks.end(true)), last(usage), eventOf({ type: 'message_stop' })],
    fail: (error, usage) => [
      ...write(blocks.end(true)),
      ...(usage ? [last(usage)] : []),
      eventOf(messagesError(error, errors[error.code as ErrorCode].status)),
    ],
    whole(usage) {
      write(blocks.end(true));
      return message(usage);
    },
  };
}

function eventOf(event: Json): SentEvent {
  return { event: String(event.type), data: JSON.stringify(event) };
}

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  filter: 'refusal',
};

function stopOf(reason: FinishReason, stop: string | null, hasRefused: boolean): Json {
  if (hasRefused) return messageDelta('refusal');
  return reason === 'stop' && stop !== null
    ? messageDelta('stop_sequence', stop)
    : messageDelta(reasons[reason]);
}

function messageDelta(stop_reason: string | null, stop_sequence: string | null = null): Json {
  const refusal = { type: 'refusal', category: null, explanation: null };
  const stop_details = stop_reason === 'refusal' ? refusal : null;
  return { stop_reason, stop_sequence, stop_details, container: null };
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
  const said = error.code === 'context_length_exceeded' && {
    message: tooLongWordsOfMessages(error.details ?? {}),
  };
  return { type: 'error', error: { ...error, ...said, type }, request_id };
}

/** The content that the events of blocks add up to. */
function openContent() {
  const content: Json[] = [];
  const inputs = new Map<Json, string>();
  return {
    add({ type, content_block, delta }: Json): void {
      if (type === 'content_block_start') content.push({ ...objectOf(content_block) });
      const block = content.at(-1);
      if (type !== 'content_block_delta' || !block) return;
      const { text, thinking, signature, partial_json } = objectOf(delta);
      if (text !== undefined) block.text = `${block.text}${text}`;
      if (thinking !== undefined) block.thinking = `${block.thinking}${thinking}`;
      if (signature !== undefined) block.signature = `${block.signature}${signature}`;
      if (partial_json !== undefined)
        inputs.set(block, `${inputs.get(block) ?? ''}${partial_json}`);
    },
    blocks(): Json[] {
      for (const [block, input] of inputs) block.input = toolInput(input);
      return content;
    },
  };
}

/** `input_tokens` leaves out tokens that were read from a cache or written to it. */
function usageOf(usage: Json): Json {
  const counts = countsIn(usage);
  const { cached_tokens, cache_write_tokens, reasoning_tokens, cost_usd_micro } = counts;
  return {
    input_tokens: counts.prompt_tokens - cached_tokens - cache_write_tokens,
    cache_creation_input_tokens: cache_write_tokens,
    cache_creation: { ephemeral_5m_input_tokens: cache_write_tokens, ephemeral_1h_input_tokens: 0 },
    cache_read_input_tokens: cached_tokens,
    output_tokens: counts.completion_tokens,
    output_tokens_details: reasoning_tokens === null ? null : { thinking_tokens: reasoning_tokens },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
    ...(cost_usd_micro !== undefined && { cost_usd_micro }),
  };
}

function blockOf(event: ReplyEvent, index: number): OrderedEntry<Json> | null {
  switch (event.type) {
    case 'call': {
      const { call, id, name } = event;
      const head = { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } };
      const takes = (next: ReplyEvent) => next.type === 'input' && next.call === call;
      return block(index, head, takes, (piece) =>
        piece.type === 'input' ? [{ type: 'input_json_delta', partial_json: piece.text }] : [],
      );
    }
    case 'thought':
      if (event.form !== 'hidden') return thinking(index);
      return block(index, { type: 'redacted_thinking', data: packProof(event.text, event) });
    case 'text':
    case 'refusal': {
      const takes = ({ type }: ReplyEvent) => type === 'text' || type === 'refusal';
      return block(index, { type: 'text', text: '', citations: null }, takes, (piece) =>
        'text' in piece ? [{ type: 'text_delta', text: piece.text }] : [],
      );
    }
    default:
      return null;
  }
}

/** `piecesOf`: what an event adds to the block, which takes none if these are left out. */
function block(
  index: number,
  content_block: Json,
  takes: (event: ReplyEvent) => boolean = () => false,
  piecesOf: (event: ReplyEvent) => Json[] = () => [],
): OrderedEntry<Json> {
  return {
    takes,
    begin: () => [{ type: 'content_block_start', index, content_block }],
    add: (event) => piecesOf(event).map((delta) => ({ type: 'content_block_delta', index, delta })),
    end: () => [{ type: 'content_block_stop', index }],
  };
}

function thinking(index: number): OrderedEntry<Json> {
  let last: ThoughtPiece | null = null;
  const takes = (event: ReplyEvent) =>
    event.type === 'thought' &&
    (last === null || isOfThought({ ...last, form: event.form }, event)) &&
    event.form !== 'hidden';
  return block(index, { type: 'thinking', thinking: '', signature: '' }, takes, (event) => {
    if (event.type !== 'thought') return [];
    const { format = null, index: own = null } = last ?? {};
    last = { ...event, format: format ?? event.format, index: own ?? event.index };
    const said = event.text === '' ? [] : [{ type: 'thinking_delta', thinking: event.text }];
    if (event.signature === null) return said;
    return [...said, { type: 'signature_delta', signature: packProof(event.signature, event) }];
  });
}
