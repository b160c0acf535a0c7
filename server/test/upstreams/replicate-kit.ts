import assert from 'node:assert/strict';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import type { UpstreamSettings } from '../../src/core/catalog/upstream-definition.ts';
import { createReplicate } from '../../src/upstreams/replicate/replicate.ts';
import type {
  Handle,
  InputFile,
  JobState,
  StartJob,
  StartOutcome,
  Upstream,
  UpstreamTools,
} from '../../src/upstreams/upstream.ts';
import { fakeReplicate } from './fakes/replicate.ts';
import type { FakeUpstream } from './fakes/kit.ts';

/** The adapter with the stand-in of Replicate. */

export const SIGNAL = new AbortController().signal;

export interface Stand {
  fake: FakeUpstream;
  upstream: Upstream;
  settings: UpstreamSettings;
  tools: UpstreamTools;
  /** The clock that the adapter reads. */
  clock: { now: number };
  close(): Promise<void>;
}

export async function openStand(change: Partial<UpstreamSettings> = {}): Promise<Stand> {
  const fake = await fakeReplicate();
  const fetch = createFetch({ guard: false });
  const clock = { now: Date.now() };
  const settings = {
    name: 'replicate',
    url: fake.url,
    key: fake.key,
    secret: fake.secret,
    concurrency: 3,
    options: {},
    ...change,
  };
  const tools: UpstreamTools = {
    fetch,
    guarded: fetch,
    download: () => assert.fail('nothing is downloaded for an upstream that fetches by itself'),
    now: () => clock.now,
  };
  const close = async () => {
    await fetch.close();
    await fake.close();
  };
  return { fake, upstream: createReplicate(settings, tools), settings, tools, clock, close };
}

export function jobOf(change: Partial<StartJob> = {}): StartJob {
  const input = change.input ?? { prompt: 'a lighthouse' };
  return {
    request_id: '0190f2a4-0000-7000-8000-000000000001',
    idempotency_key: '0190f2a4-0000-7000-8000-000000000001',
    model: 'maker/pictures',
    task: 'text-to-image',
    input,
    fields: Object.keys(input),
    files: {},
    callback_url: null,
    hold: () => {},
    inShare: (work) => work(),
    signal: SIGNAL,
    ...change,
  };
}

export function handleOf(outcome: StartOutcome): Handle {
  assert.equal(outcome.outcome, 'accepted', JSON.stringify(outcome));
  return (outcome as { handle: Handle }).handle;
}

/** Polls until the job is no longer running. Earlier states are added to `seen`. */
export async function ended(upstream: Upstream, handle: Handle, seen: JobState[] = []) {
  for (let look = 0; look < 10; look++) {
    const state = await upstream.poll(handle, SIGNAL);
    if (state.state !== 'running') return state;
    seen.push(state);
  }
  assert.fail('it runs for ever');
}

/** A stored file of this size in bytes. */
export function fileOf(size: number, content_type = 'image/png', more: Partial<InputFile> = {}) {
  const bytes = Buffer.alloc(size, 7);
  const file: InputFile = {
    content_type,
    size,
    open: async () =>
      (async function* () {
        yield bytes;
      })(),
    ...more,
  };
  return file;
}
