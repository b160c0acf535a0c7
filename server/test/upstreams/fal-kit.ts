import type { TestContext } from 'node:test';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createFal } from '../../src/upstreams/fal/fal.ts';
import type {
  Handle,
  InputFile,
  JobState,
  StartJob,
  Upstream,
  UpstreamTools,
} from '../../src/upstreams/upstream.ts';
import { fakeFal, falKey, type FakeFal } from './fakes/fal.ts';

/** A signal that is never aborted. */
export const signal = new AbortController().signal;

export interface World {
  fake: FakeFal;
  fal: Upstream;
  tools: UpstreamTools;
  settings: Parameters<typeof createFal>[0];
  /** Moves the adapter's clock, in milliseconds. */
  later(ms: number): void;
}

/** The adapter against its stand-in, for one test. */
export async function open(t: TestContext, options: Record<string, unknown> = {}): Promise<World> {
  const fake = await fakeFal();
  const fetch = createFetch({ guard: false });
  // Like a name server that resolves a public name to a private address.
  const guarded = createFetch({ guard: true, lookup: async () => ['127.0.0.1'] });
  let ahead = 0;
  const tools: UpstreamTools = {
    fetch,
    guarded,
    download: () => Promise.reject(new Error('nothing is downloaded here')),
    now: () => Date.now() + ahead,
  };
  const settings = {
    name: 'fal',
    url: fake.url,
    key: falKey,
    secret: null,
    concurrency: 3,
    options: { rest_url: fake.url, api_url: `${fake.url}/v1`, ...options },
  };
  t.after(async () => {
    await Promise.all([fetch.close(), guarded.close()]);
    await fake.close();
  });
  const later = (ms: number) => void (ahead += ms);
  return { fake, fal: createFal(settings, tools), tools, settings, later };
}

export function jobFor(input: Record<string, unknown>, more: Partial<StartJob> = {}): StartJob {
  return {
    request_id: 'request-1',
    idempotency_key: 'request-1',
    model: 'fal-ai/flux/dev',
    task: 'text-to-image',
    input,
    fields: Object.keys(input),
    files: {},
    callback_url: null,
    hold: () => {},
    inShare: (work) => work(),
    signal,
    ...more,
  };
}

/** A stored file of the caller. */
export function fileOf(bytes: Buffer, more: Partial<InputFile> = {}): InputFile {
  const open = async () =>
    (async function* () {
      yield bytes;
    })();
  return { content_type: 'image/png', size: bytes.length, open, ...more };
}

/** Starts a job, which the upstream accepts. */
export async function started(
  fal: Upstream,
  more: Partial<StartJob> = {},
  input: Record<string, unknown> = { prompt: 'a lighthouse' },
): Promise<Handle> {
  const outcome = await fal.start(jobFor(input, more));
  if (outcome.outcome !== 'accepted') throw new Error(JSON.stringify(outcome));
  return outcome.handle;
}

/** Polls until the job ends. A poll that threw is recorded by a word of its own. */
export async function looksOf(fal: Upstream, handle: Handle, most = 6): Promise<Looks> {
  const words: string[] = [];
  for (let look = 0; look < most; look++) {
    const state = await fal.poll(handle, signal).catch((error: Error) => error);
    if (state instanceof Error) words.push('threw');
    else words.push(state.state);
    if (!(state instanceof Error) && (state.state === 'done' || state.state === 'failed'))
      return { words, last: state };
  }
  return { words, last: null };
}

export interface Looks {
  words: string[];
  last: Extract<JobState, { state: 'done' | 'failed' }> | null;
}
