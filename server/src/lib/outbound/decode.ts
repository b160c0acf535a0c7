import { Readable, pipeline, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { FetchError } from './fetch-error.ts';
import { once, readHead } from '../streams.ts';
import type { Reply } from './exchange.ts';
import type { StreamReply } from './streamed-reply.ts';

/** Decodes bodies that a server compressed although it was asked not to. */

const { Z_SYNC_FLUSH } = zlib.constants;
/** Each gives out what it can decode at once, because the rest of a stream may be far away. */
const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip({ flush: Z_SYNC_FLUSH }),
  'x-gzip': () => zlib.createGunzip({ flush: Z_SYNC_FLUSH }),
  deflate: () => zlib.createInflate({ flush: Z_SYNC_FLUSH }),
  'deflate-raw': () => zlib.createInflateRaw({ flush: Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress(),
};

/**
 * The reply's body in plain form. Throws a FetchError `too_large` if that has more than `maxBytes`,
 * and `protocol` if it cannot be decoded.
 */
export function decodeBody(
  { headers, body }: Pick<StreamReply, 'headers' | 'body'>,
  maxBytes: number,
): AsyncIterable<Uint8Array> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const open = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  return open === undefined ? body : decodeWith(body, open(), maxBytes);
}

/** The first bytes of the codings that have some. */
const marks: readonly [coding: string, mark: string][] = [
  ['gzip', '\x1f\x8b'],
  ['zstd', '\x28\xb5\x2f\xfd'],
];

/** How files that are not compressed begin. */
const plainStart = /^(?:\x89PNG|\xff\xd8\xff|RIFF|GIF8|....ftyp|ID3|.E\xdf\xa3|OggS|fLaC|%PDF)/s;

/**
 * As `decodeBody`, for a file or JSON. Its first bytes tell more than its label: stores give out
 * compressed files without a label, and plain ones with that of a compressed one.
 */
export async function* decodeFile(
  { headers, body }: Pick<StreamReply, 'headers' | 'body'>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const { head, stream } = await readHead(body, 8);
  const start = Buffer.from(head).toString('latin1');
  const [found] = marks.find(([, mark]) => start.startsWith(mark)) ?? [];
  const labels = (headers['content-encoding'] ?? '').split(',');
  const label = plainStart.test(start) ? '' : labels.at(-1)!.trim().toLowerCase();
  const encoding = found ?? (/gzip|zstd/.test(label) ? '' : rawIf(label, head));
  const plain = decodeBody({ headers: { 'content-encoding': encoding }, body: stream }, maxBytes);
  const rest = labels.slice(0, -1).join();
  yield* rest === ''
    ? plain
    : decodeFile({ headers: { 'content-encoding': rest }, body: plain }, maxBytes);
}

/** Some servers send deflate without the head that zlib gives it. */
function rawIf(label: string, [first = 0, second = 0]: Uint8Array): string {
  const hasHead = (first & 15) === 8 && (first * 256 + second) % 31 === 0;
  return label === 'deflate' && !hasHead ? 'deflate-raw' : label;
}

/** The reply with its body in plain form; as it is if that cannot be decoded. */
export async function decodedReply(reply: Reply, maxBytes: number): Promise<Reply> {
  const { headers, body, truncated } = reply;
  const isCoded = 'content-encoding' in headers || body[0] === 0x1f;
  if (!isCoded || truncated) return reply;
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of decodeFile({ headers, body: once(body) }, maxBytes))
      chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return { ...reply, truncated: error.kind === 'too_large' };
  }
  return { ...reply, body: Buffer.concat(chunks) };
}

async function* decodeWith(
  body: AsyncIterable<Uint8Array>,
  decoder: Transform,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  pipeline(Readable.from(body), decoder, () => {});
  let size = 0;
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes)
        throw new FetchError('too_large', `more than ${maxBytes} bytes`, { sent: true });
      yield chunk;
    }
  } catch (error) {
    if (error instanceof FetchError) throw error;
    throw new FetchError('protocol', 'its compressed body is broken', { sent: true, cause: error });
  }
}
