import {
  ADTS,
  EncodedPacketSink,
  FLAC,
  FilePathSource,
  Input,
  MATROSKA,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
  type InputTrack,
} from 'mediabunny';
import sharp from 'sharp';
import type { MediaKind } from '../../../core/media/content-type.ts';
import type { OrderFile } from '../orders/order.ts';
import { SandboxRefusal } from '../refusal.ts';

/** Finds the true format, size and length of a caller's file. Runs in the rendering process. */

const imageFormats = new Set(['jpeg', 'png', 'webp', 'gif', 'heif', 'tiff']);
export const imagePixelsMax = 50e6;
const secondsMax = 600;

/**
 * Playlists are excluded, because they name other files, which the caller may not be allowed to
 * read.
 */
const formats = [MP4, QTFF, MATROSKA, WEBM, WAVE, MP3, OGG, FLAC, ADTS];

/** Opens a video or audio file; dispose of it after use. */
export function openMedia(path: string): Input {
  return new Input({ source: new FilePathSource(path), formats });
}

/** Throws `SandboxRefusal` if the file is damaged, or is not an image, video or audio. */
export async function probe(path: string, field: string, file: string): Promise<OrderFile> {
  const found = (await probeImage(path, field)) ?? (await probeTracks(path, field));
  if (!found) throw new SandboxRefusal(`${field} is not a readable image, video or audio file.`);
  const named = kindNamed(field);
  if (named && found.kind !== named && !(named === 'audio' && found.kind === 'video')) {
    throw new SandboxRefusal(
      `${field} must be ${words[named]}, but the file is ${words[found.kind]}.`,
    );
  }
  return { ...found, field, file };
}

const words: Record<MediaKind, string> = { image: 'an image', video: 'a video', audio: 'audio' };

type MediaFacts = Omit<OrderFile, 'field' | 'file'>;

/** The kind of media that a field's name suggests; null if it suggests none. */
function kindNamed(field: string): MediaKind | null {
  if (/image|mask|photo/i.test(field)) return 'image';
  if (/video/i.test(field)) return 'video';
  return /audio|voice|sound/i.test(field) ? 'audio' : null;
}

async function probeImage(path: string, field: string): Promise<MediaFacts | null> {
  const open = () => sharp(path, { limitInputPixels: imagePixelsMax, failOn: 'truncated' });
  const tooLarge = new SandboxRefusal(`${field} has more than ${imagePixelsMax} pixels.`);
  let meta;
  try {
    meta = await open().metadata();
  } catch (error) {
    if (/pixel limit/i.test(String(error))) throw tooLarge;
    return null;
  }
  if (!imageFormats.has(meta.format ?? '')) return null;
  const { width, height } = meta.autoOrient ?? meta;
  if (width * height > imagePixelsMax) throw tooLarge;
  try {
    // Decodes the image, because its header may be intact while the rest is missing.
    await open().resize(32, 32, { fit: 'fill' }).raw().toBuffer();
  } catch {
    throw new SandboxRefusal(`${field} is a damaged image.`);
  }
  return { kind: 'image', width, height, seconds: 0 };
}

async function probeTracks(path: string, field: string): Promise<MediaFacts | null> {
  const input = openMedia(path);
  let recognised = false;
  try {
    if (!(await input.canRead())) return null;
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    const track = video ?? audio;
    if (!track) return null;
    recognised = true;
    const seconds = await track.computeDuration();
    const isComplete = (await hasBothEnds(track)) && (audio === null || (await hasBothEnds(audio)));
    if (!isComplete || !(seconds > 0)) throw new SandboxRefusal(`${field} is empty or damaged.`);
    if (seconds > secondsMax)
      throw new SandboxRefusal(`${field} is longer than ${secondsMax} seconds.`);
    if (!video) return { kind: 'audio', width: 0, height: 0, seconds };
    const size = { width: await video.getDisplayWidth(), height: await video.getDisplayHeight() };
    return { kind: 'video', ...size, seconds };
  } catch (error) {
    if (error instanceof SandboxRefusal) throw error;
    if (!recognised) return null;
    throw new SandboxRefusal(`${field} is a damaged file.`);
  } finally {
    input.dispose();
  }
}

/**
 * Whether the first and the last packet can be read; a file's index may be intact while its data is
 * missing.
 */
async function hasBothEnds(track: InputTrack): Promise<boolean> {
  const sink = new EncodedPacketSink(track);
  const first = await sink.getFirstPacket();
  const last = await sink.getPacket(Infinity);
  return (first?.byteLength ?? 0) > 0 && (last?.data.byteLength ?? 0) > 0;
}
