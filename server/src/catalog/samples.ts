import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ParsedFile, FileProblem } from '../core/catalog/catalog-file.ts';
import { sampleMaxBytes } from '../core/catalog/sample.ts';
import { sniff, sniffBytes } from '../core/media/sniff.ts';
import { messageOf } from '../lib/unknown.ts';

/** The operator's pictures of models, which are files beside the catalog's. */

export interface Sample {
  bytes: Buffer;
  content_type: string;
}

/** Reads the picture that a row names. Rejects with what is wrong with it. */
export async function readSample(dir: string, name: string): Promise<Sample> {
  const path = join(dir, name);
  const { size } = await stat(path);
  if (size > sampleMaxBytes) throw new Error(`it is larger than ${sampleMaxBytes} bytes`);
  const bytes = await readFile(path);
  const content_type = await sniff(bytes.subarray(0, sniffBytes));
  if (!content_type?.startsWith('image/') || content_type === 'image/svg+xml')
    throw new Error('it is no PNG, JPEG, WebP, AVIF or GIF');
  return { bytes, content_type };
}

/** The problems of the pictures that a file's rows name. */
export async function sampleProblems(dir: string, file: string, { rows }: ParsedFile) {
  const found = rows.map(async ({ id, sample }, i): Promise<FileProblem[]> => {
    if (sample === undefined) return [];
    const fault = await readSample(dir, sample).then(() => null, messageOf);
    if (fault === null) return [];
    const message = `${id}: the sample ${sample} cannot be shown: ${fault}.`;
    return [{ file, path: `/models/${i}/sample`, message }];
  });
  return (await Promise.all(found)).flat();
}
