import { FareboxError, about } from './error.ts';
import { eventsOf, parsed } from './events.ts';
import { openScope, pause } from './scope.ts';
import {
  backoffMs,
  checkCall,
  isPassing,
  segments,
  type Call,
  type Transport,
  type CallRequest,
} from './transport.ts';
import { chunksOf, retryAfterOf } from './replies.ts';
import type { Status } from './types.ts';

/** Follows a request to its end, across restarts of the service and broken connections. */

/**
 * The service sends the first event at once; if it is late, something in between buffers events.
 */
const firstEventMs = 10_000;
/** The service sends something every 15 seconds. */
const silenceMs = 45_000;
const pollSeconds = 25;
/** After this many streams that failed without an event, `watch` only polls. */
const streamTries = 3;
/** Gives up once the service has been unreachable for this long. */
const lostMs = 15 * 60_000;

export function isFinal({ status }: Pick<Status, 'status'>): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

export async function* watch(
  transport: Transport,
  requestId: string,
  call: Call = {},
): AsyncGenerator<Status> {
  checkCall(call);
  const { signal, timeoutMs } = call;
  const path = `/requests/${segments(requestId, 'request id')}/status`;
  const late = `The request has not ended after ${(timeoutMs ?? 0) / 1000} s. It goes on: attach("${requestId}") follows it again.`;
  const limit = openScope(signal, timeoutMs ?? Infinity, late);
  let shown = '';
  let lostAt: number | null = null;
  let fruitless = 0;
  let failed = 0;
  try {
    for (;;) {
      const round = fruitless < streamTries ? streamed : polled;
      let heard = false;
      try {
        for await (const status of round(transport, path, limit.signal)) {
          heard = true;
          lostAt = null;
          const text = JSON.stringify(status);
          if (text === shown) continue;
          shown = text;
          failed = 0;
          yield status;
          if (isFinal(status)) return;
        }
        if (round === polled) continue;
        // The service ended the stream, as it does before it shuts down.
        await pause(backoffMs(Math.min(failed++, 2)), limit.signal);
      } catch (error) {
        if (limit.signal.aborted) throw limit.signal.reason;
        lostAt ??= Date.now();
        if (!isTransient(error) || Date.now() - lostAt > lostMs) throw error;
        // If the service cannot be reached, streams are not at fault.
        if (!heard && error.code !== 'connection_error') fruitless++;
        await transport.rest(error, restMs(error, failed++), limit.signal);
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
  return Math.max(backoffMs(Math.min(failed, 2)), retryAfterSeconds * 1000);
}

/** Yields every change until the service or the connection ends the stream. */
async function* streamed(
  transport: Transport,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Status> {
  const wanted: CallRequest = { method: 'GET', path: `${path}/stream`, repeatable: false };
  const held = await transport.open(wanted, { signal, timeoutMs: firstEventMs });
  for await (const { event, data } of eventsOf(chunksOf(held, silenceMs)))
    if (event === 'status') yield parsed<Status>(data);
}

/** One poll, which the service answers when the status has changed. */
async function* polled(
  transport: Transport,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Status> {
  const askedAt = Date.now();
  const query = { wait: pollSeconds };
  const waitMs = pollSeconds * 1000;
  const wanted: CallRequest = { method: 'GET', path, query, repeatable: false, waitMs };
  let again = 0;
  const status = await transport.json<Status>(wanted, { signal }, ({ headers }) => {
    again = retryAfterOf(headers) ?? 2;
  });
  yield status;
  // An overloaded service answers at once instead of holding the call.
  if (Date.now() - askedAt < 1_000) await pause(again * 1000, signal);
}
