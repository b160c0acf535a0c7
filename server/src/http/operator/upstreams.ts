import { ApiError } from '../../core/errors.ts';
import { paceMax, paces, startPaces, type Pace, type StartPace } from '../../db/pace.ts';
import * as queue from '../../db/queue.ts';
import { costsByUpstream, type UpstreamCosts } from '../../db/revenue.ts';
import { redact } from '../../lib/log.ts';
import type { Database } from '../../lib/sql.ts';
import { endRest, noteKeyTaken } from '../../operations/circuit.ts';
import { rollUpDays } from '../../operations/roll-up.ts';
import { keyStates, type KeyShown } from '../../operations/upstream-keys.ts';
import { builtIn } from '../../upstreams/index.ts';
import { isWell, lookAt } from '../../upstreams/look.ts';
import { text } from '../session/entry.ts';
import { optional } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Visit, WebDeps } from '../session/visit.ts';
import type { Deed } from './action.ts';

/** The upstreams: how they are set up, how they do, and what they take. */

const hour = 3_600;
const day = 24 * hour;
/** A day's sums take many rows, and move little in that time, however many pages look at them. */
const dayFreshMs = 15_000;
/** Somebody waits for it at a page. */
const lookMaxMs = 45_000;

/** GET /upstreams */
export const list: VisitHandler = async (_visit, _reply, deps) => {
  const { db } = deps;
  const defined = namesOf(deps);
  const [states, keys, lately, today] = await Promise.all([
    queue.upstreamStates(db, defined),
    keyStates(db, deps.upstreams),
    latelyOf(db, hour),
    wholeDay(db),
  ]);
  const names = states.map(({ name }) => name);
  const resting = await queue.restingModels(db, names);
  const now = Date.now();
  return {
    counted_max: paceMax,
    data: states.map((state) => ({
      ...setUpOf(state.name, deps),
      ...stateShown(state, now),
      resting_models: resting
        .filter(({ upstream }) => upstream === state.name)
        .map((each) => restingShown(each, now)),
      keys: keys
        .filter(({ upstream }) => upstream === state.name)
        .map((each) => keyShown(each, now)),
      last_hour: figuresOf(state.name, lately),
      last_day: figuresOf(state.name, today.lately),
      ...costsOf(state.name, today.costs),
    })),
  };
};

/** Those that come with Farebox, those that files define, and those that were given otherwise. */
function namesOf({ files, upstreams }: WebDeps): string[] {
  const defined = files.contents().upstreams.map(({ definition }) => definition.name);
  return [...new Set([...builtIn, ...defined, ...upstreams.keys()])];
}

function setUpOf(name: string, { files, connected, upstreams }: WebDeps) {
  const { upstreams: definitions, rows } = files.contents();
  const found = definitions.find(({ definition }) => definition.name === name);
  const usable = connected.usable(name);
  const live = upstreams.get(name);
  return {
    name,
    ...connected.about(name),
    file: found?.file ?? null,
    variables: found ? variablesOf(found.definition) : [],
    set_up: usable === true,
    reason: usable === true ? null : usable,
    class: live?.class ?? null,
    concurrency: live?.concurrency ?? found?.definition.concurrency ?? null,
    rows: rows.filter(({ model }) => model.upstreams.some(({ upstream }) => upstream === name))
      .length,
  };
}

/** Which it is set up by; their names only. */
function variablesOf(definition: Record<'url_from' | 'key_from' | 'secret_from', string | null>) {
  const { url_from, key_from, secret_from } = definition;
  return [url_from, key_from, secret_from].filter((name) => name !== null);
}

function stateShown(state: queue.UpstreamState, now: number) {
  const { waiting, oldest_seconds, in_use } = state;
  return {
    waiting,
    waiting_more: waiting >= queue.waitingMax,
    oldest_seconds: waiting > 0 ? Math.round(oldest_seconds) : null,
    in_use,
    ...troubleShown(state, now),
  };
}

function restingShown({ model, ...trouble }: queue.RestingModel, now: number) {
  return { model, ...troubleShown(trouble, now) };
}

function keyShown({ key, in_use, resting_models, ...trouble }: KeyShown, now: number) {
  const models = resting_models.map((each) => restingShown(each, now));
  return { key, in_use, ...troubleShown(trouble, now), resting_models: models };
}

function troubleShown(
  trouble: Pick<
    queue.UpstreamState,
    'resting_seconds' | 'failures' | 'last_error' | 'last_error_at'
  >,
  now: number,
) {
  const { resting_seconds: left, failures, last_error, last_error_at } = trouble;
  return {
    resting_until: left > 0 ? new Date(now + left * 1000).toISOString() : null,
    failures,
    last_error: last_error === null ? null : redact(last_error),
    last_error_at: last_error_at?.toISOString() ?? null,
  };
}

interface Lately {
  paces: Map<string, Pace>;
  starts: Map<string, StartPace>;
}

async function latelyOf(db: Database, seconds: number): Promise<Lately> {
  const now = Date.now();
  const [runs, starts] = await Promise.all([paces(db, seconds, now), startPaces(db, seconds, now)]);
  return {
    paces: new Map(runs.map((each) => [each.upstream, each])),
    starts: new Map(starts.map((each) => [each.upstream, each])),
  };
}

interface Day {
  lately: Lately;
  costs: Map<string, UpstreamCosts>;
}

const newestDays = new WeakMap<Database, { at: number; figures: Promise<Day> }>();

/** As it was read a moment ago, or read anew; several readers share one reading. */
function wholeDay(db: Database): Promise<Day> {
  const known = newestDays.get(db);
  if (known && performance.now() - known.at < dayFreshMs) return known.figures;
  const figures = readDay(db);
  newestDays.set(db, { at: performance.now(), figures });
  figures.catch(() => newestDays.delete(db));
  return figures;
}

async function readDay(db: Database): Promise<Day> {
  await rollUpDays(db);
  const [lately, costs] = await Promise.all([latelyOf(db, day), costsByUpstream(db)]);
  return { lately, costs: new Map(costs.map((each) => [each.upstream, each])) };
}

function figuresOf(name: string, lately: Lately) {
  const run = lately.paces.get(name);
  const start = lately.starts.get(name);
  const { completed = 0, failed = 0, rejected = 0 } = run ?? {};
  const ended = completed + failed;
  return {
    completed,
    failed,
    rejected,
    error_ppm: ended === 0 ? null : Math.round((failed * 1_000_000) / ended),
    starts: start?.starts ?? 0,
    starts_refused: start?.refused ?? 0,
    start_median_ms: whole(start?.start_median_ms),
    start_p95_ms: whole(start?.start_p95_ms),
    run_median_ms: whole(run?.run_median_ms),
    run_p95_ms: whole(run?.run_p95_ms),
  };
}

function whole(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : Math.round(ms);
}

function costsOf(name: string, costs: ReadonlyMap<string, UpstreamCosts>) {
  const { today_usd_micro = 0n, month_usd_micro = 0n, uncosted = 0n } = costs.get(name) ?? {};
  return {
    cost_today_usd_micro: String(today_usd_micro),
    cost_month_usd_micro: String(month_usd_micro),
    uncosted_month: Number(uncosted),
  };
}

/** POST /upstreams/:upstream/wake {model?}: it is called again at once. */
export const wake: Deed = async (form, visit, deps) => {
  const upstream = await need(visit, deps);
  const model = optional(form, 'model', (of, name) => text(of, name, 2_000));
  return async (db) => {
    const rested = await endRest(db, upstream, model);
    const after = () => deps.hints.work();
    return { answer: { rested }, target: upstream, details: { model, rested }, after };
  };
};

/** POST /upstreams/:upstream/test: asks it whether it is well; nothing that costs. */
export const test: Deed = async (_form, visit, deps) => {
  const name = await need(visit, deps);
  const { connected, upstreams, trusted: fetch, files } = deps;
  const looked = {
    name,
    about: connected.about(name),
    usable: connected.usable(name),
    upstream: upstreams.get(name),
    rows: files.contents().rows.map(({ model }) => model),
    fetch,
  };
  const look = await lookAt(looked, AbortSignal.timeout(lookMaxMs));
  const problems = look.problems.map(redact);
  const ok = isWell(look);
  const { answers, credential_taken, missing } = look;
  return async (db) => {
    if (credential_taken) await noteKeyTaken(db, name, null);
    for (const { key, taken } of look.keys) if (taken) await noteKeyTaken(db, name, key);
    const details = { ok, answers, credential_taken, missing: missing.length };
    return { answer: { ok, ...look, problems }, target: name, details };
  };
};

/** The upstream that the path names. Throws `not_found`. */
async function need(visit: Visit, deps: WebDeps): Promise<string> {
  const { upstream } = visit.params as { upstream: string };
  if (namesOf(deps).includes(upstream)) return upstream;
  const states = await queue.upstreamStates(deps.db, []);
  if (states.some(({ name }) => name === upstream)) return upstream;
  throw new ApiError('not_found');
}
