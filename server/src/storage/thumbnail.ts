import sharp from 'sharp';
import type { Storage } from './storage.ts';

/** Small pictures of large ones, for lists: a page of originals would be tens of megabytes. */
export interface Thumbnails {
  /** WebP; null where the bytes are gone or are no picture that we make small. */
  of(picture: Picture): Promise<Buffer | null>;
}

interface Picture {
  storage_key: string;
  content_type: string;
  sha256: string;
}

/** Twice what lists show, for screens with two dots a pixel. */
const side = 128;
const types = new Set(['image/png', 'image/jpeg', 'image/webp']);
/** What a decoder may be made to hold; larger ones are shown as a sign of their kind. */
const pixelsMax = 50_000_000;
const seconds = 5;
/** Made at the same time; decoding shares its threads with the disk. */
const togetherMax = 2;
const waitingMax = 200;
/** Kept, a few KB each, so that a list that is looked at again costs nothing. */
const keptMax = 500;

export function createThumbnails(storage: Storage): Thumbnails {
  const kept = new Map<string, Promise<Buffer | null>>();
  const waiting: (() => void)[] = [];
  let together = 0;

  async function make(picture: Picture): Promise<Buffer | null> {
    if (together >= togetherMax) {
      if (waiting.length >= waitingMax) return null;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    together++;
    try {
      return await shrink(storage, picture);
    } finally {
      together--;
      waiting.shift()?.();
    }
  }

  return {
    of(picture) {
      if (!types.has(picture.content_type)) return Promise.resolve(null);
      const { sha256 } = picture;
      const made = kept.get(sha256) ?? make(picture);
      kept.delete(sha256);
      kept.set(sha256, made);
      if (kept.size > keptMax) kept.delete(kept.keys().next().value!);
      // What failed once may do better the next time.
      const forget = () => void (kept.get(sha256) === made && kept.delete(sha256));
      made.then((bytes) => bytes ?? forget(), forget);
      return made;
    },
  };
}

async function shrink(storage: Storage, { storage_key }: Picture): Promise<Buffer | null> {
  const file = await storage.asPath(storage_key);
  if (file === null) return null;
  try {
    return await sharp(file.path, { limitInputPixels: pixelsMax, sequentialRead: true })
      .timeout({ seconds })
      .autoOrient()
      .resize(side, side, { fit: 'cover' })
      .webp({ quality: 78 })
      .toBuffer();
  } finally {
    await file.done();
  }
}
