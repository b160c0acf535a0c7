import { hash } from 'node:crypto';
import type { Model, ModelUpstream } from '../../core/catalog/catalog.ts';
import type { ReadCall } from '../../core/apis/api.ts';
import type { Quote } from '../../core/price/price.ts';
import { redactInput } from '../../core/request/redact.ts';
import { nextTry } from '../../core/request/routing.ts';
import { insertLeft } from '../../db/requests/left-starts.ts';
import { countdown } from '../../lib/bounded.ts';
import type { Budget } from '../../lib/budget.ts';
import type { FairQueue } from '../../lib/fair-queue.ts';
import { canonicalJson, type Json } from '../../lib/json.ts';
import type { Connection } from '../../lib/sql/sql.ts';
import { besides, holdingInputs } from '../../upstreams/held-inputs.ts';
import { byKey } from '../../upstreams/keys.ts';
import type { ChatOutcome, InputFile, Upstream } from '../../upstreams/upstream.ts';
import type { Circuit } from '../upstreams/circuit.ts';

/** A chat call whose price has been reserved. */
export interface ChatRun {
  request_id: string;
  account_id: string;
  key_id: string;
  call: ReadCall;
  /** As received. */
  body: Json;
  model: Model;
  /** Stored files used in the conversation, by the value (id or link) that names them. */
  files: Record<string, InputFile>;
  /** In the order in which they are tried; never empty. */
  routes: readonly ModelUpstream[];
  quote: Quote;
  max_tokens: number;
  /** True: the reply is stored, so that a repeat of the call gets it. */
  keep: boolean;
  /** Whether someone still waits for the reply. */
  isAwaited: () => boolean;
  /** True once the caller has left. A stored reply can still be fetched. */
  hasLeft: () => boolean;
  /** Creation time shown in the reply, in unix seconds. */
  created: number;
}

export interface ChatCallDeps {
  db: Connection;
  upstreams: ReadonlyMap<string, Upstream>;
  circuit: Circuit;
  /** Bytes of callers' files in memory, by account. */
  inputBytes: Budget;
  /** Files that are measured, decoded or converted, by account. */
  decoding: FairQueue;
  log: Record<'debug' | 'warn', (fields: object, message: string) => void>;
}

/** The answer of the route that accepted the call, or of the last route tried. */
export interface ChatAnswer {
  outcome: ChatOutcome;
  run: RoutedRun;
}

/** A call with the route that accepted it, or with the last route tried. */
export interface RoutedRun extends ChatRun {
  route: ModelUpstream;
  /** The name of the upstream's key that was used; null if the upstream has only one key. */
  key: string | null;
}

/** The caller left, the time was up or this server stopped before anything was sent. */
export const notSent: ChatOutcome = {
  outcome: 'not_accepted',
  message: 'the call ended before anything was sent',
};

/**
 * Tries one route after the other, and at each route one key after the other, until one accepts the
 * call. After a lost answer, it tries the next route only if the catalog allows that, and first
 * records what the lost call may have cost.
 */
export async function callRoutes(
  wanted: ChatRun,
  deps: ChatCallDeps,
  streamed: boolean,
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const { request_id, body } = wanted;
  let called: ChatAnswer | undefined;
  let tries = 0;
  for (const route of wanted.routes) {
    for await (const key of yieldKeys(route, deps.circuit)) {
      const run = { ...wanted, route, key };
      if (signal.aborted || !wanted.isAwaited()) return called ?? { outcome: notSent, run };
      const began = performance.now();
      // vLLM refuses a second call by the number of one that it still works at.
      const number = tries++ === 0 ? request_id : `${request_id}-${tries}`;
      const outcome = await callRoute(run, deps, streamed, number, signal);
      called = { outcome, run };
      if (outcome.outcome !== 'not_accepted' && outcome.outcome !== 'unknown') {
        const isAnswer = outcome.outcome !== 'rejected' || !outcome.unasked;
        if (isAnswer) await deps.circuit.noteSuccess(pathOf(run), wanted.account_id, began);
        if (outcome.outcome === 'rejected' && outcome.lacking) break;
        return called;
      }
      // The failure of an aborted call says nothing about the upstream.
      if (signal.aborted) return called;
      const cause = await noteFailure(run, outcome, deps);
      const next = nextTry(outcome, route, route === wanted.routes.at(-1));
      if (next === 'nothing') return called;
      if (outcome.outcome === 'unknown') {
        const seconds = (performance.now() - began) / 1000;
        const request_hash = hash('sha256', canonicalJson({ model: route.model, body }), 'buffer');
        const left = { request_id, ...pathOf(run), request_hash, message: cause, seconds };
        // If the record of what this call may have cost is not written, no other route is called,
        // because this call may have been accepted.
        const written = insertLeft(deps.db, left).then(
          () => true,
          (err: unknown) => {
            deps.log.warn({ request_id, err }, 'a lost answer of a chat could not be recorded');
            return false;
          },
        );
        // guard: left-chat-is-written
        if (!(await written)) return called;
        called = undefined;
      }
      if (next === 'route') break;
    }
  }
  return called!;
}

/** The keys of a route, each once; only null if its upstream has a single one. */
async function* yieldKeys(route: ModelUpstream, circuit: Circuit): AsyncGenerator<string | null> {
  const used: string[] = [];
  for (;;) {
    const key = await circuit.keyFor(route, used);
    if (key === null && used.length > 0) return;
    yield key;
    if (key === null) return;
    used.push(key);
  }
}

function pathOf({ route: { upstream, model }, key }: RoutedRun) {
  return { upstream, model, key };
}

/**
 * Logs and counts a failed call; the database stores it only if its outcome is unknown. Returns the
 * cause without the caller's own words.
 */
async function noteFailure(
  run: RoutedRun,
  failed: Extract<ChatOutcome, { outcome: 'not_accepted' | 'unknown' }>,
  { circuit, log }: ChatCallDeps,
): Promise<string> {
  const { request_id, account_id, model, route, key } = run;
  const { outcome } = failed;
  const cause = redactInput(failed.message, run.body);
  const why = failed.outcome === 'unknown' ? undefined : failed.why;
  const called = { upstream: route.upstream, model: route.model, ...(key !== null && { key }) };
  log.debug({ request_id, model_id: model.id, ...called, outcome, why, cause }, 'start failed');
  const isUnasked = failed.outcome === 'not_accepted' && failed.unasked;
  if (!isUnasked)
    await circuit.noteFailure(pathOf(run), { ...failed, account_id, model_id: model.id, cause });
  return cause;
}

async function callRoute(
  run: RoutedRun,
  deps: ChatCallDeps,
  streamed: boolean,
  request_id: string,
  signal: AbortSignal,
): Promise<ChatOutcome> {
  const { call, max_tokens, route } = run;
  // Only streams have this limit: a reply in one piece arrives all at once, so its delay says
  // nothing. The last route has no limit: there is no other route to try, and the operator alone
  // would pay for a call that is given up.
  const isLast = route === run.routes.at(-1);
  // guard: patience-for-streams (off: true)
  const patience = streamed && !isLast ? patienceOf(route) : null;
  try {
    const upstream = byKey(deps.upstreams.get(route.upstream), run.key);
    if (!upstream?.chat) {
      const message = `upstream ${route.upstream} has no chat`;
      return { outcome: 'not_accepted', why: 'model', message };
    }
    const upstreamCall = {
      request_id,
      model: route.model,
      conversation: call.conversation,
      max_tokens,
      // Only if the model has a price for what is written to the cache.
      cacheControl: run.model.price.cache_write_usd_micro !== undefined,
      files: run.files,
      context_tokens: run.model.context_tokens,
      stream: streamed,
      ...(patience && { first_byte_seconds: patience.seconds }),
      signal: patience ? AbortSignal.any([signal, patience.over]) : signal,
    };
    const outcome = await holdingInputs(deps, run, (shares) =>
      upstream.chat!({ ...upstreamCall, ...(patience ? besides(shares, patience) : shares) }),
    );
    const isOpen = outcome.outcome === 'reply' || outcome.outcome === 'unknown';
    if (!patience?.over.aborted || !isOpen) return outcome;
    return { outcome: 'unknown', answer: 'slow', message: 'its first byte took too long' };
  } catch (error) {
    return { outcome: 'unknown', message: String(error) };
  } finally {
    patience?.stop();
  }
}

/** The route's time limit for the first byte of an answer; null if the route has no limit. */
function patienceOf({ first_byte_seconds: seconds }: ModelUpstream) {
  if (seconds === undefined) return null;
  const patience = new AbortController();
  const limit = countdown(seconds * 1000, () => patience.abort());
  return { ...limit, seconds, over: patience.signal };
}
