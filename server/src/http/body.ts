import type { FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { ApiError } from '../core/errors.ts';
import { parseJson } from '../lib/json.ts';

/** JSON bodies: bounded in size, time and nesting before anything looks at them. */

export const jsonMaxBytes = 1024 * 1024;
export const chatMaxBytes = 10 * 1024 * 1024;
const depth = 64;

export interface BodyBounds {
  maxBytes: number;
  /** Milliseconds; a body that has not come whole by then is cut off. */
  bodyMs: number;
}

/**
 * The JSON object of a body. Throws `unsupported_media_type`, `payload_too_large` or `bad_request`.
 */
export async function readObject(
  req: FastifyRequest,
  bounds: BodyBounds,
): Promise<Record<string, unknown>> {
  const value = parseJson(await readJsonBody(req, bounds), { depth });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiError('bad_request', { message: 'The body must be a JSON object.' });
  }
  return value as Record<string, unknown>;
}

async function readJsonBody(
  req: FastifyRequest,
  { maxBytes, bodyMs }: BodyBounds,
): Promise<Buffer> {
  const {
    'content-type': type = '',
    'content-encoding': encoding,
    'content-length': length,
  } = req.headers;
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ApiError('unsupported_media_type', {
      message: 'Send the body without Content-Encoding.',
    });
  }
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    throw new ApiError('unsupported_media_type', {
      message: 'Send the body as application/json, in UTF-8.',
    });
  }
  const tooLarge = () =>
    new ApiError('payload_too_large', {
      message: `The body is larger than ${maxBytes} bytes, the most this call takes.`,
      details: { max_bytes: maxBytes },
    });
  if (Number(length) > maxBytes) throw tooLarge();
  const stream = (req.body as Readable | undefined) ?? req.raw;
  return collect(stream, { maxBytes, bodyMs }, tooLarge);
}

function collect(
  stream: Readable,
  { maxBytes, bodyMs }: BodyBounds,
  tooLarge: () => ApiError,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        fail(new ApiError('bad_request', { message: 'The body came too slowly and was cut off.' })),
      bodyMs,
    );
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) fail(tooLarge());
      else chunks.push(chunk);
    });
    stream.once('end', () => {
      clearTimeout(timer);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
    const endedEarly = (cause?: unknown) =>
      fail(new ApiError('bad_request', { message: 'The body ended early.', cause }));
    stream.once('error', endedEarly);
    // Its sender may have left while the key was looked up: then no event is left to come.
    if (stream.destroyed) endedEarly();
    function fail(error: ApiError): void {
      clearTimeout(timer);
      stream.removeAllListeners('data');
      stream.resume();
      reject(error);
    }
  });
}
