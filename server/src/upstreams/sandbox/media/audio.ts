import { between, hashText, pick, randomFrom } from '../random.ts';
import type { Samples } from './flac.ts';

/** Makes a soft chord that swells and fades; the same prompt and seed give the same chord. */

const sampleRate = 24_000;
/** Semitones above the root note. */
const chords = [
  [0, 7, 12, 16],
  [0, 7, 12, 15],
  [0, 5, 12, 17],
  [0, 7, 14, 16],
] as const;

export function makeAudio(prompt: string, seed: number, seconds: number): Samples {
  const random = randomFrom(hashText(`sound:${prompt}`, seed));
  const root = between(random, 90, 150);
  const voices = pick(random, chords).map((semitones) => ({
    tone: (2 * Math.PI * root * 2 ** (semitones / 12)) / sampleRate,
    swell: (2 * Math.PI * between(random, 0.08, 0.25)) / sampleRate,
    phase: random() * 6.28,
  }));
  const length = Math.max(1, Math.round(seconds * sampleRate));
  const samples = new Int16Array(length);
  const fade = Math.min(sampleRate * 0.4, length / 2);
  for (let i = 0; i < length; i++) {
    let sum = 0;
    for (const { tone, swell, phase } of voices) {
      const wave = Math.sin(i * tone) + 0.3 * Math.sin(2 * i * tone + phase);
      sum += wave * (0.6 + 0.4 * Math.sin(i * swell + phase));
    }
    const edge = Math.min(1, i / fade, (length - 1 - i) / fade);
    samples[i] = Math.round((sum / voices.length) * 9000 * edge);
  }
  return { sampleRate, channels: [samples] };
}

/** A WAV file of 16-bit samples. */
export function wavOf({ sampleRate, channels }: Samples): Uint8Array {
  const length = channels[0]!.length;
  const frame = channels.length * 2;
  const bytes = Buffer.alloc(44 + length * frame);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(channels.length, 22);
  bytes.writeUInt32LE(sampleRate, 24);
  bytes.writeUInt32LE(sampleRate * frame, 28);
  bytes.writeUInt16LE(frame, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(length * frame, 40);
  for (const [c, channel] of channels.entries()) {
    for (const [i, sample] of channel.entries()) bytes.writeInt16LE(sample, 44 + i * frame + c * 2);
  }
  return bytes;
}
