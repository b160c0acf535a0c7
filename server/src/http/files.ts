import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { fileId } from '../core/id.ts';
import * as files from '../db/files.ts';
import { newId } from '../lib/id.ts';
import { headAnd, idleTimeout } from '../lib/streams.ts';
import { agrees, sniff } from '../storage/media.ts';
import type { HttpDeps, Keyed } from './deps.ts';

const sniffBytes = 4_100;
const accepted = /^(image\/(?!svg)|video\/|audio\/|application\/pdf$|text\/plain$)/;
const acceptedWords = 'images, video, audio, PDF and plain text';

/** POST /files: the raw bytes are the body. */
export async function upload(req: Keyed, reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const {
    'content-type': declared,
    'content-encoding': encoding,
    'content-length': length,
  } = req.headers;
  if (declared === undefined) throw unsupported('Send the Content-Type of the file.');
  if (encoding !== undefined && encoding !== 'identity')
    throw unsupported('Send the bytes without Content-Encoding.');
  const maxBytes = deps.settings.uploadMaxBytes;
  if (Number(length) > maxBytes) throw tooLarge(maxBytes);
  const body = req.body as Readable | undefined;
  if (!body)
    throw new ApiError('bad_request', {
      message: 'The body is empty; send the bytes of the file.',
    });
  const { uploadIdleMs } = deps.settings.times;
  // Destroyed where it is refused, the body would hold up its connection for ever.
  const bytes = body.iterator({ destroyOnReturn: false });
  const { head, stream } = await headAnd(idleTimeout(bytes, uploadIdleMs), sniffBytes);
  if (head.length === 0)
    throw new ApiError('bad_request', {
      message: 'The body is empty; send the bytes of the file.',
    });
  const content_type = await sniff(head);
  if (content_type === null || !accepted.test(content_type)) {
    throw unsupported(`These bytes are of no type that is taken: ${acceptedWords}.`);
  }
  if (!agrees(declared, content_type)) {
    throw unsupported(
      `The Content-Type says ${declared.slice(0, 100)}, the bytes are ${content_type}.`,
    );
  }
  const id = newId();
  const { account_id } = req.caller;
  const storage_key = `files/${account_id}/${id}`;
  const { size, sha256 } = await deps.storage.put(storage_key, stream, { maxBytes });
  const ttl_seconds = deps.settings.fileTtlSeconds;
  const row = {
    id,
    account_id,
    storage_key,
    content_type,
    size: BigInt(size),
    sha256,
    ttl_seconds,
  };
  const times = await files.insert(deps.db, row).catch(async (error: unknown) => {
    // Without a row nobody would ever delete them.
    await deps.storage.remove(storage_key);
    throw error;
  });
  reply.code(201);
  return {
    file_id: fileId(id),
    content_type,
    size,
    sha256,
    created_at: times.created_at.toISOString(),
    expires_at: times.expires_at.toISOString(),
  };
}

function unsupported(message: string): ApiError {
  return new ApiError('unsupported_media_type', { message, param: 'content-type' });
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    message: `The file is larger than ${maxBytes} bytes, the most that is taken.`,
    details: { max_bytes: maxBytes },
  });
}
