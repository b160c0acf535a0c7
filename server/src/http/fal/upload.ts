import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { falBase } from '../../core/request/fal.ts';
import { fileId, parseFileId } from '../../core/request/file-id.ts';
import { signUpload, verifyUpload } from '../../core/request/signature.ts';
import * as callers from '../../db/accounts/callers.ts';
import { newId } from '../../lib/id.ts';
import { objectOf } from '../../lib/json.ts';
import { challenge } from '../errors.ts';
import type { CallDeps, FileDeps, KeyedRequest } from '../deps.ts';
import { receiveUpload, viewOf } from '../api/files.ts';
import type { WithParams } from '../path.ts';

/**
 * fal's storage: with its key, fal's client asks for an upload address; then it sends the bytes to
 * that address without the key.
 */

/** Time from the request for the address to the first byte. */
const addressSeconds = 600;

/** POST storage/upload/initiate */
export async function initiate(
  req: KeyedRequest,
  _reply: FastifyReply,
  deps: CallDeps,
): Promise<unknown> {
  const id = newId();
  const { key_id } = req.caller;
  const exp = Math.floor(Date.now() / 1000) + addressSeconds;
  const query = signUpload(deps.links.secret, { id, key_id, exp });
  return {
    // fal's client puts this into the input instead of the file.
    file_url: fileId(id),
    upload_url: `${falBase(deps.links)}/uploads/${fileId(id)}?${query}`,
  };
}

/** PUT /fal/uploads/{file_id}: the raw bytes are the body. */
export async function receive(
  req: WithParams<{ file_id: string }>,
  reply: FastifyReply,
  deps: FileDeps,
): Promise<unknown> {
  const id = parseFileId(req.params.file_id);
  const { key_id, exp, sig } = objectOf(req.query);
  const now_seconds = Math.floor(Date.now() / 1000);
  if (id === null || typeof key_id !== 'string') throw notGood();
  const verdict = verifyUpload(deps.secrets, { id, key_id, exp, sig, now_seconds });
  if (verdict !== 'valid') throw notGood();
  const account_id = await callers.findAccountOfKey(deps.db, key_id);
  if (account_id === null) throw notGood();
  // Each upload has its own storage key: a second one to this address must not touch the first.
  const storage_key = `files/${account_id}/${newId()}`;
  const { row } = await receiveUpload({ id, account_id, storage_key }, req, reply, deps);
  // This call has no schema, by which other replies write a bigint.
  return { ...viewOf(row), size: Number(row.size) };
}

function notGood(): ApiError {
  return new ApiError('unauthorized', {
    message: 'This upload address is invalid or has expired. Ask for another one.',
    headers: challenge,
  });
}
