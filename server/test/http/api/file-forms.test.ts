/** POST /files as a form: what OpenAI's client sends is stored, odd forms leave nothing. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import OpenAI, { toFile } from 'openai';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { image } from '../../storage/media-fixtures.ts';

const maxBytes = 1_000_000;
let png: Buffer;
const { service, account } = withService(async () => {
  png = await image('png');
  return { env: { FAREBOX_UPLOAD_MAX_BYTES: String(maxBytes) }, times: { lingerMs: 300 } };
});

type Line = string | Buffer;
const file = (more = 'name="file"; filename="a.png"', bytes: Line = png, type = 'image/png') => [
  `--b\r\nContent-Disposition: form-data; ${more}\r\nContent-Type: ${type}\r\n\r\n`,
  bytes,
  '\r\n',
];
const field = (name: string, text: Line) => [
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`,
  text,
  '\r\n',
];
const form = (...parts: Line[][]) =>
  Buffer.concat([...parts.flat(), '--b--\r\n'].map((part) => Buffer.from(part)));

function send(raw: Buffer | ReadableStream, type = 'multipart/form-data; boundary=b') {
  return account.upload(raw, type);
}

/** The body in pieces of this size, without a length. */
const inPieces = (body: Buffer, size: number) =>
  ReadableStream.from(
    (function* () {
      for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
    })(),
  );

async function bytesOf({ body }: Reply): Promise<string> {
  const headers = { authorization: `Key ${account.key}` };
  const got = await fetch(`${service.base}/v1/files/${body.file_id}`, { headers });
  return createHash('sha256')
    .update(Buffer.from(await got.arrayBuffer()))
    .digest('hex');
}

/** Everything that an upload may leave behind. */
async function left() {
  const media = readdirSync(join(service.dir, 'media'), { recursive: true, withFileTypes: true });
  return { ...(await traces(service)), stored: media.filter((entry) => entry.isFile()).length };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe("the openai client's files.create", () => {
  const client = () =>
    new OpenAI({ baseURL: `${service.base}/v1`, apiKey: account.key, maxRetries: 0 });
  const onDisk = (name: string, bytes: Buffer | string) => {
    const path = join(service.dir, name);
    writeFileSync(path, bytes);
    return createReadStream(path);
  };
  const sources: [name: string, make: () => Promise<any> | any, filename: string, type: string][] =
    [
      ['a stream of a file', () => onDisk('café "1".png', png), 'café "1".png', 'image/png'],
      [
        'a File',
        () => new File([new Uint8Array(png)], 'b.png', { type: 'image/png' }),
        'b.png',
        'image/png',
      ],
      ['bytes', () => toFile(png, 'c.png'), 'c.png', 'image/png'],
      [
        'a text of another name',
        () => onDisk('d.jsonl', '{"a":1}\n{"a":2}\n'),
        'd.jsonl',
        'text/plain',
      ],
      [
        'a text of a declared type',
        () => toFile(Buffer.from('{}'), 'e.json', { type: 'application/json' }),
        'e.json',
        'text/plain',
      ],
      [
        'a reply',
        async () => toFile(new Response(new Uint8Array(png)), 'f.png'),
        'f.png',
        'image/png',
      ],
    ];
  for (const [name, make, filename, type] of sources) {
    test(`stores ${name}`, async () => {
      const stored: any = await client().files.create({ file: await make(), purpose: 'vision' });
      assert.match(stored.id, /^file_[0-9a-f]{32}$/);
      const { id, file_id, object, bytes, size, purpose, content_type } = stored;
      assert.deepEqual(
        [id, object, bytes, stored.filename, purpose, content_type],
        [file_id, 'file', size, filename, 'vision', type],
      );
      assert.ok(Date.parse(stored.expires_at) > Date.now());
    });
  }

  test('names what it asks for in vain', async () => {
    const { response } = await client()
      .files.create({
        file: await toFile(png, 'a.png'),
        purpose: 'user_data',
        expires_after: { anchor: 'created_at', seconds: 3600 },
      })
      .withResponse();
    assert.equal(response.headers.get('x-ignored-fields'), 'expires_after');
  });
});

describe('a form', () => {
  test('may have its fields in any order, and gives the raw reply and more', async () => {
    for (const body of [
      form(field('purpose', 'vision'), file()),
      form(file(), field('purpose', 'vision')),
    ]) {
      const { status, body: got } = await send(body);
      assert.equal(status, 201);
      const { file_id, created_at, expires_at, ...rest } = got;
      assert.deepEqual(rest, {
        content_type: 'image/png',
        size: png.length,
        sha256: sha256(png),
        id: file_id,
        object: 'file',
        bytes: png.length,
        filename: 'a.png',
        purpose: 'vision',
      });
      assert.ok(created_at < expires_at);
    }
  });

  const names: [more: string, filename: string][] = [
    [`name="file"; filename="x.png"; filename*=UTF-8''%D1%91%20%22.png`, 'ё ".png'],
    [`name="file"; filename*=utf-8'en'a%2Fb.png`, 'a/b.png'],
    [`name="file"; filename="x.png"; filename*=UTF-8''%D1%`, 'x.png'],
    [`name=file; filename=plain.png`, 'plain.png'],
    [`name="file"; filename=""`, ''],
  ];
  for (const [more, filename] of names)
    test(`names its file by ${more}`, async () => {
      const reply = await send(form(file(more)));
      assert.equal(reply.status, 201, reply.text);
      assert.deepEqual([reply.body.filename, reply.body.purpose], [filename, 'user_data']);
    });

  for (const size of [1, 7, 4096])
    test(`is read in pieces of ${size} bytes, with its boundary inside the file`, async () => {
      const tricky = Buffer.concat([
        Buffer.from('\r\n--a\r\n--\r\n-b\r\n--c text'),
        Buffer.alloc(900, '\r\n--'),
      ]);
      const reply = await send(
        inPieces(form(file('name="file"; filename="t"', tricky, 'text/plain')), size),
      );
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.sha256, sha256(tricky));
      assert.equal(await bytesOf(reply), sha256(tricky));
    });

  test('may have exactly the largest file', async () => {
    const bytes = Buffer.alloc(maxBytes, 'text ');
    const body = form(
      field('purpose', 'x'),
      file('name="file"; filename="t"', bytes, 'text/plain'),
    );
    for (const raw of [body, inPieces(body, 65_536)])
      assert.equal((await send(raw)).body.size, maxBytes);
  });

  const big = Buffer.alloc(maxBytes + 1, 'text ');
  const refused: [
    name: string,
    code: ErrorCode,
    says: RegExp,
    body: () => Buffer,
    type?: string,
  ][] = [
    ['no file', 'bad_request', /no file in the field file/, () => form(field('purpose', 'x'))],
    ['nothing', 'bad_request', /no file in the field file/, () => form()],
    ['two files', 'bad_request', /more than one file/, () => form(file(), file())],
    [
      'a second file of another name',
      'bad_request',
      /more than one file/,
      () => form(file(), file('name="x"; filename="y"')),
    ],
    [
      'the file in another field',
      'bad_request',
      /image is not a file of this call: send it as file/,
      () => form(file('name="image"; filename="y"')),
    ],
    [
      'the file as a text',
      'bad_request',
      /came as a text.*curl -F file=@PATH/,
      () => form(field('file', png)),
    ],
    ['an empty file', 'bad_request', /empty/, () => form(file(undefined, ''))],
    [
      'another boundary',
      'bad_request',
      /not a complete form/,
      () => form(file()),
      'multipart/form-data; boundary=c',
    ],
    [
      'no boundary',
      'bad_request',
      /must name the boundary/,
      () => form(file()),
      'multipart/form-data',
    ],
    ['its end missing', 'bad_request', /not a complete form/, () => form(file()).subarray(0, -5)],
    [
      'half of it missing',
      'bad_request',
      /not a complete form/,
      () => form(file()).subarray(0, 120),
    ],
    [
      'a field twice',
      'bad_request',
      /purpose must be sent once/,
      () => form(field('purpose', 'x'), file(), field('purpose', 'y')),
    ],
    [
      'a text that is none',
      'bad_request',
      /UTF-8/,
      () => form(file(), field('purpose', Buffer.from([0xff]))),
    ],
    [
      'a long tail',
      'bad_request',
      /not a complete form/,
      () => Buffer.concat([form(file()), Buffer.alloc(100_000)]),
    ],
    [
      'a long preamble',
      'bad_request',
      /not a complete form/,
      () => Buffer.concat([Buffer.alloc(100_000), form(file())]),
    ],
    [
      'long texts',
      'payload_too_large',
      /texts of the form/,
      () => form(field('a', 'x'.repeat(40_000)), file(), field('c', 'x'.repeat(40_000))),
    ],
    [
      'a file that is too large',
      'payload_too_large',
      /larger than 1000000 bytes/,
      () => form(file('name="file"; filename="t"', big, 'text/plain')),
    ],
    [
      'a file far too large',
      'payload_too_large',
      /larger than 1000000 bytes/,
      () => form(file('name="file"; filename="t"', Buffer.concat([big, big]), 'text/plain')),
    ],
    [
      'a program',
      'unsupported_media_type',
      /not accepted/,
      () =>
        form(
          file(
            undefined,
            Buffer.from('\x7fELF\x02\x01\x01\0\0\0', 'latin1'),
            'application/octet-stream',
          ),
        ),
    ],
    [
      'another type than it says',
      'unsupported_media_type',
      /image\/jpeg, but the bytes are image\/png/,
      () => form(file(undefined, png, 'image/jpeg')),
    ],
    [
      'another kind of parts',
      'unsupported_media_type',
      /multipart\/form-data with the field file/,
      () => form(file()),
      'multipart/mixed; boundary=b',
    ],
  ];
  for (const [name, code, says, make, type] of refused) {
    test(`with ${name} is refused and leaves nothing`, async () => {
      const before = await left();
      for (const raw of [make(), inPieces(make(), 5000)]) {
        const reply = await send(raw, type);
        assertRefused(reply, code, { about: name });
        assert.match(reply.body.error.message, says);
      }
      assert.deepEqual(await left(), before);
    });
  }

  test('whose sender leaves in the middle leaves nothing', async () => {
    const before = await left();
    const { hostname, port } = new URL(service.base);
    const body = form(file());
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Key ${account.key}\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body.subarray(0, body.length - 20));
    socket.end();
    await new Promise((closed) => socket.resume().once('close', closed));
    await until('nothing is left', async () => isDeepStrictEqual(await left(), before));
  });
});
