import { fork, type ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { RenderJob } from '../media/render.ts';
import type { SampleKind } from '../media/sample.ts';
import type { OrderFile, Order } from '../orders/order.ts';
import { SandboxRefusal } from '../refusal.ts';

/**
 * A separate process for all heavy work. It starts when there is work. It ends when it has been
 * idle for a while, to free the memory that image and video libraries keep. Because it opens
 * callers' files, it gets no environment variables and no secrets, and a file that crashes a
 * decoder harms nothing else. It runs at low priority, because answering calls comes first.
 */

export type WorkshopTask =
  | { kind: 'probe'; path: string; field: string; file: string }
  | { kind: 'sample'; sample: SampleKind; number: number; path: string }
  | { kind: 'render'; order: Order; folder: string; out: string };

export type WorkshopAnswer =
  | { id: number; value: unknown }
  | { id: number; error: { refusal: boolean; message: string; code: string | null } };

export class WorkshopClosed extends Error {}

/** The process died or did not answer in time; this work may or may not be the cause. */
export class WorkshopDied extends Error {}

interface PendingCall {
  resolve(value: never): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const idleMs = 10_000;
const probeTimeoutMs = 20_000;
const renderTimeoutMs = 240_000;
const heapMb = 384;
const niceness = 5;
const program = fileURLToPath(new URL('./workbench.ts', import.meta.url));

export class Workshop {
  readonly #pending = new Map<number, PendingCall>();
  #child: ChildProcess | null = null;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  #closed = false;
  #renderings: Promise<unknown> = Promise.resolve();

  /** Probes a file at once, also while a rendering runs. Rejects with `SandboxRefusal`. */
  probe(path: string, field: string, file: string): Promise<OrderFile> {
    return this.#send({ kind: 'probe', path, field, file }, probeTimeoutMs);
  }

  /** Makes one of the sandbox's sample media at `path`. */
  sample(sample: SampleKind, number: number, path: string): Promise<void> {
    return this.#send({ kind: 'sample', sample, number, path }, probeTimeoutMs);
  }

  /**
   * Renders when all earlier renderings are done. Rejects with `SandboxRefusal`, `WorkshopClosed`
   * or `WorkshopDied`, or with a system error that has a `code`.
   */
  render(order: Order, folder: string, out: string): Promise<RenderJob> {
    const work: WorkshopTask = { kind: 'render', order, folder, out };
    const made = this.#renderings.then(() => this.#send(work, renderTimeoutMs));
    this.#renderings = made.catch(() => undefined);
    return made;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const dead = this.#child;
    const gone = dead && new Promise((resolve) => dead.once('exit', resolve));
    this.#stop(new WorkshopClosed('closed'));
    await gone;
  }

  #send(work: WorkshopTask, timeoutMs: number): Promise<never> {
    if (this.#closed) return Promise.reject(new WorkshopClosed('closed'));
    clearTimeout(this.#idle);
    const to = (this.#child ??= this.#start());
    to.ref();
    to.channel?.ref();
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      const late = (): void => this.#stop(new WorkshopDied(`no answer within ${timeoutMs} ms`));
      this.#pending.set(id, { resolve, reject, timer: setTimeout(late, timeoutMs).unref() });
      to.send({ id, work });
    });
  }

  #start(): ChildProcess {
    const fresh = fork(program, {
      env: {},
      execArgv: [`--max-old-space-size=${heapMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const ended = (): void => {
      if (this.#child === fresh) this.#stop(new WorkshopDied('the rendering process ended'));
    };
    // The workbench sends only answers.
    fresh.on('message', (answer) => this.#answered(answer as WorkshopAnswer));
    fresh.on('error', ended);
    fresh.on('exit', ended);
    try {
      setPriority(fresh.pid!, niceness);
    } catch {
      // Some systems do not allow this. If there is no pid, an `error` event follows.
    }
    return fresh;
  }

  #answered(answer: WorkshopAnswer): void {
    const waiting = this.#pending.get(answer.id);
    if (!waiting) return;
    this.#pending.delete(answer.id);
    clearTimeout(waiting.timer);
    if ('error' in answer) waiting.reject(errorOf(answer.error));
    // The type of the answer depends on the kind of work; each method declares it.
    else waiting.resolve(answer.value as never);
    if (this.#pending.size > 0) return;
    // An idle workshop must not keep this process alive.
    this.#child?.unref();
    this.#child?.channel?.unref();
    this.#idle = setTimeout(() => this.#stop(new WorkshopClosed('idle')), idleMs).unref();
  }

  #stop(error: Error): void {
    const dead = this.#child;
    this.#child = null;
    clearTimeout(this.#idle);
    dead?.kill('SIGKILL');
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }
}

function errorOf(error: { refusal: boolean; message: string; code: string | null }): Error {
  if (error.refusal) return new SandboxRefusal(error.message);
  return Object.assign(new Error(error.message), error.code === null ? {} : { code: error.code });
}
