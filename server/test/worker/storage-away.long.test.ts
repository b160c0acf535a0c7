import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import type { App } from '../../src/app.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { createFake, images, tinyPng } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog, startService, type Service, type TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import { S3Server } from '../storage/s3-server.ts';
import { card, gate, moneyOf, passDeadline, rowOf, submitted, wake } from './floor.ts';

/** While the storage is away, no paid result is lost, and no new work that needs it is accepted. */

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
const times = { storageMs: 50 };
/** Answers a start with the image itself, as OpenAI's image API does. */
let s3: S3Server;
const instant = createFake({ class: 'C' });
const { service, account } = withService(async (use) => {
  s3 = use(new S3Server());
  const { host } = new URL(await s3.listen());
  const address = `s3+http://AKTEST:se%2Fcr%2Bet@${host}/bucket?region=eu-test-1`;
  return { fake: instant, times, env: { FAREBOX_STORAGE: address }, account: { open_jobs: 1_000 } };
});
beforeEach(async () => {
  instant.behave = { start: () => ({ outcome: 'done', result: images(1) }) };
  await back();
});

const ready = (base = service.base) => service.call('GET', '/readyz', { base });
/** Reads /readyz without the check by the OpenAPI document, because it is called very often. */
async function isReady(base = service.base): Promise<boolean> {
  const reply = await fetch(`${base}/readyz`);
  await reply.text();
  return reply.ok;
}

async function away(base = service.base): Promise<void> {
  s3.before = () => ({ status: 500, code: 'InternalError' });
  await until('it is known to be away', async () => !(await isReady(base)));
}

async function back(): Promise<void> {
  s3.before = () => null;
  await until('it is known to be back', () => isReady());
}

const spooled = (dir = service.dir): string[] =>
  readdirSync(join(dir, 'spool')).filter((name) => !name.startsWith('.'));

const starts = (id: string) => instant.starts.filter((start) => start.request_id === id).length;

/** A request whose storage goes away while the upstream makes the image. */
async function fetchedWhileAway(app: App = service.app, base = service.base): Promise<string> {
  instant.behave.start = async () => {
    await away(base);
    return { outcome: 'done', result: images(1) };
  };
  const id = await submitted(account);
  await app.worker!.runOnce();
  return id;
}

async function assertMade(id: string): Promise<void> {
  const made = await card(account, id);
  assert.equal(made.status, 'COMPLETED');
  const path = made.output_urls[0].replace(/.*(?=\/v1)/, '');
  assert.deepEqual((await service.call('GET', path)).bytes, tinyPng);
  assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  assert.equal(starts(id), 1);
}

describe('a synchronous image whose storage is away', () => {
  test('waits on the local disk and is stored when the storage is back', async () => {
    const id = await fetchedWhileAway();
    assert.deepEqual(spooled(), [id]);
    const files = readdirSync(join(service.dir, 'spool', id));
    const modes = files.map((name) => statSync(join(service.dir, 'spool', id, name)).mode & 0o777);
    assert.deepEqual(modes, [0o600, 0o600]);
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.slot, row.charged], ['IN_PROGRESS', false, null]);
    assert.match((await service.call('GET', '/metrics')).text, /farebox_spool_results 1\n/);
    await back();
    await service.work();
    await assertMade(id);
    assert.deepEqual(spooled(), []);
  });

  test('is not given up at its deadline', async () => {
    const id = await fetchedWhileAway();
    await passDeadline(service, id);
    await service.work();
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    await back();
    await service.work();
    await assertMade(id);
  });

  test('is given up after a day, and nothing is charged', async () => {
    const id = await fetchedWhileAway();
    const path = join(service.dir, 'spool', id, 'result');
    const marker = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...marker, kept_at: marker.kept_at - 25 * 3_600_000 }));
    await passDeadline(service, id);
    await service.work();
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.error_code], ['FAILED', 'timeout']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    assert.deepEqual(spooled(), []);
  });

  test('outlives the process that fetched it', async (t) => {
    const uploading = gate();
    const id = await submitted(account);
    s3.before = async ({ method }) => {
      if (method !== 'PUT') return null;
      await uploading.pass();
      return 'cut';
    };
    const dead = service.app.worker!.runOnce();
    await uploading.reached;
    assert.deepEqual(spooled(), [id]);
    s3.before = () => null;
    // Another process on the same machine, while the lease of the dead one has not ended.
    const { app } = await service.another();
    t.after(() => app.stop());
    await app.worker!.runOnce();
    await assertMade(id);
    uploading.open();
    await dead;
    await assertMade(id);
  });

  test('is left alone by workers on other machines', async (t) => {
    const id = await fetchedWhileAway();
    await back();
    const { app } = await service.another({ FAREBOX_DATA_DIR: join(service.dir, 'elsewhere') });
    t.after(() => app.stop());
    for (let i = 0; i < 5; i++) {
      await wake(service, id);
      await app.worker!.runOnce();
      assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    }
    await service.work();
    await assertMade(id);
  });

  test('whose machine never comes back ends at its time, its cost known', async (t) => {
    const dir = join(service.dir, 'lost');
    const lost = await service.another({ FAREBOX_DATA_DIR: dir });
    t.after(() => lost.app.stop());
    const id = await fetchedWhileAway(lost.app, lost.base);
    assert.deepEqual(spooled(dir), [id]);
    await back();
    await passDeadline(service, id);
    await service.app.worker!.runOnce();
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.error_code], ['FAILED', 'timeout']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    const [cost] = await service.db.run(sql`select cost_usd_micro from request_results
      where request_id = ${id}`);
    assert.deepEqual(cost, { cost_usd_micro: 4_000n });
    await lost.app.worker!.sweep();
    assert.deepEqual(spooled(dir), []);
  });
});

describe('a job with a handle whose storage is away', () => {
  test("keeps its result beyond its deadline and the upstream's", async () => {
    instant.behave = {
      poll: async () => {
        await away();
        return { state: 'done', result: images(1) };
      },
    };
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    await wake(service, id);
    await service.app.worker!.runOnce();
    assert.deepEqual(spooled(), [id]);
    instant.behave.poll = () => ({ state: 'missing', message: 'no such job' });
    await passDeadline(service, id);
    await service.work();
    await back();
    await service.work();
    await assertMade(id);
  });
});

describe('while the storage is away', () => {
  test('/readyz names it, media are refused before reserving, and chat goes on', async () => {
    const type = { 'content-type': 'image/png' };
    const { file_id } = (
      await service.call('POST', '/v1/files', { key: account.key, raw: tinyPng, headers: type })
    ).body;
    await away();
    const shown = await ready();
    assert.equal(shown.body.error.details.failing, 'storage');
    assert.match((await service.call('GET', '/metrics')).text, /farebox_storage_up 0\n/);
    const earlier = await traces(service);
    const { key } = account;
    const body = { prompt: 'x' };
    const submit = await service.call('POST', '/v1/queue/fake/image', { key, body });
    assertRefused(submit, 'capacity_unavailable');
    const upload = await service.call('POST', '/v1/files', { key, raw: tinyPng, headers: type });
    assertRefused(upload, 'capacity_unavailable');
    const content = [{ type: 'image_url', image_url: { url: file_id } }];
    const seeing = { ...chat, messages: [{ role: 'user', content }] };
    const look = await service.call('POST', '/v1/chat/completions', { key, body: seeing });
    assertRefused(look, 'capacity_unavailable');
    assert.deepEqual(await traces(service), earlier);
    const said = await service.call('POST', '/v1/chat/completions', { key, body: chat });
    assert.equal(said.status, 200, said.text);
    await back();
    assert.match((await service.call('GET', '/metrics')).text, /farebox_storage_up 1\n/);
    const again = await service.call('POST', '/v1/files', { key, raw: tinyPng, headers: type });
    assert.equal(again.status, 201, again.text);
  });

  test('queued requests are not started', async () => {
    const id = await submitted(account);
    await away();
    await service.work();
    await service.wakeAll();
    await service.work();
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.slot, starts(id)], ['IN_QUEUE', false, 0]);
    await back();
    await service.work();
    await assertMade(id);
  });

  test('stored outputs get a 503 that may be repeated, not an internal error', async () => {
    const id = await submitted(account);
    await service.work();
    const { output_urls } = await card(account, id);
    await away();
    const path = output_urls[0].replace(/.*(?=\/v1)/, '');
    assertRefused(await service.call('GET', path), 'capacity_unavailable');
  });
});

test('a service with only text models stays ready', async () => {
  const models = fakeCatalog.split(/(?=^  - id: )/m);
  const catalog = models.filter((text) => !/kind: (image|video)/.test(text)).join('');
  const textOnly = await startService({ times, catalog });
  try {
    const folder = join(textOnly.dir, 'media');
    renameSync(folder, `${folder}-unmounted`);
    await until('it is known to be away', async () => {
      const { text } = await textOnly.call('GET', '/metrics');
      return text.includes('farebox_storage_up 0\n');
    });
    assert.equal((await ready(textOnly.base)).status, 200);
    const { key } = await textOnly.account();
    const said = await textOnly.call('POST', '/v1/chat/completions', { key, body: chat });
    assert.equal(said.status, 200, said.text);
  } finally {
    await textOnly.stop();
  }
});

test('a single failed call does not count as an outage of the storage', async () => {
  let failures = 3;
  s3.before = ({ method, key }) =>
    method === 'PUT' && key.startsWith('outputs/') && failures-- > 0 ? 'cut' : null;
  const id = await submitted(account);
  await service.app.worker!.runOnce();
  assert.equal((await ready()).status, 200);
  assert.deepEqual(spooled(), [id]);
  await wake(service, id);
  await service.work();
  await assertMade(id);
});

test('a storage that can be read and not written to is away', async () => {
  s3.before = ({ method }) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : null);
  const id = await submitted(account);
  await service.app.worker!.runOnce();
  await until('it is known to be away', async () => (await ready()).status === 503);
  await back();
  await service.work();
  await assertMade(id);
});

describe('media on a disk', () => {
  let onDisk: Service;
  let owner: TestAccount;
  let folder: string;
  before(async () => {
    onDisk = await startService({ times });
    folder = join(onDisk.dir, 'media');
    owner = await onDisk.account();
  });
  after(async () => {
    await onDisk.audit();
    await onDisk.stop();
  });

  test('that is no longer there is away, even if a folder is in its place', async () => {
    const id = await submitted(owner);
    await onDisk.app.worker!.runOnce();
    renameSync(folder, `${folder}-unmounted`);
    mkdirSync(folder);
    await until('it is away', async () => (await ready(onDisk.base)).status === 503);
    await wake(onDisk, id);
    await onDisk.work();
    assert.equal((await rowOf(onDisk, id)).status, 'IN_PROGRESS');
    assert.equal(existsSync(join(folder, 'outputs')), false);
    renameSync(folder, `${folder}-empty`);
    renameSync(`${folder}-unmounted`, folder);
    await until('it is back', async () => (await ready(onDisk.base)).status === 200);
    await onDisk.work();
    assert.equal((await card(owner, id)).status, 'COMPLETED');
  });

  test('that is missing at a start is away until it is mounted or made again', async () => {
    const id = await submitted(owner);
    await onDisk.work();
    assert.equal((await card(owner, id)).status, 'COMPLETED');
    renameSync(folder, `${folder}-unmounted`);
    mkdirSync(folder);
    const { base, app } = await onDisk.another({ FAREBOX_DATA_DIR: onDisk.dir });
    await until('it is away', async () => (await ready(base)).status === 503);
    assert.deepEqual(readdirSync(folder), [], 'nothing is made below the mount point');
    assert.match(
      onDisk.log.join(''),
      /media\/\.temp is gone: mount the disk, or create that folder/,
    );
    const said = await onDisk.call('POST', '/v1/chat/completions', {
      key: owner.key,
      base,
      body: chat,
    });
    assert.equal(said.status, 200, 'chat goes on');
    mkdirSync(join(folder, '.temp'));
    await until('it is back', async () => (await ready(base)).status === 200);
    const { output_urls } = await card(owner, id);
    const path = output_urls[0].replace(/.*(?=\/v1)/, '');
    const lost = await onDisk.call('GET', path, { base });
    assertRefused(lost, 'internal_error');
    assert.match(onDisk.log.join(''), /outputs\/.* is not in the storage/);
    await app.stop();
    renameSync(folder, `${folder}-empty-again`);
    renameSync(`${folder}-unmounted`, folder);
    await until('all is well', async () => (await ready(onDisk.base)).status === 200);
    assert.equal((await onDisk.call('GET', path)).status, 200);
  });
});
