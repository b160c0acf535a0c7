import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import sharp from 'sharp';
import { extensionOf, usualType } from '../../core/media/content-type.ts';
import { formBody } from '../../lib/outbound/multipart.ts';
import { bytesOf, handedOver, InputRefused, sentBytes, sized } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { HandOverFailed, jsonOf } from '../replies.ts';
import type { InputFile, StartJob, UpstreamTools } from '../upstream.ts';
import type { Api } from './api.ts';
import { asObject } from './history.ts';
import type { Workflow } from './workflow.ts';

/** Uploads a caller's media to ComfyUI's input folder. */

/** ComfyUI's default limit. */
const uploadMaxBytes = 100 * 1024 * 1024;
const uploadMs = 300_000;
const filesMax = 64;
const nameForm = /^[^\p{Cc}/\\]{1,255}$/u;
const folderForm = /^[^\p{Cc}\\]{0,255}$/u;

/**
 * Uploads the media that the workflow uses, and returns the server's file names by field. Fields
 * that the row does not know are ignored, because they are not priced.
 *
 * @throws InputRefused
 * @throws HandOverFailed
 */
export async function uploadedFiles(
  job: StartJob,
  workflow: Workflow,
  prefix: string,
  api: Api,
  tools: UpstreamTools,
): Promise<Record<string, string[]>> {
  const names: Record<string, string[]> = {};
  let count = 0;
  for (const field of Object.keys(workflow.files)) {
    const values = job.fields.includes(field) ? [job.input[field] ?? []].flat() : [];
    names[field] = [];
    for (const value of values) {
      if (typeof value !== 'string')
        throw new InputRefused(
          `${field} must be a file_id of an uploaded file or a public address.`,
        );
      if (value === '') continue;
      if (++count > filesMax) throw new InputRefused(`${field} names more than ${filesMax} files.`);
      const file = await openMedia(value, field, job, tools);
      const stem = `${prefix}-${count}`;
      const send = (sent: InputFile) => upload(sent, stem, job, api, tools);
      names[field].push(await placed(file, field, workflow, job, send));
    }
  }
  return names;
}

/**
 * Sends the file, and returns what `send` returns. If its size or its pixels have to be found out,
 * it is copied to the disk first: it may be too large for the memory.
 */
async function placed(
  file: InputFile,
  field: string,
  workflow: Workflow,
  { inShare, signal }: StartJob,
  send: (file: InputFile) => Promise<string>,
): Promise<string> {
  const isMeasured = workflow.maxInputPixels !== Infinity;
  if (!file.hold && !isMeasured) return send(await sized(file, field, uploadMaxBytes));
  const folder = await mkdtemp(join(tmpdir(), 'farebox-input-'));
  try {
    const path = join(folder, 'file');
    await pipeline(bytesOf(file, field, uploadMaxBytes), createWriteStream(path, { mode: 0o600 }));
    if (isMeasured) await inShare(() => demandSize(path, field, workflow), { signal });
    const { size } = await stat(path);
    return await send({ ...file, size, open: async () => createReadStream(path) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Limits an image's pixels: work grows with them, and a small file can have any number of pixels.
 */
async function demandSize(
  path: string,
  field: string,
  { maxInputPixels }: Workflow,
): Promise<void> {
  const { width, height } = await sharp(path, { limitInputPixels: false })
    .metadata()
    .catch(() => {
      throw new InputRefused(`${field} must be an image.`);
    });
  if (width * height <= maxInputPixels) return;
  const most = maxInputPixels / 1e6;
  throw new InputRefused(
    `${field} is ${width} × ${height} pixels, and this model takes at most ${most} megapixels. ` +
      'Send a smaller image.',
  );
}

/** `stem`: the beginning of the file's name. */
async function upload(
  file: InputFile,
  stem: string,
  job: StartJob,
  api: Api,
  tools: UpstreamTools,
): Promise<string> {
  const content_type = usualType(file.content_type);
  const file_name = `${stem}.${extensionOf(content_type)}`;
  const content = { size: file.size, chunks: sentBytes(file) };
  const { headers, body } = formBody([
    { name: 'image', file_name, content_type, content },
    { name: 'type', content: 'input' },
  ]);
  const call = { method: 'POST', path: '/upload/image', headers, body, timeoutMs: uploadMs };
  const reply = await handedOver(api.send({ ...call, signal: job.signal }), tools.now());
  const { name, subfolder = '' } = asObject(jsonOf(reply.body)) ?? {};
  const isName = typeof name === 'string' && nameForm.test(name);
  if (!isName || typeof subfolder !== 'string' || !folderForm.test(subfolder))
    throw new HandOverFailed({ message: 'a file was accepted, but its name was not returned' });
  return subfolder === '' ? name : `${subfolder}/${name}`;
}
