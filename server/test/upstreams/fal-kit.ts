import type { TestContext } from 'node:test';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createFal } from '../../src/upstreams/fal/fal.ts';
import type { Handle, StartJob, Upstream, UpstreamTools } from '../../src/upstreams/upstream.ts';
import { handleOf, jobOf } from './job-kit.ts';
import { fakeFal, falKey, type FakeFal } from './fakes/fal.ts';

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

export const jobFor = (input: Record<string, unknown>, more: Partial<StartJob> = {}): StartJob =>
  jobOf({ model: 'fal-ai/flux/dev', input, ...more });

/** Starts a job, which the upstream accepts. */
export const started = async (
  fal: Upstream,
  more: Partial<StartJob> = {},
  input: Record<string, unknown> = { prompt: 'a lighthouse' },
): Promise<Handle> => handleOf(await fal.start(jobFor(input, more)));
