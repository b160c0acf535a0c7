import type { Override } from '../core/catalog/override.ts';
import type { SetPrice } from '../core/catalog/set-price.ts';
import type { SetRoute } from '../core/catalog/set-routes.ts';
import { sql, type Connection } from '../lib/sql/sql.ts';
import type { StoppedModel } from './stopped-models.ts';

/** A list price, routes, or both, that an operator set in place of those of the row's file. */
export interface ModelOverride {
  model_id: string;
  price: SetPrice | null;
  upstreams: SetRoute[] | null;
  changed_at: Date;
  /** An operator's address, or "command line". */
  changed_by: string;
}

/** In order of model id. */
export function list(db: Connection): Promise<ModelOverride[]> {
  return db.run<ModelOverride>(sql`
    select model_id, price, upstreams, changed_at, changed_by from model_overrides
    order by model_id`);
}

/** By model id: what operators have set, stops included. */
export function overridesOf(
  set: readonly ModelOverride[],
  stops: readonly StoppedModel[],
): Map<string, Override> {
  const all = new Map<string, Override>();
  for (const { model_id, price, upstreams } of set)
    all.set(model_id, { ...(price && { price }), ...(upstreams && { upstreams }) });
  for (const { model_id, status_note: note } of stops)
    all.set(model_id, { ...all.get(model_id), stopped: { note } });
  return all;
}

/** Null if the row is as in its file. */
export async function find(db: Connection, model_id: string): Promise<ModelOverride | null> {
  const [row] = await db.run<ModelOverride>(sql`
    select model_id, price, upstreams, changed_at, changed_by from model_overrides
    where model_id = ${model_id}`);
  return row ?? null;
}

/** Replaces what is set; removes it if nothing is. */
export async function put(
  db: Connection,
  { model_id, price, upstreams, changed_by }: Omit<ModelOverride, 'changed_at'>,
): Promise<void> {
  if (price === null && upstreams === null) {
    await db.run(sql`delete from model_overrides where model_id = ${model_id}`);
    return;
  }
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  await db.run(sql`
    insert into model_overrides (model_id, price, upstreams, changed_by)
    values (${model_id}, ${json(price)}::json, ${json(upstreams)}::json, ${changed_by})
    on conflict (model_id) do update set price = excluded.price, upstreams = excluded.upstreams,
      changed_at = now(), changed_by = excluded.changed_by`);
}
