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

/**
 * As `decodeBody`, for a file or JSON. Its first bytes tell more than its label: stores give out
 * compressed files without a label, and plain ones with that of a compressed one.
 */
export async function* decodeFile(
  { headers, body }: Pick<StreamReply, 'headers' | 'body'>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const { head, stream } = await readHead(body, 4);
  const start = Buffer.from(head).toString('latin1');
  const [found] = marks.find(([, mark]) => start.startsWith(mark)) ?? [];
  const label = headers['content-encoding'] ?? '';
  const encoding = found ?? (/gzip|zstd/i.test(label) ? '' : label);
  yield* decodeBody({ headers: { 'content-encoding': encoding }, body: stream }, maxBytes);
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
