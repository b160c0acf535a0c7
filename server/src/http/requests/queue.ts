import { ApiError } from '../../core/errors.ts';
import { statuses } from '../../core/request/request.ts';
import * as open from '../../db/requests/open-requests.ts';
import * as upstreamStates from '../../db/upstreams/states.ts';
import * as stoppedModels from '../../db/stopped-models.ts';
import { leastIdAt } from '../../lib/id.ts';
import { redact } from '../../lib/log.ts';
import { cancelRequest } from '../../operations/requests/cancel-request.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { CancelQuery } from './schema.ts';
import { facts, ofAccount, progress } from './views.ts';
import type { HttpDeps, RequestDeps } from '../deps.ts';

/** Waiting and running requests of all accounts. */

const topMax = 20;
/** A running request that is not a chat call is due within this time. */
const dueMinSeconds = 900;
const ageMaxSeconds = 365 * 24 * 3_600;

const QueueUpstream = s.namedObject('QueueUpstream', {
  upstream: s.text(),
  waiting: s.integer(),
  waiting_more: s.boolean('True if more are waiting than are counted.'),
  oldest_seconds: s.nullable(s.integer()),
  in_use: s.integer(),
  concurrency: s.nullable(s.integer()),
  running: s.integer(),
  longest_seconds: s.nullable(s.integer()),
  paused_until: s.nullable(s.time()),
});
const depthOf = { waiting: s.integer(), oldest_seconds: s.nullable(s.integer()) };

/** GET /operator/queue: the depth of the queues, and the number of running requests. */
export const depth = operatorEndpoint(
  {
    reply: s.object({
      counted_max: s.integer(),
      upstreams: s.list(QueueUpstream),
      accounts: s.list(s.object({ ...ofAccount, ...depthOf })),
      models: s.list(s.object({ model_id: s.text(), ...depthOf })),
    }),
  },
  async (_call, deps: RequestDeps) => {
    const { db, upstreams } = deps;
    const [states, depths, running] = await Promise.all([
      upstreamStates.readUpstreamStates(db, [...upstreams.keys()]),
      open.readDepths(db, topMax),
      open.countRunning(db, dueSeconds(deps)),
    ]);
    const runs = new Map(running.map((each) => [each.upstream, each]));
    const now = Date.now();
    return {
      counted_max: open.depthMax,
      upstreams: states.map(({ name, oldest_seconds, paused_seconds, ...state }) => ({
        upstream: name,
        ...state,
        waiting_more: state.waiting >= upstreamStates.waitingMax,
        oldest_seconds: state.waiting > 0 ? Math.round(oldest_seconds) : null,
        concurrency: upstreams.get(name)?.concurrency ?? null,
        running: runs.get(name)?.running ?? 0,
        longest_seconds: seconds(runs.get(name)?.longest_seconds),
        paused_until: paused_seconds > 0 ? inSeconds(paused_seconds, now) : null,
      })),
      accounts: depths.flatMap(({ account_id, email, oldest_seconds: oldest, ...of }) =>
        account_id === null || email === null
          ? []
          : [{ ...of, account_id, email, oldest_seconds: seconds(oldest) }],
      ),
      models: depths.flatMap(({ model_id, oldest_seconds: oldest, ...of }) =>
        model_id === null ? [] : [{ ...of, model_id, oldest_seconds: seconds(oldest) }],
      ),
    };
  },
);

function seconds(value: number | undefined): number | null {
  return value === undefined ? null : Math.max(0, Math.round(value));
}

function inSeconds(left: number, now: number): Date {
  return new Date(now + left * 1000);
}

/** The longest time until a running request is due. A chat call is due when its time limit ends. */
export function dueSeconds({ catalog }: Pick<HttpDeps, 'catalog'>): number {
  const ages = [...catalog().models.values()].map(({ job_age_seconds }) => job_age_seconds);
  return Math.max(dueMinSeconds, ...ages);
}

const OpenRequest = s.namedObject('OpenRequest', {
  ...facts,
  ...ofAccount,
  upstream: s.text(),
  deadline_at: s.nullable(s.time()),
  progress,
  message: s.nullable(s.text()),
  waits_for: s.object({ what: s.text(), until: s.nullable(s.time()) }),
});

/** GET /operator/queue/requests */
export const list = operatorEndpoint(
  {
    query: s.form({
      upstream: s.optional(s.text(undefined, { maxLength: 300 })),
      status: s.optional(s.choice(['IN_QUEUE', 'IN_PROGRESS'])),
      account_id: s.optional(s.text()),
      older_seconds: s.optional(s.integer(undefined, { minimum: 0, maximum: ageMaxSeconds })),
      ...s.pageQuery(50),
    }),
    reply: s.pageOf(OpenRequest),
  },
  async ({ query }, deps) => {
    const { upstream = null, status = null, account_id, older_seconds: older } = query;
    const now = Date.now();
    const rows = await open.list(deps.db, {
      upstream,
      status,
      account_id: account_id === undefined ? null : requireId(account_id),
      until_id: older === undefined ? null : leastIdAt(now - older * 1000),
      above_id: query.cursor ?? null,
      limit: query.limit + 1,
      due_seconds: dueSeconds(deps),
    });
    const names = [...new Set(rows.map((row) => row.upstream))];
    const [states, models, stops] = await Promise.all([
      upstreamStates.readUpstreamStates(deps.db, names),
      upstreamStates.listPausedModels(deps.db, names),
      stoppedModels.list(deps.db),
    ]);
    const known = { states, models, stopped: new Set(stops.map((s) => s.model_id)), deps, now };
    return pageFrom(rows, query, (row) => view(row, known));
  },
);

interface QueueFacts {
  states: upstreamStates.UpstreamState[];
  models: upstreamStates.PausedModel[];
  /** Ids of models that an operator stopped. */
  stopped: ReadonlySet<string>;
  deps: HttpDeps;
  now: number;
}

function view(row: open.OpenRow, known: QueueFacts) {
  const isQueued = row.status === 'IN_QUEUE' || row.waits;
  return {
    ...row,
    request_id: row.id,
    message: row.message && redact(row.message),
    waits_for: isQueued ? queuedFor(row, known) : runsFor(row, known),
  };
}

interface WaitsFor {
  what: string;
  until: Date | null;
}

/** The reason why a queued request still waits. */
function queuedFor(row: open.OpenRow, known: QueueFacts): WaitsFor {
  const { states, models, deps, now } = known;
  const { upstream } = row;
  const state = states.find(({ name }) => name === upstream);
  const live = deps.upstreams.get(upstream);
  const routes = deps.catalog().models.get(row.model_id)?.upstreams ?? [];
  const theirs = routes.find((route) => route.upstream === upstream)?.model;
  const paused = models.find((each) => each.upstream === upstream && each.model === theirs);
  const left = Math.max(state?.paused_seconds ?? 0, paused?.paused_seconds ?? 0);
  if (row.slot) return { what: 'start', until: null };
  if (!live) return { what: 'set_up', until: null };
  if (known.stopped.has(row.model_id)) return { what: 'stopped', until: null };
  if (left > 0) return { what: 'pause', until: inSeconds(left, now) };
  const isFull = (state?.in_use ?? 0) >= live.concurrency;
  return { what: isFull ? 'slot' : 'turn', until: null };
}

/** The current step of a running request. */
function runsFor(row: open.OpenRow, { stopped: stops }: QueueFacts): WaitsFor {
  const { kind, past_deadline, has_handle, outcome, deadline_at: deadline } = row;
  if (kind === 'text') return { what: 'chat', until: deadline };
  if (past_deadline) return { what: 'end', until: null };
  if (has_handle) return { what: 'result', until: deadline };
  if (outcome === 'not_accepted') {
    if (stops.has(row.model_id)) return { what: 'stopped', until: deadline };
    return { what: 'retry', until: row.wake_at };
  }
  if (outcome === 'unknown' || outcome === 'missing')
    return { what: 'lost_answer', until: deadline };
  return { what: 'answer', until: deadline };
}

/** POST /operator/requests/{request_id}/cancel: as its caller could. */
export const cancel = operatorAction(
  'request.cancel',
  {
    params: ['request_id'],
    query: CancelQuery,
    reply: s.object({
      request_id: s.id(),
      status: s.choice(statuses),
      cancel_requested_at: s.optional(s.time()),
    }),
  },
  async ({ params, query: { running } }, deps: RequestDeps) => {
    const request_id = requireId(params.request_id);
    const ruleOf = (model_id: string) =>
      running ? deps.catalog().models.get(model_id)?.on_cancel : undefined;
    return async (db) => {
      const found = await cancelRequest(db, request_id, ruleOf);
      if (found === null) throw new ApiError('not_found');
      const { isCancelled, cancel_requested_at, status, ending, done } = found;
      if (!isCancelled && cancel_requested_at === null)
        throw new ApiError('not_cancellable', { details: { status } });
      const after = () => {
        if (isCancelled) deps.recorder.noteEnd(ending);
        deps.hints.tellChanged([request_id]);
        deps.hints.work();
      };
      return { ...done, after };
    };
  },
);
