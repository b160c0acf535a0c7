import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  type AudioCodec,
  type EncodedPacket,
  type VideoCodec,
} from 'mediabunny';

/** Writes encoded video and audio into MP4 files whose bytes depend only on their content. */

/** An encoded track; packets are in decoding order. */
interface Track<Codec> {
  codec: Codec;
  /** The decoder's configuration. */
  config: unknown;
  packets: EncodedPacket[];
}

export type AudioTrack = Track<AudioCodec>;

export interface VideoTrack extends Track<VideoCodec> {
  rotation?: 0 | 90 | 180 | 270;
}

/** Writes an MP4 with its index at the front; without a video, an audio file (M4A). */
export async function writeMp4(
  video: VideoTrack | null,
  audio: AudioTrack | null,
): Promise<Uint8Array> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const videoSource = video && new EncodedVideoPacketSource(video.codec);
  if (videoSource) output.addVideoTrack(videoSource, { rotation: video.rotation ?? 0 });
  const audioSource = audio && new EncodedAudioPacketSource(audio.codec);
  if (audioSource) output.addAudioTrack(audioSource);
  output.setMetadataTags({ title: 'Farebox sandbox', comment: 'Made by the Farebox sandbox' });
  await output.start();
  await Promise.all([addAll(video, videoSource), addAll(audio, audioSource)]);
  await output.finalize();
  const bytes = new Uint8Array(target.buffer!);
  clearTimes(bytes, 0, bytes.length);
  // Sets the file's type to audio; otherwise it would be taken for a video without frames.
  if (!video) bytes.set(Buffer.from('M4A '), 8);
  return bytes;
}

/** Adds all packets; the decoder's configuration is passed with the first. */
async function addAll(
  track: Track<unknown> | null,
  source: { add(packet: EncodedPacket, meta?: object): Promise<void> } | null,
): Promise<void> {
  for (const [i, packet] of track?.packets.entries() ?? [])
    await source!.add(packet, i === 0 ? { decoderConfig: track!.config } : undefined);
}

/** Clears the creation times inside an MP4, so that the same job always gives the same bytes. */
function clearTimes(bytes: Uint8Array, from: number, to: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = from; at + 8 <= to;) {
    const size = view.getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    if (size < 8) return;
    if (['moov', 'trak', 'mdia'].includes(type)) clearTimes(bytes, at + 8, at + size);
    else if (['mvhd', 'tkhd', 'mdhd'].includes(type)) {
      bytes.fill(0, at + 12, at + 12 + (bytes[at + 8] === 1 ? 16 : 8));
    }
    at += size;
  }
}
