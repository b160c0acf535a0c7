import type { Json } from '../../lib/json.ts';
import { hasKey } from '../../lib/records.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { highestPrice, promptAmount, promptPrices, type CacheUse } from './prompt-prices.ts';
import type { ModelUpstream, PriceRules } from '../catalog/catalog.ts';
import { extraTimes } from './rates.ts';
import type { Input } from './priced-fields.ts';

/** The operator's cost of requests, for computing the margin, in micro-USD. Pure. */

export type Costs = Pick<
  ModelUpstream,
  | 'cost_usd_micro'
  | 'cost_output_usd_micro'
  | 'cost_by_resolution'
  | 'cost_cached_input_usd_micro'
  | 'cost_cache_write_usd_micro'
>;

/**
 * Cost of media: the units times the row's cost for this input. `input` is the input as priced.
 * Null if the row states no cost, or if the cost is too high to be real.
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

/** Cost of one unit. A resolution without its own cost has the highest cost. */
export function unitCost(
  { cost_usd_micro, cost_by_resolution: own }: Costs,
  resolution: unknown,
): bigint | null {
  return own && hasKey(own, resolution) ? own[resolution]! : cost_usd_micro;
}

/**
 * Cost of a chat call, from the row's costs per million tokens; null if the row states none. If the
 * cache counts are missing, all prompt tokens cost the highest price.
 */
export function chatCost(
  route: Costs | undefined,
  used: { prompt_tokens: number; completion_tokens: number } & CacheUse,
): bigint | null {
  if (!route || route.cost_usd_micro === null) return null;
  const costs = promptPrices({
    input_usd_micro: route.cost_usd_micro,
    cached_input_usd_micro: route.cost_cached_input_usd_micro,
    cache_write_usd_micro: route.cost_cache_write_usd_micro,
  });
  const { prompt_tokens, completion_tokens } = used;
  const prompt =
    used.cached_tokens === undefined
      ? highestPrice(costs) * BigInt(prompt_tokens)
      : promptAmount(costs, prompt_tokens, used);
  const output = (route.cost_output_usd_micro ?? route.cost_usd_micro) * BigInt(completion_tokens);
  return microOf(Number(prompt + output) / 1e6);
}

/**
 * The cost in micro-USD, from the USD that an upstream reported; null if the value is not usable.
 * Nothing costs ten thousand USD, and one such report would hide the margin of everything else.
 */
export function statedCost(usd: unknown): bigint | null {
  return typeof usd === 'number' && usd >= 0 && usd < 1e4 ? microOf(usd * 1e6) : null;
}

/**
 * The cost in the usage that an upstream reported, as OpenRouter writes it. With the operator's own
 * key at the provider (`is_byok`), `cost` is only OpenRouter's fee, and the provider's bill comes
 * on top.
 */
export function costInUsage({ cost, is_byok, cost_details }: Json): bigint | null {
  const billed = is_byok === true ? fieldOf(cost_details, 'upstream_inference_cost') : 0;
  const provider = typeof billed === 'number' ? billed : 0;
  return typeof cost === 'number' ? statedCost(cost + provider) : null;
}

/** A billion USD: no single request costs more. */
export const costMaxUsdMicro = 1_000_000_000_000_000n;

/**
 * The cost rounded up, because a cost that is too low makes the margin look better than it is. Null
 * if it is too high or not a number.
 */
function microOf(micro: number): bigint | null {
  if (!(micro <= Number(costMaxUsdMicro))) return null;
  // Decimals after the sixth come from floating point, not from the cost.
  return BigInt(Math.ceil(Number(micro.toFixed(6))));
}
