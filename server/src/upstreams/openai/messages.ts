import { asBase64 } from '../../lib/base64.ts';
import { plainData } from '../../lib/data-address.ts';
import { isObject, itemsOf } from '../../lib/json.ts';
import { InputRefused, sized } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { base64Length, type JsonBody } from '../json-body.ts';
import type { ChatCall, InputFile, UpstreamTools } from '../upstream.ts';

/**
 * As base64 a file is a third longer, and all files together must fit into the server's body limit.
 */
const fileMaxBytes = 20 * 1024 * 1024;
const filesMaxBytes = 60 * 1024 * 1024;

/** Returns the value at `at` as a `data:` address, or for `file: null` as it came. */
type HandOver = (
  value: string,
  at: string,
  of: 'image' | 'file' | 'audio',
) => Promise<{ value: string; file: InputFile | null }>;

export interface Place {
  /** Download addresses, and send their contents. */
  inline: boolean;
  /** The server takes text files as text. They are handed over as `data:text/plain,…`. */
  readsText: boolean;
  /** Stands for the data of the files, which are sent with it. */
  body: JsonBody;
}

/**
 * The messages in a form that the upstream accepts. Stored files are sent as data, because chat
 * upstreams cannot read our files. With `inline`, addresses are downloaded and sent as data too:
 * otherwise a caller could make an upstream in our own network fetch internal addresses. Throws
 * `InputRefused`.
 */
export async function messagesForUpstream(
  messages: unknown,
  { inline, readsText, body }: Place,
  { files = {}, hold, signal }: Pick<ChatCall, 'files' | 'hold' | 'signal'>,
  tools: Pick<UpstreamTools, 'download'>,
): Promise<unknown> {
  if (!Array.isArray(messages)) return messages;
  let left = filesMaxBytes;
  const mustBeRead = (value: string) => readsText && /^data:text\//i.test(value);
  const handOver: HandOver = (value, at, of) =>
    handOverOne(value, at, of).catch((error: unknown) => {
      if (error instanceof InputRefused) error.param = at;
      throw error;
    });
  const handOverOne: HandOver = async (value, at, of) => {
    const stored = Object.hasOwn(files, value) ? files[value]! : null;
    const isAddress = /^https?:/i.test(value);
    // Bare base64 is passed on unchanged.
    const isBytes = of !== 'image' && !isAddress && !isOurs(value);
    const given = isBytes ? (asBase64(value) ?? plainData(value)) : plainData(value);
    if (stored === null && (isBytes || given.startsWith('data:') || (isAddress && !inline)))
      return { value: mustBeRead(given) ? given : body.text(given), file: null };
    const type = stored?.content_type ?? '';
    if (stored !== null && of === 'image' && !type.startsWith('image/'))
      throw new InputRefused(`${at} must be an image, and this file is ${type}.`);
    if (stored !== null && of === 'audio' && !type.startsWith('audio/'))
      throw new InputRefused(`${at} must be audio, and this file is ${type}.`);
    const file = await openMedia(value, at, { files, hold, signal }, tools);
    const read = await sized(file, at, Math.min(left, fileMaxBytes));
    left -= base64Length(read.size);
    const { content_type } = file;
    const data = mustBeRead(`data:${content_type}`)
      ? `data:text/plain,${await body.textOf(read)}`
      : `data:${content_type};base64,${body.base64(read)}`;
    return { value: data, file };
  };
  const filled: unknown[] = [];
  for (const [i, message] of messages.entries()) {
    const isList = isObject(message) && Array.isArray(message.content);
    filled.push(isList ? await withParts(message, `messages[${i}].content`, handOver) : message);
  }
  return filled;
}

async function withParts(
  message: Record<string, unknown>,
  at: string,
  handOver: HandOver,
): Promise<unknown> {
  const content: unknown[] = [];
  for (const [i, part] of itemsOf(message.content).entries())
    content.push(isObject(part) ? await withFile(part, `${at}[${i}]`, handOver) : part);
  return { ...message, content };
}

async function withFile(
  part: Record<string, unknown>,
  at: string,
  handOver: HandOver,
): Promise<Record<string, unknown>> {
  const { image_url: image, file, input_audio: audio } = part;
  if (isObject(image) && typeof image.url === 'string') {
    const { value: url } = await handOver(image.url, `${at}.image_url.url`, 'image');
    return { ...part, image_url: { ...image, url } };
  }
  if (isObject(file)) {
    const { file_id, ...rest } = file;
    const named = file_id == null ? file.file_data : file_id;
    if (typeof named !== 'string') return part;
    const field = file_id == null ? 'file_data' : 'file_id';
    const { value, file: from } = await handOver(named, `${at}.file.${field}`, 'file');
    // Most servers accept a file only if it has a name.
    const filename = file.filename ?? (from && (from.file_name ?? 'file'));
    return { ...part, file: { ...rest, file_data: value, ...(filename != null && { filename }) } };
  }
  if (isObject(audio) && typeof audio.data === 'string') {
    const { value, file: from } = await handOver(audio.data, `${at}.input_audio.data`, 'audio');
    // `input_audio` has bare base64 without the `data:` prefix.
    const data = from === null ? value : value.replace(/^data:[^,]*,/, '');
    return { ...part, input_audio: { ...audio, data } };
  }
  return part;
}

/** Whether the value names one of our files. Base64 contains neither an underscore nor a colon. */
function isOurs(value: string): boolean {
  return /^(file_|sandbox:)/.test(value);
}
