/** Differences between Node, Deno, Bun and browsers. */

interface Surroundings {
  process?: {
    versions?: { node?: string };
    env?: Record<string, string | undefined>;
  };
}

const { process } = globalThis as Surroundings;

/** Also true in Deno and Bun, which set the same version. */
export const isServerSide = typeof process?.versions?.node === 'string';

export function environment(name: string): string | undefined {
  try {
    return process?.env?.[name]?.trim() || undefined;
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
