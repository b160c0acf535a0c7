import { createRequire } from 'node:module';
import type { H264MP4Encoder } from 'h264-mp4-encoder';
import type { Planes } from './planes.ts';

/**
 * H.264 frames from raw planes, by the WASM encoder. Runs in the rendering process only: the encoder
 * is not small, installs handlers of its own for uncaught errors, and its memory is freed with
 * the workshop.
 */

export interface Encoding {
  /** Even numbers of pixels. */
  width: number;
  height: number;
  frames: number;
  fps: number;
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

/** An MP4 file of the frames, each 1/fps long. */
export async function encodeH264(
  film: Encoding,
  planes: Planes & { whole: Uint8Array },
): Promise<Uint8Array> {
  const encoder = await newEncoder();
  try {
    encoder.outputFilename = 'film.mp4';
    encoder.width = film.width;
    encoder.height = film.height;
    encoder.frameRate = film.fps;
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

let load: (() => Promise<H264MP4Encoder>) | undefined;

function newEncoder(): Promise<H264MP4Encoder> {
  // Loaded when first needed: compiling it costs a tenth of a second.
  load ??= createRequire(import.meta.url)('h264-mp4-encoder').createH264MP4Encoder;
  return load!();
}
