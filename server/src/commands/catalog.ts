import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportedText } from '../catalog/export.ts';
import { catalogDir } from '../config.ts';
import * as modelOverrides from '../db/model-overrides.ts';
import * as stoppedModels from '../db/stopped-models.ts';
import * as s from '../http/schemas/schema.ts';
import { codeOf } from '../lib/unknown.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { changeModel, type ModelChange } from '../operations/upstreams/change-model.ts';
import { NewSale } from '../http/schemas/operator.ts';
import { check } from './catalog-check.ts';
import { flag, may, operand, row } from './command.ts';
import { act, withDatabase } from './database.ts';
import { readFolder, withUpstreams } from './offline-check.ts';
import { countText, table, type TableColumns, type Context } from './output.ts';

const model_id = operand(s.text());

export const verbs = {
  check: row(
    'check catalog files and explain each problem; exit 1 if there is one',
    {
      folder: s.optional(operand(s.text())),
      live: flag('also ask the upstreams, to find models they lack and prices below their cost'),
    },
    check,
    { example: ['catalog check --live', 'exit 0 if there are only warnings'] },
  ),
  list: row(
    'list the rows of the catalog files: live, hidden, or stopped and by whom',
    {},
    async (_, context) => {
      const data = await states(context);
      return { json: { data }, text: table(data, columns) };
    },
    { example: ['catalog list', 'one line for each row'] },
  ),
  export: row(
    'write the catalog files with the prices and upstreams that were set beside them',
    {
      folder: operand(s.text('where the changed files are written')),
      replace: flag('replace files that exist there'),
    },
    ({ folder, replace = false }, context) => exportFiles(folder, replace, context),
    { example: ['catalog export changed', 'then: farebox catalog check changed'] },
  ),
  stop: row(
    'stop selling a model: none of its requests start until it is resumed',
    {
      model_id,
      status_note: may(NewSale.status_note, 'why, for customers'),
      reason: may(NewSale.reason, "for the operator's log"),
    },
    async ({ model_id: id, reason = null, ...note }, context) => {
      const json = await change(context, id, { status: 'stopped', ...note }, reason);
      return { json, text: `${id} is stopped. Resume it with: farebox catalog resume ${id}` };
    },
  ),
  resume: row('sell a stopped model again', { model_id }, async (given, context) => {
    const { model_id: id } = given;
    const json = await change(context, id, { status: 'live' });
    return { json, text: `${id} is on sale again.` };
  }),
};

/** Writes each file that has rows with something set; the others stay away. */
async function exportFiles(folder: string, replaces: boolean, context: Context) {
  const dir = catalogDir(context.config);
  const { owners, files } = await folderOf(context);
  const [set, stops] = await withDatabase(context, (db) =>
    Promise.all([modelOverrides.list(db), stoppedModels.list(db)]),
  );
  const overrides = modelOverrides.overridesOf(set, []);
  const data = files.flatMap((file) => {
    const models = set.filter(({ model_id: id }) => owners.get(id) === file);
    return models.length === 0 ? [] : [{ file, models: models.map((each) => each.model_id) }];
  });
  mkdirSync(folder, { recursive: true });
  for (const { file } of data) {
    const written = exportedText(readFileSync(join(dir, file), 'utf8'), overrides);
    writeOne(join(folder, file), written, replaces);
  }
  const note =
    stops.length === 0 ? undefined : `${countText(stops.length, 'stop')} stay here only.`;
  const lines = data.map(({ file, models }) => `${join(folder, file)}: ${models.join(', ')}`);
  const none = 'Every row is as in its file; nothing was written.';
  return { json: { data }, text: lines.join('\n') || none, note };
}

function writeOne(path: string, written: string, replaces: boolean): void {
  try {
    writeFileSync(path, written, { flag: replaces ? 'w' : 'wx' });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new CommandFailed(`${path} exists. Name another folder, or add --replace.`);
  }
}

/** Every row of the catalog files with its state. */
async function states(context: Context) {
  const folder = await folderOf(context);
  const stops = await withDatabase(context, stoppedModels.list);
  return folder.rows.map(({ id, kind, upstreams }) => {
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
}

const columns: TableColumns<Awaited<ReturnType<typeof states>>[number]> = {
  MODEL: 'id',
  KIND: 'kind',
  UPSTREAMS: ({ upstreams }) => upstreams.join(', '),
  STATE: 'state',
  'STOPPED AT': (row) => row.stopped?.since ?? '',
  BY: (row) => row.stopped?.by ?? '',
  'WHY HIDDEN': ({ reason }) => reason ?? '',
};

/** Stops or resumes a row of the catalog files, even if its upstreams are not set up. */
async function change(
  context: Context,
  model_id: string,
  changes: ModelChange,
  reason: string | null = null,
): Promise<object> {
  const folder = await folderOf(context);
  if (!folder.rows.some(({ id }) => id === model_id))
    throw new CommandFailed(`No catalog file has a row "${model_id}".`);
  await act(context, 'model.stop', (db) =>
    changeModel(db, commandLine, { model_id, change: changes, reason }),
  );
  return { model_id, stopped: changes.status === 'stopped' };
}

export function folderOf({ config }: Context) {
  return withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
}
