import { ApiError } from '../../core/errors.ts';
import * as open from '../../db/open-requests.ts';
import * as queue from '../../db/queue.ts';
import * as stopped from '../../db/stopped-models.ts';
import { leastIdAt } from '../../lib/id.ts';
import { redact } from '../../lib/log.ts';
import { cancelRequest } from '../../operations/cancel-request.ts';
import { idOf, pageFrom, pageOf, parameter } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Visit, WebDeps } from '../session/visit.ts';
import type { Deed } from './action.ts';

/** What waits and what runs, of all accounts. */

const topMax = 20;
/** Alarms of running requests are not set further ahead, but for those of chat calls. */
const alarmMinSeconds = 900;
const ageMaxSeconds = 365 * 24 * 3_600;

/** GET /queue: how deep the queues are, and what runs. */
export const depth: VisitHandler = async (_visit, _reply, deps) => {
  const { db, upstreams } = deps;
  const [states, depths, running] = await Promise.all([
    queue.upstreamStates(db, [...upstreams.keys()]),
    open.depths(db, topMax),
    open.running(db, alarmSeconds(deps)),
  ]);
  const runs = new Map(running.map((each) => [each.upstream, each]));
  const now = Date.now();
  return {
    counted_max: open.depthMax,
    upstreams: states.map(({ name, waiting, oldest_seconds, in_use, resting_seconds }) => ({
      upstream: name,
      waiting,
      waiting_more: waiting >= queue.waitingMax,
      oldest_seconds: waiting > 0 ? Math.round(oldest_seconds) : null,
      in_use,
      concurrency: upstreams.get(name)?.concurrency ?? null,
      running: runs.get(name)?.running ?? 0,
      longest_seconds: seconds(runs.get(name)?.longest_seconds),
      resting_until: resting_seconds > 0 ? inSeconds(resting_seconds, now) : null,
    })),
    accounts: depths.flatMap(({ account_id, email, waiting, oldest_seconds: oldest }) =>
      account_id === null ? [] : [{ account_id, email, waiting, oldest_seconds: seconds(oldest) }],
    ),
    models: depths.flatMap(({ model_id, waiting, oldest_seconds: oldest }) =>
      model_id === null ? [] : [{ model_id, waiting, oldest_seconds: seconds(oldest) }],
    ),
  };
};

function seconds(value: number | undefined): number | null {
  return value === undefined ? null : Math.max(0, Math.round(value));
}

function inSeconds(left: number, now: number): string {
  return new Date(now + left * 1000).toISOString();
}

/** Of a chat call the alarm is the end of its time. */
function alarmSeconds({ catalog }: WebDeps): number {
  const ages = [...catalog().models.values()].map(({ job_age_seconds }) => job_age_seconds);
  return Math.max(alarmMinSeconds, ...ages);
}

/** GET /queue/requests?upstream=&status=&account_id=&older_seconds=&limit=&cursor= */
export const list: VisitHandler = async (visit, _reply, deps) => {
  const page = pageOf(visit, 50);
  const account_id = parameter(visit, 'account_id');
  const older = olderSeconds(visit);
  const now = Date.now();
  const rows = await open.list(deps.db, {
    upstream: parameter(visit, 'upstream'),
    status: statusOf(visit),
    account_id: account_id === null ? null : idOf(account_id),
    until_id: older === null ? null : leastIdAt(now - older * 1000),
    above_id: page.cursor,
    limit: page.limit + 1,
    alarm_seconds: alarmSeconds(deps),
  });
  const names = [...new Set(rows.map(({ upstream }) => upstream))];
  const [states, models, stops] = await Promise.all([
    queue.upstreamStates(deps.db, names),
    queue.restingModels(deps.db, names),
    stopped.list(deps.db),
  ]);
  const known = { states, models, stopped: new Set(stops.map((s) => s.model_id)), deps, now };
  return pageFrom(rows, page, (row) => shown(row, known));
};

function statusOf(visit: Visit): 'IN_QUEUE' | 'IN_PROGRESS' | null {
  const status = parameter(visit, 'status');
  if (status === null || status === 'IN_QUEUE' || status === 'IN_PROGRESS') return status;
  const message = 'status must be IN_QUEUE or IN_PROGRESS.';
  throw new ApiError('bad_request', { message, param: 'status' });
}

function olderSeconds(visit: Visit): number | null {
  const value = parameter(visit, 'older_seconds');
  if (value === null) return null;
  const age = /^\d{1,8}$/.test(value) ? Number(value) : NaN;
  if (age <= ageMaxSeconds) return age;
  const message = `older_seconds must be whole seconds up to ${ageMaxSeconds}.`;
  throw new ApiError('bad_request', { message, param: 'older_seconds' });
}

interface Known {
  states: queue.UpstreamState[];
  models: queue.RestingModel[];
  /** Ids of models that an operator stopped. */
  stopped: ReadonlySet<string>;
  deps: WebDeps;
  now: number;
}

function shown(row: open.OpenRow, known: Known) {
  return {
    request_id: row.id,
    account_id: row.account_id,
    email: row.email,
    model_id: row.model_id,
    kind: row.kind,
    upstream: row.upstream,
    status: row.status,
    quoted_usd_micro: String(row.quoted_usd_micro),
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    deadline_at: row.deadline_at?.toISOString() ?? null,
    progress: row.progress,
    message: row.message === null ? null : redact(row.message),
    waits_for: row.status === 'IN_QUEUE' || row.waits ? queuedFor(row, known) : runsFor(row, known),
  };
}

interface WaitsFor {
  what: string;
  until: string | null;
}

/** Why a request has not been handed over. */
function queuedFor(row: open.OpenRow, known: Known): WaitsFor {
  const { states, models, deps, now } = known;
  const { upstream } = row;
  const state = states.find(({ name }) => name === upstream);
  const live = deps.upstreams.get(upstream);
  const routes = deps.catalog().models.get(row.model_id)?.upstreams ?? [];
  const theirs = routes.find((route) => route.upstream === upstream)?.model;
  const rest = models.find((each) => each.upstream === upstream && each.model === theirs);
  const left = Math.max(state?.resting_seconds ?? 0, rest?.resting_seconds ?? 0);
  if (row.slot) return { what: 'start', until: null };
  if (!live) return { what: 'set_up', until: null };
  if (known.stopped.has(row.model_id)) return { what: 'stopped', until: null };
  if (left > 0) return { what: 'rest', until: inSeconds(left, now) };
  const isFull = (state?.in_use ?? 0) >= live.concurrency;
  return { what: isFull ? 'place' : 'turn', until: null };
}

/** What a running request is at. */
function runsFor(row: open.OpenRow, { stopped: stops }: Known): WaitsFor {
  const { kind, past_deadline, has_handle, outcome } = row;
  const deadline = row.deadline_at?.toISOString() ?? null;
  if (kind === 'text') return { what: 'chat', until: deadline };
  if (past_deadline) return { what: 'end', until: null };
  if (has_handle) return { what: 'result', until: deadline };
  if (outcome === 'not_accepted') {
    if (stops.has(row.model_id)) return { what: 'stopped', until: deadline };
    return { what: 'retry', until: row.wake_at.toISOString() };
  }
  if (outcome === 'unknown' || outcome === 'missing')
    return { what: 'lost_answer', until: deadline };
  return { what: 'answer', until: deadline };
}

/** POST /queue/requests/:request_id/cancel: as its caller would, and as free. */
export const cancel: Deed = async (_form, visit, deps) => {
  const id = idOf((visit.params as Record<string, unknown>).request_id);
  return async (db) => {
    const found = await cancelRequest(db, id);
    if (found === null) throw new ApiError('not_found');
    const { isCancelled, status, ending, done } = found;
    if (!isCancelled) throw new ApiError('not_cancellable', { details: { status } });
    const after = () => {
      deps.events.ended(ending);
      deps.hints.changed([id]);
      deps.hints.work();
    };
    return { ...done, after };
  };
};
