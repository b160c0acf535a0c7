import assert from 'node:assert/strict';
import dns from 'node:dns';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, mock, test } from 'node:test';
import { openStorage } from '../../src/storage/index.ts';
import { S3Storage } from '../../src/storage/s3.ts';
import type { Storage } from '../../src/storage/storage.ts';
import * as kit from '../kit/swift.ts';
import { chunked, conformance, readAll, type OpenedStorage } from './conformance.ts';

/** Our client of S3 against a store that others wrote. */

const unpacked = await kit.swiftPackages();
const leastPart = 5 * 1024 * 1024;

if (unpacked === null) test('S3 of Swift', (t) => t.skip('not run: swift'));
else {
  conformance('S3 of Swift', () => openConforming(unpacked));
  describe('S3 of Swift', () => {
    let swift: kit.Swift;
    let temp: string;
    before(async () => {
      swift = await kit.openSwift(unpacked);
      temp = await mkdtemp(join(tmpdir(), 'farebox-test-'));
    });
    after(async () => {
      await swift.close();
      await rm(temp, { recursive: true });
    });
    settings(() => ({ swift, temp }));
  });
}

async function openConforming(packages: string): Promise<OpenedStorage> {
  const swift = await kit.openSwift(packages);
  const tempFolder = await mkdtemp(join(tmpdir(), 'farebox-test-'));
  const { client } = swift;
  return {
    storage: new S3Storage({
      endpoint: client.endpoint.href,
      ...kit.swiftOwner,
      region: kit.swiftRegion,
      prefix: 'ours/',
      partBytes: leastPart,
      tempFolder,
    }),
    async contents() {
      const objects = (await client.listObjects('/', 'ours/', 10_000)) ?? [];
      const uploads = JSON.stringify(await client.listMultipartUploads());
      assert.match(uploads, /Bucket/);
      const open = uploads.match(/UploadId":"[^"]+/g) ?? [];
      return {
        keys: objects.map(({ Key }) => Key.replace(/^ours\//, '')).sort(),
        leftovers: [...open, ...(await readdir(tempFolder))],
      };
    },
    async close() {
      await swift.close();
      await rm(tempFolder, { recursive: true });
    },
  };
}

function settings(use: () => { swift: kit.Swift; temp: string }): void {
  interface Changes {
    key?: string;
    secret?: string;
    region?: string;
    place?: string;
  }
  /** The store at an address as operators write it. */
  const opened = (changes: Changes = {}): Storage => {
    const { swift, temp } = use();
    const { key = kit.swiftOwner.accessKeyId, secret = kit.swiftSecret } = changes;
    const place = changes.place ?? `127.0.0.1:${swift.port}/${kit.swiftBucket}`;
    const user = `${encodeURIComponent(key)}:${encodeURIComponent(secret)}`;
    const address = `s3+http://${user}@${place}?region=${changes.region ?? kit.swiftRegion}`;
    return openStorage(address, { tempFolder: temp });
  };
  const put = (storage: Storage, key: string, text: string) =>
    storage.put(key, chunked(Buffer.from(text), 2));
  const keysOf = async () =>
    ((await use().swift.client.listObjects()) ?? []).map(({ Key }) => Key).sort();

  test('the bucket is in the path or in the host name', async () => {
    const { port } = use().swift;
    await put(opened(), 'style/0', 'by path');
    // Most machines do not resolve names below localhost.
    const { lookup } = dns;
    mock.method(dns, 'lookup', (name: string, ...more: [never]) =>
      lookup(name.endsWith('.localhost') ? '127.0.0.1' : name, ...more),
    );
    const hosted = opened({ place: `${kit.swiftBucket}.s3.localhost:${port}` });
    assert.equal(String(await readAll(hosted, 'style/0')), 'by path');
    await put(hosted, 'style/1', 'by host');
    mock.restoreAll();
    assert.equal(String(await readAll(opened(), 'style/1')), 'by host');
    await opened().removeAll('style');
    assert.deepEqual(await keysOf(), []);
  });

  const { accessKeyId: stranger } = kit.swiftStranger;
  const wrong: [string, Changes, RegExp][] = [
    ['a wrong secret', { secret: 'se/cr+e' }, /^S3 answered 403 SignatureDoesNotMatch: \S/],
    // Stores of AWS answer InvalidAccessKeyId.
    ['an unknown key', { key: 'nobody' }, /^S3 answered 403 SignatureDoesNotMatch: \S/],
    ['another region', { region: 'eu-test-2' }, /^S3 answered 400 .+expecting 'eu-test-1'$/],
    ['a key without rights', { key: stranger }, /^S3 answered 403 AccessDenied: \S/],
  ];
  for (const [what, changes, says] of wrong)
    test(`${what} is told in one line, reads nothing and changes nothing`, async () => {
      await put(opened(), 'kept/0', 'kept');
      await assertRefused(opened(changes), says);
      assert.deepEqual(await keysOf(), ['kept/0']);
      assert.equal(String(await readAll(opened(), 'kept/0')), 'kept');
    });

  test('a missing bucket is told, and not made', async () => {
    const { port } = use().swift;
    const elsewhere = opened({ place: `127.0.0.1:${port}/elsewhere` });
    await assertRefused(elsewhere, /^S3 answered 404 NoSuchBucket: \S/);
    await assertRefused(elsewhere, /^S3 answered 404 NoSuchBucket: \S/);
  });

  for (const hours of [-1, 1])
    test(`a clock that is ${hours} h wrong is told, and changes nothing`, async (t) => {
      await put(opened(), 'kept/0', 'kept');
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() + hours * 3_600_000 });
      await assertRefused(opened(), /^S3 answered 403 RequestTimeTooSkewed: \S/);
      t.mock.timers.reset();
      assert.deepEqual(await keysOf(), ['kept/0']);
    });
}

/** Each call is refused with the same words, without secret and signature. */
async function assertRefused(storage: Storage, says: RegExp): Promise<void> {
  const calls = [
    () => storage.checkReachable(),
    () => storage.open('kept/0'),
    () => storage.openAsPath('kept/0'),
    () => storage.put('new/0', chunked(Buffer.from('new'), 1)),
    () => storage.put('new/1', chunked(Buffer.alloc(9_000_000), 65_536)),
    () => storage.remove('kept/0'),
    () => storage.removeAll('kept'),
  ];
  for (const call of calls)
    await assert.rejects(call, (error: Error) => {
      assert.match(error.message, says, String(call));
      assert.doesNotMatch(error.message, /\n|signature=|StringToSign/i);
      assert.ok(error.message.length < 300, error.message);
      assert.ok(!JSON.stringify({ ...error }).includes('StringToSign'));
      return true;
    });
}
