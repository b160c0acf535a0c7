import { parentPort } from 'node:worker_threads';
import sharp from 'sharp';
import { probe } from './probe.ts';
import { Refusal } from './refusal.ts';
import { render } from './render.ts';
import type { Answer, Work } from './thread.ts';

/** The render thread: everything heavy happens here, away from the thread that answers calls. */

sharp.cache(false);

parentPort!.on('message', ({ id, work }: { id: number; work: Work }) => {
  perform(work).then(
    (value) => parentPort!.postMessage({ id, value } satisfies Answer),
    (error: unknown) => parentPort!.postMessage({ id, error: described(error) } satisfies Answer),
  );
});

function perform(work: Work): Promise<unknown> {
  return work.kind === 'probe'
    ? probe(work.path, work.field, work.file)
    : render(work.order, work.folder, work.out);
}

function described(error: unknown): { refusal: boolean; message: string; code: string | null } {
  const { message, code } = error as { message?: unknown; code?: unknown };
  return {
    refusal: error instanceof Refusal,
    message: String(message ?? error),
    code: typeof code === 'string' ? code : null,
  };
}
