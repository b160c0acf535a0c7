import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from 'mediabunny';
import sharp from 'sharp';
import { tasks } from '../../src/core/catalog/catalog.ts';
import { Readable } from 'node:stream';
import { tinyPng } from '../kit/fake.ts';
import {
  audio,
  image,
  make,
  makeMedia,
  openSandbox,
  tiny,
  video,
  type Media,
  type OpenedSandbox,
} from './sandbox-kit.ts';

const square = { resolution: '480p', aspect_ratio: '1:1' };

/** Facts about a file, read by independent libraries. */
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

let opened: OpenedSandbox;
let media: Media;

before(async () => {
  opened = await openSandbox();
  media = await makeMedia(opened.sandbox);
});
after(() => opened.close());

describe('every task makes real media', () => {
  /** Images: format, size and number, as sharp reads them. */
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
  /** Videos and audio: size, codecs and length, as mediabunny reads them. */
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
        ...square,
        duration_seconds: 1,
      },
      '480x480 avc 1.00s',
    ],
    ['character-animation', { ...image, ...video, ...square }, '480x480 avc flac 1.50s'],
    ['motion-control', { ...image, ...square, duration_seconds: 0.7 }, '480x480 avc 0.70s'],
    ['talking-avatar', { ...image, ...audio, ...square }, '480x480 avc flac 1.20s'],
    ['lip-sync', { ...video, ...audio, duration_seconds: 1 }, '96x64 avc flac 1.00s'],
    ['lip-sync', { ...image, ...audio, ...square }, '480x480 avc flac 1.20s'],
    ['video-edit', { ...video, duration_seconds: 1 }, '96x64 avc flac 1.00s'],
    ['video-edit', { ...video, start_seconds: 1.4, duration_seconds: 0.5 }, '96x64 avc flac 0.50s'],
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
    test(`${task} ${JSON.stringify(input)}`, async () => {
      const { files } = await make(opened.sandbox, task, input, { files: media.files });
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
    test(`${task} ${JSON.stringify(input)}`, async () => {
      const { files } = await make(opened.sandbox, task, input, { files: media.files });
      assert.equal(files.length, 1);
      assert.equal(files[0]!.field, task === 'video-to-audio' ? 'audio' : 'video');
      assert.equal(await factsOf(files[0]!.bytes), expected);
    });
  }

  test('edit of an image of one pixel, which has no room for a label', async () => {
    const open = async () => Readable.from([tinyPng]);
    const files = { file_dot: { content_type: 'image/png', size: tinyPng.length, open } };
    const input = { prompt: 'sepia', image_url: 'file_dot' };
    const made = await make(opened.sandbox, 'edit', input, { files });
    const { width, height } = await sharp(made.files[0]!.bytes).metadata();
    assert.deepEqual([width, height], [1, 1]);
  });

  test('video-analyze reports the true properties and makes no media', async () => {
    const { files, fields } = await make(
      opened.sandbox,
      'video-analyze',
      { ...video, prompt: 'What?' },
      { files: media.files },
    );
    assert.deepEqual(files, []);
    assert.match(String(fields.text), /96 x 64 pixels and 1\.5 seconds/);
    assert.match(String(fields.text), /You asked: "What\?"/);
    const { width, height, frames, audio } = fields.analysis as Record<string, any>;
    assert.deepEqual({ width, height, frames }, { width: 96, height: 64, frames: 36 });
    assert.equal(audio.sample_rate, 24_000);
  });

  test('all layers together give the image', async () => {
    const { files } = await make(
      opened.sandbox,
      'layer-decomposition',
      { ...image, num_images: 4 },
      { files: media.files },
    );
    const flat = await sharp({
      create: { width: 160, height: 120, channels: 4, background: '#0000' },
    })
      .composite(files.map(({ bytes }) => ({ input: bytes })))
      .removeAlpha()
      .raw()
      .toBuffer();
    const source = await sharp(media.photo).raw().toBuffer();
    // Below the label every pixel is that of the source.
    const from = 160 * 40 * 3;
    assert.deepEqual(flat.subarray(from), source.subarray(from));
  });

  test('only the first frame of each group is a key frame, so that players seek to the frame', async () => {
    const { files } = await make(opened.sandbox, 'text-to-video', {
      prompt: 'sea',
      ...tiny,
      duration_seconds: 3,
    });
    const input = new Input({ source: new BufferSource(files[0]!.bytes), formats: ALL_FORMATS });
    const sink = new EncodedPacketSink((await input.getPrimaryVideoTrack())!);
    const keyTimes: number[] = [];
    for await (const packet of sink.packets())
      if (packet.type === 'key') keyTimes.push(packet.timestamp);
    assert.deepEqual(keyTimes, [0, 1, 2]);
  });
});
