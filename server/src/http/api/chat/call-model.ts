import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Answering, ReadCall, ReplyWriter, SentEvent } from '../../../core/apis/api.ts';
import { completionsReader } from '../../../core/apis/completions/read-reply.ts';
import { readCompletionsCall } from '../../../core/apis/completions/read-call.ts';
import { countPromptTokens } from '../../../core/chat/tokens.ts';
import type { ReplyEvent } from '../../../core/chat/reply.ts';
import { promptUsageOf } from '../../../core/chat/usage.ts';
import { ApiError } from '../../../core/errors.ts';
import { quoteToJson, shownQuote } from '../../../core/price/quote-json.ts';
import { idempotencyKey } from '../../../core/request/fingerprint.ts';
import { metadataHeader, metadataIn } from '../../../core/request/metadata.ts';
import { isFinal } from '../../../core/request/request.ts';
import { itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { headerValues } from '../../../lib/outbound/headers.ts';
import { openEventStream, type EventStream } from '../../../lib/sse.ts';
import type { ChatRun } from '../../../operations/requests/call-routes.ts';
import {
  runChat,
  unanswered,
  type BegunReply,
  type Break,
  type Reader,
} from '../../../operations/requests/run-chat.ts';
import {
  prepareChat,
  quoteChat,
  reserveChat,
  type PreparedChat,
  type ReceivedChat,
} from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, holdBytes, readObject } from '../../body.ts';
import { demandAwaited, makingCall } from '../../call.ts';
import type { HttpDeps, KeyedRequest } from '../../deps.ts';
import { asApiError, errorBody } from '../../errors.ts';
import { hijackHeaders } from '../../hijack.ts';

const bufferMaxBytes = 1024 * 1024;

/** An API in which callers write chat calls and read the replies. */
export interface ChatDoor {
  /** The path of its calls below /v1. A repeat of a call must have the same path. */
  path: string;
  /** Throws an `ApiError` that names the caller's field. */
  read(body: Json): ReadCall;
  open(answering: Answering): ReplyWriter;
  /** Whether a stream tells this refusal, because the API's clients look for it only there. */
  tellsInStream?(error: ApiError): boolean;
}

/** A chat call in this API, from its body to the last byte of its reply. */
export async function callModel(
  req: KeyedRequest,
  reply: FastifyReply,
  door: ChatDoor,
  deps: HttpDeps,
): Promise<unknown> {
  const { openChats, accountChats, settings } = deps;
  const { key_id, account_id } = req.caller;
  if (!openChats.take(key_id, 1)) throw tooManyOpen('This key', settings.FAREBOX_OPEN_CHATS);
  try {
    if (!accountChats.take(account_id, 1))
      throw tooManyOpen('All keys of this account together', settings.account.open_chats);
    try {
      return await complete(req, reply, door, deps);
    } finally {
      accountChats.give(account_id, 1);
    }
  } finally {
    openChats.give(key_id, 1);
  }
}

function tooManyOpen(who: string, limit: number): ApiError {
  return new ApiError('rate_limited', {
    message: `${who} may have ${limit} chat calls open at once. Wait until one has ended.`,
    details: { open_chats_limit: limit },
    headers: { 'retry-after': '5' },
  });
}

async function complete(
  req: KeyedRequest,
  reply: FastifyReply,
  door: ChatDoor,
  deps: HttpDeps,
): Promise<unknown> {
  const key = idempotencyKey(headerValues(req.raw.rawHeaders, 'idempotency-key'));
  const metadata = metadataIn(headerValues(req.raw.rawHeaders, metadataHeader));
  const body = await readObject(req, reply, chatMaxBytes, deps);
  const making = makingCall(req, reply);
  const call = { path: door.path, body, read: door.read(body), metadata, making };
  try {
    return await answerCall({ req, reply, door, call }, key, deps);
  } catch (error) {
    const isTold = call.read.stream && error instanceof ApiError && door.tellsInStream?.(error);
    if (!isTold || reply.sent) throw error;
    const shown = { req, reply, door, call };
    const created = Math.floor(Date.now() / 1000);
    const writer = writerOf(shown, { request_id: req.id, created, model: call.read.model });
    const events = open(reply, writer, deps);
    await sendAll(
      events,
      writer.begin(() => ({})),
    );
    return refuseInStream(error, shown, events, writer);
  }
}

/** A call with its reply and the form of that reply. */
interface Shown {
  req: KeyedRequest;
  reply: FastifyReply;
  door: ChatDoor;
  call: ReceivedChat;
}

async function answerCall(shown: Shown, key: string | null, deps: HttpDeps): Promise<unknown> {
  const { req, reply, call } = shown;
  const prepared = await prepareChat(call, req.caller, deps);
  demandAwaited(reply);
  // As base64 each file is a third larger.
  if (prepared.file_bytes > 0) holdBytes(Math.ceil((prepared.file_bytes * 4) / 3), req, deps);
  // If the key or person loses access, the call is treated as if the caller had left: what was
  // delivered is charged.
  const leave = req.grant && deps.streamGrants.join(req.grant, () => reply.raw.destroy());
  try {
    for (;;) {
      const taken = await reserveChat(prepared, key, deps);
      if (!taken.replayed) {
        const hasLeft = () => reply.raw.destroyed;
        const isAwaited = () => key !== null || !hasLeft();
        const run = { ...taken.reserved, isAwaited, hasLeft };
        return await held(begin(shown, run, deps), deps.chats);
      }
      const kept = await keptCompletion(taken.request_id, deps);
      // The first call failed meanwhile and freed its Idempotency-Key, so this call takes over.
      if (kept === null) continue;
      reply.header('idempotent-replayed', 'true');
      return await replay(shown, kept, prepared, deps);
    }
  } finally {
    leave?.();
  }
}

/** The price that a chat call would reserve; does not make the call. */
export async function quoteCall(req: KeyedRequest, reply: FastifyReply, deps: HttpDeps) {
  const body = await readObject(req, reply, chatMaxBytes, deps);
  const { model, max_tokens, quote } = await quoteChat(readCompletionsCall(body), req.caller, deps);
  return { model_id: model.id, max_tokens, ...shownQuote(quoteToJson(quote)) };
}

/**
 * Keeps the call in `chats` until it is over, so that a stopping process can wait for its
 * settlement.
 */
function held<T>(call: Promise<T>, chats: Set<Promise<unknown>>): Promise<T> {
  chats.add(call);
  return call.finally(() => chats.delete(call));
}

async function begin(shown: Shown, run: ChatRun, deps: HttpDeps): Promise<unknown> {
  const { wholeDb: db, upstreams, circuit, inputs, decoding, operations } = deps;
  const { drains, cutoff, log } = deps;
  const chatDeps = { db, upstreams, circuit, inputs, decoding, operations, drains, cutoff, log };
  const onLeave = (callback: () => void) => whenLeft(shown.reply.raw, callback);
  const line = openLine(shown, run, deps);
  try {
    return await runChat<unknown>(run, chatDeps, onLeave, (begun) => {
      line.begins(begun);
      return run.call.stream
        ? streaming(shown, line, begun, run, deps)
        : gathering(shown, line.writer, deps);
    });
  } catch (error) {
    if (!line.isOpen()) throw error;
    logBreak(error, run, deps);
    return await refuseInStream(asApiError(error), shown, await line.open(null), line.writer);
  } finally {
    line.close();
  }
}

/**
 * The way of a reply to its caller. A stream opens with its reply. If the model is silent for long,
 * it opens earlier, with status 200, because proxies and clients close a silent connection. Then a
 * refusal is told in the stream; most come within seconds, and so with their own status.
 */
function openLine(shown: Shown, run: ChatRun, deps: HttpDeps) {
  const { reply } = shown;
  const { request_id, created, model, call } = run;
  let ended: () => Date | null = () => null;
  const writer = writerOf(shown, { request_id, created, model: model.id }, () => ended());
  let events: Promise<EventStream> | null = null;
  const ignore = (names: readonly string[]) =>
    void (names.length > 0 && reply.header('x-ignored-fields', names.join(', ')));

  async function begin(told: Json | null, signal?: AbortSignal): Promise<EventStream> {
    const stream = open(reply, writer, deps);
    await sendAll(stream, writer.begin(promptOf(told, run)), signal);
    return stream;
  }
  function beginEarly(): void {
    if (reply.raw.destroyed || events) return;
    ignore(call.ignored);
    events = begin(null);
  }
  const timer = call.stream ? setTimeout(beginEarly, deps.settings.times.silenceMs) : undefined;
  return {
    writer,
    begins(begun: BegunReply): void {
      ({ ended } = begun);
      ignore(begun.ignored);
    },
    isOpen: () => events !== null,
    open: (told: Json | null, signal?: AbortSignal) => (events ??= begin(told, signal)),
    close: () => clearTimeout(timer),
  };
}

function logBreak(err: unknown, { request_id, account_id, model }: ChatRun, deps: HttpDeps): void {
  deps.log.warn({ err, request_id, account_id, model_id: model.id }, 'chat stream broke');
}

function writerOf(
  { door, call }: Shown,
  identity: Pick<Answering, 'request_id' | 'created' | 'model'>,
  ended: () => Date | null = () => null,
): ReplyWriter {
  const { body, read } = call;
  const now = () => Math.floor((ended()?.getTime() ?? Date.now()) / 1000);
  return door.open({ ...identity, now, body, stream: read.stream });
}

/** Calls back when the caller has left. Returns a function that cancels this. */
function whenLeft(raw: ServerResponse, callback: () => void): () => void {
  if (raw.destroyed) callback();
  else raw.once('close', callback);
  return () => raw.removeListener('close', callback);
}

/** A whole reply. One that broke off after its first words is paid, and so is shown. */
function gathering(shown: Shown, writer: ReplyWriter, deps: HttpDeps): Reader<string> {
  return {
    take(event) {
      writer.add(event);
      return true;
    },
    end({ failed, refusal, broken, usage, charge }) {
      if (failed) throw refusal ?? unanswered(broken?.error ?? 'no output', deps);
      return answer(shown, writer.whole(usage), String(charge));
    },
    fail(error) {
      throw error;
    },
  };
}

/** `charged`: what this very call costs, in micro-USD; a repeat costs nothing. */
function answer({ reply }: Shown, body: Json, charged: string): string {
  reply.header('x-charge-usd-micro', charged);
  reply.type('application/json; charset=utf-8');
  return JSON.stringify(body);
}

async function streaming(
  { req, reply }: Shown,
  line: ReturnType<typeof openLine>,
  { told, signal }: BegunReply,
  run: ChatRun,
  deps: HttpDeps,
): Promise<Reader<FastifyReply>> {
  const { writer } = line;
  const events = await line.open(told, signal);

  async function tellBreak(error: unknown, why: ApiError, usage: Json | null): Promise<void> {
    logBreak(error, run, deps);
    await sendAll(events, writer.fail(errorBody(why, req.id).error, usage), deps.cutoff);
  }

  return {
    // When the time is up, a slow reader must not delay the settlement.
    take: async (event) => (await sendAll(events, writer.add(event), signal)) && !signal.aborted,
    async end({ broken, refusal, failed, released, usage }) {
      // A caller who has left gets no error; leaving usually caused it.
      if (reply.raw.destroyed) return reply;
      const charged = failed || released ? null : usage;
      if (broken) await tellBreak(broken.error, refusal ?? brokeOff(broken.why), charged);
      else if (!released) await sendAll(events, writer.end(usage), deps.cutoff);
      // A released call is not paid for, so pieces that the reader has not taken yet are dropped.
      if (released) reply.raw.destroy();
      else events.end();
      return reply;
    },
    async fail(error) {
      if (!reply.raw.destroyed) await tellBreak(error, asApiError(error), null);
      events.end();
      return reply;
    },
  };
}

/** The count of the prompt that is known when the reply begins: the upstream's, or ours. */
function promptOf(
  told: Json | null,
  { call: { conversation }, files, model }: Pick<ChatRun, 'call' | 'files' | 'model'>,
): () => Json {
  return () => {
    const { prompt_tokens = null, ...prompt_tokens_details } = objectOf(
      told && promptUsageOf(told),
    );
    if (prompt_tokens !== null) return { prompt_tokens, prompt_tokens_details };
    return { prompt_tokens: countPromptTokens({ ...conversation, files }, model.context_tokens) };
  };
}

/**
 * False once the reader is gone. Waits for the reader after each event, because the last events of
 * a stream may be long.
 */
async function sendAll(
  events: EventStream,
  told: readonly SentEvent[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const { data, event } of told)
    if (!events.send(data, event) || !(await events.drained(signal))) return false;
  return true;
}

const breaks: Readonly<Record<Break, string>> = {
  time_was_up: 'The time limit of the model was reached',
  server_stopped: 'This server stopped',
  model_broke_off: 'The model ended the reply early',
};

/**
 * The charge depends on the model and the usage it reported, so the message refers to the request.
 */
function brokeOff(reason: Break): ApiError {
  return new ApiError('submit_failed', {
    message: `${breaks[reason]} in the middle of the reply. The request shows what was charged. For a new reply, call again; if this call had an Idempotency-Key, use a new one.`,
    details: { reason },
  });
}

/**
 * A kept reply does not say what broke it off: the model, this server, the time limit or its
 * caller.
 */
function firstBrokeOff(): ApiError {
  return new ApiError('submit_failed', {
    message:
      'The reply of the first call with this Idempotency-Key broke off here. The request shows what was charged. For a new reply, call again with a new Idempotency-Key.',
    details: { reason: 'first_call_broke_off' },
  });
}

function open(reply: FastifyReply, writer: ReplyWriter, deps: HttpDeps): EventStream {
  const headers = hijackHeaders(reply);
  reply.hijack();
  const { times } = deps.settings;
  const alive = () => writer.alive();
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...times, alive });
  deps.metrics.streams.inc();
  events.closed.addEventListener('abort', () => deps.metrics.streams.dec());
  return events;
}

/** Refuses a call in the stream of its reply. */
async function refuseInStream(
  error: ApiError,
  { req, reply }: Shown,
  events: EventStream,
  writer: ReplyWriter,
): Promise<FastifyReply> {
  await sendAll(events, writer.fail(errorBody(error, req.id).error, null));
  events.end();
  return reply;
}

interface KeptReply {
  completion: Json;
  ended: Date;
}

/**
 * The kept reply of an earlier call with the same Idempotency-Key; waits a while for that call to
 * end. Null if it failed and left no reply.
 */
async function keptCompletion(requestId: string, deps: HttpDeps): Promise<KeptReply | null> {
  const row = await deps.operations.status(requestId);
  if (row && !isFinal(row.status)) {
    await new Promise<void>((resolve) => {
      const stop = deps.requestEvents.watch(row, (newer) => isFinal(newer.status) && done());
      const timer = setTimeout(done, deps.settings.times.repeatWaitMs);
      function done(): void {
        clearTimeout(timer);
        stop();
        resolve();
      }
    });
  }
  const now = await deps.operations.card(requestId);
  if (!now || now.status === 'FAILED') return null;
  if (now.status !== 'COMPLETED' || now.output === null) {
    throw new ApiError('idempotency_conflict', {
      message:
        'The first call with this Idempotency-Key is still running. Send this one again in a moment.',
      reason: 'first_call_open',
      headers: { 'retry-after': '1' },
    });
  }
  return { completion: now.output, ended: now.completed_at! };
}

/** Tells a kept reply again, and an error if that reply broke off. */
async function replay(
  shown: Shown,
  { completion: kept, ended }: KeptReply,
  { call, files, model }: PreparedChat,
  deps: HttpDeps,
): Promise<unknown> {
  const { req, reply } = shown;
  const request_id = String(kept.id).replace(/^chatcmpl-/, '');
  const identity = { request_id, created: Number(kept.created), model: String(kept.model) };
  const writer = writerOf(shown, identity, () => ended);
  const { pieces, isWhole } = keptEvents(kept, request_id, call.read);
  const usage = objectOf(kept.usage);
  if (!call.read.stream) {
    pieces.forEach(writer.add);
    return answer(shown, writer.whole(usage), '0');
  }
  const events = open(reply, writer, deps);
  await sendAll(events, writer.begin(promptOf(null, { call: call.read, files, model })));
  for (const piece of pieces) if (!(await sendAll(events, writer.add(piece)))) return reply;
  const error = () => errorBody(firstBrokeOff(), req.id).error;
  await sendAll(events, isWhole ? writer.end(usage) : writer.fail(error(), usage));
  events.end();
  return reply;
}

/** The events of a stored reply. One that broke off has no finish reason. */
function keptEvents(
  { usage: _usage, ...kept }: Json,
  request_id: string,
  { conversation: { api, settings } }: ReadCall,
): { pieces: ReplyEvent[]; isWhole: boolean } {
  const pieces: ReplyEvent[] = [];
  const asked = {
    request_id,
    api,
    custom: new Set<string>(),
    ownName: (name: string) => name,
    stops: settings.stop,
  };
  const reader = completionsReader(asked, (event) => pieces.push(event));
  reader.read(kept);
  reader.end(true);
  const { finish_reason } = objectOf(itemsOf(kept.choices)[0]);
  if (typeof finish_reason === 'string') return { pieces, isWhole: true };
  return { pieces: pieces.filter(({ type }) => type !== 'end'), isWhole: false };
}
