import { CLAIM_TOUCH_MS } from './claims.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Order } from './order.ts';
import { Refusal } from './refusal.ts';
import type { Kept } from './results.ts';
import { WorkshopClosed, WorkshopDied } from './workshop.ts';
import type { Workshop } from './workshop.ts';

const POLL_WAIT_MS = 800;
/** A job that killed the rendering process this often is to blame itself. */
const DEATHS_MAX = 2;

/** Renders each job once in this process, and in no other process at the same time. */
export class Renderer {
  readonly #jobs: Jobs;
  readonly #workshopFor: (order: Order) => Workshop;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #troubles = new Map<string, Error>();
  readonly #deaths = new Map<string, number>();

  constructor(jobs: Jobs, workshopFor: (order: Order) => Workshop) {
    this.#jobs = jobs;
    this.#workshopFor = workshopFor;
  }

  /** Sees to it that a job is rendered; resolves, whatever happens, when it is no longer. */
  begin(job: Job): Promise<void> {
    if (job.fault !== null) return Promise.resolve();
    const known = this.#underWay.get(job.key);
    if (known) return known;
    const running = this.#renderOnce(job)
      .catch((error: Error) => {
        // Trouble of the machine: told to the next poll, which may be tried again.
        if (!(error instanceof WorkshopClosed)) this.#troubles.set(job.key, error);
      })
      .finally(() => this.#underWay.delete(job.key));
    this.#underWay.set(job.key, running);
    return running;
  }

  /** The result, if it comes soon. Throws what stood in the way. */
  async wait(job: Job, signal: AbortSignal): Promise<Kept | null> {
    await Promise.race([this.begin(job), pause(POLL_WAIT_MS, signal)]);
    const trouble = this.#troubles.get(job.key);
    this.#troubles.delete(job.key);
    if (trouble) throw trouble;
    return this.#jobs.result(job.key);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  async #renderOnce(job: Job): Promise<void> {
    const jobs = this.#jobs;
    if ((await jobs.result(job.key)) || !(await jobs.claim(job.key))) return;
    const beat = setInterval(() => void jobs.touchClaim(job.key), CLAIM_TOUCH_MS).unref();
    const out = await jobs.newOut();
    try {
      await jobs.keep(job.key, out, await this.#madeOf(job, out));
      this.#deaths.delete(job.key);
    } catch (error) {
      await jobs.dropOut(out);
      throw error;
    } finally {
      clearInterval(beat);
      await jobs.dropClaim(job.key);
    }
  }

  async #madeOf(job: Job, out: string): Promise<Kept> {
    try {
      const workshop = this.#workshopFor(job.order);
      const made = await workshop.render(job.order, this.#jobs.folderPath(job), out);
      return { state: 'done', made };
    } catch (error) {
      if (error instanceof Refusal) {
        return { state: 'failed', code: 'upstream_rejected', message: error.message };
      }
      if (!this.#toBlame(job, error as Error)) throw error;
      const { request_id } = job;
      await this.#jobs.note({ event: 'render_failed', request_id, message: String(error) });
      const message = 'The sandbox could not make this.';
      return { state: 'failed', code: 'upstream_failed', message };
    }
  }

  /** Whether the job itself is the reason, so that trying again would end the same. */
  #toBlame(job: Job, error: Error): boolean {
    if (error instanceof WorkshopDied) {
      const count = (this.#deaths.get(job.key) ?? 0) + 1;
      this.#deaths.set(job.key, count);
      return count >= DEATHS_MAX;
    }
    return (
      !(error instanceof WorkshopClosed) && (error as NodeJS.ErrnoException).code === undefined
    );
  }
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
