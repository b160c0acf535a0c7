import type { FastifyReply } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { isFinal, statuses, type Status } from '../core/request.ts';
import {
  card,
  expiry,
  failureOf,
  listEntry,
  pollAgainSeconds,
  responseView,
  statusView,
  type StatusView,
} from '../core/views.ts';
import * as requests from '../db/requests.ts';
import type { StatusRow } from '../db/requests.ts';
import { isUuid } from '../lib/id.ts';
import { openEventStream } from '../lib/sse.ts';
import type { HttpDeps, Keyed } from './deps.ts';
import { hijackHeaders } from './hijack.ts';

const waitMaxSeconds = 60;
const streamBufferMaxBytes = 64 * 1024;
const pageDefault = 20;
const pageMax = 100;

/** GET /requests/{request_id}/status */
export async function status(req: Keyed, reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const waitSeconds = readWait((req.query as Record<string, unknown>).wait);
  let row = own(req, await deps.status(requestId(req)));
  if (waitSeconds > 0 && !isFinal(row.status) && !full(deps))
    row = await changed(row, waitSeconds, req, deps);
  const again = pollAgainSeconds(row.status);
  if (again !== null) reply.header('retry-after', String(again));
  return view(row, deps);
}

/** GET /requests/{request_id}/status/stream */
export async function stream(req: Keyed, reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const row = own(req, await deps.status(requestId(req)));
  const first = await view(row, deps);
  if (req.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send();
  if (full(deps)) {
    deps.metrics.shed.inc({ reason: 'streams' });
    throw new ApiError('capacity_unavailable', {
      message: 'This server holds as many streams as it may. Poll the status_url.',
    });
  }
  req.rest();
  const headers = hijackHeaders(reply);
  reply.hijack();
  const events = openEventStream(reply.raw, headers, {
    bufferMaxBytes: streamBufferMaxBytes,
    ...deps.settings.times,
  });
  deps.metrics.streams.inc();
  let shown = first.queue_position;
  const stop = deps.watch.watch(row, (newer) => void tell(newer), placed);
  const drain = () => {
    events.send(
      JSON.stringify({
        reason: 'draining',
        message: 'This server is about to stop. Connect again.',
      }),
      'end',
    );
    events.end();
  };
  events.closed.addEventListener('abort', () => {
    stop();
    deps.draining.removeEventListener('abort', drain);
    deps.metrics.streams.dec();
  });
  deps.draining.addEventListener('abort', drain);
  if (deps.draining.aborted) drain();
  send(first);

  async function tell(newer: StatusRow): Promise<void> {
    send(await view(newer, deps).catch(() => statusView(newer, null, deps.links)));
  }
  function placed(queued: StatusRow, position: number): void {
    if (position !== shown) send(statusView(queued, position, deps.links));
  }
  function send(status: StatusView): void {
    shown = status.queue_position;
    events.send(JSON.stringify(status), 'status');
    if (isFinal(status.status)) events.end();
  }
  return reply;
}

/** True where no further call may be held; one that would wait is answered at once instead. */
function full(deps: HttpDeps): boolean {
  return deps.watch.size() >= deps.settings.streamsMax;
}

/** GET /requests/{request_id}/response */
export async function response(req: Keyed, _reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const row = own(req, await deps.card(requestId(req)));
  if (row.status !== 'COMPLETED') {
    throw new ApiError('request_not_ready', {
      message: notReady[row.status],
      details: { status: row.status, ...(row.error_code !== null && { error: failureOf(row) }) },
    });
  }
  if (row.cleared_at !== null) throw cleared();
  const outputs = row.kind === 'text' ? [] : await requests.findOutputs(deps.db, [row.id]);
  if (outputs.length > 0 && expiry(row, deps.links).getTime() <= Date.now())
    throw new ApiError('expired');
  return responseView(row, outputs, deps.links);
}

/** What was made is not kept any more, however it is asked for. */
export function cleared(): ApiError {
  return new ApiError('expired', {
    message: 'What this request made is no longer kept; its card and its charge are.',
  });
}

const notReady: Record<Exclude<Status, 'COMPLETED'>, string> = {
  IN_QUEUE: 'The request is still in the queue. Poll its status_url.',
  IN_PROGRESS: 'The request is still running. Poll its status_url.',
  FAILED: 'The request failed and has no output; details.error says why. Nothing was charged.',
  CANCELLED: 'The request was cancelled and has no output. Nothing was charged.',
};

/** GET /requests/{request_id} */
export async function read(req: Keyed, _reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const row = own(req, await deps.card(requestId(req)));
  return card(row, await requests.findOutputs(deps.db, [row.id]), deps.links);
}

/** POST and PUT /requests/{request_id}/cancel */
export async function cancel(req: Keyed, _reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const row = own(req, await deps.status(requestId(req)));
  const { id, account_id, key_id } = row;
  const { model_id, upstream } = row;
  const opens_job = row.kind !== 'text';
  const cancelled =
    row.status === 'IN_QUEUE' &&
    (await deps.end({
      id,
      attempt: null,
      account_id,
      key_id,
      model_id,
      upstream,
      opens_job,
      to: 'CANCELLED',
    }));
  if (cancelled) return { request_id: id, status: 'CANCELLED' };
  const now = await deps.status(id);
  throw new ApiError('not_cancellable', { details: { status: now?.status ?? row.status } });
}

/** GET /requests */
export async function list(req: Keyed, _reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const query = req.query as Record<string, unknown>;
  const limit = readLimit(query.limit);
  const { status: wanted } = query;
  if (wanted !== undefined && !statuses.includes(wanted as Status)) {
    throw badParameter('status', `must be one of ${statuses.join(', ')}`);
  }
  const cursor = optionalText(query, 'cursor');
  if (cursor !== null && !isUuid(cursor))
    throw badParameter('cursor', 'must be a next_cursor of this list');
  const rows = await requests.list(deps.db, {
    account_id: req.caller.account_id,
    status: (wanted as Status | undefined) ?? null,
    model_id: optionalText(query, 'model_id'),
    from_ms: momentOf(query, 'from'),
    to_ms: momentOf(query, 'to'),
    below_id: cursor,
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const next_cursor = rows.length > limit ? page.at(-1)!.id : null;
  return { data: page.map((row) => listEntry(row, deps.links)), next_cursor };
}

function requestId(req: Keyed): string {
  // Some clients write UUIDs in capitals; they mean the same.
  const request_id = (req.params as { request_id: string }).request_id.toLowerCase();
  if (!isUuid(request_id)) throw new ApiError('not_found');
  return request_id;
}

/** The same answer for what is another's and for what is not there. */
function own<Row extends { account_id: string }>(req: Keyed, row: Row | null): Row {
  if (row === null || row.account_id !== req.caller.account_id) throw new ApiError('not_found');
  return row;
}

async function view(row: StatusRow, deps: HttpDeps): Promise<StatusView> {
  const position =
    row.status === 'IN_QUEUE' ? await deps.queue.position(row.upstream, row.id) : null;
  return statusView(row, position, deps.links);
}

/**
 * The row once its status is another one, or as it is when the time is over or the caller is gone.
 */
function changed(row: StatusRow, seconds: number, req: Keyed, deps: HttpDeps): Promise<StatusRow> {
  return new Promise((resolve) => {
    let newest = row;
    req.rest();
    const stop = deps.watch.watch(row, (newer) => {
      newest = newer;
      if (newer.status !== row.status) done();
    });
    const timer = setTimeout(done, seconds * 1000);
    req.raw.once('close', done);
    deps.draining.addEventListener('abort', done);
    if (deps.draining.aborted) done();
    function done(): void {
      clearTimeout(timer);
      stop();
      req.raw.removeListener('close', done);
      deps.draining.removeEventListener('abort', done);
      resolve(newest);
    }
  });
}

function readWait(value: unknown): number {
  if (value === undefined) return 0;
  const seconds =
    typeof value === 'string' && /^\d{1,2}(\.\d{1,3})?$/.test(value) ? Number(value) : NaN;
  if (!(seconds <= waitMaxSeconds))
    throw badParameter('wait', `must be seconds from 0 to ${waitMaxSeconds}`);
  return seconds;
}

export function readLimit(value: unknown): number {
  if (value === undefined) return pageDefault;
  const limit = typeof value === 'string' && /^[1-9]\d{0,2}$/.test(value) ? Number(value) : NaN;
  if (!(limit <= pageMax))
    throw badParameter('limit', `must be a whole number from 1 to ${pageMax}`);
  return limit;
}

export function optionalText(query: Record<string, unknown>, name: string): string | null {
  const value = query[name];
  if (value === undefined) return null;
  if (typeof value !== 'string' || value === '' || value.length > 300)
    throw badParameter(name, 'must be one value of at most 300 characters');
  if (value.includes('\0')) throw badParameter(name, 'must not contain NUL');
  return value;
}

/** In ms since 1970, as precise as a `created_at` is shown. */
export function momentOf(query: Record<string, unknown>, name: 'from' | 'to'): number | null {
  const text = optionalText(query, name);
  if (text === null) return null;
  const ms = isMoment(text) ? Date.parse(text) : NaN;
  if (!(ms >= 0 && ms < 2 ** 48))
    throw badParameter(name, 'must be an ISO 8601 date or time, such as 2026-01-31T00:00:00Z');
  return ms;
}

const momentForm = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** `Date.parse` alone takes 30 February for 2 March. */
function isMoment(text: string): boolean {
  const day = momentForm.exec(text)?.[1];
  if (day === undefined) return false;
  const midnight = new Date(`${day}T00:00:00Z`);
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

export function badParameter(param: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `The parameter ${param} ${rule}.`, param });
}
