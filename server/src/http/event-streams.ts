import type { FastifyReply } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { openEventStream, type EventStream } from '../lib/sse.ts';
import type { HttpDeps } from './deps.ts';
import { hijackHeaders } from './hijack.ts';

/** Event streams that stay open while nothing happens: there is room for so many. */

const bufferMaxBytes = 64 * 1024;

/** True where no further call may be held. */
export function isFull({ watch, live, settings }: HttpDeps): boolean {
  return watch.size() + live.size() >= settings.streamsMax;
}

/**
 * Opens a stream that says so and ends when this process stops. Throws `capacity_unavailable`;
 * `instead` tells what to do then.
 */
export function holdStream(
  req: { rest: () => void },
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
  req.rest();
  const headers = hijackHeaders(reply);
  reply.hijack();
  const events = openEventStream(reply.raw, headers, { bufferMaxBytes, ...deps.settings.times });
  deps.metrics.streams.inc();
  const drain = () => endStream(events, 'draining', 'This server is about to stop. Connect again.');
  events.closed.addEventListener('abort', () => {
    deps.draining.removeEventListener('abort', drain);
    deps.metrics.streams.dec();
  });
  deps.draining.addEventListener('abort', drain);
  if (deps.draining.aborted) drain();
  return events;
}

export function endStream(events: EventStream, reason: string, message: string): void {
  events.send(JSON.stringify({ reason, message }), 'end');
  events.end();
}
