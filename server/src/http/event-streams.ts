import type { FastifyReply } from 'fastify';
import { openEventStream, type EventStream } from '../lib/sse.ts';
import type { StreamDeps } from './deps.ts';
import { hijackHeaders } from './hijack.ts';
import { takeShare } from './overload.ts';
import { overWords, type Grant } from './stream-grants.ts';

/** Event streams that stay open while nothing happens. */

const bufferMaxBytes = 64 * 1024;

/** Whether a call may wait; if not, it is answered at once. */
export function mayHold(grant: Grant, { streams, streamGrants }: StreamDeps): boolean {
  return streams.leftFor(grant.account_id) > 0 && !streamGrants.isFull(grant);
}

/**
 * Takes one of the account's slots for streams and waiting calls, until the returned function is
 * called. `over` is called when the key or person loses access. Throws `rate_limited` or
 * `capacity_unavailable`.
 */
export function hold(grant: Grant, deps: StreamDeps, over: () => void): () => void {
  const { account_id } = grant;
  const leave = deps.streamGrants.join(grant, over);
  try {
    takeShare(deps.streams, account_id, 'event streams and waiting calls open', deps);
  } catch (error) {
    leave();
    throw error;
  }
  return () => {
    deps.streams.give(account_id, 1);
    leave();
  };
}

/**
 * Opens a stream. It ends with an event when this process stops, or when the key or person that
 * opened it loses access. Throws as `hold` does.
 */
export function holdStream(
  req: { grant?: Grant; yieldSlot: () => void },
  reply: FastifyReply,
  deps: StreamDeps,
): EventStream {
  const grant = req.grant!;
  const leave = hold(grant, deps, () => endStream(events, 'access', overWords(grant)));
  req.yieldSlot();
  const headers = hijackHeaders(reply);
  reply.hijack();
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...deps.settings.times });
  deps.metrics.streams.inc();
  const drain = () => endStream(events, 'draining', 'This server is about to stop. Connect again.');
  events.closed.addEventListener('abort', () => {
    deps.draining.removeEventListener('abort', drain);
    deps.metrics.streams.dec();
    leave();
  });
  // guard: streams-told-of-the-stop
  deps.draining.addEventListener('abort', drain);
  if (deps.draining.aborted) drain();
  return events;
}

export function endStream(events: EventStream, reason: string, message: string): void {
  events.send(JSON.stringify({ reason, message }), 'end');
  events.end();
}
