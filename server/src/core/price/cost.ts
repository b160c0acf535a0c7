import { hasKey } from '../../lib/records.ts';
import type { ModelUpstream, PriceRules } from '../catalog/catalog.ts';
import { extraTimes } from './rates.ts';
import type { Input } from './priced-fields.ts';

/** The cost of requests for the operator, so that the margin is known. Micro-USD. Pure. */

export type Costs = Pick<
  ModelUpstream,
  'cost_usd_micro' | 'cost_output_usd_micro' | 'cost_by_resolution'
>;

/**
 * Cost of media: units times the row's cost for this input, `input` as it was priced. Null if the
 * row states none, or it cannot be computed.
 */
export function mediaCost(
  route: Costs | undefined,
  quantity: number,
  { input = {}, extras = [] }: { input?: Input; extras?: PriceRules['extras'] } = {},
): bigint | null {
  const rate = route ? unitCost(route, input.resolution) : null;
  if (rate === null) return null;
  const added = extras.reduce(
    (sum, extra) => sum + (extra.cost_usd_micro ?? 0n) * BigInt(extraTimes(extra, input)),
    0n,
  );
  return microOf(Number(rate + added) * quantity);
}

/** Cost of one unit; for a resolution without its own cost the highest. */
export function unitCost(
  { cost_usd_micro, cost_by_resolution: own }: Costs,
  resolution: unknown,
): bigint | null {
  return own && hasKey(own, resolution) ? own[resolution]! : cost_usd_micro;
}

/** Cost of a chat call, by the row's costs of a million tokens; null if the row states none. */
export function chatCost(
  route: Costs | undefined,
  { prompt_tokens, completion_tokens }: { prompt_tokens: number; completion_tokens: number },
): bigint | null {
  if (!route || route.cost_usd_micro === null) return null;
  const output = Number(route.cost_output_usd_micro ?? route.cost_usd_micro);
  return microOf((prompt_tokens * Number(route.cost_usd_micro) + completion_tokens * output) / 1e6);
}

/** The upstream's own figure in USD; null if it is not usable. */
export function statedCost(usd: unknown): bigint | null {
  return typeof usd === 'number' && usd >= 0 && usd < 1e9 ? microOf(usd * 1e6) : null;
}

/** A thousand million USD: anything above is not the cost of one request. */
export const costMaxUsdMicro = 1_000_000_000_000_000n;

/** Rounded up, because a cost that is too low flatters the margin. Null if out of range. */
function microOf(micro: number): bigint | null {
  if (!(micro <= Number(costMaxUsdMicro))) return null;
  // Digits after the ninth come from floating point, not from the cost.
  return BigInt(Math.ceil(Number(micro.toFixed(6))));
}
