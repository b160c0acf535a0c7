import { charge, chargedQuantity } from '../core/price/price.ts';
import { quoteFromJson } from '../core/price/quote-json.ts';
import type { EndTransition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { runBounded } from '../lib/bounded.ts';
import type { Handle, StoppedJob, Upstream } from '../upstreams/upstream.ts';
import { endOf } from './end.ts';
import { costOf, countOf, catalogCost } from './job-cost.ts';
import type { StepDeps, WaitTransition } from './step.ts';

/** Running jobs whose callers cancelled them: the upstream is asked, and the end is charged. */

/**
 * Asks the upstream to stop a job that runs; `again` is its next poll. A first step commits that
 * this is going to happen, so that a job which then vanishes counts as stopped. If the call fails,
 * it is repeated as a failed poll is.
 */
export async function askToStop(
  row: ClaimedRequest,
  { upstream, handle }: { upstream: Upstream; handle: Handle },
  again: WaitTransition,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<WaitTransition> {
  if (row.stop === 'taken' || !upstream.cancel) return again;
  // guard: stop-committed-first
  if (row.stop === null) return { ...again, wake_seconds: 0, stop: 'asked' };
  const { FAREBOX_STEP_TIMEOUT_SECONDS: seconds, FAREBOX_POLL_SECONDS: soon } = deps.settings;
  await runBounded(signal, seconds * 1000, (own) => upstream.cancel!(handle, own));
  return { ...again, wake_seconds: Math.min(again.wake_seconds, soon), stop: 'taken' };
}

type StoppedUsage = Pick<StoppedJob, 'quantity' | 'cost_usd_micro'>;

/** Ends a request whose job was stopped on request. `told`: what the upstream bills for it. */
export function endStopped(row: ClaimedRequest, told: StoppedUsage, deps: StepDeps): EndTransition {
  const units = countOf(told);
  const billed = units === null ? null : chargedQuantity(quoteFromJson(row.quote), units);
  const model = deps.catalog().models.get(row.model_id);
  const cost = costOf(told) ?? (billed === null ? null : catalogCost(row, model, billed));
  const stopped = { charge: stopCharge(row, told), quantity: billed, cost_usd_micro: cost };
  return { ...endOf(row), to: 'CANCELLED', stopped };
}

/** The charge by the rule that held when the caller cancelled; at most the reservation. */
function stopCharge(row: ClaimedRequest, told: StoppedUsage): bigint {
  const { on_cancel, quoted_usd_micro: reserved } = row;
  if (on_cancel === 'free') return 0n;
  if (on_cancel === 'full') return reserved;
  const quantity = countOf(told);
  if (quantity !== null) return charge(quoteFromJson(row.quote), { quantity });
  const cost = costOf(told) ?? reserved;
  return cost < reserved ? cost : reserved;
}

/** Ends a cancelled request of which no upstream has a job. */
export async function callOff(row: ClaimedRequest): Promise<EndTransition> {
  const stopped = { charge: 0n, quantity: null, cost_usd_micro: 0n };
  return { ...endOf(row), to: 'CANCELLED', stopped };
}
