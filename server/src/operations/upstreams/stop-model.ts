import * as stopped from '../../db/stopped-models.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult, Author } from '../operator-action.ts';

interface ModelStatus {
  model_id: string;
  status: 'live' | 'stopped';
}

/**
 * Stops a model until it is live again, whatever the state of its routes. New requests get 503,
 * waiting requests keep waiting, running requests are finished.
 */
export async function setModelStatus(
  db: Database,
  by: Author,
  { model_id, status, reason }: ModelStatus & { reason: string | null },
): Promise<ActionResult<ModelStatus>> {
  if (status === 'stopped') await stopped.insert(db, model_id, by.email);
  else await stopped.remove(db, model_id);
  return {
    answer: { model_id, status },
    action: status === 'stopped' ? 'model.stop' : 'model.resume',
    target: model_id,
    ...(reason !== null && { details: { reason } }),
  };
}
