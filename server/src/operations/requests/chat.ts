import {
  chargeableUsage,
  type Bill,
  type ChatDelivery,
  type DeliveryEnd,
} from '../../core/chat/chat-bill.ts';
import {
  deliveredText,
  finished,
  gatherChunks,
  isUnfinished,
  usageOf,
  withCallTypes,
  type CompletionIdentity,
  type Gatherer,
} from '../../core/chat/completion.ts';
import { tokensOf } from '../../core/chat/token-counts.ts';
import { withoutMoney } from '../../core/chat/usage.ts';
import { ApiError } from '../../core/errors.ts';
import { chatCost, costInUsage } from '../../core/price/cost.ts';
import { charge } from '../../core/price/price.ts';
import { redactInput } from '../../core/request/redact.ts';
import { FetchError } from '../../lib/outbound/fetch.ts';
import type { ChatOutcome } from '../../upstreams/upstream.ts';
import type { Operations } from './batched.ts';
import {
  callRoutes,
  leftBefore,
  type ChatCallDeps,
  type ChatRun,
  type RoutedRun,
} from './chat-call.ts';
import { objectOf, type Json } from '../../lib/json.ts';

/**
 * Runs a chat call after its reservation: calls the upstream and settles. Every outcome ends in
 * exactly one charge or release. If this process dies first, a worker finds the request's row due
 * and releases the reservation.
 */

export interface ChatDeps extends ChatCallDeps {
  operations: Pick<Operations, 'end'>;
}

/** Abort reason: the caller has left, and the rest of the reply is not read. */
export class CallerLeft extends Error {
  constructor() {
    super('the caller has left');
    this.name = 'CallerLeft';
  }
}

/** Abort reason: the call has run for as long as its catalog row allows. */
export class TimeIsUp extends Error {
  constructor() {
    super('the time for this call is up');
    this.name = 'TimeIsUp';
  }
}

/** Made once: an abort without a reason makes an error with a stack for each stream. */
const streamEnded = new Error('the stream has ended');

export interface SettledChat {
  charge: bigint;
  /** With the tokens and cost that were charged. */
  completion: Json;
  /** True if the reply broke off before any output, and the reservation was released. */
  failed: boolean;
  /** True if a worker had already released the reservation, so nothing was charged. */
  released: boolean;
}

/**
 * Calls the model for a reply in one piece. Without a reply it ends the request and throws an
 * ApiError. After an abort with `CallerLeft` it bills the usage of a reply that still arrives, or
 * the usage that an outside service bills without a reply.
 */
export async function reply(
  wanted: ChatRun,
  deps: ChatDeps,
  signal: AbortSignal,
): Promise<SettledChat> {
  const { outcome, run } = await callRoutes(wanted, deps, false, signal);
  if (outcome.outcome !== 'reply') throw await refused(run, deps, outcome, signal);
  const { object: _object, error = null, ...rest } = outcome.reply;
  const isLeft = signal.reason instanceof CallerLeft;
  // A caller who has left gets no part of the reply.
  const said = isLeft ? { ...rest, choices: [] } : withCallTypes(rest);
  const completion = { ...said, ...identity(run), object: 'chat.completion' };
  const end = error !== null ? 'broken' : isLeft ? 'given_up' : 'complete';
  const settled = await settle(run, deps, { completion, end });
  if (settled.failed) throw new ApiError('submit_failed', { cause: error ?? 'finished in error' });
  return settled;
}

/**
 * A streamed call. Chunks are passed on as the upstream sends them, under our id and model name and
 * without the upstream's usage. The generator settles when it ends; from then on `settled` returns
 * the completion and the charge. If the reader stops early and the catalog row has
 * `on_disconnect: finish`, the rest of the stream is read first, to get its usage.
 */
export interface ChatStream {
  chunks: AsyncGenerator<Json>;
  settled: () => SettledChat | null;
}

/**
 * Calls the model for a stream. If the upstream does not begin one, the request is ended and an
 * ApiError is thrown.
 */
export async function stream(
  wanted: ChatRun,
  deps: ChatDeps,
  abort: AbortController,
): Promise<ChatStream> {
  const { outcome, run } = await callRoutes(wanted, deps, true, abort.signal);
  if (outcome.outcome !== 'stream') throw await refused(run, deps, outcome, abort.signal);
  let settled: SettledChat | null = null;
  return {
    chunks: forward(outcome.chunks, run, deps, abort, (s) => (settled = s)),
    settled: () => settled,
  };
}

async function* forward(
  source: AsyncIterable<Json>,
  run: RoutedRun,
  deps: ChatDeps,
  abort: AbortController,
  done: (settled: SettledChat) => void,
): AsyncGenerator<Json> {
  const gatherer = gatherChunks(identity(run));
  const chunks = source[Symbol.asyncIterator]();
  let offered: Json | null = null;
  /** Null if the reader stopped early. */
  let end: DeliveryEnd | null = null;
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done) break;
      offered = next.value;
      // The upstream's own error object is not shown to the caller.
      if (hasBroken(offered, gatherer))
        throw new Error(redactInput(JSON.stringify(offered.error), run.chat.body));
      const { usage: _usage, ...chunk } = offered;
      const empty = Array.isArray(chunk.choices) && chunk.choices.length === 0;
      if (!empty) yield { ...chunk, ...identity(run), object: 'chat.completion.chunk' };
      // Added only after the yield: a caller who has left meanwhile did not get this chunk.
      gatherer.add(offered);
    }
    end = 'complete';
    if (isUnfinished(gatherer.completion())) yield { ...lastChunk, ...identity(run) };
  } catch (error) {
    end = isOversized(error) ? 'oversized' : unfinishedEnd(run, abort.signal, gatherer);
    if (end === 'broken' && !abort.signal.aborted) deps.circuit.streamBroke(run.route.upstream);
    throw error;
  } finally {
    if (end === null && !abort.signal.aborted && run.model.on_disconnect === 'finish') {
      gatherer.add(offered);
      end = await readOn(chunks, gatherer);
      if (end === 'broken') end = unfinishedEnd(run, abort.signal, gatherer);
    }
    end ??= abort.signal.aborted ? unfinishedEnd(run, abort.signal, gatherer) : 'given_up';
    abort.abort(streamEnded);
    await chunks.return?.().then(undefined, () => {});
    const completion = { ...gatherer.completion(end === 'complete'), ...identity(run) };
    done(await settle(run, deps, { completion, end }, end === 'complete'));
  }
}

/** How an unfinished stream is billed: as abandoned by the caller, or as broken off. */
function unfinishedEnd(run: ChatRun, { reason }: AbortSignal, gatherer: Gatherer): DeliveryEnd {
  if (reason instanceof CallerLeft) return 'given_up';
  if (!(reason instanceof TimeIsUp)) return 'broken';
  // A caller who waited until the time limit and got nothing pays nothing.
  const isInVain = !run.hasLeft() && deliveredText(gatherer.completion()) === '';
  return isInVain ? 'broken' : 'given_up';
}

/** Sent when the upstream ends a stream without a finish reason. */
const lastChunk: Json = {
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }],
};

/** True if the chunk reports an upstream error; then only its usage is kept. */
function hasBroken({ error = null, usage }: Json, gatherer: Pick<Gatherer, 'add'>): boolean {
  if (error === null) return false;
  gatherer.add({ usage });
  return true;
}

/** Reads the rest of a stream for its usage. The call's time limit aborts this too. */
async function readOn(
  chunks: AsyncIterator<Json>,
  gatherer: Pick<Gatherer, 'add'>,
): Promise<'complete' | 'broken' | 'oversized'> {
  try {
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      if (hasBroken(next.value, gatherer)) return 'broken';
      gatherer.add(next.value);
    }
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
    const completion = { ...identity(run), object: 'chat.completion', choices: [] };
    await settle(run, deps, { completion, end });
    const cause = end === 'oversized' ? outcome : reason;
    return new ApiError('submit_failed', { cause, ...(end === 'oversized' && oversized) });
  }
  const message = 'message' in outcome ? outcome.message : `answered with a ${outcome.outcome}`;
  const code =
    outcome.outcome === 'rejected'
      ? ('upstream_rejected' as const)
      : outcome.outcome === 'not_accepted'
        ? ('upstream_failed' as const)
        : ('outcome_unknown' as const);
  await deps.operations.end({
    ...endOf(run),
    to: 'FAILED',
    code,
    message: publicText(outcome),
    cost_usd_micro: null,
    cause: redactInput(message, run.chat.body),
  });
  if (outcome.outcome === 'rejected') {
    const { unasked, param } = outcome;
    const said = outcome.message.slice(0, 500);
    return new ApiError(param === undefined ? 'invalid_input' : 'bad_messages', {
      message: `${unasked ? '' : 'The model refused the input: '}${said}`,
      reason: 'model_refused',
      param,
      details: { said },
      cause: message,
    });
  }
  if (outcome.outcome === 'not_accepted') {
    if (outcome.refusal) return outcome.refusal;
    const seconds = Math.min(60, Math.max(1, Math.ceil((outcome.retry_after_ms ?? 1000) / 1000)));
    return new ApiError('capacity_unavailable', {
      headers: { 'retry-after': String(seconds) },
      cause: message,
    });
  }
  return new ApiError('submit_failed', { cause: message });
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
  const isLeft = reason instanceof CallerLeft || (reason instanceof TimeIsUp && hasLeft());
  // If the caller did not end the call, the operator bears its cost.
  return isLeft ? 'given_up' : null;
}

function publicText(outcome: ChatOutcome): string {
  if (outcome === leftBefore) return 'The caller left before the model was called.';
  if (outcome.outcome === 'rejected') return outcome.message;
  return outcome.outcome === 'not_accepted'
    ? 'The model had no capacity.'
    : 'The model gave no answer.';
}

/** Ends the request with its charge, or releases it. `ended`: the stream came to a regular end. */
async function settle(
  run: RoutedRun,
  deps: ChatDeps,
  delivered: ChatDelivery,
  ended = false,
): Promise<SettledChat> {
  const { body, stream } = run.chat;
  const said = { body, files: run.files, stream };
  const bill = chargeableUsage(said, run.max_tokens, run.model, delivered);
  const whole = ended ? finished(delivered.completion) : delivered.completion;
  const base = endOf(run);
  if (bill === null) {
    const message = 'The model ended before any output.';
    await deps.operations.end({
      ...base,
      to: 'FAILED',
      code: 'upstream_failed',
      message,
      cost_usd_micro: costOf(run, delivered.completion, null),
    });
    const completion = withUsage(whole, { prompt_tokens: 0, completion_tokens: 0 }, 0n);
    return { charge: 0n, completion, failed: true, released: false };
  }
  const { prompt_tokens, completion_tokens, ...cacheUse } = bill;
  const amount = charge(run.quote, {
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
    ...cacheUse,
  });
  const completion = withUsage(whole, bill, amount);
  const settled = await deps.operations.end({
    ...base,
    to: 'COMPLETED',
    charge: amount,
    output: run.keep ? completion : detailsOf(completion),
    outputs: [],
    quantity: (prompt_tokens + completion_tokens) / 1e6,
    tokens: tokensOf(completion),
    cost_usd_micro: costOf(run, delivered.completion, bill),
    ttl_seconds: 0,
  });
  if (settled) return { charge: amount, completion, failed: false, released: false };
  const free = withUsage(whole, bill, 0n);
  return { charge: 0n, completion: free, failed: false, released: true };
}

/**
 * The cost that the upstream states. If it states none or 0, and the route has a cost: the route's
 * cost of the billed tokens or, if nothing is billed, of the tokens that the upstream reports.
 */
function costOf({ route }: RoutedRun, completion: Json, bill: Bill | null): bigint | null {
  const stated = costInUsage(objectOf(completion.usage));
  if (stated !== null && stated > 0n) return stated;
  const used = bill ?? usageOf(completion);
  if (used === null) return stated;
  return chatCost(route, { ...used, prompt_tokens: used.prompt_tokens ?? 0 }) ?? stated;
}

/** Fields of a usage that the stored token counts and the charge contain already. */
const counted = new Set(['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost_usd_micro']);

/** The stored output of a reply that is not kept: its usage, if that has more than the counts. */
function detailsOf({ usage }: Json): Json | null {
  return Object.keys(objectOf(usage)).every((name) => counted.has(name)) ? null : { usage };
}

/**
 * Sets our tokens and cost. Other details of the upstream's usage stay, such as the kinds of
 * tokens, but no fields about money.
 */
function withUsage(completion: Json, bill: Bill, cost: bigint): Json {
  const said = usageOf(completion) === null ? {} : objectOf(withoutMoney(completion.usage));
  const { prompt_tokens, completion_tokens, cached_tokens = 0, cache_write_tokens = 0 } = bill;
  const cacheUse = {
    ...(cached_tokens > 0 && { cached_tokens }),
    ...(cache_write_tokens > 0 && { cache_write_tokens }),
  };
  const usage = {
    ...said,
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...(cached_tokens + cache_write_tokens > 0 && {
      prompt_tokens_details: { ...objectOf(said.prompt_tokens_details), ...cacheUse },
    }),
    cost_usd_micro: String(cost),
  };
  return { ...completion, usage };
}

/** The identity of the reply, which its upstream does not choose. */
export function identity(run: ChatRun): CompletionIdentity {
  return { id: `chatcmpl-${run.request_id}`, created: run.created, model: run.model.id };
}

function endOf({ request_id: id, account_id, key_id, model, route }: RoutedRun) {
  const { upstream } = route;
  return { id, attempt: 1, account_id, key_id, model_id: model.id, upstream, opens_job: false };
}
