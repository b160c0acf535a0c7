import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { sampleForm, sampleKinds } from '../../../core/catalog/media-input.ts';
import { mapMedia } from '../../inputs.ts';
import { openMedia } from '../../open-media.ts';
import type { InputFile, StartJob, UpstreamTools } from '../../upstream.ts';
import type { Workshop } from '../jobs/workshop.ts';
import { SandboxRefusal } from '../refusal.ts';
import type { OrderFile } from './order.ts';
import { isOneOf } from '../../../lib/records.ts';

/** Finds the caller's media in an input, and copies them into the job's folder. */

const filesMax = 16;
const fileBytesMax = 256 * 1024 * 1024;
const jobBytesMax = 512 * 1024 * 1024;

/**
 * Copies every media file that an input names into `folder` and probes it. Throws `SandboxRefusal`,
 * `InputRefused` or `HandOverFailed` if that fails.
 */
export async function gatherInputs(
  job: StartJob,
  folder: string,
  workshop: Workshop,
  download: UpstreamTools['download'],
): Promise<OrderFile[]> {
  const found: { field: string; value: string }[] = [];
  await mapMedia(job, async (value, field) => found.push({ value, field }));
  if (found.length > filesMax)
    throw new SandboxRefusal(`At most ${filesMax} files can be given; there are ${found.length}.`);
  const media: OrderFile[] = [];
  let room = jobBytesMax;
  for (const [i, { field, value }] of found.entries()) {
    const path = join(folder, String(i));
    const [, kind, number = '1'] = sampleForm.exec(value) ?? [];
    if (isOneOf(sampleKinds, kind)) await workshop.sample(kind, Number(number), path);
    else {
      const source = await openMedia(value, field, job, { download });
      room -= await copy(source, path, field, Math.min(fileBytesMax, room), job.signal);
    }
    const probe = () => workshop.probe(path, field, String(i));
    media.push(await job.inShare(probe, { signal: job.signal }));
  }
  return inOrder(media);
}

/** Returns the number of bytes copied. */
async function copy(
  source: InputFile,
  path: string,
  field: string,
  most: number,
  signal: AbortSignal,
): Promise<number> {
  let size = 0;
  const counted = async function* (): AsyncIterable<Uint8Array> {
    for await (const chunk of await source.open()) {
      size += chunk.length;
      if (size > most) throw new SandboxRefusal(`${field} is larger than ${most} bytes.`);
      yield chunk;
    }
  };
  await pipeline(counted, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
  if (size === 0) throw new SandboxRefusal(`${field} is empty.`);
  return size;
}

/** Sorts the main file first and end frames last. Leaves out masks, which are not drawn. */
function inOrder(media: OrderFile[]): OrderFile[] {
  const rank = ({ field }: OrderFile): number => {
    if (/^(image|video|audio)_url$/.test(field)) return 0;
    return /^(end|last|tail)_/.test(field) ? 2 : 1;
  };
  return media.filter(({ field }) => !/mask/i.test(field)).toSorted((a, b) => rank(a) - rank(b));
}
