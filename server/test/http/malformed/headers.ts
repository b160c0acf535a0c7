import assert from 'node:assert/strict';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { json } from '../../kit/rough.ts';
import type { Reply } from '../../kit/service.ts';
import { cancel, marker, sent, type Call, type Row } from './row.ts';

/** Headers of a submit that no client sends. */

const { headers: typed = [], body } = json(`{"prompt":"${marker}"}`);
const [type = '', length = ''] = typed;
const usual = ['Host: x', 'Connection: close'];

type Case = [name: string, headers: (key: string) => string[]];

/** A submit with exactly these headers; `headers` gets the header line of a valid key. */
function submit(headers: (key: string) => string[]): Call {
  return sent('POST /v1/queue/fake/image', ({ account }) => ({
    usual: [],
    headers: headers(`Authorization: Key ${account.key}`),
    body,
  }));
}

/** The headers of a valid submit, and further ones. */
function good(...more: string[]): (key: string) => string[] {
  return (key) => [...usual, key, type, length, ...more];
}

/** Headers of a submit that are valid except for the length. */
function framed(...framing: string[]): (key: string) => string[] {
  return (key) => [...usual, key, type, ...framing];
}

/** Headers of a submit that are valid except for the type. */
function ofType(...types: string[]): (key: string) => string[] {
  return (key) => [...usual, key, ...types, length];
}

const keys: Case[] = [
  ['no key', () => [...usual, type, length]],
  ['an empty Authorization', () => [...usual, 'Authorization:', type, length]],
  ['two keys', (key) => [...usual, key, key, type, length]],
  ['a good key and a bad one', good('Authorization: Key x')],
  ['a key of 8 KB', () => [...usual, `Authorization: Key fbx_${'a'.repeat(8_000)}`, type, length]],
  ['a key with bytes beyond ASCII', (key) => [...usual, `${key}\xff`, type, length]],
];

const types: Case[] = [
  ['no Content-Type', ofType()],
  ['an empty Content-Type', ofType('Content-Type:')],
  ['two Content-Types', ofType('Content-Type: text/plain', type)],
  ['JSON in UTF-16', ofType(`${type}; charset=utf-16`)],
  ['a form', ofType('Content-Type: multipart/form-data; boundary=x')],
  ['a Content-Type of semicolons', ofType('Content-Type: ;;;')],
  ['a Content-Type of 10 KB', ofType(`Content-Type: ${'a'.repeat(10_000)}`)],
  ['an unknown Content-Encoding', good('Content-Encoding: rot13')],
];

const bad: Case[] = [
  ['a key with a control byte', (key) => [...usual, `${key}\x01`, type, length]],
  ['a folded key', (key) => [...usual, key.replace('Key ', 'Key\r\n '), type, length]],
  ['two Idempotency-Keys', good('Idempotency-Key: a', 'Idempotency-Key: b')],
  ['twice the same Idempotency-Key', good('Idempotency-Key: a', 'Idempotency-Key: a')],
  ['an empty Idempotency-Key', good('Idempotency-Key:')],
  ['an Idempotency-Key of 256 bytes', good(`Idempotency-Key: ${'a'.repeat(256)}`)],
  ['an Idempotency-Key beyond ASCII', good('Idempotency-Key: \xe9')],
  ['an Idempotency-Key with DEL', good('Idempotency-Key: a\x7f')],
  ['no length at all', framed()],
  ['a length below zero', framed('Content-Length: -1')],
  ['a length in words', framed('Content-Length: many')],
  ['a length in hexadecimal', framed('Content-Length: 0x1f')],
  ['a length with a plus', framed('Content-Length: +31')],
  ['a list of lengths', framed('Content-Length: 31, 31')],
  ['a length beyond all numbers', framed(`Content-Length: ${'9'.repeat(40)}`)],
  ['two lengths', good('Content-Length: 5')],
  ['a length and chunks', good('Transfer-Encoding: chunked')],
  ['chunks and a length', framed('Transfer-Encoding: chunked', length)],
  ['chunks in an unknown wrapping', framed('Transfer-Encoding: chunked, identity')],
  ['chunks behind a blank', good('Transfer-Encoding : chunked')],
  ['chunks spelled oddly', good('Transfer-Encoding: xchunked')],
  ['no Host', (key) => ['Connection: close', key, type, length]],
  ['two Hosts', good('Host: y')],
  ['a blank in a name', good('X Y: z')],
  ['no name', good(': z')],
  ['a NUL in a value', good('X: a\x00b')],
  ['a bare CR in a value', good('X: a\rb')],
];

const tooLong: Case[] = [
  ['100 KB in one header', good(`X: ${'a'.repeat(100_000)}`)],
  ['2,001 headers', good(...Array.from({ length: 2_001 }, (_, i) => `X${i}: y`))],
];

function rowsOf(cases: Case[], ...answers: (ErrorCode | number)[]): Row[] {
  return cases.map(([name, headers]) => [`a submit with ${name}`, submit(headers), answers]);
}

export const refused: Row[] = [
  ...rowsOf(keys, 'unauthorized'),
  ...rowsOf(types, 'unsupported_media_type'),
  ...rowsOf(bad, 'bad_request'),
  ...tooLong.map(([name, headers]): Row => {
    const code = (reply: Reply) => assertRefused(reply, 'bad_request', { status: 431 });
    return [`a submit with ${name}`, submit(headers), [431], code];
  }),
];

const harmless: Case[] = [
  ['an expectation', good('Expect: 100-continue')],
  ['an unknown expectation', good('Expect: a-miracle')],
  ['a wish for HTTP/2', good('Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAA')],
  ['names of objects', good('__proto__: x', 'constructor: y')],
  [
    'a foreign Host and origin',
    (key) => [
      'Host: evil.example',
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-For: 127.0.0.1',
      'Connection: close',
      key,
      type,
      length,
    ],
  ],
  ['another method inside', good('X-HTTP-Method-Override: DELETE')],
];

export const taken: Row[] = harmless.map(([name, headers]) => [
  `a submit with ${name}`,
  submit(headers),
  [202],
  async (reply, world) => {
    const { baseUrl } = world.service.app;
    assert.ok(reply.body.status_url.startsWith(baseUrl), 'links follow a header');
    await cancel(reply, world);
  },
]);
