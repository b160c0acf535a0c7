import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { drawBareLandscape } from '../drawing/landscape.ts';
import { makeAudio, wavOf } from './audio.ts';
import { flacTrack } from './flac.ts';
import { writeMp4 } from './mp4.ts';
import { landscapeVideo } from './video.ts';
import { sampleKinds } from '../../../core/catalog/media-input.ts';

/**
 * Sample media for inputs that name `sandbox:photo`, `sandbox:film` or `sandbox:voice`, so that
 * callers without a file can try models that need one. Runs in the rendering process; the same kind
 * and number give the same bytes.
 */

export type SampleKind = (typeof sampleKinds)[number];

const prompt = 'hills by the sea';
const photo = { width: 640, height: 480 };
const seconds = 4;
const film = { width: 480, height: 270, seconds, note: 'sample', text: '' };

export async function makeSample(kind: SampleKind, number: number, path: string): Promise<void> {
  await writeFile(path, await bytesOf(kind, number), { flag: 'wx', mode: 0o600 });
}

async function bytesOf(kind: SampleKind, number: number): Promise<Uint8Array> {
  if (kind === 'voice') return wavOf(makeAudio('voice', number, seconds));
  if (kind === 'photo') {
    const svg = drawBareLandscape(prompt, number, photo);
    return sharp(Buffer.from(svg)).jpeg().toBuffer();
  }
  const video = await landscapeVideo(prompt, number, film);
  return writeMp4(video, flacTrack(makeAudio('film', number, seconds)));
}
