import { CLAIM_TOUCH_MS } from './jobs.ts';
import type { Job, Jobs, Kept } from './jobs.ts';
import type { Order } from './order.ts';
import { Refusal } from './refusal.ts';
import { WorkshopClosed, WorkshopDied } from './workshop.ts';
import type { Workshop } from './workshop.ts';

const POLL_WAIT_MS = 800;
/** A job that killed the rendering process this often is to blame itself. */
const DEATHS_MAX = 2;

export type Renderer = ReturnType<typeof createRenderer>;

/** Renders each job once in this process, and in no other process at the same time. */
export function createRenderer(jobs: Jobs, workshopFor: (order: Order) => Workshop) {
  const underWay = new Map<string, Promise<void>>();
  const troubles = new Map<string, Error>();
  const deaths = new Map<string, number>();

  function begin(job: Job): Promise<void> {
    if (job.fault !== null) return Promise.resolve();
    const running =
      underWay.get(job.key) ??
      renderOnce(job)
        .catch((error: Error) => {
          // Trouble of the machine: told to the next poll, which may be tried again.
          if (!(error instanceof WorkshopClosed)) troubles.set(job.key, error);
        })
        .finally(() => underWay.delete(job.key));
    underWay.set(job.key, running);
    return running;
  }

  async function renderOnce(job: Job): Promise<void> {
    if ((await jobs.result(job.key)) || !(await jobs.claim(job.key))) return;
    const beat = setInterval(() => void jobs.touchClaim(job.key), CLAIM_TOUCH_MS).unref();
    const out = await jobs.newOut();
    try {
      await jobs.keep(job.key, out, await madeOf(job, out));
      deaths.delete(job.key);
    } catch (error) {
      await jobs.dropOut(out);
      throw error;
    } finally {
      clearInterval(beat);
      await jobs.dropClaim(job.key);
    }
  }

  async function madeOf(job: Job, out: string): Promise<Kept> {
    try {
      const made = await workshopFor(job.order).render(job.order, jobs.folderPath(job), out);
      return { state: 'done', made };
    } catch (error) {
      if (error instanceof Refusal) {
        return { state: 'failed', code: 'upstream_rejected', message: error.message };
      }
      if (!toBlame(job, error as Error)) throw error;
      await jobs.note({
        event: 'render_failed',
        request_id: job.request_id,
        message: String(error),
      });
      return {
        state: 'failed',
        code: 'upstream_failed',
        message: 'The sandbox could not make this.',
      };
    }
  }

  /** Whether the job itself is the reason, so that trying again would end the same. */
  function toBlame(job: Job, error: Error): boolean {
    if (error instanceof WorkshopDied) {
      const count = (deaths.get(job.key) ?? 0) + 1;
      deaths.set(job.key, count);
      return count >= DEATHS_MAX;
    }
    return (
      !(error instanceof WorkshopClosed) && (error as NodeJS.ErrnoException).code === undefined
    );
  }

  return {
    begin,
    /** The result, if it comes soon. Throws what stood in the way. */
    async wait(job: Job, signal: AbortSignal): Promise<Kept | null> {
      await Promise.race([begin(job), pause(POLL_WAIT_MS, signal)]);
      const trouble = troubles.get(job.key);
      troubles.delete(job.key);
      if (trouble) throw trouble;
      return jobs.result(job.key);
    },
    settled: (): Promise<unknown> => Promise.allSettled(underWay.values()),
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
