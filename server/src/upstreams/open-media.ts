import { dataInputs } from '../core/catalog/media-input.ts';
import { usualType } from '../core/media/content-type.ts';
import { convertedType, takesType, typeRule, type InputTypes } from '../core/media/input-types.ts';
import { sniffBytes, typeByBytes } from '../core/media/sniff.ts';
import { dataIn, plainData } from '../lib/data-address.ts';
import { readHead, once } from '../lib/streams.ts';
import { fieldOf } from '../lib/unknown.ts';
import { converted, pixelsMax } from './convert.ts';
import { TooSlow } from './download.ts';
import { InputRefused, readAll } from './inputs.ts';
import type { InputFile, StartJob, UpstreamTools } from './upstream.ts';

/** Opens callers' files in types that a row takes. A file's type is that of its bytes. */

const bytesMax = 100 * 1024 * 1024;

type FitContext = Pick<StartJob, 'takes' | 'hold' | 'inShare' | 'signal'>;

/**
 * The job with its files in types that its row takes. Files at addresses are fitted when they are
 * fetched.
 *
 * @throws InputRefused
 */
export async function fitInputs(job: StartJob): Promise<StartJob> {
  const files: Record<string, InputFile> = {};
  for (const [value, file] of Object.entries(job.files))
    files[value] = await fitted(file, 'A file of the input', job, true);
  return { ...job, files };
}

/**
 * The `data:` addresses of an input that cannot be passed on as they are, as files: their bytes are
 * of another type than they say, or of one that the row does not take.
 */
export async function filesOfData(
  input: Record<string, unknown>,
  takes: InputTypes,
): Promise<Record<string, InputFile>> {
  const files: Record<string, InputFile> = {};
  for (const { path, address } of dataInputs(input)) {
    const stated = usualType(dataIn(address)!.content_type);
    const file = await typed(dataFile(address, path));
    if (file.content_type !== stated || !takesType(takes, stated))
      for (const value of [address, plainData(address)]) files[value] = file;
  }
  return files;
}

/** The file with the type of its bytes. Its first bytes are read at once. */
async function typed(file: InputFile): Promise<InputFile> {
  let first: AsyncIterable<Uint8Array> | null = null;
  const { head, stream } = await readHead(await file.open(), sniffBytes);
  first = stream;
  const content_type = await typeByBytes(head, file.content_type);
  return {
    ...file,
    content_type,
    async open() {
      const opened = first ?? (await file.open());
      first = null;
      return opened;
    },
  };
}

/**
 * The file in a type that the job's row takes. With `waits`, it waits for its share as long
 * as the signal allows.
 *
 * @throws InputRefused if that is not possible, and what `hold` and `inShare` throw
 */
async function fitted(
  file: InputFile,
  field: string,
  { takes, hold, inShare, signal }: FitContext,
  waits = false,
): Promise<InputFile> {
  const type = usualType(file.content_type);
  if (takes === undefined || takesType(takes, type)) return file;
  const target = convertedType(takes, type);
  if (target === null) throw new InputRefused(`${field} ${typeRule(takes, type)}.`);
  const read = await readAll(file, field, bytesMax, hold);
  const convert = () =>
    converted(Buffer.concat(read), target).catch((cause: unknown) => {
      const message = `${field} is damaged, has more than ${pixelsMax / 1e6} megapixels, or takes too long to convert.`;
      throw new InputRefused(message, { cause });
    });
  const bytes = await inShare(convert, { signal, continues: waits });
  hold(bytes.length);
  return { content_type: target, size: bytes.length, link: null, open: async () => once(bytes) };
}

/**
 * Opens the file that a media value names, in a type that the job's row takes. Throws
 * `InputRefused` if that is not possible; so does reading it later.
 */
export async function openMedia(
  value: string,
  field: string,
  job: FitContext & Pick<StartJob, 'files'>,
  { download }: Pick<UpstreamTools, 'download'>,
): Promise<InputFile> {
  if (Object.hasOwn(job.files, value)) return fitted(job.files[value]!, field, job);
  if (/^\s*data:/i.test(value)) return fitted(await typed(dataFile(value, field)), field, job);
  if (!/^https?:/i.test(value))
    throw new InputRefused(`${field} must be a file_id of an uploaded file or a public address.`);
  const fetched = <T>(work: Promise<T>): Promise<T> =>
    work.catch((cause: unknown) => {
      // If the caller's server used up the step's time, the upstream must not count as slow.
      if (fieldOf(job.signal.reason, 'name') !== 'TimeoutError') job.signal.throwIfAborted();
      const why =
        cause instanceof TooSlow
          ? `: fetching all addresses of this request took more than ${cause.seconds} s`
          : '';
      const message = `${field} could not be fetched${why}. Check the address, or upload the file and give its file_id.`;
      throw new InputRefused(message, { cause });
    });
  const file = await fetched(download(value, job.signal));
  const open = async () => readThrough(await fetched(file.open()), fetched);
  return fitted(await typed({ ...file, open, hold: job.hold }), field, job);
}

/** The chunks of a stream, each read through `step`. */
async function* readThrough(
  stream: AsyncIterable<Uint8Array>,
  step: <T>(work: Promise<T>) => Promise<T>,
): AsyncIterable<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await step(chunks.next());
      if (done) return;
      yield value;
    }
  } finally {
    await chunks.return?.().catch(() => {});
  }
}

/** The file inside a `data:` address. */
export function dataFile(value: string, field: string): InputFile {
  const data = dataIn(value);
  if (data === null)
    throw new InputRefused(`${field} is a data: address without data, or with invalid base64.`);
  const bytes = Buffer.from(data.base64, 'base64');
  const open = async () => once(bytes);
  return { content_type: data.content_type, size: bytes.length, open };
}
