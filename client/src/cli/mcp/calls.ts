import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { isFinal, type Farebox, type Status } from '../../index.ts';
import { openScope } from '../../scope.ts';
import type { Budget } from './budget.ts';

/** Shared by all tools. */
export interface Desk {
  client: Farebox;
  budget: Budget;
  /** Whether to ask the user before money is spent, if the agent's program supports that. */
  ask: boolean;
  /** Folders that files may be read from. If empty, the agent's program names the folders. */
  roots: string[];
  server: McpServer;
  /** Outputs of this session, newest last, for the list of resources. */
  made: MadeFile[];
}

export interface MadeFile {
  uri: string;
  name: string;
  mimeType: string;
  size: number;
}

/** The protocol's data of one call. */
export type Call = RequestHandlerExtra<ServerRequest, ServerNotification>;

const tickMs = 10_000;

/**
 * Reports the progress of a call if the agent's program asked for it. Repeats the report from time
 * to time, because many programs give up on a call that is silent for a minute.
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

/** Progress must grow with each message, and must not reach its end. */
function grown(before: number, part: number): number {
  return Math.max(Math.min(part, 0.99), before + (1 - before) / 1000);
}

/** Waits up to `seconds` for the end of a request, and reports its progress. */
export async function waitFor(
  { client }: Desk,
  requestId: string,
  seconds: number,
  call: Call,
): Promise<Status> {
  const limit = openScope(call.signal, seconds * 1000, 'The wait is over.');
  const { tell, end } = openProgress(call);
  let status: Status | undefined;
  try {
    status = await client.status(requestId, { signal: call.signal });
    if (isFinal(status)) return status;
    for await (status of client.watch(requestId, { signal: limit.signal })) {
      const ahead = status.queue_position;
      const place = ahead === undefined ? '' : `, ${ahead} ahead`;
      const news = status.logs?.at(-1);
      tell(`${status.status}${place}${news ? `: ${news}` : ''}`, status.progress);
    }
  } catch (error) {
    // A passed time limit is not an error; a cancelled call is, and the caller handles it.
    if (!status || !limit.signal.aborted || call.signal.aborted) throw error;
  } finally {
    limit.end();
    end();
  }
  return status;
}
