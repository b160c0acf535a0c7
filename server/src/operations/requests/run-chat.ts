import { completionsWriter } from '../../core/apis/completions/write-reply.ts';
import { ReplyBroken } from '../../core/apis/read-reply.ts';
import * as bills from '../../core/chat/chat-bill.ts';
import { listOf } from '../../core/chat/chat-media.ts';
import { gatherReply, type GatheredReply, type ReplyEvent } from '../../core/chat/reply.ts';
import { tooLong, wordsForCaller } from '../../core/chat/refusal.ts';
import { readUsage, type Usage } from '../../core/chat/usage.ts';
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
  notSent,
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

type SettledChat = Omit<ChatEnd, 'broken'>;

/** Why a reply broke off. */
export type Break = 'time_was_up' | 'server_stopped' | 'model_broke_off';

/** A reply that begins. */
export interface BegunReply {
  /** The caller's names of what the model was not told. */
  ignored: string[];
  /** The usage that the upstream told before the reply began. */
  reportedUsage: Usage | null;
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

type ReaderOpener<T> = (begun: BegunReply) => Reader<T> | Promise<Reader<T>>;

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
  open: ReaderOpener<T>,
): Promise<T> {
  const abort = new AbortController();
  const abortCall = () => abort.abort();
  if (deps.cutoff.aborted) abortCall();
  const { model, keep, call, account_id } = wanted;
  const limit = setTimeout(() => abort.abort(timeIsUp), model.job_age_seconds * 1000 - 1_000);
  limit.unref();
  deps.cutoff.addEventListener('abort', abortCall);
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
    if (outcome.outcome !== 'reply') throw await endRefused(run, deps, outcome, abort.signal);
    if (call.stream) deps.circuit.streamBegan(run.route.upstream, run.request_id);
    return await passOn(outcome, run, deps, abort, open);
  } finally {
    clearTimeout(limit);
    stopWaiting();
    if (draining) deps.drains.give(account_id, 1);
    deps.cutoff.removeEventListener('abort', abortCall);
  }
}

/** The error of a call without an answer. */
export function noAnswer(cause: unknown, { cutoff }: Pick<ChatDeps, 'cutoff'>): ApiError {
  const message =
    'This server stopped before the model had answered. Nothing was charged; send the request again.';
  return new ApiError('submit_failed', { cause, ...(cutoff.aborted && { message }) });
}

/** Settles in any case, also if the reader fails. */
async function passOn<T>(
  { events, reportedUsage, ignored = [] }: Extract<ChatOutcome, { outcome: 'reply' }>,
  run: RoutedRun,
  deps: ChatDeps,
  abort: AbortController,
  open: ReaderOpener<T>,
): Promise<T> {
  const { signal } = abort;
  let settled: SettledChat | null = null;
  const names = [...new Set([...run.call.ignored, ...ignored])];
  const endedAt = () => settled?.ended ?? null;
  const openReader = async () => open({ ignored: names, reportedUsage, ended: endedAt, signal });
  const reader = await openReader().catch((error: unknown): Reader<T> => {
    const fail = () => Promise.reject<T>(error as Error);
    return { take: () => false, end: fail, fail };
  });
  const { reply, end, refusal, error } = await readEvents(events, run, deps, abort, reader.take);
  try {
    settled = await settle(run, deps, reply, end, refusal);
  } catch (unwritten) {
    return reader.fail(unwritten);
  }
  const broken = error === null ? null : { error, why: breakOf(signal, deps) };
  return reader.end({ ...settled, broken });
}

function breakOf({ reason }: AbortSignal, { cutoff }: ChatDeps): Break {
  if (reason === timeIsUp) return 'time_was_up';
  return cutoff.aborted ? 'server_stopped' : 'model_broke_off';
}

interface ReadReply {
  reply: GatheredReply;
  end: bills.DeliveryEnd;
  refusal: ApiError | null;
  /** Why the reader did not get all of it; null: it did, or has left. */
  error: unknown;
}

/** Reads a reply to its end, or for as long as it is worth it. */
async function readEvents(
  source: AsyncIterable<ReplyEvent>,
  run: RoutedRun,
  deps: ChatDeps,
  abort: AbortController,
  take: Reader<unknown>['take'],
): Promise<ReadReply> {
  const { signal } = abort;
  const read: ReadReply = { reply: gatherReply(), end: 'complete', refusal: null, error: null };
  const events = source[Symbol.asyncIterator]();
  // A caller who has left gets no part of a reply that comes whole.
  const hasLeft = !run.call.stream && signal.reason === callerLeft;
  let isTaken = !hasLeft;
  try {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const event = next.value;
      if (isTaken) {
        isTaken = await deliver(event, take, read, signal);
        if (!isTaken) read.end = unreadEnd(run, signal, read.reply);
        if (read.end !== 'complete') break;
      }
      // Added only now: a caller who has left meanwhile did not get this piece.
      if (!hasLeft || event.type === 'usage') read.reply.add(event);
    }
  } catch (thrown) {
    // The text that arrived before the error is billed.
    read.end = isOversized(thrown) ? 'oversized' : unfinishedEnd(run, signal, read.reply);
    if (isTaken) blame(thrown, run, deps, signal, read);
  }
  if (hasLeft) read.end = 'abandoned';
  if (read.end !== 'complete') abort.abort(streamEnded);
  await events.return?.().then(undefined, () => {});
  return read;
}

/** False: nobody reads on. */
async function deliver(
  event: ReplyEvent,
  take: Reader<unknown>['take'],
  read: ReadReply,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (await take(event)) return true;
  } catch (error) {
    read.error = error;
  }
  if (signal.aborted) read.error ??= signal.reason;
  return false;
}

/** Notes why a reply broke off while somebody read it. */
function blame(
  error: unknown,
  run: RoutedRun,
  { circuit }: ChatDeps,
  signal: AbortSignal,
  read: ReadReply,
): void {
  read.refusal = lateRefusal(error, run, read.reply);
  if (read.end === 'broken' && read.refusal === null && !signal.aborted)
    circuit.streamBroke(run.route.upstream);
  // The upstream's own words go to the log only, without what the caller wrote.
  const isOwn = error instanceof ReplyBroken && error.error !== null;
  read.error = isOwn ? new Error(redactInput(JSON.stringify(error.error), run.body)) : error;
}

/** A refusal after the reply began. After its first words, agents act on a too long prompt only. */
function lateRefusal(error: unknown, run: ChatRun, reply: GatheredReply): ApiError | null {
  const refused = error instanceof ReplyBroken ? error.refused : null;
  if (refused === null) return null;
  const isTooLong = refused.refusal.reason === 'messages_too_long';
  return isTooLong || reply.text() === '' ? rejection(refused, run) : null;
}

/** The end of a reply that nobody reads on. An outside service bills it, so its usage is read. */
function unreadEnd(run: ChatRun, signal: AbortSignal, reply: GatheredReply): bills.DeliveryEnd {
  if (signal.aborted) return unfinishedEnd(run, signal, reply);
  return run.model.on_disconnect === 'finish' ? 'complete' : 'abandoned';
}

/** How an unfinished reply is billed: as abandoned by the caller, or as broken off. */
function unfinishedEnd(
  run: ChatRun,
  { reason }: AbortSignal,
  reply: GatheredReply,
): bills.DeliveryEnd {
  if (reason === callerLeft) return 'abandoned';
  if (reason !== timeIsUp) return 'broken';
  // A caller who waited until the time limit and got nothing pays nothing.
  return !run.hasLeft() && reply.text() === '' ? 'broken' : 'abandoned';
}

function isOversized(error: unknown): boolean {
  return error instanceof FetchError && error.kind === 'too_large';
}

async function endRefused(
  run: RoutedRun,
  deps: ChatDeps,
  outcome: ChatOutcome,
  { reason }: AbortSignal,
): Promise<ApiError> {
  const end = billedEnd(run, outcome, reason);
  if (end !== null) {
    await settle(run, deps, gatherReply(), end);
    if (end === 'oversized') return new ApiError('submit_failed', { cause: outcome, ...oversized });
    return noAnswer(reason, deps);
  }
  const message = 'message' in outcome ? outcome.message : `answered with a ${outcome.outcome}`;
  const reportedUsage = outcome.outcome === 'unknown' ? (outcome.reportedUsage ?? null) : null;
  const isLost = outcome.outcome === 'unknown' && reportedUsage === null;
  const isRejected = outcome.outcome === 'rejected';
  await deps.operations.end({
    ...endOf(run),
    to: 'FAILED',
    code: isRejected ? 'upstream_rejected' : isLost ? 'outcome_unknown' : 'upstream_failed',
    message: publicText(outcome),
    cost_usd_micro: reportedUsage && costOf(run, reportedUsage, null),
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
  return noAnswer(message, deps);
}

function rejection(
  { message, unasked, param, refusal }: Omit<Rejection, 'outcome'>,
  { call }: ChatRun,
): ApiError {
  if (refusal?.reason === 'messages_too_long')
    return tooLong(refusal.window, listOf(call.conversation));
  const said = wordsForCaller(message);
  return new ApiError(param === undefined ? 'invalid_input' : 'bad_messages', {
    message: `${unasked ? '' : 'The model refused the input: '}${said}`,
    reason: refusal?.reason ?? 'model_refused',
    param: param ?? refusal?.param ?? undefined,
    details: { said },
    cause: message,
  });
}

const oversized = {
  message:
    'The reply is larger than this server accepts. The model had written all of it, so it was charged in full. Ask for fewer log probabilities, or for fewer tokens.',
  reason: 'reply_too_large',
} as const;

/** How an outside service bills a call without a reply; null: it does not. */
function billedEnd(
  { model, hasLeft }: RoutedRun,
  outcome: ChatOutcome,
  reason: unknown,
): 'abandoned' | 'oversized' | null {
  // Nobody bills a call that was not sent or not accepted.
  if (model.on_disconnect !== 'finish' || outcome.outcome !== 'unknown') return null;
  if (outcome.answer === 'oversized') return 'oversized';
  const callerIsGone = reason === callerLeft || (reason === timeIsUp && hasLeft());
  // If the caller did not end the call, the operator bears its cost.
  return callerIsGone ? 'abandoned' : null;
}

function publicText(outcome: ChatOutcome): string {
  if (outcome === notSent) return 'The call ended before the model was called.';
  if (outcome.outcome === 'rejected') return wordsForCaller(outcome.message);
  const isRefused = outcome.outcome === 'not_accepted';
  return isRefused ? 'The model had no capacity.' : 'The model gave no answer.';
}

/** Ends the request with its charge, or releases it. */
async function settle(
  run: RoutedRun,
  deps: ChatDeps,
  reply: GatheredReply,
  end: bills.DeliveryEnd,
  refusal: ApiError | null = null,
): Promise<SettledChat> {
  const { conversation, stream } = run.call;
  const said = { prompt: { ...conversation, files: run.files }, stream };
  const bill = bills.chargeableUsage(said, run.max_tokens, run.model, { reply, end });
  const reportedUsage = bills.reportedUsageOf({ reply, end }, stream);
  const { prompt_tokens, completion_tokens, ...cacheUse } = bill ?? nothing;
  const tokens = { input_tokens: prompt_tokens, output_tokens: completion_tokens, ...cacheUse };
  const amount = bill === null ? 0n : charge(run.quote, tokens);
  const usage = bills.usageOf(reportedUsage, bill ?? nothing, amount);
  const base = { ...endOf(run), cost_usd_micro: costOf(run, reportedUsage, bill) };
  if (bill === null) {
    const code = refusal ? 'upstream_rejected' : 'upstream_failed';
    const message = refusal?.message ?? 'The model ended before any output.';
    const ended = await deps.operations.end({ ...base, to: 'FAILED', code, message });
    return { charge: 0n, usage, failed: true, released: false, ended, refusal };
  }
  const ended = await deps.operations.end({
    ...base,
    to: 'COMPLETED',
    charge: amount,
    output: run.keep ? storedReply(run, reply, usage) : bills.detailsOf(usage),
    outputs: [],
    quantity: (prompt_tokens + completion_tokens) / 1e6,
    tokens: bills.tokensIn(usage),
    ttl_seconds: 0,
  });
  const settled = { failed: false, released: ended === null, ended, refusal };
  if (ended) return { ...settled, charge: amount, usage };
  return { ...settled, charge: 0n, usage: bills.usageOf(reportedUsage, bill, 0n) };
}

const nothing: bills.TokenBill = { prompt_tokens: 0, completion_tokens: 0 };

/** A reply as it is stored: a chat completion, whatever the caller's API. */
function storedReply(run: ChatRun, reply: GatheredReply, usage: Json): Json {
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
function costOf(
  { route }: RoutedRun,
  reportedUsage: Usage | null,
  bill: bills.TokenBill | null,
): bigint | null {
  const stated = costInUsage(reportedUsage ?? {});
  if (stated !== null && stated > 0n) return stated;
  const used = bill ?? (reportedUsage && readUsage(reportedUsage));
  if (used === null) return stated;
  return chatCost(route, { ...used, prompt_tokens: used.prompt_tokens ?? 0 }) ?? stated;
}

function endOf({ request_id: id, account_id, key_id, model, route }: RoutedRun) {
  const { upstream } = route;
  return { id, attempt: 1, account_id, key_id, model_id: model.id, upstream, opens_job: false };
}
