import {
  ADTS,
  EncodedPacketSink,
  FLAC,
  FilePathSource,
  Input,
  MATROSKA,
  MP3,
  MP4,
  MPEG_TS,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny';
import type { InputTrack } from 'mediabunny';
import sharp from 'sharp';
import type { Media, MediaKind } from './order.ts';
import { Refusal } from './refusal.ts';

/**
 * Looks into a caller's file: what it truly is, how large, how long. Runs in the rendering
 * process.
 */

const IMAGE_FORMATS = new Set(['jpeg', 'png', 'webp', 'gif', 'heif', 'tiff']);
export const INPUT_PIXELS = 50e6;
const SECONDS_MAX = 600;

/** No playlists among them: those name other files, which nobody allowed us to read. */
const formats = [MP4, QTFF, MATROSKA, WEBM, WAVE, MP3, OGG, FLAC, ADTS, MPEG_TS];

/** Opens a film or sound file; dispose of it after use. */
export function openMedia(path: string): Input {
  return new Input({ source: new FilePathSource(path), formats });
}

/**
 * What a file is. Throws `Refusal` where it is none of a picture, a film or a sound, or is
 * damaged.
 */
export async function probe(path: string, field: string, file: string): Promise<Media> {
  const named = kindNamed(field);
  const found = (await probeImage(path, field)) ?? (await probeAv(path, field));
  if (!found) throw new Refusal(`${field} is no picture, film or sound that can be read.`);
  if (named && found.kind !== named && !(named === 'audio' && found.kind === 'video')) {
    throw new Refusal(`${field} must be ${words[named]}, but the file is ${words[found.kind]}.`);
  }
  return { ...found, field, file };
}

const words: Record<MediaKind, string> = { image: 'an image', video: 'a video', audio: 'audio' };

type Found = Omit<Media, 'field' | 'file'>;

/** The kind a field's name promises; null where it promises none. */
function kindNamed(field: string): MediaKind | null {
  if (/image|mask|photo/i.test(field)) return 'image';
  if (/video/i.test(field)) return 'video';
  return /audio|voice|sound/i.test(field) ? 'audio' : null;
}

async function probeImage(path: string, field: string): Promise<Found | null> {
  const open = () => sharp(path, { limitInputPixels: INPUT_PIXELS, failOn: 'truncated' });
  let meta;
  try {
    meta = await open().metadata();
  } catch (error) {
    if (/pixel limit/i.test(String(error))) throw tooLarge(field);
    return null;
  }
  if (!IMAGE_FORMATS.has(meta.format ?? '')) return null;
  const size = meta.autoOrient ?? { width: meta.width, height: meta.height };
  if (size.width * size.height > INPUT_PIXELS) throw tooLarge(field);
  try {
    // The header may be whole and the rest torn off: only decoding tells.
    await open().resize(32, 32, { fit: 'fill' }).raw().toBuffer();
  } catch {
    throw new Refusal(`${field} is a damaged picture.`);
  }
  return { kind: 'image', width: size.width, height: size.height, seconds: 0 };
}

function tooLarge(field: string): Refusal {
  return new Refusal(`${field} has more than ${INPUT_PIXELS} pixels.`);
}

async function probeAv(path: string, field: string): Promise<Found | null> {
  const input = openMedia(path);
  let recognised = false;
  try {
    if (!(await input.canRead())) return null;
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    const track = video ?? audio;
    if (!track) return null;
    recognised = true;
    if (!(await isWhole(track)) || !(audio === null || (await isWhole(audio)))) {
      throw new Refusal(`${field} is empty or damaged.`);
    }
    const seconds = await track.computeDuration();
    if (!(seconds > 0)) throw new Refusal(`${field} is empty or damaged.`);
    if (seconds > SECONDS_MAX) throw new Refusal(`${field} is longer than ${SECONDS_MAX} seconds.`);
    if (!video) return { kind: 'audio', width: 0, height: 0, seconds };
    const size = { width: await video.getDisplayWidth(), height: await video.getDisplayHeight() };
    return { kind: 'video', ...size, seconds };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (!recognised) return null;
    throw new Refusal(`${field} is a damaged file.`);
  } finally {
    input.dispose();
  }
}

/** Whether a track has a beginning and an end: the index may be whole and the rest torn off. */
async function isWhole(track: InputTrack): Promise<boolean> {
  const sink = new EncodedPacketSink(track);
  const first = await sink.getFirstPacket();
  const last = await sink.getPacket(Infinity);
  return (first?.byteLength ?? 0) > 0 && (last?.data.byteLength ?? 0) > 0;
}
