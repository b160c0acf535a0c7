import { dataIn } from '../../lib/data-address.ts';
import { ApiError } from '../errors.ts';
import { usualType } from '../media/content-type.ts';
import type { ReasonDetails } from '../reasons.ts';
import { parseFileId } from '../request/file-id.ts';

/** Media in a model input: a URL or a caller's file, in any field whose name marks it as media. */

/** Maximum number of media references in one input: each costs a look-up and a download. */
export const mediaInputsMax = 64;

/**
 * A sample file of the sandbox: `sandbox:photo`, or `sandbox:photo=2` for the second one. The
 * sandbox makes these itself, so an example works without a network.
 */
export const sampleForm = /^sandbox:(photo|film|voice)(?:=(\d{1,6}))?$/;
export const sampleKinds = ['photo', 'film', 'voice'] as const;

export interface MediaInputs {
  /** UUIDs of uploaded files, each once, with the path of the first field that names the file. */
  files: { path: string; id: string; mentions: number }[];
  /** Addresses, each with the path of its field. */
  urls: { path: string; url: string }[];
}

/**
 * Finds the fields named `url`, `urls`, `…_url` or `…_urls`, at any depth. Throws ApiError
 * `invalid_input` for a value that is not a file id, an http(s) or data address, or a sample.
 */
export function mediaInputs(input: Record<string, unknown>): MediaInputs {
  const found: MediaInputs = { files: [], urls: [] };
  visit(input, '', false, (value, path) => {
    if (!noteMedia(value, path, found))
      throw invalid(path, mediaRule(value), { reason: 'media_invalid' });
    if (isTooMuch(found))
      throw invalid('', tooMuch, { reason: 'media_too_many', limit: mediaInputsMax });
  });
  return found;
}

/** The `data:` addresses in the media fields of an input that `mediaInputs` has accepted. */
export function dataInputs(input: Record<string, unknown>): { path: string; address: string }[] {
  const found: { path: string; address: string }[] = [];
  visit(input, '', false, (address, path) => {
    if (/^\s*data:/i.test(address)) found.push({ path, address });
  });
  return found;
}

/** Whether a field holds media, judged by its name. */
export function isMediaField(name: string): boolean {
  return /(^|_)urls?$/.test(name);
}

/** Calls `note` with the texts of media fields. */
function visit(
  value: unknown,
  path: string,
  isMedia: boolean,
  note: (value: string, path: string) => void,
): void {
  if (typeof value === 'string') {
    if (isMedia && value !== '') note(value, path);
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => visit(item, `${path}/${i}`, isMedia, note));
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      visit(item, `${path}/${pointerSegment(name)}`, isMediaField(name), note);
    }
  }
}

/** Checked after each reference: `noteMedia` searches the whole list, so it must stay short. */
export function isTooMuch({ files, urls }: MediaInputs): boolean {
  const mentions = files.reduce((sum, file) => sum + file.mentions, 0);
  return mentions + urls.length > mediaInputsMax;
}

const tooMuch = `has more than ${mediaInputsMax} files and addresses`;

/** Adds a reference to `found`; returns false if it has none of the allowed forms. */
export function noteMedia(value: string, path: string, found: MediaInputs): boolean {
  const file = parseFileId(value);
  if (file !== null) {
    const known = found.files.find(({ id }) => id === file);
    if (known) known.mentions++;
    else found.files.push({ path, id: file, mentions: 1 });
    return true;
  }
  if (/^https?:/i.test(value)) {
    found.urls.push({ path, url: value });
    return true;
  }
  // An empty or broken data address would cost an upstream call that refuses it.
  const data = dataIn(value);
  return (data !== null && mediaTypes.test(usualType(data.content_type))) || sampleForm.test(value);
}

/** Types that a data address may state. The bytes of a general one decide what it is. */
const mediaTypes =
  /^(?:(?:image|video|audio)\/|text\/plain$|application\/(?:pdf|ogg|octet-stream)$)/;

/** The rule that a value of a media field breaks, for error messages. */
export function mediaRule(value: string): string {
  return /^\s*data:/i.test(value)
    ? 'is a data: address without data, with invalid base64, or of a type that is no media'
    : mediaForms;
}

const mediaForms = 'must be a file_id of POST /files, a public http(s) address or a data: address';

/** A name as a segment of a JSON pointer (RFC 6901). */
export function pointerSegment(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The input field that a JSON pointer leads into; `input` for the whole input. */
export function fieldOf(path: string): string {
  return path.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~') || 'input';
}

/**
 * The error for one field, with the rule as data in `details.rules`. The path is a JSON pointer, ''
 * for the whole input.
 */
export function invalid(path: string, rule: string, why: ReasonDetails = {}): ApiError {
  return new ApiError('invalid_input', {
    message: `${path === '' ? 'The input' : path} ${rule}.`,
    param: fieldOf(path),
    details: { errors: [{ path, message: rule }], rules: [why] },
  });
}
