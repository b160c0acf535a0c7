import { fileId } from '../core/id.ts';
import { mediaInputs } from '../core/media-input.ts';
import { ownOutput } from '../core/own-link.ts';
import { verify } from '../core/signature.ts';
import { fileUrl } from '../core/views.ts';
import * as files from '../db/files.ts';
import { findOutputs, type Claimed } from '../db/requests.ts';
import type { InputFile } from '../upstreams/upstream.ts';
import type { StepDeps } from './step.ts';

/**
 * What we store of all that an input names, by the value that stands there: uploaded files, and
 * outputs given by their signed links. Null where one of them is no longer kept.
 */
export async function gatherFiles(
  row: Claimed,
  deps: StepDeps,
): Promise<Record<string, InputFile> | null> {
  const { files: named, urls } = mediaInputs(row.input);
  const ids = named.map(({ id }) => id);
  const found = ids.length === 0 ? [] : await files.findLiving(deps.db, row.account_id, ids);
  if (found.length < ids.length) return null;
  const gathered: Record<string, InputFile> = {};
  const { links } = deps.settings;
  const nowSeconds = Math.floor(Date.now() / 1000);
  for (const file of found)
    gathered[fileId(file.id)] = stored(file, fileUrl(file.id, nowSeconds, links), deps);
  for (const { url } of urls) {
    const own = ownOutput(url, links.baseUrl);
    if (own === null) continue;
    const output = await outputOf(own, deps);
    if (output === null) return null;
    gathered[url] = stored(output, links.isPublic ? url : null, deps);
  }
  return gathered;
}

async function outputOf(own: NonNullable<ReturnType<typeof ownOutput>>, deps: StepDeps) {
  const { request_id, index, exp, sig } = own;
  // It was good when it was submitted; that its time is over now is no matter while it is kept.
  const verdict = verify(deps.settings.secrets, { request_id, index, exp, sig, now_seconds: 0 });
  if (verdict === 'invalid') return null;
  const outputs = await findOutputs(deps.db, [request_id]);
  const output = outputs.find((each) => each.index === index);
  if (!output) return null;
  // The row outlives the bytes.
  const bytes = await deps.storage.open(output.storage_key);
  await bytes?.[Symbol.asyncIterator]().return?.();
  return bytes === null ? null : output;
}

function stored(
  { storage_key, content_type, size, ...more }: Stored,
  link: string | null,
  { storage }: StepDeps,
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

interface Stored {
  storage_key: string;
  content_type: string;
  size: bigint | number;
  file_name?: string;
}
