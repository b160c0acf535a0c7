import { decodeFile } from '../lib/outbound/decode.ts';
import { FetchError, type Fetch, type StreamReply } from '../lib/outbound/fetch.ts';
import { followRedirects } from '../lib/outbound/redirects.ts';
import type { UpstreamTools } from './upstream.ts';

/** Downloads files from callers' addresses, within our own time limits. */

/** Short, because a start occupies a slot of its upstream while a file is downloaded. */
const secondsMax = 60;
/** The share of a start's time for downloads. The rest is left for the call to the upstream. */
const share = 2 / 3;
/** Ends the download from a server that sends nothing for this long. */
const idleTimeoutMs = 20_000;

/** Thrown when the downloads of one call have used up their time. */
export class TooSlow extends Error {
  readonly seconds: number;
  constructor(seconds: number, cause: unknown) {
    super(`longer than ${seconds} s`, { cause });
    this.seconds = seconds;
  }
}

/** Seconds for all downloads of one call whose start may take `startSeconds`. */
function inputSeconds(startSeconds: number): number {
  return Number(Math.min(secondsMax, startSeconds * share).toPrecision(2));
}

/** `stepSeconds`: the time limit of a start whose upstream sets none. */
export function createDownload(
  inputs: Pick<Fetch, 'stream'>,
  { maxBytes, stepSeconds }: { maxBytes: number; stepSeconds: number },
): UpstreamTools['download'] {
  /** Time left for downloads, by the signal of the call. */
  const leftMs = new WeakMap<AbortSignal, number>();

  async function fetched(url: string, signal: AbortSignal, seconds: number): Promise<StreamReply> {
    const begun = performance.now();
    const timeoutMs = leftMs.get(signal) ?? seconds * 1000;
    const left = () => timeoutMs - (performance.now() - begun);
    const timed = (error: unknown) => {
      const isLate = error instanceof FetchError && error.kind === 'timeout' && left() < 5;
      return isLate ? new TooSlow(seconds, error) : error;
    };
    const spend = () => leftMs.set(signal, Math.max(0, left()));
    async function* read(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
      try {
        yield* body;
      } catch (error) {
        throw timed(error);
      } finally {
        spend();
      }
    }
    try {
      const reply = await followRedirects(url, (at) =>
        inputs.stream({ url: at, maxBytes, idleTimeoutMs, timeoutMs: left(), signal }),
      );
      if (reply.status === 200 || reply.status === 203)
        return { ...reply, body: read(decodeFile(reply, maxBytes)) };
      reply.close();
      throw new Error(`${new URL(url).host} answered ${reply.status}`);
    } catch (error) {
      spend();
      throw timed(error);
    }
  }

  return async (url, signal, startSeconds = stepSeconds) => {
    const seconds = inputSeconds(startSeconds);
    let first: StreamReply | null = await fetched(url, signal, seconds);
    const { headers } = first;
    return {
      content_type: headers['content-type'] ?? 'application/octet-stream',
      size: Number(headers['content-length'] ?? 0),
      async open() {
        const { body } = first ?? (await fetched(url, signal, seconds));
        first = null;
        return body;
      },
    };
  };
}
