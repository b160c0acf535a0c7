import { isDeepStrictEqual } from 'node:util';
import type { Model } from '../../core/catalog/catalog.ts';
import {
  readPrice,
  shownPrice,
  type PriceForm,
  type SetPrice,
} from '../../core/catalog/set-price.ts';
import { readRoutes, type GivenRoute, type SetRoute } from '../../core/catalog/set-routes.ts';
import * as overrides from '../../db/model-overrides.ts';
import * as stoppedModels from '../../db/stopped-models.ts';
import { keysOf } from '../../lib/records.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { demandLine, reasonFrom, statusNoteMax } from '../line.ts';
import { Refusal } from '../refusal.ts';
import type { ActionResult, Author, OperatorAction } from '../operator-action.ts';

/** How a model is sold, as far as operators have set it. */
export interface ModelSale {
  status: 'live' | 'stopped';
  /** The operator's words to customers about a stopped model. */
  status_note: string | null;
  /** Null: as in the catalog file. */
  price: SetPrice | null;
  /** Null: as in the catalog file. */
  upstreams: SetRoute[] | null;
}

/** A change by an operator; fields that are left out stay. */
export type ModelChange = Partial<ModelSale>;

/** A change as a call gives it. */
export type GivenChange = Partial<Omit<ModelSale, 'price' | 'upstreams'>> & {
  price?: PriceForm | null;
  upstreams?: GivenRoute[] | null;
};

/** The change that a call asks for. Throws `bad_request` if the row cannot be sold so. */
export function readChange(row: Model, { price, upstreams, ...given }: GivenChange): ModelChange {
  return {
    ...given,
    ...(price !== undefined && { price: price === null ? null : readPrice(row, price) }),
    ...(upstreams !== undefined && {
      upstreams: upstreams === null ? null : readRoutes(row.upstreams, upstreams),
    }),
  };
}

/** Everything as in the catalog file. */
export const asFiled: ModelSale = {
  status: 'live',
  status_note: null,
  price: null,
  upstreams: null,
};

/**
 * Changes how new requests of a model are sold: a reservation and a quote stay as they are. While
 * it is stopped, whatever the state of its routes, new requests get 503, waiting requests keep
 * waiting, and running requests are finished.
 */
export async function changeModel(
  db: Database,
  by: Author,
  {
    model_id,
    change: given,
    reason,
  }: { model_id: string; change: ModelChange; reason: string | null },
): Promise<ActionResult<{ model_id: string; status: ModelSale['status'] }>> {
  const told = reasonFrom(reason);
  const { status_note: note } = given;
  const change = note
    ? { ...given, status_note: demandLine('status_note', note, statusNoteMax) }
    : given;
  await stoppedModels.lock(db);
  const before = await readSale(db, model_id);
  const after = changeSale(before, change);
  await write(db, model_id, before, after, by.email);
  return {
    answer: { model_id, status: after.status },
    action: actionOf(change),
    target: model_id,
    details: { ...told, ...differences(before, after) },
  };
}

function actionOf({ status, ...others }: ModelChange): OperatorAction {
  if (status === undefined || 'price' in others || 'upstreams' in others) return 'model.change';
  return status === 'stopped' ? 'model.stop' : 'model.resume';
}

async function readSale(db: Connection, model_id: string): Promise<ModelSale> {
  const stop = await stoppedModels.find(db, model_id);
  const own = await overrides.find(db, model_id);
  return {
    status: stop ? 'stopped' : 'live',
    status_note: stop?.status_note ?? null,
    price: own?.price ?? null,
    upstreams: own?.upstreams ?? null,
  };
}

/** Throws if a note is given for a model that is not stopped. */
function changeSale(before: ModelSale, change: ModelChange): ModelSale {
  const after = { ...before, ...change };
  if (after.status === 'stopped') return after;
  if (typeof change.status_note === 'string')
    throw new Refusal('status_note is for a stopped model. Send status "stopped" with it.', {
      reason: 'note_of_live_model',
      field: 'status_note',
    });
  return { ...after, status_note: null };
}

async function write(
  db: Connection,
  model_id: string,
  before: ModelSale,
  { status, status_note, price, upstreams }: ModelSale,
  by: string,
): Promise<void> {
  if (status === 'live') await stoppedModels.remove(db, model_id);
  else await stoppedModels.insert(db, { model_id, status_note, stopped_by: by });
  if (isDeepStrictEqual([before.price, before.upstreams], [price, upstreams])) return;
  await overrides.put(db, { model_id, price, upstreams, changed_by: by });
}

/** The fields that changed, before and after, as a call gives them; empty if none did. */
function differences(before: ModelSale, after: ModelSale): Record<string, unknown> {
  const fields = keysOf<keyof ModelSale>(after).filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );
  if (fields.length === 0) return {};
  const of = (sale: ModelSale) =>
    Object.fromEntries(fields.map((name) => [name, name === 'price' ? priceIn(sale) : sale[name]]));
  return { before: of(before), after: of(after) };
}

function priceIn({ price }: ModelSale) {
  return price === null ? null : shownPrice(price);
}
