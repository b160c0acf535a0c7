import type { Extra, Model, PriceRules, Resolution } from './catalog.ts';
import { toUsdNumber } from '../price/money.ts';
import {
  listPpm,
  costliest,
  ownRate,
  rateOf,
  ratesByResolution,
  type Rates,
} from '../price/rates.ts';

/**
 * A row as shown by `GET /models`: prices in US dollars per unit, for an account that pays
 * `price_ppm` millionths of the list price. `median_seconds`: of its last runs; null if unknown.
 */
export function catalogEntry(
  model: Model,
  price_ppm = listPpm,
  median_seconds: number | null = null,
) {
  const { price: rules, kind } = model;
  const usd = (rate: bigint) => toUsdNumber(ownRate(rate, price_ppm));
  const rates = ratesByResolution(rules);
  return {
    id: model.id,
    object: 'model' as const,
    created: model.created,
    owned_by: model.owned_by,
    name: model.name,
    description: model.description,
    kind,
    task: model.task,
    price: highestPrice(rules, usd),
    unit: rules.unit,
    ...(rates && { price_by_resolution: inUsd(rates, usd) }),
    extras: rules.extras.map((extra) => entryExtra(extra, usd)),
    max: rules.max,
    max_unit: model.max_unit,
    resolutions: rules.resolutions,
    uncensored: model.uncensored,
    median_seconds,
    status: model.stopped ? ('stopped' as const) : ('live' as const),
    ...(model.stopped && { status_note: model.stopped.note }),
    input_schema: model.input_schema,
    example: model.example,
    ...(rules.step !== undefined && { step: rules.step }),
    ...(rules.charged !== undefined && { charged: rules.charged }),
    ...(model.on_cancel && { on_cancel: model.on_cancel }),
    ...(model.max_prompt_tokens !== null && { max_prompt_tokens: model.max_prompt_tokens }),
    ...(kind === 'text' && {
      context_tokens: model.context_tokens,
      ...(model.refuse_longer_prompts && { refuse_longer_prompts: true as const }),
      max_output_tokens: model.max_output_tokens,
      image_tokens: model.image_tokens,
      on_disconnect: model.on_disconnect,
      input_modalities: model.input_modalities,
    }),
  };
}

type Usd = (rate: bigint) => number;

/** For text, the price of each kind of token; otherwise the highest rate of a unit. */
function highestPrice(rules: PriceRules, usd: Usd) {
  if (rules.unit === '1M tokens') {
    const { cached_input_usd_micro: cached, cache_write_usd_micro: written } = rules;
    return {
      input: usd(rules.input_usd_micro ?? 0n),
      output: usd(rules.output_usd_micro ?? 0n),
      ...(cached !== undefined && { cached_input: usd(cached) }),
      ...(written !== undefined && { cache_write: usd(written) }),
    };
  }
  return usd(rateOf(rules, costliest(rules)));
}

/**
 * A rule that adds `add_usd` per unit: for each item after `free` ones, or if the field `equals` a
 * value.
 */
function entryExtra(extra: Extra, usd: Usd) {
  const { label, field } = extra;
  const shown = { label, field, add_usd: usd(extra.add_usd_micro) };
  if (extra.kind === 'per_item') return { ...shown, per_item: true, free: extra.free };
  const { equals, default: fallback } = extra;
  return { ...shown, equals, ...(fallback !== undefined && { default: fallback }) };
}

function inUsd(rates: Rates, usd: Usd): Partial<Record<Resolution, number>> {
  return Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, usd(rate)]));
}
