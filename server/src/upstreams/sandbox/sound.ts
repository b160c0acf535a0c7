import type { Sound } from './flac.ts';
import { between, hashText, pick, randomFrom } from './random.ts';

/**
 * Sound made from nothing: a soft chord that swells and fades, the same for the same prompt and
 * seed.
 */

const RATE = 24_000;
/** Semitones over the root. */
const chords = [
  [0, 7, 12, 16],
  [0, 7, 12, 15],
  [0, 5, 12, 17],
  [0, 7, 14, 16],
] as const;

export function makeSound(prompt: string, seed: number, seconds: number): Sound {
  const random = randomFrom(hashText(`sound:${prompt}`, seed));
  const root = between(random, 90, 150);
  const voices = pick(random, chords).map((step) => ({
    turn: (2 * Math.PI * root * 2 ** (step / 12)) / RATE,
    swell: (2 * Math.PI * between(random, 0.08, 0.25)) / RATE,
    phase: random() * 6.28,
  }));
  const length = Math.max(1, Math.round(seconds * RATE));
  const samples = new Int16Array(length);
  const fade = Math.min(RATE * 0.4, length / 2);
  for (let i = 0; i < length; i++) {
    let sum = 0;
    for (const { turn, swell, phase } of voices) {
      const tone = Math.sin(i * turn) + 0.3 * Math.sin(2 * i * turn + phase);
      sum += tone * (0.6 + 0.4 * Math.sin(i * swell + phase));
    }
    const edge = Math.min(1, i / fade, (length - 1 - i) / fade);
    samples[i] = Math.round((sum / voices.length) * 9000 * edge);
  }
  return { sampleRate: RATE, channels: [samples] };
}

/** A WAV file of 16-bit sound. */
export function wavOf(sound: Sound): Uint8Array {
  const channels = sound.channels.length;
  const length = sound.channels[0]!.length;
  const bytes = Buffer.alloc(44 + length * channels * 2);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(sound.sampleRate, 24);
  bytes.writeUInt32LE(sound.sampleRate * channels * 2, 28);
  bytes.writeUInt16LE(channels * 2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(length * channels * 2, 40);
  for (let i = 0; i < length; i++) {
    for (let c = 0; c < channels; c++)
      bytes.writeInt16LE(sound.channels[c]![i]!, 44 + (i * channels + c) * 2);
  }
  return bytes;
}
