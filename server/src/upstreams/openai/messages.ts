import { isObject } from '../../lib/json.ts';
import { dataUri, InputRefused, openMedia } from '../inputs.ts';
import type { ChatCall, UpstreamTools } from '../upstream.ts';

/** A picture as data is a third longer, and has to fit into the server's body with the others. */
const imageMaxBytes = 20 * 1024 * 1024;
const imagesMaxBytes = 60 * 1024 * 1024;

/**
 * The messages as the upstream can take them. Images that we store are handed over as data, since
 * chat upstreams have no files of ours. With `inline` all are: an upstream on the own network could
 * be led to fetch what no caller may see. Throws `InputRefused`.
 */
export async function placeMessages(
  messages: unknown,
  inline: boolean,
  { files = {}, signal }: Pick<ChatCall, 'files' | 'signal'>,
  tools: Pick<UpstreamTools, 'download'>,
): Promise<unknown> {
  if (!Array.isArray(messages)) return messages;
  let left = imagesMaxBytes;
  const place = async (url: string, at: string): Promise<string> => {
    if (/^data:/i.test(url)) return url;
    const stored = Object.hasOwn(files, url) ? files[url]! : null;
    if (stored !== null && !stored.content_type.startsWith('image/'))
      throw new InputRefused(`${at} must be an image, and this file is ${stored.content_type}.`);
    if (stored === null && !inline && /^https?:/i.test(url)) return url;
    const file = await openMedia(url, at, { files, signal }, tools);
    const data = await dataUri(file, at, Math.min(left, imageMaxBytes));
    left -= data.length;
    return data;
  };
  const placed: unknown[] = [];
  for (const [i, message] of messages.entries()) {
    const isList = isObject(message) && Array.isArray(message.content);
    placed.push(isList ? await withParts(message, `messages[${i}].content`, place) : message);
  }
  return placed;
}

async function withParts(
  message: Record<string, unknown>,
  at: string,
  place: (url: string, at: string) => Promise<string>,
): Promise<unknown> {
  const content: unknown[] = [];
  for (const [i, part] of (message.content as unknown[]).entries()) {
    const { image_url: image, file, input_audio: audio } = isObject(part) ? part : {};
    if (isObject(file) && (file.file_id != null || isOurs(file.file_data)))
      throw refused(`${at}[${i}].file`);
    if (isObject(audio) && isOurs(audio.data)) throw refused(`${at}[${i}].input_audio.data`);
    if (isObject(image) && typeof image.url === 'string') {
      const url = await place(image.url, `${at}[${i}].image_url.url`);
      content.push({ ...(part as object), image_url: { ...image, url } });
    } else content.push(part);
  }
  return { ...message, content };
}

/** A name that nobody but us knows; base64 has neither an underscore nor a colon. */
function isOurs(data: unknown): boolean {
  return typeof data === 'string' && /^(file_|sandbox:)/.test(data);
}

function refused(at: string): InputRefused {
  return new InputRefused(
    `${at} names an uploaded file. Models of this upstream take uploaded images as image_url only; send other files as base64.`,
  );
}
