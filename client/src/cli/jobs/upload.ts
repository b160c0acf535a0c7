import { createReadStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { LocalFile, type Farebox } from '../../index.ts';
import { withUploads, type ByteStream } from '../../media.ts';
import { keyed } from '../account.ts';
import { usage } from '../exits.ts';
import { localFile, type Fields } from './input.ts';
import type { Context } from '../verb.ts';
import {
  bar,
  bytesText,
  LiveLine,
  oneLine,
  print,
  printJson,
  remark,
} from '../terminal/terminal.ts';

export async function upload({ json, quiet }: Context, path: string): Promise<void> {
  const hint = 'Give the path of a file, or "-" for stdin.';
  if (path === '-' && process.stdin.isTTY) throw usage('stdin is a terminal.', hint);
  const source = path === '-' ? process.stdin : localFile(path, hint).path;
  const uploaded = await uploadFile(keyed({ quiet }), source, quiet);
  if (json) printJson(uploaded);
  else print(oneLine(uploaded.file_id));
}

/** Returns the input with each file replaced by its id; each file is uploaded once. */
export function uploadFiles(client: Farebox, input: Fields, quiet: boolean): Promise<Fields> {
  const ids = new Map<string, Promise<string>>();
  return withUploads(input, (source) => {
    // A command line can name files only by their paths.
    if (!(source instanceof LocalFile)) throw new TypeError('An input has bytes');
    const { path } = source;
    const id = ids.get(path) ?? uploadFile(client, path, quiet).then(({ file_id }) => file_id);
    ids.set(path, id);
    return id;
  });
}

async function uploadFile(client: Farebox, source: string | ByteStream, quiet: boolean) {
  const line = new LiveLine(quiet);
  const name = typeof source === 'string' ? basename(source) : 'stdin';
  try {
    const uploaded = await client.upload(typeof source === 'string' ? opened(source) : source, {
      onProgress: ({ sent, total }) =>
        line.show(
          total === null
            ? `${bytesText(sent)}  ${name}`
            : `${bar(sent / (total || 1))} ${bytesText(sent)} of ${bytesText(total)}  ${name}`,
        ),
    });
    line.end();
    remark(quiet, `Uploaded ${name}, ${bytesText(uploaded.size)}, ${uploaded.content_type}`);
    return uploaded;
  } finally {
    line.end();
  }
}

/** A pipe has no size and can be read once, so it is sent as a stream. */
function opened(path: string): string | ByteStream {
  return statSync(path).isFile() ? path : createReadStream(path);
}
