import {
  AudioSampleSink,
  EncodedPacketSink,
  Mp4OutputFormat,
  type EncodedPacket,
  type InputAudioTrack,
  type InputVideoTrack,
} from 'mediabunny';
import { SandboxRefusal } from '../refusal.ts';
import { flacTrack, type Samples } from './flac.ts';
import type { AudioTrack, VideoTrack } from './mp4.ts';
import { openMedia } from './probe.ts';

/** Cuts and joins the caller's video and audio without decoding them: whole frames are kept. */

/** Maximum number of packets that are read: ten minutes at 120 frames per second. */
const packetsMax = 72_000;
/**
 * Packets to read past the end, because frames are not stored in display order; H.264 allows a
 * distance of 16.
 */
const reorderMax = 32;
const sampleRateMax = 192_000;
const channelsMax = 2;
/** Seconds; the rounding of timestamps in files is smaller. */
const tolerance = 0.002;

/** Opens a file for one use, and closes it afterwards. */
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
  video: VideoTrack;
  /** Where the cut begins in the source: the key frame at or before the requested time. */
  from: number;
  /** Length of the cut, in the source's time. */
  seconds: number;
}

/**
 * Cuts at most `seconds` from the key frame at or before `start`; the cut's own time begins at 0.
 */
export async function cutVideo(
  track: InputVideoTrack,
  start: number,
  seconds: number,
): Promise<Cut> {
  const codec = await track.getCodec();
  if (!codec || !new Mp4OutputFormat().getSupportedVideoCodecs().includes(codec))
    throw new SandboxRefusal('The codec of the video cannot be put into an MP4.');
  const sink = new EncodedPacketSink(track);
  // Some files mark every frame as a key frame, so the frames themselves are checked.
  const sure = { verifyKeyPackets: true };
  const key = (await sink.getKeyPacket(start, sure)) ?? (await sink.getFirstKeyPacket(sure));
  if (!key) throw new SandboxRefusal('The video has no key frame.');
  const end = key.timestamp + seconds;
  const read: EncodedPacket[] = [];
  let past = 0;
  for await (const packet of sink.packets(key)) {
    // Frames that follow the key frame but are shown before it depend on frames that are cut off.
    if (packet.timestamp < key.timestamp) continue;
    read.push(packet);
    past = packet.timestamp >= end ? past + 1 : 0;
    if (past > reorderMax || read.length >= packetsMax) break;
  }
  const kept = read.slice(0, closedLength(read, end));
  const last = kept.length < read.length ? end : endOf(kept);
  const length = Math.min(seconds, last - key.timestamp);
  const moved = kept.map((packet) => packet.clone({ timestamp: packet.timestamp - key.timestamp }));
  const [config, rotation] = [await track.getDecoderConfig(), await track.getRotation()];
  const video = { codec, config, packets: stretchLast(moved, length), rotation };
  return { video, from: key.timestamp, seconds: length };
}

/**
 * How many packets to keep so that nothing after `end` is shown and no frame before it is missing.
 * The first packets in decoding order are kept, so every frame has the frames it depends on.
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

/** The end of the last frame, in seconds. */
export function endOf(packets: EncodedPacket[]): number {
  return packets.reduce((end, { timestamp, duration }) => Math.max(end, timestamp + duration), 0);
}

/** Lengthens the last frame so that it is shown until the end. */
function stretchLast(packets: EncodedPacket[], seconds: number): EncodedPacket[] {
  const last = packets.reduce((latest, packet) =>
    packet.timestamp > latest.timestamp ? packet : latest,
  );
  return packets.map((packet) =>
    packet === last ? packet.clone({ duration: seconds - packet.timestamp }) : packet,
  );
}

/** Repeats a video until it is `seconds` long. */
export async function loopVideo(track: InputVideoTrack, seconds: number): Promise<Cut> {
  const once = await cutVideo(track, 0, seconds);
  const packets = [...once.video.packets];
  for (let at = once.seconds; at < seconds - 0.001; at += once.seconds) {
    const left = seconds - at;
    const part = left >= once.seconds ? once : await cutVideo(track, 0, left);
    packets.push(...moveBy(at, part.video.packets));
    if (packets.length > packetsMax) throw new SandboxRefusal('The video has too many frames.');
  }
  return { video: { ...once.video, packets }, from: once.from, seconds };
}

export function moveBy(seconds: number, packets: EncodedPacket[]): EncodedPacket[] {
  return packets.map((packet) => packet.clone({ timestamp: packet.timestamp + seconds }));
}

/** Changes the speed by showing each frame longer or shorter. */
export function atSpeed(cut: Cut, speed: number): Cut {
  const packets = cut.video.packets.map((packet) =>
    packet.clone({ timestamp: packet.timestamp / speed, duration: packet.duration / speed }),
  );
  return { video: { ...cut.video, packets }, from: cut.from, seconds: cut.seconds / speed };
}

/**
 * Cuts `seconds` of audio from `start`; the cut's own time begins at 0. If no frame ends exactly at
 * the end, audio `under` a video stops before it, and audio `alone` includes the whole frame.
 * Uncompressed audio becomes FLAC. Null if there is no audio, or MP4 does not support its codec.
 */
export async function cutAudio(
  track: InputAudioTrack | null,
  start: number,
  seconds: number,
  place: 'under' | 'alone' = 'under',
): Promise<AudioTrack | null> {
  const codec = await track?.getCodec();
  if (!track || !codec) return null;
  if (codec.startsWith('pcm') || codec === 'ulaw' || codec === 'alaw') {
    const samples = await samplesOf(track, start, seconds);
    return samples && flacTrack(samples);
  }
  if (!new Mp4OutputFormat().getSupportedAudioCodecs().includes(codec)) return null;
  const packets: EncodedPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const left = start + seconds - packet.timestamp;
    if (place === 'alone' ? left < tolerance : packet.duration > left + tolerance) break;
    if (packet.timestamp < start - tolerance) continue;
    if (packets.length >= packetsMax) break;
    packets.push(packet);
  }
  if (packets.length === 0) return null;
  return { codec, config: await track.getDecoderConfig(), packets: moveBy(-start, packets) };
}

/**
 * Uncompressed audio as 16-bit samples; null if there is no audio, or its sample rate is too high.
 */
export async function samplesOf(
  track: InputAudioTrack,
  start: number,
  seconds: number,
): Promise<Samples | null> {
  const sampleRate = await track.getSampleRate();
  const count = Math.min(channelsMax, await track.getNumberOfChannels());
  if (sampleRate > sampleRateMax) return null;
  const room = Math.round(seconds * sampleRate);
  const channels = Array.from({ length: count }, () => new Int16Array(room));
  let length = 0;
  for await (const sample of new AudioSampleSink(track).samples(start, start + seconds)) {
    const skip = Math.max(0, Math.round((start - sample.timestamp) * sampleRate));
    const end = Math.min(sample.numberOfFrames, skip + room - length);
    for (const [planeIndex, channel] of channels.entries()) {
      const plane = new Int16Array(sample.numberOfFrames);
      sample.copyTo(plane, { planeIndex, format: 's16-planar' });
      channel.set(plane.subarray(Math.min(skip, end), end), length);
    }
    length += Math.max(0, end - skip);
    sample.close();
  }
  if (length === 0) return null;
  return { sampleRate, channels: channels.map((channel) => channel.slice(0, length)) };
}
