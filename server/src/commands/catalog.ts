import { catalogDir } from '../config.ts';
import * as stopped from '../db/stopped-models.ts';
import { optional, text } from '../http/schemas/schema.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refused.ts';
import { setModelStatus } from '../operations/upstreams/stop-model.ts';
import { check } from './catalog-check.ts';
import { flag, operand, row } from './command.ts';
import { act, withDatabase } from './database.ts';
import { readFolder, withUpstreams } from './offline-check.ts';
import { table, type Columns, type Context } from './output.ts';

const model_id = operand(text());

export const verbs = {
  check: row(
    'check catalog files and explain each problem; exit 1 if there is one',
    {
      folder: optional(operand(text())),
      live: flag('also ask the upstreams, to find models they lack and prices below their cost'),
    },
    check,
    ['catalog check --live', 'exit 0 if there are only warnings'],
  ),
  list: row(
    'list the rows of the catalog files: live, hidden, or stopped and by whom',
    {},
    async (_, context) => {
      const data = await states(context);
      return { json: { data }, text: table(data, columns) };
    },
    ['catalog list', 'one line for each row'],
  ),
  stop: row(
    'stop selling a model: none of its requests start until it is resumed',
    { model_id, reason: optional(text('for the operator\u2019s log')) },
    async ({ model_id: id, reason = null }, context) => {
      const json = await change(context, id, 'stopped', reason);
      return { json, text: `${id} is stopped. Resume it with: farebox catalog resume ${id}` };
    },
  ),
  resume: row('sell a stopped model again', { model_id }, async (given, context) => {
    const { model_id: id } = given;
    const json = await change(context, id, 'live');
    return { json, text: `${id} is on sale again.` };
  }),
};

/** Every row of the catalog files with its state. */
async function states(context: Context) {
  const folder = await folderOf(context);
  const stops = await withDatabase(context, stopped.list);
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
  status: 'live' | 'stopped',
  reason: string | null = null,
): Promise<object> {
  const folder = await folderOf(context);
  if (!folder.rows.some(({ id }) => id === model_id))
    throw new CommandFailed(`No catalog file has a row "${model_id}".`);
  await act(context, 'model.stop', (db) =>
    changeModel(db, commandLine, { model_id, change: changes, reason }),
  );
  return { model_id, stopped: status === 'stopped' };
}

export function folderOf({ config }: Context) {
  return withUpstreams(config, (opened) => readFolder(catalogDir(config), opened));
}
