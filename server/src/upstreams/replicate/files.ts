import { dataIn } from '../../lib/data-address.ts';
import { isObject, objectOf } from '../../lib/json.ts';
import { formBody } from '../../lib/outbound/multipart.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { handedOver, InputRefused, mapMedia, sentBytes } from '../inputs.ts';
import { dataFile } from '../open-media.ts';
import type { JsonBody } from '../json-body.ts';
import { HandOverFailed, jsonOf } from '../replies.ts';
import type { InputFile, StartJob, UpstreamTools } from '../upstream.ts';
import type { BearerApi } from '../bearer-api.ts';

/** Puts a caller's media into a prediction's input. */

/** Replicate's recommended limit for files sent inside the input. */
const inlineMaxBytes = 256 * 1024;
/** Length of a file of this size as base64, with room for the `data:` prefix. */
const inlineMaxLength = Math.ceil(inlineMaxBytes / 3) * 4 + 200;
const uploadMaxBytes = 100 * 1024 * 1024;
const uploadMs = 300_000;
const addressMax = 4000;
const depthMax = 6;

/**
 * The input in Replicate's form: small files become `data:` addresses in `body`, larger ones are
 * uploaded to its storage, and addresses stay unchanged. Null fields are left out, because
 * Replicate's models refuse them.
 *
 * @throws InputRefused
 * @throws HandOverFailed
 */
export async function placedInput(
  job: StartJob,
  api: BearerApi,
  tools: UpstreamTools,
  body: JsonBody,
): Promise<Record<string, unknown>> {
  const uploaded = new Map<string, Promise<string>>();
  // The same file may occur several times and is uploaded once.
  const once = (key: string, file: InputFile) => {
    const address = uploaded.get(key) ?? upload(file, job.signal, api, tools);
    uploaded.set(key, address);
    return address;
  };
  const filled = await mapMedia(job, async (value, field) => {
    if (Object.hasOwn(job.files, value))
      return handOverStored(job.files[value]!, field, value, once, body);
    if (/^(?:https?|data):/i.test(value)) return value;
    throw new InputRefused(`${field} must be a file_id of an uploaded file or a public address.`);
  });
  const given = Object.entries(filled).filter(([, value]) => value !== null);
  const input = Object.fromEntries(given);
  return objectOf(await lightened(input, 'input', once, 0));
}

type CachedUpload = (key: string, file: InputFile) => Promise<string>;

async function handOverStored(
  file: InputFile,
  field: string,
  key: string,
  once: CachedUpload,
  body: JsonBody,
) {
  if (file.size <= inlineMaxBytes) return body.address(file, field, inlineMaxBytes);
  if (file.size <= uploadMaxBytes) return once(key, file);
  if (file.link) return file.link;
  throw new InputRefused(
    `${field} is larger than the ${uploadMaxBytes} bytes that this model takes.`,
  );
}

/** Uploads a caller's large `data:` addresses, in any field, to Replicate's storage. */
async function lightened(
  value: unknown,
  field: string,
  once: CachedUpload,
  depth: number,
): Promise<unknown> {
  if (typeof value === 'string') {
    if (value.length <= inlineMaxLength || dataIn(value) === null) return value;
    return once(value, dataFile(value, field));
  }
  if (depth > depthMax) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(await lightened(item, field, once, depth + 1));
    return items;
  }
  if (!isObject(value)) return value;
  const entries: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value))
    entries.push([name, await lightened(item, name, once, depth + 1)]);
  return Object.fromEntries(entries);
}

async function upload(
  file: InputFile,
  signal: AbortSignal,
  api: BearerApi,
  tools: UpstreamTools,
): Promise<string> {
  const content = { size: file.size, chunks: sentBytes(file) };
  const { content_type } = file;
  const file_name = nameOf(file);
  const { headers, body } = formBody([
    { name: 'content', file_name, content_type, content },
    { name: 'metadata', content_type: 'application/json', content: '{}' },
  ]);
  const call = { method: 'POST', path: '/files', headers, body, timeoutMs: uploadMs, signal };
  const reply = await handedOver(api.send(call), tools.now());
  const { urls } = objectOf(jsonOf(reply.body));
  const address = fieldOf(urls, 'get');
  const isAddress = typeof address === 'string' && address.length <= addressMax;
  if (isAddress && /^https?:/i.test(address) && URL.canParse(address)) return address;
  throw new HandOverFailed({ message: 'a file was accepted, but its address was not returned' });
}

/** Replicate also guesses a file's type from its name. A name may have at most 255 bytes. */
function nameOf({ file_name, content_type }: InputFile): string {
  const ending = /^[a-z]+\/([a-z0-9]{2,5})(?:;|$)/i.exec(content_type)?.[1]?.toLowerCase() ?? 'bin';
  return file_name === undefined
    ? `input.${ending}`
    : Buffer.from(file_name).subarray(0, 200).toString();
}
