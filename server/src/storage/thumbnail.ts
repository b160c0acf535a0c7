import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { hasThumbnail } from '../core/request/line.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import { keysOf } from '../lib/records.ts';
import { once } from '../lib/streams.ts';
import { FileDamaged } from './picture.ts';
import type { Storage } from './storage.ts';

/** Small versions of images, for lists: a page of originals would be tens of megabytes. */
export interface Thumbnails {
  /**
   * Returns a WebP, which is made once and stored beside its image; null if the image has none, or
   * its bytes are gone.
   *
   * @throws NoCapacity, the reason of `signal`, which ends the wait for a turn, and `FileDamaged`
   * if the image cannot be decoded
   */
  findOrMake(picture: Picture, size: ThumbnailSize, call: ThumbnailCall): Promise<Buffer | null>;
}

interface Picture {
  storage_key: string;
  content_type: string;
}

interface ThumbnailCall {
  account_id: string;
  signal: AbortSignal;
  /** False once the image was deleted: nothing would delete a thumbnail that is stored after it. */
  isKept: () => Promise<boolean>;
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
/** Limits the decoder's memory; pages show an icon for larger images. */
const pixelsMax = 50_000_000;
const seconds = 5;

/** `decoding`: the places for files that are decoded, by account. */
export function createThumbnails(storage: Storage, decoding: FairQueue): Thumbnails {
  return {
    async findOrMake(picture, size, { account_id, signal, isKept }) {
      if (!hasThumbnail(picture)) return null;
      const key = `${picture.storage_key}.${size}.webp`;
      const made = await readStored(storage, key);
      if (made) return made;
      const make = async () => {
        // Another call may have made it while this one waited.
        const already = await readStored(storage, key);
        if (already) return already;
        const bytes = await shrink(storage, picture, size);
        if (bytes) await keep(storage, key, bytes, isKept);
        return bytes;
      };
      return decoding.run(account_id, make, { signal });
    },
  };
}

async function readStored(storage: Storage, key: string): Promise<Buffer | null> {
  const bytes = await storage.open(key);
  return bytes && buffer(bytes);
}

/** If the storage takes nothing now, the next call makes the thumbnail again. */
async function keep(
  storage: Storage,
  key: string,
  bytes: Buffer,
  isKept: ThumbnailCall['isKept'],
): Promise<void> {
  const isStored = await storage.put(key, once(bytes)).then(
    () => true,
    () => false,
  );
  if (isStored && !(await isKept())) await storage.remove(key);
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
      .toBuffer()
      .catch((cause: unknown) => {
        throw new FileDamaged('it cannot be decoded', { cause });
      });
  } finally {
    await file.done();
  }
}
