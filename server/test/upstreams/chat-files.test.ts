import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import sharp from 'sharp';
import { dataIn } from '../../src/lib/data-address.ts';
import type { InputFile } from '../../src/upstreams/upstream.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import { until } from '../kit/until.ts';
import { callOf, openStand, type Stand } from './openai-kit.ts';

/** Stored files of a chat, which are read and encoded while the call is sent. */

let stand: Stand;
before(async () => void (stand = await openStand()));
after(() => stand.close());

const bytes = Buffer.alloc(300_001, 'picture');
const type = 'image/png';
const text = `data:${type};base64,${bytes.toString('base64')}`;
const file = (open: InputFile['open'], size = bytes.length): InputFile => ({
  content_type: type,
  size,
  open,
});
async function* chunksOf(whole: Uint8Array, sizes: number[]) {
  let at = 0;
  for (const size of [...sizes, whole.length]) yield whole.subarray(at, (at += size));
}
const pictures = (...urls: string[]) => {
  const content = urls.map((url) => ({ type: 'image_url', image_url: { url } }));
  return { messages: [{ role: 'user', content }], max_tokens: 5 };
};
const sent = () => (stand.fake.chat.asked.at(-1) as any).messages[0].content;

describe('arrive as they were stored', () => {
  const cases: [name: string, sizes: number[]][] = [
    ['in one chunk', []],
    ['in chunks that are no multiple of three', [1, 1, 100, 65_537, 7]],
    ['with empty chunks', [0, 5, 0]],
  ];
  for (const [name, sizes] of cases)
    for (const stream of [false, true])
      test(`${name}, stream: ${stream}`, async () => {
        let opened = 0;
        const open = async () => {
          opened += 1;
          return chunksOf(bytes, sizes);
        };
        const call = { ...callOf(stream, pictures('a', 'a', text)), files: { a: file(open) } };
        const { outcome } = await stand.upstream.chat!(call);
        assert.equal(outcome, 'reply');
        for (const part of sent()) assert.equal(part.image_url.url, text);
        assert.equal(opened, 2, 'once for each mention');
      });
});

describe('that cannot be read end the call as not accepted, and nothing reaches the model:', () => {
  const cases: [name: string, file: InputFile][] = [
    ['a file that is gone', file(() => Promise.reject(new Error('gone')))],
    [
      'a file that breaks off with an error',
      file(async () =>
        (async function* () {
          yield bytes.subarray(0, 100_000);
          throw new Error('the disk is broken');
        })(),
      ),
    ],
    ['a file that became shorter', file(async () => chunksOf(bytes, []), bytes.length + 3)],
    ['a file that became longer', file(async () => chunksOf(bytes, []), 200_000)],
  ];
  for (const [name, broken] of cases)
    for (const stream of [false, true])
      test(`${name}, stream: ${stream}`, async () => {
        const asked = stand.fake.chat.asked.length;
        const call = { ...callOf(stream, pictures('a')), files: { a: broken } };
        const outcome = await stand.upstream.chat!(call);
        assert.equal(outcome.outcome, 'not_accepted', JSON.stringify(outcome));
        assert.equal((outcome as { unasked?: true }).unasked, true);
        assert.equal(stand.fake.chat.asked.length, asked);
      });
});

describe('in a type that few models read', () => {
  const stored = (name: string, content_type: string): InputFile => {
    const read = readFileSync(join(import.meta.dirname, '../fixtures/media', name));
    return { ...file(async () => chunksOf(read, []), read.length), content_type };
  };
  for (const [name, tiff] of Object.entries({ 'lzw.tif': '96x64', 'turned.tif': '64x96' }))
    test(`${name} arrives as PNG`, async () => {
      const files = { a: stored(name, 'image/tiff') };
      const { outcome } = await stand.upstream.chat!({ ...callOf(false, pictures('a')), files });
      assert.equal(outcome, 'reply');
      const { format, width, height } = await sharp(
        Buffer.from(dataIn(sent()[0].image_url.url)!.base64, 'base64'),
      ).metadata();
      assert.deepEqual([format, `${width}x${height}`], ['png', tiff]);
    });

  for (const [name, heic] of Object.entries({ 'photo.heic': 'HEIC', 'photo.bmp': 'BMP' }))
    test(`${name} is refused by name, and nothing reaches the model`, async () => {
      const asked = stand.fake.chat.asked.length;
      const files = { a: stored(name, `image/${heic.toLowerCase()}`) };
      const outcome = await stand.upstream.chat!({ ...callOf(false, pictures('a')), files });
      assert.equal(outcome.outcome, 'rejected');
      const { message } = outcome as { message: string };
      assert.match(
        message,
        new RegExp(`is ${heic}; this model takes PNG, .* ${heic} cannot be conv`),
      );
      assert.equal(stand.fake.chat.asked.length, asked);
    });
});

test('an upstream that refuses before it has read all is understood', async () => {
  const server = createServer((_req, res) => {
    res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' });
    res.end(JSON.stringify({ error: { message: 'slow down' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const settings = { name: 'early', url: `http://127.0.0.1:${port}`, key: 'k', secret: null };
  const early = createOpenai({ ...settings, concurrency: 1, options: {} }, stand.tools);
  let closed = false;
  const open = async () =>
    (async function* () {
      try {
        for (let i = 0; i < 60; i++) yield bytes;
      } finally {
        closed = true;
      }
    })();
  const files = { a: file(open, 60 * bytes.length) };
  const outcome = await early.chat!({ ...callOf(false, pictures('a')), files });
  assert.equal(outcome.outcome, 'not_accepted', JSON.stringify(outcome));
  assert.equal((outcome as { retry_after_ms?: number }).retry_after_ms, 7_000);
  await until('the file is closed', () => closed);
  server.close();
  server.closeAllConnections();
});
