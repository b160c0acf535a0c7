import { catalogDir } from '../config.ts';
import * as stopped from '../db/stopped-models.ts';
import { readFolder, withUpstreams } from './offline-check.ts';
import { print, table, withDatabase, type Context } from './output.ts';

/** Every row of the catalog files with its state. */
export async function list(context: Context): Promise<void> {
  const { config } = context;
  const folder = await withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
  const stops = await withDatabase(context, stopped.list);
  const data = folder.rows.map(({ id, kind, upstreams }) => {
    const reason = folder.hidden.find((row) => row.id === id)?.reason ?? null;
    const stop = stops.find((row) => row.model_id === id);
    return {
      id,
      kind,
      upstreams: upstreams.map(({ upstream }) => upstream),
      state: reason !== null ? 'hidden' : stop ? 'stopped' : 'live',
      reason,
      stopped: stop ? { since: stop.stopped_at.toISOString(), by: stop.stopped_by } : null,
    };
  });
  const cells = data.map(({ id, kind, upstreams, state, reason, stopped: stop }) => [
    id,
    kind,
    upstreams.join(', '),
    state,
    stop?.since ?? '',
    stop?.by ?? '',
    reason ?? '',
  ]);
  const head = ['MODEL', 'KIND', 'UPSTREAMS', 'STATE', 'STOPPED AT', 'BY', 'WHY HIDDEN'];
  print(context, { data }, table(head, cells));
}
