import type { Model } from '../core/catalog/catalog.ts';
import type { GivenRoute } from '../core/catalog/set-routes.ts';
import { NewSale } from '../http/schemas/operator.ts';
import * as s from '../http/schemas/schema.ts';
import type { Connection } from '../lib/sql/sql.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import {
  asFiled,
  changeModel,
  readChange,
  type GivenChange,
  type ModelChange,
} from '../operations/upstreams/change-model.ts';
import {
  historyEntry,
  listHistory,
  readSales,
  saleOf,
} from '../operations/upstreams/model-sale.ts';
import { folderOf } from './catalog.ts';
import { limitOf, may, operand, row } from './command.ts';
import { act, withDatabase } from './database.ts';
import {
  alignCells,
  table,
  type TableColumns,
  type Context,
  type CommandOutput,
} from './output.ts';

const model_id = operand(s.text());
const reason = may(NewSale.reason, "for the operator's log");

export const verbs = {
  show: row(
    'show how a model is sold: status, list price, upstreams, and what is set here',
    { model_id },
    async ({ model_id: model }, context) => show(await requireRow(context, model), context),
  ),
  set: row(
    'change how new requests of a model are sold, in place of its catalog file',
    {
      model_id,
      status: may(NewSale.status, 'whether it is sold'),
      status_note: may(NewSale.status_note, 'why it is stopped, for customers; none removes it'),
      price: may(
        s.text(),
        'US dollars of a unit, or such as 1k=0.04,2k=0.08, or input=1,output=2; file: as in the file',
        'usd',
      ),
      upstreams: may(
        s.text(),
        'in order, with shares if wanted: fal=70,replicate=30; file: as in the file',
        'names',
      ),
      reason,
    },
    async ({ model_id: model, reason: why = null, ...given }, context) => {
      const filed = await requireRow(context, model);
      return change(filed, readChange(filed, givenIn(given)), why, context);
    },
    { example: ['model set sandbox/canvas/text-to-image --price 0.08', 'holds within seconds'] },
  ),
  reset: row(
    'sell a model as its catalog file says',
    { model_id, reason },
    async ({ model_id: model, reason: why = null }, context) =>
      change(await requireRow(context, model), asFiled, why, context),
  ),
  history: row(
    'list the changes of how a model is sold, newest first',
    { model_id, limit: limitOf(50) },
    async ({ model_id: model, limit }, context) => {
      const data = await withDatabase(context, (db) => historyOf(db, model, limit));
      return { json: { data }, text: table(data, columns) };
    },
  ),
  undo: row(
    'undo a change of the history',
    { model_id, log_id: operand(s.id()) },
    async ({ model_id: model, log_id }, context) => {
      const entries = await withDatabase(context, (db) => historyOf(db, model, historyMax));
      const found = entries.find((entry) => entry.log_id === log_id);
      if (!found?.before)
        throw new CommandFailed(`${model} has no change ${log_id}. See: farebox model history`);
      const filed = await requireRow(context, model);
      const before: GivenChange = found.before;
      return change(filed, readChange(filed, before), `undone: ${log_id}`, context);
    },
  ),
};

const historyMax = 1_000;

async function historyOf(db: Connection, target: string, limit: number) {
  return (await listHistory(db, { target, below_id: null, limit })).map(historyEntry);
}

const columns: TableColumns<Awaited<ReturnType<typeof historyOf>>[number]> = {
  ENTRY: 'log_id',
  AT: 'at',
  BY: 'by',
  CHANGE: ({ after }) => JSON.stringify(after ?? {}),
  BEFORE: ({ before }) => JSON.stringify(before ?? {}),
  REASON: ({ reason: why }) => why ?? '',
};

async function requireRow(context: Context, wanted: string): Promise<Model> {
  const { rows } = await folderOf(context);
  const found = rows.find((each) => each.id === wanted);
  if (!found) throw new CommandFailed(`No catalog file has a row "${wanted}".`);
  return found;
}

interface ModelChangeInput {
  status?: 'live' | 'stopped' | undefined;
  status_note?: string | null | undefined;
  price?: string | undefined;
  upstreams?: string | undefined;
}

/** The change as a call would give it. */
function givenIn({ status, status_note, price, upstreams }: ModelChangeInput): GivenChange {
  return {
    ...(status !== undefined && { status }),
    ...(status_note !== undefined && { status_note: status_note === 'none' ? null : status_note }),
    ...(price !== undefined && { price: price === 'file' ? null : priceIn(price) }),
    ...(upstreams !== undefined && {
      upstreams: upstreams === 'file' ? null : upstreams.split(',').map(routeIn),
    }),
  };
}

function priceIn(typed: string): string | Record<string, string> {
  if (!typed.includes('=')) return typed;
  return Object.fromEntries(typed.split(',').map((part) => pairIn(part, '')));
}

function routeIn(typed: string): GivenRoute {
  const [name, share] = pairIn(typed, null);
  if (share === null) return { name };
  if (!/^\d+(\.\d+)?$/.test(share))
    throw new CommandFailed(`"${typed}" has no share, such as fal=70 for 70 per cent.`);
  return { name, share: Number(share) };
}

function pairIn<T>(typed: string, otherwise: T): [string, string | T] {
  const at = typed.indexOf('=');
  return at < 0
    ? [typed.trim(), otherwise]
    : [typed.slice(0, at).trim(), typed.slice(at + 1).trim()];
}

async function change(
  filed: Model,
  changes: ModelChange,
  why: string | null,
  context: Context,
): Promise<CommandOutput> {
  await act(context, 'model.change', (db) =>
    changeModel(db, commandLine, { model_id: filed.id, change: changes, reason: why }),
  );
  return show(filed, context);
}

async function show(filed: Model, context: Context): Promise<CommandOutput> {
  const sales = await withDatabase(context, readSales);
  const { model, override: set, ...sale } = saleOf(filed, sales);
  const { status, status_note, price: shown, upstreams, losses } = sale;
  const override = set && { price: set.price, upstreams: set.upstreams };
  const offer = { price: shown, unit: model.price.unit, upstreams, losses, override };
  const json = { model_id: filed.id, status, status_note, ...offer };
  const shares = json.upstreams.map(({ name, share }) =>
    share === null ? name : `${name} ${share}%`,
  );
  const note = json.status_note === null ? '' : `: ${json.status_note}`;
  const here = (of: unknown) => (of == null ? '' : 'set here');
  const lines = [
    ['model', json.model_id, ''],
    ['status', `${status}${note}`, ''],
    ['price', `${JSON.stringify(json.price)} USD / ${json.unit}`, here(set?.price)],
    ['upstreams', shares.join(', '), here(set?.upstreams)],
    ...json.losses.map((loss) => ['loss', loss, '']),
  ];
  return { json, text: alignCells(lines) };
}
