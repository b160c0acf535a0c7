import type { MediaInputs } from '../../core/catalog/media-input.ts';
import { ownFiles, ownOutput } from '../../core/request/own-link.ts';
import { verify } from '../../core/request/signature.ts';
import { fileUrl, type Links } from '../../core/request/views.ts';
import * as files from '../../db/accounts/files.ts';
import { findOutputs } from '../../db/requests/requests.ts';
import type { Connection } from '../../lib/sql/sql.ts';
import type { Storage } from '../../storage/storage.ts';
import type { InputFile } from '../../upstreams/upstream.ts';

export interface StoredDeps {
  db: Connection;
  storage: Storage;
  links: Links;
  /** Signing secrets that are accepted, newest first. */
  secrets: readonly Buffer[];
}

/**
 * The stored files that an input uses, by the value (id or link) that names them: uploads, and
 * outputs given as signed links. Null if one of them no longer exists.
 */
export async function gatherFiles(
  media: MediaInputs,
  account_id: string,
  deps: StoredDeps,
): Promise<Record<string, InputFile> | null> {
  const { links } = deps;
  const uploads = ownFiles(media, links.baseUrl);
  const ids = uploads.map(({ id }) => id);
  const found = ids.length === 0 ? [] : await files.findLiving(deps.db, account_id, ids);
  const gathered: Record<string, InputFile> = {};
  const nowSeconds = Math.floor(Date.now() / 1000);
  for (const { id, value } of uploads) {
    const file = found.find((each) => each.id === id);
    if (!file) return null;
    gathered[value] = stored(file, fileUrl(id, nowSeconds, links), deps);
  }
  for (const { url } of media.urls) {
    const own = ownOutput(url, links.baseUrl);
    if (own === null) continue;
    const output = await outputOf(own, deps);
    if (output === null) return null;
    gathered[url] = stored(output, links.isPublic ? url : null, deps);
  }
  return gathered;
}

async function outputOf(own: NonNullable<ReturnType<typeof ownOutput>>, deps: StoredDeps) {
  const { request_id, index, exp, sig } = own;
  // The link was valid at submit. It may have expired since, but works as long as the bytes exist.
  const verdict = verify(deps.secrets, { request_id, index, exp, sig, now_seconds: 0 });
  if (verdict === 'invalid') return null;
  const outputs = await findOutputs(deps.db, [request_id]);
  const output = outputs.find((each) => each.index === index);
  if (!output) return null;
  // The row is kept longer than the bytes, so the bytes may be gone.
  const bytes = await deps.storage.open(output.storage_key);
  await bytes?.[Symbol.asyncIterator]().return?.();
  return bytes === null ? null : output;
}

function stored(
  { storage_key, content_type, size, ...more }: StoredInput,
  link: string | null,
  { storage }: Pick<StoredDeps, 'storage'>,
): InputFile {
  return {
    content_type,
    size: Number(size),
    ...(more.file_name !== undefined && { file_name: more.file_name }),
    link,
    open: async () => {
      const stream = await storage.open(storage_key);
      if (stream === null) throw new Error(`the bytes of ${storage_key} are gone`);
      return stream;
    },
  };
}

interface StoredInput {
  storage_key: string;
  content_type: string;
  size: bigint | number;
  file_name?: string;
}
