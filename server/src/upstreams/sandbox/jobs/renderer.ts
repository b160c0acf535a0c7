import { setTimeout as wait } from 'node:timers/promises';
import { codeOf } from '../../../lib/unknown.ts';
import type { Order } from '../orders/order.ts';
import { SandboxRefusal } from '../refusal.ts';
import type { SandboxJob, SandboxResult, Store } from './store.ts';
import { WorkshopClosed, WorkshopDied, type Workshop } from './workshop.ts';

const pollWaitMs = 800;
/** A job fails once it has killed the rendering process this many times. */
const deathsMax = 2;

export type Renderer = ReturnType<typeof createRenderer>;

/**
 * Renders each job once in this process. Another process that renders the same job makes the same
 * bytes.
 */
export function createRenderer(store: Store, workshopFor: (order: Order) => Workshop) {
  const underWay = new Map<string, Promise<void>>();

  function begin(job: SandboxJob): Promise<void> {
    const known = underWay.get(job.key);
    if (known || job.fault !== null) return known ?? Promise.resolve();
    const rendering = render(job).finally(() => underWay.delete(job.key));
    // Only the machine can have failed; the next poll renders again.
    rendering.catch(() => undefined);
    underWay.set(job.key, rendering);
    return rendering;
  }

  async function render(job: SandboxJob): Promise<void> {
    if (await store.result(job.key)) return;
    const out = await store.newFolder();
    try {
      await store.keep(job.key, out, await resultOf(job, out));
    } catch (error) {
      await store.remove(out);
      throw error;
    }
  }

  /** Throws if the machine failed; if the job itself failed, that is its result. */
  async function resultOf({ key, order }: SandboxJob, out: string): Promise<SandboxResult> {
    for (let deaths = 1; ; deaths++) {
      try {
        const made = await workshopFor(order).render(order, store.folderOf(key), out);
        return { state: 'done', made };
      } catch (error) {
        if (error instanceof SandboxRefusal)
          return { state: 'failed', code: 'upstream_rejected', message: error.message };
        if (error instanceof WorkshopDied && deaths < deathsMax) continue;
        if (error instanceof WorkshopClosed || codeOf(error)) throw error;
        const message = 'The sandbox could not make this.';
        return { state: 'failed', code: 'upstream_failed', message };
      }
    }
  }

  return {
    /** Renders in the background. */
    begin: (job: SandboxJob): void => void begin(job),
    /**
     * Renders the job, and returns its result if that is ready within `pollWaitMs`. Throws if the
     * machine failed.
     */
    async result(job: SandboxJob, signal: AbortSignal): Promise<SandboxResult | null> {
      const late = wait(pollWaitMs, undefined, { signal, ref: false }).catch(() => undefined);
      await Promise.race([begin(job), late]);
      return store.result(job.key);
    },
    async settled(): Promise<void> {
      await Promise.allSettled(underWay.values());
    },
  };
}
