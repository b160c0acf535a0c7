import { Readable, pipeline, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { FetchError } from './fetch-error.ts';
import { once, readHead } from '../streams.ts';
import type { Reply } from './exchange.ts';
import type { StreamReply } from './streamed-reply.ts';

/** Decodes bodies that a server compressed although it was asked not to. */

const { Z_SYNC_FLUSH: flush, Z_FINISH } = zlib.constants;
/**
 * Each gives out what it can decode at once, because the rest of a stream may be far away.
 * `finishFlush`: what is done at the end of the bytes.
 */
const decoders: Readonly<Record<string, (finishFlush: number) => Transform>> = {
  gzip: (finishFlush) => zlib.createGunzip({ flush, finishFlush }),
  'x-gzip': (finishFlush) => zlib.createGunzip({ flush, finishFlush }),
  deflate: (finishFlush) => zlib.createInflate({ flush, finishFlush }),
  'deflate-raw': (finishFlush) => zlib.createInflateRaw({ flush, finishFlush }),
  br: () => zlib.createBrotliDecompress(),
  zstd: () => zlib.createZstdDecompress(),
};

/** The first bytes of the codings that have some. */
const marks: readonly [coding: string, mark: string][] = [
  ['gzip', '\x1f\x8b'],
  ['zstd', '\x28\xb5\x2f\xfd'],
];

/** How files that are not compressed begin. */
const plainStart = /^(?:\x89PNG|\xff\xd8\xff|RIFF|GIF8|....ftyp|ID3|.E\xdf\xa3|OggS|fLaC|%PDF)/s;

/** How a text such as JSON or a stream of events begins. Brotli has no mark of its own. */
const textStart = /^[\s[{:<a-z][\s\x20-\x7e]+$/i;

/** Each costs memory and time, and a server chooses how many there are. */
const codingsMax = 3;

/**
 * The reply's body in plain form. Its first bytes tell more than its label: stores give out
 * compressed files without a label, and plain ones with that of a compressed one. Throws a
 * FetchError `too_large` if that has more than `maxBytes`, and `protocol` if it cannot be decoded.
 * `isOfJson`: it shows by itself whether it is whole, so it may lack the end of its coding.
 */
export async function* decodeFile(
  { headers, body }: Pick<StreamReply, 'headers' | 'body'>,
  maxBytes: number,
  isOfJson = false,
): AsyncGenerator<Uint8Array> {
  const labels = (headers['content-encoding'] ?? '').toLowerCase().split(',');
  const codings = labels.map((each) => each.trim()).filter((each) => !/^(?:identity)?$/.test(each));
  if (codings.length > codingsMax) {
    // Closes the source; otherwise its connection would stay open.
    await body[Symbol.asyncIterator]().return?.();
    throw new FetchError('protocol', `its body has ${codings.length} codings`, { sent: true });
  }
  let plain = body;
  for (const label of codings.length === 0 ? [''] : codings.toReversed())
    plain = await decodeOnce(plain, label, maxBytes, isOfJson);
  yield* plain;
}

async function decodeOnce(
  body: AsyncIterable<Uint8Array>,
  stated: string,
  maxBytes: number,
  isOfJson: boolean,
): Promise<AsyncIterable<Uint8Array>> {
  const { head, stream } = await readHead(body, 16);
  const start = Buffer.from(head).toString('latin1');
  const [found] = marks.find(([, mark]) => start.startsWith(mark)) ?? [];
  const label = plainStart.test(start) || textStart.test(start) ? '' : stated;
  const encoding = found ?? (/gzip|zstd/.test(label) ? '' : rawIf(label, head));
  const open = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  return open ? decodeWith(stream, open(isOfJson ? flush : Z_FINISH), maxBytes) : stream;
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
