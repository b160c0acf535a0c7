import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
} from 'mediabunny';
import type { AudioCodec, EncodedPacket as Packet } from 'mediabunny';
import { encodeFlac } from './flac.ts';
import type { Sound } from './flac.ts';

/**
 * Puts encoded pictures and sound into MP4 files whose bytes depend on nothing but their content.
 */

/** An encoded sound track, ready to be put into a file. */
export interface SoundTrack {
  codec: AudioCodec;
  config: unknown;
  packets: Packet[];
}

/** An encoded picture track; packets are in decoding order. */
export interface PictureTrack {
  codec: 'avc' | 'hevc' | 'vp8' | 'vp9' | 'av1' | 'prores';
  config: unknown;
  packets: Packet[];
  rotation?: 0 | 90 | 180 | 270;
}

/** One MP4 with its index at the front, from packets in decoding order. */
export async function writeMp4(picture: PictureTrack, sound?: SoundTrack): Promise<Uint8Array> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const video = new EncodedVideoPacketSource(picture.codec);
  output.addVideoTrack(video, { rotation: picture.rotation ?? 0 });
  const audio = sound && new EncodedAudioPacketSource(sound.codec);
  if (audio) output.addAudioTrack(audio);
  output.setMetadataTags({ title: 'Farebox sandbox', comment: 'Made by the Farebox sandbox' });
  await output.start();
  await Promise.all([
    addAll(picture.packets, (packet, meta) => video.add(packet, meta as never), picture.config),
    sound &&
      audio &&
      addAll(sound.packets, (packet, meta) => audio.add(packet, meta as never), sound.config),
  ]);
  await output.finalize();
  return withoutClock(new Uint8Array(target.buffer!));
}

/** A sound file of one encoded track. */
export async function writeSound(sound: SoundTrack): Promise<Uint8Array> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const audio = new EncodedAudioPacketSource(sound.codec);
  output.addAudioTrack(audio);
  output.setMetadataTags({ title: 'Farebox sandbox' });
  await output.start();
  await addAll(sound.packets, (packet, meta) => audio.add(packet, meta as never), sound.config);
  await output.finalize();
  const bytes = withoutClock(new Uint8Array(target.buffer!));
  // The file's own mark says sound, or it would be taken for a film without pictures.
  bytes.set(new TextEncoder().encode('M4A '), 8);
  return bytes;
}

/** Uncompressed sound as a FLAC track, which MP4 and browsers take. */
export function flacTrack(sound: Sound): SoundTrack {
  const { header, frames } = encodeFlac(sound);
  let at = 0;
  const packets = frames.map(({ data, samples }) => {
    const packet = new EncodedPacket(
      data,
      'key',
      at / sound.sampleRate,
      samples / sound.sampleRate,
    );
    at += samples;
    return packet;
  });
  const config = {
    codec: 'flac',
    numberOfChannels: sound.channels.length,
    sampleRate: sound.sampleRate,
    description: header,
  };
  return { codec: 'flac', config, packets };
}

/** Adds packets in order; the decoder's configuration goes with the first. */
async function addAll(
  packets: Packet[],
  add: (packet: Packet, meta: unknown) => Promise<void>,
  config: unknown,
): Promise<void> {
  for (const [i, packet] of packets.entries()) {
    await add(packet, i === 0 ? { decoderConfig: config } : undefined);
  }
}

/**
 * Clears the times of writing inside an MP4, so that the same job gives the same bytes at any
 * time.
 */
function withoutClock(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const walk = (from: number, to: number): void => {
    for (let at = from; at + 8 <= to;) {
      const size = view.getUint32(at);
      const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
      if (size < 8) return;
      if (type === 'moov' || type === 'trak' || type === 'mdia') walk(at + 8, at + size);
      else if (type === 'mvhd' || type === 'tkhd' || type === 'mdhd') {
        bytes.fill(0, at + 12, at + 12 + (bytes[at + 8] === 1 ? 16 : 8));
      }
      at += size;
    }
  };
  walk(0, bytes.length);
  return bytes;
}
