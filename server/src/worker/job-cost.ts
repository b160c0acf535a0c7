import type { Model } from '../core/catalog/catalog.ts';
import { withDefaults } from '../core/catalog/model-input.ts';
import { costMaxUsdMicro, mediaCost } from '../core/price/cost.ts';
import { chargedQuantity } from '../core/price/price.ts';
import { quoteFromJson } from '../core/price/quote-json.ts';
import { routeTo } from '../core/request/routing.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import type { JobResult } from '../upstreams/upstream.ts';
import type { StepDeps } from './step.ts';

/** More units than any request can ask for. A larger count is ignored. */
const quantityMax = 1_000_000_000;

/** A count that is not a usable number is treated as missing. */
export function countOf({ quantity = NaN }: Pick<JobResult, 'quantity'>): number | null {
  return Number.isFinite(quantity) && quantity >= 0 && quantity <= quantityMax ? quantity : null;
}

/** Cost of a job whose outputs are not examined: the requested quantity counts as delivered. */
export function costOfRun(row: ClaimedRequest, result: JobResult, deps: StepDeps): bigint | null {
  const billed = chargedQuantity(quoteFromJson(row.quote), countOf(result));
  const model = deps.catalog().models.get(row.model_id);
  return costOf(result) ?? catalogCost(row, model, billed);
}

/** Cost by the catalog row; null if the row states none. */
export function catalogCost(
  row: ClaimedRequest,
  model: Model | undefined,
  billed: number,
): bigint | null {
  const { started_upstream, upstream_model } = row;
  const route = routeTo(model?.upstreams ?? [], started_upstream ?? '', upstream_model);
  const asked = { ...row.quote.assumptions, ...row.input };
  if (!model) return mediaCost(route, billed, { input: asked });
  return mediaCost(route, billed, {
    input: withDefaults(model, asked),
    extras: model.price.extras,
  });
}

export function costOf({
  cost_usd_micro: cost = -1n,
}: Pick<JobResult, 'cost_usd_micro'>): bigint | null {
  return cost >= 0n && cost <= costMaxUsdMicro ? cost : null;
}
