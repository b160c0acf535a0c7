import { readReply, readWhole, ReplyBroken, type WholeReply } from '../../core/apis/read-reply.ts';
import type {
  ReplyContext,
  CallSettings,
  ApiDialect,
  OpenReader,
  WrittenCall,
} from '../../core/apis/api.ts';
import { replyContextOf } from '../../core/apis/writing.ts';
import { mediaBlocks } from '../../core/chat/chat-media.ts';
import type { Conversation } from '../../core/chat/conversation.ts';
import type { ReplyEvent } from '../../core/chat/reply.ts';
import type { Usage } from '../../core/chat/usage.ts';
import { ApiError } from '../../core/errors.ts';
import { decodeBody } from '../../lib/outbound/decode.ts';
import type { Json } from '../../lib/json.ts';
import { FetchError, isSuccess, type StreamReply } from '../../lib/outbound/fetch.ts';
import { messageOf } from '../../lib/unknown.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { outcomeUnprepared } from '../inputs.ts';
import { JsonBody, type SentBody } from '../json-body.ts';
import { unreadIn } from '../replies.ts';
import type { ChatCall, ChatOutcome, UpstreamTools } from '../upstream.ts';
import { withMedia } from './chat-media.ts';
import type { OpenaiOptions } from './options.ts';
import { headOf, type CallFailure, type OpenaiWire } from './wire.ts';

/** Ample: ten thousand tokens with log probabilities take a few megabytes. */
const replyMaxBytes = 32 * 1024 * 1024;
const streamMaxBytes = 128 * 1024 * 1024;
const errorMaxBytes = 1024 * 1024;
/**
 * How long a stream is held back for its first piece, because a refusal in its place can still be
 * answered with its status. After this time the stream is returned even without a piece, so that
 * the caller of a slow model sees signs of life.
 */
const peekUsualMs = 3000;

/** How a server is called and answers. */
export interface ChatForm {
  /** Appended to the server's address. */
  path: string;
  /** True if the server takes text files as text. */
  readsText: boolean;
  /** With the fields of messages that the server knows, if the API has such. */
  dialect: ApiDialect & { message_fields: ReadonlySet<string> };
  /** Throws an `ApiError` that names the caller's field if the API cannot express it. */
  write(conversation: Conversation, calling: CallSettings, dialect: ApiDialect): WrittenCall;
  open: OpenReader;
}

export type ChatOptions = Pick<
  OpenaiOptions,
  'first_byte_seconds' | 'idle_seconds' | 'inline_images'
>;

/**
 * Chat calls in the form that the server speaks. A call is sent once, unless the server refuses it
 * for a field of its messages: then it is sent without that field. If that helps, later calls are
 * sent without it, too.
 */
export function createChat(
  wire: OpenaiWire,
  form: ChatForm,
  options: ChatOptions,
  tools: UpstreamTools,
  peekMs = peekUsualMs,
): (call: ChatCall) => Promise<ChatOutcome> {
  const firstMs = options.first_byte_seconds * 1000;
  const idleMs = options.idle_seconds * 1000;
  const untaken = new Set<string>();
  return async (call) => {
    const refused = new Set(untaken);
    const body = new JsonBody();
    const place = { body, inline: options.inline_images, readsText: form.readsText };
    // If the call limits the time to the first byte, wait for that byte before returning.
    const peek = call.first_byte_seconds ? call.first_byte_seconds * 1000 : peekMs;
    const times = { firstMs, idleMs, peekMs: peek };
    const cacheControl = form.dialect.cacheControl && call.cacheControl;
    const write = (conversation: Conversation) => {
      const message_fields = new Set(form.dialect.message_fields);
      for (const field of refused) message_fields.delete(field);
      const dialect = { ...form.dialect, cacheControl, message_fields };
      const written = form.write(conversation, call, dialect);
      return { conversation, written, sent: body.write(written.body) };
    };
    let made: ReturnType<typeof write>;
    try {
      const hasMedia = mediaBlocks(call.conversation).length > 0;
      made = write(hasMedia ? await withMedia(call, place, tools) : call.conversation);
    } catch (error) {
      return rejectionOf(error) ?? { ...outcomeUnprepared(error), unasked: true };
    }
    try {
      for (;;) {
        const { conversation, written, sent } = made;
        const context = replyContextOf(call.request_id, call.conversation, written.names);
        const outcome = await send(call, sent, wire, form, context, tools, times);
        if (outcome.outcome === 'reply') {
          // Not learned from the refusal alone, which may quote such a word from the caller's text.
          for (const field of refused) untaken.add(field);
          return { ...outcome, ignored: written.ignored };
        }
        const named = outcome.outcome === 'rejected' ? fieldsIn(outcome.message, written) : [];
        if (named.length === 0) return outcome;
        for (const field of named) refused.add(field);
        made = write(conversation);
      }
    } catch (error) {
      const unread = unreadIn(error);
      if (unread !== null) return { ...outcomeUnprepared(unread), unasked: true };
      if (error instanceof FetchError) return wire.fault(error);
      throw error;
    }
  };
}

/** The fields of messages that a refusal names, in quotes or as the end of a path. */
function fieldsIn(message: string, { fields }: WrittenCall): string[] {
  return [...fields].filter((field) => new RegExp(`['"\`.]${field}\\b`).test(message));
}

interface Times {
  firstMs: number;
  idleMs: number;
  peekMs: number;
}

/** The outcome of a call that the server's API cannot express; null for any other error. */
function rejectionOf(error: unknown): ChatOutcome | null {
  if (!(error instanceof ApiError)) return null;
  const { message, param } = error;
  return { outcome: 'rejected', message, ...(param !== null && { param }), unasked: true };
}

async function send(
  { model, signal, stream }: ChatCall,
  sent: SentBody,
  wire: OpenaiWire,
  form: ChatForm,
  context: ReplyContext,
  tools: UpstreamTools,
  times: Times,
): Promise<ChatOutcome> {
  const accept = stream ? 'text/event-stream' : 'application/json';
  const maxBytes = stream ? streamMaxBytes : replyMaxBytes;
  const reply = await tools.fetch.stream({
    url: wire.url + form.path,
    method: 'POST',
    headers: { ...wire.headers, ...sent.headers, accept },
    body: sent.body,
    maxBytes,
    idleTimeoutMs: Math.max(2 * times.firstMs, times.idleMs),
    ...(!stream && { timeoutMs: 2 * times.firstMs }),
    signal,
  });
  const { status, headers } = reply;
  if (!isSuccess(status)) {
    const head = await headOf(decodeBody(reply, errorMaxBytes));
    return wire.refusal({ status, headers, body: head }, model);
  }
  const inBand = (error: Json) => wire.inBand(error, headers, model);
  const body = decodeBody(
    { headers, body: stream ? readPaced(reply, times) : reply.body },
    maxBytes,
  );
  if (!stream) return outcomeOf(await readWhole(body, form.open, context), wire, inBand);
  return peekFirst(readReply(body, form.open, context), wire, inBand, times.peekMs);
}

/** A reply that has come whole. An error in its place is an outcome. */
function outcomeOf(
  { events, error }: WholeReply,
  wire: OpenaiWire,
  inBand: InBandOutcome,
): ChatOutcome {
  if (error === null) return wholeOf(events, null);
  if (events.some(isOfReply)) return wholeOf(events, cleanError(error, wire, inBand));
  return { ...faultOf(error, wire, inBand), ...usageIn(events) };
}

/** `error`: thrown after the events. */
function wholeOf(events: readonly ReplyEvent[], error: unknown): ChatOutcome {
  let read = 0;
  const next = async (): Promise<IteratorResult<ReplyEvent>> => {
    if (read < events.length) return { value: events[read++]! };
    if (error !== null) throw error;
    return { done: true, value: undefined };
  };
  const { reportedUsage = null } = usageIn(events);
  return { outcome: 'reply', reportedUsage, events: { [Symbol.asyncIterator]: () => ({ next }) } };
}

/**
 * Reads ahead to the first piece of a stream. An error in place of a piece is an outcome.
 */
async function peekFirst(
  events: AsyncGenerator<ReplyEvent>,
  wire: OpenaiWire,
  inBand: InBandOutcome,
  peekMs: number,
): Promise<ChatOutcome> {
  const head: ReplyEvent[] = [];
  const brokenBy = (error: unknown) => cleanError(error, wire, inBand);
  const reply = (pending: PendingEvent | null) => replyOf(head, pending, events, brokenBy);
  const until = performance.now() + peekMs;
  for (;;) {
    const next = events.next();
    const left = Math.max(0, until - performance.now());
    const [seen] = await withTimeout(Promise.allSettled([next]), left).catch(() => [null]);
    if (seen === null) return reply(next);
    if (seen.status === 'rejected')
      return head.some(isOfReply)
        ? reply(Promise.reject(seen.reason))
        : { ...faultOf(seen.reason, wire, inBand), ...usageIn(head) };
    if (seen.value.done) return reply(next);
    head.push(seen.value.value);
    if (isOfReply(seen.value.value)) return reply(null);
  }
}

type PendingEvent = Promise<IteratorResult<ReplyEvent>>;
/** The outcome of an error that came with status 200. */
type InBandOutcome = (error: Json) => CallFailure;

/** A reply that ends without having said anything may still turn out to be broken. */
function isOfReply({ type }: ReplyEvent): boolean {
  return type !== 'usage' && type !== 'end';
}

function faultOf(error: unknown, wire: OpenaiWire, inBand: InBandOutcome): ChatOutcome {
  if (error instanceof FetchError) return wire.fault(error);
  if (error instanceof ReplyBroken && error.error !== null) return inBand(error.error);
  return { outcome: 'unknown', message: wire.clean(messageOf(error)), answer: 'unreadable' };
}

/**
 * The reply with the events that were read ahead. Not a generator, because each layer of generators
 * costs every event some turns of the microtask queue.
 */
function replyOf(
  head: ReplyEvent[],
  pending: PendingEvent | null,
  rest: AsyncGenerator<ReplyEvent>,
  brokenBy: (error: unknown) => unknown,
): ChatOutcome {
  pending?.catch(() => {});
  let read = 0;
  let ahead = pending;
  const readNext = async (): Promise<IteratorResult<ReplyEvent>> => {
    if (read < head.length) return { value: head[read++]! };
    try {
      const result = await (ahead ?? rest.next());
      ahead = null;
      return result;
    } catch (error) {
      throw brokenBy(error);
    }
  };
  const events = { next: readNext, return: () => rest.return(undefined) };
  const { reportedUsage = null } = usageIn(head);
  return { outcome: 'reply', reportedUsage, events: { [Symbol.asyncIterator]: () => events } };
}

function usageIn(head: readonly ReplyEvent[]): { reportedUsage?: Usage } {
  const last = head.findLast((event) => event.type === 'usage');
  return last ? { reportedUsage: last.usage } : {};
}

/** Error texts reach the log and may contain our key. */
function cleanError(broken: unknown, wire: OpenaiWire, inBand: InBandOutcome): unknown {
  if (!(broken instanceof ReplyBroken) || broken.error === null) return broken;
  const { error, message } = broken;
  const shown = JSON.parse(JSON.stringify(error), (_name, part: unknown) =>
    typeof part === 'string' ? wire.clean(part) : part,
  ) as Json;
  const outcome = inBand(error);
  const { refusal = null } = outcome.outcome === 'rejected' ? outcome : {};
  const refused = refusal && { message: outcome.message, refusal };
  return new ReplyBroken(wire.clean(message), shown, refused);
}

/** Yields the bytes. If none arrive for too long, closes the connection and throws. */
async function* readPaced(
  reply: StreamReply,
  { firstMs, idleMs }: Times,
): AsyncGenerator<Uint8Array> {
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
