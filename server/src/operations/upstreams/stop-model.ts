import * as stopped from '../../db/stopped-models.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { runAction, type Author, type ActionResult } from '../operator-action.ts';

interface ModelState {
  model_id: string;
  stopped: boolean;
}

/**
 * Stops a model until it is resumed, whatever the state of its routes. New requests get 503,
 * waiting requests keep waiting, running requests are finished.
 */
export async function stopModel(
  db: Database,
  by: Author,
  model_id: string,
  reason: string | null,
): Promise<ActionResult<ModelState>> {
  await stopped.insert(db, model_id, by.email);
  const details = reason === null ? {} : { details: { reason } };
  return { answer: { model_id, stopped: true }, target: model_id, ...details };
}

export async function resumeModel(
  db: Database,
  model_id: string,
): Promise<ActionResult<ModelState>> {
  await stopped.remove(db, model_id);
  return { answer: { model_id, stopped: false }, target: model_id };
}

/** For the command line: stops or resumes a model and writes the operator's log. */
export function stopOrResume(
  db: Database,
  by: Author,
  model_id: string,
  wanted: { stop: boolean; reason: string | null },
): Promise<object> {
  const action = wanted.stop ? 'model.stop' : 'model.resume';
  return runAction(db, by, action, (within) =>
    wanted.stop ? stopModel(within, by, model_id, wanted.reason) : resumeModel(within, model_id),
  );
}
