import { readReply, readWhole, ReplyBroken, type WholeReply } from '../../core/apis/read-reply.ts';
import type { CallSettings, ApiDialect, OpenReader, WrittenCall } from '../../core/apis/api.ts';
import { replyContextOf, schemasFor } from '../../core/apis/writing.ts';
import type { Conversation } from '../../core/chat/conversation.ts';
import { habits } from '../../core/chat/optional-fields.ts';
import type { ReplyEvent } from '../../core/chat/reply.ts';
import type { Usage } from '../../core/chat/usage.ts';
import { ApiError } from '../../core/errors.ts';
import { decodeFile } from '../../lib/outbound/decode.ts';
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
 * for a field of its messages: then it is sent without that field. If that helps, later calls of
 * the model are sent without it, too.
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
  /** By the server's name of the model. */
  const untaken = new Map<string, Set<string>>();

  async function send(call: ChatCall, sent: SentBody, names: ToolNames): Promise<ChatOutcome> {
    const { model, signal, stream } = call;
    const accept = stream ? 'text/event-stream' : 'application/json';
    const maxBytes = stream ? streamMaxBytes : replyMaxBytes;
    const reply = await tools.fetch.stream({
      url: wire.url + form.path,
      method: 'POST',
      headers: { ...wire.headers, ...wire.idOf(call.request_id), ...sent.headers, accept },
      body: sent.body,
      maxBytes,
      idleTimeoutMs: Math.max(2 * firstMs, idleMs),
      ...(!stream && { timeoutMs: 2 * firstMs }),
      signal,
    });
    if (!isSuccess(reply.status)) return refusalIn(reply, model, wire);
    const { headers } = reply;
    const faults = explainFaults(wire, (error) => wire.inBand(error, headers, model));
    const context = replyContextOf(call.request_id, call.conversation, names);
    const bytes = stream ? readPaced(reply, firstMs, idleMs) : reply.body;
    const body = decodeFile({ headers, body: bytes }, maxBytes, true);
    if (!stream) return wholeOf(await readWhole(body, form.open, context), faults);
    // If the call limits the time to the first byte, wait for that byte before returning.
    const patienceMs = call.first_byte_seconds ? call.first_byte_seconds * 1000 : peekMs;
    return peekFirst(readReply(body, form.open, context), faults, patienceMs);
  }

  return async (call) => {
    const refused = new Set(untaken.get(call.model));
    const body = new JsonBody();
    const place = { body, inline: options.inline_images, readsText: form.readsText };
    const cacheControl = call.cacheControl && form.dialect.cacheControl;
    const write = (conversation: Conversation) => {
      const message_fields = taken(form.dialect.message_fields, refused);
      const dialect = { ...form.dialect, cacheControl, message_fields };
      const written = form.write(schemasFor(conversation, message_fields), call, dialect);
      return { conversation, written, sent: body.write(written.body) };
    };
    let made: ReturnType<typeof write>;
    try {
      made = write(await withMedia(call, place, tools));
    } catch (error) {
      return rejectionOf(error) ?? { ...outcomeUnprepared(error), unasked: true };
    }
    try {
      for (;;) {
        const { conversation, written, sent } = made;
        const outcome = await send(call, sent, written.names);
        if (outcome.outcome === 'reply') {
          // Not learned from the refusal alone, which may quote such a word from the caller's text.
          if (refused.size > 0)
            untaken.set(call.model, new Set([...(untaken.get(call.model) ?? []), ...refused]));
          return { ...outcome, ignored: written.ignored };
        }
        const named = outcome.outcome === 'rejected' ? fieldsIn(outcome.message, written) : [];
        if (named.every((field) => refused.has(field))) return outcome;
        for (const field of named) refused.add(field);
        made = write(conversation);
      }
    } catch (error) {
      return unansweredBy(error, wire);
    }
  };
}

/** The fields that the server takes, and the habits that it was found to have. */
function taken(fields: ReadonlySet<string>, refused: ReadonlySet<string>): Set<string> {
  const learned = Object.values(habits).filter((habit) => refused.has(habit));
  return new Set([...[...fields].filter((field) => !refused.has(field)), ...learned]);
}

async function refusalIn(
  reply: StreamReply,
  model: string,
  wire: OpenaiWire,
): Promise<CallFailure> {
  const { status, headers } = reply;
  const body = await headOf(decodeFile(reply, errorMaxBytes, true));
  return wire.refusal({ status, headers, body }, model);
}

/** The outcome of a call that ended by this error before an answer. Throws any other error. */
function unansweredBy(error: unknown, wire: OpenaiWire): ChatOutcome {
  const unread = unreadIn(error);
  if (unread !== null) return { ...outcomeUnprepared(unread), unasked: true };
  if (error instanceof FetchError) return wire.fault(error);
  throw error;
}

type ToolNames = WrittenCall['names'];

const habitWords: readonly [habit: string, words: RegExp][] = [
  [
    habits.systemFirst,
    /^system message must be (?:at the (?:beginning|start)|(?:the )?first)|^unexpected role 'system' after/i,
  ],
  [
    habits.inTurn,
    /^(?:.{0,60}jinja.{0,60}|after the .{0,40})?(?:conversation roles must|user or tool message\(s\) should) alternate/i,
  ],
  [habits.answerFirst, /^unexpected role 'user' after role 'tool'/i],
  [habits.prefix, /^expected last role .{0,40}assistant with prefix/i],
  [
    habits.schemas,
    /^.{0,250}property schema for '.{1,100}' must be an object|^invalid value at '.{1,200}\.value' \(.{0,100}schema\), (?:true|false)/is,
  ],
  [habits.shortIds, /^tool call id\b.{0,200} must be .{0,60}length of 9/i],
];

/** The habits of the server that a refusal shows, or the fields that it names. */
function fieldsIn(message: string, { fields }: WrittenCall): string[] {
  const habit = habitWords.find(([, words]) => words.test(message));
  if (habit !== undefined) return [habit[0]];
  // In quotes or as the end of a path.
  return [...fields].filter((field) => new RegExp(`['"\`.]${field}\\b`).test(message));
}

/** The outcome of a call that the server's API cannot express; null for any other error. */
function rejectionOf(error: unknown): ChatOutcome | null {
  if (!(error instanceof ApiError)) return null;
  const { message, param } = error;
  return { outcome: 'rejected', message, ...(param !== null && { param }), unasked: true };
}

type Faults = ReturnType<typeof explainFaults>;

/** `inBand`: the outcome of an error that came with status 200. */
function explainFaults(wire: OpenaiWire, inBand: (error: Json) => CallFailure) {
  return {
    /** The outcome of an error in place of a reply, behind these events. */
    outcome(error: unknown, before: readonly ReplyEvent[]): ChatOutcome {
      if (error instanceof FetchError) return { ...wire.fault(error), ...usageIn(before) };
      const stated = error instanceof ReplyBroken ? error.error : null;
      if (stated !== null) return { ...inBand(stated), ...usageIn(before) };
      const message = wire.clean(messageOf(error));
      return { outcome: 'unknown', message, answer: 'unreadable', ...usageIn(before) };
    },
    /** The error as it is told. Its texts reach the log and may contain our key. */
    cleaned(broken: unknown): unknown {
      if (!(broken instanceof ReplyBroken) || broken.error === null) return broken;
      const { error, message } = broken;
      const shown = JSON.parse(JSON.stringify(error), (_name, part: unknown) =>
        typeof part === 'string' ? wire.clean(part) : part,
      ) as Json;
      const outcome = inBand(error);
      const { refusal = null } = outcome.outcome === 'rejected' ? outcome : {};
      const refused = refusal && { message: outcome.message, refusal };
      return new ReplyBroken(wire.clean(message), shown, refused);
    },
  };
}

/** A reply that has come whole. An error in its place is an outcome. */
function wholeOf({ events, error }: WholeReply, faults: Faults): ChatOutcome {
  if (error !== null && !events.some(isOfReply)) return faults.outcome(error, events);
  return replyOf(events, error === null ? ended : Promise.reject(error), null, faults);
}

const ended: PendingEvent = Promise.resolve({ done: true, value: undefined });

/** Reads ahead to the first piece of a stream. An error in place of a piece is an outcome. */
async function peekFirst(
  events: AsyncGenerator<ReplyEvent>,
  faults: Faults,
  peekMs: number,
): Promise<ChatOutcome> {
  const head: ReplyEvent[] = [];
  const until = performance.now() + peekMs;
  for (;;) {
    const next = events.next();
    const left = Math.max(0, until - performance.now());
    const [seen] = await withTimeout(Promise.allSettled([next]), left).catch(() => [null]);
    if (seen?.status === 'rejected') return faults.outcome(seen.reason, head);
    if (!seen || seen.value.done) return replyOf(head, next, events, faults);
    head.push(seen.value.value);
    if (isOfReply(seen.value.value)) return replyOf(head, null, events, faults);
  }
}

type PendingEvent = Promise<IteratorResult<ReplyEvent>>;

/** A reply that ends without having said anything may still turn out to be broken. */
function isOfReply({ type }: ReplyEvent): boolean {
  return type !== 'usage' && type !== 'end';
}

/**
 * The reply with the events that were read ahead; `pending` is the one behind them. Not a
 * generator, because each layer of generators costs every event some turns of the microtask queue.
 */
function replyOf(
  head: ReplyEvent[],
  pending: PendingEvent | null,
  rest: AsyncGenerator<ReplyEvent> | null,
  faults: Faults,
): ChatOutcome {
  pending?.catch(() => {});
  let read = 0;
  let ahead = pending;
  const next = async (): Promise<IteratorResult<ReplyEvent>> => {
    if (read < head.length) return { value: head[read++]! };
    try {
      const result = await (ahead ?? rest?.next() ?? ended);
      ahead = null;
      return result;
    } catch (error) {
      throw faults.cleaned(error);
    }
  };
  const stop = () => rest?.return(undefined) ?? ended;
  const events = { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
  return { outcome: 'reply', reportedUsage: null, ...usageIn(head), events };
}

function usageIn(head: readonly ReplyEvent[]): { reportedUsage?: Usage } {
  const last = head.findLast((event) => event.type === 'usage');
  return last ? { reportedUsage: last.usage } : {};
}

/** Yields the bytes. If none arrive for too long, closes the connection and throws. */
async function* readPaced(
  reply: StreamReply,
  firstMs: number,
  idleMs: number,
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
