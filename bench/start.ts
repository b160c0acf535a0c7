import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { round } from './calls.ts';
import type { Question, Row } from './run.ts';
import { nodeFlags, rssMb } from './service.ts';

const main = join(import.meta.dirname, '../server/src/main.ts');
const restMs = 10_000;

const question: Question = {
  asks: 'how long from the start of an installed trial to its first answer, and what does it hold at rest?',
  async measure() {
    const dir = mkdtempSync(join(tmpdir(), 'farebox-start-'));
    chmodSync(dir, 0o711);
    try {
      return [
        await once('first start (makes the database)', dir, 0),
        await once('second start', dir, restMs),
      ];
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};
export default question;

async function once(what: string, dir: string, waitMs: number): Promise<Row> {
  const began = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, main, 'trial'], {
    env: { PATH: process.env.PATH, PORT: '0', FAREBOX_DATA_DIR: join(dir, 'data') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = await new Promise<number>((resolve, reject) => {
    child.stdout.on(
      'data',
      (text: Buffer) => text.includes('is ready') && resolve(performance.now() - began),
    );
    child.once('exit', (code) => reject(new Error(`the trial ended with ${code}`)));
  });
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const rss = rssMb(child.pid!);
  await new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });
  return {
    what,
    'seconds to ready': round(ready / 1000),
    'RSS MB': rss,
    'after seconds': waitMs / 1000,
  };
}
