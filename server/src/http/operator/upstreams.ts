import { ApiError } from '../../core/errors.ts';
import { countOf } from '../../db/requests/open-requests.ts';
import {
  readHours,
  latencyRowsMax,
  runLatencies,
  startLatencies,
  type RunLatency,
  type StartLatency,
} from '../../db/requests/start-latency.ts';
import * as controls from '../../db/upstreams/controls.ts';
import * as upstreamStates from '../../db/upstreams/states.ts';
import { readCostsByUpstream, type UpstreamCosts } from '../../db/accounts/revenue.ts';
import { redact } from '../../lib/log.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { noteKeyTaken } from '../../operations/upstreams/circuit.ts';
import * as control from '../../operations/upstreams/control.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import { dueSeconds } from '../requests/queue.ts';
import { LogReason } from '../schemas/operator.ts';
import { readKeyStates } from '../../operations/upstreams/upstream-keys.ts';
import { builtIn } from '../../upstreams/index.ts';
import { isHealthy, checkUpstream } from '../../upstreams/check-upstream.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import type { ConsoleDeps, HttpDeps, RequestDeps } from '../deps.ts';

/** The upstreams: their setup, state, speed and cost. */

const hour = 3_600;
const day = 24 * hour;
/**
 * The sums of a day read many rows and change little in this time, so all pages share one reading.
 */
const dayFreshMs = 15_000;
/** Time limit of a test, because somebody waits for it at a page. */
const lookMaxMs = 45_000;

const trouble = {
  paused_until: s.nullable(s.time()),
  failures: s.integer('Consecutive failures.'),
  last_error: s.nullable(s.text()),
  last_error_at: s.nullable(s.time()),
};
const PausedModel = s.namedObject('PausedModel', { model: s.text(), ...trouble });

const UpstreamKey = s.namedObject('UpstreamKey', {
  key: s.text("The key's name."),
  in_use: s.integer(),
  ...trouble,
  paused_models: s.list(PausedModel),
});

const UpstreamFigures = s.namedObject('UpstreamFigures', {
  completed: s.integer(),
  failed: s.integer(),
  rejected: s.integer(),
  error_ppm: s.nullable(s.integer()),
  starts: s.integer(),
  starts_refused: s.integer(),
  start_median_ms: s.nullable(s.integer()),
  start_p95_ms: s.nullable(s.integer()),
  run_median_ms: s.nullable(s.integer()),
  run_p95_ms: s.nullable(s.integer()),
});

const StoredKey = s.namedObject(
  'StoredKey',

  {
    ends_with: s.list(s.text(), 'The last characters of each key.'),
    sealed_with: s.text('The fingerprint of the signing secret that encrypts it.'),
  },
  { description: 'A key that an operator has set. It is used in place of the variable.' },
);

const Upstream = s.namedObject('Upstream', {
  name: s.text(),
  adapter: s.nullable(s.text()),
  url: s.nullable(s.text()),
  has_credential: s.boolean(),
  file: s.nullable(s.text()),
  variables: s.list(s.text(), 'Names of the environment variables that set it up.'),
  set_up: s.boolean(),
  reason: s.nullable(s.text('Why it is not set up.')),
  class: s.nullable(s.text()),
  concurrency: s.nullable(s.integer()),
  rows: s.integer('Number of catalog rows.'),
  state: s.choice(
    controls.controlStates,
    '`draining`: nothing new starts there. `off`: it is not called at all.',
  ),
  changed: s.nullable(
    s.object({ at: s.time(), by: s.text() }, { description: 'The newest change of state or key.' }),
  ),
  stored_key: s.nullable(StoredKey),
  waiting: s.integer(),
  waiting_more: s.boolean('True if more are waiting than are counted.'),
  oldest_seconds: s.nullable(s.integer()),
  in_use: s.integer(),
  ...trouble,
  paused_models: s.list(PausedModel),
  keys: s.list(UpstreamKey, 'Empty unless the upstream has several keys.'),
  last_hour: UpstreamFigures,
  last_day: UpstreamFigures,
  cost_today_usd_micro: s.microUsd(),
  cost_month_usd_micro: s.microUsd(),
  uncosted_month: s.integer(),
});

/** GET /operator/upstreams */
export const list = operatorEndpoint(
  { reply: s.object({ counted_max: s.integer(), data: s.list(Upstream) }) },
  async (_call, deps) => ({ counted_max: latencyRowsMax, data: await viewsOf(deps) }),
);

const UpstreamHour = s.namedObject('UpstreamHour', {
  from: s.time(),
  completed: s.integer(),
  failed: s.integer(),
  rejected: s.integer(),
  run_median_ms: s.nullable(s.integer()),
  run_p95_ms: s.nullable(s.integer()),
  cost_usd_micro: s.microUsd(),
});

const UpstreamDetail = s.namedObject('UpstreamDetail', {
  ...Upstream.properties,
  counted_max: s.integer(),
  open: s.object({ waiting: s.integer(), running: s.integer() }),
  hours: s.list(UpstreamHour, 'The last 24 hours, oldest first; hours without requests too.'),
  sells: s.list(s.object({ model_id: s.text(), name: s.text() }), 'The rows that use it.'),
});

/** GET /operator/upstreams/{upstream} */
export const read = operatorEndpoint(
  { params: ['upstream'], reply: UpstreamDetail },
  async ({ params }, deps) => {
    const name = await requireUpstreamIn(params, deps);
    const now = Date.now();
    const [views, open, hours] = await Promise.all([
      viewsOf(deps),
      countOf(deps.db, { upstream: name }, dueSeconds(deps)),
      readHours(deps.db, name, now),
    ]);
    const { rows } = deps.files.contents();
    return {
      ...views.find((each) => each.name === name)!,
      counted_max: latencyRowsMax,
      open,
      hours: hours.map(({ run_median_ms, run_p95_ms, ...each }) => ({
        ...each,
        run_median_ms: wholeMs(run_median_ms),
        run_p95_ms: wholeMs(run_p95_ms),
      })),
      sells: rows
        .filter(({ model }) => model.upstreams.some(({ upstream }) => upstream === name))
        .map(({ model }) => ({ model_id: model.id, name: model.name })),
    };
  },
);

async function viewsOf(deps: HttpDeps) {
  const { db } = deps;
  const defined = namesOf(deps);
  const [states, keys, set, lately, today] = await Promise.all([
    upstreamStates.readUpstreamStates(db, defined),
    readKeyStates(db, deps.upstreams),
    controls.list(db),
    readRecentLatency(db, hour),
    fullDay(deps),
  ]);
  const names = states.map(({ name }) => name);
  const paused = await upstreamStates.listPausedModels(db, names);
  const now = Date.now();
  return states.map((state) => ({
    ...setUpOf(state.name, deps),
    ...withPause(state, now),
    ...controlOf(set.find(({ name }) => name === state.name)),
    waiting_more: state.waiting >= upstreamStates.waitingMax,
    oldest_seconds: state.waiting > 0 ? Math.round(state.oldest_seconds) : null,
    paused_models: paused
      .filter(({ upstream }) => upstream === state.name)
      .map((each) => withPause(each, now)),
    keys: keys
      .filter(({ upstream }) => upstream === state.name)
      .map(({ paused_models, ...key }) => ({
        ...withPause(key, now),
        paused_models: paused_models.map((each) => withPause(each, now)),
      })),
    last_hour: figuresOf(state.name, lately),
    last_day: figuresOf(state.name, today.lately),
    ...costsOf(state.name, today.costs),
  }));
}

/** An upstream about which no operator has set anything is on. */
function controlOf(set: controls.Control | undefined) {
  if (set === undefined) return { state: 'on' as const, changed: null, stored_key: null };
  const { state, changed_at: at, changed_by: by, key_tails, sealed_with } = set;
  const stored_key = key_tails && { ends_with: key_tails, sealed_with };
  return { state, changed: { at, by }, stored_key };
}

/** Names of all upstreams: built in, defined in files, or set up in another way. */
function namesOf({ files, upstreams }: ConsoleDeps): string[] {
  const defined = files.contents().upstreams.map(({ definition }) => definition.name);
  return [...new Set([...builtIn, ...defined, ...upstreams.keys()])];
}

function setUpOf(name: string, { files, connected, upstreams }: ConsoleDeps) {
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

/** Names of the environment variables that set the upstream up, without their values. */
function variablesOf(definition: Record<'url_from' | 'key_from' | 'secret_from', string | null>) {
  const { url_from, key_from, secret_from } = definition;
  return [url_from, key_from, secret_from].filter((name) => name !== null);
}

function withPause<Row extends { paused_seconds: number; last_error: string | null }>(
  row: Row,
  now: number,
) {
  const { paused_seconds: left, last_error } = row;
  return {
    ...row,
    paused_until: left > 0 ? new Date(now + left * 1000) : null,
    last_error: last_error && redact(last_error),
  };
}

interface RecentLatency {
  paces: Map<string, RunLatency>;
  starts: Map<string, StartLatency>;
}

async function readRecentLatency(db: Database, seconds: number): Promise<RecentLatency> {
  const now = Date.now();
  const [runs, starts] = await Promise.all([
    runLatencies(db, seconds, now),
    startLatencies(db, seconds, now),
  ]);
  return {
    paces: new Map(runs.map((each) => [each.upstream, each])),
    starts: new Map(starts.map((each) => [each.upstream, each])),
  };
}

interface Day {
  lately: RecentLatency;
  costs: Map<string, UpstreamCosts>;
}

const newestDays = new WeakMap<HttpDeps['upstreams'], { at: number; figures: Promise<Day> }>();

/** The last reading if it is recent, else a new reading, which all pages share. */
function fullDay({ db, upstreams }: RequestDeps): Promise<Day> {
  const known = newestDays.get(upstreams);
  if (known && performance.now() - known.at < dayFreshMs) return known.figures;
  const figures = readDay(db);
  newestDays.set(upstreams, { at: performance.now(), figures });
  figures.catch(() => newestDays.delete(upstreams));
  return figures;
}

async function readDay(db: Database): Promise<Day> {
  await rollUpDays(db);
  const [lately, costs] = await Promise.all([readRecentLatency(db, day), readCostsByUpstream(db)]);
  return { lately, costs: new Map(costs.map((each) => [each.upstream, each])) };
}

function figuresOf(name: string, lately: RecentLatency) {
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
    start_median_ms: wholeMs(start?.start_median_ms),
    start_p95_ms: wholeMs(start?.start_p95_ms),
    run_median_ms: wholeMs(run?.run_median_ms),
    run_p95_ms: wholeMs(run?.run_p95_ms),
  };
}

function wholeMs(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : Math.round(ms);
}

function costsOf(name: string, costs: ReadonlyMap<string, UpstreamCosts>) {
  const { today_usd_micro = 0n, month_usd_micro = 0n, uncosted = 0n } = costs.get(name) ?? {};
  return {
    cost_today_usd_micro: today_usd_micro,
    cost_month_usd_micro: month_usd_micro,
    uncosted_month: uncosted,
  };
}

/** PATCH /operator/upstreams/{upstream}: switches it on or off, or lets it drain. */
export const change = operatorAction(
  'upstream.state',
  {
    params: ['upstream'],
    body: s.form({ state: s.choice(controls.controlStates), reason: LogReason }),
    reply: s.object({
      name: s.text(),
      state: s.choice(controls.controlStates),
      open: s.object({ waiting: s.integer(), running: s.integer() }),
    }),
  },
  async ({ params, body: { state, reason = null }, by }, deps: ConsoleDeps) => {
    const name = await requireUpstreamIn(params, deps);
    return async (db) => {
      const done = await control.setState(db, by, { name, state, reason });
      const open = await countOf(db, { upstream: name }, dueSeconds(deps));
      const details = { ...done.details, ...open };
      return { ...done, answer: { name, state, open }, details, after: () => deps.hints.work() };
    };
  },
);

/** PUT /operator/upstreams/{upstream}/key: the key in place of the variable; null: none. */
export const setKey = operatorAction(
  'upstream.key',
  {
    params: ['upstream'],
    body: s.form({
      key: s.nullable(
        s.text('The key, or several with spaces between them. It is never shown again.', {
          minLength: 1,
          maxLength: 4000,
        }),
      ),
      reason: LogReason,
    }),
    reply: s.object({
      name: s.text(),
      stored_key: s.nullable(StoredKey),
    }),
  },
  async ({ params, body: { key, reason = null }, by }, deps: ConsoleDeps) => {
    const name = await requireUpstreamIn(params, deps);
    const { upstreams } = deps.files.contents();
    const definition = upstreams.find((each) => each.definition.name === name)?.definition;
    const after = () => deps.overrides.reload();
    return async (db) => ({
      ...(await control.setKey(db, by, deps.secrets[0]!, { name, key, definition, reason })),
      after,
    });
  },
);

/** POST /operator/upstreams/{upstream}/resume: ends its pause, or that of one model at it. */
export const resume = operatorAction(
  'upstream.wake',
  {
    params: ['upstream'],
    body: s.form({
      model: s.optional(s.nullable(s.text(undefined, { minLength: 1, maxLength: 2000 }))),
    }),
    reply: s.object({ was_paused: s.boolean() }),
  },
  async ({ params, body: { model = null } }, deps: ConsoleDeps) => {
    const upstream = await requireUpstreamIn(params, deps);
    const after = () => deps.hints.work();
    return async (db) => ({ ...(await control.resume(db, upstream, model)), after });
  },
);

const UpstreamCheck = s.namedObject('UpstreamCheck', {
  ok: s.boolean(),
  name: s.text(),
  adapter: s.nullable(s.text()),
  url: s.nullable(s.text()),
  has_credential: s.boolean(),
  set_up: s.boolean(),
  reason: s.nullable(s.text()),
  answers: s.nullable(s.boolean('Null: not asked.')),
  credential_taken: s.nullable(s.boolean('Null: not tried.')),
  keys: s.list(
    s.object({ key: s.text(), taken: s.nullable(s.boolean()) }),
    'The result for each key, if there are several.',
  ),
  rows: s.integer(),
  listed: s.nullable(s.integer('Number of models that the upstream lists.')),
  missing: s.list(s.object({ id: s.text(), model: s.text(), at: s.integer() })),
  problems: s.list(s.text()),
});

/** POST /operator/upstreams/{upstream}/test: checks the upstream with calls that cost nothing. */
export const test = operatorAction(
  'upstream.test',
  { params: ['upstream'], reply: UpstreamCheck },
  async ({ params }, deps: ConsoleDeps) => {
    const name = await requireUpstreamIn(params, deps);
    const { connected, upstreams, trusted: fetch, files } = deps;
    const looked = {
      name,
      about: connected.about(name),
      usable: connected.usable(name),
      upstream: upstreams.get(name),
      rows: files.contents().rows.map(({ model }) => model),
      fetch,
    };
    const look = await checkUpstream(looked, AbortSignal.timeout(lookMaxMs));
    const problems = look.problems.map(redact);
    const ok = isHealthy(look);
    const { answers, credential_taken, missing } = look;
    return async (db) => {
      if (credential_taken) await noteKeyTaken(db, name, null);
      for (const { key, taken } of look.keys) if (taken) await noteKeyTaken(db, name, key);
      const details = { ok, answers, credential_taken, missing: missing.length };
      return { answer: { ok, ...look, problems }, target: name, details };
    };
  },
);

/** The upstream that the path names. Throws `not_found`. */
async function requireUpstreamIn(params: { upstream: string }, deps: ConsoleDeps): Promise<string> {
  const upstream = params.upstream;
  if (namesOf(deps).includes(upstream)) return upstream;
  const states = await upstreamStates.readUpstreamStates(deps.db, []);
  if (states.some(({ name }) => name === upstream)) return upstream;
  throw new ApiError('not_found');
}
