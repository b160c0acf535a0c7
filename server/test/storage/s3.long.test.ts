import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { openStorage } from '../../src/storage/index.ts';
import { S3Storage, type S3Options } from '../../src/storage/s3.ts';
import { StorageFull } from '../../src/storage/storage.ts';
import { chunked, conformance, exists, readAll, type OpenedStorage } from './conformance.ts';
import { credentials, refusal, S3Server, type S3Call } from './s3-server.ts';

/** The smallest part that S3 accepts. */
const leastPart = 5 * 1024 * 1024;
/** The smallest part that the test's server accepts. */
const part = 512 * 1024;

conformance('S3', async (): Promise<OpenedStorage> => {
  const server = new S3Server({ pageSize: 10 });
  const endpoint = await server.listen();
  const tempFolder = await mkdtemp(join(tmpdir(), 'farebox-test-'));
  return {
    storage: storageAt(endpoint, tempFolder, { prefix: 'ours/', partBytes: leastPart }),
    contents: async () => ({
      keys: [...server.objects.keys()].map((key) => key.replace(/^ours\//, '')).sort(),
      leftovers: [...server.uploads.keys(), ...(await readdir(tempFolder))],
    }),
    close: async () => {
      await server.close();
      await rm(tempFolder, { recursive: true });
    },
  };
});

describe('S3', () => {
  let server: S3Server;
  let endpoint: string;
  let tempFolder: string;
  let storage: S3Storage;
  before(async () => {
    server = new S3Server({ minPartBytes: part });
    endpoint = await server.listen();
    tempFolder = await mkdtemp(join(tmpdir(), 'farebox-test-'));
  });
  beforeEach(() => {
    storage = storageAt(endpoint, tempFolder);
    server.before = () => null;
    server.calls.length = 0;
    server.objects.clear();
    server.uploads.clear();
  });
  after(async () => {
    await server.close();
    await rm(tempFolder, { recursive: true });
  });

  const verbs = (): string[] =>
    server.calls.map(({ method, query }) => {
      const about = ['uploads', 'partNumber', 'uploadId', 'list-type'].find(
        (name) => name in query,
      );
      return about ? `${method} ${about}` : method;
    });

  test('is checked with one read, and says why it does not answer', async () => {
    await storage.checkReachable();
    assert.deepEqual(verbs(), ['GET'], 'one read, and nothing is written');
    server.before = () => ({ status: 404, code: 'NoSuchBucket' });
    await assert.rejects(storage.checkReachable(), /NoSuchBucket/);
    server.before = () => ({ status: 403, code: 'SignatureDoesNotMatch' });
    await assert.rejects(storage.checkReachable(), /SignatureDoesNotMatch/);
    server.before = () => new Promise(() => {});
    await assert.rejects(storage.checkReachable(AbortSignal.timeout(20)));
    assert.deepEqual([...server.objects.keys()], []);
  });

  test('the test server judges signatures as the example of AWS says', () => {
    const call = {
      method: 'GET',
      key: 'test.txt',
      path: '/test.txt',
      query: {},
      body: Buffer.alloc(0),
      region: 'us-east-1',
      headers: {
        host: 'examplebucket.s3.amazonaws.com',
        range: 'bytes=0-9',
        'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
        'x-amz-date': '20130524T000000Z',
        authorization:
          'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
          'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,' +
          'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
      },
    };
    const keys = {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    };
    const now = Date.parse('2013-05-24T00:01:00Z');
    assert.equal(refusal(call, keys, now), null);
    assert.equal(refusal({ ...call, path: '/other.txt' }, keys, now), 'SignatureDoesNotMatch');
    assert.equal(refusal(call, keys, now + 3_600_000), 'RequestTimeTooSkewed');
  });

  test('what fits into one part goes up in one call, the rest in parts', async () => {
    await storage.put('calls/0', chunked(Buffer.alloc(part - 1), 65_536));
    assert.deepEqual(verbs(), ['PUT']);
    server.calls.length = 0;
    await storage.put('calls/1', chunked(Buffer.alloc(2 * part + 1), 65_536));
    const parts = ['PUT partNumber', 'PUT partNumber', 'PUT partNumber'];
    assert.deepEqual(verbs(), ['POST uploads', ...parts, 'POST uploadId']);
    const lengths = server.calls.map((call) => call.headers['content-length']);
    assert.deepEqual(lengths.slice(1, 4), [part, part, 1].map(String));
  });

  test('a wrong secret is an error, not an absent object', async () => {
    const wrong = storageAt(endpoint, tempFolder, { secretAccessKey: 'other' });
    await storage.put('secret/0', chunked(Buffer.from('x'), 1));
    await assert.rejects(wrong.open('secret/0'), /SignatureDoesNotMatch/);
    await assert.rejects(
      wrong.put('secret/0', chunked(Buffer.from('y'), 1)),
      /SignatureDoesNotMatch/,
    );
    await assert.rejects(wrong.remove('secret/0'), /SignatureDoesNotMatch/);
    assert.deepEqual(await readAll(storage, 'secret/0'), Buffer.from('x'));
  });

  test('a bucket that is not there is an error, not an absent object', async () => {
    server.before = () => ({ status: 404, code: 'NoSuchBucket' });
    await assert.rejects(storage.open('bucket/0'), /NoSuchBucket/);
    await assert.rejects(storage.remove('bucket/0'), /NoSuchBucket/);
    await assert.rejects(storage.removeAll('bucket'), /NoSuchBucket/);
  });

  test('while the store is slow, no more than two parts of the body are taken in', async () => {
    const gate = Promise.withResolvers<null>();
    const asked = Promise.withResolvers<void>();
    server.before = ({ query }) => {
      if (query['partNumber'] !== '1') return null;
      asked.resolve();
      return gate.promise;
    };
    const second = Promise.withResolvers<void>();
    let given = 0;
    async function* body(): AsyncIterable<Uint8Array> {
      while (given < 6 * part) {
        given += 65_536;
        if (given === 2 * part) second.resolve();
        yield Buffer.alloc(65_536);
      }
    }
    const put = storage.put('slow/0', body());
    await Promise.all([asked.promise, second.promise]);
    await turns(50);
    assert.equal(given, 2 * part);
    gate.resolve(null);
    assert.equal((await put).size, 6 * part);
  });

  test('temporary failures are retried; refusals are not', async () => {
    let left = 0;
    const failTwice = (match: (call: S3Call) => boolean): void => {
      left = 2;
      server.before = (call) => {
        if (!match(call) || left === 0) return null;
        left -= 1;
        return left === 1 ? { status: 503, code: 'SlowDown' } : 'cut';
      };
    };
    const bytes = randomBytes(part + 10);
    failTwice(({ query }) => query['partNumber'] === '2');
    await storage.put('again/0', chunked(bytes, 65_536));
    assert.equal(left, 0);
    assert.deepEqual(await readAll(storage, 'again/0'), bytes);
    failTwice(({ method }) => method === 'PUT');
    await storage.put('again/1', chunked(Buffer.from('x'), 1));
    assert.equal(left, 0);
    failTwice(({ method }) => method === 'DELETE');
    await storage.removeAll('again');
    assert.equal(left, 0);
    assert.equal(server.objects.size, 0);
    server.calls.length = 0;
    server.before = () => ({ status: 403, code: 'AccessDenied' });
    await assert.rejects(storage.put('again/2', chunked(Buffer.from('x'), 1)), /AccessDenied/);
    assert.equal(server.calls.length, 1);
  });

  test('a part that keeps failing fails the put, and the upload is given up', async () => {
    server.before = ({ query }) =>
      query['partNumber'] === '1' ? { status: 500, code: 'InternalError' } : null;
    let returned = false;
    async function* body(): AsyncIterable<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(65_536);
      } finally {
        returned = true;
      }
    }
    await assert.rejects(storage.put('parts/0', body()), /InternalError/);
    assert.equal(returned, true);
    assert.equal(server.uploads.size, 0);
    assert.equal(server.objects.size, 0);
    assert.equal(verbs().at(-1), 'DELETE uploadId');
  });

  test('an upload that fails after a status of 200 does not count as done', async () => {
    server.before = ({ method, query }) => {
      if (method !== 'POST' || !('uploadId' in query)) return null;
      return (res: ServerResponse) => {
        res.writeHead(200, { 'content-type': 'application/xml' });
        res.end('<Error><Code>InternalError</Code><Message>late</Message></Error>');
      };
    };
    const put = storage.put('late/0', chunked(Buffer.alloc(part + 1), 65_536));
    await assert.rejects(put, /did not complete/);
    assert.equal(server.uploads.size, 0);
    assert.equal(await storage.open('late/0'), null);
  });

  test('a full store is StorageFull', async () => {
    server.before = ({ method }) =>
      method === 'PUT' ? { status: 507, code: 'XMinioStorageFull' } : null;
    for (const size of [10, part + 10]) {
      const put = storage.put('full/0', chunked(Buffer.alloc(size), 65_536));
      await assert.rejects(put, StorageFull);
    }
    assert.equal(server.objects.size + server.uploads.size, 0);
  });

  test('a store that does not answer is given up', async () => {
    const hasty = storageAt(endpoint, tempFolder, { callMs: 50 });
    const held = Promise.withResolvers<null>();
    server.before = () => held.promise;
    await assert.rejects(hasty.open('silent/0'), /did not answer/);
    await assert.rejects(hasty.put('silent/0', chunked(Buffer.from('x'), 1)), {
      name: 'TimeoutError',
    });
    held.resolve(null);
  });

  test('an object that stops coming is an error, not a shorter object', async () => {
    const bytes = Buffer.alloc(1_000_000);
    await storage.put('torn/0', chunked(bytes, 65_536));
    server.before = () => (res: ServerResponse) => {
      res.writeHead(200, { 'content-length': bytes.length });
      res.write(bytes.subarray(0, 1000), () => res.destroy());
    };
    await assert.rejects(readAll(storage, 'torn/0'), TypeError);
    await assert.rejects(storage.openAsPath('torn/0'), TypeError);
    assert.deepEqual(await readdir(tempFolder), []);
    const closed = Promise.withResolvers<void>();
    server.before = () => (res: ServerResponse) => {
      res.on('close', closed.resolve);
      res.writeHead(200, { 'content-length': bytes.length });
      res.write(bytes.subarray(0, 1000));
    };
    // Long enough for the answer to begin on a busy machine.
    const hasty = storageAt(endpoint, tempFolder, { callMs: 1_000 });
    await assert.rejects(readAll(hasty, 'torn/0'), { name: 'StreamStalled' });
    // The connection is released too.
    await closed.promise;
  });

  test('a store that ignores a range is an error, not the wrong bytes', async () => {
    server.before = () => (res: ServerResponse) => res.end('the whole object');
    await assert.rejects(
      storage.open('whole/0', { start: 4, end: 8 }),
      /answered a range with 200/,
    );
  });

  test('a reader who stops, or never begins, frees the connection', async () => {
    for (const begins of [true, false]) {
      const closed = Promise.withResolvers<boolean>();
      server.before = () => (res: ServerResponse) => {
        void once(res, 'close').then(() => closed.resolve(res.writableFinished));
        res.writeHead(200, { 'content-length': 20_000_000 }).write(Buffer.alloc(10_000_000));
      };
      const reader = (await storage.open('stops/0'))![Symbol.asyncIterator]();
      if (begins) await reader.next();
      await reader.return?.();
      assert.equal(await closed.promise, false);
    }
  });

  test('leftover downloads of a crash are removed at a start, younger ones are not', async () => {
    const [old, young, other] = ['farebox-s3-old', 'farebox-s3-young', 'other'].map((name) =>
      join(tempFolder, name),
    ) as [string, string, string];
    for (const path of [old, young, other]) await mkdir(path);
    const yesterday = new Date(Date.now() - 25 * 60 * 60_000);
    for (const path of [old, other]) await utimes(path, yesterday, yesterday);
    storageAt(endpoint, tempFolder);
    assert.deepEqual(await Promise.all([old, young, other].map(exists)), [false, true, true]);
    for (const path of [young, other]) await rm(path, { recursive: true });
  });

  test('an address opens a bucket with its region and prefix', async () => {
    const host = new URL(endpoint).host;
    const { accessKeyId, secretAccessKey } = credentials;
    const keys = `${accessKeyId}:${encodeURIComponent(secretAccessKey)}`;
    const address = `s3+http://${keys}@${host}/bucket/?region=eu-test-1&prefix=some/where/`;
    const opened = openStorage(address, { tempFolder });
    await opened.put('address/0', chunked(Buffer.from('x'), 1));
    assert.deepEqual([...server.objects.keys()], ['some/where/address/0']);
    const elsewhere = openStorage(address.replace('eu-test-1', 'eu-test-2'), { tempFolder });
    await assert.rejects(elsewhere.open('address/0'), /AuthorizationHeaderMalformed/);
  });

  test('an invalid address is refused without showing its secret', () => {
    const bad = [
      '',
      'disk',
      '/path',
      'http://host/bucket',
      's3://host/bucket',
      's3://KEY@host/bucket',
      's3://KEY:hidden/secret@host/bucket',
      's3://KEY:hidden%zz@host/bucket',
      's3:KEY:hidden@host',
      's3://KEY:hidden@host/bucket?prefix=../up/',
      's3://KEY:hidden@host/bucket?prefix=nobar',
    ];
    for (const address of bad) {
      assert.throws(
        () => openStorage(address, { tempFolder }),
        (error) => {
          assert.ok(error instanceof TypeError, address);
          assert.ok(
            !JSON.stringify({ ...error, m: error.message, s: error.stack }).includes('hidden'),
          );
          return true;
        },
      );
    }
  });
});

function storageAt(
  endpoint: string,
  tempFolder: string,
  options: Partial<S3Options> = {},
): S3Storage {
  return new S3Storage({
    endpoint,
    ...credentials,
    region: 'eu-test-1',
    tempFolder,
    partBytes: part,
    retryMs: 1,
    ...options,
  });
}

/** Lets the event loop turn, so that work without I/O can finish. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
}
