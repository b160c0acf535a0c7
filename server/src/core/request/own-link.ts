import type { MediaInputs } from '../catalog/media-input.ts';
import { isUuid } from '../../lib/id.ts';
import { fileId, parseFileId } from './file-id.ts';
import { replicateFiles } from './prediction.ts';

/** Recognises our own addresses in a caller's input: of an output, and of an upload. Pure. */

export interface OwnOutput {
  request_id: string;
  index: number;
  exp: string | null;
  sig: string | null;
}

/** The output that one of our addresses leads to; null for every other address. */
export function ownOutput(url: string, baseUrl: string): OwnOutput | null {
  if (!url.startsWith(`${baseUrl}/requests/`) || !URL.canParse(url)) return null;
  const { pathname, searchParams } = new URL(url);
  const inside = pathname.slice(new URL(baseUrl).pathname.length);
  const [, id, index] =
    /^\/requests\/([0-9a-f-]{36})\/output\/(0|[1-9]\d{0,5})$/i.exec(inside) ?? [];
  if (id === undefined || !isUuid(id.toLowerCase())) return null;
  return {
    request_id: id.toLowerCase(),
    index: Number(index),
    exp: searchParams.get('exp'),
    sig: searchParams.get('sig'),
  };
}

interface NamedFile {
  path: string;
  /** The UUID of the upload. */
  id: string;
  /** The id or the address that names it. */
  value: string;
}

/** The upload behind an address that Replicate's client was given for it; null: no such address. */
export function ownFile(url: string, baseUrl: string): string | null {
  const files = `${replicateFiles({ baseUrl })}/`;
  return url.startsWith(files) ? parseFileId(url.slice(files.length)) : null;
}

/** The uploads that an input names by their ids or addresses. */
export function ownFiles({ files, urls }: MediaInputs, baseUrl: string): NamedFile[] {
  const byAddress = urls.flatMap(({ path, url }) => {
    const id = ownFile(url, baseUrl);
    return id === null ? [] : [{ path, id, value: url }];
  });
  return [...files.map(({ path, id }) => ({ path, id, value: fileId(id) })), ...byAddress];
}
