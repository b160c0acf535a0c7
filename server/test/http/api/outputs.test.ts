import { readdirSync, readlinkSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import * as bunny from 'mediabunny';
import { sign } from '../../../src/core/request/signature.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { createKey } from '../../kit/keys.ts';
import type { OutputMedia } from '../../../src/upstreams/upstream.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';
import { exchange } from '../../kit/wire.ts';
import { film, image } from '../../storage/media-fixtures.ts';

/** GET and HEAD of an output: who may fetch it, until when, in which parts, and how it is shown. */

const secret = 'a secret of at least thirty-two characters';
const hour = 3600;

interface KeptOutput {
  bytes: Buffer;
  content_type: string;
  shown: 'inline' | 'attachment';
  ending: string;
}

/** The outputs, by index. */
let kept: KeptOutput[];
let other: TestAccount;
let id: string;

const { service, account } = withService({ times: { stallMs: 500 } });
before(async () => {
  other = await service.account();
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"><script>1</script></svg>';
  kept = [
    { bytes: await image('png'), content_type: 'image/png', shown: 'inline', ending: 'png' },
    { bytes: Buffer.from(svg), content_type: 'image/svg+xml', shown: 'attachment', ending: 'svg' },
    {
      bytes: await film(new bunny.WebMOutputFormat()),
      content_type: 'video/webm',
      shown: 'inline',
      ending: 'webm',
    },
    { bytes: wav(8_000_000), content_type: 'audio/wav', shown: 'inline', ending: 'wav' },
  ];
  id = await completed();
});

/** Silence of that many bytes. */
function wav(size: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(size + 36, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.set([1, 0, 2, 0], 20);
  head.writeUInt32LE(48_000, 24);
  head.writeUInt32LE(192_000, 28);
  head.set([4, 0, 16, 0], 32);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(size, 40);
  return Buffer.concat([head, Buffer.alloc(size)]);
}

async function completed(): Promise<string> {
  const media: OutputMedia[] = kept.map(({ bytes }) => ({ field: 'images', source: { bytes } }));
  service.fake.behave.poll = () => ({ state: 'done', result: { media, fields: {} } });
  const request_id = await submitted();
  await service.work();
  service.fake.behave = {};
  return request_id;
}

async function submitted(): Promise<string> {
  const body = { prompt: 'x' };
  const reply = await account.post('/v1/queue/fake/image', body);
  return reply.body.request_id;
}

/** Paths of the signed links that the response call gives. */
async function links(request_id = id, base?: string): Promise<string[]> {
  const reply = await account.get(`/v1/requests/${request_id}/response`, { base });
  assert.equal(reply.status, 200, reply.text);
  return reply.body.images.map(({ url }: { url: string }) => {
    const { pathname, search } = new URL(url);
    return pathname + search;
  });
}

const path = (index: number | string, request_id = id) =>
  `/v1/requests/${request_id}/output/${index}`;
const fetchIt = (where: string, headers: Record<string, string> = {}, method = 'GET') =>
  service.call(method, where, { headers });
const withKey = (index: number | string, key = account.key) =>
  service.call('GET', path(index), { key });

function signedFor(exp: number, index = 0, request_id = id): string {
  return `${path(index, request_id)}?${sign(Buffer.from(secret), { request_id, index, exp })}`;
}
const now = () => Math.floor(Date.now() / 1000);

describe('a caller with the link, or with a key of the account, gets the bytes', () => {
  test('of each output, shown as its type allows', async () => {
    for (const [index, link] of (await links()).entries()) {
      const { bytes, content_type, shown, ending } = kept[index]!;
      const reply = await fetchIt(link);
      assert.equal(reply.status, 200);
      assert.ok(reply.bytes.equals(bytes), 'other bytes');
      const headers = Object.fromEntries(reply.headers);
      const wanted = {
        'content-type': content_type,
        'content-length': String(bytes.length),
        'content-disposition': `${shown}; filename="${id.slice(-12)}-${index}.${ending}"`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'private, no-store',
        'referrer-policy': 'no-referrer',
        'accept-ranges': 'bytes',
        etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
      };
      for (const [name, value] of Object.entries(wanted)) assert.equal(headers[name], value, name);
      assert.equal(headers['ratelimit-limit'], undefined, 'a link uses up nobody’s calls');
    }
  });

  test('with any key of the account', async () => {
    const { account_id } = account;
    const second = await createKey(service.db, { account_id, name: 'second' });
    for (const key of [account.key, second.key]) {
      const reply = await withKey(0, key);
      assert.equal(reply.status, 200);
      assert.ok(reply.bytes.equals(kept[0]!.bytes));
    }
  });

  test('HEAD tells the same and sends nothing', async () => {
    const [link] = await links();
    const reply = await fetchIt(link!, {}, 'HEAD');
    const full = await fetchIt(link!);
    assert.equal(reply.status, 200);
    assert.equal(reply.bytes.length, 0);
    const told = (each: Reply) =>
      Object.fromEntries(
        [...each.headers].filter(
          ([name]) => !/^(date|x-request-id|connection|keep-alive)$/.test(name),
        ),
      );
    assert.deepEqual(told(reply), told(full));
    const headers = { 'if-none-match': full.headers.get('etag')! };
    assert.deepEqual(
      told(await fetchIt(link!, headers, 'HEAD')),
      told(await fetchIt(link!, headers)),
    );
  });

  test('with a good link, and anything in Authorization', async () => {
    const [link] = await links();
    for (const key of [other.key, 'nonsense']) {
      assert.equal((await service.call('GET', link!, { key })).status, 200);
    }
  });

  test('with a bad link, and the right key', async () => {
    const [link] = await links();
    assert.equal((await account.get(`${link}x`)).status, 200);
    assert.equal((await account.get(signedFor(now() - 1))).status, 200);
  });
});

describe('another caller does not get them', () => {
  test('without link and key', async () => {
    assertRefused(await fetchIt(path(0)), 'unauthorized');
    assertRefused(await withKey(0, 'nonsense'), 'unauthorized');
  });

  test('with the key of another account it is not there, link or no link', async () => {
    const [link] = await links();
    const absent = assertRefused(await withKey(77), 'not_found');
    for (const reply of [await withKey(0, other.key), await other.get(`${link}x`)]) {
      assert.equal(assertRefused(reply, 'not_found').message, absent.message);
    }
  });

  test('with a link that was changed in any way', async () => {
    const [zero, one] = await links();
    const { searchParams } = new URL(zero!, 'http://x');
    const [exp, sig] = [searchParams.get('exp')!, searchParams.get('sig')!];
    const queries: [name: string, query: string][] = [
      ['no signature', `exp=${exp}`],
      ['no time', `sig=${sig}`],
      ['an empty signature', `exp=${exp}&sig=`],
      ['another signature', `exp=${exp}&sig=${sig.startsWith('A') ? 'B' : 'A'}${sig.slice(1)}`],
      [
        'another spelling of the same bytes',
        `exp=${exp}&sig=${sig.slice(0, -1)}${String.fromCharCode(sig.charCodeAt(42) + 1)}`,
      ],
      ['a padded signature', `exp=${exp}&sig=${sig}=`],
      ['a shorter signature', `exp=${exp}&sig=${sig.slice(0, -1)}`],
      ['the signature twice', `exp=${exp}&sig=${sig}&sig=${sig}`],
      ['the time twice', `exp=${exp}&exp=${exp}&sig=${sig}`],
      ['a later time', `exp=${Number(exp) + 1}&sig=${sig}`],
      ['an earlier time', `exp=${Number(exp) - 1}&sig=${sig}`],
      ['a time in another form', `exp=0${exp}&sig=${sig}`],
      ['a time with a sign', `exp=%2B${exp}&sig=${sig}`],
      ['a time with a fraction', `exp=${exp}.0&sig=${sig}`],
      ['a time with a blank', `exp=${exp}%20&sig=${sig}`],
      ['another output’s link', one!.split('?')[1]!],
      ['another request’s link', signedFor(Number(exp), 0, await completed()).split('?')[1]!],
      [
        'a link of another secret',
        sign(Buffer.from('x'.repeat(32)), { request_id: id, index: 0, exp: Number(exp) }),
      ],
    ];
    for (const [name, query] of queries) {
      for (const method of ['GET', 'HEAD']) {
        const reply = await fetchIt(`${path(0)}?${query}`, {}, method);
        assert.equal(reply.status, 401, `${method} ${name}`);
        assert.equal(reply.headers.get('www-authenticate'), 'Key realm="farebox"');
        if (method === 'GET') assertRefused(reply, 'unauthorized', { about: name });
      }
    }
  });
});

describe('an unknown output is not found', () => {
  const indexes = [
    '00',
    '01',
    '-1',
    '-0',
    '+0',
    '1e1',
    '0x0',
    '0.0',
    '1.0',
    ' 0',
    '0 ',
    '4',
    '999999',
    '1000000',
    '9223372036854775808',
    '٠',
    'NaN',
    'zero',
    '%00',
  ];
  test('an index in any other form', async () => {
    for (const index of indexes) {
      const reply = await withKey(index === '%00' ? index : encodeURIComponent(index));
      assertRefused(reply, 'not_found', { about: index });
    }
  });

  test('no request, no id', async () => {
    for (const request_id of [
      '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10',
      'no-id',
      id.replaceAll('-', ''),
      `${id}0`,
      '%00',
    ]) {
      const reply = await account.get(path(0, request_id));
      assertRefused(reply, 'not_found', { about: request_id });
    }
  });

  test('a request that is not completed, by its key and by a link made too early', async () => {
    const queued = await submitted();
    const reply = await account.get(path(0, queued));
    assertRefused(reply, 'not_found');
    assertRefused(await fetchIt(signedFor(now() + hour, 0, queued)), 'not_found');
    await account.post(`/v1/requests/${queued}/cancel`);
    assertRefused(await fetchIt(signedFor(now() + hour, 0, queued)), 'not_found');
  });
});

describe('a part of an output', () => {
  const size = () => kept[0]!.bytes.length;
  const parts: [range: string, from: () => number, to: () => number][] = [
    ['bytes=0-0', () => 0, () => 0],
    ['bytes=0-9', () => 0, () => 9],
    ['bytes=5-', () => 5, () => size() - 1],
    ['bytes=-1', () => size() - 1, () => size() - 1],
    ['bytes=-10', () => size() - 10, () => size() - 1],
    ['bytes=-999999', () => 0, () => size() - 1],
    ['bytes=10-999999', () => 10, () => size() - 1],
    ['bytes=0-', () => 0, () => size() - 1],
    ['bytes=0-99999999999999999999', () => 0, () => size() - 1],
    [`bytes=5-${'9'.repeat(400)}`, () => 5, () => size() - 1],
    ['bytes=-99999999999999999999', () => 0, () => size() - 1],
  ];
  for (const [range, from, to] of parts) {
    test(range, async () => {
      const [link] = await links();
      const reply = await fetchIt(link!, { range });
      assert.equal(reply.status, 206);
      assert.ok(reply.bytes.equals(kept[0]!.bytes.subarray(from(), to() + 1)), 'other bytes');
      assert.equal(reply.headers.get('content-range'), `bytes ${from()}-${to()}/${size()}`);
      assert.equal(reply.headers.get('content-length'), String(to() - from() + 1));
    });
  }

  test('that lies outside is refused, with the size', async () => {
    const [link] = await links();
    const ranges = [
      `bytes=${size()}-`,
      'bytes=999999-',
      'bytes=999999-9999999',
      'bytes=99999999999999999999-',
      `bytes=${'9'.repeat(400)}-`,
      'bytes=-0',
    ];
    for (const range of ranges) {
      const reply = await fetchIt(link!, { range });
      assertRefused(reply, 'bad_request', { status: 416, about: range });
      assert.equal(reply.headers.get('content-range'), `bytes */${size()}`);
      for (const name of ['etag', 'content-disposition'])
        assert.equal(reply.headers.get(name), null, name);
      const head = await fetchIt(link!, { range }, 'HEAD');
      assert.deepEqual([head.status, head.headers.get('content-range')], [200, null]);
      assert.equal(head.headers.get('content-length'), String(size()));
    }
  });

  test('in a form that may be ignored is the whole', async () => {
    const [link] = await links();
    const ranges = [
      'bytes=0-1,3-4',
      'bytes=5-2',
      'bytes=',
      'bytes=-',
      'bytes=a-b',
      'bytes 0-1',
      'items=0-1',
      'bytes=0-1x',
      'bytes=99999999999999999999-5',
      '0-1',
    ];
    for (const range of ranges) {
      const reply = await fetchIt(link!, { range });
      assert.equal(reply.status, 200, range);
      assert.equal(reply.headers.get('content-range'), null);
      assert.ok(reply.bytes.equals(kept[0]!.bytes), range);
    }
  });

  test('If-Range: the part if the version is the same, else the whole', async () => {
    const [link] = await links();
    const etag = (await fetchIt(link!)).headers.get('etag')!;
    const status = async (ifRange: string) =>
      (await fetchIt(link!, { range: 'bytes=0-1', 'if-range': ifRange })).status;
    assert.equal(await status(etag), 206);
    for (const stale of ['"other"', `W/${etag}`, new Date().toUTCString(), '']) {
      assert.equal(await status(stale), 200, stale);
    }
    // The range lies outside the file, but the whole file is sent.
    const headers = { range: 'bytes=999999-', 'if-range': '"other"' };
    assert.equal((await fetchIt(link!, headers)).status, 200);
  });

  test('If-None-Match: nothing if the caller has the same version', async () => {
    const [link] = await links();
    const etag = (await fetchIt(link!)).headers.get('etag')!;
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const reply = await fetchIt(link!, { 'if-none-match': known });
      assert.equal(reply.status, 304, known);
      assert.equal(reply.bytes.length, 0);
      assert.equal(reply.headers.get('etag'), etag);
    }
    assert.equal((await fetchIt(link!, { 'if-none-match': '"other"' })).status, 200);
  });
});

describe('the time of an output', () => {
  const move = (request_id: string, seconds: number) =>
    service.db.run(
      rawSql(
        `update requests set completed_at = completed_at - $2 * interval '1 s',
           expires_at = expires_at - $2 * interval '1 s', wake_at = wake_at - $2 * interval '1 s'
         where id = $1`,
        [request_id, seconds],
      ),
    );

  test('a link is valid until the second that it names', async () => {
    assert.equal((await fetchIt(signedFor(now() + 2))).status, 200);
    assertRefused(await fetchIt(signedFor(now() - 1)), 'expired');
    assertRefused(await fetchIt(signedFor(0)), 'expired');
  });

  test('ends 24 hours after completion, whatever a link or a key says', async () => {
    const old = await completed();
    const [link] = await links(old);
    const { searchParams } = new URL(link!, 'http://x');
    const [row] = await service.db.run<{ completed_at: Date }>(sql`select completed_at from requests
      where id = ${old}`);
    const end = Math.floor(row!.completed_at.getTime() / 1000) + 24 * hour;
    assert.equal(searchParams.get('exp'), String(end));
    await move(old, 24 * hour - 60);
    assert.equal((await fetchIt(link!)).status, 200);
    await move(old, 61);
    for (const reply of [
      await fetchIt(link!),
      await fetchIt(signedFor(now() + 1_000_000, 0, old)),
      await account.get(path(0, old)),
      await account.get(`/v1/requests/${old}/response`),
    ]) {
      assertRefused(reply, 'expired');
    }
  });

  test('then its bytes are deleted, and other requests keep theirs', async () => {
    const old = await completed();
    const [link] = await links(old);
    await move(old, 24 * hour + 1);
    const folder = join(service.dir, 'media', 'outputs');
    assert.ok(readdirSync(folder).includes(old));
    await service.work();
    assert.ok(!readdirSync(folder).includes(old), 'the bytes are still there');
    assertRefused(await fetchIt(link!), 'expired');
    assertRefused(await account.get(path(0, old)), 'expired');
    assert.equal((await withKey(0)).status, 200);
  });

  test('bytes that are missing too early are an internal error, not expired', async () => {
    const lost = await completed();
    const [link] = await links(lost);
    rmSync(join(service.dir, 'media', 'outputs', lost), { recursive: true });
    assertRefused(await fetchIt(link!), 'internal_error');
    assert.match(service.log.join(''), new RegExp(`outputs/${lost}.* is not in the storage`));
  });
});

test('a changed secret: old links stay good while the one before is known, and only then', async () => {
  const changed = 'another secret of thirty-two characters, too';
  const [old] = await links();
  const rotating = await service.another({
    FAREBOX_SECRET: changed,
    FAREBOX_SECRET_PREVIOUS: secret,
  });
  const done = await service.another({ FAREBOX_SECRET: changed });
  const [young] = await links(id, rotating.base);
  assert.notEqual(young, old);
  const status = async (link: string, base: string) =>
    (await service.call('GET', link, { base })).status;
  assert.deepEqual(
    [await status(old!, rotating.base), await status(young!, rotating.base)],
    [200, 200],
  );
  assert.deepEqual([await status(old!, done.base), await status(young!, done.base)], [401, 200]);
  assert.deepEqual(
    [await status(old!, service.base), await status(young!, service.base)],
    [200, 401],
  );
});

/** The open files of stored media in this process. */
function open(): string[] {
  const root = join(service.dir, 'media');
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root);
    } catch {
      return false;
    }
  });
}

test('a caller who reads nothing is cut off, and leaves no open file and no open call', async () => {
  const link = (await links())[3]!;
  const { hostname, port } = new URL(service.base);
  const socket = connect({ host: hostname, port: Number(port) }).pause();
  socket.on('error', () => {});
  socket.write(`GET ${link} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3));
  let most = 0;
  await until('a file is open', () => (most = open().length) > 0);
  await until('no file is open', () => {
    most = Math.max(most, open().length);
    return open().length === 0;
  });
  assert.equal(most, 1, 'a reply is read from its file when its turn has come, not before');
  await until(
    'no call is under way',
    async () => (await service.app.metrics.inFlight.get()).values[0]!.value === 0,
  );
  assert.equal(socket.destroyed, false, 'the reader left by itself');
  socket.destroy();
});

test('outputs asked for at once on one connection come whole, one after the other', async () => {
  const [first, , , last] = await links();
  const asked = [last, first, last, first];
  const { replies } = await exchange(
    service.base,
    asked
      .map((link, i) => {
        const end = i === asked.length - 1 ? 'Connection: close\r\n' : '';
        return `GET ${link} HTTP/1.1\r\nHost: x\r\n${end}\r\n`;
      })
      .join(''),
  );
  assert.equal(replies.length, asked.length);
  for (const [i, { status, bytes }] of replies.entries()) {
    assert.equal(status, 200);
    assert.ok(bytes.equals(kept[i % 2 === 0 ? 3 : 0]!.bytes));
  }
  await until('no file is open', () => open().length === 0);
});

test('a reader that leaves in the middle leaves no file open', async () => {
  const link = (await links())[3]!;
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => {
      const req = get(`${service.base}${link}`, { agent: false }, (res) => {
        res.once('data', () => {
          assert.equal(open().length, 1);
          req.destroy();
          resolve();
        });
      });
      req.on('error', () => {});
    });
    await until('the file is closed', () => open().length === 0);
  }
});
