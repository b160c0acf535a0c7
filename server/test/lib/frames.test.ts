import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import {
  Damaged,
  firstLine,
  FrameWriter,
  proveSeal,
  readFrames,
  type Frame,
} from '../../src/lib/frames.ts';

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), 'farebox-frames-'))));
after(() => rmSync(folder, { recursive: true, force: true }));

async function sealed(frames: Frame[]): Promise<Buffer> {
  const file = await open(join(folder, 'made'), 'w+');
  try {
    const writer = new FrameWriter(file);
    await writer.begin('A KIND OF FILE 1');
    for (const { type, payload } of frames) await writer.write(type, payload);
    const { bytes } = await writer.seal();
    const { size } = await file.stat();
    assert.equal(size, bytes);
    const content = Buffer.alloc(size);
    await file.read(content, 0, size, 0);
    return content;
  } finally {
    await file.close();
  }
}

async function read(content: Buffer): Promise<Frame[]> {
  writeFileSync(join(folder, 'read'), content);
  const file = await open(join(folder, 'read'));
  try {
    await proveSeal(file);
    assert.equal(await firstLine(file), 'A KIND OF FILE 1');
    return await Array.fromAsync(readFrames(file));
  } finally {
    await file.close();
  }
}

describe('a sealed file', () => {
  test('gives back the frames that went in', async () => {
    const frame = fc.record(
      {
        type: fc.constantFrom('A', 'z', '7'),
        payload: fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
      },
      { noNullPrototype: true },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 6 }), async (frames) => {
        assert.deepEqual(await read(await sealed(frames)), frames);
      }),
      { numRuns: 50 },
    );
  });

  test('is recognised when any byte of it is changed, missing or added', async () => {
    const whole = await sealed([
      { type: 'A', payload: Buffer.from('some') },
      { type: 'B', payload: Buffer.alloc(0) },
      { type: 'A', payload: Buffer.from('more') },
    ]);
    assert.equal((await read(whole)).length, 3);
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0x20;
      await assert.rejects(read(changed), Damaged, `changed at ${at}`);
      await assert.rejects(read(whole.subarray(0, at)), Damaged, `cut at ${at}`);
    }
    await assert.rejects(read(Buffer.concat([whole, Buffer.of(0)])), Damaged, 'one more');
  });

  test('never gives frames beyond its seal, though nobody asked for the seal', async () => {
    const whole = await sealed([{ type: 'A', payload: Buffer.alloc(100) }]);
    const at = 'A KIND OF FILE 1\n'.length;
    for (const length of [101, 0xffffffff]) {
      whole.writeUInt32BE(length, at + 1);
      writeFileSync(join(folder, 'read'), whole);
      const file = await open(join(folder, 'read'));
      await assert.rejects(Array.fromAsync(readFrames(file)), Damaged);
      await file.close();
    }
  });
});
