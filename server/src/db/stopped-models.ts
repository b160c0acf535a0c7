import { sql, type Connection } from '../lib/sql/sql.ts';

/** A stopped catalog row: its jobs are not started. */
export interface StoppedModel {
  model_id: string;
  stopped_at: Date;
  /** An operator's address, or "command line". */
  stopped_by: string;
}

/** In order of model id. */
export function list(db: Connection): Promise<StoppedModel[]> {
  return db.run<StoppedModel>(sql`
    select model_id, stopped_at, stopped_by from stopped_models order by model_id`);
}

/** Does nothing if the row is already stopped. */
export async function insert(db: Connection, model_id: string, stopped_by: string): Promise<void> {
  await db.run(sql`
    insert into stopped_models (model_id, stopped_by) values (${model_id}, ${stopped_by})
    on conflict do nothing`);
}

export async function remove(db: Connection, model_id: string): Promise<void> {
  await db.run(sql`delete from stopped_models where model_id = ${model_id}`);
}
