import { asBase64 } from '../../lib/base64.ts';
import { badMessages } from './chat-messages.ts';
import { parseFileId } from '../request/id.ts';
import {
  isMediaField,
  isTooMuch,
  mediaInputsMax,
  mediaRule,
  noteMedia,
  sampleForm,
  type MediaInputs,
} from '../catalog/media-input.ts';

/**
 * Finds the media in the messages of a chat call: in the parts of their contents, in every field
 * whose name marks a URL, in `file_id`, and in `data` and `file_data` unless they hold base64.
 * Paths look like `messages[0].content[1].image_url.url`.
 *
 * @throws ApiError `bad_messages`
 */
export function chatMedia(messages: Record<string, unknown>[]): MediaInputs {
  const found: MediaInputs = { files: [], urls: [] };
  messages.forEach(({ content }, i) => {
    // Content that is a plain string names no media, whatever it says.
    if (Array.isArray(content)) visit(content, `messages[${i}].content`, '', found);
  });
  return found;
}

function visit(value: unknown, at: string, name: string, found: MediaInputs): void {
  if (typeof value === 'string') {
    if (value !== '' && isReference(name, value)) note(value, at, name, found);
    if (isTooMuch(found)) {
      throw badMessages('messages', `have more than ${mediaInputsMax} files and addresses`, {
        reason: 'media_too_many',
        limit: mediaInputsMax,
      });
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => visit(item, `${at}[${i}]`, name, found));
  } else if (typeof value === 'object' && value !== null) {
    for (const [field, item] of Object.entries(value)) visit(item, `${at}.${field}`, field, found);
  }
}

function isReference(name: string, value: string): boolean {
  if (name === 'file_id' || isMediaField(name)) return true;
  return mayBeBytes(name) && asBase64(value) === null;
}

function mayBeBytes(name: string): boolean {
  return name === 'data' || name === 'file_data';
}

function note(value: string, at: string, name: string, found: MediaInputs): void {
  if (name === 'file_id' && parseFileId(value) === null) {
    throw badMessages(at, 'must be a file_id of POST /files');
  }
  // Samples work only in the queue, where the sandbox makes the file; a chat model would get just
  // the name.
  if (sampleForm.test(value) || !noteMedia(value, at, found)) {
    const rule = mediaRule(value);
    throw badMessages(at, mayBeBytes(name) ? `${rule}, or base64` : rule);
  }
}
