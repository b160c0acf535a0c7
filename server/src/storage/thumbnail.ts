import sharp from 'sharp';
import type { FairQueue } from '../lib/fair-queue.ts';
import { keysOf } from '../lib/records.ts';
import type { Storage } from './storage.ts';

/** Small versions of images, for lists: a page of originals would be tens of megabytes. */
export interface Thumbnails {
  /**
   * Returns a WebP; null if the bytes are gone, or cannot be made into a thumbnail.
   *
   * @throws NoPlace, and the reason of `signal`, which ends the wait for a turn
   */
  of(
    account_id: string,
    picture: Picture,
    size: ThumbnailSize,
    signal: AbortSignal,
  ): Promise<Buffer | null>;
}

interface Picture {
  storage_key: string;
  content_type: string;
  sha256: string;
}

/**
 * `square` is for a line of a list, `card` shows the whole image. Both have twice the displayed
 * size, for screens with two dots per pixel.
 */
const sizes = {
  square: { width: 128, height: 128, fit: 'cover' },
  card: { width: 640, height: 640, fit: 'inside', withoutEnlargement: true },
} as const;
export type ThumbnailSize = keyof typeof sizes;
export const thumbnailSizes = keysOf(sizes);
const types = new Set(['image/png', 'image/jpeg', 'image/webp']);
/** Limits the decoder's memory; pages show an icon for larger images. */
const pixelsMax = 50_000_000;
const seconds = 5;
/**
 * Maximum number of thumbnails kept in memory, so that showing a list again costs nothing. Each has
 * at most some tens of KB.
 */
const keptMax = 500;

/** `decoding`: the places for files that are decoded, by account. */
export function createThumbnails(storage: Storage, decoding: FairQueue): Thumbnails {
  const kept = new Map<string, Buffer>();

  return {
    async of(account_id, picture, size, signal) {
      if (!types.has(picture.content_type)) return null;
      const name = `${picture.sha256} ${size}`;
      // Another call of the account may have made it while this one waited.
      const make = async () => kept.get(name) ?? shrink(storage, picture, size);
      const bytes = kept.get(name) ?? (await decoding.run(account_id, make, { signal }));
      // A failure may be temporary, so it is not kept.
      if (bytes === null) return null;
      kept.delete(name);
      kept.set(name, bytes);
      if (kept.size > keptMax) kept.delete(kept.keys().next().value!);
      return bytes;
    },
  };
}

async function shrink(
  storage: Storage,
  { storage_key }: Picture,
  size: ThumbnailSize,
): Promise<Buffer | null> {
  const file = await storage.openAsPath(storage_key);
  if (file === null) return null;
  try {
    return await sharp(file.path, { limitInputPixels: pixelsMax, sequentialRead: true })
      .timeout({ seconds })
      .autoOrient()
      .resize(sizes[size])
      .webp({ quality: 78 })
      .toBuffer();
  } finally {
    await file.done();
  }
}
