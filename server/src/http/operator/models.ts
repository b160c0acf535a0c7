import { overridable } from '../../core/catalog/override.ts';
import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { FileProblem } from '../../core/catalog/catalog-file.ts';
import type { Model, ModelUpstream } from '../../core/catalog/catalog.ts';
import { dayOf, isPriceOld } from '../../core/catalog/checked-on.ts';
import { ApiError } from '../../core/errors.ts';
import { marginsOf, ratesOf, type Margin } from '../../core/catalog/margin.ts';
import { readRevenueOf, type ModelRow } from '../../db/accounts/revenue.ts';
import {
  asFiled,
  changeModel,
  readChange,
  type ModelChange,
} from '../../operations/upstreams/change-model.ts';
import {
  historyEntry,
  listHistory,
  offerOf,
  readSales,
  saleOf,
  type Sales,
} from '../../operations/upstreams/model-sale.ts';
import { countOf } from '../../db/requests/open-requests.ts';
import { dueSeconds } from '../requests/queue.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import type { CatalogContents, FiledRow } from '../../catalog/contents.ts';
import { LogReason, NewPrice, NewSale, SoldPrice } from '../schemas/operator.ts';
import { KindName, Model as ModelEntry, UnitName } from '../api/model-schema.ts';
import * as s from '../schemas/schema.ts';
import type { Serializable } from '../schemas/serialize.ts';
import type { ActionResult, Author } from '../../operations/operator-action.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { pageFrom } from '../page.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import type { ConsoleDeps, HttpDeps } from '../deps.ts';

/** The catalog as its files define it, with what callers do not see, such as margins. */

const days = 30;

const CatalogProblem = s.namedObject('CatalogProblem', {
  file: s.text(),
  path: s.text(),
  message: s.text(),
  line: s.nullable(s.integer()),
});

const margin = {
  of: s.choice(['unit', 'with_extras', 'input', 'output', 'cached_input', 'cache_write']),
  price_usd_micro: s.microUsd(),
  cost_usd_micro: s.nullable(s.microUsd()),
  margin_usd_micro: s.nullable(s.signedMicroUsd()),
  margin_ppm: s.nullable(s.integer()),
};
const RowMargin = s.namedObject('RowMargin', margin);
const RowRate = s.namedObject('RowRate', { resolution: s.nullable(s.text()), ...margin });
const rates = s.list(RowRate, 'A unit without extras at each resolution; none for text.');

const CatalogRoute = s.namedObject('CatalogRoute', {
  upstream: s.text(),
  model: s.text('The name of the model at the upstream.'),
  weight: s.nullable(s.number()),
  input_mapping: s.record(s.text()),
  input_defaults: s.anything(),
  set_up: s.boolean(),
  reason: s.nullable(s.text('Why it is not set up.')),
  margins: s.list(RowMargin),
  rates,
  name: s.text('As `upstream`.'),
  share: s.nullable(
    s.number('Per cent of new requests that try it first; null: the order decides.'),
  ),
});

const SetRoute = s.namedObject('SetRoute', {
  name: s.text(),
  model: s.optional(s.text()),
  share: s.nullable(s.number()),
});

const ModelOverride = s.namedObject('ModelOverride', {
  since: s.time(),
  by: s.text(),
  price: NewPrice,
  upstreams: s.nullable(s.list(SetRoute)),
  unfit: s.list(s.choice(overridable), 'Parts that are not used, because the file has changed.'),
});

const CatalogRow = s.namedObject('CatalogRow', {
  id: s.text(),
  name: s.nullable(s.text('Null, like `kind`, `task` and `unit`, if the row was never valid.')),
  kind: s.nullable(KindName),
  task: s.nullable(s.text()),
  unit: s.nullable(UnitName),
  uncensored: s.boolean(),
  file: s.text(),
  line: s.nullable(s.integer()),
  state: s.choice(['live', 'stopped', 'hidden', 'left_out']),
  reason: s.nullable(s.text('Why it is hidden.')),
  stopped: s.nullable(
    s.object({
      since: s.time(),
      by: s.text(),
      status_note: s.nullable(s.text("The operator's words to customers.")),
    }),
  ),
  override: s.nullable(ModelOverride),
  problem: s.nullable(CatalogProblem),
  price_varies: s.boolean(),
  margins: s.list(RowMargin),
  rates,
  cost_may_exceed: s.nullable(
    s.text("The catalog's own note of how a request can cost more than its charge."),
  ),
  checked_on: s.nullable(s.text('Day on which the model and its price were last checked.')),
  price_is_old: s.boolean(),
  upstreams: s.list(CatalogRoute),
});

type Row = Serializable<s.Static<typeof CatalogRow>>;

const sums = { completed: s.integer(), failed: s.integer(), cost_usd_micro: s.microUsd() };

const { price, price_by_resolution, status, status_note, ...entry } = ModelEntry.properties;
const { description, owned_by, extras, input_schema, example, max, max_unit, resolutions } = entry;

const CatalogRowDetail = s.namedObject('CatalogRowDetail', {
  ...CatalogRow.properties,
  status,
  status_note,
  price,
  price_by_resolution,
  sold: s.object(
    { price: SoldPrice, upstreams: s.list(SetRoute) },
    { description: 'As new requests are sold, in the form in which it is set.' },
  ),
  filed: s.object(
    { price: SoldPrice, upstreams: s.list(SetRoute) },
    { description: 'As in the catalog file.' },
  ),
  losses: s.list(s.text(), 'Rates that are below their stated cost.'),
  open: s.object({ waiting: s.integer(), running: s.integer() }),
  description,
  owned_by,
  extras,
  input_schema,
  example,
  max,
  max_unit,
  resolutions,
  note: s.text(),
  file_note: s.text(),
  job_age_seconds: s.number(),
  on_cancel: s.optional(s.text()),
  on_disconnect: s.optional(s.text()),
  hidden_tokens: s.optional(s.boolean()),
  input_modalities: s.optional(s.list(s.text())),
  context_tokens: s.optional(s.integer()),
  max_output_tokens: s.optional(s.integer()),
  recent: s.object({
    days: s.integer(),
    ...sums,
    uncosted: s.integer(),
    charged_usd_micro: s.signedMicroUsd('Charges less refunds.'),
    margin_usd_micro: s.signedMicroUsd(),
    by_upstream: s.list(s.object({ upstream: s.text(), ...sums })),
  }),
});

/** GET /operator/models: the rows of all files, and the problems of the files. */
export const list = operatorEndpoint(
  {
    reply: s.object({
      problems: s.list(CatalogProblem),
      files: s.list(s.object({ file: s.text(), rows: s.integer(), has_problem: s.boolean() })),
      data: s.list(CatalogRow),
    }),
  },
  async (_call, deps) => {
    const { rows, left_out, files } = deps.files.contents();
    const known = await statesOf(deps.db, deps);
    return {
      problems: deps.files.problems().map(withLine),
      files,
      data: [...rows.map((row) => viewRow(row, known, deps)), ...left_out.map(viewLeftOut)],
    };
  },
);

/** GET /operator/models/{model_id}: a row with its entry, its rates and its recent revenue. */
export const read = operatorEndpoint(
  { params: ['*'], reply: CatalogRowDetail },
  async ({ params }, deps) => {
    const row = requireRow(params, deps);
    const { model: filed, note } = row;
    await rollUpDays(deps.db);
    const [recent, known, open] = await Promise.all([
      readRevenueOf(deps.db, filed.id, days),
      statesOf(deps.db, deps),
      countOf(deps.db, { model_id: filed.id }, dueSeconds(deps)),
    ]);
    const { model, losses } = saleOf(filed, known);
    const { job_age_seconds, hidden_tokens, kind } = model;
    return {
      ...catalogEntry(model),
      ...viewRow(row, known, deps),
      sold: offerOf(model),
      filed: offerOf(filed),
      losses,
      open,
      note,
      file_note: deps.files.contents().files.find(({ file }) => file === row.file)?.note ?? '',
      job_age_seconds,
      ...(kind === 'text' && { hidden_tokens }),
      recent: viewRecent(recent),
    };
  },
);

const Sale = s.namedObject('ModelSale', {
  model_id: s.text(),
  status,
  status_note: s.nullable(s.text()),
  price,
  price_by_resolution,
  upstreams: s.list(SetRoute),
  override: s.nullable(ModelOverride),
  losses: s.list(s.text(), 'Rates that are below their stated cost.'),
});

/** PATCH /operator/models/{model_id}: how new requests are sold. */
export const change = operatorAction(
  'model.change',
  { params: ['*'], body: s.form(NewSale), reply: Sale },
  async ({ params, body: { reason = null, ...given }, by }, deps: ConsoleDeps) => {
    const { model } = requireRow(params, deps);
    return (db) => sell(model, readChange(model, given), reason, by, db, deps);
  },
);

/** DELETE /operator/models/{model_id}/override: everything is as in the catalog file. */
export const reset = operatorAction(
  'model.change',
  { params: ['model_id'], query: s.form({ reason: LogReason }), reply: Sale },
  async ({ params, query: { reason = null }, by }, deps: ConsoleDeps) => {
    const { model } = requireRow({ '*': params.model_id }, deps);
    return (db) => sell(model, asFiled, reason, by, db, deps);
  },
);

const HistoryEntry = s.namedObject('ModelHistoryEntry', {
  log_id: s.id(),
  at: s.time(),
  by: s.text(),
  reason: s.nullable(s.text()),
  before: s.nullable(s.anything('The changed fields as they were: a body that undoes the change.')),
  after: s.nullable(s.anything('The changed fields as they became. Null: nothing changed.')),
});

/** GET /operator/models/{model_id}/history: newest first. */
export const history = operatorEndpoint(
  { params: ['model_id'], query: s.form(s.pageQuery(50)), reply: s.pageOf(HistoryEntry) },
  async ({ params, query }, deps: ConsoleDeps) => {
    const { id: target } = requireRow({ '*': params.model_id }, deps).model;
    const { cursor = null, limit } = query;
    const rows = await listHistory(deps.db, { target, below_id: cursor, limit: limit + 1 });
    return pageFrom(rows, query, historyEntry);
  },
);

/** Changes how the row is sold; the answer shows the row as it is sold then. */
async function sell(
  row: Model,
  change: ModelChange,
  reason: string | null,
  by: Author,
  db: Database,
  deps: ConsoleDeps,
): Promise<ActionResult<Serializable<s.Static<typeof Sale>>>> {
  const result = await changeModel(db, by, { model_id: row.id, change, reason });
  const { model, ...sale } = saleOf(row, await readSales(db));
  const { price, price_by_resolution } = catalogEntry(model);
  const answer = {
    ...sale,
    model_id: row.id,
    price,
    ...(price_by_resolution && { price_by_resolution }),
  };
  return { ...result, answer, after: () => renewed(deps) };
}

/** Makes a change hold in this process at once; workers look for what they may start now. */
async function renewed({ hints, overrides }: ConsoleDeps): Promise<void> {
  hints.work();
  await overrides.reload();
}

/** The row that the path names. Throws `not_found`. */
function requireRow({ '*': id }: { '*': string }, { files }: ConsoleDeps): FiledRow {
  const row = files.contents().rows.find(({ model }) => model.id === id);
  if (!row) throw new ApiError('not_found');
  return row;
}

interface States extends Sales {
  /** The reasons of hidden rows, by model id. */
  hidden: ReadonlyMap<string, string>;
}

async function statesOf(db: Connection, { files }: ConsoleDeps): Promise<States> {
  const { hidden } = files.current();
  const reasons = new Map(hidden.map(({ id, reason }) => [id, reason]));
  return { ...(await readSales(db)), hidden: reasons };
}

function viewRow(row: FiledRow, known: States, deps: HttpDeps): Row {
  const { model: filed, file, line, problem } = row;
  const { model, override, upstreams } = saleOf(filed, known);
  const { id, name, kind, task, uncensored, cost_may_exceed, checked_on } = model;
  const reason = known.hidden.get(id) ?? null;
  const stop = known.stopped.get(id) ?? null;
  const route = routeOf(model, deps);
  return {
    id,
    name,
    kind,
    task,
    unit: model.price.unit,
    uncensored,
    file,
    line,
    state: reason !== null ? 'hidden' : stop === null ? 'live' : 'stopped',
    reason,
    stopped: stop,
    override,
    problem: problem && withLine(problem),
    price_varies: new Set(unitRates(model, route).map(({ price }) => price)).size > 1,
    margins: marginsOf(model, route).map(viewMargin),
    rates: unitRates(model, route).map(viewMargin),
    cost_may_exceed,
    checked_on,
    price_is_old: isPriceOld(model, dayOf(new Date())),
    upstreams: model.upstreams.map((each, at) => ({
      ...viewRoute(model, each, deps),
      ...upstreams[at]!,
    })),
  };
}

/** An unused row: its file has a problem, and no earlier version of the row is in use. */
function viewLeftOut({ id, file, line, problem }: CatalogContents['left_out'][number]): Row {
  return {
    id,
    name: null,
    kind: null,
    task: null,
    unit: null,
    uncensored: false,
    file,
    line,
    state: 'left_out',
    reason: null,
    stopped: null,
    override: null,
    problem: withLine(problem),
    price_varies: false,
    margins: [],
    rates: [],
    cost_may_exceed: null,
    checked_on: null,
    price_is_old: false,
    upstreams: [],
  };
}

/** The route that a request takes first now; its cost is shown as the row's cost. */
function routeOf({ upstreams }: Model, { connected }: ConsoleDeps): ModelUpstream {
  return upstreams.find(({ upstream }) => connected.usable(upstream) === true) ?? upstreams[0]!;
}

function viewRoute(model: Model, route: ModelUpstream, { connected }: ConsoleDeps) {
  const usable = connected.usable(route.upstream);
  return {
    ...route,
    set_up: usable === true,
    reason: usable === true ? null : usable,
    margins: marginsOf(model, route).map(viewMargin),
    rates: unitRates(model, route).map(viewMargin),
  };
}

function viewMargin<Row extends Margin>({ price, cost, margin: left, ...row }: Row) {
  return {
    ...row,
    price_usd_micro: price,
    cost_usd_micro: cost,
    margin_usd_micro: left,
  };
}

/** The rates of the units, without extras. */
function unitRates(model: Model, route: ModelUpstream) {
  return ratesOf(model, route).filter(({ of }) => of === 'unit');
}

function withLine(problem: FileProblem) {
  return { ...problem, line: problem.line ?? null };
}

function viewRecent(rows: ModelRow[]) {
  const sum = (pick: (row: ModelRow) => bigint) => rows.reduce((all, row) => all + pick(row), 0n);
  const charged = sum((row) => row.charged_usd_micro);
  const cost = sum((row) => row.cost_usd_micro);
  return {
    days,
    completed: sum((row) => row.completed),
    failed: sum((row) => row.failed),
    uncosted: sum((row) => row.uncosted),
    charged_usd_micro: charged,
    cost_usd_micro: cost,
    margin_usd_micro: charged - cost,
    by_upstream: rows,
  };
}
