import { ApiError } from './errors.ts';
import { parseFileId } from './id.ts';

/**
 * Where a model input names media: a URL, or a file of the caller's, in any field whose name says
 * so.
 */

/** Media references of one input at most: each costs a look-up and a download. */
export const mediaInputsMax = 64;

export interface MediaInputs {
  /** UUIDs of uploaded files, without repeats. */
  files: string[];
  /** Addresses, with the path of their field. */
  urls: { path: string; url: string }[];
}

/**
 * Finds them in the fields named `url`, `urls`, `…_url` or `…_urls`, at any depth. Throws ApiError
 * `invalid_input`
 * for a value in such a field that is neither a file id nor an http(s) or data address.
 */
export function mediaInputs(input: Record<string, unknown>): MediaInputs {
  const found: MediaInputs = { files: [], urls: [] };
  visit(input, '', false, found);
  if (found.files.length + found.urls.length > mediaInputsMax) {
    throw invalid('/', `names more than ${mediaInputsMax} files and addresses`);
  }
  return found;
}

const named = /(^|_)urls?$/;

function visit(value: unknown, path: string, isMedia: boolean, found: MediaInputs): void {
  if (typeof value === 'string') {
    if (isMedia && value !== '') note(value, path, found);
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => visit(item, `${path}/${i}`, isMedia, found));
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      visit(item, `${path}/${name}`, named.test(name), found);
    }
  }
}

function note(value: string, path: string, found: MediaInputs): void {
  const file = parseFileId(value);
  if (file !== null) {
    if (!found.files.includes(file)) found.files.push(file);
  } else if (/^https?:/i.test(value)) {
    found.urls.push({ path, url: value });
  } else if (!/^data:[a-z]+\/[a-z0-9.+-]+;base64,/i.test(value)) {
    throw invalid(
      path,
      'must be a file_id of POST /files, a public http(s) address or a base64 data: address',
    );
  }
}

/** One entry of `details.errors`. */
export function invalid(path: string, rule: string): ApiError {
  return new ApiError('invalid_input', {
    message: `${path === '/' ? 'The input' : path} ${rule}.`,
    param: path.split('/')[1] || 'input',
    details: { errors: [{ path, message: rule }] },
  });
}
