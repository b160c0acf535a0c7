import { FareboxError, isFinal, type Farebox, type Status } from '../../index.ts';
import { cancelledText } from '../../job.ts';
import { codeOf } from '../../unknown.ts';
import { exits, Stop } from '../exits.ts';
import { bar, LiveLine, oneLine, secondsText, tell } from '../terminal/terminal.ts';

export interface FollowOptions {
  quiet: boolean;
  /** Whether Ctrl-C cancels a request that is still queued. */
  cancels: boolean;
}

/** Smaller changes of progress do not get their own line. */
const shareStep = 0.1;

/**
 * Shows a request until it has ended. The first Ctrl-C cancels it if it is still queued, otherwise
 * it runs on; the second ends this command at once.
 */
export async function follow(
  client: Farebox,
  requestId: string,
  { quiet, cancels }: FollowOptions,
): Promise<Status> {
  const show = display(quiet);
  let last: Status | undefined;
  const work = async (signal: AbortSignal) => {
    for await (const status of client.watch(requestId, { signal })) {
      last = status;
      show.status(status);
    }
    return last!;
  };
  return leavable(work, async (by) => {
    show.end();
    if (cancels && by === 'SIGINT' && last?.status === 'IN_QUEUE')
      await cancelQueued(client, requestId);
    throw detached(requestId);
  }).finally(show.end);
}

// Only SIGINT cancels: a closed terminal (SIGHUP) does not.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `work` until it ends or a signal arrives; after a signal, `left` makes the command's error.
 * A second signal exits at once.
 */
export async function leavable<T>(
  work: (signal: AbortSignal) => Promise<T>,
  left: (by: NodeJS.Signals) => Promise<never>,
): Promise<T> {
  const leaving = new AbortController();
  let by: NodeJS.Signals | null = null;
  const leave = (signal: NodeJS.Signals) => {
    if (by !== null) process.exit(exits.interrupted);
    by = signal;
    leaving.abort();
  };
  for (const signal of signals) process.on(signal, leave);
  try {
    return await work(leaving.signal);
  } catch (error) {
    // A stream of Node rejects with an AbortError.
    const isLeft = codeOf(error) === 'aborted' || codeOf(error) === 'ABORT_ERR';
    if (by === null || !isLeft) throw error;
    return await left(by);
  } finally {
    for (const signal of signals) process.off(signal, leave);
  }
}

async function cancelQueued(client: Farebox, requestId: string): Promise<void> {
  try {
    await client.cancel(requestId, { timeoutMs: 10_000, maxRetries: 1 });
  } catch (error) {
    // The request has started in the meantime, or its state is unknown: it runs on.
    if (error instanceof FareboxError) return;
    throw error;
  }
  throw new Stop(
    exits.interrupted,
    'request_cancelled',
    'Cancelled while it waited in the queue. Nothing was charged.',
    null,
    { request_id: requestId },
  );
}

/**
 * The message that a request runs on without this command. `because`: the failure, unless it was a
 * signal.
 */
export function detached(
  requestId: string,
  says = 'The request goes on without this command.',
  because?: Stop,
): Stop {
  return new Stop(exits.open, 'still_running', says, `Continue it: fare resume ${requestId}`, {
    request_id: requestId,
    ...(because && { because: because.code }),
  });
}

function display(quiet: boolean) {
  const line = new LiveLine(quiet);
  const began = Date.now();
  let timer: NodeJS.Timeout | undefined;
  let now: Status | undefined;
  let told = '';
  let toldShare = 0;
  const draw = () => now && line.show(`${stateText(now)} · ${secondsText(Date.now() - began)}`);
  return {
    status(status: Status) {
      now = status;
      if (quiet || isFinal(status)) return;
      if (line.live) {
        draw();
        timer ??= setInterval(draw, 1000).unref();
        return;
      }
      const share = status.progress ?? 0;
      const text = `${status.status} ${status.queue_position ?? ''}`;
      if (text === told && share - toldShare < shareStep) return;
      told = text;
      toldShare = share;
      tell(stateText(status, false));
    },
    end() {
      clearInterval(timer);
      line.end();
    },
  };
}

function stateText({ status, queue_position, progress, logs }: Status, drawn = true): string {
  if (status === 'IN_QUEUE') {
    if (queue_position === undefined) return 'In the queue';
    return queue_position === 0 ? 'In the queue, next' : `In the queue, ${queue_position} ahead`;
  }
  if (status !== 'IN_PROGRESS') return status;
  const share = progress === undefined ? '' : ` ${Math.round(progress * 100)}%`;
  const picture = drawn && progress !== undefined ? ` ${bar(progress)}` : '';
  const said = logs?.at(-1);
  return `Running${picture}${share}${drawn && said ? ` · ${oneLine(said)}` : ''}`;
}

/** The message about a request that ended without an output. */
export function unsuccessful(end: Status): Stop {
  const { request_id, status, error } = end;
  if (status === 'CANCELLED')
    return new Stop(exits.failed, 'request_cancelled', cancelledText(end), null, { request_id });
  return new Stop(
    exits.failed,
    error?.code ?? 'request_failed',
    `The request failed: ${error?.message ?? 'the reason is unknown.'} Nothing was charged.`,
    error?.code === 'upstream_rejected' ? 'Change the input and run it again.' : null,
    { request_id },
  );
}
