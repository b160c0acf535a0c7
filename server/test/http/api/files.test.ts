import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import * as bunny from 'mediabunny';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { DiskStorage } from '../../../src/storage/disk.ts';
import type { StartJob } from '../../../src/upstreams/upstream.ts';
import { accept } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { exchange } from '../../kit/wire.ts';
import { film, heic, image, sound } from '../../storage/media-fixtures.ts';

/** POST /files: accepted uploads, refused ones that leave nothing, and who may use a file. */

const maxBytes = 1_000_000;
const uploadWindowMs = 700;
const env = { FAREBOX_UPLOAD_MAX_BYTES: String(maxBytes), FAREBOX_FILE_DAYS: '2' };
const { service, account } = withService({ env, times: { uploadWindowMs, lingerMs: 300 } });

function upload(
  raw: Buffer | string | ReadableStream,
  type: string | null,
  key = account.key,
): Promise<Reply> {
  const headers: Record<string, string> = type === null ? {} : { 'content-type': type };
  return service.call('POST', '/v1/files', { key, raw, headers });
}

/** Paths of all stored bytes, temporary ones too. */
function stored(): string[] {
  const root = join(service.dir, 'media');
  // A temporary file may be removed while the folder is read.
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .sort();
}

/** Everything that an upload may leave behind. */
async function left() {
  return { ...(await traces(service)), stored: stored() };
}

const expire = (file_id: string) =>
  service.db.run(sql`update files set expires_at = now() - interval '1 s'
    where id = ${file_id.slice('file_'.length)}`);

const pdf = Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n%%EOF\n', 'latin1');
const real = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../fixtures/media', name));
const samples: Record<string, () => Promise<Buffer> | Buffer> = {
  'image/png': () => image('png'),
  'image/jpeg': () => image('jpeg'),
  'image/webp': () => image('webp'),
  'image/gif': () => image('gif'),
  'image/avif': () => image('avif'),
  'image/heic': () => heic(40, 30),
  'video/mp4': () => film(new bunny.Mp4OutputFormat()),
  'video/quicktime': () => film(new bunny.MovOutputFormat()),
  'video/webm': () => film(new bunny.WebMOutputFormat()),
  'video/x-matroska': () => film(new bunny.MkvOutputFormat()),
  'audio/mpeg': () => sound(new bunny.Mp3OutputFormat(), 'mp3'),
  'audio/wav': () => sound(new bunny.WavOutputFormat(), 'pcm-s16'),
  'audio/ogg': () => sound(new bunny.OggOutputFormat(), 'opus'),
  'audio/flac': () => sound(new bunny.FlacOutputFormat(), 'flac'),
  'audio/aac': () => sound(new bunny.AdtsOutputFormat(), 'aac'),
  'application/pdf': () => pdf,
  'text/plain': () => Buffer.from('A text of people, с кириллицей.\n'),
};

describe('an accepted upload', () => {
  for (const [type, make] of Object.entries(samples)) {
    test(type, async () => {
      const bytes = await make();
      const reply = await upload(bytes, `${type}; charset=utf-8`);
      assert.equal(reply.status, 201, reply.text);
      const { file_id, created_at, expires_at, ...rest } = reply.body;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      assert.deepEqual(rest, { content_type: type, size: bytes.length, sha256 });
      assert.match(file_id, /^file_[0-9a-f]{32}$/);
      assert.equal(Date.parse(expires_at) - Date.parse(created_at), 2 * 24 * 3600 * 1000);
      assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000);
    });
  }

  const told: [name: string, declared: string, content_type: string][] = [
    ['lzw.tif', 'image/tiff', 'image/tiff'],
    ['photo.bmp', 'image/x-ms-bmp', 'image/bmp'],
    ['photo.heic', 'image/heif', 'image/heic'],
    ['general.avif', 'image/avif', 'image/avif'],
    ['sound.webm', 'audio/webm;codecs=opus', 'audio/webm'],
    ['sound.webm', 'video/webm', 'audio/webm'],
    ['sound.mp4', 'audio/mp4', 'audio/mp4'],
    ['sound.mp4', 'video/mp4', 'audio/mp4'],
    ['sound.mov', 'video/quicktime', 'audio/mp4'],
    ['sound.mkv', 'audio/x-matroska', 'audio/x-matroska'],
    ['live.webm', 'video/webm', 'video/webm'],
    ['rotated.mp4', 'video/mp4', 'video/mp4'],
  ];
  for (const [name, declared, content_type] of told)
    test(`${name}, sent as ${declared}, is ${content_type}`, async () => {
      const reply = await upload(real(name), declared);
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.content_type, content_type);
    });

  test('a recording that breaks off keeps the kind that it is called', async () => {
    const bytes = real('sound.webm').subarray(0, 200);
    assert.equal((await upload(bytes, 'audio/webm')).body.content_type, 'audio/webm');
    assert.equal((await upload(bytes, 'video/webm')).body.content_type, 'video/webm');
  });

  test('a body in chunks, without a length', async () => {
    const bytes = await image('png');
    const reply = await upload(new Blob([bytes]).stream(), 'image/png');
    assert.equal(reply.status, 201, reply.text);
    assert.equal(reply.body.size, bytes.length);
  });

  test('exactly as many bytes as may be, announced or not', async () => {
    const bytes = Buffer.alloc(maxBytes, 'text ');
    for (const raw of [bytes, new Blob([bytes]).stream()]) {
      const reply = await upload(raw, 'text/plain');
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.size, maxBytes);
    }
  });

  test('the same bytes twice are two files', async () => {
    const bytes = await image('png');
    const ids = [await upload(bytes, 'image/png'), await upload(bytes, 'image/png')].map(
      ({ body }) => body.file_id,
    );
    assert.notEqual(ids[0], ids[1]);
  });
});

describe('what the files of one account may take together', () => {
  const room = 250_000;
  const bytes = (size: number) => Buffer.alloc(size, 'text ');
  const env = { FAREBOX_FILES_MAX_BYTES: String(room), FAREBOX_UPLOAD_MAX_BYTES: String(room) };
  const held = async ({ account_id }: TestAccount) => {
    const [row] = await service.db.run<{ n: bigint }>(sql`select coalesce(sum(size), 0)::bigint as n
      from files where account_id = ${account_id}`);
    return Number(row!.n);
  };
  const send = (raw: Buffer | ReadableStream, key: string, base: string) =>
    service.call('POST', '/v1/files', {
      key,
      raw,
      base,
      headers: { 'content-type': 'text/plain' },
    });

  test('is limited; the refusal names the limit, the used bytes and the first expiry', async () => {
    const { base } = await service.another(env);
    const who = await service.account();
    const first = await send(bytes(100_000), who.key, base);
    assert.equal(first.status, 201);
    assert.equal((await send(bytes(150_000), who.key, base)).status, 201, 'to the last byte');
    const earlier = await left();
    for (const raw of [
      bytes(1),
      new Blob([bytes(1)]).stream(),
      new Blob([bytes(9_000)]).stream(),
    ]) {
      const { message, details } = assertRefused(
        await send(raw, who.key, base),
        'payload_too_large',
      );
      const { expires_at } = first.body;
      assert.deepEqual(details, {
        max_bytes_in_all: room,
        used_bytes: room,
        first_expires_at: expires_at,
      });
      for (const part of [String(room), expires_at]) assert.ok(message.includes(part), message);
    }
    assert.deepEqual(await left(), earlier, 'nothing stays of what was refused');
    const other = await service.account();
    assert.equal((await send(bytes(200_000), other.key, base)).status, 201, 'others have theirs');
    await expire(first.body.file_id);
    assert.equal((await send(bytes(100_000), who.key, base)).status, 201, 'its room is free again');
  });

  test('is limited in number, too, also for uploads at once', async () => {
    const { base } = await service.another({ FAREBOX_FILES_MAX: '2' });
    const who = await service.account();
    const before = stored().length;
    const sent = await Promise.all([1, 2, 3, 4].map(() => send(bytes(10), who.key, base)));
    const taken = sent.filter(({ status }) => status === 201);
    assert.equal(taken.length, 2);
    const { message, details } = assertRefused(
      await send(bytes(10), who.key, base),
      'payload_too_large',
    );
    const first_expires_at = taken.map(({ body }) => body.expires_at).toSorted()[0];
    assert.deepEqual(details, { max_files: 2, first_expires_at });
    assert.match(message, /up to 2 uploaded files/);
    assert.equal(stored().length - before, 2, 'nothing stays of what was refused');
    await expire(taken[0]!.body.file_id);
    assert.equal((await send(bytes(10), who.key, base)).status, 201);
  });

  test('holds for uploads at once, announced or not', async () => {
    const { base } = await service.another(env);
    for (const make of [bytes, (size: number) => new Blob([bytes(size)]).stream()]) {
      const who = await service.account();
      const before = stored().length;
      const replies = await Promise.all(
        Array.from({ length: 6 }, () => send(make(100_000), who.key, base)),
      );
      const taken = replies.filter(({ status }) => status === 201);
      assert.equal(taken.length, 2);
      for (const reply of replies.filter(({ status }) => status !== 201))
        assertRefused(reply, 'payload_too_large');
      assert.equal(await held(who), 200_000);
      assert.equal(stored().length - before, 2);
    }
  });
});

describe('a refused upload leaves nothing', () => {
  const png = () => image('png');
  const text = (content: string) => () => Buffer.from(content);
  const exe = () => Buffer.concat([Buffer.from('MZ\x90\0\x03\0\0\0', 'latin1'), Buffer.alloc(500)]);
  const over = (extra: number) => () => Buffer.alloc(maxBytes + extra, 'text ');
  const cases: [
    name: string,
    make: () => Promise<Buffer> | Buffer,
    type: string | null,
    code: ErrorCode,
  ][] = [
    ['a picture called a film', png, 'video/mp4', 'unsupported_media_type'],
    ['a picture of another sort', png, 'image/jpeg', 'unsupported_media_type'],
    ['a picture called bytes', png, 'application/octet-stream', 'unsupported_media_type'],
    ['a picture without a type', png, null, 'unsupported_media_type'],
    ['a type that is none', png, 'picture', 'unsupported_media_type'],
    ['a type named like a method', png, 'constructor', 'unsupported_media_type'],
    [
      'SVG',
      text('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'),
      'image/svg+xml',
      'unsupported_media_type',
    ],
    [
      'SVG called a text',
      text('<?xml version="1.0"?>\n<svg></svg>'),
      'text/plain',
      'unsupported_media_type',
    ],
    ['HTML', text('<!doctype html><script>1</script>'), 'text/html', 'unsupported_media_type'],
    [
      'HTML called a text',
      text('\n <html><body>hi</body></html>'),
      'text/plain',
      'unsupported_media_type',
    ],
    ['a program', exe, 'application/x-msdownload', 'unsupported_media_type'],
    ['a program called a picture', exe, 'image/png', 'unsupported_media_type'],
    [
      'a shell script called a program',
      text('#!/bin/sh\nrm -rf .\n'),
      'application/x-sh',
      'unsupported_media_type',
    ],
    ['JSON', text('{"a":1}'), 'application/json', 'unsupported_media_type'],
    ['no bytes', text(''), 'image/png', 'bad_request'],
    ['one byte more than may be', over(1), 'text/plain', 'payload_too_large'],
    ['far more than may be', over(3_000_000), 'text/plain', 'payload_too_large'],
  ];
  for (const [name, make, type, code] of cases) {
    test(`${name}: ${code}, announced or not`, async () => {
      const earlier = await left();
      const bytes = await make();
      for (const raw of [bytes, new Blob([bytes]).stream()]) {
        const error = assertRefused(await upload(raw, type), code);
        if (code === 'payload_too_large') assert.deepEqual(error.details, { max_bytes: maxBytes });
      }
      assert.deepEqual(await left(), earlier);
    });
  }

  const form = Buffer.from(
    '--x\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n1\r\n--x--\r\n',
  );
  const told: [string, Buffer, string | null, RegExp][] = [
    [
      'parts that are no form',
      form,
      'multipart/mixed; boundary=x',
      /raw bytes.*or multipart\/form-data/,
    ],
    ['a text in UTF-16', Buffer.from('\ufeffпривет', 'utf16le'), 'text/plain', /in UTF-8/],
    [
      'a text in one byte a letter',
      Buffer.from('caf\xe9 au lait', 'latin1'),
      'text/csv',
      /in UTF-8/,
    ],
    [
      'a sound of no known sort',
      Buffer.from('\xff\0', 'latin1'),
      'audio/x',
      /images, video, audio/,
    ],
    ['an AVI', real('film.avi'), 'video/x-msvideo', /are video\/vnd\.avi,.*PNG.*TIFF.*MP4/],
    ['a 3GP', real('film.3gp'), 'video/3gpp', /are video\/3gpp,/],
    ['an AIFF', real('sound.aiff'), 'audio/aiff', /are audio\/aiff,/],
    ['UTF-16 of a client that guesses', Buffer.from('\ufeffa', 'utf16le'), 'audio/x', /in UTF-8/],
    ['a file without a type', Buffer.from('x'), null, /images, video, audio, PDF and plain text/],
    ['a type that is none', Buffer.from('x'), 'x', /images, video, audio, PDF and plain text/],
  ];
  for (const [name, bytes, type, message] of told) {
    test(`${name}, and is told what to send`, async () => {
      const earlier = await left();
      const error = assertRefused(await upload(bytes, type), 'unsupported_media_type');
      assert.match(error.message, message);
      assert.equal(error.param, 'content-type');
      assert.deepEqual(await left(), earlier);
    });
  }

  test('an empty Content-Type, which is told what is taken', async () => {
    const head = ['POST /v1/files HTTP/1.1', 'host: x', 'connection: close'];
    const own = [`authorization: Key ${account.key}`, 'content-type:', 'content-length: 1'];
    const [reply] = (await exchange(service.base, [...head, ...own, '', 'x'].join('\r\n'))).replies;
    assert.equal(reply!.body.error.code, 'unsupported_media_type');
    assert.match(reply!.body.error.message, /images, video, audio, PDF and plain text/);
  });

  test('a compressed body', async () => {
    const earlier = await left();
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    const reply = await service.call('POST', '/v1/files', { key: account.key, raw: 'x', headers });
    assert.equal(assertRefused(reply, 'unsupported_media_type').param, 'content-encoding');
    assert.deepEqual(await left(), earlier);
  });

  test('bytes whose row cannot be written', async () => {
    const earlier = await left();
    const rename = (from: string, to: string) =>
      service.db.run(rawSql(`alter table ${from} rename to ${to}`));
    await rename('files', 'files_away');
    try {
      assertRefused(await upload(await image('png'), 'image/png'), 'internal_error');
    } finally {
      await rename('files_away', 'files');
    }
    assert.deepEqual(await left(), earlier);
  });
});

describe('a body that does not come as announced', () => {
  const head = (length: number) =>
    [
      'POST /v1/files HTTP/1.1',
      'host: x',
      `authorization: Key ${account.key}`,
      'content-type: text/plain',
      `content-length: ${length}`,
      '\r\n',
    ].join('\r\n');
  const half = 'a text that stops in the middle '.repeat(1_000);

  async function settled(earlier: Awaited<ReturnType<typeof left>>): Promise<void> {
    const { inFlight } = service.app.metrics;
    await until('no call is under way', async () => (await inFlight.get()).values[0]?.value === 0);
    await until(
      'nothing is left',
      async () => JSON.stringify(stored()) === JSON.stringify(earlier.stored),
    );
    assert.deepEqual(await left(), earlier);
  }

  test('shorter, and its sender closes its side: refused', async () => {
    const earlier = await left();
    const { replies, closed } = await exchange(service.base, head(half.length + 1) + half, {
      leave: 'politely',
    });
    assert.equal(closed, true);
    assert.ok(replies.every(({ status }) => status === 400));
    await settled(earlier);
  });

  test('shorter, and its sender is gone: dropped, and no fault of ours', async () => {
    const earlier = await left();
    const lines = service.log.length;
    const { hostname, port } = new URL(service.base);
    const socket = connect(Number(port), hostname);
    socket.write(head(half.length + 1) + half);
    await until('its bytes come in', () => stored().length > earlier.stored.length);
    socket.destroy();
    await settled(earlier);
    const logged = service.log.slice(lines).map((line) => JSON.parse(line));
    assert.deepEqual(
      logged.filter(({ msg }) => msg !== 'call'),
      [],
    );
  });

  test('nothing more for too long: cut off', async () => {
    const earlier = await left();
    const { replies, closed } = await exchange(service.base, head(half.length + 1) + half);
    assert.equal(closed, true, 'the connection was kept');
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.error.code]),
      [[400, 'bad_request']],
    );
    assert.match(replies[0]!.body.error.message, /too slowly/);
    await settled(earlier);
  });

  test('a byte now and then: cut off all the same', async () => {
    const earlier = await left();
    const { hostname, port } = new URL(service.base);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    let reply = '';
    socket.on('data', (bytes) => (reply += bytes.toString('latin1')));
    socket.write(`${head(half.length)}a text `);
    const trickle = setInterval(() => socket.write('.'), uploadWindowMs / 10);
    await until('it is cut off', () => socket.closed);
    clearInterval(trickle);
    assert.match(reply, /^HTTP\/1\.1 400 [^]*too slowly/);
    await settled(earlier);
  });

  test('slowly, but enough of it: taken', async () => {
    const { hostname, port } = new URL(service.base);
    const socket = connect(Number(port), hostname);
    // Each is enough for a window, in case this process is too busy to send the others in time.
    const pieces = Array.from({ length: 12 }, () => half.slice(0, 10_000));
    let reply = '';
    socket.on('data', (bytes) => (reply += bytes.toString('latin1')));
    socket.write(head(12 * 10_000).replace('host: x', 'host: x\r\nconnection: close'));
    const steady = setInterval(() => {
      const piece = pieces.pop();
      if (piece !== undefined) socket.write(piece);
    }, uploadWindowMs / 8);
    await until('it is answered', () => socket.closed);
    clearInterval(steady);
    assert.match(reply, /^HTTP\/1\.1 201 [^]*"size":120000/);
  });

  test('nothing at all: cut off', async () => {
    const earlier = await left();
    const { replies, closed } = await exchange(service.base, head(10));
    assert.equal(closed, true, 'the connection was kept');
    assert.equal(replies[0]?.status, 400);
    await settled(earlier);
  });

  test('longer: what was announced is the file, what follows is no call', async () => {
    const { replies, closed } = await exchange(service.base, `${head(5)}hello world`);
    assert.equal(closed, true);
    // The refusal may come before the other upload is ready.
    const statuses = replies.map(({ status }) => status);
    assert.deepEqual(statuses.slice(-1), [400]);
    assert.ok(statuses.length === 1 || (statuses[0] === 201 && replies[0]!.body.size === 5));
  });

  test('refused before it has come whole: the connection carries the next call', async () => {
    const next = 'GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    const long = `<html>${half.repeat(20)}`;
    const refusals: [number, string][] = [
      [415, head(long.length)],
      [413, head(maxBytes + 1)],
      [401, head(long.length).replace(account.key, 'no')],
    ];
    for (const [status, bytes] of refusals) {
      const body = long.padEnd(Number(/content-length: (\d+)/.exec(bytes)![1]), ' ');
      const { replies, closed } = await exchange(service.base, bytes + body, { parts: [next] });
      assert.equal(closed, true);
      assert.deepEqual(
        replies.map((reply) => reply.status),
        [status, 200],
      );
    }
  });

  test('refused, and the rest of it never comes: cut off', async () => {
    for (const bytes of [
      head(maxBytes + 1),
      head(10).replace(account.key, 'no'),
      `${head(10_000)}<html>${half}`.slice(0, 6_000),
    ]) {
      const { replies, closed } = await exchange(service.base, bytes);
      assert.equal(closed, true, 'the connection was kept');
      assert.equal(replies.length, 1);
    }
  });

  test('a length below zero, or two of them: no call', async () => {
    const earlier = await left();
    for (const length of ['-1', '5\r\ncontent-length: 6', '5 6', '0x5', '']) {
      const bytes = head(5).replace('content-length: 5', `content-length: ${length}`);
      const { replies, closed } = await exchange(service.base, `${bytes}hello`);
      assert.equal(closed, true, length);
      assert.deepEqual(
        replies.map(({ status }) => status),
        [400],
        length,
      );
    }
    await settled(earlier);
  });
});

describe('a file in an input', () => {
  const submit = (image_url: string, key = account.key) =>
    service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'x', image_url } });
  async function uploaded(): Promise<{ file_id: string; bytes: Buffer }> {
    const bytes = await image('png');
    return { file_id: (await upload(bytes, 'image/png')).body.file_id, bytes };
  }

  test('of the own account reaches the upstream byte for byte, also several times', async () => {
    const { file_id, bytes } = await uploaded();
    const jobs: StartJob[] = [];
    service.fake.behave.start = (job, fake) => {
      jobs.push(job);
      return accept(fake, job);
    };
    assert.equal((await submit(file_id)).status, 202);
    await service.work();
    service.fake.behave = {};
    const [job] = jobs;
    assert.equal(job!.input.image_url, file_id);
    const file = job!.files[file_id]!;
    assert.deepEqual([file.content_type, file.size], ['image/png', bytes.length]);
    for (let i = 0; i < 2; i++) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of await file.open()) chunks.push(chunk);
      assert.ok(Buffer.concat(chunks).equals(bytes));
    }
  });

  test('of another account is refused like an unknown one', async () => {
    const { file_id } = await uploaded();
    const other = await service.account();
    const earlier = await left();
    const theirs = assertRefused(await submit(file_id, other.key), 'invalid_input');
    const absent = `file_${'0'.repeat(32)}`;
    const none = assertRefused(await submit(absent, other.key), 'invalid_input');
    assert.equal(theirs.message.replace(file_id, absent), none.message);
    assert.deepEqual(await left(), earlier);
  });

  test('that has expired is refused', async () => {
    const { file_id } = await uploaded();
    await expire(file_id);
    const earlier = await left();
    assertRefused(await submit(file_id), 'invalid_input');
    assert.deepEqual(await left(), earlier);
  });

  test('that expires before its job starts: the job fails, free, and no upstream is called', async () => {
    const { file_id } = await uploaded();
    const earlier = await service.balance(account);
    const { body } = await submit(file_id);
    await expire(file_id);
    const starts = service.fake.starts.length;
    await service.work();
    const card = await account.get(`/v1/requests/${body.request_id}`);
    assert.equal(card.body.error.code, 'upstream_rejected');
    assert.equal(service.fake.starts.length, starts);
    assert.deepEqual(await service.balance(account), earlier);
  });

  test('is deleted once it has expired, and others are not', async () => {
    const { file_id } = await uploaded();
    const kept = await uploaded();
    const name = (id: string) => id.slice('file_'.length);
    const isStored = (id: string) =>
      stored().some((path) => path.replaceAll('-', '').endsWith(name(id)));
    assert.ok(isStored(file_id) && isStored(kept.file_id));
    await expire(file_id);
    await service.app.worker!.sweep();
    assert.deepEqual([isStored(file_id), isStored(kept.file_id)], [false, true]);
  });
});

test('an upload is refused while the disk is nearly full, and taken where it is not', async (t) => {
  t.mock.method(DiskStorage.prototype, 'freeBytes', async () => 1_000_000);
  const low = await service.another();
  const before = await left();
  const send = (base: string) => account.upload(Buffer.from('some text'), 'text/plain', { base });
  assertRefused(await send(low.base), 'capacity_unavailable');
  assert.deepEqual(await left(), before);
  t.mock.restoreAll();
  // The service checks its disk from time to time.
  await until('it is taken again', async () => (await send(service.base)).status === 201);
});
