import { createRequire } from 'node:module';
import type { H264MP4Encoder } from 'h264-mp4-encoder';
import { BufferSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import type { PictureTrack } from './mp4.ts';
import type { Planes } from './planes.ts';

/**
 * H.264 frames from raw planes, by the WASM encoder. Runs in the rendering process only: the
 * encoder is not small, installs handlers of its own for uncaught errors, and its memory is freed
 * with the process.
 */

export interface Encoding {
  /** Even numbers of pixels. */
  width: number;
  height: number;
  frames: number;
  seconds: number;
  /** Fills the planes of one frame. */
  draw(index: number, planes: Planes): void;
}

/**
 * The same for every film, so that two films of one size have the same decoder setting and can be
 * joined.
 */
const QUANTIZER = 27;
const KEYFRAME_EVERY_FRAMES = 24;
/** 0 is slowest and best; at 1080p a frame takes 18 ms at 10 and 64 ms at 5. */
const SPEED = 10;
const IDR = 5;
const bt709 = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false };

/** Encodes frames and lays them out over exactly the seconds asked for. */
export async function encodeH264(
  film: Encoding,
  planes: Planes & { whole: Uint8Array },
): Promise<PictureTrack> {
  const mp4 = await encode(film, planes);
  const input = new Input({ source: new BufferSource(mp4), formats: [MP4] });
  try {
    const track = (await input.getPrimaryVideoTrack())!;
    const step = film.seconds / film.frames;
    const packets: PictureTrack['packets'] = [];
    for await (const packet of new EncodedPacketSink(track).packets()) {
      // The encoder's file calls every frame a key frame, at which players then seek wrongly.
      const type = isKeyFrame(packet.data) ? 'key' : 'delta';
      packets.push(packet.clone({ type, timestamp: packets.length * step, duration: step }));
    }
    const config = { ...(await track.getDecoderConfig()), colorSpace: bt709 };
    return { codec: 'avc', config, packets };
  } finally {
    input.dispose();
  }
}

async function encode(film: Encoding, planes: Planes & { whole: Uint8Array }): Promise<Uint8Array> {
  const encoder = await newEncoder();
  try {
    encoder.outputFilename = 'film.mp4';
    encoder.width = film.width;
    encoder.height = film.height;
    encoder.frameRate = Math.max(1, Math.round(film.frames / film.seconds));
    encoder.speed = SPEED;
    encoder.quantizationParameter = QUANTIZER;
    encoder.groupOfPictures = KEYFRAME_EVERY_FRAMES;
    encoder.initialize();
    for (let i = 0; i < film.frames; i++) {
      film.draw(i, planes);
      encoder.addFrameYuv(planes.whole);
    }
    encoder.finalize();
    const bytes = encoder.FS.readFile(encoder.outputFilename);
    encoder.FS.unlink(encoder.outputFilename);
    return bytes;
  } finally {
    encoder.delete();
  }
}

/** Whether one of the packet's units, each led by its length in four bytes, is an IDR picture. */
function isKeyFrame(data: Uint8Array): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + 5 <= data.length; at += 4 + view.getUint32(at)) {
    if ((data[at + 4]! & 31) === IDR) return true;
  }
  return false;
}

let load: (() => Promise<H264MP4Encoder>) | undefined;

function newEncoder(): Promise<H264MP4Encoder> {
  // Loaded when first needed: compiling it costs a tenth of a second.
  load ??= createRequire(import.meta.url)('h264-mp4-encoder').createH264MP4Encoder;
  return load!();
}
