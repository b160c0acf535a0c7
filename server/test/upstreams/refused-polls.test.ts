import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AdapterName } from '../../src/core/catalog/upstream-definition.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { adapters } from '../../src/upstreams/adapters.ts';
import { PollRefused, type Handle } from '../../src/upstreams/upstream.ts';
import { serve, type Answer } from './fakes/kit.ts';
import { plain } from './http-job-kit.ts';

/**
 * A poll that an upstream refuses, with each adapter: the reason, the wait, and no key in any text.
 */

interface Look {
  adapter: AdapterName;
  handle: Handle;
  options?: Record<string, unknown>;
}

const workflows = { w: { graph: {}, inputs: {} } };
/** The adapter anthropic has only chat, so it has no job to poll. */
const looks: Record<Exclude<AdapterName, 'anthropic'> | 'openrouter', Look> = {
  'http-job': { adapter: 'http-job', handle: { id: 'a', task: 'text-to-image' }, options: plain },
  fal: { adapter: 'fal', handle: { request_id: 'a', model: 'fal-ai/flux' } },
  replicate: { adapter: 'replicate', handle: { id: 'a' } },
  comfyui: {
    adapter: 'comfyui',
    handle: { prompt_id: 'a', workflow: 'w' },
    options: { workflows },
  },
  openai: { adapter: 'openai', handle: { id: 'a' } },
  openrouter: { adapter: 'openai', handle: { id: 'a' }, options: { videos: 'openrouter' } },
};
const key = 'a-key-of-ours';
const said = { json: { error: { message: `no, ${key}` } } };
const cases: [Answer, why: string | null, retry_after_ms?: number][] = [
  [{ ...said, status: 429, headers: { 'retry-after': '40' } }, 'busy', 40_000],
  [{ ...said, status: 503, headers: { 'retry-after-ms': '1500' } }, 'busy', 1_500],
  [{ ...said, status: 429 }, 'busy'],
  [{ ...said, status: 401 }, 'credential'],
  [{ ...said, status: 403 }, 'credential'],
  [{ ...said, status: 402 }, 'account'],
  [{ ...said, status: 500, headers: { 'retry-after': '40' } }, null],
];

async function lookAt(
  t: TestContext,
  { adapter, handle, options = {} }: Look,
  answer: () => Answer,
): Promise<Error> {
  const server = await serve(answer);
  const fetch = createFetch({ guard: false });
  t.after(() => Promise.all([fetch.close(), server.close()]));
  const download = () => assert.fail('nothing is downloaded for a look');
  const tools = { fetch, guarded: fetch, download, now: () => Date.now() };
  const settings = { name: 'it', url: server.url, key, secret: null, concurrency: 1, options };
  const fault = await adapters[adapter]
    .create(settings, tools)
    .poll(handle, t.signal)
    .then(() => assert.fail('it was no answer'))
    .catch((error: Error) => error);
  assert.equal(server.calls.length, 1, 'asked once');
  assert.ok(!fault.message.includes(key), fault.message);
  return fault;
}

test('every adapter has its cases', () => {
  const lookedAt = new Set(Object.values(looks).map(({ adapter }) => adapter));
  assert.deepEqual([...lookedAt, 'anthropic'].toSorted(), Object.keys(adapters).toSorted());
});

for (const [name, look] of Object.entries(looks)) {
  for (const [answer, why, retry_after_ms] of cases) {
    const { status, headers = {} } = answer;
    test(`${name}: ${status} ${JSON.stringify(headers)} is ${why ?? 'no refusal'}`, async (t) => {
      const fault = await lookAt(t, look, () => answer);
      if (why === null) return void assert.ok(!(fault instanceof PollRefused), String(fault));
      assert.ok(fault instanceof PollRefused, String(fault));
      assert.deepEqual([fault.why, fault.retry_after_ms], [why, retry_after_ms]);
    });
  }
}

test('replicate: the seconds that its message names', async (t) => {
  const json = { detail: 'Request was throttled. Your rate limit resets in ~7s.' };
  const fault = await lookAt(t, looks.replicate, () => ({ status: 429, json }));
  assert.ok(fault instanceof PollRefused && fault.retry_after_ms === 7_000);
});

test('openrouter: an error inside a success', async (t) => {
  const json = { error: { code: 429, message: 'slow down' } };
  const headers = { 'retry-after': '3' };
  const fault = await lookAt(t, looks.openrouter, () => ({ status: 200, json, headers }));
  assert.ok(fault instanceof PollRefused && fault.retry_after_ms === 3_000);
});

test('fal: a key that was accepted for the status is not called wrong for the result', async (t) => {
  for (const [status, isRefused] of [
    [403, false],
    [429, true],
  ] as const) {
    const answers: Answer[] = [{ json: { status: 'COMPLETED' } }, { ...said, status }];
    const server = await serve(() => answers.shift()!);
    const fetch = createFetch({ guard: false });
    t.after(() => Promise.all([fetch.close(), server.close()]));
    const download = () => assert.fail('nothing is downloaded for a look');
    const tools = { fetch, guarded: fetch, download, now: () => Date.now() };
    const options = { api_url: server.url };
    const settings = { name: 'fal', url: server.url, key, secret: null, concurrency: 1, options };
    const look = adapters.fal.create(settings, tools).poll(looks.fal.handle, t.signal);
    const fault = await look.catch((error: unknown) => error);
    assert.equal(fault instanceof PollRefused, isRefused, String(fault));
    assert.equal(server.calls.length, 2);
  }
});
