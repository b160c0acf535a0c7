import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import { after, afterEach, before, describe, test } from 'node:test';
import { createFetch, type Fetch, type StreamCall } from '../../src/lib/outbound/fetch.ts';
import type { UpstreamSettings } from '../../src/core/catalog/upstream-definition.ts';
import { createComfyui } from '../../src/upstreams/comfyui/comfyui.ts';
import { HandOverFailed } from '../../src/upstreams/replies.ts';
import type {
  Handle,
  JobState,
  StartJob,
  Upstream,
  UpstreamTools,
} from '../../src/upstreams/upstream.ts';
import { fakeComfyui, textToImage, type FakeComfyui } from './fakes/comfyui.ts';
import { media, nowhere } from './fakes/kit.ts';
import { picture } from './fakes/made.ts';
import { once } from '../../src/lib/streams.ts';
import { ended as endOf, handleOf, jobOf as jobFor, signal } from './job-kit.ts';
import { fileOf } from './replicate-kit.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;

const webp = Buffer.from('RIFF\x2a\0\0\0WEBPVP8 '.padEnd(50, '\x07'), 'latin1');

/** A workflow with two files as input, and a preview and an image as output. */
const mixing = {
  '1': { class_type: 'LoadImage', inputs: { image: 'a.png' } },
  '2': { class_type: 'LoadImage', inputs: { image: 'b.png' } },
  '8': { class_type: 'PreviewImage', inputs: { images: ['1', 0] } },
  '9': { class_type: 'SaveImage', inputs: { images: ['2', 0], filename_prefix: 'farebox' } },
};
const filming = {
  ...textToImage(),
  '10': { class_type: 'SaveVideo', inputs: { video: ['8', 0] } },
};
const workflows = {
  pictures: {
    prompt: textToImage(),
    inputs: { prompt: ['6.text'], num_images: '5.batch_size', steps: '3.steps', seed: '3.seed' },
    outputs: ['9'],
  },
  mixing: { prompt: mixing, files: { image_urls: ['1.image', '2.image'] }, outputs: 'all' },
  filming: { prompt: filming, inputs: { prompt: '6.text' }, outputs: ['10'] },
  both: { prompt: filming, inputs: { prompt: '6.text' } },
  lacking: {
    prompt: {
      ...textToImage(),
      '4': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'gone' } },
    },
    inputs: { prompt: '6.text' },
  },
  strange: {
    prompt: { ...textToImage(), '4': { class_type: 'NobodysNode', inputs: {} } },
    inputs: { prompt: '6.text' },
  },
};

let fake: FakeComfyui;
let fetch: Fetch;
let upstream: Upstream;
const make = (change: Partial<UpstreamSettings> = {}, tools: Partial<UpstreamTools> = {}) =>
  createComfyui(
    {
      name: 'comfyui',
      url: fake.url,
      key: null,
      secret: null,
      concurrency: 1,
      options: { workflows },
      ...change,
    },
    {
      fetch,
      guarded: fetch,
      download: async () => fileOf(webp.length, 'image/webp', { open: async () => once(webp) }),
      now: Date.now,
      ...tools,
    },
  );
before(async () => {
  fake = await fakeComfyui();
  fetch = createFetch({ guard: false });
  upstream = make();
});
after(async () => {
  await fetch.close();
  await fake.close();
});
afterEach(() => {
  fake.mend();
  fake.hold(false);
  fake.journal.length = 0;
  fake.calls.length = 0;
  fake.files.clear();
});

let keys = 0;
function jobOf(more: Partial<StartJob> = {}): StartJob {
  const key = `0190f2a4-0000-7000-8000-${String(++keys).padStart(12, '0')}`;
  const ids = { request_id: key, idempotency_key: key, model: 'pictures' };
  return jobFor({ ...ids, input: { prompt: 'a lighthouse', seed: 7 }, ...more });
}
const start = (change: Partial<StartJob> = {}) => upstream.start(jobOf(change));
const ended = (handle: Handle, seen?: JobState[]) => endOf(upstream, handle, seen);
const done = (state: JobState) => {
  assert.equal(state.state, 'done', JSON.stringify(state));
  return (state as Extract<JobState, { state: 'done' }>).result;
};
const submits = () => fake.calls.filter(({ path }) => path === '/prompt');
const sent = () => JSON.parse(submits().at(-1)!.body.toString());

describe('a start', () => {
  test('the workflow with the input in its places, under an id of ours', async () => {
    const handle = handleOf(
      await start({ input: { prompt: 'a "lighthouse"', num_images: 2, seed: 7, unknown: 'x' } }),
    );
    const expected = textToImage();
    expected['6']!.inputs.text = 'a "lighthouse"';
    expected['5']!.inputs.batch_size = 2;
    expected['3']!.inputs.seed = 7;
    const { prompt, prompt_id, extra_data } = sent();
    assert.deepEqual(prompt, expected);
    assert.match(prompt_id, uuid);
    assert.deepEqual(handle, { prompt_id, workflow: 'pictures', seed: 7 });
    assert.deepEqual(extra_data, { farebox: handle });
    assert.equal(fake.calls.length, 1);
    for (const { headers } of fake.calls) {
      assert.equal(headers.origin, undefined);
      assert.equal(headers.authorization, undefined);
    }
  });

  test('the id is the same for each attempt at a request and differs between requests', async () => {
    const job = jobOf();
    const first = handleOf(await upstream.start(job));
    assert.deepEqual(handleOf(await upstream.start(job)), first);
    assert.notEqual(handleOf(await start()).prompt_id, first.prompt_id);
    assert.equal(String(first.prompt_id).includes(job.request_id), false);
  });

  test('a seed is drawn if the caller gives none, and returned', async () => {
    const seeds = new Set<unknown>();
    for (let i = 0; i < 3; i++) {
      const handle = handleOf(await start({ input: { prompt: 'x' } }));
      const { seed } = sent().prompt['3'].inputs;
      assert.ok(Number.isSafeInteger(seed) && seed >= 0);
      assert.equal(handle.seed, seed);
      assert.equal(done(await ended(handle)).fields.seed, seed);
      seeds.add(seed);
    }
    assert.equal(seeds.size, 3);
    const given = handleOf(await start({ input: { prompt: 'x', seed: 0 } }));
    assert.equal(given.seed, 0);
  });

  test('a caller cannot reach the graph: lists are refused, nothing else is mapped', async () => {
    const outcome = await start({ input: { prompt: ['4', 0] } });
    assert.deepEqual(outcome, {
      outcome: 'rejected',
      message: 'prompt must be a string, a number, true or false.',
      unasked: true,
    });
    const input = { prompt: 'x', ckpt_name: 'evil', '4.ckpt_name': 'evil', __proto__: { a: 1 } };
    handleOf(await start({ input }));
    assert.equal(JSON.stringify(sent()).includes('evil'), false);
    assert.equal(fake.journal.length, 1);
  });

  test('a key is for a proxy before it, and goes to its outputs as well', async () => {
    const behind = make({ key: 'proxy-key' });
    const handle = handleOf(await behind.start(jobOf()));
    assert.equal(submits()[0]!.headers.authorization, 'Bearer proxy-key');
    fake.play('poll-at-once-done');
    const [made] = done(await behind.poll(handle, signal)).media;
    const { headers } = made!.source as { headers?: unknown };
    assert.deepEqual(headers, { authorization: 'Bearer proxy-key' });
  });
});

describe("the caller's files", () => {
  const files = { file_1: fileOf(30, 'image/jpeg') };

  test('they are uploaded, and the graph has the names that came back', async () => {
    const input = { image_urls: ['file_1', 'https://example.com/b'] };
    handleOf(await start({ model: 'mixing', input, files }));
    const names = [...fake.files.keys()];
    assert.equal(names.length, 2);
    const { prompt, prompt_id } = sent();
    assert.deepEqual(names, [`farebox-${prompt_id}-1.jpg`, `farebox-${prompt_id}-2.webp`]);
    assert.deepEqual([prompt['1'].inputs.image, prompt['2'].inputs.image], names);
    assert.deepEqual(fake.files.get(names[0]!), Buffer.alloc(30, 7));
  });

  test('an address that breaks off, or takes too long, is the caller`s fault', async () => {
    const broken = { ...fileOf(9, 'image/png'), open: () => Promise.reject(new Error('broke')) };
    const slow = new AbortController();
    const cut = {
      ...broken,
      open: async () => {
        slow.abort(new DOMException('It took too long.', 'TimeoutError'));
        throw new Error('aborted');
      },
    };
    const input = { image_urls: ['https://example.com/b'] };
    for (const [file, until] of [
      [broken, signal],
      [cut, slow.signal],
    ] as const) {
      const behind = make({}, { download: async () => file });
      const outcome = await behind.start(jobOf({ model: 'mixing', input, signal: until }));
      assert.partialDeepStrictEqual(outcome, { outcome: 'rejected' });
      assert.match((outcome as { message: string }).message, /^image_urls could not be fetched/);
    }
    const ours = await start({
      model: 'mixing',
      input: { image_urls: ['file_1'] },
      files: { file_1: broken },
    });
    assert.equal(ours.outcome, 'not_accepted');
    assert.equal(fake.journal.length, 0);
  });

  test('files at addresses are counted as no memory, measured or not, and leave nothing', async () => {
    const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith('farebox-input-'));
    const earlier = copies();
    const bytes = Buffer.concat([picture(2_000, 2_000), Buffer.alloc(3 * 1024 * 1024)]);
    const file = { content_type: 'image/png', size: 0, open: async () => Readable.from([bytes]) };
    const hold = () => assert.fail('it takes memory');
    for (const limit of [{}, { max_input_megapixels: 4 }, { max_input_megapixels: 3 }]) {
      const measured = { workflows: { mixing: { ...workflows.mixing, ...limit } } };
      const own = make({ options: measured }, { download: async () => file });
      const input = { image_urls: ['https://example.com/a', 'https://example.com/b'] };
      const { outcome } = await own.start(jobOf({ model: 'mixing', input, hold }));
      const isTaken = limit.max_input_megapixels !== 3;
      assert.equal(outcome, isTaken ? 'accepted' : 'rejected');
      assert.equal(fake.files.size, isTaken ? 2 : 0);
      for (const got of fake.files.values()) assert.ok(got.equals(bytes));
      fake.files.clear();
      assert.deepEqual(copies(), earlier);
    }
  });

  test('another attempt uploads under the same name and changes nothing', async () => {
    const job = jobOf({ model: 'mixing', input: { image_urls: ['file_1', 'file_1'] }, files });
    handleOf(await upstream.start(job));
    handleOf(await upstream.start(job));
    assert.equal(fake.files.size, 2);
  });

  test('the name that the server chose is used', async () => {
    const job = jobOf({ model: 'mixing', input: { image_urls: ['file_1', 'file_1'] }, files });
    handleOf(await upstream.start(job));
    for (const name of fake.files.keys()) fake.files.set(name, Buffer.from('another'));
    handleOf(await upstream.start(job));
    assert.match(sent().prompt['1'].inputs.image, / \(1\)\.jpg$/);
  });

  test('a picture of more pixels than the workflow takes is not uploaded', async () => {
    const small = { ...workflows.mixing, max_input_megapixels: 4 };
    const bounded = make({ options: { workflows: { mixing: small } } });
    const image = (width: number, height: number) => {
      const bytes = picture(width, height);
      const open = async () => Readable.from([bytes]);
      const png = { file_1: { ...fileOf(bytes.length), open } };
      return jobOf({ model: 'mixing', input: { image_urls: ['file_1', 'file_1'] }, files: png });
    };
    handleOf(await bounded.start(image(2_000, 2_000)));
    const taken = [fake.files.size, fake.journal.length];
    const message =
      'image_urls is 2001 × 2000 pixels, and this model takes at most 4 megapixels. ' +
      'Send a smaller image.';
    const outcome = await bounded.start(image(2_001, 2_000));
    assert.deepEqual(outcome, { outcome: 'rejected', message, unasked: true });
    assert.deepEqual([fake.files.size, fake.journal.length], taken);
    const inShare = () => Promise.reject(new HandOverFailed({ message: 'no share' }));
    const late = await bounded.start({ ...image(2_000, 2_000), inShare });
    assert.equal(late.outcome, 'not_accepted', 'its pixels are read in the share');
    assert.deepEqual([fake.files.size, fake.journal.length], taken);
  });

  test('too many, a bad value and a field that the row does not know', async () => {
    const three = await start({
      model: 'mixing',
      input: { image_urls: ['file_1', 'file_1', 'file_1'] },
      files,
    });
    const message = 'image_urls takes at most 2 files.';
    assert.deepEqual(three, { outcome: 'rejected', message, unasked: true });
    const odd = await start({ model: 'mixing', input: { image_urls: [7] } });
    assert.equal(odd.outcome, 'rejected');
    fake.files.clear();
    await start({ model: 'mixing', input: { image_urls: ['file_1'] }, files, fields: [] });
    assert.equal(fake.files.size, 0);
    assert.equal(fake.journal.length, 0);
  });

  test('a server that is away is not a server that refused', async () => {
    const input = { image_urls: ['file_1'] };
    const outcome = await make({ url: nowhere }).start(jobOf({ model: 'mixing', input, files }));
    assert.deepEqual(
      [outcome.outcome, (outcome as { why?: string }).why],
      ['not_accepted', 'unreachable'],
    );
  });
});

describe('a start that goes wrong', () => {
  test("a refused value is named by the caller's field, and not by the node", async () => {
    const outcome = await start({ input: { prompt: 'x', steps: 20_000 } });
    assert.deepEqual(outcome, {
      outcome: 'rejected',
      message: 'steps: Value bigger than max: steps',
    });
  });

  test("a workflow that does not fit the server is the operator's", async () => {
    for (const model of ['lacking', 'strange', 'nobody']) {
      const outcome = await start({ model, input: { prompt: 'x' } });
      assert.equal(outcome.outcome, 'not_accepted', model);
      assert.equal((outcome as { why?: string }).why, 'model');
    }
    assert.equal(fake.journal.length, 0);
  });

  test('an aborted start stops', async () => {
    const outcome = await start({ signal: AbortSignal.abort() });
    assert.equal(outcome.outcome, 'not_accepted');
    assert.equal(fake.calls.length, 0);
  });
});

describe('a lost answer is found again', () => {
  for (const fault of ['submit-lost', 'submit-502-after', 'submit-garbage'] as const) {
    test(`after ${fault}`, async () => {
      fake.play(fault);
      const job = jobOf({ input: { prompt: 'x' } });
      await upstream.start(job);
      fake.mend();
      const handle = await upstream.find!(job.idempotency_key, signal);
      const { seed } = sent().prompt['3'].inputs;
      assert.deepEqual(handle, { prompt_id: fake.journal[0]!.id, workflow: 'pictures', seed });
      assert.equal(done(await ended(handle!)).media.length, 1);
      assert.equal(fake.journal.length, 1);
    });
  }

  test('in the queue, running, and when it is long done', async () => {
    const job = jobOf();
    const handle = handleOf(await upstream.start(job));
    for (let look = 0; look < 4; look++)
      assert.deepEqual(await upstream.find!(job.idempotency_key, signal), handle);
    assert.equal(fake.stateOf(String(handle.prompt_id)), 'done');
  });

  test('if there is none, it says so; if it cannot know, it throws', async () => {
    const { idempotency_key } = jobOf();
    assert.equal(await upstream.find!(idempotency_key, signal), null);
    for (const fault of ['poll-500', 'poll-garbage', 'poll-reset', 'poll-error-in-200'] as const) {
      fake.play(fault);
      await assert.rejects(upstream.find!(idempotency_key, signal), fault);
    }
  });
});

describe('polls', () => {
  test('a job waits with its position, runs, and is done with its images', async () => {
    fake.addForeign('another-1', 'running');
    const seen: JobState[] = [];
    const handle = handleOf(await start({ input: { prompt: 'x', num_images: 2, seed: 7 } }));
    const { media: made, fields } = done(await ended(handle, seen));
    assert.deepEqual(seen, [
      { state: 'running', logs: ['Waiting in the queue of ComfyUI; jobs ahead: 1.'] },
      { state: 'running' },
    ]);
    assert.deepEqual(fields, { seed: 7 });
    assert.equal(made.length, 2);
    const call: StreamCall = {
      url: (made[0]!.source as { url: string }).url,
      maxBytes: 1e6,
      idleTimeoutMs: 5000,
    };
    const reply = await fetch.request({ ...call, timeoutMs: 5000 });
    assert.deepEqual(Buffer.from(reply.body), media.png);
  });

  test('a video is found in any list; previews are left out', async () => {
    const film = done(await ended(handleOf(await start({ model: 'filming' }))));
    assert.equal(film.media.length, 1);
    const { url } = film.media[0]!.source as { url: string };
    assert.match(url, /\/view\?filename=out_\w+\.mp4&subfolder=video&type=output$/);
    const both = done(await ended(handleOf(await start({ model: 'both' }))));
    assert.equal(both.media.length, 2);
    const files = { file_1: fileOf(30) };
    const input = { image_urls: ['file_1', 'file_1'] };
    const mixed = done(await ended(handleOf(await start({ model: 'mixing', input, files }))));
    assert.equal(mixed.media.length, 1);
    fake.play('output-several');
    const films = done(await ended(handleOf(await start({ model: 'filming' }))));
    assert.equal(films.media.length, 2);
  });
});

describe('bad ends', () => {
  test('a node that fails ends the job, and no folder of the server is shown', async () => {
    fake.play('finish-failed');
    const state = await ended(handleOf(await start()));
    assert.deepEqual(state, {
      state: 'failed',
      code: 'upstream_failed',
      message: 'Allocation on device 0 would exceed allowed memory. (…)',
    });
  });

  test("a node that reads the caller's file blames the file", async () => {
    const loads = {
      '3': { class_type: 'LoadImage', inputs: { image: 'a.png' } },
      '9': mixing['9'],
    };
    const options = { workflows: { loads: { prompt: loads, files: { image_url: '3.image' } } } };
    const loading = make({ options });
    const job = jobOf({
      model: 'loads',
      input: { image_url: 'file_1' },
      files: { file_1: fileOf(9) },
    });
    const handle = handleOf(await loading.start(job));
    fake.play('finish-failed');
    let state = await loading.poll(handle, signal);
    while (state.state === 'running') state = await loading.poll(handle, signal);
    assert.equal((state as { code?: string }).code, 'upstream_rejected');
  });
});

describe('cancel', () => {
  const interrupts = () => fake.calls.filter(({ path }) => path === '/interrupt');

  test('a waiting job is taken off the queue, and nothing is interrupted', async () => {
    fake.addForeign('theirs-1', 'running');
    const handle = handleOf(await start());
    await upstream.cancel!(handle, signal);
    assert.equal(fake.stateOf(String(handle.prompt_id)), 'deleted');
    assert.equal(fake.stateOf('theirs-1'), 'running');
    assert.equal(interrupts().length, 0);
  });

  test('a running job is interrupted by its name, and ends so', async () => {
    fake.addForeign('theirs-2', 'pending');
    fake.hold(true);
    const handle = handleOf(await start());
    fake.hold(false);
    await upstream.poll(handle, signal);
    await upstream.poll(handle, signal);
    assert.equal(fake.stateOf(String(handle.prompt_id)), 'running');
    await upstream.cancel!(handle, signal);
    assert.deepEqual(
      interrupts().map(({ body }) => JSON.parse(body.toString())),
      [{ prompt_id: handle.prompt_id }],
    );
    const state = await ended(handle);
    assert.deepEqual(state, {
      state: 'stopped',
      code: 'upstream_failed',
      message: 'The job was interrupted at ComfyUI.',
    });
    assert.equal(fake.stateOf('theirs-2'), 'pending');
  });

  test('an ended or unknown job interrupts no other; a cancel without an answer fails', async () => {
    fake.addForeign('theirs-3', 'running');
    const handle = handleOf(await start());
    await ended(handle);
    await upstream.cancel!(handle, signal);
    await upstream.cancel!({ prompt_id: 'nobody' }, signal);
    await assert.rejects(upstream.cancel!(handle, AbortSignal.abort()));
    assert.equal(interrupts().length, 0);
    assert.equal(fake.stateOf('theirs-3'), 'running');
  });
});

describe('the definition', () => {
  test('a mapping that leads nowhere is reported to the operator', () => {
    const prompt = textToImage();
    const wrong: [object, RegExp][] = [
      [{ prompt, inputs: { prompt: '66.text' } }, /workflow x has no input 66\.text/],
      [{ prompt, inputs: { prompt: '6.words' } }, /no input 6\.words/],
      [{ prompt, files: { image_url: ['6.text', 'constructor.name'] } }, /no input constructor/],
      [{ prompt, outputs: ['9', '99'] }, /no node 99/],
    ];
    for (const [x, said] of wrong)
      assert.throws(() => make({ options: { workflows: { x } } }), said);
  });

  test('its models are its workflows', async () => {
    assert.deepEqual(await upstream.models!(signal), Object.keys(workflows));
  });

  test('the check recognises a ComfyUI server, and makes nothing', async () => {
    assert.equal(await upstream.check!(signal), null);
    assert.match((await make({ url: `${fake.url}/elsewhere` }).check!(signal))!, /404/);
    assert.match((await make({ url: nowhere }).check!(signal))!, /could not be reached/);
    assert.equal(fake.journal.length, 0);
  });
});
