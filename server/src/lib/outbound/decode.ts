import { Readable, pipeline, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { FetchError } from './fetch-error.ts';
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
