import { EncodedPacket } from 'mediabunny';
import type { AudioTrack } from './mp4.ts';

/**
 * Writes uncompressed audio as a FLAC track, which browsers play inside MP4. Blocks are stored
 * verbatim, FLAC's simplest form (RFC 9639). MP3 would be smaller, but is lossy and adds up to 50
 * ms to the duration.
 */

/** 16-bit samples in one array per channel, all of the same length. */
export interface Samples {
  sampleRate: number;
  channels: Int16Array[];
}

const blockSize = 4096;

export function flacTrack({ sampleRate, channels }: Samples): AudioTrack {
  const length = channels[0]!.length;
  const packets: EncodedPacket[] = [];
  for (let at = 0; at < length; at += blockSize) {
    const block = channels.map((channel) => channel.subarray(at, at + blockSize));
    const seconds = block[0]!.length / sampleRate;
    const data = frameOf(block, at / blockSize);
    packets.push(new EncodedPacket(data, 'key', at / sampleRate, seconds));
  }
  const description = headerOf(sampleRate, channels.length, length);
  const numberOfChannels = channels.length;
  const config = { codec: 'flac', numberOfChannels, sampleRate, description };
  return { codec: 'flac', config, packets };
}

/** `fLaC` and the STREAMINFO block. The checksum of the samples stays 0, which means unknown. */
function headerOf(sampleRate: number, channels: number, length: number): Uint8Array {
  const header = Buffer.alloc(42);
  header.write('fLaC');
  header.writeUInt32BE(0x8000_0022, 4); // The last block of metadata, 34 bytes long.
  header.writeUInt16BE(blockSize, 8);
  header.writeUInt16BE(blockSize, 10);
  const format = (BigInt(sampleRate) << 44n) | (BigInt(channels - 1) << 41n) | (15n << 36n);
  header.writeBigUInt64BE(format | BigInt(length), 18);
  return header;
}

function frameOf(channels: Int16Array[], index: number): Uint8Array {
  const samples = channels[0]!.length;
  // Frame numbers are coded as UTF-8. Ten minutes have fewer frames than the first surrogate's
  // number.
  const number = Buffer.from(String.fromCodePoint(index));
  const format = ((channels.length - 1) << 4) | 0x08;
  const size = Buffer.of((samples - 1) >> 8, samples - 1);
  const head = Buffer.concat([Buffer.of(0xff, 0xf8, 0x70, format), number, size]);
  const parts: Uint8Array[] = [head, Buffer.of(checksum(head, 8, 0x07))];
  for (const channel of channels)
    parts.push(Buffer.of(0x02), Buffer.from(channel.slice().buffer).swap16());
  const frame = Buffer.concat(parts);
  const sum = checksum(frame, 16, 0x8005);
  return Buffer.concat([frame, Buffer.of(sum >> 8, sum)]);
}

/** A frame's CRC: most significant bit first, starting at 0. */
export function checksum(bytes: Uint8Array, width: 8 | 16, polynomial: number): number {
  const top = 1 << (width - 1);
  const mask = (1 << width) - 1;
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << (width - 8);
    for (let i = 0; i < 8; i++) value = ((value << 1) ^ (value & top ? polynomial : 0)) & mask;
  }
  return value;
}
