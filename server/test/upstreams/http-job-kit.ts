import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import { settingsOf, type UpstreamSettings } from '../../src/core/catalog/upstream-definition.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { createHttpJob } from '../../src/upstreams/http-job/http-job.ts';
import type { Handle, StartJob, Upstream, UpstreamTools } from '../../src/upstreams/upstream.ts';
import { serve, type Answer, type Call, type FakeUpstream } from './fakes/kit.ts';
import type { Rig } from './conformance.ts';
import { handleOf, jobOf } from './job-kit.ts';

/**
 * YAML of the upstream of a shipped catalog file, with a fake's address and credentials. `hosts`:
 * further addresses that the fake serves.
 */
export function shippedDefinition(name: string, hosts: readonly string[] = []): string {
  const file = join(import.meta.dirname, `../../../catalog/${name}.yaml`);
  const { upstream } = parse(readFileSync(file, 'utf8'));
  const faked = {
    ...upstream,
    key_from: 'FAKE_KEY',
    ...(upstream.secret_from && { secret_from: 'FAKE_SECRET' }),
  };
  return [upstream.url, ...hosts].reduce(
    (text, address) => text.replaceAll(address, 'URL'),
    stringify({ upstream: faked }),
  );
}

export interface World {
  fake: FakeUpstream;
  service: Upstream;
  /** The same upstream without a secret. */
  withoutSecret: Upstream;
  /** Moves the adapter's clock, in milliseconds. */
  later(ms: number): void;
}

/** Opens an upstream that comes with Farebox, with its stand-in, for one test. */
export async function open(t: TestContext, { open: openFake, catalog }: Rig): Promise<World> {
  const fake = await openFake();
  let ahead = 0;
  const tools = toolsOf(t, () => ahead);
  t.after(() => fake.close());
  const settings = settingsIn(catalog.replaceAll('URL', fake.url), {
    FAKE_KEY: fake.key,
    FAKE_SECRET: fake.secret ?? '',
  });
  return {
    fake,
    service: createHttpJob(settings, tools),
    withoutSecret: createHttpJob({ ...settings, secret: null }, tools),
    later: (ms) => void (ahead += ms),
  };
}

function toolsOf(t: TestContext, ahead: () => number): UpstreamTools {
  const fetch = createFetch({ guard: false });
  t.after(() => fetch.close());
  return {
    fetch,
    guarded: fetch,
    download: () => Promise.reject(new Error('nothing is downloaded here')),
    now: () => Date.now() + ahead(),
  };
}

function settingsIn(text: string, variables: Record<string, string>): UpstreamSettings {
  const { upstream, problems } = parseCatalogText(text, 'rig.yaml');
  if (upstream === null) throw new Error(JSON.stringify(problems));
  const settings = settingsOf(upstream, (name) => variables[name] ?? null);
  if (typeof settings === 'string') throw new Error(settings);
  return settings;
}

/** The smallest possible definition. */
export const plain = {
  auth: 'bearer',
  submit: { path: '/jobs', body: { model: '$model', input: '$input' } },
  id: 'id',
  poll: { path: '/jobs/{id}' },
  status: 'status',
  outputs: ['outputs'],
};

export interface PlainService {
  service: Upstream;
  url: string;
  calls: { method: string; path: string; headers: Call['headers']; json: any }[];
}

/** Opens an upstream of a test's own: `plain` with changes, and the answers of its server. */
export async function openPlain(
  t: TestContext,
  changes: Record<string, unknown>,
  answer: (call: Call, url: string) => Answer,
  more: Partial<UpstreamSettings> = {},
): Promise<PlainService> {
  const calls: PlainService['calls'] = [];
  const server = await serve((call) => {
    const { method, path, query, headers, body } = call;
    const text = query.size === 0 ? path : `${path}?${query}`;
    const json = body.length > 0 && body[0] !== 45 ? call.json() : null;
    calls.push({ method, path: text, headers, json });
    return answer(call, server.url);
  });
  t.after(() => server.close());
  const settings = {
    name: 'plain',
    url: server.url,
    key: 'plain-key',
    secret: null,
    concurrency: 3,
    options: { ...plain, ...changes },
    ...more,
  };
  const tools = toolsOf(t, () => 0);
  return { service: createHttpJob(settings, tools), url: server.url, calls };
}

export const jobFor = (more: Partial<StartJob> = {}): StartJob =>
  jobOf({ model: 'google/nano-banana', ...more });

/** Starts a job, which the upstream accepts. */
export const started = async (service: Upstream, more?: Partial<StartJob>): Promise<Handle> =>
  handleOf(await service.start(jobFor(more)));
