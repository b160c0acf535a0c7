import { createRequire } from 'node:module';
import type { H264MP4Encoder } from 'h264-mp4-encoder';
import { BufferSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import type { VideoTrack } from './mp4.ts';
import { newPlanes, type Planes } from './planes.ts';

/**
 * Encodes raw planes as H.264 with a WASM encoder. Runs only in the rendering process: the encoder
 * is large, installs its own handlers for uncaught errors, and frees its memory only when the
 * process ends.
 */

export interface Encoding {
  /** In pixels; width and height are even. */
  width: number;
  height: number;
  frames: number;
  seconds: number;
  /** Fills the planes of one frame. */
  draw(index: number, planes: Planes): void;
}

/** The same for every video, so that two videos of one size can be joined. */
const quantizer = 27;
const keyFrameEvery = 24;
/** 0 is slowest and best. A 1080p frame takes 18 ms at speed 10 and 64 ms at speed 5. */
const speed = 10;
const idr = 5;
const bt709 = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false };

/** Encodes frames and spreads them over exactly `seconds`. */
export async function encodeH264(video: Encoding): Promise<VideoTrack> {
  const mp4 = await encode(video);
  const input = new Input({ source: new BufferSource(mp4), formats: [MP4] });
  try {
    const track = (await input.getPrimaryVideoTrack())!;
    const step = video.seconds / video.frames;
    const packets: VideoTrack['packets'] = [];
    for await (const packet of new EncodedPacketSink(track).packets()) {
      // The encoder's file marks every frame as a key frame, so players would seek wrongly.
      const type = isKeyFrame(packet.data) ? 'key' : 'delta';
      packets.push(packet.clone({ type, timestamp: packets.length * step, duration: step }));
    }
    const config = { ...(await track.getDecoderConfig()), colorSpace: bt709 };
    return { codec: 'avc', config, packets };
  } finally {
    input.dispose();
  }
}

async function encode({ width, height, frames, seconds, draw }: Encoding): Promise<Uint8Array> {
  const encoder = await newEncoder();
  const planes = newPlanes(width, height);
  try {
    encoder.outputFilename = 'video.mp4';
    encoder.width = width;
    encoder.height = height;
    encoder.frameRate = Math.max(1, Math.round(frames / seconds));
    encoder.speed = speed;
    encoder.quantizationParameter = quantizer;
    encoder.groupOfPictures = keyFrameEvery;
    encoder.initialize();
    for (let i = 0; i < frames; i++) {
      draw(i, planes);
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

/** Whether a packet contains an IDR frame. Four bytes before each unit state its length. */
function isKeyFrame(data: Uint8Array): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + 5 <= data.length; at += 4 + view.getUint32(at)) {
    if ((data[at + 4]! & 31) === idr) return true;
  }
  return false;
}

let load: (() => Promise<H264MP4Encoder>) | undefined;

function newEncoder(): Promise<H264MP4Encoder> {
  // Loaded when first needed, because compiling it takes 0.1 s.
  load ??= createRequire(import.meta.url)('h264-mp4-encoder').createH264MP4Encoder;
  return load!();
}
