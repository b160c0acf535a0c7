import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { fromJson } from '../../src/lib/json.ts';
import type { JobState, StartOutcome, StoppedJob } from '../../src/upstreams/upstream.ts';
import {
  openSignal,
  finish,
  handleOf,
  madeOf,
  openSandbox,
  start,
  tiny,
  type OpenedSandbox,
} from './sandbox-kit.ts';

let opened: OpenedSandbox;

before(async () => void (opened = await openSandbox()));
after(() => opened.close());

/** Starts an image, with the fault's words as its key. */
function ask(words: string): Promise<StartOutcome> {
  return start(
    opened.sandbox,
    'text-to-image',
    { prompt: `sea ${words}`, ...tiny },
    { key: words },
  );
}

const end = async (words: string): Promise<JobState> =>
  finish(opened.sandbox, handleOf(await ask(words)));

const jobs = async (): Promise<number> =>
  (await readdir(join(opened.dir, 'jobs')).catch(() => [])).length;

describe('faults on request', () => {
  test('sandbox:fail is accepted, then failed', async () => {
    const state = await end('sandbox:fail');
    assert.equal(state.state, 'failed');
    assert.equal((state as { code: string }).code, 'upstream_failed');
  });

  test('sandbox:reject is rejected and leaves no job', async () => {
    const before = await jobs();
    assert.equal((await ask('sandbox:reject')).outcome, 'rejected');
    assert.equal(await jobs(), before);
  });

  test('sandbox:busy is not accepted, asks no other job to wait, and leaves none', async () => {
    const before = await jobs();
    const outcome = await ask('sandbox:busy');
    assert.equal(outcome.outcome, 'not_accepted');
    assert.ok(!('retry_after_ms' in outcome));
    assert.equal(await jobs(), before);
  });

  test('sandbox:lost keeps the job, though the answer is unknown; the same key finds it', async () => {
    assert.equal((await ask('sandbox:lost')).outcome, 'unknown');
    assert.equal(madeOf(await end('sandbox:lost')).files.length, 1);
  });

  test('sandbox:slow is ready at the requested time, and shows its progress until then', async () => {
    const handle = handleOf(await ask('sandbox:slow=600'));
    const early = await opened.sandbox.poll(handle, openSignal);
    assert.equal(early.state, 'running');
    const { progress, logs } = early as JobState & { state: 'running' };
    assert.ok(progress! < 1);
    assert.match(logs![0]!, /text-to-image/);
    const file = join(opened.dir, 'jobs', String(handle.job), 'job.json');
    const job = fromJson<{ accepted_at: string }>(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...job, ready_at: job.accepted_at }));
    madeOf(await finish(opened.sandbox, handle));
  });

  test('sandbox:hang never gets ready; cancelled, it has stopped', async () => {
    const { sandbox } = opened;
    const handle = handleOf(await ask('sandbox:hang'));
    for (let i = 0; i < 3; i++)
      assert.equal((await sandbox.poll(handle, openSignal)).state, 'running');
    await sandbox.cancel!(handle, openSignal);
    const { state, quantity } = (await sandbox.poll(handle, openSignal)) as StoppedJob;
    assert.deepEqual([state, quantity], ['stopped', undefined]);
  });

  test('a video that is cancelled half-way bills the seconds made by then', async () => {
    const input = { prompt: 'sandbox:slow=3600', ...tiny, duration_seconds: 8 };
    const handle = handleOf(await start(opened.sandbox, 'text-to-video', input));
    const file = join(opened.dir, 'jobs', String(handle.job), 'job.json');
    const job = fromJson<object>(await readFile(file, 'utf8'));
    const accepted_at = new Date(Date.now() - 3_600_000).toISOString();
    const ready_at = new Date(Date.now() + 3_600_000).toISOString();
    await writeFile(file, JSON.stringify({ ...job, accepted_at, ready_at }));
    await opened.sandbox.cancel!(handle, openSignal);
    const first = (await opened.sandbox.poll(handle, openSignal)) as StoppedJob;
    assert.deepEqual([first.state, Math.round(first.quantity!)], ['stopped', 4]);
    await opened.sandbox.cancel!(handle, openSignal);
    assert.deepEqual(await opened.sandbox.poll(handle, openSignal), first);
  });

  test('a job that is ready is not cancelled any more', async () => {
    const handle = handleOf(await ask('sandbox:slow=0'));
    await opened.sandbox.cancel!(handle, openSignal);
    madeOf(await finish(opened.sandbox, handle));
  });

  test('sandbox:bad-output delivers an image that is not one', async () => {
    const { files } = madeOf(await end('sandbox:bad-output'));
    assert.equal(files[0]!.content_type, 'image/png');
    await assert.rejects(sharp(files[0]!.bytes).metadata());
  });

  test('a video is slow by the same words', async () => {
    const input = { prompt: 'sandbox:slow=3600', ...tiny, duration_seconds: 1 };
    const outcome = await start(opened.sandbox, 'text-to-video', input);
    assert.equal((await opened.sandbox.poll(handleOf(outcome), openSignal)).state, 'running');
  });
});
