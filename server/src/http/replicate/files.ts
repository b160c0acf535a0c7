import { ApiError } from '../../core/errors.ts';
import { parseFileId } from '../../core/request/file-id.ts';
import { replicateFile, replicateFiles } from '../../core/request/prediction.ts';
import * as files from '../../db/accounts/files.ts';
import { discard, newFile, receiveUpload, setIgnoredHeader } from '../api/files.ts';
import { isForm } from '../body.ts';
import type { CallDeps, FileDeps, KeyedRequest } from '../deps.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { failure, ReplicateFile, ReplicateFileList } from './replicate-schema.ts';

/** Replicate's files: uploads of the account, by whatever call they came. */

const pageSize = 100;

/** POST /files: its client uploads an input's bytes before it makes the prediction. */
export const create = keyedEndpoint(
  { reply: ReplicateFile, failure },
  async ({ req, reply }, deps: FileDeps) => {
    if (!isForm(req))
      throw new ApiError('unsupported_media_type', {
        message: 'Send multipart/form-data with the file in the field content.',
        param: 'content-type',
      });
    const fields = { file: 'content', metadata: 'metadata' };
    const { row, form } = await receiveUpload(
      newFile(req.caller.account_id),
      req,
      reply,
      deps,
      fields,
    );
    setIgnoredHeader(form!, 'metadata', reply);
    return replicateFile(row, deps.links);
  },
);

/** GET /files */
export const list = keyedEndpoint(
  { query: s.object({ cursor: s.optional(s.cursor()) }), reply: ReplicateFileList, failure },
  async ({ req, query }, { db, links }) => {
    const bounds = { below: query.cursor ?? null, limit: pageSize + 1 };
    const rows = await files.page(db, req.caller.account_id, bounds);
    const { data, next_cursor } = pageFrom(rows, { limit: pageSize }, (row) =>
      replicateFile(row, links),
    );
    const next = next_cursor && `${replicateFiles(links)}?cursor=${next_cursor}`;
    return { previous: null, next, results: data };
  },
);

/** A file of the caller's account. Throws `not_found`. */
async function ownFile(
  { caller }: KeyedRequest,
  file_id: string,
  { db }: CallDeps,
): Promise<files.FileRow> {
  const id = parseFileId(file_id);
  const [row] = id === null ? [] : await files.findLiving(db, caller.account_id, [id]);
  if (!row) throw new ApiError('not_found');
  return row;
}

/** GET /files/{file_id} */
export const read = keyedEndpoint(
  { params: ['file_id'], reply: ReplicateFile, failure },
  async ({ req, params }, deps: CallDeps) =>
    replicateFile(await ownFile(req, params.file_id, deps), deps.links),
);

/** DELETE /files/{file_id} */
export const remove = keyedEndpoint(
  { params: ['file_id'], failure },
  async ({ req, reply, params }, deps: FileDeps) => {
    await discard([await ownFile(req, params.file_id, deps)], deps);
    return reply.code(204).send();
  },
);
