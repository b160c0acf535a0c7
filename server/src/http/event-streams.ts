import type { FastifyReply } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { openEventStream, type EventStream } from '../lib/sse.ts';
import type { HttpDeps, Keyed } from './deps.ts';
import { hijackHeaders } from './hijack.ts';
import { overWords } from './viewers.ts';

/** Event streams that stay open while nothing happens: there is room for so many. */

const bufferMaxBytes = 64 * 1024;

type Held = Pick<Keyed, 'rest' | 'viewer'>;

/** True where no further call may be held. */
export function isFull({ watch, live, settings }: HttpDeps): boolean {
  return watch.size() + live.size() >= settings.streamsMax;
}

/**
 * Opens a stream that says so and ends when this process stops, or when the person who opened it
 * from the pages has no right to it any more. Throws `capacity_unavailable`, and then `instead`
 * tells what to do, or `rate_limited`.
 */
export function holdStream(
  req: Held,
  reply: FastifyReply,
  deps: HttpDeps,
  instead: string,
): EventStream {
  if (isFull(deps)) {
    deps.metrics.shed.inc({ reason: 'streams' });
    throw new ApiError('capacity_unavailable', {
      message: `This server holds as many streams as it may. ${instead}`,
    });
  }
  const over = () => endStream(events, 'access', overWords);
  const leave = req.viewer && deps.viewers.join(req.viewer, over);
  req.rest();
  const headers = hijackHeaders(reply);
  reply.hijack();
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...deps.settings.times });
  deps.metrics.streams.inc();
  const drain = () => endStream(events, 'draining', 'This server is about to stop. Connect again.');
  events.closed.addEventListener('abort', () => {
    deps.draining.removeEventListener('abort', drain);
    deps.metrics.streams.dec();
    leave?.();
  });
  deps.draining.addEventListener('abort', drain);
  if (deps.draining.aborted) drain();
  return events;
}

export function endStream(events: EventStream, reason: string, message: string): void {
  events.send(JSON.stringify({ reason, message }), 'end');
  events.end();
}
