import { sql, type Connection } from '../lib/sql/sql.ts';

/** A stopped catalog row: its jobs are not started. */
export interface StoppedModel {
  model_id: string;
  /** The operator's words to customers. */
  status_note: string | null;
  stopped_at: Date;
  /** An operator's address, or "command line". */
  stopped_by: string;
}

/** In order of model id. */
export function list(db: Connection): Promise<StoppedModel[]> {
  return db.run<StoppedModel>(sql`
    select model_id, status_note, stopped_at, stopped_by from stopped_models order by model_id`);
}

/** Null if the row is sold. */
export async function find(db: Connection, model_id: string): Promise<StoppedModel | null> {
  const [row] = await db.run<StoppedModel>(sql`
    select model_id, status_note, stopped_at, stopped_by from stopped_models
    where model_id = ${model_id}`);
  return row ?? null;
}

/** Until the end of the transaction nobody else changes how models are sold; readers go on. */
export async function lock(db: Connection): Promise<void> {
  await db.run(sql`lock table stopped_models in share row exclusive mode`);
}

/** If the row is already stopped, only its note changes. */
export async function insert(
  db: Connection,
  { model_id, status_note, stopped_by }: Omit<StoppedModel, 'stopped_at'>,
): Promise<void> {
  await db.run(sql`
    insert into stopped_models (model_id, status_note, stopped_by)
    values (${model_id}, ${status_note}, ${stopped_by})
    on conflict (model_id) do update set status_note = excluded.status_note`);
}

export async function remove(db: Connection, model_id: string): Promise<void> {
  await db.run(sql`delete from stopped_models where model_id = ${model_id}`);
}
