import type { InputVideoTrack } from 'mediabunny';
import { fieldOf } from '../../../lib/unknown.ts';
import { videoPixelsMax, type Order } from '../orders/order.ts';
import { SandboxRefusal } from '../refusal.ts';
import { cutAudio, cutVideo, endOf, loopVideo, moveBy, withTracks } from './clip.ts';
import { encodeH264 } from './h264.ts';
import { writeMp4, type VideoTrack } from './mp4.ts';
import { landscapeVideo } from './video.ts';

/**
 * Makes a video longer. If this encoder made it at this size, new frames are drawn from the prompt
 * and appended. Any other video is repeated from its start, because frames of two encoders cannot
 * be joined and nothing here can decode.
 */

const sourceSecondsMax = 120;

export interface Extension {
  bytes: Uint8Array;
  /** Seconds that were added. */
  added: number;
}

export function extendVideo(order: Order, path: string): Promise<Extension> {
  return withTracks(path, async (track, audio) => {
    const length = await track!.computeDuration();
    if (length > sourceSecondsMax)
      throw new SandboxRefusal(`Only videos of up to ${sourceSecondsMax} seconds can be extended.`);
    const video = (await isOurs(track!))
      ? await joinOn(order, track!, length)
      : (await loopVideo(track!, length + order.seconds)).video;
    const added = Math.round((endOf(video.packets) - length) * 1000) / 1000;
    const bytes = await writeMp4(video, await cutAudio(audio, 0, length));
    return { bytes, added: Math.max(0, Math.min(added, order.seconds)) };
  });
}

/** Whether frames encoded here would have exactly the same decoder settings as this track. */
async function isOurs(track: InputVideoTrack): Promise<boolean> {
  const width = await track.getCodedWidth();
  const height = await track.getCodedHeight();
  if ((await track.getCodec()) !== 'avc' || width * height > videoPixelsMax) return false;
  if (width % 2 !== 0 || height % 2 !== 0) return false;
  const ours = await encodeH264({ width, height, frames: 1, seconds: 1, draw: () => undefined });
  const [a, b] = [ours.config, await track.getDecoderConfig()].map((config) =>
    fieldOf(config, 'description'),
  );
  return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0;
}

async function joinOn(order: Order, track: InputVideoTrack, length: number): Promise<VideoTrack> {
  const before = await cutVideo(track, 0, length);
  const text = order.prompt === '' ? 'and so it goes on' : order.prompt;
  const more = await landscapeVideo(text, order.seed, {
    width: await track.getCodedWidth(),
    height: await track.getCodedHeight(),
    seconds: order.seconds,
    note: 'extended',
    text,
  });
  const packets = [...before.video.packets, ...moveBy(before.seconds, more.packets)];
  return { ...before.video, packets };
}
