import { chunksFromCompletion } from '../../core/chat/completion.ts';
import { FetchError, isSuccess, type StreamReply } from '../../lib/outbound/fetch.ts';
import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { messageOf } from '../../lib/unknown.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { outcomeUnprepared } from '../inputs.ts';
import { jsonOf } from '../replies.ts';
import type { ChatCall, ChatOutcome, UpstreamTools } from '../upstream.ts';
import { readChunks, tidied } from './chunks.ts';
import { messagesForUpstream } from './messages.ts';
import type { Options } from './options.ts';
import { errorIn, headOf, type Wire } from './wire.ts';

/** Ample: ten thousand tokens with log probabilities take a few megabytes. */
const replyMaxBytes = 32 * 1024 * 1024;
const streamMaxBytes = 128 * 1024 * 1024;
const tooLarge = 'its reply is larger than 32 MiB';
/**
 * How long to wait for a stream's first chunk before the stream is handed on. A refusal in that
 * chunk can then still be answered with its status, and a caller of a slow model sees signs of
 * life.
 */
const peekUsualMs = 3000;
const path = '/chat/completions';

/** OpenAI's chat completions. No call is ever repeated. */
export function createChat(
  wire: Wire,
  options: Options,
  tools: UpstreamTools,
  peekMs = peekUsualMs,
): (call: ChatCall) => Promise<ChatOutcome> {
  const firstMs = options.first_byte_seconds * 1000;
  const times = { firstMs, idleMs: options.idle_seconds * 1000, peekMs };
  return async (call) => {
    let body: string;
    try {
      body = JSON.stringify(await bodyOf(call, options, tools));
    } catch (error) {
      return outcomeUnprepared(error);
    }
    try {
      if (!call.stream) return await unstreamed(call, body, wire, firstMs);
      // If the call limits the time to the first byte, wait for that byte before returning.
      const peek = call.first_byte_seconds && { peekMs: call.first_byte_seconds * 1000 };
      return await streamed(call, body, wire, tools, { ...times, ...peek });
    } catch (error) {
      if (error instanceof FetchError) return wire.fault(error);
      throw error;
    }
  };
}

interface Times {
  firstMs: number;
  idleMs: number;
  peekMs: number;
}

async function unstreamed(
  { model, signal }: ChatCall,
  body: string,
  wire: Wire,
  firstMs: number,
): Promise<ChatOutcome> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const limits = { maxBytes: replyMaxBytes, timeoutMs: 2 * firstMs, signal };
  const reply = await wire.request(path, { method: 'POST', headers, body, ...limits });
  if (!isSuccess(reply.status)) return wire.refusal(reply, model);
  if (reply.truncated) return { outcome: 'unknown', message: tooLarge, answer: 'oversized' };
  return judged(jsonOf(reply.body), reply.headers, wire, model);
}

async function streamed(
  { model, signal }: ChatCall,
  body: string,
  wire: Wire,
  tools: UpstreamTools,
  times: Times,
): Promise<ChatOutcome> {
  const reply = await tools.fetch.stream({
    url: wire.url + path,
    method: 'POST',
    headers: {
      ...wire.headers,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body,
    maxBytes: streamMaxBytes,
    idleTimeoutMs: Math.max(times.firstMs, times.idleMs),
    signal,
  });
  const { status, headers } = reply;
  if (!isSuccess(status))
    return wire.refusal({ status, headers, body: await headOf(reply) }, model);
  const type = headers['content-type'] ?? '';
  if (/json/i.test(type)) {
    const value = jsonOf(await headOf(reply, replyMaxBytes));
    return atOnce(judged(value, headers, wire, model));
  }
  if (/html/i.test(type)) {
    reply.close();
    return unreadable('answered with an HTML page');
  }
  const chunks = cleanedChunks(readChunks(paced(reply, times)), wire);
  return begun(chunks, headers, wire, model, times.peekMs);
}

/** The outcome of a whole reply, or of an error that came instead. */
function judged(
  value: unknown,
  headers: Record<string, string>,
  wire: Wire,
  model: string,
): ChatOutcome {
  if (!isObject(value)) return unreadable('its answer could not be read');
  const reply = cleaned(tidied(value), wire);
  const isEmpty = itemsOf(reply.choices).length === 0;
  if (!isEmpty) return { outcome: 'reply', reply };
  const error = errorIn(reply);
  if (error !== null) return wire.inBand(error, headers, model);
  return unreadable('its answer has no choice');
}

function unreadable(message: string): ChatOutcome {
  return { outcome: 'unknown', message, answer: 'unreadable' };
}

/** Cleans error texts, because they reach the log and may contain our key. */
function cleaned(value: Json, wire: Wire): Json {
  const shown = (error: unknown): unknown =>
    JSON.parse(JSON.stringify(error), (_name, part: unknown) =>
      typeof part === 'string' ? wire.clean(part) : part,
    );
  const choices = itemsOf(value.choices)
    .map(objectOf)
    .map((choice) =>
      choice.error === undefined ? choice : { ...choice, error: shown(choice.error) },
    );
  return { ...value, choices, ...(value.error !== undefined && { error: shown(value.error) }) };
}

async function* cleanedChunks(chunks: AsyncIterable<Json>, wire: Wire): AsyncGenerator<Json> {
  for await (const chunk of chunks) yield cleaned(chunk, wire);
}

async function begun(
  chunks: AsyncGenerator<Json>,
  headers: Record<string, string>,
  wire: Wire,
  model: string,
  peekMs: number,
): Promise<ChatOutcome> {
  const first = chunks.next();
  const [seen] = await withTimeout(Promise.allSettled([first]), peekMs).catch(() => [null]);
  if (seen === null) return { outcome: 'stream', chunks: resumed(first, chunks) };
  if (seen.status === 'rejected') {
    if (seen.reason instanceof FetchError) throw seen.reason;
    return unreadable(wire.clean(messageOf(seen.reason)));
  }
  if (seen.value.done) return unreadable('its stream is empty');
  const error = errorIn(seen.value.value);
  if (error === null) return { outcome: 'stream', chunks: resumed(first, chunks) };
  await chunks.return(undefined);
  return wire.inBand(error, headers, model);
}

async function bodyOf(call: ChatCall, options: Options, tools: UpstreamTools): Promise<Json> {
  const { max_tokens, messages, ...rest } = call.body;
  return {
    ...rest,
    model: call.model,
    messages: await messagesForUpstream(messages, options.inline_images, call, tools),
    ...(max_tokens !== undefined && { [options.token_limit]: max_tokens }),
    ...(call.stream && { stream: true }),
    ...(call.stream && options.include_usage && { stream_options: { include_usage: true } }),
  };
}

/** Turns the whole reply of a server that does not stream into one chunk and its usage. */
function atOnce(outcome: ChatOutcome): ChatOutcome {
  if (outcome.outcome !== 'reply') return outcome;
  const { error, ...completion } = outcome.reply;
  const chunks = chunksFromCompletion(completion, true);
  if (error !== undefined) chunks.push({ choices: [], error });
  return { outcome: 'stream', chunks: eachOf(chunks) };
}

async function* eachOf(chunks: Json[]): AsyncGenerator<Json> {
  yield* chunks;
}

async function* resumed(
  first: Promise<IteratorResult<Json>>,
  rest: AsyncGenerator<Json>,
): AsyncGenerator<Json> {
  try {
    const { done, value } = await first;
    if (done) return;
    yield value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/**
 * Yields the bytes as they arrive. If none arrive for too long, closes the connection and throws.
 */
async function* paced(reply: StreamReply, { firstMs, idleMs }: Times): AsyncGenerator<Uint8Array> {
  const bytes = reply.body[Symbol.asyncIterator]();
  let waitMs = firstMs;
  let isLate = false;
  try {
    for (;;) {
      const timer = setTimeout(() => {
        isLate = true;
        reply.close();
      }, waitMs);
      const { done, value } = await bytes.next().finally(() => clearTimeout(timer));
      if (isLate) throw new FetchError('timeout', 'no data came for too long', { sent: true });
      if (done) return;
      yield value;
      waitMs = idleMs;
    }
  } finally {
    reply.close();
  }
}
