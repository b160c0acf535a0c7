import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { findOrphans } from '../../src/operations/orphans.ts';
import { openStorage } from '../../src/storage/index.ts';
import { chargedRequest, ok } from '../http/operator/world.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import * as kit from '../kit/swift.ts';
import { before } from '../kit/with-service.ts';
import { chunked } from '../storage/conformance.ts';
import { credentials, S3Server } from '../storage/s3-server.ts';
import { assertSaid, placeFor, type Place } from './cli.ts';

/** Objects that no row names, on a disk and in a store of S3 that others wrote. */

const dayMs = 24 * 3600 * 1000;

describe('farebox storage orphans on a disk', () => {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-orphans-'));
  after(() => rmSync(dir, { recursive: true }));
  const use = world(async () => `disk:${dir}`);

  const age = async (ms: number) => {
    const at = new Date(Date.now() - ms);
    for (const name of await readdir(dir, { recursive: true })) {
      const path = join(dir, name);
      if ((await stat(path)).isFile()) await utimes(path, at, at);
    }
  };

  test('those older than a day are removed when asked, what rows name never', async (t) => {
    const { place, run, strays, foreign, named, keys } = await use(t);
    await age(2 * dayMs);
    const before_ = await keys();
    const listed = await run();
    assert.deepEqual(listed.data.map(({ key }: any) => key).sort(), strays);
    assert.deepEqual([listed.orphans, listed.unknown, listed.removed], [4, foreign.length, 0]);
    assert.equal(listed.bytes, 4 * 7);
    assert.deepEqual(await keys(), before_, 'a list removes nothing');
    const human = await place.run(['storage', 'orphans', '--limit', '1']);
    assert.match(
      human.stdout,
      /^OBJECT +BYTES +AGE +REMOVED\n\S+ +7 +48 h +no\n4 objects that nothing uses: 28 bytes; removed: 0; could not be removed: 0\. Not of this database: 3\.\n$/,
    );
    const removed = await run('--remove');
    assert.deepEqual([removed.removed, removed.bytes], [4, 28]);
    assert.deepEqual(await keys(), [...named, ...foreign].sort());
    assert.equal((await run()).orphans, 0);
  });

  test('young ones stay, and so does what a request that has not ended has stored', async (t) => {
    const { service, account, run, put, strays, keys } = await use(t);
    const open = await account.post('/v1/queue/fake/image', { prompt: 'a' });
    const stored = `outputs/${ok(open, 202).request_id}/1-0`;
    await put(stored);
    const before_ = await keys();
    const young = await run('--remove');
    assert.deepEqual([young.orphans, young.removed], [strays.length, 0]);
    assert.ok(young.data.every((each: any) => !each.removed));
    await age(2 * dayMs);
    const old = await run('--remove');
    assert.equal(old.removed, strays.length);
    assert.deepEqual(
      await keys(),
      before_.filter((key) => !strays.includes(key)),
    );
    assert.ok((await keys()).includes(stored));
    await service.work();
  });

  test('on a restored copy they are listed, and not removed', async (t) => {
    const { service, place, run, keys } = await use(t);
    await age(2 * dayMs);
    const before_ = await keys();
    await service.db.run(sql`update installation set held_since = now(), held_why = 'copy'`);
    assertSaid(await place.run(['storage', 'orphans', '--remove']), /is a restored copy/);
    assert.equal((await run()).orphans, 4);
    assert.deepEqual(await keys(), before_);
  });

  test('on one that was recovered to a point in time they are not removed either', async (t) => {
    const { service, place, run, keys } = await use(t);
    await age(2 * dayMs);
    const before_ = await keys();
    await service.db.run(sql`update installation set held_since = null, held_why = null,
      timeline = timeline + 7, writer = pg_current_xact_id(), beat_at = now() - interval '10 min'`);
    assertSaid(await place.run(['storage', 'orphans', '--remove']), /is a restored copy/);
    assert.equal((await run()).orphans, 4);
    assert.deepEqual(await keys(), before_);
  });
});

describe('farebox storage orphans in a store that refuses', () => {
  const store = new S3Server();
  after(() => store.close());
  const use = world(async () => {
    const [scheme, rest] = (await store.listen()).split('://');
    const user = Object.values(credentials).map(encodeURIComponent).join(':');
    return `s3+${scheme}://${user}@${rest}?region=eu-test-1`;
  });
  const denied = { status: 403, code: 'AccessDenied' };

  test('one removal keeps the others, and says how many failed', async (t) => {
    const { place, run, strays, foreign, named, keys } = await use(t);
    store.modified = new Date(Date.now() - 2 * dayMs);
    const locked = strays[1]!;
    store.before = ({ method, key }) => (method === 'DELETE' && key === locked ? denied : null);
    const human = await place.run(['storage', 'orphans', '--remove']);
    assert.match(human.stdout, /; removed: 3; could not be removed: 1\./);
    assert.equal(human.code, 1, 'something is left');
    store.before = () => null;
    assert.deepEqual(await keys(), [...named, ...foreign, locked].sort());
    assert.equal((await run('--remove')).removed, 1);
  });

  test('a list says so in one line, also after a first page', async (t) => {
    const { place, keys } = await use(t);
    const before_ = await keys();
    for (const answered of [0, 1]) {
      let lists = 0;
      store.before = ({ query }) => ('list-type' in query && ++lists > answered ? denied : null);
      const refused = await place.run(['storage', 'orphans', '--remove']);
      assertSaid(refused, /^The storage does not list its objects: S3 answered 403 AccessDenied/);
      if (answered > 0) assertSaid(refused, /; removed before: 2$/m);
    }
    store.before = () => null;
    assert.ok((await keys()).length < before_.length);
  });
});

const unpacked = await kit.swiftPackages();
if (unpacked === null) test('orphans in S3', (t) => t.skip('not run: swift'));
else
  describe('farebox storage orphans in S3', () => {
    let swift: kit.Swift;
    after(() => swift.close());
    const use = world(async () => {
      swift = await kit.openSwift(unpacked);
      const user = [kit.swiftOwner.accessKeyId, kit.swiftSecret].map(encodeURIComponent).join(':');
      return `s3+http://${user}@127.0.0.1:${swift.port}/${kit.swiftBucket}?region=${kit.swiftRegion}&prefix=ours/`;
    });

    test('young ones stay, those older than a day are removed, what rows name never', async (t) => {
      const { service, run, strays, foreign, named, keys, storage, place } = await use(t);
      const before_ = await keys();
      const young = await run('--remove');
      assert.deepEqual([young.orphans, young.removed, young.unknown], [4, 0, foreign.length]);
      assert.deepEqual(young.data.map(({ key }: any) => key).sort(), strays);
      assert.deepEqual(await keys(), before_);
      // The store alone sets when an object was stored.
      const old = {
        remove: (key: string) => storage.remove(key),
        async *list(prefix: string) {
          for await (const page of storage.list(prefix))
            yield page.map((each) => ({ ...each, stored_at: new Date(Date.now() - 2 * dayMs) }));
        },
      };
      const removed = await findOrphans(service.db, old, { removes: true, limit: 2 });
      assert.deepEqual([removed.removed, removed.data.length], [4, 2]);
      assert.deepEqual(await keys(), [...named, ...foreign].sort());
      const { swiftStranger } = kit;
      const stranger = encodeURIComponent(swiftStranger.accessKeyId);
      const address = place.env.FAREBOX_STORAGE!.replace(/farebox%3Aowner/, stranger);
      const refused = await place.run(['storage', 'orphans'], { FAREBOX_STORAGE: address });
      assertSaid(refused, /^The storage cannot be used: S3 answered 403 AccessDenied/);
    });
  });

/** A service with an output and a file in this storage, and for each test objects beside them. */
function world(open: () => Promise<string>) {
  let service: Service;
  let account: TestAccount;
  let address: string;
  let named: string[];
  let ended: string;
  before(async () => {
    address = await open();
    service = await startService({ env: { FAREBOX_STORAGE: address } });
    account = await service.account();
    ended = await chargedRequest(service, account);
    assert.equal((await account.upload('a text', 'text/plain')).status, 201);
    named = await storedKeys(openStorage(address));
    assert.equal(named.length, 2, named.join());
    // A small version, as the first view of an image makes it.
    const image = named.find((key) => key.startsWith('outputs/'))!;
    await putAt(openStorage(address), `${image}.card.webp`);
    named = await storedKeys(openStorage(address));
  });
  after(async () => {
    await service.audit();
    await service.stop();
  });
  return async (t: Parameters<typeof placeFor>[0]) => {
    const storage = openStorage(address);
    const strays = [
      `files/${account.account_id}/${newId()}`,
      `outputs/${ended}/99-0`,
      `outputs/${ended}/99-0.square.webp`,
      `probe/${newId()}`,
    ].sort();
    const foreign = ['outputs/readme', 'probe/results', `files/${newId()}/${newId()}`];
    for (const key of await storedKeys(storage))
      if (!named.includes(key)) await storage.remove(key);
    const put = (key: string) => putAt(storage, key);
    await Promise.all([...strays, ...foreign].map(put));
    const place: Place = placeFor(t, {
      DATABASE_URL: service.databaseUrl,
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_STORAGE: address,
    });
    const run = async (...args: string[]) => {
      const ran = await place.run(['storage', 'orphans', '--json', ...args]);
      assert.equal(ran.code, 0, ran.stderr);
      return ran.json;
    };
    const keys = () => storedKeys(storage);
    return { service, account, storage, place, run, put, keys, strays, foreign, named };
  };
}

const putAt = (storage: ReturnType<typeof openStorage>, key: string) =>
  storage.put(key, chunked(Buffer.from('7 bytes'), 9));

async function storedKeys(storage: ReturnType<typeof openStorage>): Promise<string[]> {
  const pages = await Promise.all(
    ['outputs', 'files', 'probe'].map((prefix) => Array.fromAsync(storage.list(prefix))),
  );
  return pages
    .flat(2)
    .map(({ key }) => key)
    .sort();
}
