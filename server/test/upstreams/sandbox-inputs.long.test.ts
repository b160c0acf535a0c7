import assert from 'node:assert/strict';
import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import {
  openSignal,
  fileOf,
  image,
  make,
  makeMedia,
  newSandbox,
  openSandbox,
  start,
  video,
  type Media,
  type OpenedSandbox,
} from './sandbox-kit.ts';
import { TooSlow } from '../../src/upstreams/download.ts';
import type { InputFile } from '../../src/upstreams/upstream.ts';

let opened: OpenedSandbox;
let media: Media;

let files: Record<string, InputFile>;

before(async () => {
  opened = await openSandbox();
  media = await makeMedia(opened.sandbox);
  const blank = { create: { width: 2000, height: 10, channels: 3 as const, background: '#fff' } };
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
  files = {
    ...media.files,
    file_wide: fileOf(await sharp(blank).png().toBuffer()),
    file_torn: fileOf(media.photo.subarray(0, media.photo.length - 600)),
    file_torn_film: fileOf(media.film.subarray(0, media.film.length - 2000)),
    file_text: fileOf(Buffer.from('hello')),
    file_svg: fileOf(Buffer.from(svg)),
    file_list: fileOf(Buffer.from('#EXTM3U\n#EXTINF:1,\n/etc/passwd\n')),
    file_empty: fileOf(Buffer.alloc(0)),
  };
});
after(() => opened.close());

/** The files in a sandbox's folder that matter. */
async function keptIn(dir: string): Promise<string[]> {
  const lists = await Promise.all(
    ['jobs', 'tmp'].map((part) => readdir(join(dir, part)).catch(() => [])),
  );
  return lists.flat();
}

describe('an unusable input is rejected in words, and leaves nothing behind', () => {
  const cases: [name: string, task: string, input: Record<string, unknown>, message: RegExp][] = [
    ['an unknown task', 'paint', {}, /no task/],
    ['no prompt', 'text-to-image', { prompt: ' ' }, /prompt/],
    ['a prompt that is no text', 'text-to-image', { prompt: 7 }, /prompt/],
    ['too many pictures', 'text-to-image', { prompt: 'x', num_images: 101 }, /num_images/],
    ['half a picture', 'text-to-image', { prompt: 'x', num_images: 1.5 }, /an integer/],
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
    ['a path of this machine', 'edit', { image_url: 'file:///etc/passwd' }, /file_id/],
    ['data that is no base64', 'edit', { image_url: 'data:image/png;base64,a' }, /base64/],
    [
      'an https address with no way to fetch it',
      'edit',
      { image_url: 'https://example.com/a.jpg' },
      /could not be fetched/,
    ],
    ['a torn picture', 'edit', { image_url: 'file_torn' }, /damaged image/],
    ['a torn film', 'video-edit', { video_url: 'file_torn_film' }, /damaged/],
    ['a text', 'edit', { image_url: 'file_text' }, /not a readable image/],
    ['an SVG', 'edit', { image_url: 'file_svg' }, /not a readable image/],
    [
      'a playlist of other files',
      'video-edit',
      { video_url: 'file_list' },
      /not a readable image, video/,
    ],
    ['an empty file', 'edit', { image_url: 'file_empty' }, /empty/],
    [
      'a picture for a film',
      'video-edit',
      { video_url: 'file_photo' },
      /must be a video, but the file is an image/,
    ],
    [
      'a film for a picture',
      'edit',
      { image_url: 'file_film' },
      /must be an image, but the file is a video/,
    ],
    ...(['video-edit', 'video-to-video/edit'] as const).map((task): (typeof cases)[number] => [
      `${task} from where the film has ended`,
      task,
      { ...video, prompt: 'x', start_seconds: 1.5 },
      /^start_seconds must be below the video's length of 1\.5 s\.$/,
    ]),
    ['too many files', 'edit', { image_urls: Array(17).fill('file_photo') }, /At most 16/],
  ];
  for (const [name, task, input, message] of cases) {
    test(name, async () => {
      const { dir, sandbox } = opened;
      const before = await keptIn(dir);
      const outcome = await start(sandbox, task, input, { files, key: `rejected ${name}` });
      assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
      assert.match((outcome as { message: string }).message, message);
      assert.deepEqual(await keptIn(dir), before);
    });
  }

  test('an endless file is cut off at the limit', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    let sent = 0;
    const open = async (): Promise<AsyncIterable<Uint8Array>> =>
      (async function* () {
        const piece = new Uint8Array(1 << 24);
        for (;;) {
          sent += piece.length;
          yield piece;
        }
      })();
    const files = { file_x: { content_type: 'image/png', size: 1, open } };
    const outcome = await start(sandbox, 'edit', { image_url: 'file_x' }, { files });
    assert.match((outcome as { message: string }).message, /larger than/);
    assert.ok(sent <= 300e6, `${sent} bytes were read`);
    assert.deepEqual(await keptIn(dir), []);
  });

  test('an aborted start is not accepted', async (t) => {
    const { dir, sandbox } = await newSandbox(t);
    const outcome = await start(
      sandbox,
      'edit',
      { ...image },
      { files: media.files, signal: AbortSignal.abort() },
    );
    assert.equal(outcome.outcome, 'not_accepted');
    assert.deepEqual(await keptIn(dir), []);
  });

  test('a job that nobody started is failed, whatever its name', async (t) => {
    const { sandbox } = await newSandbox(t);
    for (const job of ['none', '../journal', '', 7, undefined]) {
      assert.equal((await sandbox.poll({ job }, openSignal)).state, 'failed');
    }
  });
});

describe('addresses of the caller', () => {
  test('are fetched by the given client, and only over http and https', async (t) => {
    const asked: string[] = [];
    const { sandbox } = await newSandbox(t, {
      download: async (url) => {
        asked.push(url);
        return fileOf(media.photo);
      },
    });
    const { files } = await make(sandbox, 'edit', {
      prompt: 'x',
      image_url: 'https://example.com/a.jpg',
    });
    assert.equal(files.length, 1);
    await start(sandbox, 'edit', { image_url: 'ftp://example.com/b.jpg' });
    await start(sandbox, 'edit', { image_url: '/etc/passwd' });
    assert.deepEqual(asked, ['https://example.com/a.jpg']);
  });

  test('may hold the file itself, as base64', async () => {
    const image_url = `data:image/jpeg;base64,${media.photo.toString('base64')}`;
    const made = await make(opened.sandbox, 'upscale', { image_url, scale: 2 });
    const { width, height } = await sharp(made.files[0]!.bytes).metadata();
    assert.deepEqual({ width, height }, { width: 320, height: 240 });
  });

  test('that cannot be fetched are rejected without the reason from inside', async (t) => {
    const { sandbox } = await newSandbox(t, {
      download: () => Promise.reject(new Error('10.0.0.7 refused')),
    });
    const outcome = await start(sandbox, 'edit', { image_url: 'https://example.com/a.jpg' });
    assert.equal(outcome.outcome, 'rejected');
    assert.doesNotMatch((outcome as { message: string }).message, /10\.0\.0\.7/);
  });

  test('that together take longer than allowed are rejected, and nothing stays', async (t) => {
    const open = async () =>
      (async function* (): AsyncIterable<Uint8Array> {
        yield new Uint8Array(1);
        throw new TooSlow(0.1, null);
      })();
    const { dir, sandbox } = await newSandbox(t, {
      download: async () => ({ content_type: 'image/png', size: 0, open }),
    });
    const image_url = 'https://example.com/a.jpg';
    const outcome = await start(sandbox, 'edit', { image_url }, { key: 'drip' });
    assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
    assert.match(
      (outcome as { message: string }).message,
      /image_url .* all addresses of this request took more than 0\.1 s/,
    );
    assert.deepEqual(await keptIn(dir), []);
  });

  test('that break off are rejected', async (t) => {
    const open = async () =>
      (async function* (): AsyncIterable<Uint8Array> {
        yield new Uint8Array(1);
        throw new Error('10.0.0.7 hung up');
      })();
    const { sandbox } = await newSandbox(t, {
      download: async () => ({ content_type: 'image/png', size: 0, open }),
    });
    const outcome = await start(sandbox, 'edit', { image_url: 'https://example.com/a.jpg' });
    assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
    assert.doesNotMatch((outcome as { message: string }).message, /10\.0\.0\.7/);
  });
});

test('media in fields that the row does not know are ignored', async (t) => {
  const asked: string[] = [];
  const { sandbox } = await newSandbox(t, {
    download: async (url) => {
      asked.push(url);
      return fileOf(media.photo);
    },
  });
  const known = { image_url: 'https://example.com/known.jpg' };
  const extra = { my_urls: ['https://example.com/extra.jpg'], note: { image_url: 'file_empty' } };
  const { files: made } = await make(
    sandbox,
    'edit',
    { ...known, ...extra },
    { fields: ['prompt', 'image_url'], files },
  );
  assert.equal(made.length, 1);
  assert.deepEqual(asked, [known.image_url]);
});

test('no other user of the machine can read prompts, inputs or outputs, also in an old folder', async (t) => {
  const { dir, sandbox } = await newSandbox(t);
  await chmod(dir, 0o755);
  await make(sandbox, 'edit', { prompt: 'x', ...image }, { files });
  const names = await readdir(dir, { recursive: true });
  const found = await Promise.all(['.', ...names].map((name) => stat(join(dir, name))));
  const modes = found.map(
    (each) => `${each.isFile() ? 'file' : 'folder'} ${(each.mode & 0o777).toString(8)}`,
  );
  assert.deepEqual([...new Set(modes)].toSorted(), ['file 600', 'folder 700']);
});
