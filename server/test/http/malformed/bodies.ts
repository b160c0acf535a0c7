import assert from 'node:assert/strict';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { json, latin1 } from '../../kit/rough.ts';
import { cancel, sent, type Call, type Row } from './row.ts';

/** Bodies that are compressed, late, cut short or of another type than they claim. */

/** Largest upload of the service of these rows. */
export const uploadMaxBytes = 1_000;
const mebi = 1024 * 1024;

/** The paths that read a body, with its type. */
export const readers: [path: string, type: string][] = [
  ['/v1/estimate', 'application/json'],
  ['/v1/queue/fake/image', 'application/json'],
  ['/v1/chat/completions', 'application/json'],
  ['/v1/responses', 'application/json'],
  ['/v1/files', 'text/plain'],
];

const packed = {
  gzip: gzipSync(Buffer.alloc(10 * mebi)),
  deflate: deflateSync(Buffer.alloc(10 * mebi)),
  br: brotliCompressSync(Buffer.alloc(mebi)),
  'gzip, gzip': gzipSync(gzipSync(Buffer.alloc(10 * mebi))),
};

function rowsOf([path, type]: [path: string, type: string]): Row[] {
  const post = `POST ${path}`;
  const typed = `Content-Type: ${type}`;
  const body = '{"prompt":';
  const headers = [typed, 'Content-Length: 100'];
  const chunked = [typed, 'Transfer-Encoding: chunked'];
  return [
    ...Object.entries(packed).map(([encoding, bomb]): Row => [
      `a body of ${path} packed as ${encoding}`,
      sent(post, {
        headers: [
          'Content-Type: application/json',
          `Content-Encoding: ${encoding}`,
          `Content-Length: ${bomb.length}`,
        ],
        body: bomb,
      }),
      ['unsupported_media_type', 'payload_too_large'],
    ]),
    [
      `a body of ${path} that stops coming`,
      sent(post, { headers, body }),
      ['bad_request'],
      (reply) => assert.match(reply.body.error.message, /too slowly/),
    ],
    [`a sender of ${path} who leaves`, sent(post, { headers, body, leave: 'politely' }), []],
    [`a sender of ${path} who hangs up`, sent(post, { headers, body, leave: 'rudely' }), []],
    [
      `a body of ${path} whose chunks break off`,
      sent(post, { headers: chunked, body: `a\r\n${body}\r\n`, leave: 'politely' }),
      [],
    ],
    [
      `a body of ${path} whose chunk has no number`,
      sent(post, { headers: chunked, body: `zz\r\n${body}\r\n` }),
      [],
    ],
    [
      `a body of ${path} whose chunk is longer than its number`,
      sent(post, { headers: chunked, body: '5\r\n{"prompt":"too long"}\r\n0\r\n\r\n' }),
      [],
    ],
    [
      `a gigabyte for ${path}, before it has come`,
      sent(post, { headers: ['Content-Type: application/json', 'Content-Length: 1000000000'] }),
      ['payload_too_large'],
    ],
  ];
}

const unasked = json('{"a":1}');

const floodPng = Buffer.from('89504e470d0a1a0a0000000d494844520000ffff0000ffff0806000000', 'hex');
const zip = Buffer.concat([Buffer.from('504b0304140000000800', 'hex'), Buffer.alloc(100)]);
const page = '<!doctype html><script>alert(1)</script>';
const drawing = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>';

const uploads: [name: string, type: string, body: string | Buffer, code: ErrorCode][] = [
  ['nothing', 'image/png', '', 'bad_request'],
  ['a byte too many', 'text/plain', 'a'.repeat(uploadMaxBytes + 1), 'payload_too_large'],
  ["a script under an image's name", 'image/png', '#!/bin/sh\nrm -rf /', 'unsupported_media_type'],
  ['a page', 'text/html', page, 'unsupported_media_type'],
  ['a page as text', 'text/plain', page, 'unsupported_media_type'],
  ['a drawing', 'image/svg+xml', drawing, 'unsupported_media_type'],
  ['a drawing as an image', 'image/png', drawing, 'unsupported_media_type'],
  ['an archive', 'application/zip', zip, 'unsupported_media_type'],
  ['an archive as an image', 'image/png', zip, 'unsupported_media_type'],
  ['a program', 'application/octet-stream', '\x7fELF\x02\x01\x01', 'unsupported_media_type'],
  ['control bytes', 'text/plain', '\x00\x01\x02', 'unsupported_media_type'],
  ['no type at all', '', 'abc', 'unsupported_media_type'],
];

const oddUploads: [name: string, type: string, body: string | Buffer][] = [
  ['as many bytes as are allowed', 'text/plain', 'a'.repeat(uploadMaxBytes)],
  ['one byte', 'text/plain', 'a'],
  ['a picture that is a script as well', 'image/gif', 'GIF89a/*\x01\x00*/=1;alert(1)'],
  ['the head of a picture of 65,535 by 65,535', 'image/png', floodPng],
];

function upload(type: string, body: string | Buffer): Call {
  const length = latin1(body).length;
  return sent('POST /v1/files', {
    headers: [`Content-Type: ${type}`, `Content-Length: ${length}`],
    body,
  });
}

export const refused: Row[] = [
  ...readers.flatMap(rowsOf),
  ...['GET /v1/models', 'GET /v1/requests', 'HEAD /livez'].map((line): Row => [
    `a body that ${line} has not asked for`,
    sent(line, unasked),
    [200],
  ]),
  [
    'a body that a status has not asked for',
    sent(({ done }) => `GET /v1/requests/${done}/status`, unasked),
    [200],
  ],
  ...uploads.map(([name, type, body, code]): Row => [
    `an upload of ${name}`,
    upload(type, body),
    [code],
  ]),
];

const bytewise = json('{"prompt":"x"}');

export const taken: Row[] = [
  [
    'a body that comes byte by byte',
    sent('POST /v1/queue/fake/image', { headers: bytewise.headers, parts: [...bytewise.body] }),
    [202],
    cancel,
  ],
  [
    'chunks with extensions and trailers',
    sent('POST /v1/queue/fake/image', {
      headers: ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
      body: '9;a=b\r\n{"prompt"\r\n5\r\n:"x"}\r\n0\r\nX-Trailer: y\r\n\r\n',
    }),
    [202],
    cancel,
  ],
  ...oddUploads.map(([name, type, body]): Row => [
    `an upload of ${name}`,
    upload(type, body),
    [201],
    (reply) => {
      assert.equal(reply.body.content_type, type);
      assert.equal(reply.body.size, body.length);
    },
  ]),
];
