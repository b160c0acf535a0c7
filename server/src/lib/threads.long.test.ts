import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { Threads, ThreadTimeout } from './threads.ts';

/** The thread does what its message says; it answers with its own number. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from 'node:worker_threads';
    parentPort.on('message', async (task) => {
      if (task === 'spin') for (;;) {}
      if (task === 'throw') throw new Error('thrown inside');
      if (task === 'exit') process.exit(3);
      if (task === 'fill') { const all = []; for (;;) all.push(new Array(10000).fill(all.length)); }
      if (task === 'environment') return parentPort.postMessage(Object.keys(process.env).length);
      if (task === 'die later') setTimeout(() => { throw new Error('thrown when idle'); }, 1);
      parentPort.postMessage(threadId);
    });
  `)}`,
);
const start = (): Threads<string, number> => new Threads(script, { size: 2, memoryMb: 32 });
const limitMs = 20_000;

describe('threads', () => {
  test('one thread serves one task after the other', async () => {
    const threads = start();
    const first = await threads.run('work', limitMs);
    assert.equal(await threads.run('work', limitMs), first);
  });

  test('no more than the size run at a time, and all tasks are served', async () => {
    const threads = start();
    const ids = await Promise.all(Array.from({ length: 20 }, () => threads.run('work', limitMs)));
    assert.equal(ids.length, 20);
    assert.ok(new Set(ids).size <= 2);
  });

  test('a task that never ends is ended, and those waiting behind it are served', async () => {
    const threads = start();
    const stuck = [threads.run('spin', 50), threads.run('spin', 50)];
    const waiting = threads.run('work', limitMs);
    for (const each of stuck) await assert.rejects(each, ThreadTimeout);
    assert.equal(typeof (await waiting), 'number');
  });

  test('a thread that fails rejects its own task alone, and another takes its place', async () => {
    const threads = start();
    await assert.rejects(threads.run('throw', limitMs), /thrown inside/);
    await assert.rejects(threads.run('exit', limitMs), /without an answer/);
    await assert.rejects(threads.run('fill', limitMs), { code: 'ERR_WORKER_OUT_OF_MEMORY' });
    assert.equal(typeof (await threads.run('work', limitMs)), 'number');
  });

  test('a thread that dies when it is idle is not used again and harms nobody', async () => {
    const threads = start();
    // A task given before the thread's end is noticed may fail with it, even the first one if this
    // thread is slow; eventually another thread answers.
    const failedWithIt = (died: unknown) => (error: Error) => {
      assert.match(error.message, /thrown when idle/);
      return died;
    };
    const died = await threads.run('die later', limitMs).catch(failedWithIt(null));
    let served = died;
    while (served === died) {
      served = await threads.run('work', limitMs).catch(failedWithIt(died));
    }
  });

  test('idle threads do not keep the process alive', async () => {
    const program = `
      import { Threads } from ${JSON.stringify(new URL('./threads.ts', import.meta.url).href)};
      const script = new URL(${JSON.stringify(script.href)});
      const threads = new Threads(script, { size: 1, memoryMb: 32 });
      await threads.run('work', ${limitMs});
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      timeout: limitMs,
      stdio: 'inherit',
    });
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

  test('a thread sees nothing of the environment', async () => {
    assert.equal(await start().run('environment', limitMs), 0);
  });
});
