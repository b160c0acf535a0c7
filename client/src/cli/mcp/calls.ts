import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { isFinal, type Farebox, type Status } from '../../index.ts';
import type { Budget } from './budget.ts';

/** What every tool works with. */
export interface Desk {
  client: Farebox;
  budget: Budget;
  /** Whether the user is asked before money is spent, where the agent's program can do that. */
  ask: boolean;
  /** Folders that files may be taken from; empty: those that the agent's program names. */
  roots: string[];
  server: McpServer;
  /** Outputs that were made in this session, newest last, for the list of resources. */
  made: Made[];
}

export interface Made {
  uri: string;
  name: string;
  mimeType: string;
  size: number;
}

/** What the protocol knows of one call. */
export type Call = RequestHandlerExtra<ServerRequest, ServerNotification>;

const tickMs = 10_000;

/**
 * Tells how a call goes, where the agent's program asked for it. Told again from time to time, as
 * many programs give up a call that is silent for a minute.
 */
export function openProgress(call: Call): {
  tell(message: string, part?: number): void;
  end(): void;
} {
  const progressToken = call._meta?.progressToken;
  if (progressToken === undefined) return { tell: () => {}, end: () => {} };
  let progress = 0;
  let last = 'Waiting.';
  const send = (): void => {
    const params = { progressToken, progress, total: 1, message: last };
    call.sendNotification({ method: 'notifications/progress', params }).catch(() => {});
  };
  const tick = setInterval(() => {
    progress = grown(progress, 0);
    send();
  }, tickMs);
  return {
    tell(message, part = 0) {
      if (message === last && part <= progress) return;
      progress = grown(progress, part);
      last = message;
      send();
    },
    end: () => clearInterval(tick),
  };
}

/** Progress has to grow with each message and never says that it is done. */
function grown(before: number, part: number): number {
  return Math.max(Math.min(part, 0.99), before + (1 - before) / 1000);
}

/** Waits for the end of a request, at most so long, and tells how it goes. */
export async function waitFor(
  { client }: Desk,
  requestId: string,
  seconds: number,
  call: Call,
): Promise<Status> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(seconds * 1000)]);
  let status = await client.status(requestId, { signal: call.signal });
  const { tell, end } = openProgress(call);
  try {
    if (isFinal(status)) return status;
    for await (status of client.watch(requestId, { signal })) {
      const ahead = status.queue_position;
      const place = ahead === undefined ? '' : `, ${ahead} ahead`;
      const news = status.logs?.at(-1);
      tell(`${status.status}${place}${news ? `: ${news}` : ''}`, status.progress);
    }
  } catch (error) {
    // That the time is over is no mistake; that nobody waits any more is for the caller to know.
    if (!signal.aborted || call.signal.aborted) throw error;
  } finally {
    end();
  }
  return status;
}
