/** Makes small valid files of every accepted type. */
import { crc32, deflateSync } from 'node:zlib';
import * as bunny from 'mediabunny';
import sharp from 'sharp';

export const seconds = 2;
export const picture = { width: 64, height: 48 };

export async function image(
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif',
  orientation?: number,
): Promise<Buffer> {
  const canvas = sharp({ create: { ...picture, channels: 3, background: '#c33' } });
  return await canvas
    .withMetadata(orientation ? { orientation } : {})
    .toFormat(format)
    .toBuffer();
}

/** A PNG that claims this size, with almost no pixel data. */
export function pngOf(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const chunks = [
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(1000))),
    pngChunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks]);
}

function pngChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, sum]);
}

/**
 * An HEIC as phones write it: with the sizes of a thumbnail and of tiles beside the size of the
 * image, and with a rotation.
 */
export function heic(width: number, height: number, turns = 0): Buffer {
  const extent = (w: number, h: number): Buffer => {
    const data = Buffer.alloc(12);
    data.writeUInt32BE(w, 4);
    data.writeUInt32BE(h, 8);
    return box('ispe', data);
  };
  const properties = [extent(512, 512), extent(width, height), extent(320, 240)];
  const shared = box('ipco', ...properties, box('irot', Buffer.from([turns])));
  const meta = box('meta', Buffer.alloc(4), box('iprp', shared));
  const type = box('ftyp', Buffer.from('heic\0\0\0\0mif1heic'));
  return Buffer.concat([type, meta, box('mdat', Buffer.alloc(5000, 1))]);
}

export function box(name: string, ...contents: Buffer[]): Buffer {
  const body = Buffer.concat(contents);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, body]);
}

export async function film(format: bunny.OutputFormat, startSeconds = 0): Promise<Buffer> {
  const source = new bunny.EncodedVideoPacketSource('vp9');
  const decoderConfig = {
    codec: 'vp09.00.10.08',
    codedWidth: picture.width,
    codedHeight: picture.height,
  };
  return await muxed(
    format,
    (output) => output.addVideoTrack(source, { frameRate: 10 }),
    async () => {
      for (let i = 0; i < seconds * 10; i += 1) {
        const packet = new bunny.EncodedPacket(
          new Uint8Array(200).fill(i + 1),
          i % 10 === 0 ? 'key' : 'delta',
          startSeconds + i / 10,
          0.1,
        );
        await source.add(packet, { decoderConfig });
      }
    },
  );
}

interface Frame {
  codec: string;
  seconds: number;
  bytes(index: number): Buffer;
  description?: Buffer;
}

const frames = {
  aac: frame('mp4a.40.2', 1024 / 48_000, () => Buffer.alloc(50, 1), Buffer.from([0x11, 0x90])),
  opus: frame('opus', 0.02, () => bytesOf(51, 0x78), bytesOf(19, 'OpusHead\x01\x02\0\0\x80\xbb')),
  // MPEG 1 layer 3, 128 kbit/s, 48 kHz: 384 bytes are 24 ms.
  mp3: frame('mp3', 0.024, () => bytesOf(384, 0xff, 0xfb, 0x94, 0xc4)),
  flac: frame(
    'flac',
    4096 / 48_000,
    flacFrame,
    bytesOf(42, 'fLaC\x80\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0b\xb8\x02\xf0'),
  ),
  'pcm-s16': frame('pcm-s16', 0.02, () => Buffer.alloc(960 * 4)),
};

function frame(
  codec: string,
  frameSeconds: number,
  bytes: (index: number) => Buffer,
  description?: Buffer,
): Frame {
  return { codec, seconds: frameSeconds, bytes, description };
}

function bytesOf(size: number, ...start: (number | string)[]): Buffer {
  const parts = start.map((part) =>
    typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from([part]),
  );
  return Buffer.concat(parts, size);
}

/** 4096 samples of silence for two channels, with the checksums that readers verify. */
function flacFrame(index: number): Buffer {
  const header = Buffer.from([0xff, 0xf8, 0xca, 0x18, index]);
  const channel = bytesOf(1 + 4096 * 2, 0x02);
  const body = Buffer.concat([header, Buffer.from([sum(header, 8, 0x07)]), channel, channel]);
  const end = Buffer.alloc(2);
  end.writeUInt16BE(sum(body, 16, 0x8005));
  return Buffer.concat([body, end]);
}

function sum(bytes: Buffer, bits: number, polynomial: number): number {
  let rest = 0;
  for (const byte of bytes) {
    rest ^= byte << (bits - 8);
    for (let i = 0; i < 8; i += 1) {
      rest = ((rest << 1) ^ (rest >> (bits - 1) ? polynomial : 0)) & (2 ** bits - 1);
    }
  }
  return rest;
}

/** Audio of at least `seconds`, and less than a frame more. */
export async function sound(
  format: bunny.OutputFormat,
  kind: keyof typeof frames,
): Promise<Buffer> {
  const source = new bunny.EncodedAudioPacketSource(kind);
  const { codec, description, bytes, seconds: each } = frames[kind];
  const decoderConfig = { codec, description, numberOfChannels: 2, sampleRate: 48_000 };
  return await muxed(
    format,
    (output) => output.addAudioTrack(source),
    async () => {
      for (let i = 0; i * each < seconds; i += 1) {
        await source.add(new bunny.EncodedPacket(bytes(i), 'key', i * each, each), {
          decoderConfig,
        });
      }
    },
  );
}

async function muxed(
  format: bunny.OutputFormat,
  addTrack: (output: bunny.Output) => void,
  addPackets: () => Promise<void>,
): Promise<Buffer> {
  const target = new bunny.BufferTarget();
  const output = new bunny.Output({ format, target });
  addTrack(output);
  await output.start();
  await addPackets();
  await output.finalize();
  return Buffer.from(target.buffer!);
}
