import { chargeableUsage, type ChatDelivery, type DeliveryEnd } from '../../core/chat/chat-bill.ts';
import {
  deliveredText,
  finished,
  gatherChunks,
  isUnfinished,
  usageOf,
  withCallTypes,
  type Gatherer,
} from '../../core/chat/completion.ts';
import { ApiError } from '../../core/errors.ts';
import { chatCost, statedCost } from '../../core/price/cost.ts';
import { charge } from '../../core/price/price.ts';
import { redactInput } from '../../core/request/redact.ts';
import { FetchError } from '../../lib/outbound/fetch.ts';
import type { Json } from '../../lib/json.ts';
import type { ChatOutcome } from '../../upstreams/upstream.ts';
import type { Operations } from './batched.ts';
import {
  callRoutes,
  leftBefore,
  type ChatCallDeps,
  type ChatRun,
  type RoutedRun,
} from './chat-call.ts';
import { fromJson, objectOf } from '../../lib/json.ts';

/**
 * A chat call after its reservation: calls the upstream and settles. Every way out ends in exactly
 * one charge or release; if this process dies before that, the request's row is due and released.
 */

export interface ChatDeps extends ChatCallDeps {
  operations: Pick<Operations, 'end'>;
}

/** Abort reason: the caller left, and nobody reads the reply on. */
export class CallerLeft extends Error {
  constructor() {
    super('the caller has left');
    this.name = 'CallerLeft';
  }
}

/** Abort reason: the call ran as long as its row allows. */
export class TimeIsUp extends Error {
  constructor() {
    super('the time for this call is up');
    this.name = 'TimeIsUp';
  }
}

export interface SettledChat {
  charge: bigint;
  /** With the tokens and the cost that were charged. */
  completion: Json;
  /** It broke off before any output and was released. */
  failed: boolean;
  /** A worker had released the reservation before, so nothing is charged. */
  released: boolean;
}

/**
 * Calls for a whole reply. Throws an ApiError after the reservation is released. If it is aborted
 * with `CallerLeft`, at most the usage of a reply that came all the same is billed.
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
  // A caller who left gets none of the reply.
  const said = isLeft ? { ...rest, choices: [] } : withCallTypes(rest);
  const completion = { ...said, ...identity(run), object: 'chat.completion' };
  const end = error !== null ? 'broken' : isLeft ? 'given_up' : 'complete';
  const settled = await settle(run, deps, { completion, end });
  if (settled.failed) throw new ApiError('submit_failed', { cause: error ?? 'finished in error' });
  return settled;
}

/**
 * Calls for a stream. Chunks are passed on as the upstream sends them, under our names and without
 * its usage. The generator settles at its end; `settled` then returns the completion and the
 * charge. If its reader stops early, a row with `on_disconnect: finish` is read on to its usage
 * first.
 */
export interface ChatStream {
  chunks: AsyncGenerator<Json>;
  settled: () => SettledChat | null;
}

/**
 * Throws an ApiError after the reservation is released, if the upstream does not begin a stream.
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
  /** Null: the reader stopped. */
  let end: DeliveryEnd | null = null;
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done) break;
      offered = next.value;
      // An upstream's own error object is not for the caller.
      if (hasBroken(offered, gatherer)) throw new Error(JSON.stringify(offered.error));
      const { usage: _usage, ...chunk } = offered;
      const empty = Array.isArray(chunk.choices) && chunk.choices.length === 0;
      if (!empty) yield { ...chunk, ...identity(run), object: 'chat.completion.chunk' };
      // Only now: a caller who left meanwhile did not get this chunk.
      gatherer.add(offered);
    }
    end = 'complete';
    if (isUnfinished(gatherer.completion())) yield { ...lastChunk, ...identity(run) };
  } catch (error) {
    end = isOversized(error) ? 'oversized' : unfinishedEnd(run, abort.signal, gatherer);
    throw error;
  } finally {
    if (end === null && !abort.signal.aborted && run.model.on_disconnect === 'finish') {
      gatherer.add(offered);
      end = await readOn(chunks, gatherer);
      if (end === 'broken') end = unfinishedEnd(run, abort.signal, gatherer);
    }
    end ??= abort.signal.aborted ? unfinishedEnd(run, abort.signal, gatherer) : 'given_up';
    abort.abort();
    await chunks.return?.().then(undefined, () => {});
    const completion = { ...gatherer.completion(end === 'complete'), ...identity(run) };
    done(await settle(run, deps, { completion, end }, end === 'complete'));
  }
}

/** How a stream ended that did not reach its end. */
function unfinishedEnd(run: ChatRun, { reason }: AbortSignal, gatherer: Gatherer): DeliveryEnd {
  if (reason instanceof CallerLeft) return 'given_up';
  if (!(reason instanceof TimeIsUp)) return 'broken';
  // A caller who waited the whole time and got nothing pays nothing.
  const isInVain = !run.hasLeft() && deliveredText(gatherer.completion()) === '';
  return isInVain ? 'broken' : 'given_up';
}

/** For a stream that the upstream ends without a finish reason. */
const lastChunk: Json = {
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }],
};

/** True if the upstream reports an error. Only the usage of such a chunk counts. */
function hasBroken({ error = null, usage }: Json, gatherer: Pick<Gatherer, 'add'>): boolean {
  if (error === null) return false;
  gatherer.add({ usage });
  return true;
}

/** Reads until the usage has come. The row's job age bounds the time. */
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
    // The text before the fault is billed.
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
    'The reply is larger than this server takes. The model had written it, so it was charged whole. Ask for fewer log probabilities, or for fewer tokens.',
  reason: 'reply_too_large',
} as const;

/** How a call without a reply ended that an outside service bills all the same; otherwise null. */
function billedEnd(
  { model, hasLeft }: RoutedRun,
  outcome: ChatOutcome,
  reason: unknown,
): 'given_up' | 'oversized' | null {
  // A call that was not taken or not sent is billed by nobody.
  if (model.on_disconnect !== 'finish' || outcome.outcome !== 'unknown') return null;
  if (outcome.answer === 'oversized') return 'oversized';
  const isLeft = reason instanceof CallerLeft || (reason instanceof TimeIsUp && hasLeft());
  // Otherwise the upstream was not asked to stop, and the operator bears it.
  return isLeft ? 'given_up' : null;
}

function publicText(outcome: ChatOutcome): string {
  if (outcome === leftBefore) return 'The caller left before the model was called.';
  if (outcome.outcome === 'rejected') return outcome.message;
  return outcome.outcome === 'not_accepted'
    ? 'The model had no capacity.'
    : 'The model gave no answer.';
}

/** `ended`: the stream came to its end in order. */
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
    const message = 'The model broke off before any output.';
    await deps.operations.end({
      ...base,
      to: 'FAILED',
      code: 'upstream_failed',
      message,
      cost_usd_micro: statedCost(statedUsage(delivered.completion).cost),
    });
    const nothing = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const completion = withUsage(whole, nothing, 0n);
    return { charge: 0n, completion, failed: true, released: false };
  }
  const { prompt_tokens, completion_tokens } = bill;
  const amount = charge(run.quote, {
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
  });
  const tokens = { ...bill, total_tokens: prompt_tokens + completion_tokens };
  const completion = withUsage(whole, tokens, amount);
  const settled = await deps.operations.end({
    ...base,
    to: 'COMPLETED',
    charge: amount,
    // Without the reply, so that the card can show its tokens.
    output: run.keep ? completion : { usage: completion.usage },
    outputs: [],
    quantity: (prompt_tokens + completion_tokens) / 1e6,
    cost_usd_micro: statedCost(statedUsage(delivered.completion).cost) ?? chatCost(run.route, bill),
    ttl_seconds: 0,
  });
  if (settled) return { charge: amount, completion, failed: false, released: false };
  const free = withUsage(whole, tokens, 0n);
  return { charge: 0n, completion: free, failed: false, released: true };
}

const ofMoney = /cost|price|usd|credit|charge|balance|byok/i;

/** Removes what the upstream charges the operator, whatever it calls that. */
function statedUsage({ usage }: Json): { usage: Json; cost: unknown } {
  const said = objectOf(usage);
  const shown = JSON.stringify(said, (name, value) => (ofMoney.test(name) ? undefined : value));
  return { usage: fromJson<Json>(shown), cost: said.cost };
}

/** Other usage details of the upstream stay, for example the kinds of tokens. */
function withUsage(completion: Json, tokens: Json, cost: bigint): Json {
  const said = usageOf(completion) === null ? {} : statedUsage(completion).usage;
  return { ...completion, usage: { ...said, ...tokens, cost_usd_micro: String(cost) } };
}

function identity(run: ChatRun) {
  return { id: `chatcmpl-${run.request_id}`, created: run.created, model: run.model.id };
}

function endOf({ request_id: id, account_id, key_id, model, route }: RoutedRun) {
  const { upstream } = route;
  return { id, attempt: 1, account_id, key_id, model_id: model.id, upstream, opens_job: false };
}
