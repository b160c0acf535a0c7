import { chunksFromCompletion } from '../../core/chat/completion.ts';
import { ApiError } from '../../core/errors.ts';
import { FetchError, isSuccess, type StreamReply } from '../../lib/outbound/fetch.ts';
import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { messageOf } from '../../lib/unknown.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { outcomeUnprepared } from '../inputs.ts';
import { JsonBody, type SentBody } from '../json-body.ts';
import { jsonOf, unreadIn } from '../replies.ts';
import type { ChatCall, ChatOutcome, UpstreamTools } from '../upstream.ts';
import type { ChatForm } from './forms.ts';
import { messagesForUpstream } from './messages.ts';
import type { Options } from './options.ts';
import { errorIn, headOf, type Wire } from './wire.ts';

/** Ample: ten thousand tokens with log probabilities take a few megabytes. */
const replyMaxBytes = 32 * 1024 * 1024;
const streamMaxBytes = 128 * 1024 * 1024;
const tooLarge = 'its reply is larger than 32 MiB';
/**
 * How long a stream is held back for its first chunk, because a refusal in that chunk can still be
 * answered with its status. After this time the stream is returned even without a chunk, so that
 * the caller of a slow model sees signs of life.
 */
const peekUsualMs = 3000;

type ChatOptions = Pick<Options, 'first_byte_seconds' | 'idle_seconds' | 'inline_images'>;

/** Chat calls in the form that the server speaks. No call is ever repeated. */
export function createChat(
  wire: Wire,
  form: ChatForm,
  options: ChatOptions,
  tools: UpstreamTools,
  peekMs = peekUsualMs,
): (call: ChatCall) => Promise<ChatOutcome> {
  const firstMs = options.first_byte_seconds * 1000;
  const times = { firstMs, idleMs: options.idle_seconds * 1000, peekMs };
  return async (call) => {
    let sent: SentBody;
    try {
      const body = new JsonBody();
      const place = { body, inline: options.inline_images, readsText: form.readsText };
      const messages = await messagesForUpstream(call.body.messages, place, call, tools);
      sent = body.write(form.body(call, messages));
    } catch (error) {
      return untranslated(error) ?? { ...outcomeUnprepared(error), unasked: true };
    }
    try {
      if (!call.stream) return await unstreamed(call, sent, wire, form, firstMs);
      // If the call limits the time to the first byte, wait for that byte before returning.
      const peek = call.first_byte_seconds && { peekMs: call.first_byte_seconds * 1000 };
      return await streamed(call, sent, wire, form, tools, { ...times, ...peek });
    } catch (error) {
      const unread = unreadIn(error);
      if (unread !== null) return { ...outcomeUnprepared(unread), unasked: true };
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

/** The outcome of a call that the server's API cannot express; null for any other error. */
function untranslated(error: unknown): ChatOutcome | null {
  if (!(error instanceof ApiError)) return null;
  const { message, param } = error;
  return { outcome: 'rejected', message, ...(param !== null && { param }), unasked: true };
}

async function unstreamed(
  call: ChatCall,
  sent: SentBody,
  wire: Wire,
  form: ChatForm,
  firstMs: number,
): Promise<ChatOutcome> {
  const headers = { ...sent.headers, accept: 'application/json' };
  const { model, signal } = call;
  const limits = { maxBytes: replyMaxBytes, timeoutMs: 2 * firstMs, signal };
  const reply = await wire.request(form.path, {
    method: 'POST',
    headers,
    body: sent.body,
    ...limits,
  });
  if (!isSuccess(reply.status)) return wire.refusal(reply, model);
  if (reply.truncated) return { outcome: 'unknown', message: tooLarge, answer: 'oversized' };
  return judged(jsonOf(reply.body), reply.headers, wire, form, call);
}

async function streamed(
  call: ChatCall,
  sent: SentBody,
  wire: Wire,
  form: ChatForm,
  tools: UpstreamTools,
  times: Times,
): Promise<ChatOutcome> {
  const { model, signal } = call;
  const reply = await tools.fetch.stream({
    url: wire.url + form.path,
    method: 'POST',
    headers: {
      ...wire.headers,
      ...sent.headers,
      accept: 'text/event-stream',
    },
    body: sent.body,
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
    return atOnce(judged(value, headers, wire, form, call));
  }
  if (/html/i.test(type)) {
    reply.close();
    return unreadable('answered with an HTML page');
  }
  return begun(form.chunks(paced(reply, times), call), headers, wire, model, times.peekMs);
}

/** The outcome of a whole reply, or of an error that came instead. */
function judged(
  value: unknown,
  headers: Record<string, string>,
  wire: Wire,
  form: ChatForm,
  call: ChatCall,
): ChatOutcome {
  if (!isObject(value)) return unreadable('its answer could not be read');
  const reply = cleaned(form.reply(value, call), wire);
  const isEmpty = itemsOf(reply.choices).length === 0;
  if (!isEmpty) return { outcome: 'reply', reply };
  const error = errorIn(reply);
  if (error !== null) return wire.inBand(error, headers, call.model);
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

async function begun(
  chunks: AsyncGenerator<Json>,
  headers: Record<string, string>,
  wire: Wire,
  model: string,
  peekMs: number,
): Promise<ChatOutcome> {
  const first = chunks.next();
  const [seen] = await withTimeout(Promise.allSettled([first]), peekMs).catch(() => [null]);
  const stream = { outcome: 'stream' as const, chunks: resumed(first, chunks, wire) };
  if (seen === null) return stream;
  if (seen.status === 'rejected') {
    if (seen.reason instanceof FetchError) throw seen.reason;
    return unreadable(wire.clean(messageOf(seen.reason)));
  }
  if (seen.value.done) return unreadable('its stream is empty');
  const error = errorIn(cleaned(seen.value.value, wire));
  if (error === null) return stream;
  await chunks.return(undefined);
  return wire.inBand(error, headers, model);
}

/** For a server that does not stream: its whole reply, as the chunks of a stream. */
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

/**
 * The stream from its first chunk on, with clean error texts. Not a generator, because each layer
 * of generators costs every chunk some turns of the microtask queue.
 */
function resumed(
  first: Promise<IteratorResult<Json>>,
  rest: AsyncGenerator<Json>,
  wire: Wire,
): AsyncIterable<Json> {
  let isFirst = true;
  const next = async (): Promise<IteratorResult<Json>> => {
    const result = await (isFirst ? first : rest.next());
    isFirst = false;
    return result.done ? result : { value: cleaned(result.value, wire) };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: () => rest.return(undefined) }) };
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
