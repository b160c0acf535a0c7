import { uploadForm } from '../../api/files.ts';
import { rangeHeaders, refusedRangeHeaders, storedHeaders } from './outputs.ts';
import { exampleFileId } from '../request-examples.ts';
import { one, type Content, type RouteDocs } from '../route-docs.ts';

/** POST /files */

const bytes: Content = Object.fromEntries(
  ['image/*', 'video/*', 'audio/*', 'application/pdf', 'text/plain'].map((type) => [
    type,
    { schema: { type: 'string', format: 'binary' } },
  ]),
);

export const upload: RouteDocs = {
  operationId: 'uploadFile',
  tag: 'Files',
  summary: 'Upload a file',
  description:
    'The body is the raw bytes, with their `Content-Type`: images (except SVG), video, ' +
    'audio, PDF or plain text. It may also be a form with the file in the field `file`, as ' +
    "OpenAI's clients send it: then the reply also has `id`, `object`, `bytes`, `filename` and " +
    '`purpose`, and `x-ignored-fields` names the other fields. A file is kept for 7 days; only the account that uploaded it ' +
    'can use it. Limits, unless the operator changes them: one file has at most 100 MiB ' +
    '(413), an account has at most 32 uploads open at once (429, ' +
    '`details.open_uploads_limit`) and keeps at most 20,000 files at once (413, ' +
    '`details.max_files` and `first_expires_at`), and its files together have at most 10 GiB, and never more than ' +
    'the space that then stays free for all other accounts (413, with ' +
    '`details.max_bytes_in_all`, `used_bytes` and `first_expires_at`). An upload that sends ' +
    'fewer than 8 KiB in 20 seconds is cut off. An account that was never topped up cannot ' +
    'upload (402). While the disk is nearly full, the reply is 503.',
  body: { description: 'The bytes of the file.', content: bytes, form: uploadForm },
  replies: {
    201: {
      description: 'Stored.',
      headers: ['Ignored?'],
      examples: one({
        file_id: exampleFileId,
        content_type: 'image/png',
        size: 183_402,
        sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        created_at: '2026-03-01T12:00:00.000Z',
        expires_at: '2026-03-08T12:00:00.000Z',
      }),
    },
  },
  errors: ['bad_request', 'insufficient_balance', 'payload_too_large', 'unsupported_media_type'],
};

/** GET /files/{file_id} */
export const readFile: RouteDocs = {
  operationId: 'readFile',
  tag: 'Files',
  summary: 'Download an uploaded file',
  description:
    'The bytes as uploaded, for keys of the account that uploaded them. Upstreams that ' +
    'work on a file get a signed link that works for an hour.',
  headers: rangeHeaders,
  replies: {
    200: { description: 'The whole file.', headers: storedHeaders, content: bytes },
    206: {
      description: 'The requested range.',
      headers: [...storedHeaders, 'ContentRange'],
      content: bytes,
    },
    304: { description: 'Not changed: you have the current version.', headers: storedHeaders },
  },
  errors: ['bad_request', 'not_found', 'expired'],
  errorsAt: {
    416: {
      codes: ['bad_request'],
      description: 'The range is outside the file.',
      headers: refusedRangeHeaders,
    },
  },
};
