import type { FastifyReply } from 'fastify';
import { holdStream } from '../event-streams.ts';
import type { SessionRequest, WebDeps } from '../session/session-request.ts';

/**
 * GET /events: changes in the account, as server-sent events: `requests` {data} with their entries,
 * `balance`, `deposits` if a deposit from a chain has changed, `changed` if there is too much to
 * send, and `end` {reason, message}.
 */
export async function events(
  req: SessionRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  if (req.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send();
  const stream = holdStream(req, reply, deps);
  const stop = deps.pageEvents.open(req.account_id, {
    send: (event, data) => void stream.send(data, event),
  });
  stream.closed.addEventListener('abort', stop);
  return reply;
}
