import { badMessages } from './chat.ts';
import { parseFileId } from './id.ts';
import {
  isMediaField,
  mediaForms,
  mediaInputsMax,
  noteMedia,
  type MediaInputs,
} from './media-input.ts';

/**
 * Where the messages of a chat call name media: in the parts of their contents, in every field that
 * is a URL by its name, in `file_id`, and in `data` and `file_data` where those hold an address in
 * place of bytes. Paths are written as `messages[0].content[1].image_url.url`.
 *
 * @throws ApiError `bad_messages`
 */
export function chatMedia(messages: Record<string, unknown>[]): MediaInputs {
  const found: MediaInputs = { files: [], urls: [] };
  messages.forEach(({ content }, i) => {
    // A plain text names nothing, whatever stands in it.
    if (Array.isArray(content)) visit(content, `messages[${i}].content`, '', found);
  });
  if (found.files.length + found.urls.length > mediaInputsMax) {
    throw badMessages('messages', `name more than ${mediaInputsMax} files and addresses`);
  }
  return found;
}

function visit(value: unknown, at: string, name: string, found: MediaInputs): void {
  if (typeof value === 'string') {
    if (value !== '' && isReference(name, value)) note(value, at, name, found);
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => visit(item, `${at}[${i}]`, name, found));
  } else if (typeof value === 'object' && value !== null) {
    for (const [field, item] of Object.entries(value)) visit(item, `${at}.${field}`, field, found);
  }
}

function isReference(name: string, value: string): boolean {
  if (name === 'file_id' || isMediaField(name)) return true;
  // Base64 has no colon, every address has one.
  return (name === 'data' || name === 'file_data') && value.includes(':');
}

function note(value: string, at: string, name: string, found: MediaInputs): void {
  if (name !== 'file_id') {
    if (!noteMedia(value, at, found)) throw badMessages(at, mediaForms);
    return;
  }
  if (parseFileId(value) === null) throw badMessages(at, 'must be a file_id of POST /files');
  noteMedia(value, at, found);
}
