import { completionsWriter } from '../../core/apis/completions/write-reply.ts';
import { ReplyBroken } from '../../core/apis/read-reply.ts';
import {
  chargeableUsage,
  detailsOf,
  tokensIn,
  toldUsage,
  usageOf,
  type Bill,
  type DeliveryEnd,
} from '../../core/chat/chat-bill.ts';
import { listOf } from '../../core/chat/chat-media.ts';
import { gatherReply, type GatheredReply, type ReplyEvent } from '../../core/chat/reply.ts';
import { tooLong } from '../../core/chat/refusal.ts';
import { readUsage } from '../../core/chat/usage.ts';
import { ApiError } from '../../core/errors.ts';
import { chatCost, costInUsage } from '../../core/price/cost.ts';
import { charge } from '../../core/price/price.ts';
import { redactInput } from '../../core/request/redact.ts';
import type { Budget } from '../../lib/budget.ts';
import type { Json } from '../../lib/json.ts';
import { FetchError } from '../../lib/outbound/fetch.ts';
import type { ChatOutcome, Rejection } from '../../upstreams/upstream.ts';
import type { Operations } from './batched.ts';
import {
  callRoutes,
  unsent,
  type ChatCallDeps,
  type ChatRun,
  type RoutedRun,
} from './call-routes.ts';

/**
 * Runs a chat call after its reservation: calls the upstream and settles. Every outcome ends in
 * exactly one charge or release. If this process dies first, a worker finds the request's row due
 * and releases the reservation.
 */

export interface ChatDeps extends ChatCallDeps {
  operations: Pick<Operations, 'end'>;
  /** Replies that are read on for their usage although the caller has left, by account. */
  drains: Budget;
  /** Fires shortly before a stopping process ends. */
  cutoff: AbortSignal;
}

// The reasons of an abort are made once, because each error needs time for its stack.
/** The rest of the reply is not read. */
const callerLeft = new Error('the caller has left');
/** The call has run for as long as its catalog row allows. */
const timeIsUp = new Error('the time for this call is up');
const streamEnded = new Error('the stream has ended');

export interface ChatEnd {
  charge: bigint;
  /** The tokens and the cost that were charged, with the names of chat completions. */
  usage: Json;
  /** True if the reply broke off before any output, and the reservation was released. */
  failed: boolean;
  /** True if a worker had already released the reservation, so nothing was charged. */
  released: boolean;
  /** When the request ended, if it ended here. */
  ended: Date | null;
  /** The upstream refused the call after it had begun to answer. */
  refusal: ApiError | null;
  /** Why the reply broke off, and the error for the log. Null: it did not, or nobody read on. */
  broken: { why: Break; error: unknown } | null;
}

type Settled = Omit<ChatEnd, 'broken'>;

/** Why a reply broke off. */
export type Break = 'time_was_up' | 'server_stopped' | 'model_broke_off';

/** A reply that begins. */
export interface BegunReply {
  /** The caller's names of what the model was not told. */
  ignored: string[];
  /** The usage that the upstream told before the reply began. */
  told: Json | null;
  /** When the request ended, once it has ended here. */
  ended: () => Date | null;
  /** Fires when the reply will not go on. */
  signal: AbortSignal;
}

/** Reads a reply, and answers the caller with a `T`. */
export interface Reader<T> {
  /** Gets the events in order. False: nobody reads on. */
  take(event: ReplyEvent): boolean | Promise<boolean>;
  /** The call is settled. */
  end(end: ChatEnd): T | Promise<T>;
  /** The books could not be written. */
  fail(error: unknown): T | Promise<T>;
}

type Open<T> = (begun: BegunReply) => Reader<T> | Promise<Reader<T>>;

/**
 * Calls the model, lets a reader take the reply, and settles. If no upstream begins a reply, the
 * request is ended and an ApiError is thrown. If nobody reads on and the catalog row has
 * `on_disconnect: finish`, the rest is read for its usage. `onLeave` calls back when the caller has
 * left, and returns a function that cancels this.
 */
export async function runChat<T>(
  wanted: ChatRun,
  deps: ChatDeps,
  onLeave: (callback: () => void) => () => void,
  open: Open<T>,
): Promise<T> {
  const abort = new AbortController();
  const cut = () => abort.abort();
  if (deps.cutoff.aborted) cut();
  const { model, keep, call, account_id } = wanted;
  const limit = setTimeout(() => abort.abort(timeIsUp), model.job_age_seconds * 1000 - 1_000);
  limit.unref();
  deps.cutoff.addEventListener('abort', cut);
  // A kept reply that is not streamed can be fetched with its Idempotency-Key after a lost
  // connection.
  const finishes = model.on_disconnect === 'finish' || (keep && !call.stream);
  let draining = false;
  const stopWaiting = onLeave(() => {
    draining = finishes && deps.drains.take(account_id, 1);
    if (!draining) abort.abort(callerLeft);
  });
  try {
    const { outcome, run } = await callRoutes(wanted, deps, call.stream, abort.signal);
    if (outcome.outcome !== 'reply') throw await refused(run, deps, outcome, abort.signal);
    return await passOn(outcome, run, deps, abort, open);
  } finally {
    clearTimeout(limit);
    stopWaiting();
    if (draining) deps.drains.give(account_id, 1);
    deps.cutoff.removeEventListener('abort', cut);
  }
}

/** The error of a call without an answer. */
export function unanswered(cause: unknown, { cutoff }: Pick<ChatDeps, 'cutoff'>): ApiError {
  const message =
    'This server stopped before the model had answered. Nothing was charged; send the request again.';
  return new ApiError('submit_failed', { cause, ...(cutoff.aborted && { message }) });
}

/** Settles in any case, also if the reader fails. */
async function passOn<T>(
  { events, told, ignored = [] }: Extract<ChatOutcome, { outcome: 'reply' }>,
  run: RoutedRun,
  deps: ChatDeps,
  abort: AbortController,
  open: Open<T>,
): Promise<T> {
  const { signal } = abort;
  let settled: Settled | null = null;
  const names = [...new Set([...run.call.ignored, ...ignored])];
  const ended = () => settled?.ended ?? null;
  const opened = async () => open({ ignored: names, told, ended, signal });
  const reader = await opened().catch((error: unknown) => unopened<T>(error));
  const { reply, end, refusal, error } = await readAll(events, run, deps, abort, reader.take);
  try {
    settled = await settle(run, deps, reply, end, refusal);
  } catch (unwritten) {
    return reader.fail(unwritten);
  }
  const broken = error === null ? null : { error, why: breakOf(signal, deps) };
  return reader.end({ ...settled, broken });
}

function unopened<T>(error: unknown): Reader<T> {
  const fail = () => {
    throw error;
  };
  return { take: () => false, end: fail, fail };
}

function breakOf({ reason }: AbortSignal, { cutoff }: ChatDeps): Break {
  if (reason === timeIsUp) return 'time_was_up';
  return cutoff.aborted ? 'server_stopped' : 'model_broke_off';
}

/** All that was read of a reply. */
interface ReadReply {
  reply: GatheredReply;
  end: DeliveryEnd;
  refusal: ApiError | null;
  /** Why the reader did not get all of it; null: it did, or has left. */
  error: unknown;
}

/** Reads a reply to its end, or for as long as it is worth it. */
async function readAll(
  source: AsyncIterable<ReplyEvent>,
  run: RoutedRun,
  deps: ChatDeps,
  abort: AbortController,
  take: Reader<unknown>['take'],
): Promise<ReadReply> {
  const { signal } = abort;
  const reply = gatherReply();
  const events = source[Symbol.asyncIterator]();
  let end: DeliveryEnd | null = null;
  let refusal: ApiError | null = null;
  let error: unknown = null;
  try {
    // A caller who has left gets no part of a reply that comes whole.
    if (!run.call.stream && signal.reason === callerLeft) {
      await readOn(events, (event) => event.type === 'usage' && reply.add(event));
      end = 'given_up';
    } else {
      const untaken = await passEvents(events, take, reply);
      error = untaken && (untaken.error ?? (signal.aborted ? signal.reason : null));
      end = untaken ? await endUnread(untaken.event, events, run, signal, reply) : 'complete';
    }
  } catch (thrown) {
    end = isOversized(thrown) ? 'oversized' : unfinishedEnd(run, signal, reply);
    refusal = lateRefusal(thrown, run, reply);
    if (end === 'broken' && refusal === null && !signal.aborted)
      deps.circuit.streamBroke(run.route.upstream);
    error = shownFault(thrown, run);
  }
  if (end !== 'complete') abort.abort(streamEnded);
  await events.return?.().then(undefined, () => {});
  return { reply, end, refusal, error };
}

/** Null: all events were taken. Otherwise the first that was not, and the reader's error. */
async function passEvents(
  events: AsyncIterator<ReplyEvent>,
  take: Reader<unknown>['take'],
  reply: GatheredReply,
): Promise<{ event: ReplyEvent; error: unknown } | null> {
  for (let next = await events.next(); !next.done; next = await events.next()) {
    const event = next.value;
    try {
      if (!(await take(event))) return { event, error: null };
    } catch (error) {
      return { event, error };
    }
    // Added only now: a caller who has left meanwhile did not get this piece.
    reply.add(event);
  }
  return null;
}

/** The end of a reply that nobody reads on. If an outside service bills its rest, that is read. */
async function endUnread(
  event: ReplyEvent,
  events: AsyncIterator<ReplyEvent>,
  run: RoutedRun,
  signal: AbortSignal,
  reply: GatheredReply,
): Promise<DeliveryEnd> {
  if (signal.aborted) return unfinishedEnd(run, signal, reply);
  if (run.model.on_disconnect !== 'finish') return 'given_up';
  reply.add(event);
  const end = await readOn(events, reply.add);
  return end === 'broken' ? unfinishedEnd(run, signal, reply) : end;
}

/**
 * The refusal of a call whose reply had begun. After its first words, only a prompt that is too
 * long is told, because agents act on it.
 */
function lateRefusal(error: unknown, run: ChatRun, reply: GatheredReply): ApiError | null {
  const refused = error instanceof ReplyBroken ? error.refused : null;
  if (refused === null) return null;
  const isTooLong = refused.refusal.reason === 'messages_too_long';
  return isTooLong || reply.text() === '' ? rejection(refused, run) : null;
}

/** The upstream's own words go to the log only, without what the caller wrote. */
function shownFault(error: unknown, { body }: ChatRun): unknown {
  if (!(error instanceof ReplyBroken) || error.error === null) return error;
  return new Error(redactInput(JSON.stringify(error.error), body));
}

/** How an unfinished reply is billed: as abandoned by the caller, or as broken off. */
function unfinishedEnd(run: ChatRun, { reason }: AbortSignal, reply: GatheredReply): DeliveryEnd {
  if (reason === callerLeft) return 'given_up';
  if (reason !== timeIsUp) return 'broken';
  // A caller who waited until the time limit and got nothing pays nothing.
  return !run.hasLeft() && reply.text() === '' ? 'broken' : 'given_up';
}

/** Reads the rest of a reply for its usage. The call's time limit aborts this too. */
async function readOn(
  events: AsyncIterator<ReplyEvent>,
  add: (event: ReplyEvent) => unknown,
): Promise<'complete' | 'broken' | 'oversized'> {
  try {
    for (let next = await events.next(); !next.done; next = await events.next()) add(next.value);
    return 'complete';
  } catch (error) {
    // The text that arrived before the error is billed.
    return isOversized(error) ? 'oversized' : 'broken';
  }
}

function isOversized(error: unknown): boolean {
  return error instanceof FetchError && error.kind === 'too_large';
}

async function refused(
  run: RoutedRun,
  deps: ChatDeps,
  outcome: ChatOutcome,
  { reason }: AbortSignal,
): Promise<ApiError> {
  const end = billedEnd(run, outcome, reason);
  if (end !== null) {
    await settle(run, deps, gatherReply(), end);
    if (end === 'oversized') return new ApiError('submit_failed', { cause: outcome, ...oversized });
    return unanswered(reason, deps);
  }
  const message = 'message' in outcome ? outcome.message : `answered with a ${outcome.outcome}`;
  const told = outcome.outcome === 'unknown' ? (outcome.told ?? null) : null;
  const code = failureOf(outcome, told !== null);
  await deps.operations.end({
    ...endOf(run),
    to: 'FAILED',
    code,
    message: publicText(outcome),
    cost_usd_micro: told && costOf(run, told, null),
    cause: redactInput(message, run.body),
  });
  if (outcome.outcome === 'rejected') return rejection(outcome, run);
  if (outcome.outcome === 'not_accepted') {
    if (outcome.refusal) return outcome.refusal;
    const seconds = Math.min(60, Math.max(1, Math.ceil((outcome.retry_after_ms ?? 1000) / 1000)));
    return new ApiError('capacity_unavailable', {
      headers: { 'retry-after': String(seconds) },
      cause: message,
    });
  }
  return unanswered(message, deps);
}

function rejection(
  { message, unasked, param, refusal }: Omit<Rejection, 'outcome'>,
  { call }: ChatRun,
): ApiError {
  if (refusal?.reason === 'messages_too_long')
    return tooLong(refusal.window, listOf(call.conversation));
  const said = message.slice(0, 500);
  return new ApiError(param === undefined ? 'invalid_input' : 'bad_messages', {
    message: `${unasked ? '' : 'The model refused the input: '}${said}`,
    reason: refusal?.reason ?? 'model_refused',
    param: param ?? refusal?.param ?? undefined,
    details: { said },
    cause: message,
  });
}

function failureOf({ outcome }: ChatOutcome, wasAnswered: boolean) {
  if (outcome === 'rejected') return 'upstream_rejected';
  return outcome === 'not_accepted' || wasAnswered ? 'upstream_failed' : 'outcome_unknown';
}

const oversized = {
  message:
    'The reply is larger than this server accepts. The model had written all of it, so it was charged in full. Ask for fewer log probabilities, or for fewer tokens.',
  reason: 'reply_too_large',
} as const;

/**
 * How a call without a reply is billed, if an outside service bills the operator for it; otherwise
 * null.
 */
function billedEnd(
  { model, hasLeft }: RoutedRun,
  outcome: ChatOutcome,
  reason: unknown,
): 'given_up' | 'oversized' | null {
  // Nobody bills a call that was not sent or not accepted.
  if (model.on_disconnect !== 'finish' || outcome.outcome !== 'unknown') return null;
  if (outcome.answer === 'oversized') return 'oversized';
  const isLeft = reason === callerLeft || (reason === timeIsUp && hasLeft());
  // If the caller did not end the call, the operator bears its cost.
  return isLeft ? 'given_up' : null;
}

function publicText(outcome: ChatOutcome): string {
  if (outcome === unsent) return 'The call ended before the model was called.';
  if (outcome.outcome === 'rejected') return outcome.message;
  return outcome.outcome === 'not_accepted'
    ? 'The model had no capacity.'
    : 'The model gave no answer.';
}

/** Ends the request with its charge, or releases it. */
async function settle(
  run: RoutedRun,
  deps: ChatDeps,
  reply: GatheredReply,
  end: DeliveryEnd,
  refusal: ApiError | null = null,
): Promise<Settled> {
  const { conversation, stream } = run.call;
  const said = { prompt: { ...conversation, files: run.files }, stream };
  const bill = chargeableUsage(said, run.max_tokens, run.model, { reply, end });
  const told = toldUsage({ reply, end }, stream);
  const base = endOf(run);
  if (bill === null) {
    const ended = await deps.operations.end({
      ...base,
      to: 'FAILED',
      code: refusal ? 'upstream_rejected' : 'upstream_failed',
      message: refusal?.message ?? 'The model ended before any output.',
      cost_usd_micro: costOf(run, told, null),
    });
    const usage = usageOf(told, { prompt_tokens: 0, completion_tokens: 0 }, 0n);
    return { charge: 0n, usage, failed: true, released: false, ended, refusal };
  }
  const { prompt_tokens, completion_tokens, ...cacheUse } = bill;
  const amount = charge(run.quote, {
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
    ...cacheUse,
  });
  const usage = usageOf(told, bill, amount);
  const ended = await deps.operations.end({
    ...base,
    to: 'COMPLETED',
    charge: amount,
    output: run.keep ? kept(run, reply, usage) : detailsOf(usage),
    outputs: [],
    quantity: (prompt_tokens + completion_tokens) / 1e6,
    tokens: tokensIn(usage),
    cost_usd_micro: costOf(run, told, bill),
    ttl_seconds: 0,
  });
  if (ended) return { charge: amount, usage, failed: false, released: false, ended, refusal };
  const free = usageOf(told, bill, 0n);
  return { charge: 0n, usage: free, failed: false, released: true, ended, refusal };
}

/** A reply as it is stored: a chat completion, whatever the caller's API. */
function kept(run: ChatRun, reply: GatheredReply, usage: Json): Json {
  const { request_id, created, model } = run;
  const now = () => created;
  const answering = { request_id, created, now, model: model.id, body: {}, stream: false };
  const writer = completionsWriter(answering);
  reply.events().forEach(writer.add);
  return writer.whole(usage);
}

/**
 * The cost that the upstream states. If it states none or 0, and the route has a cost: the route's
 * cost of the billed tokens or, if nothing is billed, of the tokens that the upstream reports.
 */
function costOf({ route }: RoutedRun, told: Json | null, bill: Bill | null): bigint | null {
  const stated = costInUsage(told ?? {});
  if (stated !== null && stated > 0n) return stated;
  const used = bill ?? (told && readUsage(told));
  if (used === null) return stated;
  return chatCost(route, { ...used, prompt_tokens: used.prompt_tokens ?? 0 }) ?? stated;
}

function endOf({ request_id: id, account_id, key_id, model, route }: RoutedRun) {
  const { upstream } = route;
  return { id, attempt: 1, account_id, key_id, model_id: model.id, upstream, opens_job: false };
}
