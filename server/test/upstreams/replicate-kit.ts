import assert from 'node:assert/strict';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import type { UpstreamSettings } from '../../src/core/catalog/upstream-definition.ts';
import { createReplicate } from '../../src/upstreams/replicate/replicate.ts';
import type { InputFile, StartJob, Upstream, UpstreamTools } from '../../src/upstreams/upstream.ts';
import { fileOf as fileFor, jobOf as jobFor } from './job-kit.ts';
import { fakeReplicate } from './fakes/replicate.ts';
import type { FakeUpstream } from './fakes/kit.ts';

/** The adapter with the stand-in of Replicate. */

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

export const jobOf = (more: Partial<StartJob> = {}): StartJob =>
  jobFor({ model: 'maker/pictures', ...more });

/** A stored file of this size in bytes. */
export const fileOf = (size: number, content_type = 'image/png', more: Partial<InputFile> = {}) =>
  fileFor(Buffer.alloc(size, 7), { content_type, ...more });
