import { catalogDir } from '../config.ts';
import type { Model } from '../core/catalog.ts';
import { Refused } from '../operations/account.ts';
import { commandLine } from '../operations/act.ts';
import { stopOrResume } from '../operations/stop-model.ts';
import { readFolder, withUpstreams } from './live-look.ts';
import { print, withDatabase, type Context } from './output.ts';

export async function stop(
  context: Context,
  id: string,
  { reason = null }: { reason?: string | null },
): Promise<void> {
  const model = await modelOf(context, id);
  const wanted = { stop: true, reason };
  const done = await withDatabase(context, (db) => stopOrResume(db, commandLine, model, wanted));
  print(context, done as object, `${id} is stopped. Resume it with: farebox catalog resume ${id}`);
}

export async function resume(context: Context, id: string): Promise<void> {
  const model = await modelOf(context, id);
  const wanted = { stop: false, reason: null };
  const done = await withDatabase(context, (db) => stopOrResume(db, commandLine, model, wanted));
  print(context, done as object, `${id} is sold again.`);
}

/** The row of the catalog files, whether its upstreams are set up or not. */
async function modelOf({ config }: Context, id: string): Promise<Model> {
  const folder = await withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
  const model = folder.rows.find((row) => row.id === id);
  if (!model) throw new Refused(`No catalog file has a row "${id}".`);
  return model;
}
