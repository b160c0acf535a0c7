import { catalogDir } from '../config.ts';
import { CommandFailed } from '../operations/refused.ts';
import { commandLine } from '../operations/operator-action.ts';
import { stopOrResume } from '../operations/upstreams/stop-model.ts';
import { readFolder, withUpstreams } from './offline-check.ts';
import { print, withDatabase, type Context } from './output.ts';

export async function stop(
  context: Context,
  id: string,
  { reason = null }: { reason?: string | null },
): Promise<void> {
  const done = await change(context, id, { stop: true, reason });
  print(context, done, `${id} is stopped. Resume it with: farebox catalog resume ${id}`);
}

export async function resume(context: Context, id: string): Promise<void> {
  const done = await change(context, id, { stop: false, reason: null });
  print(context, done, `${id} is on sale again.`);
}

/** Stops or resumes a row of the catalog files, even if its upstreams are not set up. */
async function change(
  context: Context,
  id: string,
  wanted: { stop: boolean; reason: string | null },
): Promise<object> {
  const { config } = context;
  const folder = await withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
  if (!folder.rows.some((row) => row.id === id))
    throw new CommandFailed(`No catalog file has a row "${id}".`);
  return withDatabase(context, (db) => stopOrResume(db, commandLine, id, wanted));
}
