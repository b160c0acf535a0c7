import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { ALL_FORMATS, BufferSource, Input } from 'mediabunny';
import sharp from 'sharp';
import { tasks } from '../../src/core/catalog.ts';
import { createSandbox } from '../../src/upstreams/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../src/upstreams/sandbox/sandbox.ts';
import { makeSound, wavOf } from '../../src/upstreams/sandbox/sound.ts';
import type {
  Handle,
  InputFile,
  JobState,
  StartOutcome,
  Upstream,
} from '../../src/upstreams/upstream.ts';

const SIGNAL = new AbortController().signal;

interface Made {
  fields: Record<string, unknown>;
  files: { field: string; content_type: string | undefined; bytes: Buffer }[];
}

/** A sandbox at full speed in a folder of its own, both gone after the test. */
async function newSandbox(t: TestContext, options: Partial<SandboxOptions> = {}) {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'sandbox-')));
  const sandbox = createSandbox({ dir, speed: Infinity, ...options });
  t.after(async () => {
    await sandbox.close!();
    await rm(dir, { recursive: true, force: true });
  });
  return { dir, sandbox };
}

let keys = 0;

interface Ask {
  key?: string;
  files?: Record<string, InputFile>;
  signal?: AbortSignal;
}

function start(
  sandbox: Upstream,
  task: string,
  input: Record<string, unknown>,
  { key = `key-${++keys}`, files = {}, signal = SIGNAL }: Ask = {},
): Promise<StartOutcome> {
  const job = { request_id: `request-of-${key}`, idempotency_key: key, model: 'canvas' };
  return sandbox.start({ ...job, task, input, files, signal });
}

function handleOf(outcome: StartOutcome): Handle {
  assert.equal(outcome.outcome, 'accepted', JSON.stringify(outcome));
  return (outcome as { handle: Handle }).handle;
}

/** Polls until the job is no longer running. */
async function finish(sandbox: Upstream, handle: Handle): Promise<JobState> {
  for (;;) {
    const state = await sandbox.poll(handle, SIGNAL);
    if (state.state !== 'running') return state;
    await wait(Math.min(100, state.poll_after_ms ?? 0));
  }
}

async function make(
  sandbox: Upstream,
  task: string,
  input: Record<string, unknown>,
  ask: Ask = {},
): Promise<Made> {
  const state = await finish(sandbox, handleOf(await start(sandbox, task, input, ask)));
  return madeOf(state);
}

function madeOf(state: JobState): Made {
  assert.equal(state.state, 'done', JSON.stringify(state));
  const { result } = state as JobState & { state: 'done' };
  const files = result.media.map(({ field, content_type, source }) => {
    assert.ok('bytes' in source);
    return { field, content_type, bytes: Buffer.from(source.bytes) };
  });
  return { fields: result.fields, files };
}

function fileOf(bytes: Uint8Array, content_type = 'application/octet-stream'): InputFile {
  const open = async (): Promise<AsyncIterable<Uint8Array>> =>
    (async function* () {
      for (let at = 0; at < bytes.length; at += 4096) yield bytes.subarray(at, at + 4096);
    })();
  return { content_type, size: bytes.length, open };
}

async function journalOf(dir: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(dir, 'journal.ndjson'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** A file's own facts, read by libraries the sandbox's claims have no hold over. */
async function factsOf(bytes: Buffer): Promise<string> {
  const input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  const size = video && `${await video.getDisplayWidth()}x${await video.getDisplayHeight()}`;
  const seconds = (await input.computeDuration()).toFixed(2);
  return [size, await video?.getCodec(), await audio?.getCodec(), `${seconds}s`]
    .filter((part) => part !== null && part !== undefined)
    .join(' ');
}

let photo: Buffer;
let film: Buffer;
let silent: Buffer;
const voice = Buffer.from(wavOf(makeSound('voice', 1, 1.2)));

before(async () => {
  const lines =
    '<svg width="160" height="120"><rect width="160" height="120" fill="#8cf"/>' +
    '<circle cx="60" cy="50" r="30" fill="#d53"/><rect y="90" width="160" height="30" fill="#262"/></svg>';
  photo = await sharp(Buffer.from(lines)).jpeg().toBuffer();
  const dir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const sandbox = createSandbox({ dir, speed: Infinity });
  const input = { prompt: 'hills', width: 96, height: 64, duration_seconds: 1.5 };
  film = (await make(sandbox, 'text-to-video', { ...input, generate_audio: true })).files[0]!.bytes;
  silent = (await make(sandbox, 'text-to-video', input)).files[0]!.bytes;
  await sandbox.close!();
  await rm(dir, { recursive: true });
});

const image = { image_url: 'file_photo' };
const video = { video_url: 'file_film' };
const audio = { audio_url: 'file_voice' };
const small = { resolution: '480p', aspect_ratio: '1:1' };
const tiny = { width: 96, height: 64 };

function allFiles(): Record<string, InputFile> {
  return {
    file_photo: fileOf(photo, 'image/jpeg'),
    file_film: fileOf(film, 'video/mp4'),
    file_silent: fileOf(silent, 'video/mp4'),
    file_voice: fileOf(voice, 'audio/wav'),
  };
}

describe('every task makes real media', () => {
  /** Pictures: format, size and number, as sharp reads them. */
  const pictures: [task: string, input: Record<string, unknown>, facts: string[]][] = [
    ['text-to-image', { prompt: 'sea', ...tiny }, ['png 96x64']],
    [
      'text-to-image',
      { prompt: 'sea', resolution: '0.5k', num_images: 2, output_format: 'jpeg' },
      ['jpeg 512x512', 'jpeg 512x512'],
    ],
    [
      'text-to-image',
      { prompt: 'sea', image_size: 'landscape_16_9', output_format: 'webp' },
      ['webp 1024x576'],
    ],
    ['text-to-vector', { prompt: 'sea', ...tiny }, ['svg 96x64']],
    ['edit', { prompt: 'warmer', ...image, num_images: 2 }, ['png 160x120', 'png 160x120']],
    [
      'edit',
      { prompt: 'blur', ...image, aspect_ratio: '1:1', output_format: 'webp' },
      ['webp 120x120'],
    ],
    ['upscale', { ...image, scale: 4 }, ['png 640x480']],
    ['upscale', { ...image, resolution: '0.5k' }, ['png 512x384']],
    ['reframe', { ...image, aspect_ratio: '9:16' }, ['png 68x120']],
    ['reframe', { ...image, aspect_ratio: '16:9', mode: 'pad' }, ['png 160x90']],
    ['layer-decomposition', { ...image, num_images: 3 }, Array(3).fill('png 160x120 alpha')],
  ];
  /** Films and sounds: size, codecs and length, as mediabunny reads them. */
  const films: [task: string, input: Record<string, unknown>, facts: string][] = [
    ['text-to-video', { prompt: 'sea', ...tiny, duration_seconds: 1.37 }, '96x64 avc 1.37s'],
    [
      'text-to-video',
      { prompt: 'sea', ...tiny, duration_seconds: 2, generate_audio: true },
      '96x64 avc flac 2.00s',
    ],
    [
      'image-to-video',
      { ...image, resolution: '480p', duration_seconds: 0.5 },
      '640x480 avc 0.50s',
    ],
    [
      'reference-to-video',
      {
        prompt: 'x',
        reference_image_urls: ['file_photo', 'file_photo'],
        ...small,
        duration_seconds: 1,
      },
      '480x480 avc 1.00s',
    ],
    ['character-animation', { ...image, ...video, ...small }, '480x480 avc flac 1.50s'],
    ['motion-control', { ...image, ...small, duration_seconds: 0.7 }, '480x480 avc 0.70s'],
    ['talking-avatar', { ...image, ...audio, ...small }, '480x480 avc flac 1.20s'],
    ['lip-sync', { ...video, ...audio, duration_seconds: 1 }, '96x64 avc flac 1.00s'],
    ['lip-sync', { ...image, ...audio, ...small }, '480x480 avc flac 1.20s'],
    ['video-edit', { ...video, duration_seconds: 1 }, '96x64 avc flac 1.00s'],
    ['video-edit', { ...video, prompt: 'rotate it, silent' }, '64x96 avc 1.50s'],
    ['video-to-video/edit', { ...video, prompt: 'in slow motion' }, '96x64 avc 3.00s'],
    ['video-extend', { ...video, prompt: 'night', duration_seconds: 1 }, '96x64 avc flac 2.50s'],
    ['video-to-audio', { ...video, duration_seconds: 5 }, 'flac 1.50s'],
    ['video-to-audio', { video_url: 'file_silent', duration_seconds: 1 }, 'pcm-s16 1.00s'],
  ];

  test('and no task of the catalog is missing here', () => {
    const tried = new Set([...pictures, ...films].map(([task]) => task));
    assert.deepEqual(
      tasks.filter((task) => !tried.has(task)),
      ['video-analyze', 'chat'],
    );
  });

  for (const [task, input, expected] of pictures) {
    test(`${task} ${JSON.stringify(input)}`, async (t) => {
      const { sandbox } = await newSandbox(t);
      const { files } = await make(sandbox, task, input, { files: allFiles() });
      const facts = files.map(async ({ field, content_type, bytes }) => {
        const { format, width, height, hasAlpha } = await sharp(bytes).metadata();
        assert.equal(field, 'images');
        assert.equal(content_type, format === 'svg' ? 'image/svg+xml' : `image/${format}`);
        const alpha = hasAlpha && format === 'png' ? ' alpha' : '';
        return `${format} ${width}x${height}${alpha}`;
      });
      assert.deepEqual(await Promise.all(facts), expected);
    });
  }

  for (const [task, input, expected] of films) {
    test(`${task} ${JSON.stringify(input)}`, async (t) => {
      const { sandbox } = await newSandbox(t);
      const { files } = await make(sandbox, task, input, { files: allFiles() });
      assert.equal(files.length, 1);
      assert.equal(files[0]!.field, task === 'video-to-audio' ? 'audio' : 'video');
      assert.equal(await factsOf(files[0]!.bytes), expected);
    });
  }

  test('video-analyze tells the true properties and makes no media', async (t) => {
    const { sandbox } = await newSandbox(t);
    const { files, fields } = await make(
      sandbox,
      'video-analyze',
      { ...video, prompt: 'What?' },
      { files: allFiles() },
    );
    assert.deepEqual(files, []);
    assert.match(String(fields.text), /96 x 64 pixels and 1\.5 seconds/);
    assert.match(String(fields.text), /You asked: "What\?"/);
    const { width, height, frames, audio } = fields.analysis as Record<string, any>;
    assert.deepEqual({ width, height, frames }, { width: 96, height: 64, frames: 36 });
    assert.equal(audio.sample_rate, 24_000);
  });

  test('layers laid over one another give the picture back', async (t) => {
    const { sandbox } = await newSandbox(t);
    const { files } = await make(
      sandbox,
      'layer-decomposition',
      { ...image, num_images: 4 },
      { files: allFiles() },
    );
    const flat = await sharp({
      create: { width: 160, height: 120, channels: 4, background: '#0000' },
    })
      .composite(files.map(({ bytes }) => ({ input: bytes })))
      .removeAlpha()
      .raw()
      .toBuffer();
    const source = await sharp(photo).raw().toBuffer();
    // Below the label every pixel is the source's own.
    const from = 160 * 40 * 3;
    assert.deepEqual(flat.subarray(from), source.subarray(from));
  });

  test('only the first frame of each group is a key frame, so that players seek to the frame', async (t) => {
    const { sandbox } = await newSandbox(t);
    const { files } = await make(sandbox, 'text-to-video', {
      prompt: 'sea',
      ...tiny,
      duration_seconds: 3,
    });
    const { EncodedPacketSink } = await import('mediabunny');
    const input = new Input({ source: new BufferSource(files[0]!.bytes), formats: ALL_FORMATS });
    const sink = new EncodedPacketSink((await input.getPrimaryVideoTrack())!);
    const keyTimes: number[] = [];
    for await (const packet of sink.packets())
      if (packet.type === 'key') keyTimes.push(packet.timestamp);
    assert.deepEqual(keyTimes, [0, 1, 2]);
  });
});

describe('the same job gives the same bytes', () => {
  test('for a prompt and a seed, in any folder; another prompt or seed gives others', async (t) => {
    const [one, two] = [await newSandbox(t), await newSandbox(t)];
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

  test('each picture of one request differs, and the second is the next seed', async (t) => {
    const { sandbox } = await newSandbox(t);
    const input = { prompt: 'a lake', ...tiny };
    const both = (await make(sandbox, 'text-to-image', { ...input, seed: 1, num_images: 2 })).files;
    const next = await make(sandbox, 'text-to-image', { ...input, seed: 2 });
    assert.notDeepEqual(both[0]!.bytes, both[1]!.bytes);
    assert.deepEqual(both[1]!.bytes, next.files[0]!.bytes);
    assert.equal(next.fields.seed, 2);
  });

  test('rendered again after its result got lost', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const input = { ...image, ...small, duration_seconds: 0.4 };
    const handle = handleOf(await start(sandbox, 'image-to-video', input, { files: allFiles() }));
    const first = madeOf(await finish(sandbox, handle));
    await rm(join(dir, 'results'), { recursive: true });
    const other = createSandbox({ dir, speed: Infinity });
    t.after(() => other.close!());
    await (await import('node:fs/promises')).mkdir(join(dir, 'results'));
    assert.deepEqual(madeOf(await finish(other, handle)), first);
  });
});

describe('one job for one key', () => {
  test('the same key again gets the same handle and makes no second job', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const input = { prompt: 'sea', ...tiny };
    const first = handleOf(await start(sandbox, 'text-to-image', input, { key: 'Kéy/../1' }));
    const again = handleOf(await start(sandbox, 'text-to-image', input, { key: 'Kéy/../1' }));
    assert.deepEqual(again, first);
    const events = (await journalOf(dir)).map(({ event, idempotency_key }) => [
      event,
      idempotency_key,
    ]);
    assert.deepEqual(events, [
      ['accepted', 'Kéy/../1'],
      ['repeated', 'Kéy/../1'],
    ]);
    assert.equal((await readdir(join(dir, 'jobs'))).length, 1);
  });

  test('many starts at once, over two sandboxes of one folder, are one job', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const other = createSandbox({ dir, speed: Infinity });
    t.after(() => other.close!());
    const both = [sandbox, other];
    const starts = Array.from({ length: 20 }, (_, i) =>
      start(both[i % 2]!, 'edit', { prompt: 'x', ...image }, { key: 'one', files: allFiles() }),
    );
    const handles = (await Promise.all(starts)).map(handleOf);
    assert.equal(new Set(handles.map((handle) => JSON.stringify(handle))).size, 1);
    const accepted = (await journalOf(dir)).filter(({ event }) => event === 'accepted');
    assert.equal(accepted.length, 1);
    assert.equal((await readdir(join(dir, 'files'))).length, 1);
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
          task: 'text-to-image', input: { prompt: 'p' + i, width: 64, height: 64 }, files: {},
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
    const journal = await journalOf(dir);
    const accepted = journal
      .filter(({ event }) => event === 'accepted')
      .map((line) => line.idempotency_key);
    assert.equal(new Set(accepted).size, accepted.length);
  });
});

describe('faults on request', () => {
  const ask = (sandbox: Upstream, words: string): Promise<StartOutcome> =>
    start(sandbox, 'text-to-image', { prompt: `sea ${words}`, ...tiny }, { key: 'fault' });

  test('sandbox:fail is accepted, then failed', async (t) => {
    const { sandbox } = await newSandbox(t);
    const state = await finish(sandbox, handleOf(await ask(sandbox, 'sandbox:fail')));
    assert.equal(state.state, 'failed');
    assert.equal((state as { code: string }).code, 'upstream_failed');
  });

  test('sandbox:reject is rejected and leaves no job', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    assert.equal((await ask(sandbox, 'sandbox:reject')).outcome, 'rejected');
    assert.deepEqual(
      (await journalOf(dir)).map(({ event }) => event),
      ['refused'],
    );
    assert.deepEqual(
      [...(await readdir(join(dir, 'jobs'))), ...(await readdir(join(dir, 'files')))],
      [],
    );
  });

  test('sandbox:busy is not accepted, says when to come back, and leaves no job', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const outcome = await ask(sandbox, 'sandbox:busy');
    assert.equal(outcome.outcome, 'not_accepted');
    assert.ok((outcome as { retry_after_ms: number }).retry_after_ms > 0);
    assert.deepEqual(
      (await journalOf(dir)).map(({ event }) => event),
      ['busy'],
    );
  });

  test('sandbox:lost keeps the job though the answer is unknown; the same key finds it', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    assert.equal((await ask(sandbox, 'sandbox:lost')).outcome, 'unknown');
    const handle = handleOf(await ask(sandbox, 'sandbox:lost'));
    assert.equal(madeOf(await finish(sandbox, handle)).files.length, 1);
    assert.deepEqual(
      (await journalOf(dir)).map(({ event }) => event),
      ['accepted', 'repeated'],
    );
  });

  test('sandbox:slow is ready when asked, tells its progress until then', async (t) => {
    const { sandbox } = await newSandbox(t);
    const from = performance.now();
    const handle = handleOf(await ask(sandbox, 'sandbox:slow=0.4'));
    const early = await sandbox.poll(handle, SIGNAL);
    assert.equal(early.state, 'running');
    const { progress, logs, poll_after_ms } = early as JobState & { state: 'running' };
    assert.ok(progress! < 1 && poll_after_ms! <= 400);
    assert.match(logs![0]!, /text-to-image/);
    madeOf(await finish(sandbox, handle));
    assert.ok(performance.now() - from >= 395);
  });

  test('sandbox:hang never gets ready', async (t) => {
    const { sandbox } = await newSandbox(t);
    const handle = handleOf(await ask(sandbox, 'sandbox:hang'));
    for (let i = 0; i < 3; i++) assert.equal((await sandbox.poll(handle, SIGNAL)).state, 'running');
    await sandbox.cancel!(handle, SIGNAL);
    assert.equal((await sandbox.poll(handle, SIGNAL)).state, 'failed');
  });

  test('sandbox:bad-output claims a picture that is none', async (t) => {
    const { sandbox } = await newSandbox(t);
    const { files } = madeOf(
      await finish(sandbox, handleOf(await ask(sandbox, 'sandbox:bad-output'))),
    );
    assert.equal(files[0]!.content_type, 'image/png');
    await assert.rejects(sharp(files[0]!.bytes).metadata());
  });
});

describe('what cannot be worked with is rejected, in words, and leaves nothing behind', () => {
  const cases: [name: string, task: string, input: Record<string, unknown>, message: RegExp][] = [
    ['an unknown task', 'paint', {}, /no task/],
    ['no prompt', 'text-to-image', { prompt: ' ' }, /prompt/],
    ['a prompt that is no text', 'text-to-image', { prompt: 7 }, /prompt/],
    ['too many pictures', 'text-to-image', { prompt: 'x', num_images: 17 }, /num_images/],
    ['half a picture', 'text-to-image', { prompt: 'x', num_images: 1.5 }, /whole number/],
    ['too many pixels', 'text-to-image', { prompt: 'x', width: 9000, height: 64 }, /4096/],
    [
      'an unknown format',
      'text-to-image',
      { prompt: 'x', output_format: 'bmp' },
      /png, jpeg or webp/,
    ],
    ['too long a film', 'text-to-video', { prompt: 'x', duration_seconds: 61 }, /duration_seconds/],
    ['no time at all', 'text-to-video', { prompt: 'x', duration_seconds: 0 }, /duration_seconds/],
    ['a missing picture', 'image-to-video', { prompt: 'x' }, /needs image/],
    ['a missing sound', 'lip-sync', video, /needs audio/],
    ['an upscale beyond all bounds', 'upscale', { image_url: 'file_wide', scale: 8 }, /pixels/],
    ['a file nobody uploaded', 'edit', { image_url: 'file_nobodys' }, /file_id/],
    ['an http address', 'edit', { image_url: 'http://example.com/a.jpg' }, /https/],
    [
      'an https address with no way to fetch it',
      'edit',
      { image_url: 'https://example.com/a.jpg' },
      /cannot fetch/,
    ],
    ['a torn picture', 'edit', { image_url: 'file_torn' }, /damaged picture/],
    ['a torn film', 'video-edit', { video_url: 'file_torn_film' }, /damaged/],
    ['a text', 'edit', { image_url: 'file_text' }, /no picture/],
    ['an SVG', 'edit', { image_url: 'file_svg' }, /no picture/],
    ['a playlist of other files', 'video-edit', { video_url: 'file_list' }, /no picture, film/],
    ['an empty file', 'edit', { image_url: 'file_empty' }, /empty/],
    ['a picture for a film', 'video-edit', { video_url: 'file_photo' }, /must be video/],
    ['a film for a picture', 'edit', { image_url: 'file_film' }, /must be image/],
    ['too many files', 'edit', { image_urls: Array(17).fill('file_photo') }, /At most 16/],
  ];
  for (const [name, task, input, message] of cases) {
    test(name, async (t) => {
      const { dir, sandbox } = await newSandbox(t);
      const wide = await sharp({
        create: { width: 2000, height: 10, channels: 3, background: '#fff' },
      })
        .png()
        .toBuffer();
      const files = {
        ...allFiles(),
        file_wide: fileOf(wide),
        file_torn: fileOf(photo.subarray(0, photo.length - 600)),
        file_torn_film: fileOf(film.subarray(0, film.length - 2000)),
        file_text: fileOf(Buffer.from('hello')),
        file_svg: fileOf(
          Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
        ),
        file_list: fileOf(Buffer.from('#EXTM3U\n#EXTINF:1,\n/etc/passwd\n')),
        file_empty: fileOf(Buffer.alloc(0)),
      };
      const outcome = await start(sandbox, task, input, { files });
      assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
      assert.match((outcome as { message: string }).message, message);
      assert.deepEqual(
        (await journalOf(dir)).map(({ event }) => event),
        ['refused'],
      );
      assert.deepEqual(
        [...(await readdir(join(dir, 'jobs'))), ...(await readdir(join(dir, 'files')))],
        [],
      );
    });
  }

  test('an endless file is cut off at the limit', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    let sent = 0;
    const open = async (): Promise<AsyncIterable<Uint8Array>> =>
      (async function* () {
        for (;;) {
          sent += 1 << 24;
          yield new Uint8Array(1 << 24);
        }
      })();
    const files = { file_x: { content_type: 'image/png', size: 1, open } };
    const outcome = await start(sandbox, 'edit', { image_url: 'file_x' }, { files });
    assert.match((outcome as { message: string }).message, /larger than/);
    assert.ok(sent <= 300e6, `${sent} bytes were read`);
    assert.deepEqual(await readdir(join(dir, 'files')), []);
  });

  test('a start that is given up is not accepted', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const outcome = await start(
      sandbox,
      'edit',
      { ...image },
      { files: allFiles(), signal: AbortSignal.abort() },
    );
    assert.equal(outcome.outcome, 'not_accepted');
    assert.deepEqual(await readdir(join(dir, 'jobs')), []);
  });

  test('a job that nobody started is failed, whatever its name', async (t) => {
    const { sandbox } = await newSandbox(t);
    for (const job of ['none', '../journal', '', 7, undefined]) {
      assert.equal((await sandbox.poll({ job }, SIGNAL)).state, 'failed');
    }
  });
});

describe('addresses of the caller', () => {
  test('are fetched by the given door, and only https', async (t) => {
    const asked: string[] = [];
    const { sandbox } = await newSandbox(t, {
      download: async (url) => {
        asked.push(url);
        return fileOf(photo);
      },
    });
    const { files } = await make(sandbox, 'edit', {
      prompt: 'x',
      image_url: 'https://example.com/a.jpg',
    });
    assert.equal(files.length, 1);
    await start(sandbox, 'edit', { image_url: 'http://example.com/b.jpg' });
    await start(sandbox, 'edit', { image_url: 'file:///etc/passwd' });
    assert.deepEqual(asked, ['https://example.com/a.jpg']);
  });

  test('that cannot be fetched are rejected without the reason from inside', async (t) => {
    const { sandbox } = await newSandbox(t, {
      download: () => Promise.reject(new Error('10.0.0.7 refused')),
    });
    const outcome = await start(sandbox, 'edit', { image_url: 'https://example.com/a.jpg' });
    assert.equal(outcome.outcome, 'rejected');
    assert.doesNotMatch((outcome as { message: string }).message, /10\.0\.0\.7/);
  });
});

describe('the folder', () => {
  test('forgets jobs after two hours, and keeps younger ones', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const input = { prompt: 'x', ...image };
    const old = handleOf(await start(sandbox, 'edit', input, { key: 'old', files: allFiles() }));
    const young = handleOf(
      await start(sandbox, 'edit', input, { key: 'young', files: allFiles() }),
    );
    madeOf(await finish(sandbox, old));
    const young1 = madeOf(await finish(sandbox, young));
    const before = new Date(Date.now() - 3 * 60 * 60 * 1000);
    await utimes(join(dir, 'jobs', 'old.json'), before, before);
    const other = createSandbox({ dir, speed: Infinity });
    t.after(() => other.close!());
    let state = await other.poll(old, SIGNAL);
    while (state.state === 'done') {
      await wait(5);
      state = await other.poll(old, SIGNAL);
    }
    assert.equal(state.state, 'failed');
    assert.deepEqual(madeOf(await other.poll(young, SIGNAL)), young1);
    const gone = () =>
      stat(join(dir, 'results', 'old')).then(
        () => false,
        () => true,
      );
    while (!(await gone())) await wait(5);
    while ((await readdir(join(dir, 'files'))).length > 1) await wait(5);
  });

  test('is left without a half: every result names files that are there', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    await make(sandbox, 'text-to-image', { prompt: 'x', ...tiny, num_images: 2 }, { key: 'two' });
    const { made } = JSON.parse(
      await readFile(join(dir, 'results', 'two', 'manifest.json'), 'utf8'),
    );
    const names = made.media.map(({ file }: { file: string }) => file);
    assert.deepEqual(
      (await readdir(join(dir, 'results', 'two'))).sort(),
      [...names, 'manifest.json'].sort(),
    );
    assert.deepEqual(
      [...(await readdir(join(dir, 'tmp'))), ...(await readdir(join(dir, 'claims')))],
      [],
    );
  });
});

test('a picture takes its natural time, when nobody asks for speed', async (t) => {
  const { sandbox } = await newSandbox(t, { speed: 1 });
  const outcome = await start(sandbox, 'text-to-image', { prompt: 'x', ...tiny });
  const { poll_after_ms } = outcome as { poll_after_ms: number };
  assert.ok(poll_after_ms > 400 && poll_after_ms <= 1500, `${poll_after_ms} ms`);
  assert.equal((await sandbox.poll(handleOf(outcome), SIGNAL)).state, 'running');
});
