import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { encodeFlac } from './flac.ts';
import type { Sound } from './flac.ts';

/** Reads bits, most significant first. */
class BitReader {
  #at = 0;
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
  get(width: number): number {
    let value = 0;
    for (let i = 0; i < width; i++, this.#at++) {
      value = value * 2 + ((this.bytes[this.#at >> 3]! >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }
  signed(width: number): number {
    const value = this.get(width);
    return value >= 2 ** (width - 1) ? value - 2 ** width : value;
  }
  unary(): number {
    let zeros = 0;
    while (this.get(1) === 0) zeros++;
    return zeros;
  }
}

/** A decoder written from the format's description, for what the encoder may use of it. */
function decodeFrame(data: Uint8Array, channels: number): number[][] {
  const bits = new BitReader(data);
  assert.equal(bits.get(16), 0xfff8);
  assert.equal(bits.get(8), 0b0111_0000);
  assert.equal(bits.get(4), channels - 1);
  assert.equal(bits.get(4), 0b1000);
  const lead = bits.get(8);
  if (lead >= 0xe0) bits.get(16);
  else if (lead >= 0xc0) bits.get(8);
  const samples = bits.get(16) + 1;
  bits.get(8);
  return Array.from({ length: channels }, () => decodeChannel(bits, samples));
}

function decodeChannel(bits: BitReader, samples: number): number[] {
  assert.equal(bits.get(4), 0b0001, 'a fixed predictor');
  const order = bits.get(3);
  assert.equal(bits.get(1), 0);
  const out = Array.from({ length: order }, () => bits.signed(16));
  assert.equal(bits.get(6), 0);
  const parameter = bits.get(4);
  const terms = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]][order]!;
  for (let i = order; i < samples; i++) {
    const high = bits.unary();
    const folded = high * 2 ** parameter + bits.get(parameter);
    const left = folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    out.push(left + terms.reduce((sum, weight, k) => sum + weight * out[i - 1 - k]!, 0));
  }
  return out;
}

function roundTrip(sound: Sound): void {
  const { frames } = encodeFlac(sound);
  const back: number[][] = sound.channels.map(() => []);
  for (const frame of frames) {
    const decoded = decodeFrame(frame.data, sound.channels.length);
    decoded.forEach((channel, c) => {
      assert.equal(channel.length, frame.samples);
      back[c]!.push(...channel);
    });
  }
  assert.deepEqual(
    back,
    sound.channels.map((channel) => [...channel]),
  );
}

describe('FLAC', () => {
  test('any 16-bit sound comes back sample for sample', () => {
    const sample = fc.integer({ min: -32768, max: 32767 });
    const channel = fc.array(sample, { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(channel, fc.boolean(), (one, stereo) => {
        const left = Int16Array.from(one);
        roundTrip({ sampleRate: 8000, channels: stereo ? [left, left.toReversed()] : [left] });
      }),
    );
  });

  test('a tone over several blocks comes back, and is smaller than raw', () => {
    const tone = Int16Array.from({ length: 10_000 }, (_, i) => 12_000 * Math.sin(i / 20));
    roundTrip({ sampleRate: 24_000, channels: [tone] });
    const { frames } = encodeFlac({ sampleRate: 24_000, channels: [tone] });
    assert.deepEqual(
      frames.map((frame) => frame.samples),
      [4096, 4096, 1808],
    );
    const size = frames.reduce((sum, frame) => sum + frame.data.length, 0);
    assert.ok(size < tone.length * 2 * 0.6, `${size} bytes`);
  });

  test('the header tells rate, channels and length', () => {
    const two = new Int16Array(5);
    const { header } = encodeFlac({ sampleRate: 48_000, channels: [two, two] });
    const bits = new BitReader(header);
    assert.equal(bits.get(32), 0x664c6143);
    assert.deepEqual([bits.get(8), bits.get(24)], [0x80, 34]);
    bits.get(16 + 16 + 24 + 24);
    assert.deepEqual([bits.get(20), bits.get(3), bits.get(5), bits.get(36)], [48_000, 1, 15, 5]);
  });
});
