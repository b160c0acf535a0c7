import type { InputVideoTrack } from 'mediabunny';
import { cutPicture, cutSound, loopPicture, withTracks } from './clip.ts';
import { filmScene } from './film.ts';
import { encodeH264 } from './h264.ts';
import { writeMp4 } from './mp4.ts';
import type { PictureTrack } from './mp4.ts';
import type { Order } from './order.ts';
import { newPlanes } from './planes.ts';
import { Refusal } from './refusal.ts';
import { sceneOf } from './scene.ts';

/**
 * Makes a film longer. Where the film came from this encoder at this size, new frames are drawn
 * from the prompt and joined on. Any other film is played again from its start: frames of two
 * encoders do not join, and nothing here can decode.
 */

const SOURCE_SECONDS_MAX = 120;
const FILM_PIXELS = 4096 * 2304;

export interface Extended {
  bytes: Uint8Array;
  /** Seconds by which the film is longer now. */
  added: number;
}

export function extendFilm(order: Order, path: string): Promise<Extended> {
  return withTracks(path, async (video, audio) => {
    const length = await video!.computeDuration();
    if (length > SOURCE_SECONDS_MAX) {
      throw new Refusal(`Only films of up to ${SOURCE_SECONDS_MAX} seconds can be extended.`);
    }
    const joined = (await isOurs(video!)) ? await joinOn(order, video!, length) : null;
    const picture = joined ?? (await loopPicture(video!, length + order.seconds)).picture;
    const sound = await cutSound(audio, 0, length);
    const added = Math.round((lengthOf(picture) - length) * 1000) / 1000;
    const bytes = await writeMp4(picture, sound ?? undefined);
    return { bytes, added: Math.max(0, Math.min(added, order.seconds)) };
  });
}

function lengthOf({ packets }: PictureTrack): number {
  return packets.reduce((end, packet) => Math.max(end, packet.timestamp + packet.duration), 0);
}

/** Whether a frame coded here would have the same decoder settings, to the byte. */
async function isOurs(track: InputVideoTrack): Promise<boolean> {
  const width = await track.getCodedWidth();
  const height = await track.getCodedHeight();
  if ((await track.getCodec()) !== 'avc' || width * height > FILM_PIXELS) return false;
  if (width % 2 !== 0 || height % 2 !== 0) return false;
  const film = { width, height, frames: 1, seconds: 1, draw: () => undefined };
  const ours = await encodeH264(film, newPlanes(width, height));
  return same(settingsOf(ours.config), settingsOf(await track.getDecoderConfig()));
}

async function joinOn(order: Order, track: InputVideoTrack, length: number): Promise<PictureTrack> {
  const before = await cutPicture(track, 0, length);
  const text = order.prompt === '' ? 'and so it goes on' : order.prompt;
  const more = await filmScene(sceneOf(text, order.seed), {
    width: await track.getCodedWidth(),
    height: await track.getCodedHeight(),
    seconds: order.seconds,
    note: 'extended',
    text,
  });
  const moved = more.packets.map((packet) =>
    packet.clone({ timestamp: packet.timestamp + before.seconds }),
  );
  return { ...before.picture, packets: [...before.picture.packets, ...moved] };
}

function settingsOf(config: unknown): unknown {
  return (config as { description?: unknown } | null)?.description;
}

function same(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return false;
  return Buffer.compare(a, b) === 0;
}
