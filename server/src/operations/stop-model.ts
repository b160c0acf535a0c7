import type { Model } from '../core/catalog.ts';
import { endRest, stopModels } from '../db/queue.ts';
import type { Database } from '../lib/sql.ts';
import { act, type Author, type Done } from './act.ts';

/**
 * Stops a model: its routes are paused until it is resumed, for every row that shares them. New
 * requests get 503; those that wait go on waiting; those that run are finished.
 */
export async function stopModel(db: Database, model: Model, reason: string | null): Promise<Done> {
  await stopModels(db, model.upstreams);
  const details = { routes: routesOf(model), ...(reason !== null && { reason }) };
  return { answer: { model_id: model.id, stopped: true }, target: model.id, details };
}

export async function resumeModel(db: Database, model: Model): Promise<Done> {
  for (const route of model.upstreams) await endRest(db, route.upstream, route.model);
  const details = { routes: routesOf(model) };
  return { answer: { model_id: model.id, stopped: false }, target: model.id, details };
}

/** From the command line, with its row in the log. */
export function stopOrResume(
  db: Database,
  by: Author,
  model: Model,
  wanted: { stop: boolean; reason: string | null },
): Promise<unknown> {
  const action = wanted.stop ? 'model.stop' : 'model.resume';
  return act(db, by, action, (within) =>
    wanted.stop ? stopModel(within, model, wanted.reason) : resumeModel(within, model),
  );
}

function routesOf({ upstreams }: Model): string[] {
  return upstreams.map(({ upstream, model }) => `${upstream} ${model}`);
}
