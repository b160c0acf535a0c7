import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { checksum, flacTrack, type Samples } from './flac.ts';

/** A decoder written from the format's description, for what the encoder may use of it. */
function decodeFrame(data: Uint8Array, channels: number): number[][] {
  const frame = Buffer.from(data);
  assert.equal(frame.readUInt16BE(0), 0xfff8);
  assert.equal(frame[2], 0x70);
  assert.equal(frame[3], ((channels - 1) << 4) | 0x08);
  let at = 4 + (frame[4]! >= 0xe0 ? 3 : frame[4]! >= 0xc0 ? 2 : 1);
  const length = frame.readUInt16BE(at) + 1;
  at += 3;
  const decoded = Array.from({ length: channels }, () => {
    assert.equal(frame[at++], 0b0000_0010, 'verbatim');
    return Array.from({ length }, () => frame.readInt16BE((at += 2) - 2));
  });
  assert.equal(frame.length, at + 2);
  return decoded;
}

function roundTrip({ sampleRate, channels }: Samples): void {
  const back: number[][] = channels.map(() => []);
  for (const packet of flacTrack({ sampleRate, channels }).packets) {
    for (const [c, channel] of decodeFrame(packet.data, channels.length).entries()) {
      assert.equal(channel.length, Math.round(packet.duration * sampleRate));
      back[c]!.push(...channel);
    }
  }
  assert.deepEqual(
    back,
    channels.map((channel) => [...channel]),
  );
}

describe('FLAC', () => {
  test('any 16-bit samples come back', () => {
    const sample = fc.integer({ min: -32768, max: 32767 });
    const channel = fc.array(sample, { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(channel, fc.boolean(), (one, stereo) => {
        const left = Int16Array.from(one);
        roundTrip({ sampleRate: 8000, channels: stereo ? [left, left.toReversed()] : [left] });
      }),
    );
  });

  test('a tone over many blocks comes back', () => {
    const tone = Int16Array.from({ length: 600_000 }, (_, i) => 12_000 * Math.sin(i / 20));
    roundTrip({ sampleRate: 24_000, channels: [tone] });
  });

  test('checksums are those of the example in RFC 9639, appendix D.1', () => {
    const frame = Buffer.from('fff869180000bf0358fd03128baa9a', 'hex');
    assert.equal(checksum(frame.subarray(0, 6), 8, 0x07), 0xbf);
    assert.equal(checksum(frame.subarray(0, -2), 16, 0x8005), 0xaa9a);
  });

  test('the header tells rate, channels and length', () => {
    const two = new Int16Array(5);
    const { config } = flacTrack({ sampleRate: 48_000, channels: [two, two] });
    const header = Buffer.from((config as { description: Uint8Array }).description);
    assert.equal(header.toString('latin1', 0, 4), 'fLaC');
    assert.equal(header.readUInt32BE(4), 0x80000022);
    const format = header.readBigUInt64BE(18);
    const [rate, channels, bits] = [format >> 44n, (format >> 41n) & 7n, (format >> 36n) & 31n];
    assert.deepEqual([rate, channels, bits, format & 0xfffffffffn], [48_000n, 1n, 15n, 5n]);
  });
});
