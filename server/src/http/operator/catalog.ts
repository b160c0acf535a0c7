import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Problem } from '../../core/catalog/catalog-file.ts';
import type { Model, ModelUpstream } from '../../core/catalog/catalog.ts';
import { dayOf, isPriceOld } from '../../core/catalog/checked-on.ts';
import { ApiError } from '../../core/errors.ts';
import { marginsOf, ratesOf, type Margin } from '../../core/catalog/margin.ts';
import { revenueOf, type ModelRow } from '../../db/revenue.ts';
import * as stopped from '../../db/stopped-models.ts';
import { resumeModel, stopModel } from '../../operations/stop-model.ts';
import { rollUpDays } from '../../operations/roll-up.ts';
import type { CatalogContents, FiledRow } from '../../storage/catalog-contents.ts';
import { text } from '../session/entry.ts';
import { optional, parameter } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { WebDeps } from '../session/visit.ts';
import type { Deed } from './action.ts';

/** The catalog as its files say it: also what callers do not see, and what is left of a price. */

const days = 30;

/** GET /catalog: every row that stands in a file, and what is wrong with the files. */
export const list: VisitHandler = async (_visit, _reply, deps) => {
  const { rows, left_out, files: read } = deps.files.contents();
  const known = await statesOf(deps);
  return {
    problems: deps.files.problems().map(problemShown),
    files: read.map(({ note: _note, ...file }) => file),
    data: [...rows.map((row) => rowShown(row, known, deps)), ...left_out.map(leftOutShown)],
  };
};

/** GET /catalog/row?id=: one row, with its rates, its form, and what it brought lately. */
export const read: VisitHandler = async (visit, _reply, deps) => {
  const id = parameter(visit, 'id');
  const contents = deps.files.contents();
  const row = contents.rows.find(({ model }) => model.id === id);
  if (!row) throw new ApiError('not_found');
  await rollUpDays(deps.db);
  const { model } = row;
  const { extras, input_schema, example, max, max_unit, resolutions } = catalogEntry(model);
  return {
    ...rowShown(row, await statesOf(deps), deps),
    description: model.description,
    owned_by: model.owned_by,
    note: row.note,
    file_note: fileNote(contents, row.file),
    extras,
    input_schema,
    example,
    max,
    max_unit,
    resolutions,
    rates: ratesShown(model, routeOf(model, deps)),
    job_age_seconds: model.job_age_seconds,
    ...(model.kind === 'text' && {
      on_disconnect: model.on_disconnect,
      hidden_tokens: model.hidden_tokens,
      input_modalities: model.input_modalities,
      context_tokens: model.context_tokens,
      max_output_tokens: model.max_output_tokens,
    }),
    recent: recentShown(await revenueOf(deps.db, model.id, days)),
  };
};

/** POST /catalog/row/stop {id, reason?}: no request of it starts until it is resumed. */
export const stop: Deed = async (form, visit, deps) => {
  const { id } = modelIn(form, deps);
  const reason = optional(form, 'reason', (of, name) => text(of, name, 500));
  return async (db) => {
    const after = () => deps.hints.work();
    return { ...(await stopModel(db, visit.session, id, reason)), after };
  };
};

/** POST /catalog/row/resume {id} */
export const resume: Deed = async (form, _visit, deps) => {
  const { id } = modelIn(form, deps);
  const after = () => deps.hints.work();
  return async (db) => ({ ...(await resumeModel(db, id)), after });
};

/** Throws `not_found`. */
function modelIn(form: Record<string, unknown>, { files }: WebDeps): Model {
  const id = text(form, 'id', 128);
  const row = files.contents().rows.find(({ model }) => model.id === id);
  if (!row) throw new ApiError('not_found');
  return row.model;
}

/** Why rows are hidden, and which are stopped, by their ids. */
interface States {
  hidden: ReadonlyMap<string, string>;
  stopped: ReadonlyMap<string, { since: string; by: string }>;
}

async function statesOf({ db, files }: WebDeps): Promise<States> {
  const { hidden } = files.current();
  return {
    hidden: new Map(hidden.map(({ id, reason }) => [id, reason])),
    stopped: new Map(
      (await stopped.list(db)).map(({ model_id, stopped_at, stopped_by }) => [
        model_id,
        { since: stopped_at.toISOString(), by: stopped_by },
      ]),
    ),
  };
}

function rowShown(row: FiledRow, known: States, deps: WebDeps) {
  const { model, file, line, problem } = row;
  const reason = known.hidden.get(model.id) ?? null;
  const stop = known.stopped.get(model.id) ?? null;
  const route = routeOf(model, deps);
  return {
    id: model.id,
    name: model.name,
    kind: model.kind,
    task: model.task,
    unit: model.price.unit,
    uncensored: model.uncensored,
    file,
    line,
    state: reason !== null ? 'hidden' : stop === null ? 'live' : 'stopped',
    reason,
    stopped: stop,
    problem: problem && problemShown(problem),
    price_varies: new Set(unitRates(model, route).map(({ price }) => price)).size > 1,
    margins: marginsOf(model, route).map(marginShown),
    cost_may_exceed: model.cost_may_exceed,
    checked_on: model.checked_on,
    price_is_old: isPriceOld(model, dayOf(new Date())),
    upstreams: model.upstreams.map((each) => routeShown(model, each, deps)),
  };
}

/** What stands in a file with a problem, and was never good. */
function leftOutShown({ id, file, line, problem }: CatalogContents['left_out'][number]) {
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
    problem: problemShown(problem),
    price_varies: false,
    margins: [],
    cost_may_exceed: null,
    checked_on: null,
    price_is_old: false,
    upstreams: [],
  };
}

/** Where a request goes first, as things are: what it costs there is its cost. */
function routeOf({ upstreams }: Model, { connected }: WebDeps): ModelUpstream {
  return upstreams.find(({ upstream }) => connected.usable(upstream) === true) ?? upstreams[0]!;
}

function routeShown(model: Model, route: ModelUpstream, { connected }: WebDeps) {
  const { upstream, model: theirs, weight, input_mapping, input_defaults } = route;
  const usable = connected.usable(upstream);
  return {
    upstream,
    model: theirs,
    weight,
    input_mapping,
    input_defaults,
    set_up: usable === true,
    reason: usable === true ? null : usable,
    margins: marginsOf(model, route).map(marginShown),
  };
}

function marginShown({ of, price, cost, margin, margin_ppm }: Margin) {
  return {
    of,
    price_usd_micro: String(price),
    cost_usd_micro: cost === null ? null : String(cost),
    margin_usd_micro: margin === null ? null : String(margin),
    margin_ppm,
  };
}

/** Without extras. */
function unitRates(model: Model, route: ModelUpstream) {
  return ratesOf(model, route).filter(({ of }) => of === 'unit');
}

function ratesShown(model: Model, route: ModelUpstream) {
  return unitRates(model, route).map(({ resolution, ...rate }) => ({
    resolution,
    ...marginShown(rate),
  }));
}

function fileNote({ files }: CatalogContents, file: string): string {
  return files.find((each) => each.file === file)?.note ?? '';
}

function problemShown({ file, path, message, line }: Problem) {
  return { file, path, message, line: line ?? null };
}

function recentShown(rows: ModelRow[]) {
  const sum = (pick: (row: ModelRow) => bigint) => rows.reduce((all, row) => all + pick(row), 0n);
  const charged = sum((row) => row.charged_usd_micro);
  const cost = sum((row) => row.cost_usd_micro);
  return {
    days,
    completed: Number(sum((row) => row.completed)),
    failed: Number(sum((row) => row.failed)),
    uncosted: Number(sum((row) => row.uncosted)),
    charged_usd_micro: String(charged),
    cost_usd_micro: String(cost),
    margin_usd_micro: String(charged - cost),
    by_upstream: rows.map(({ upstream, completed, failed, cost_usd_micro }) => ({
      upstream,
      completed: Number(completed),
      failed: Number(failed),
      cost_usd_micro: String(cost_usd_micro),
    })),
  };
}
