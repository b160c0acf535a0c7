import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createSandbox } from '../../src/upstreams/sandbox/sandbox.ts';
import type { Handle, Upstream } from '../../src/upstreams/upstream.ts';
import {
  openSignal,
  finish,
  handleOf,
  image,
  make,
  makeMedia,
  madeOf,
  newSandbox,
  openSandbox,
  start,
  tiny,
  type Media,
  type OpenedSandbox,
} from './sandbox-kit.ts';

let opened: OpenedSandbox;
let media: Media;

before(async () => {
  opened = await openSandbox();
  media = await makeMedia(opened.sandbox);
});
after(() => opened.close());

describe('the same job gives the same bytes', () => {
  test('for a prompt and a seed, in any folder; another prompt or seed gives others', async (t) => {
    const [one, two] = [opened, await newSandbox(t)];
    for (const task of ['text-to-image', 'text-to-vector', 'text-to-video']) {
      const input = {
        prompt: 'a lake',
        seed: 7,
        ...tiny,
        duration_seconds: 0.5,
        generate_audio: true,
      };
      const bytes = async (sandbox: Upstream, more: object): Promise<string> =>
        (await make(sandbox, task, { ...input, ...more })).files[0]!.bytes.toString('base64');
      const first = await bytes(one.sandbox, {});
      assert.equal(await bytes(two.sandbox, {}), first, task);
      assert.notEqual(await bytes(one.sandbox, { seed: 8 }), first, task);
      assert.notEqual(await bytes(one.sandbox, { prompt: 'a hill' }), first, task);
    }
  });

  test('each picture of one request differs, and the second is the next seed', async () => {
    const { sandbox } = opened;
    const input = { prompt: 'a lake', ...tiny };
    const both = (await make(sandbox, 'text-to-image', { ...input, seed: 1, num_images: 2 })).files;
    const next = await make(sandbox, 'text-to-image', { ...input, seed: 2 });
    assert.notDeepEqual(both[0]!.bytes, both[1]!.bytes);
    assert.deepEqual(both[1]!.bytes, next.files[0]!.bytes);
    assert.equal(next.fields.seed, 2);
  });

  test('rendered again after its result got lost', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const input = { ...image, resolution: '480p', duration_seconds: 0.4 };
    const handle = handleOf(await start(sandbox, 'image-to-video', input, { files: media.files }));
    const first = madeOf(await finish(sandbox, handle));
    for (const key of await readdir(join(dir, 'jobs')))
      await rm(join(dir, 'jobs', key, 'result'), { recursive: true });
    const other = createSandbox({ dir, speed: Infinity });
    t.after(() => other.close!());
    assert.deepEqual(madeOf(await finish(other, handle)), first);
  });
});

describe('one job for one key', () => {
  test('the same key again gets the same handle and makes no second job', async () => {
    const { dir, sandbox } = opened;
    const key = 'Kéy/../1';
    const jobs = (await readdir(join(dir, 'jobs'))).length;
    const input = { prompt: 'sea', ...tiny };
    const first = handleOf(await start(sandbox, 'text-to-image', input, { key }));
    const again = handleOf(await start(sandbox, 'text-to-image', input, { key }));
    assert.deepEqual(again, first);
    assert.equal((await readdir(join(dir, 'jobs'))).length, jobs + 1);
  });

  test('many starts at once, over two sandboxes of one folder, are one job', async (t) => {
    const { dir, sandbox, close } = await openSandbox();
    const other = createSandbox({ dir, speed: Infinity });
    t.after(async () => {
      await other.close!();
      await close();
    });
    const both = [sandbox, other];
    const starts = Array.from({ length: 20 }, (_, i) =>
      start(both[i % 2]!, 'edit', { prompt: 'x', ...image }, { key: 'one', files: media.files }),
    );
    const handles = (await Promise.all(starts)).map(handleOf);
    assert.equal(new Set(handles.map((handle) => JSON.stringify(handle))).size, 1);
    assert.deepEqual(await readdir(join(dir, 'jobs')), ['one']);
    assert.equal(madeOf(await finish(other, handles[0]!)).files.length, 1);
  });

  test('a job started by one sandbox is finished by another after the first has closed', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const first = createSandbox({ dir });
    const handle = handleOf(
      await start(first, 'text-to-image', { prompt: 'sandbox:slow=0.1 sea', ...tiny }),
    );
    await first.close!();
    assert.equal(madeOf(await finish(sandbox, handle)).files.length, 1);
  });

  test('a process killed at any moment loses no accepted job and doubles none', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const program = `
      import { createSandbox } from '${new URL('../../src/upstreams/sandbox/sandbox.ts', import.meta.url)}';
      const sandbox = createSandbox({ dir: ${JSON.stringify(dir)}, speed: Infinity });
      for (let i = 0; ; i++) {
        const { handle } = await sandbox.start({ request_id: 'r' + i, idempotency_key: 'k' + i, model: 'm',
          task: 'text-to-image', input: { prompt: 'p' + i, width: 64, height: 64 }, fields: [], files: {},
          signal: new AbortController().signal });
        console.log(JSON.stringify(handle));
      }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const handles: Handle[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      handles.push(JSON.parse(line));
      if (handles.length === 25) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    assert.equal(child.signalCode, 'SIGKILL');
    assert.ok(handles.length >= 25);
    for (const [i, handle] of handles.entries()) {
      assert.equal(madeOf(await finish(sandbox, handle)).files.length, 1);
      const again = await start(
        sandbox,
        'text-to-image',
        { prompt: `p${i}`, width: 64, height: 64 },
        { key: `k${i}` },
      );
      assert.deepEqual(handleOf(again), handle);
    }
  });
});

describe('the folder', () => {
  test('forgets jobs after two hours, and keeps younger ones', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const input = { prompt: 'x', ...image };
    const old = handleOf(await start(sandbox, 'edit', input, { key: 'old', files: media.files }));
    const young = handleOf(
      await start(sandbox, 'edit', input, { key: 'young', files: media.files }),
    );
    madeOf(await finish(sandbox, old));
    const young1 = madeOf(await finish(sandbox, young));
    const before = new Date(Date.now() - 3 * 60 * 60 * 1000);
    await utimes(join(dir, 'jobs', 'old'), before, before);
    const other = createSandbox({ dir, speed: Infinity });
    t.after(() => other.close!());
    let state = await other.poll(old, openSignal);
    // While its files go one by one, it may look like a job that runs.
    while (state.state !== 'failed') {
      await wait(5);
      state = await other.poll(old, openSignal);
    }
    assert.deepEqual(madeOf(await other.poll(young, openSignal)), young1);
    while ((await readdir(join(dir, 'jobs'))).includes('old')) await wait(5);
  });

  test('has only complete results: every result names existing files', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    await make(sandbox, 'text-to-image', { prompt: 'x', ...tiny, num_images: 2 }, { key: 'two' });
    const { made } = JSON.parse(
      await readFile(join(dir, 'jobs', 'two', 'result', 'result.json'), 'utf8'),
    );
    const names = made.media.map(({ file }: { file: string }) => file);
    assert.deepEqual(
      (await readdir(join(dir, 'jobs', 'two', 'result'))).sort(),
      [...names, 'result.json'].sort(),
    );
    assert.deepEqual(await readdir(join(dir, 'tmp')), []);
  });
});

test('an image takes its natural time without a setting for speed', async (t) => {
  const { sandbox } = await newSandbox(t, { speed: 1 });
  const outcome = await start(sandbox, 'text-to-image', { prompt: 'x', ...tiny });
  const { poll_after_ms } = outcome as { poll_after_ms: number };
  assert.ok(poll_after_ms > 400 && poll_after_ms <= 1500, `${poll_after_ms} ms`);
  assert.equal((await sandbox.poll(handleOf(outcome), openSignal)).state, 'running');
});
