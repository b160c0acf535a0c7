import { AudioSampleSink, EncodedPacketSink, Mp4OutputFormat } from 'mediabunny';
import type { EncodedPacket, InputAudioTrack, InputVideoTrack } from 'mediabunny';
import type { Sound } from './flac.ts';
import { flacTrack } from './mp4.ts';
import type { PictureTrack, SoundTrack } from './mp4.ts';
import { openMedia } from './probe.ts';
import { Refusal } from './refusal.ts';

/**
 * Cuts and joins the caller's films and sounds without decoding them: whole frames are kept as
 * they are.
 */

/** Packets read at most: ten minutes of 120 frames a second. */
const PACKETS_MAX = 72_000;
/** Frames that may be waiting to be shown after later ones in decoding order; H.264 allows 16. */
const REORDER_MAX = 32;
const SOUND_RATE_MAX = 192_000;
const SOUND_CHANNELS_MAX = 2;

/** Opens a file for the time of one use. */
export async function withTracks<T>(
  path: string,
  use: (video: InputVideoTrack | null, audio: InputAudioTrack | null) => Promise<T>,
): Promise<T> {
  const input = openMedia(path);
  try {
    return await use(await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack());
  } finally {
    input.dispose();
  }
}

export interface Cut {
  picture: PictureTrack;
  /** Where in the film the cut begins: the key frame at or before the asked place. */
  from: number;
  /** Length of what was cut, in the film's own time. */
  seconds: number;
}

/**
 * Cuts pictures from the key frame at or before `start`, at most `seconds` long, and puts them at
 * time 0.
 */
export async function cutPicture(
  track: InputVideoTrack,
  start: number,
  seconds: number,
): Promise<Cut> {
  const codec = await track.getCodec();
  if (!codec || !new Mp4OutputFormat().getSupportedVideoCodecs().includes(codec)) {
    throw new Refusal('The film is coded in a way that cannot be put into an MP4.');
  }
  const sink = new EncodedPacketSink(track);
  // Files are known that call every frame a key frame, so the frames themselves are asked.
  const sure = { verifyKeyPackets: true };
  const key = (await sink.getKeyPacket(start, sure)) ?? (await sink.getFirstKeyPacket(sure));
  if (!key) throw new Refusal('The film has no key frame.');
  const end = key.timestamp + seconds;
  const read: EncodedPacket[] = [];
  let past = 0;
  for await (const packet of sink.packets(key)) {
    // Frames shown before the key frame they follow lean on what is cut off.
    if (packet.timestamp < key.timestamp) continue;
    read.push(packet);
    past = packet.timestamp >= end ? past + 1 : 0;
    if (past > REORDER_MAX || read.length >= PACKETS_MAX) break;
  }
  const kept = read.slice(0, closedLength(read, end));
  const length = Math.min(
    seconds,
    endOf(kept, kept.length < read.length ? end : Infinity) - key.timestamp,
  );
  const packets = stretchLast(
    kept.map((packet) => packet.clone({ timestamp: packet.timestamp - key.timestamp })),
    length,
  );
  const config = await track.getDecoderConfig();
  return {
    picture: { codec, config, packets, rotation: await track.getRotation() },
    from: key.timestamp,
    seconds: length,
  };
}

/**
 * How many packets can be kept so that nothing after `end` is shown and no frame between is
 * missing. What is kept is a beginning in decoding order, so that every frame still finds the
 * frames it leans on.
 */
function closedLength(packets: EncodedPacket[], end: number): number {
  const earliestAfter = Array.from({ length: packets.length + 1 }, () => Infinity);
  for (let i = packets.length - 1; i >= 0; i--) {
    earliestAfter[i] = Math.min(earliestAfter[i + 1]!, packets[i]!.timestamp);
  }
  let latest = -Infinity;
  let best = 1;
  for (const [i, packet] of packets.entries()) {
    latest = Math.max(latest, packet.timestamp);
    if (latest >= end - 1e-6) break;
    if (latest < earliestAfter[i + 1]!) best = i + 1;
  }
  return best;
}

function endOf(packets: EncodedPacket[], least: number): number {
  if (least !== Infinity) return least;
  return packets.reduce((end, packet) => Math.max(end, packet.timestamp + packet.duration), 0);
}

/** Lets the frame that is shown last stand until the very end. */
function stretchLast(packets: EncodedPacket[], seconds: number): EncodedPacket[] {
  let last = 0;
  for (const [i, packet] of packets.entries())
    if (packet.timestamp > packets[last]!.timestamp) last = i;
  return packets.map((packet, i) =>
    i === last ? packet.clone({ duration: seconds - packet.timestamp }) : packet,
  );
}

/** Plays a film's pictures over and over until `seconds` are full. */
export async function loopPicture(track: InputVideoTrack, seconds: number): Promise<Cut> {
  const once = await cutPicture(track, 0, seconds);
  const packets = [...once.picture.packets];
  for (let at = once.seconds; at < seconds - 0.001; at += once.seconds) {
    const left = seconds - at;
    const part = left >= once.seconds ? once : await cutPicture(track, 0, left);
    packets.push(
      ...part.picture.packets.map((packet) => packet.clone({ timestamp: packet.timestamp + at })),
    );
    if (packets.length > PACKETS_MAX) throw new Refusal('The film has too many frames.');
  }
  return { picture: { ...once.picture, packets }, from: once.from, seconds };
}

/** Slower or faster by showing each frame longer or shorter. */
export function atSpeed(cut: Cut, speed: number): Cut {
  const packets = cut.picture.packets.map((packet) =>
    packet.clone({ timestamp: packet.timestamp / speed, duration: packet.duration / speed }),
  );
  return { picture: { ...cut.picture, packets }, from: cut.from, seconds: cut.seconds / speed };
}

/**
 * A film's or file's sound from `start`, `seconds` long, put at time 0. Where whole frames do not
 * meet the end, `under` a picture it stops before, not to outlast it; `alone` it goes on to the end
 * of the frame, not to be shorter than what was asked. Uncompressed sound becomes FLAC. Null where
 * there is none, or it is coded in a way that MP4 does not take.
 */
export async function cutSound(
  track: InputAudioTrack | null,
  start: number,
  seconds: number,
  where: 'under' | 'alone' = 'under',
): Promise<SoundTrack | null> {
  const codec = await track?.getCodec();
  if (!track || !codec) return null;
  if (codec.startsWith('pcm') || codec === 'ulaw' || codec === 'alaw') {
    const sound = await rawSound(track, start, seconds);
    return sound && flacTrack(sound);
  }
  if (!new Mp4OutputFormat().getSupportedAudioCodecs().includes(codec)) return null;
  const packets: EncodedPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const left = start + seconds - packet.timestamp;
    if (where === 'alone' ? left < 0.002 : packet.duration > left + 0.002) break;
    if (packet.timestamp < start - 0.002) continue;
    if (packets.length >= PACKETS_MAX) break;
    packets.push(packet.clone({ timestamp: packet.timestamp - start }));
  }
  return packets.length === 0 ? null : { codec, config: await track.getDecoderConfig(), packets };
}

/** Uncompressed sound as 16-bit samples. */
export async function rawSound(
  track: InputAudioTrack,
  start: number,
  seconds: number,
): Promise<Sound | null> {
  const sampleRate = await track.getSampleRate();
  const count = Math.min(SOUND_CHANNELS_MAX, await track.getNumberOfChannels());
  if (sampleRate > SOUND_RATE_MAX) return null;
  const parts: Int16Array[][] = [];
  for await (const sample of new AudioSampleSink(track).samples(start, start + seconds)) {
    const skip = Math.max(0, Math.round((start - sample.timestamp) * sampleRate));
    const room = Math.round((start + seconds - sample.timestamp) * sampleRate);
    const frames = Math.min(sample.numberOfFrames, room);
    const channels = Array.from({ length: count }, (_, planeIndex) => {
      const plane = new Int16Array(sample.numberOfFrames);
      sample.copyTo(plane, { planeIndex, format: 's16-planar' });
      return plane.subarray(Math.min(skip, frames), frames);
    });
    sample.close();
    parts.push(channels);
  }
  const length = parts.reduce((sum, part) => sum + part[0]!.length, 0);
  if (length === 0) return null;
  const channels = Array.from({ length: count }, (_, c) => {
    const whole = new Int16Array(length);
    let at = 0;
    for (const part of parts) {
      whole.set(part[c]!, at);
      at += part[c]!.length;
    }
    return whole;
  });
  return { sampleRate, channels };
}
