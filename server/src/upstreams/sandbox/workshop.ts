import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Media, Order } from './order.ts';
import { Refusal } from './refusal.ts';
import type { Made } from './render.ts';

/**
 * A process of its own for everything heavy. It starts when there is work and ends when there has been
 * none for a while, and so gives back all memory that image and video libraries hold on to. It opens
 * callers' files, so it gets no environment and no secrets, and a file that crashes a decoder takes
 * nothing else down. It runs at low priority: answering calls comes first.
 */

export type Work =
  | { kind: 'probe'; path: string; field: string; file: string }
  | { kind: 'render'; order: Order; folder: string; out: string };

export type Answer =
  | { id: number; value: unknown }
  | { id: number; error: { refusal: boolean; message: string; code: string | null } };

export interface Workshop {
  /** Looks into a file at once, beside a rendering that may be under way. Rejects with `Refusal`. */
  probe(path: string, field: string, file: string): Promise<Media>;
  /**
   * Renders when all renderings asked for before are done. Rejects with `Refusal`, with
   * `WorkshopClosed` or `WorkshopDied`, or with the system's error where it has a `code`.
   */
  render(order: Order, folder: string, out: string): Promise<Made>;
  close(): Promise<void>;
}

export class WorkshopClosed extends Error {}

/** The process died or did not answer in time: by the work's fault, or not. */
export class WorkshopDied extends Error {}

interface Pending {
  resolve(value: never): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const PROBE_TIMEOUT_MS = 20_000;
const RENDER_TIMEOUT_MS = 240_000;
const HEAP_MB = 384;
const NICENESS = 5;
const program = fileURLToPath(new URL('./workbench.ts', import.meta.url));

export function createWorkshop(idleMs: number): Workshop {
  const pending = new Map<number, Pending>();
  let child: ChildProcess | null = null;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;
  let closed = false;
  let renderings: Promise<unknown> = Promise.resolve();

  function stop(error: Error): void {
    const dead = child;
    child = null;
    clearTimeout(idle);
    dead?.kill('SIGKILL');
    for (const { reject, timer } of pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    pending.clear();
  }

  function answered(answer: Answer): void {
    const waiting = pending.get(answer.id);
    if (!waiting) return;
    pending.delete(answer.id);
    clearTimeout(waiting.timer);
    if ('error' in answer) waiting.reject(errorOf(answer.error));
    else waiting.resolve(answer.value as never);
    if (pending.size > 0) return;
    // With nothing to do it must not keep this process alive.
    child?.unref();
    child?.channel?.unref();
    idle = setTimeout(() => stop(new WorkshopClosed('idle')), idleMs).unref();
  }

  function start(): ChildProcess {
    const fresh = fork(program, {
      env: {},
      execArgv: [`--max-old-space-size=${HEAP_MB}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const ended = (): void => {
      if (child === fresh) stop(new WorkshopDied('the rendering process ended'));
    };
    fresh.on('message', (answer) => answered(answer as Answer));
    fresh.on('error', ended);
    fresh.on('exit', ended);
    lowerPriority(fresh.pid);
    return fresh;
  }

  function send(work: Work, timeoutMs: number): Promise<never> {
    if (closed) return Promise.reject(new WorkshopClosed('closed'));
    clearTimeout(idle);
    const to = (child ??= start());
    to.ref();
    to.channel?.ref();
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      const late = (): void => stop(new WorkshopDied(`no answer within ${timeoutMs} ms`));
      pending.set(id, { resolve, reject, timer: setTimeout(late, timeoutMs).unref() });
      to.send({ id, work });
    });
  }

  return {
    probe: (path, field, file) => send({ kind: 'probe', path, field, file }, PROBE_TIMEOUT_MS),
    render(order, folder, out) {
      const work: Work = { kind: 'render', order, folder, out };
      const turn = renderings.then(() => send(work, RENDER_TIMEOUT_MS));
      renderings = turn.catch(() => undefined);
      return turn;
    },
    async close() {
      closed = true;
      const dead = child;
      const gone = dead && new Promise((resolve) => dead.once('exit', resolve));
      stop(new WorkshopClosed('closed'));
      await gone;
    },
  };
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, NICENESS);
  } catch {
    // Only a courtesy: some systems do not allow it.
  }
}

function errorOf(error: { refusal: boolean; message: string; code: string | null }): Error {
  if (error.refusal) return new Refusal(error.message);
  return Object.assign(new Error(error.message), error.code === null ? {} : { code: error.code });
}
