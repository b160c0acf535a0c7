import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Farebox } from '../src/index.ts';
import { startService, type Service } from '../../server/test/kit/service.ts';

/** The library tells a file's type by its first bytes, and the service agrees. */

let service: Service;
let key: string;
before(async () => {
  service = await startService();
  ({ key } = await service.account());
});
after(async () => {
  await service.audit();
  await service.stop();
});

const files = {
  'photo.png': 'image/png',
  'turned.jpg': 'image/jpeg',
  'moving.webp': 'image/webp',
  'moving.gif': 'image/gif',
  'photo.avif': 'image/avif',
  'general.avif': 'image/avif',
  'photo.heic': 'image/heic',
  'lzw.tif': 'image/tiff',
  'photo.bmp': 'image/bmp',
  'film.mp4': 'video/mp4',
  'film.mov': 'video/quicktime',
  'film.webm': 'video/webm',
  'film.mkv': 'video/x-matroska',
  'sound.mp4': 'audio/mp4',
  'sound.webm': 'audio/webm',
  'sound.mp3': 'audio/mpeg',
  'sound.aac': 'audio/aac',
  'sound.ogg': 'audio/ogg',
  'sound.flac': 'audio/flac',
  'streamed.wav': 'audio/wav',
};
for (const [name, type] of Object.entries(files))
  test(`${name} is uploaded as ${type}`, async () => {
    const client = new Farebox({ apiKey: key, baseUrl: `${service.base}/v1` });
    const stored = await client.upload(
      join(import.meta.dirname, '../../server/test/fixtures/media', name),
    );
    assert.equal(stored.content_type, type);
  });
