import { FareboxError } from './error.ts';
import { eventsOf, parsed } from './events.ts';
import { withAmounts } from './money.ts';
import { newKey } from './runtime.ts';
import { chunksOf, errorFrom } from './replies.ts';
import { usualSilenceMs, type Call, type Transport, type CallRequest } from './transport.ts';
import type { ChatChunk, ChatInput, Completion, ErrorBody } from './types.ts';

/** Calls of text models: a whole reply, or a stream of chunks. */

export interface ChatOptions extends Call {
  /**
   * Default: a random key. A retry under the same key after a lost reply returns that reply instead
   * of a second one.
   */
  idempotencyKey?: string | undefined;
  /**
   * Your own number for the call: 1 to 128 visible ASCII characters. `requests.list({ call_id })`
   * finds the request by it, also if no byte of the reply came.
   */
  callId?: string | undefined;
}

/** Models that reason before they answer need minutes. */
const replyMs = 10 * 60_000;

export interface Chat {
  /** Returns the reply, or its chunks if `stream` is true. */
  create(
    input: ChatInput & { stream: true },
    options?: ChatOptions,
  ): Promise<AsyncIterable<ChatChunk>>;
  create(input: ChatInput & { stream?: false | null }, options?: ChatOptions): Promise<Completion>;
  create(input: ChatInput, options?: ChatOptions): Promise<Completion | AsyncIterable<ChatChunk>>;
}

export function createChat(transport: Transport): Chat {
  function create(
    input: ChatInput & { stream: true },
    options?: ChatOptions,
  ): Promise<AsyncIterable<ChatChunk>>;
  function create(
    input: ChatInput & { stream?: false | null },
    options?: ChatOptions,
  ): Promise<Completion>;
  function create(
    input: ChatInput,
    options?: ChatOptions,
  ): Promise<Completion | AsyncIterable<ChatChunk>>;
  async function create(
    input: ChatInput,
    options: ChatOptions = {},
  ): Promise<Completion | AsyncIterable<ChatChunk>> {
    const { idempotencyKey = newKey(), callId } = options;
    const wanted: CallRequest = {
      method: 'POST',
      path: '/chat/completions',
      json: input,
      idempotencyKey,
      ...(callId !== undefined && { headers: { 'x-request-id': callId } }),
      repeatable: true,
      limitMs: replyMs,
    };
    if (!input.stream) {
      const reply = await transport.json<Completion>(wanted, options);
      withAmounts(reply.usage);
      return reply;
    }
    const stream_options = { include_usage: true, ...input.stream_options };
    const held = await transport.open({ ...wanted, json: { ...input, stream_options } }, options);
    return chunksFrom(eventsOf(chunksOf(held, usualSilenceMs)), idempotencyKey);
  }
  return { create };
}

async function* chunksFrom(
  events: ReturnType<typeof eventsOf>,
  idempotencyKey: string,
): AsyncGenerator<ChatChunk> {
  let requestId: string | undefined;
  let cost: bigint | undefined;
  try {
    for await (const { data } of events) {
      if (data === '[DONE]') return;
      const chunk = parsed<ChatChunk & Partial<ErrorBody>>(data);
      if (chunk.error) throw brokenOff(chunk.error, cost);
      withAmounts(chunk.usage);
      requestId ??= /^chatcmpl-(.+)/.exec(chunk.id)?.[1];
      cost = chunk.usage?.cost_usd_micro ?? cost;
      yield chunk;
    }
    throw new FareboxError('connection_error', 'The stream ended early.');
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    // The reply has begun, so the call was accepted even if it fails now.
    Object.assign(error, { idempotencyKey, mayHaveBeenAccepted: true });
    error.requestId ??= requestId ?? null;
    // Only for faults that the service did not describe itself.
    if (error.type === 'client_error')
      error.message += ` With idempotencyKey "${idempotencyKey}" the same call repeats what was delivered, without a second charge.`;
    throw error;
  }
}

/**
 * The error of a stream that ended with a fault, including the charge if it was sent before the
 * fault.
 */
function brokenOff(error: ErrorBody['error'], cost: bigint | undefined): FareboxError {
  const details = { ...error.details, ...(cost !== undefined && { charged_usd_micro: cost }) };
  return errorFrom({ ...error, details }, null);
}
