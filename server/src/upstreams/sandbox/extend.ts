import { BufferSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import type { EncodedPacket, InputVideoTrack } from 'mediabunny';
import { cutPicture, cutSound, loopPicture, withTracks } from './clip.ts';
import { encodeH264 } from './h264.ts';
import { filmScene } from './film.ts';
import { writeMp4 } from './mp4.ts';
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

export function extendFilm(order: Order, path: string): Promise<Uint8Array> {
  return withTracks(path, async (video, audio) => {
    const length = await video!.computeDuration();
    if (length > SOURCE_SECONDS_MAX) {
      throw new Refusal(`Only films of up to ${SOURCE_SECONDS_MAX} seconds can be extended.`);
    }
    const joined = (await isOurs(video!)) ? await joinOn(order, video!, length) : null;
    const picture = joined ?? (await loopPicture(video!, length + order.seconds)).picture;
    const sound = await cutSound(audio, 0, length);
    return writeMp4(picture, sound ?? undefined);
  });
}

/** Whether a frame coded here would have the same decoder settings, to the byte. */
async function isOurs(track: InputVideoTrack): Promise<boolean> {
  const { width, height } = {
    width: await track.getCodedWidth(),
    height: await track.getCodedHeight(),
  };
  const codec = await track.getCodec();
  if (codec !== 'avc' || width % 2 !== 0 || height % 2 !== 0 || width * height > 4096 * 2304)
    return false;
  const planes = newPlanes(width, height);
  const film = { width, height, frames: 1, fps: 8, draw: () => undefined };
  const { config } = await readPackets(await encodeH264(film, planes));
  return same(config?.description, (await track.getDecoderConfig())?.description);
}

async function joinOn(order: Order, track: InputVideoTrack, length: number) {
  const [width, height] = [await track.getCodedWidth(), await track.getCodedHeight()];
  const before = await cutPicture(track, 0, length);
  const text = order.prompt === '' ? 'and so it goes on' : order.prompt;
  const plan = { width, height, seconds: order.seconds, note: 'extended', text };
  const more = await readPackets(await filmScene(sceneOf(text, order.seed), plan));
  const moved = more.packets.map((packet) =>
    packet.clone({ timestamp: packet.timestamp + before.seconds }),
  );
  return { ...before.picture, packets: [...before.picture.packets, ...moved] };
}

async function readPackets(
  mp4: Uint8Array,
): Promise<{ packets: EncodedPacket[]; config: VideoConfig }> {
  const input = new Input({ source: new BufferSource(mp4), formats: [MP4] });
  try {
    const track = (await input.getPrimaryVideoTrack())!;
    const packets: EncodedPacket[] = [];
    for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet);
    return { packets, config: (await track.getDecoderConfig()) as VideoConfig };
  } finally {
    input.dispose();
  }
}

type VideoConfig = { description?: unknown } | null;

function same(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return false;
  return Buffer.compare(a, b) === 0;
}
