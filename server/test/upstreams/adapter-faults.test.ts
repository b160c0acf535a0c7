import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { upstreamFields, upstreamInput } from '../../src/core/catalog/model-input.ts';
import { settingsOf } from '../../src/core/catalog/upstream-definition.ts';
import { price } from '../../src/core/price/price.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { keysOf } from '../../src/lib/records.ts';
import { adapters } from '../../src/upstreams/adapters.ts';
import type { JobState, StartOutcome, Upstream } from '../../src/upstreams/upstream.ts';
import type { Rig } from './conformance.ts';
import { faults, type Fault, type FakeUpstream } from './fakes/kit.ts';
import { jobOf, signal } from './job-kit.ts';

/**
 * The verdict of each adapter on each fault of its upstream, without the service: nothing is sent a
 * second time, and no text holds the key, the secret or an address.
 */

const rigs: Rig[] = [];
for (const file of readdirSync(join(import.meta.dirname, 'rigs')).toSorted()) {
  const { rig } = (await import(`./rigs/${file}`)) as { rig: Rig };
  rigs.push(rig);
}

type ExpectedOutcome = Record<string, unknown>;
const unknown = { outcome: 'unknown' };
const refused = (why: string) => ({ outcome: 'not_accepted', why });
const starts: Partial<Record<Fault, [expected: ExpectedOutcome, jobs: number]>> = {
  'submit-lost': [unknown, 1],
  'submit-502-after': [unknown, 1],
  'submit-garbage': [unknown, 1],
  'submit-reset': [unknown, 0],
  'submit-429': [{ ...refused('busy'), retry_after_ms: 7000 }, 0],
  'submit-429-date': [refused('busy'), 0],
  'submit-429-bare': [refused('busy'), 0],
  'submit-503': [refused('busy'), 0],
  'submit-account': [refused('account'), 0],
  'submit-credential': [refused('credential'), 0],
  'submit-model': [refused('model'), 0],
  'submit-invalid': [{ outcome: 'rejected' }, 0],
};

const again = ['threw', 'done'];
const missing = ['missing', 'missing', 'missing', 'missing'];
/** The words of polls until the end, without those of a running job. */
const polls: Partial<Record<Fault, string[]>> = {
  'poll-500': again,
  'poll-502': again,
  'poll-504': again,
  'poll-429': again,
  'poll-reset': again,
  'poll-garbage': again,
  'poll-error-in-200': again,
  'poll-404-once': ['missing', 'done'],
  'poll-404-always': missing,
  'poll-unknown-word': ['done'],
  'poll-upper-case': ['done'],
  'poll-regress': ['done'],
  'poll-at-once-done': ['done'],
  'finish-failed': ['upstream_failed'],
  'finish-refused': ['upstream_rejected'],
  'finish-empty': ['upstream_failed'],
  'finish-result-422': ['upstream_rejected'],
  'finish-gone': missing,
};

/** Where an adapter says more, or something else. */
const own: Record<string, Partial<Record<Fault, ExpectedOutcome | string[]>>> = {
  fal: {
    'submit-502-after': { message: 'answered 502' },
    'submit-garbage': { message: 'its answer has no job id' },
    'submit-503': { message: 'No runner is available' },
    'submit-invalid': { message: 'prompt: Field required' },
    'finish-failed': ['upstream_failed: CUDA ran out of memory, see …'],
    'finish-refused': ['upstream_rejected: prompt: The content was flagged by a filter'],
    'finish-result-422': ['upstream_rejected: seed: Input should be a valid integer'],
    'finish-empty': ['upstream_failed: The model returned no output.'],
  },
  replicate: {
    'finish-failed': ['upstream_failed: Prediction interrupted; please retry (code: PA)'],
    'finish-refused': [
      'upstream_rejected: NSFW content detected. Try running it again, or try a different prompt.',
    ],
    'finish-empty': ['upstream_failed: The model returned no output.'],
    'finish-gone': ['upstream_failed: The result was removed before it could be fetched.'],
  },
  comfyui: { 'submit-invalid': { message: 'prompt: Value bigger than max: text' } },
  kie: { 'submit-429': { limited: true }, 'submit-429-bare': { limited: true } },
  wavespeed: { 'submit-429': { limited: true }, 'submit-429-bare': { limited: true } },
  'openai-images': { 'submit-invalid': { message: 'Invalid value: size must be 1024x1024.' } },
  'openai-videos': {
    'submit-invalid': { message: 'Invalid value: size must be 1024x1024.' },
    'finish-failed': ['upstream_failed: The generation failed.'],
    'finish-empty': ['done'],
  },
  'openrouter-videos': {
    'submit-invalid': { message: 'Invalid value: size must be 1024x1024.' },
    'finish-failed': ['upstream_failed: The generation failed.'],
    'finish-empty': ['done'],
  },
};

interface World {
  fake: FakeUpstream;
  upstream: Upstream;
  start(): Promise<StartOutcome>;
}

/** The upstream of the rig's file, and a job of its first row. */
async function open(t: TestContext, rig: Rig): Promise<World> {
  const fake = await rig.open();
  const fetch = createFetch({ guard: false });
  t.after(() => Promise.all([fetch.close(), fake.close()]));
  const text = rig.catalog.replaceAll('URL', fake.url);
  const { upstream: defined, rows, problems } = parseCatalogText(text, 'rig.yaml');
  assert.deepEqual(problems, []);
  const settings = settingsOf(defined!, (name) => (name === 'FAKE_KEY' ? fake.key : fake.secret));
  assert.ok(typeof settings === 'object', String(settings));
  const download = () => assert.fail('nothing is downloaded here');
  const tools = { fetch, guarded: fetch, download, now: () => Date.now() };
  const upstream = adapters[rig.adapter].create(settings, tools);
  const [{ model_id, input }] = rig.kinds as [Rig['kinds'][0]];
  const row = rows.find(({ id }) => id === model_id)!;
  const [route] = row.upstreams as [(typeof row.upstreams)[0]];
  const job = jobOf({
    model: route.model,
    task: row.task,
    input: upstreamInput(row, route, input, price(row, input).assumptions),
    fields: upstreamFields(row, route),
  });
  return { fake, upstream, start: async () => upstream.start(job) };
}

function assertHidden({ fake }: World, told: unknown): void {
  const text = inspect(told);
  for (const hidden of [fake.key, fake.secret, fake.url, '<html>'])
    assert.ok(!hidden || !text.includes(hidden), text);
}

/** Polls until the end. A running job has no word. */
async function wordsOf(world: World, handle: Parameters<Upstream['poll']>[0]): Promise<string[]> {
  const words: string[] = [];
  for (let look = 0; look < 8 && words.length < 4; look++) {
    const state: JobState | Error = await world.upstream
      .poll(handle, signal)
      .catch((error: Error) => error);
    if (state instanceof Error) {
      assertHidden(world, state.message);
      words.push('threw');
    } else if (state.state === 'failed') {
      assertHidden(world, state);
      return [...words, `${state.code}: ${state.message}`];
    } else if (state.state !== 'running') words.push(state.state);
    if (words.at(-1) === 'done') break;
  }
  return words;
}

test('every fault of a start, a poll and an end has its row', () => {
  const rows = [...keysOf(starts), ...keysOf(polls)];
  const all = keysOf(faults).filter((fault) => /^(submit|poll|finish)-/.test(fault));
  assert.deepEqual(rows.toSorted(), all.toSorted());
});

for (const rig of rigs)
  describe(rig.name, () => {
    const able = (fault: Fault) => rig.cannot[fault] === undefined;
    for (const fault of keysOf(starts).filter(able))
      test(`a start: ${faults[fault]}`, async (t) => {
        const world = await open(t, rig);
        world.fake.play(fault);
        const outcome = await world.start();
        const [expected, jobs] = starts[fault]!;
        assert.partialDeepStrictEqual(outcome, { ...expected, ...own[rig.name]?.[fault] });
        if (fault === 'submit-429-date') {
          const { retry_after_ms } = outcome as { retry_after_ms?: number };
          assert.ok(retry_after_ms! > 0 && retry_after_ms! <= 31_000, String(retry_after_ms));
        }
        assert.equal(world.fake.journal.length, jobs);
        assertHidden(world, outcome);
      });

    // A start of the images API waits for the end, so it has no polls.
    if (rig.name === 'openai-images') return;
    for (const fault of keysOf(polls).filter(able))
      test(`a poll: ${faults[fault]}`, async (t) => {
        const world = await open(t, rig);
        const outcome = await world.start();
        assert.ok(outcome.outcome === 'accepted', JSON.stringify(outcome));
        world.fake.play(fault);
        const words = await wordsOf(world, outcome.handle);
        const expected = (own[rig.name]?.[fault] as string[] | undefined) ?? polls[fault]!;
        assert.deepEqual(
          words.map((word, i) => (expected[i]?.includes(':') ? word : word.split(':')[0])),
          expected,
        );
        assert.equal(world.fake.journal.length, 1);
      });
  });
