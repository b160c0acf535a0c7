import { fieldOf } from './unknown.ts';

/** Differences between Node, Deno, Bun and browsers. */

const process = fieldOf(globalThis, 'process');

/** Also true in Deno and Bun, which set `versions.node` as well. */
export const isServerSide = typeof fieldOf(fieldOf(process, 'versions'), 'node') === 'string';

export function environment(name: string): string | undefined {
  try {
    const value = fieldOf(fieldOf(process, 'env'), name);
    return (typeof value === 'string' && value.trim()) || undefined;
  } catch {
    // Deno throws if reading the environment was not allowed.
    return undefined;
  }
}

/** 128 random bits in hex. `crypto.randomUUID` is missing on pages without https. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Yields a stream's chunks. Safari cannot iterate over a stream. */
export async function* chunksOfStream(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

export type UnsharedBytes = ArrayBuffer | Uint8Array<ArrayBuffer>;

/** Bytes as a part of a Blob. */
export function blobPart(bytes: ArrayBuffer | ArrayBufferView): UnsharedBytes {
  // By its type, a view may have shared memory, but a Blob refuses that at run time.
  return bytes as UnsharedBytes;
}
