import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import sharp from 'sharp';
import { asFirstPage } from './first-page.ts';

const side = 4;
/** Pages of one colour each. */
const pages = (colours: number[], options: { bigtiff?: boolean } = {}): Promise<Buffer> =>
  sharp(Buffer.concat(colours.map((colour) => Buffer.alloc(side * side, colour))), {
    raw: { width: side, height: side * colours.length, channels: 1, pageHeight: side },
  })
    .toColourspace('b-w')
    .tiff({ compression: 'none', ...options })
    .toBuffer();

/** Two pages of one grey pixel in the other order of bytes. */
function motorola(colours: [number, number]): Buffer {
  const fields = (at: number) => [
    [256, 4, 1, 1],
    [257, 4, 1, 1],
    [258, 3, 1, 8 << 16],
    [259, 3, 1, 1 << 16],
    [262, 3, 1, 1 << 16],
    [273, 4, 1, at],
    [277, 3, 1, 1 << 16],
    [278, 4, 1, 1],
    [279, 4, 1, 1],
  ];
  const size = 2 + 12 * fields(0).length + 4;
  const head = Buffer.from([0x4d, 0x4d, 0, 42, 0, 0, 0, 10, ...colours]);
  const page = (i: number) => {
    const bytes = Buffer.alloc(size);
    bytes.writeUInt16BE(fields(0).length);
    for (const [n, [tag, type, count, value]] of fields(8 + i).entries()) {
      bytes.writeUInt16BE(tag!, 2 + 12 * n);
      bytes.writeUInt16BE(type!, 4 + 12 * n);
      bytes.writeUInt32BE(count!, 6 + 12 * n);
      bytes.writeUInt32BE(value!, 10 + 12 * n);
    }
    bytes.writeUInt32BE(i === 0 ? 10 + size : 0, size - 4);
    return bytes;
  };
  return Buffer.concat([head, page(0), page(1)]);
}

describe('a TIFF has one page, its first:', () => {
  const files: [name: string, bytes: () => Promise<Buffer>, pages: number][] = [
    ['of three', () => pages([10, 20, 30]), 3],
    ['of more than 4 GB, by its form', () => pages([10, 20, 30], { bigtiff: true }), 3],
    ['with the highest byte first', async () => motorola([10, 20]), 2],
    ['of one', () => pages([10]), 1],
  ];
  for (const [name, bytes, count] of files)
    test(name, async () => {
      const file = await bytes();
      assert.equal((await sharp(file).metadata()).pages ?? 1, count);
      const first = asFirstPage(Buffer.from(file));
      assert.equal((await sharp(first).metadata()).pages ?? 1, 1);
      assert.equal((await sharp(first).raw().toBuffer())[0], 10);
    });
});

test('other files, and those that end too early, stay as they are', async () => {
  const file = await pages([10, 20]);
  const ends = [0, 1, 2, 4, 8, 9].map((length) => file.subarray(0, length));
  const png = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();
  const beyond = Buffer.from(file);
  beyond.writeUInt32LE(0xffffffff, 4);
  for (const bytes of [...ends, png, beyond])
    assert.deepEqual(asFirstPage(Buffer.from(bytes)), Buffer.from(bytes));
});
