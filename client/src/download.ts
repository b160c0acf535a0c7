import { FareboxError, badArgument } from './error.ts';
import type { Progress } from './media.ts';
import { nodeFs } from './files.ts';
import { blobPart, isServerSide, newKey, type UnsharedBytes } from './runtime.ts';
import {
  backoffMs,
  checkCall,
  isPassing,
  usualSilenceMs,
  type Call,
  type Transport,
} from './transport.ts';
import { chunksOf, type OpenResponse } from './replies.ts';

/** Downloads outputs, completely or not at all. */

export interface DownloadOptions extends Call {
  onProgress?: ((progress: Progress) => void) | undefined;
  /** The file to write; it exists only once all bytes are there. Only in Node, Deno and Bun. */
  to?: string | undefined;
}

/** Where the bytes are written: to memory or a file. */
interface Sink {
  /** Starts over and drops all bytes so far. */
  restart(): Promise<void>;
  write(chunk: Uint8Array): Promise<void>;
  finish(contentType: string): Promise<Blob>;
  drop(): Promise<void>;
}

const triesWithoutProgress = 4;

export async function download(
  transport: Transport,
  url: string,
  options: DownloadOptions = {},
): Promise<Blob> {
  checkCall(options);
  const sink = options.to === undefined ? memory() : await onDisk(options.to);
  try {
    const contentType = await fetchInto(sink, transport, url, options);
    return await sink.finish(contentType);
  } catch (error) {
    await sink.drop();
    throw error;
  }
}

/** Continues after a broken connection if the file is still the same. */
async function fetchInto(
  sink: Sink,
  transport: Transport,
  url: string,
  { signal, timeoutMs, onProgress }: DownloadOptions,
): Promise<string> {
  let have = 0;
  let total: number | null = null;
  let etag: string | null = null;
  let contentType = '';
  for (let failed = 0; ;) {
    const before = have;
    try {
      const headers: Record<string, string> = {};
      if (have > 0 && etag) Object.assign(headers, { range: `bytes=${have}-`, 'if-range': etag });
      const call = { signal, timeoutMs, maxRetries: 0 };
      const held = await transport.open({ ...target(url, transport), headers }, call);
      const { response } = held;
      if (!goesOnAt(response, have)) {
        await sink.restart();
        have = 0;
        // A partial reply, although no range was requested.
        if (response.status === 206) throw elsewhere(held);
      }
      etag = response.headers.get('etag');
      contentType = response.headers.get('content-type') ?? '';
      total = sizeOf(response, have);
      for await (const chunk of chunksOf(held, timeoutMs ?? usualSilenceMs)) {
        await sink.write(chunk);
        have += chunk.length;
        onProgress?.({ sent: have, total });
      }
      if (total !== null && have !== total) throw incomplete(have, total);
      return contentType;
    } catch (error) {
      // The connection broke after the last byte.
      if (have > 0 && have === total) return contentType;
      if (!(error instanceof FareboxError) || signal?.aborted) throw error;
      failed = have > before ? 1 : failed + 1;
      if (!isPassing(error.status, error.code) || failed >= triesWithoutProgress) throw error;
      const waitMs = Math.max(backoffMs(failed), (error.retryAfterSeconds ?? 0) * 1000);
      await transport.rest(error, waitMs, signal);
    }
  }
}

/** The call for a link. A signed link needs no key, and another host must never get the key. */
function target(url: string, { baseUrl }: Transport) {
  let link: URL;
  try {
    link = new URL(url, baseUrl);
  } catch {
    throw badArgument(`"${url}" is not an address.`, 'url');
  }
  const keyed = link.origin === new URL(baseUrl).origin && !link.searchParams.has('sig');
  return { method: 'GET', path: link.href, repeatable: true, keyed } as const;
}

function goesOnAt({ status, headers }: Response, have: number): boolean {
  const from = /^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1];
  return status === 206 && Number(from) === have;
}

function elsewhere({ scope }: OpenResponse): FareboxError {
  scope.end();
  scope.abort();
  return new FareboxError(
    'connection_error',
    'The server sent the wrong part of the file. Try again.',
  );
}

function sizeOf({ headers }: Response, have: number): number | null {
  const encoding = headers.get('content-encoding');
  const length = headers.get('content-length');
  return length === null || (encoding !== null && encoding !== 'identity')
    ? null
    : have + Number(length);
}

function incomplete(have: number, total: number): FareboxError {
  return new FareboxError('connection_error', `Only ${have} of ${total} bytes arrived. Try again.`);
}

function memory(): Sink {
  let parts: UnsharedBytes[] = [];
  return {
    restart: async () => void (parts = []),
    write: async (chunk) => void parts.push(blobPart(chunk)),
    finish: async (type) => new Blob(parts, { type }),
    drop: async () => void (parts = []),
  };
}

async function onDisk(to: string): Promise<Sink> {
  if (!isServerSide)
    throw badArgument('A browser cannot write to a path: leave `to` out and save the Blob.', 'to');
  const { promises: fs, openAsBlob } = await nodeFs();
  // In the same folder, because a rename does not cross disks.
  const aside = `${to}.${newKey().slice(0, 8)}.part`;
  const unwritable = (error: Error) => {
    throw badArgument(`Nothing can be written to "${to}": ${error.message}`, 'to');
  };
  const handle = await fs.open(aside, 'wx').catch(unwritable);
  let place = 0;
  return {
    async restart() {
      await handle.truncate(0).catch(unwritable);
      place = 0;
    },
    async write(chunk) {
      for (let from = 0; from < chunk.length;) {
        const length = chunk.length - from;
        const { bytesWritten } = await handle.write(chunk, from, length, place).catch(unwritable);
        from += bytesWritten;
        place += bytesWritten;
      }
    },
    async finish(type) {
      await handle.close().catch(unwritable);
      await fs.rename(aside, to).catch(unwritable);
      if (typeof openAsBlob === 'function') return openAsBlob(to, { type });
      return new Blob([await fs.readFile(to)], { type });
    },
    async drop() {
      await handle.close().catch(() => {});
      await fs.rm(aside, { force: true });
    },
  };
}
