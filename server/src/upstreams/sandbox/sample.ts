import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { filmScene } from './film.ts';
import { PRIVATE } from './folder.ts';
import { flacTrack, writeMp4 } from './mp4.ts';
import { paintStill } from './paint.ts';
import { sceneOf } from './scene.ts';
import { makeSound, wavOf } from './sound.ts';

/**
 * Media of the sandbox's own, for inputs that name `sandbox:photo`, `sandbox:film` or
 * `sandbox:voice`: models that need a file can be tried before there is one. Runs in the rendering
 * process; the same kind and number give the same bytes.
 */

export type SampleKind = 'photo' | 'film' | 'voice';

const PHOTO = { width: 640, height: 480 };
const FILM = { width: 480, height: 270, seconds: 4 };
const VOICE_SECONDS = 4;

export async function makeSample(kind: SampleKind, number: number, path: string): Promise<void> {
  await writeFile(path, await bytesOf(kind, number), { flag: 'wx', ...PRIVATE });
}

async function bytesOf(kind: SampleKind, number: number): Promise<Uint8Array> {
  if (kind === 'voice') return wavOf(makeSound('voice', number, VOICE_SECONDS));
  const scene = sceneOf('hills by the sea', number);
  if (kind === 'film') {
    const picture = await filmScene(scene, { ...FILM, note: 'sample', text: '' });
    return writeMp4(picture, flacTrack(makeSound('film', number, FILM.seconds)));
  }
  const pixels = paintStill(scene, PHOTO.width, PHOTO.height);
  return sharp(pixels, { raw: { ...PHOTO, channels: 3 } })
    .jpeg()
    .toBuffer();
}
