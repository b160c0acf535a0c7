import { Worker } from 'node:worker_threads';
import type { Media, Order } from './order.ts';
import { Refusal } from './refusal.ts';
import type { Made } from './render.ts';

/**
 * A render thread that is started when there is work and ends when there has been none for a
 * while.
 */

export type Work =
  | { kind: 'probe'; path: string; field: string; file: string }
  | { kind: 'render'; order: Order; folder: string; out: string };

export type Answer =
  | { id: number; value: unknown }
  | { id: number; error: { refusal: boolean; message: string; code: string | null } };

export interface RenderThread {
  /**
   * Looks into a file at once, beside a rendering that may be under way. Rejects with `Refusal`.
   */
  probe(path: string, field: string, file: string): Promise<Media>;
  /**
   * Renders when all renderings asked for before are done. Rejects with `Refusal` or
   * `ThreadClosed`.
   */
  render(order: Order, folder: string, out: string): Promise<Made>;
  close(): Promise<void>;
}

export class ThreadClosed extends Error {}

interface Pending {
  resolve(value: never): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const PROBE_TIMEOUT_MS = 20_000;
const RENDER_TIMEOUT_MS = 240_000;
const HEAP_MB = 384;

export function createThread(idleMs: number): RenderThread {
  const pending = new Map<number, Pending>();
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;
  let closed = false;
  let renderings: Promise<unknown> = Promise.resolve();

  function stop(error: Error): void {
    const dead = worker;
    worker = null;
    clearTimeout(idle);
    for (const { reject, timer } of pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    pending.clear();
    void dead?.terminate();
  }

  function answered(answer: Answer): void {
    const waiting = pending.get(answer.id);
    if (!waiting) return;
    pending.delete(answer.id);
    clearTimeout(waiting.timer);
    if ('error' in answer) waiting.reject(errorOf(answer.error));
    else waiting.resolve(answer.value as never);
    if (pending.size > 0) return;
    // An idle thread must not keep the process alive, nor its memory for long.
    worker?.unref();
    idle = setTimeout(() => stop(new ThreadClosed('idle')), idleMs).unref();
  }

  async function started(): Promise<Worker> {
    // On glibc the main thread must load sharp before a thread does, or the library may be
    // unloaded under it.
    await import('sharp');
    if (closed) throw new ThreadClosed('closed');
    if (worker) return worker;
    const fresh = new Worker(new URL('./worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    fresh.on('message', answered);
    fresh.on('error', (error) => worker === fresh && stop(error as Error));
    fresh.on('exit', () => worker === fresh && stop(new Error('the render thread ended')));
    worker = fresh;
    return fresh;
  }

  async function send(work: Work, timeoutMs: number): Promise<never> {
    const to = await started();
    clearTimeout(idle);
    to.ref();
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      const timer = setTimeout(
        () => stop(new Error(`no answer within ${timeoutMs} ms`)),
        timeoutMs,
      ).unref();
      pending.set(id, { resolve, reject, timer });
      // A thread is no window: it has no origin to name.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      to.postMessage({ id, work });
    });
  }

  return {
    probe: (path, field, file) => send({ kind: 'probe', path, field, file }, PROBE_TIMEOUT_MS),
    render(order, folder, out) {
      const turn = renderings.then(() =>
        send({ kind: 'render', order, folder, out }, RENDER_TIMEOUT_MS),
      );
      renderings = turn.catch(() => undefined);
      return turn;
    },
    async close() {
      closed = true;
      const dead = worker;
      stop(new ThreadClosed('closed'));
      await dead?.terminate();
    },
  };
}

function errorOf(error: { refusal: boolean; message: string; code: string | null }): Error {
  if (error.refusal) return new Refusal(error.message);
  return Object.assign(new Error(error.message), error.code === null ? {} : { code: error.code });
}
