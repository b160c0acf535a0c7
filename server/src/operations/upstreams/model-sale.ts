import type { Model } from '../../core/catalog/catalog.ts';
import { statedLosses } from '../../core/catalog/listed-price.ts';
import { withOverride, unfit, type Override } from '../../core/catalog/override.ts';
import { priceOf, shownPrice } from '../../core/catalog/set-price.ts';
import { routesOf } from '../../core/catalog/set-routes.ts';
import * as overrides from '../../db/model-overrides.ts';
import * as operatorLog from '../../db/operator-log.ts';
import * as stoppedModels from '../../db/stopped-models.ts';
import { isObject } from '../../lib/json.ts';
import type { Connection } from '../../lib/sql/sql.ts';
import type { OperatorAction } from '../operator-action.ts';

/** How a model is sold, and what operators have changed of it. */

/** The settings of operators, by model id. */
export interface Sales {
  stopped: ReadonlyMap<string, { since: Date; by: string; status_note: string | null }>;
  set: ReadonlyMap<string, overrides.ModelOverride>;
  overrides: ReadonlyMap<string, Override>;
}

export async function readSales(db: Connection): Promise<Sales> {
  const [stops, set] = await Promise.all([stoppedModels.list(db), overrides.list(db)]);
  return {
    stopped: new Map(
      stops.map(({ model_id, status_note, stopped_at, stopped_by }) => [
        model_id,
        { since: stopped_at, by: stopped_by, status_note },
      ]),
    ),
    set: new Map(set.map((each) => [each.model_id, each])),
    overrides: overrides.overridesOf(set, stops),
  };
}

/** A row of a catalog file as new requests are sold. */
export function saleOf(filed: Model, sales: Sales) {
  const model = withOverride(filed, sales.overrides.get(filed.id));
  return {
    model,
    status: model.stopped ? ('stopped' as const) : ('live' as const),
    status_note: model.stopped?.note ?? null,
    ...offerOf(model),
    override: overrideOf(filed, sales),
    losses: statedLosses(model),
  };
}

/** Price and routes in the form in which they are set. */
export function offerOf({ price, upstreams }: Model) {
  return { price: shownPrice(priceOf(price)), upstreams: routesOf(upstreams) };
}

function overrideOf(filed: Model, sales: Sales) {
  const set = sales.set.get(filed.id);
  if (set === undefined) return null;
  const { price, upstreams, changed_at: since, changed_by: by } = set;
  const left = unfit(filed, sales.overrides.get(filed.id) ?? {});
  return { since, by, price: price && shownPrice(price), upstreams, unfit: left };
}

/** The actions of the operator's log that make a model's history. */
const modelActions = [
  'model.stop',
  'model.resume',
  'model.change',
] as const satisfies OperatorAction[];

/** Newest first; `below_id`: the last row of the page before. */
export function listHistory(
  db: Connection,
  page: { target: string; below_id: string | null; limit: number },
): Promise<operatorLog.LogRow[]> {
  return operatorLog.listOf(db, { ...page, actions: modelActions });
}

export function historyEntry({ id, created_at, by_email, details }: operatorLog.LogRow) {
  const { reason, before, after } = details ?? {};
  return {
    log_id: id,
    at: created_at,
    by: by_email,
    reason: typeof reason === 'string' ? reason : null,
    before: isObject(before) ? before : null,
    after: isObject(after) ? after : null,
  };
}
