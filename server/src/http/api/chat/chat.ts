import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import {
  chunksFromCompletion,
  isUnfinished,
  type CompletionIdentity,
} from '../../../core/chat/completion.ts';
import { completions as chatCompletions } from '../../../core/dialect/completions.ts';
import type { Dialect, SentEvent } from '../../../core/dialect/dialect.ts';
import { demandFew } from '../../../core/chat/list-sizes.ts';
import { ApiError } from '../../../core/errors.ts';
import { quoteToJson, shownQuote } from '../../../core/price/quote-json.ts';
import { idempotencyKey } from '../../../core/request/fingerprint.ts';
import { metadataHeader, metadataIn } from '../../../core/request/metadata.ts';
import { isFinal } from '../../../core/request/request.ts';
import { headerValues } from '../../../lib/outbound/headers.ts';
import type { Json } from '../../../lib/json.ts';
import { openEventStream, type EventStream } from '../../../lib/sse.ts';
import { ignoredFields, type ChatRun } from '../../../operations/requests/chat-call.ts';
import * as chat from '../../../operations/requests/chat.ts';
import {
  prepareChat,
  quoteChat,
  reserveChat,
  type PreparedChat,
  type ReceivedChat,
} from '../../../operations/requests/submit-chat.ts';
import { chatMaxBytes, holdBytes, readObject } from '../../body.ts';
import type { HttpDeps, KeyedRequest } from '../../deps.ts';
import { makingCall } from '../../call.ts';
import { asApiError, errorBody } from '../../errors.ts';
import { ErrorBody } from '../../schemas/error-schema.ts';
import { hijackHeaders } from '../../hijack.ts';
import { either } from '../../schemas/schema.ts';
import { ChatChunk, ChatCompletion, ChatRequest } from './chat-schema.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { fieldOf } from '../../../lib/unknown.ts';

const bufferMaxBytes = 1024 * 1024;

const shapes = {
  body: ChatRequest,
  written: ChatCompletion,
  events: either([ChatChunk, ErrorBody]),
};

/** POST /chat/completions */
export const completions = keyedEndpoint(shapes, ({ req, reply }, deps) =>
  callModel(req, reply, chatCompletions, deps),
);

/** A chat call in this dialect, from its body to the last byte of its reply. */
export async function callModel(
  req: KeyedRequest,
  reply: FastifyReply,
  dialect: Dialect,
  deps: HttpDeps,
): Promise<unknown> {
  const { openChats, accountChats, settings } = deps;
  const { key_id, account_id } = req.caller;
  if (!openChats.take(key_id, 1)) throw tooManyOpen('This key', settings.openChats);
  try {
    if (!accountChats.take(account_id, 1))
      throw tooManyOpen('All keys of this account together', settings.account.open_chats);
    try {
      return await complete(req, reply, dialect, deps);
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
  dialect: Dialect,
  deps: HttpDeps,
): Promise<unknown> {
  const key = idempotencyKey(headerValues(req.raw.rawHeaders, 'idempotency-key'));
  const metadata = metadataIn(headerValues(req.raw.rawHeaders, metadataHeader));
  const body = await readObject(req, reply, chatMaxBytes, deps);
  demandFew(body, dialect.list);
  const making = makingCall(req, reply);
  const call = { path: dialect.path, body, chatBody: dialect.chatBody(body), metadata, making };
  try {
    return await answerCall({ req, reply, dialect, body }, call, key, deps);
  } catch (error) {
    throw inDialect(error, dialect, body);
  }
}

/** The error with the path of the caller's own field instead of the chat body's. */
export function inDialect(error: unknown, { pathOf }: Dialect, body: Json): unknown {
  if (!pathOf || !(error instanceof ApiError) || error.param === null) return error;
  return error.at(pathOf(error.param, body));
}

async function answerCall(
  shown: Shown,
  call: ReceivedChat,
  key: string | null,
  deps: HttpDeps,
): Promise<unknown> {
  const { req, reply, dialect } = shown;
  const prepared = await prepareChat(call, req.caller, deps);
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
        const unread = dialect.ignored?.(call.body) ?? [];
        const ignored = [...unread, ...ignoredFields(run, deps.upstreams)];
        if (ignored.length > 0) reply.header('x-ignored-fields', ignored.join(', '));
        return await held(begin(shown, run, deps), deps.chats);
      }
      const kept = await keptCompletion(taken.request_id, deps);
      // The first call failed meanwhile and freed its Idempotency-Key, so this call takes over.
      if (kept === null) continue;
      reply.header('idempotent-replayed', 'true');
      return prepared.chat.stream
        ? await replay(shown, kept, prepared, deps)
        : answer(shown, kept.completion, { charged: '0', ended: kept.ended });
    }
  } finally {
    leave?.();
  }
}

/** The price that a chat call would reserve; does not make the call. */
export async function quoteCall(req: KeyedRequest, reply: FastifyReply, deps: HttpDeps) {
  const body = await readObject(req, reply, chatMaxBytes, deps);
  const { model, max_tokens, quote } = await quoteChat(body, req.caller, deps);
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

/** A call with its reply and the form of that reply. */
interface Shown {
  req: KeyedRequest;
  reply: FastifyReply;
  dialect: Dialect;
  /** The call as received. */
  body: Json;
}

async function begin(shown: Shown, run: ChatRun, deps: HttpDeps): Promise<unknown> {
  const { wholeDb: db, upstreams, circuit, inputs, operations, log } = deps;
  const chatDeps = { db, upstreams, circuit, inputs, operations, log };
  const abort = new AbortController();
  const cut = () => abort.abort();
  const timeUp = () => abort.abort(new chat.TimeIsUp());
  const limit = setTimeout(timeUp, run.model.job_age_seconds * 1000 - 1_000);
  limit.unref();
  deps.cutoff.addEventListener('abort', cut);
  // A kept reply that is not streamed can be fetched with its Idempotency-Key after a lost
  // connection.
  const finishes = run.model.on_disconnect === 'finish' || (run.keep && !run.chat.stream);
  let draining = false;
  const stopWaiting = whenLeft(shown.reply.raw, () => {
    draining = finishes && deps.drains.take(run.account_id, 1);
    if (!draining) abort.abort(new chat.CallerLeft());
  });
  try {
    if (!run.chat.stream) {
      const { completion } = await chat.reply(run, chatDeps, abort.signal);
      return answer(shown, completion);
    }
    const begun = await chat.stream(run, chatDeps, abort);
    return await send(shown, begun, run, abort.signal, deps);
  } catch (error) {
    if (!deps.cutoff.aborted || !(error instanceof ApiError) || error.code !== 'submit_failed')
      throw error;
    throw new ApiError('submit_failed', {
      message:
        'This server stopped before the model had answered. Nothing was charged; send the request again.',
      cause: error.cause,
    });
  } finally {
    clearTimeout(limit);
    stopWaiting();
    if (draining) deps.drains.give(run.account_id, 1);
    deps.cutoff.removeEventListener('abort', cut);
  }
}

/** Calls back when the caller has left. Returns a function that cancels this. */
function whenLeft(raw: ServerResponse, callback: () => void): () => void {
  if (raw.destroyed) callback();
  else raw.once('close', callback);
  return () => raw.removeListener('close', callback);
}

/**
 * `charged`: what this very call costs; a repeat costs nothing. `ended`: when the reply was
 * complete.
 */
function answer(
  { reply, dialect, body }: Shown,
  completion: Json,
  { charged, ended = new Date() }: { charged?: string; ended?: Date } = {},
): string {
  const cost = charged ?? fieldOf(completion.usage, 'cost_usd_micro');
  if (typeof cost === 'string') reply.header('x-charge-usd-micro', cost);
  reply.type('application/json; charset=utf-8');
  return JSON.stringify(dialect.reply(completion, body, secondsOf(ended)));
}

async function send(
  { req, reply, dialect, body }: Shown,
  stream: chat.ChatStream,
  run: ChatRun,
  signal: AbortSignal,
  deps: HttpDeps,
): Promise<FastifyReply> {
  const events = open(reply, deps);
  const told = dialect.events({ body, chat: run.chat, head: chat.identity(run) });
  const charged = () => {
    const settled = stream.settled();
    return settled && !settled.failed && !settled.released ? settled.completion : null;
  };
  await sendAll(events, told.begin(), signal);
  try {
    for await (const chunk of stream.chunks) {
      if (!(await sendAll(events, told.add(chunk), signal))) break;
      // When the time is up, a slow reader must not delay the settlement.
      signal.throwIfAborted();
    }
    const settled = stream.settled();
    if (settled && !settled.released)
      await sendAll(events, told.end(settled.completion, secondsOf(new Date())), deps.cutoff);
  } catch (error) {
    // A caller who has left gets no error; leaving usually caused it.
    if (events.closed.aborted) return reply;
    const { request_id, account_id, model } = run;
    deps.log.warn({ err: error, request_id, account_id, model_id: model.id }, 'chat stream broke');
    // If nothing was settled, the books could not be written.
    const why = stream.settled() === null ? asApiError(error) : brokeOff(breakOf(signal, deps));
    await sendAll(events, told.fail(errorBody(why, req.id).error, charged()), deps.cutoff);
  }
  // A released call is not paid for, so chunks that the reader has not taken yet are dropped.
  if (stream.settled()?.released) reply.raw.destroy();
  else events.end();
  return reply;
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

const breaks = {
  time_was_up: 'The time limit of the model was reached',
  server_stopped: 'This server stopped',
  model_broke_off: 'The model ended the reply early',
};

type Break = keyof typeof breaks;

function breakOf({ reason }: AbortSignal, { cutoff }: HttpDeps): Break {
  if (reason instanceof chat.TimeIsUp) return 'time_was_up';
  return cutoff.aborted ? 'server_stopped' : 'model_broke_off';
}

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

function open(reply: FastifyReply, deps: HttpDeps): EventStream {
  const headers = hijackHeaders(reply);
  reply.hijack();
  const { times } = deps.settings;
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...times });
  deps.metrics.streams.inc();
  events.closed.addEventListener('abort', () => deps.metrics.streams.dec());
  return events;
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

function secondsOf(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** Streams the chunks of a kept reply, and an error if that reply broke off. */
async function replay(
  { req, reply, dialect, body }: Shown,
  { completion: kept, ended }: KeptReply,
  { chat: asked }: PreparedChat,
  deps: HttpDeps,
): Promise<FastifyReply> {
  const events = open(reply, deps);
  const { id, created, model } = kept as Json & CompletionIdentity;
  const told = dialect.events({ body, chat: asked, head: { id, created, model } });
  await sendAll(events, told.begin());
  for (const chunk of chunksFromCompletion(kept, false))
    if (!(await sendAll(events, told.add(chunk)))) return reply;
  await sendAll(
    events,
    isUnfinished(kept)
      ? told.fail(errorBody(firstBrokeOff(), req.id).error, kept)
      : told.end(kept, secondsOf(ended)),
  );
  events.end();
  return reply;
}
