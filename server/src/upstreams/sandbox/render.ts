import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { analyse } from './analyse.ts';
import { atSpeed, cutPicture, cutSound, loopPicture, rawSound, withTracks } from './clip.ts';
import { extendFilm } from './extend.ts';
import { PRIVATE } from './folder.ts';
import { filmPictures, filmScene } from './film.ts';
import type { FilmPlan, Motion } from './film.ts';
import { flacTrack, writeMp4, writeSound } from './mp4.ts';
import type { SoundTrack } from './mp4.ts';
import type { Media, Order } from './order.ts';
import {
  editPicture,
  paintPicture,
  picturePlanes,
  reframePicture,
  splitLayers,
  upscalePicture,
} from './picture.ts';
import { sceneOf } from './scene.ts';
import { makeSound, wavOf } from './sound.ts';
import { drawVector } from './vector.ts';

/**
 * Makes what an order asks for. Runs in the rendering process; the same order and files give the
 * same bytes.
 */

export interface MadeFile {
  /** Field of the reply: a plural makes a list, a singular an object. */
  field: string;
  file: string;
  content_type: string;
}

export interface Made {
  media: MadeFile[];
  fields: Record<string, unknown>;
  /** Units delivered, where the files alone do not tell. */
  quantity?: number;
}

/** Pictures in one film; each lies in memory at the film's size. */
const PICTURES_MAX = 8;
/** Tasks whose outcome depends on the seed. */
const seeded = /^text-to-|-to-video$|^edit$/;

interface Piece {
  field: string;
  extension: string;
  content_type: string;
  bytes: Uint8Array;
  quantity?: number;
}

/** Renders into the folder `out`; the caller's files lie in `folder`. */
export async function render(order: Order, folder: string, out: string): Promise<Made> {
  if (order.task === 'video-analyze')
    return { media: [], fields: await analyse(fileOf(order, folder, 'video'), order.prompt) };
  const pieces = await makePieces(order, folder);
  const media: MadeFile[] = [];
  for (const [i, piece] of pieces.entries()) {
    const file = `${piece.field}-${i}.${piece.extension}`;
    await writeFile(join(out, file), piece.bytes, PRIVATE);
    media.push({ field: piece.field, file, content_type: piece.content_type });
  }
  const fields = seeded.test(order.task) ? { seed: order.seed } : {};
  const quantity = pieces[0]?.quantity;
  return { media, fields, ...(quantity !== undefined && { quantity }) };
}

async function makePieces(order: Order, folder: string): Promise<Piece[]> {
  const picture = () => fileOf(order, folder, 'image');
  switch (order.task) {
    case 'text-to-image':
      return repeat(order, (seed) => paintPicture(order, seed));
    case 'edit':
      return repeat(order, (seed) => editPicture(picture(), order, seed));
    case 'text-to-vector':
      return repeat(order, async (seed) => {
        const svg = drawVector(
          sceneOf(order.prompt, seed),
          order.size.width,
          order.size.height,
          order.prompt,
        );
        return Buffer.from(svg);
      });
    case 'upscale':
      return [image(await upscalePicture(picture(), order), order.format)];
    case 'reframe':
      return [image(await reframePicture(picture(), order), order.format)];
    case 'layer-decomposition':
      return (await splitLayers(picture(), order)).map((layer) => image(layer, 'png'));
    case 'video-to-audio':
      return [await soundPiece(order, folder)];
    case 'video-extend': {
      const { bytes, added } = await extendFilm(order, fileOf(order, folder, 'video'));
      return [{ ...film(bytes), quantity: added }];
    }
    default:
      return [film(await makeFilm(order, folder))];
  }
}

async function makeFilm(order: Order, folder: string): Promise<Uint8Array> {
  switch (order.task) {
    case 'text-to-video':
      return filmText(order);
    case 'video-edit':
    case 'video-to-video/edit':
      return editFilm(order, fileOf(order, folder, 'video'));
    case 'lip-sync':
      return order.media.some(({ kind }) => kind === 'video')
        ? dubFilm(order, folder)
        : animate(order, folder, 'talk');
    case 'talking-avatar':
      return animate(order, folder, 'talk');
    case 'character-animation':
      return animate(order, folder, 'sway');
    case 'motion-control':
      return animate(order, folder, 'orbit');
    default:
      return animate(order, folder, 'zoom');
  }
}

async function filmText(order: Order): Promise<Uint8Array> {
  const picture = await filmScene(sceneOf(order.prompt, order.seed), filmPlan(order));
  return writeMp4(picture, order.sound ? madeSound(order) : undefined);
}

function madeSound(order: Order): SoundTrack {
  return flacTrack(makeSound(order.prompt, order.seed, order.seconds));
}

async function animate(order: Order, folder: string, motion: Motion): Promise<Uint8Array> {
  const images = order.media.filter(({ kind }) => kind === 'image').slice(0, PICTURES_MAX);
  const pictures = [];
  for (const { file } of images) pictures.push(await picturePlanes(join(folder, file), order.size));
  const picture = await filmPictures(pictures, motion, order.seed, filmPlan(order));
  return writeMp4(picture, await soundFor(order, folder));
}

/** The sound of an animated picture: the caller's if there is any, else made where asked for. */
async function soundFor(order: Order, folder: string): Promise<SoundTrack | undefined> {
  const source =
    order.media.find(({ kind }) => kind === 'audio') ??
    order.media.find(({ kind }) => kind === 'video');
  const own =
    source &&
    (await withTracks(join(folder, source.file), (_, audio) => cutSound(audio, 0, order.seconds)));
  if (own) return own;
  const wanted = order.sound || order.task === 'talking-avatar';
  return wanted ? madeSound(order) : undefined;
}

/** The caller's film, shorter, slower, faster, turned or silent; its frames stay as they are. */
function editFilm(order: Order, path: string): Promise<Uint8Array> {
  const { startSeconds, speed, mute, turn } = order.cut;
  return withTracks(path, async (video, audio) => {
    const cut = await cutPicture(video!, startSeconds, order.seconds * speed);
    const { picture } = atSpeed(cut, speed);
    // Sound cannot be played slower or faster without decoding it.
    const sound = mute || speed !== 1 ? null : await cutSound(audio, cut.from, cut.seconds);
    const rotation = (((picture.rotation ?? 0) + turn) % 360) as 0 | 90 | 180 | 270;
    return writeMp4({ ...picture, rotation }, sound ?? undefined);
  });
}

/** The caller's film with the caller's sound. */
function dubFilm(order: Order, folder: string): Promise<Uint8Array> {
  const voice = order.media.find(({ kind }) => kind === 'audio')!;
  return withTracks(fileOf(order, folder, 'video'), async (video) => {
    const { picture } = await loopPicture(video!, order.seconds);
    const sound = await withTracks(join(folder, voice.file), (_, audio) =>
      cutSound(audio, 0, order.seconds),
    );
    return writeMp4(picture, sound ?? undefined);
  });
}

async function soundPiece(order: Order, folder: string): Promise<Piece> {
  const video = order.media.find(({ kind }) => kind === 'video')!;
  const seconds = Math.min(order.seconds, video.seconds);
  return withTracks(join(folder, video.file), async (_, audio) => {
    const codec = await audio?.getCodec();
    const raw = audio && codec?.startsWith('pcm') ? await rawSound(audio, 0, seconds) : null;
    const coded = raw ? null : await cutSound(audio, 0, seconds, 'alone');
    if (coded)
      return {
        field: 'audio',
        extension: 'm4a',
        content_type: 'audio/mp4',
        bytes: await writeSound(coded),
      };
    const bytes = wavOf(raw ?? makeSound(order.prompt, order.seed, seconds));
    return { field: 'audio', extension: 'wav', content_type: 'audio/wav', bytes };
  });
}

async function repeat(order: Order, make: (seed: number) => Promise<Buffer>): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (let i = 0; i < order.count; i++) {
    const bytes = await make(order.seed + i);
    pieces.push(
      order.task === 'text-to-vector'
        ? { field: 'images', extension: 'svg', content_type: 'image/svg+xml', bytes }
        : image(bytes, order.format),
    );
  }
  return pieces;
}

function image(bytes: Uint8Array, format: Order['format']): Piece {
  return { field: 'images', extension: format, content_type: `image/${format}`, bytes };
}

function film(bytes: Uint8Array): Piece {
  return { field: 'video', extension: 'mp4', content_type: 'video/mp4', bytes };
}

function filmPlan(order: Order): FilmPlan {
  const note = order.task.replaceAll('-', ' ').replace('/', ' ');
  return { ...order.size, seconds: order.seconds, note, text: order.prompt };
}

function fileOf(order: Order, folder: string, kind: Media['kind']): string {
  return join(folder, order.media.find((one) => one.kind === kind)!.file);
}
