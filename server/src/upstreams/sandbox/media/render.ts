import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { drawLandscape } from '../drawing/landscape.ts';
import type { OrderFile, Order } from '../orders/order.ts';
import { analyse } from './analyse.ts';
import { makeAudio, wavOf } from './audio.ts';
import { atSpeed, cutAudio, cutVideo, loopVideo, samplesOf, withTracks } from './clip.ts';
import { extendVideo } from './extend.ts';
import { flacTrack } from './flac.ts';
import {
  drawImage,
  editImage,
  imagePlanes,
  reframeImage,
  splitLayers,
  upscaleImage,
} from './image.ts';
import { writeMp4, type AudioTrack } from './mp4.ts';
import type { Planes } from './planes.ts';
import { imageVideo, landscapeVideo, type Motion, type VideoPlan } from './video.ts';

/** Makes the output of an order; the same order and files give the same bytes. */

export interface RenderJob {
  media: {
    /** The reply's field: a plural makes a list, a singular an object. */
    field: string;
    file: string;
    content_type: string;
  }[];
  fields: Record<string, unknown>;
  /** Units delivered, if they cannot be measured from the files. */
  quantity?: number;
}

/** Maximum number of images in one video, because each is in memory at the video's size. */
const imagesMax = 8;
/** Tasks whose outcome depends on the seed. */
const seeded = /^text-to-|-to-video$|^edit$/;

interface Piece {
  field: string;
  extension: string;
  content_type: string;
  bytes: Uint8Array;
  quantity?: number;
}

/** Renders into the folder `out`; the caller's files are in `folder`. */
export async function render(order: Order, folder: string, out: string): Promise<RenderJob> {
  if (order.task === 'video-analyze')
    return { media: [], fields: await analyse(fileOf(order, folder, 'video'), order.prompt) };
  const pieces = await makePieces(order, folder);
  const media: RenderJob['media'] = [];
  for (const [i, { field, extension, content_type, bytes }] of pieces.entries()) {
    const file = `${field}-${i}.${extension}`;
    await writeFile(join(out, file), bytes, { mode: 0o600 });
    media.push({ field, file, content_type });
  }
  const fields = seeded.test(order.task) ? { seed: order.seed } : {};
  const quantity = pieces[0]?.quantity;
  return { media, fields, ...(quantity !== undefined && { quantity }) };
}

async function makePieces(order: Order, folder: string): Promise<Piece[]> {
  const { task, prompt, size, format } = order;
  const image = () => fileOf(order, folder, 'image');
  switch (task) {
    case 'text-to-image':
      return repeat(order, async (seed) => imagePiece(await drawImage(order, seed), format));
    case 'edit':
      return repeat(order, async (seed) =>
        imagePiece(await editImage(image(), order, seed), format),
      );
    case 'text-to-vector':
      return repeat(order, async (seed) => {
        const bytes = Buffer.from(drawLandscape(prompt, seed, size));
        return { field: 'images', extension: 'svg', content_type: 'image/svg+xml', bytes };
      });
    case 'upscale':
      return [imagePiece(await upscaleImage(image(), order), format)];
    case 'reframe':
      return [imagePiece(await reframeImage(image(), order), format)];
    case 'layer-decomposition':
      return (await splitLayers(image(), order)).map((layer) => imagePiece(layer, 'png'));
    case 'video-to-audio':
      return [await audioPiece(order, fileOf(order, folder, 'video'))];
    case 'video-extend': {
      const { bytes, added } = await extendVideo(order, fileOf(order, folder, 'video'));
      return [{ ...videoPiece(bytes), quantity: added }];
    }
    default:
      return [videoPiece(await makeVideo(order, folder))];
  }
}

async function makeVideo(order: Order, folder: string): Promise<Uint8Array> {
  switch (order.task) {
    case 'text-to-video': {
      const video = await landscapeVideo(order.prompt, order.seed, planOf(order));
      return writeMp4(video, order.sound ? madeAudio(order) : null);
    }
    case 'video-edit':
    case 'video-to-video/edit':
      return editVideo(order, fileOf(order, folder, 'video'));
    case 'lip-sync':
      return order.media.some(({ kind }) => kind === 'video')
        ? dubVideo(order, folder)
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

/** Makes a video from the caller's images. */
async function animate(order: Order, folder: string, motion: Motion): Promise<Uint8Array> {
  const images: Planes[] = [];
  for (const { file } of order.media.filter(({ kind }) => kind === 'image').slice(0, imagesMax))
    images.push(await imagePlanes(join(folder, file), order.size));
  const video = await imageVideo(images, motion, order.seed, planOf(order));
  return writeMp4(video, await audioFor(order, folder));
}

/**
 * The audio of an animated image: the caller's if given, otherwise made if the order asks for it.
 */
async function audioFor(order: Order, folder: string): Promise<AudioTrack | null> {
  const source =
    order.media.find(({ kind }) => kind === 'audio') ??
    order.media.find(({ kind }) => kind === 'video');
  const own = source && (await audioOf(join(folder, source.file), order.seconds));
  if (own) return own;
  return order.sound || order.task === 'talking-avatar' ? madeAudio(order) : null;
}

/** Cuts, slows down, speeds up, rotates or mutes the caller's video without changing its frames. */
function editVideo(order: Order, path: string): Promise<Uint8Array> {
  const { startSeconds, speed, mute, turn } = order.cut;
  return withTracks(path, async (track, audio) => {
    const cut = await cutVideo(track!, startSeconds, order.seconds * speed);
    const { video } = atSpeed(cut, speed);
    // Audio is dropped if the speed changes, because that would require decoding it.
    const kept = mute || speed !== 1 ? null : await cutAudio(audio, cut.from, cut.seconds);
    const turned = ((video.rotation ?? 0) + turn) % 360;
    const rotation = ([90, 180, 270] as const).find((each) => each === turned) ?? 0;
    return writeMp4({ ...video, rotation }, kept);
  });
}

/** The caller's video with the caller's audio. */
function dubVideo(order: Order, folder: string): Promise<Uint8Array> {
  return withTracks(fileOf(order, folder, 'video'), async (track) => {
    const { video } = await loopVideo(track!, order.seconds);
    return writeMp4(video, await audioOf(fileOf(order, folder, 'audio'), order.seconds));
  });
}

/** The audio of the caller's video in its own codec; as WAV if it is uncompressed or made here. */
async function audioPiece(order: Order, path: string): Promise<Piece> {
  const { seconds: length } = order.media.find(({ kind }) => kind === 'video')!;
  const seconds = Math.min(order.seconds, length);
  return withTracks(path, async (_, audio) => {
    const isRaw = (await audio?.getCodec())?.startsWith('pcm');
    const raw = audio && isRaw ? await samplesOf(audio, 0, seconds) : null;
    const coded = raw ? null : await cutAudio(audio, 0, seconds, 'alone');
    if (coded) {
      const bytes = await writeMp4(null, coded);
      return { field: 'audio', extension: 'm4a', content_type: 'audio/mp4', bytes };
    }
    const bytes = wavOf(raw ?? makeAudio(order.prompt, order.seed, seconds));
    return { field: 'audio', extension: 'wav', content_type: 'audio/wav', bytes };
  });
}

function audioOf(path: string, seconds: number): Promise<AudioTrack | null> {
  return withTracks(path, (_, audio) => cutAudio(audio, 0, seconds));
}

function madeAudio({ prompt, seed, seconds }: Order): AudioTrack {
  return flacTrack(makeAudio(prompt, seed, seconds));
}

async function repeat(order: Order, make: (seed: number) => Promise<Piece>): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (let i = 0; i < order.count; i++) pieces.push(await make(order.seed + i));
  return pieces;
}

function imagePiece(bytes: Uint8Array, format: Order['format']): Piece {
  return { field: 'images', extension: format, content_type: `image/${format}`, bytes };
}

function videoPiece(bytes: Uint8Array): Piece {
  return { field: 'video', extension: 'mp4', content_type: 'video/mp4', bytes };
}

function planOf({ task, size, seconds, prompt }: Order): VideoPlan {
  return { ...size, seconds, note: task.replaceAll('-', ' ').replace('/', ' '), text: prompt };
}

function fileOf(order: Order, folder: string, kind: OrderFile['kind']): string {
  return join(folder, order.media.find((one) => one.kind === kind)!.file);
}
