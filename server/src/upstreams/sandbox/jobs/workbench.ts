import sharp from 'sharp';
import { codeOf, messageOf } from '../../../lib/unknown.ts';
import { probe } from '../media/probe.ts';
import { render } from '../media/render.ts';
import { makeSample } from '../media/sample.ts';
import { SandboxRefusal } from '../refusal.ts';
import type { WorkshopAnswer, WorkshopTask } from './workshop.ts';

/** The program of the rendering process: receives work as messages and answers each by its id. */

sharp.cache(false);

process.on('message', ({ id, work }: { id: number; work: WorkshopTask }) => {
  perform(work).then(
    (value) => answer({ id, value }),
    (error: unknown) => answer({ id, error: described(error) }),
  );
});
// Ctrl-C in a terminal reaches this process too, but the service decides when this process ends.
process.on('SIGINT', () => undefined);
// The service has ended; another process will find the work in the job's folder.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

function answer(message: WorkshopAnswer): void {
  if (process.connected) process.send!(message);
}

function perform(work: WorkshopTask): Promise<unknown> {
  switch (work.kind) {
    case 'probe':
      return probe(work.path, work.field, work.file);
    case 'sample':
      return makeSample(work.sample, work.number, work.path);
    case 'render':
      return render(work.order, work.folder, work.out);
  }
}

function described(error: unknown): { refusal: boolean; message: string; code: string | null } {
  return {
    refusal: error instanceof SandboxRefusal,
    message: messageOf(error),
    code: codeOf(error) || null,
  };
}
