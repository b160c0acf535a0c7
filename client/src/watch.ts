import { FareboxError, about } from './error.ts';
import { eventsOf } from './events.ts';
import { openScope, pause } from './scope.ts';
import {
  backoffMs,
  chunksOf,
  isPassing,
  retryAfterOf,
  segments,
  type Call,
  type Transport,
} from './transport.ts';
import type { Status } from './types.ts';

/** Follows a request to its end, over restarts of the service and broken connections. */

/** The first event comes at once; where it does not, something on the way holds events back. */
const firstEventMs = 10_000;
/** The service says something every 15 seconds. */
const silenceMs = 45_000;
const pollSeconds = 25;
/** Streams that failed in a row before only polls are made. */
const streamTries = 3;
/** Without any word from the service for so long, it is given up. */
const lostMs = 15 * 60_000;

export function isFinal({ status }: Pick<Status, 'status'>): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

export async function* watch(
  transport: Transport,
  requestId: string,
  { signal, timeoutMs }: Call = {},
): AsyncGenerator<Status> {
  const path = `/requests/${segments(requestId, 'request id')}/status`;
  const late = `The request is not final after ${(timeoutMs ?? 0) / 1000} s. It goes on: attach("${requestId}") follows it again.`;
  const limit = openScope(signal, timeoutMs ?? Infinity, late);
  let shown = '';
  let heardAt = Date.now();
  let fruitless = 0;
  let failed = 0;
  try {
    for (let streaming = true; ; streaming = !streaming && fruitless < streamTries) {
      const round = streaming ? streamed : polled;
      let heard = false;
      try {
        for await (const status of round(transport, path, limit.signal, !streaming && fruitless >= streamTries)) {
          heard = true;
          heardAt = Date.now();
          failed = 0;
          const text = JSON.stringify(status);
          if (text !== shown) yield status;
          shown = text;
          if (isFinal(status)) return;
        }
        if (streaming) fruitless = heard ? 0 : fruitless + 1;
      } catch (error) {
        if (streaming) fruitless = heard ? 0 : fruitless + 1;
        if (limit.signal.aborted) throw limit.signal.reason;
        if (!isTransient(error) || Date.now() - heardAt > lostMs) throw error;
        // A stream that broke is asked about at once.
        if (!streaming || !heard) await pause(restMs(error, failed++), limit.signal);
      }
    }
  } catch (error) {
    throw about(error, requestId);
  } finally {
    limit.end();
  }
}

function isTransient(error: unknown): error is FareboxError {
  return error instanceof FareboxError && isPassing(error.status, error.code);
}

function restMs({ retryAfterSeconds = 0 }: FareboxError, failed: number): number {
  return Math.max(backoffMs(failed), retryAfterSeconds * 1000);
}

/** Every change, until the service or the connection ends it. */
async function* streamed(
  transport: Transport,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Status> {
  const wanted = { method: 'GET', path: `${path}/stream`, repeatable: false } as const;
  const held = await transport.open(wanted, { signal, timeoutMs: firstEventMs });
  for await (const { event, data } of eventsOf(chunksOf(held, silenceMs)))
    if (event === 'status') yield JSON.parse(data) as Status;
}

/** One look; `patient`: the service answers when something has changed. */
async function* polled(
  transport: Transport,
  path: string,
  signal: AbortSignal,
  patient: boolean,
): AsyncGenerator<Status> {
  const askedAt = Date.now();
  const query = patient ? { wait: pollSeconds } : {};
  const wanted = { method: 'GET', path, query, repeatable: false } as const;
  const { response, scope } = await transport.open(wanted, { signal });
  let status: Status;
  try {
    status = (await response.json()) as Status;
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new FareboxError('connection_error', 'The connection broke in mid-reply.', { cause });
  } finally {
    scope.end();
  }
  yield status;
  // Full servers answer at once.
  if (patient && !isFinal(status) && Date.now() - askedAt < 1_000)
    await pause((retryAfterOf(response.headers) ?? 2) * 1000, signal);
}
