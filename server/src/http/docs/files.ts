import {
  integer,
  json,
  object,
  one,
  ref,
  text,
  time,
  type Content,
  type RouteDocs,
  type Schema,
} from './schema.ts';

/** POST /files */

export const schemas: Record<string, Schema> = {
  UploadedFile: object({
    file_id: text('Put it into any URL field of an input.', { pattern: '^file_[0-9a-f]{32}$' }),
    content_type: text('Found in the bytes.'),
    size: integer('Bytes.'),
    sha256: text('Of the bytes, hex.', { pattern: '^[0-9a-f]{64}$' }),
    created_at: time('When it was stored.'),
    expires_at: time('When it is deleted, 7 days later.'),
  }),
};

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
    'The raw bytes are the body, with the right `Content-Type`. Pictures (no SVG), video, audio, ' +
    'PDF and plain text, at most 100 MiB unless the operator says otherwise. Kept 7 days; usable ' +
    'by the account that uploaded it. The files of one account take at most 10 GiB together, unless ' +
    'the operator says otherwise; beyond it 413, with `details.max_bytes_in_all`, `used_bytes` and ' +
    '`first_expires_at`. While the disk is nearly full: 503.',
  body: { required: true, description: 'The bytes of the file.', content: bytes },
  replies: {
    201: {
      description: 'Stored.',
      content: json(
        ref('UploadedFile'),
        one({
          file_id: 'file_0199b3c27d1e7a449c3f5e0b8a6d2f10',
          content_type: 'image/png',
          size: 183_402,
          sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
          created_at: '2026-03-01T12:00:00.000Z',
          expires_at: '2026-03-08T12:00:00.000Z',
        }),
      ),
    },
  },
  errors: ['bad_request', 'payload_too_large', 'unsupported_media_type'],
};
