import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { isFinal, type Status } from '../../core/request/request.ts';
import {
  card,
  chargedText,
  failureOf,
  outputsGone,
  pollAgainSeconds,
  responseView,
  statusView,
  type StatusView,
} from '../../core/request/views.ts';
import * as requests from '../../db/requests/requests.ts';
import { cancelOf } from '../../operations/requests/cancel-request.ts';
import { isUuid } from '../../lib/id.ts';
import type { EventStream } from '../../lib/sse.ts';
import type { CallDeps, HttpDeps, KeyedRequest, RequestDeps, StreamDeps } from '../deps.ts';
import { holdStream, mayHold } from '../event-streams.ts';
import type { WithParams } from '../path.ts';
import * as s from '../schemas/schema.ts';
import type { Serializable } from '../schemas/serialize.ts';
import { countTry } from '../session/throttle.ts';
import { keyedEndpoint } from '../endpoint.ts';
import {
  CancelQuery,
  Cancelled,
  ModelOutput,
  RequestCard,
  RequestStatus,
  StreamEnd,
} from './schema.ts';
import { waitForChange, withWaitingShare } from '../api/waiting.ts';

const waitMaxSeconds = 60;

export const WaitQuery = s.object({
  wait: s.optional(
    s.number('The reply waits until the state changes, at most this many seconds.', {
      minimum: 0,
      maximum: waitMaxSeconds,
    }),
  ),
  until: s.optional(
    s.choice(
      ['change', 'final'],
      '`final`: a waiting call returns only at a final state. `change`: at any new state. ' +
        'Without `wait`, `until=final` waits up to 60 seconds.',
      { default: 'change' },
    ),
  ),
});

export type StatusCall = WithParams<{ request_id: string }, KeyedRequest>;

/**
 * Reads the row while the key is checked: a poll waits for one round trip to the database, not two.
 */
export function statusAhead(req: WithParams<{ request_id: string }>, deps: RequestDeps): void {
  const id = idInPath(req);
  if (id === null) return;
  req.row = deps.operations.status(id);
  // If the key is refused, nobody awaits this promise.
  req.row.catch(() => {});
}

/** GET /requests/{request_id}/status */
export const status = keyedEndpoint(
  { params: ['request_id'], query: WaitQuery, reply: RequestStatus },
  ({ req, reply, query }, deps) => readStatus(req, reply, query, deps),
);

export async function readStatus(
  req: StatusCall,
  reply: FastifyReply,
  { wait, until }: s.Static<typeof WaitQuery>,
  deps: HttpDeps,
): Promise<StatusView> {
  const toTheEnd = until === 'final';
  const waitSeconds = wait ?? (toTheEnd ? waitMaxSeconds : 0);
  let row = requireOwn(req, await (req.row ?? deps.operations.status(requestId(req))));
  if (waitSeconds > 0 && !isFinal(row.status) && mayHold(req.grant, deps)) {
    const patience = { waitSeconds, toTheEnd, stop: deps.draining };
    const waitFor = (over: AbortSignal) => waitForChange(row, { ...patience, over }, req, deps);
    row = await withWaitingShare(req, deps, waitFor);
  }
  const again = pollAgainSeconds(row.status);
  if (again !== null) reply.header('retry-after', String(again));
  return view(row, deps);
}

/** GET /requests/{request_id}/status/stream */
export const stream = keyedEndpoint(
  { params: ['request_id'], events: s.either([RequestStatus, StreamEnd]) },
  ({ req, reply }, deps: StreamDeps & RequestDeps) =>
    follow(req, reply, deps, (events, shown) => events.send(JSON.stringify(shown), 'status')),
);

/** Shows the status at once and after each change until it is final, then ends the stream. */
export async function follow(
  req: StatusCall,
  reply: FastifyReply,
  deps: StreamDeps & RequestDeps,
  show: (events: EventStream, status: StatusView) => void,
): Promise<unknown> {
  const row = requireOwn(req, await deps.operations.status(requestId(req)));
  const first = await view(row, deps);
  if (req.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send();
  const events = holdStream(req, reply, deps);
  let shown = first.queue_position;
  const stop = deps.requestEvents.watch(row, (newer) => void tell(newer), tellPosition);
  events.closed.addEventListener('abort', stop);
  send(first);

  async function tell(newer: requests.StatusRow): Promise<void> {
    send(await view(newer, deps).catch(() => statusView(newer, null, deps.links)));
  }
  function tellPosition(queued: requests.StatusRow, position: number): void {
    if (position !== shown) send(statusView(queued, position, deps.links));
  }
  function send(status: StatusView): void {
    shown = status.queue_position;
    show(events, status);
    if (isFinal(status.status)) events.end();
  }
  return reply;
}

/** GET /requests/{request_id}/response: the model's output, unchanged. */
export const response = keyedEndpoint(
  { params: ['request_id'], written: ModelOutput },
  ({ req }, deps: RequestDeps) => readOutput(req, deps),
);

export async function readOutput(
  req: StatusCall,
  deps: RequestDeps,
): Promise<Record<string, unknown>> {
  return requireOutput(requireOwn(req, await deps.operations.card(requestId(req))), deps);
}

/** Throws `request_not_ready`, or `expired` if the output has been removed. */
export async function requireOutput(
  row: requests.CardRow,
  deps: CallDeps,
): Promise<Record<string, unknown>> {
  if (row.status !== 'COMPLETED') {
    const failure = failureOf(row);
    throw new ApiError('request_not_ready', {
      message: notReady[row.status](row),
      details: { status: row.status, ...(failure && { error: failure }) },
    });
  }
  if (row.cleared_at !== null) throw outputsDeleted();
  const outputs = row.kind === 'text' ? [] : await requests.findOutputs(deps.db, [row.id]);
  if (outputs.length > 0 && outputsGone(row, Date.now(), deps.links)) throw new ApiError('expired');
  if (outputs.length === 0 && row.kind !== 'text' && row.output === null) throw outputsDeleted();
  return responseView(row, outputs, deps.links);
}

/** The error for outputs that are no longer kept, for every call that reads them. */
export function outputsDeleted(): ApiError {
  return new ApiError('expired', {
    message: 'The output of this request has been deleted; only its data and its charge are kept.',
  });
}

const notReady: Record<Exclude<Status, 'COMPLETED'>, (row: requests.CardRow) => string> = {
  IN_QUEUE: () => 'The request is still in the queue. Poll its status_url.',
  IN_PROGRESS: () => 'The request is still running. Poll its status_url.',
  FAILED: () =>
    'The request failed and has no output; details.error says why. Nothing was charged.',
  CANCELLED: (row) => `The request was cancelled. ${chargedText(row)}`,
};

/** GET /requests/{request_id} */
export const read = keyedEndpoint(
  { params: ['request_id'], reply: RequestCard },
  async ({ req }, deps: RequestDeps) => {
    const row = requireOwn(req, await deps.operations.card(requestId(req)));
    const shown = card(row, await requests.findOutputs(deps.db, [row.id]), deps.links);
    const isOver = shown.expires_at !== null && outputsGone(row, Date.now(), deps.links);
    return isOver ? { ...shown, output_urls: [] } : shown;
  },
);

/** POST and PUT /requests/{request_id}/cancel */
export const cancel = keyedEndpoint(
  { params: ['request_id'], query: CancelQuery, reply: Cancelled },
  async ({ req, reply, query }, deps: RequestDeps) => {
    const cancelled = await cancelRequest(req, deps, query);
    if (cancelled.status === 'IN_PROGRESS') reply.code(202);
    return cancelled;
  },
);

/**
 * Cancels a request that waits. `running`: also asks a running job to stop. Throws
 * `not_cancellable`, or `rate_limited` if the account cancels too often.
 */
export async function cancelRequest(
  req: StatusCall,
  deps: RequestDeps,
  { running = false } = {},
): Promise<Serializable<s.Static<typeof Cancelled>>> {
  const row = requireOwn(req, await deps.operations.status(requestId(req)));
  const { id: request_id, account_id, status: was } = row;
  const rule = running ? deps.catalog().models.get(row.model_id)?.on_cancel : undefined;
  const first = row.cancel_requested_at;
  if (running && was === 'IN_PROGRESS' && first !== null) return asked(request_id, first);
  if (was === 'IN_QUEUE' || (was === 'IN_PROGRESS' && rule)) await countCancel(account_id, deps);
  if (was === 'IN_QUEUE' && (await deps.operations.end(cancelOf(row))))
    return { request_id, status: 'CANCELLED' };
  const at = rule && !isFinal(was) ? await deps.operations.askCancel(request_id, rule) : null;
  if (at) return asked(request_id, at);
  const now = await deps.operations.status(request_id);
  const status = now?.status ?? was;
  const isFixed = running && status === 'IN_PROGRESS';
  throw new ApiError('not_cancellable', { ...(isFixed && fixed), details: { status } });
}

const fixed = { message: 'A running request of this model cannot be cancelled: it goes on.' };

function asked(request_id: string, cancel_requested_at: Date) {
  return { request_id, status: 'IN_PROGRESS' as const, cancel_requested_at };
}

/** Limits the number of cancels: a cancel is free but leaves a row. */
async function countCancel(account_id: string, { db, settings }: CallDeps): Promise<void> {
  const max = settings.account.cancels_an_hour;
  if (await countTry(db, 'cancel', account_id, { max, seconds: 3600 })) return;
  throw new ApiError('rate_limited', {
    message: `An account may cancel at most ${max} jobs in an hour. This one was not cancelled; try again later.`,
    details: { account_cancels_limit: max },
    headers: { 'retry-after': '600' },
  });
}

/** The id in the path. Throws `not_found` if it is not a valid id. */
export function requestId(req: StatusCall): string {
  const id = idInPath(req);
  if (id === null) throw new ApiError('not_found');
  return id;
}

function idInPath({ params }: Pick<StatusCall, 'params'>): string | null {
  // Some clients write UUIDs in upper case.
  const request_id = params.request_id.toLowerCase();
  return isUuid(request_id) ? request_id : null;
}

/** Requests of other accounts and missing requests get the same answer. */
export function requireOwn<Row extends { account_id: string }>(
  req: KeyedRequest,
  row: Row | null,
): Row {
  // guard: own-requests
  if (row === null || row.account_id !== req.caller.account_id) throw new ApiError('not_found');
  return row;
}

async function view(row: requests.StatusRow, deps: RequestDeps): Promise<StatusView> {
  const position =
    row.status === 'IN_QUEUE' ? await deps.queue.readPosition(row.upstream, row.id) : null;
  return statusView(row, position, deps.links);
}
