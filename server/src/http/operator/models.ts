import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { FileProblem } from '../../core/catalog/catalog-file.ts';
import type { Model, ModelUpstream } from '../../core/catalog/catalog.ts';
import { dayOf, isPriceOld } from '../../core/catalog/checked-on.ts';
import { ApiError } from '../../core/errors.ts';
import { marginsOf, ratesOf, type Margin } from '../../core/catalog/margin.ts';
import { revenueOf, type ModelRow } from '../../db/accounts/revenue.ts';
import * as stopped from '../../db/stopped-models.ts';
import { setModelStatus } from '../../operations/upstreams/stop-model.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import type { CatalogContents, FiledRow } from '../../catalog/contents.ts';
import { KindName, Model as ModelEntry, UnitName } from '../api/model-schema.ts';
import * as s from '../schemas/schema.ts';
import type { Serializable } from '../schemas/serialize.ts';
import type { ActionResult, Author } from '../../operations/operator-action.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { pageFrom } from '../form.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import type { ConsoleDeps, HttpDeps } from '../deps.ts';

/** The catalog as its files define it, with what callers do not see, such as margins. */

const days = 30;

const CatalogProblem = s.named(
  'CatalogProblem',
  s.object({ file: s.text(), path: s.text(), message: s.text(), line: s.nullable(s.integer()) }),
);

const margin = {
  of: s.choice(['unit', 'with_extras', 'input', 'output', 'cached_input', 'cache_write']),
  price_usd_micro: s.microUsd(),
  cost_usd_micro: s.nullable(s.microUsd()),
  margin_usd_micro: s.nullable(s.signedMicroUsd()),
  margin_ppm: s.nullable(s.integer()),
};
const RowMargin = s.named('RowMargin', s.object(margin));
const RowRate = s.named('RowRate', s.object({ resolution: s.nullable(s.text()), ...margin }));

const CatalogRoute = s.named(
  'CatalogRoute',
  object({
    upstream: text(),
    model: text('The name of the model at the upstream.'),
    weight: nullable(number()),
    input_mapping: record(text()),
    input_defaults: anything(),
    set_up: boolean(),
    reason: nullable(text('Why it is not set up.')),
    margins: listOf(RowMargin),
  }),
);

const CatalogRow = named(
  'CatalogRow',
  object({
    id: text(),
    name: nullable(text('Null, like `kind`, `task` and `unit`, if the row was never valid.')),
    kind: nullable(KindName),
    task: nullable(text()),
    unit: nullable(UnitName),
    uncensored: boolean(),
    file: text(),
    line: nullable(integer()),
    state: choice(['live', 'stopped', 'hidden', 'left_out']),
    reason: nullable(text('Why it is hidden.')),
    stopped: nullable(object({ since: time(), by: text() })),
    problem: nullable(CatalogProblem),
    price_varies: boolean(),
    margins: listOf(RowMargin),
    cost_may_exceed: nullable(
      text("The catalog's own note of how a request can cost more than its charge."),
    ),
    checked_on: nullable(text('Day on which the model and its price were last checked.')),
    price_is_old: boolean(),
    upstreams: listOf(CatalogRoute),
  }),
);

type Row = Sendable<Static<typeof CatalogRow>>;

const sums = { completed: integer(), failed: integer(), cost_usd_micro: microUsd() };

const { description, owned_by, extras, input_schema, example, max, max_unit, resolutions } =
  ModelEntry.properties;

const CatalogRowDetail = named(
  'CatalogRowDetail',
  s.object({
    ...CatalogRow.properties,
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
    rates: s.list(RowRate),
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
  }),
);

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
    const known = await statesOf(deps);
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
    const row = rowOf(params, deps);
    const { model, note } = row;
    const { job_age_seconds, hidden_tokens, kind } = model;
    await rollUpDays(deps.db);
    const recent = await revenueOf(deps.db, model.id, days);
    return {
      ...catalogEntry(model),
      ...viewRow(row, await statesOf(deps), deps),
      note,
      file_note: deps.files.contents().files.find(({ file }) => file === row.file)?.note ?? '',
      rates: unitRates(model, routeOf(model, deps)).map(viewMargin),
      job_age_seconds,
      ...(kind === 'text' && { hidden_tokens }),
      recent: viewRecent(recent),
    };
  },
);

const status = choice(['live', 'stopped'], '`stopped`: none of its requests start.');

/** PATCH /operator/models/{model_id} */
export const change = operatorAction(
  'model.stop',
  {
    params: ['*'],
    body: form({
      status,
      reason: optional(nullable(text("For the operator's log.", { minLength: 1, maxLength: 500 }))),
    }),
    reply: object({ model_id: text(), status }),
  },
  async ({ params, body: { status, reason = null }, by }, deps) => {
    const { id: model_id } = rowOf(params, deps).model;
    const after = () => deps.hints.work();
    return async (db) => ({
      ...(await setModelStatus(db, by, { model_id, status, reason })),
      after,
    });
  },
);

/** The row that the path names. Throws `not_found`. */
function rowOf({ '*': id }: { '*': string }, { files }: ConsoleDeps): FiledRow {
  const row = files.contents().rows.find(({ model }) => model.id === id);
  if (!row) throw new ApiError('not_found');
  return row;
}

/** By model id: the reasons of hidden rows, and the stops of stopped models. */
interface States {
  hidden: ReadonlyMap<string, string>;
  stopped: ReadonlyMap<string, { since: Date; by: string }>;
}

async function statesOf({ db, files }: HttpDeps): Promise<States> {
  const { hidden } = files.current();
  return {
    hidden: new Map(hidden.map(({ id, reason }) => [id, reason])),
    stopped: new Map(
      (await stopped.list(db)).map(({ model_id, stopped_at, stopped_by }) => [
        model_id,
        { since: stopped_at, by: stopped_by },
      ]),
    ),
  };
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
    problem: problem && withLine(problem),
    price_varies: new Set(unitRates(model, route).map(({ price }) => price)).size > 1,
    margins: marginsOf(model, route).map(viewMargin),
    cost_may_exceed,
    checked_on,
    price_is_old: isPriceOld(model, dayOf(new Date())),
    upstreams: model.upstreams.map((each) => viewRoute(model, each, deps)),
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
    problem: withLine(problem),
    price_varies: false,
    margins: [],
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
