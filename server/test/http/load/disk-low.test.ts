import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { after, describe, mock, test } from 'node:test';
import type { EmbeddedServer } from '../../../src/db/embedded.ts';
import { DiskStorage } from '../../../src/storage/disk.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { S3Server } from '../../storage/s3-server.ts';

/** A disk is nearly full: no new work is taken, and accepted work goes on. */

const headers = { 'idempotency-key': 'before' };
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
let low: string;
after(() => mock.restoreAll());
const { service, account } = withService();

const submit = (base = low, more = {}) =>
  account.post('/v1/queue/fake/image', { prompt: 'x' }, { base, ...more });

const ready = async (base: string): Promise<Reply> => service.call('GET', '/readyz', { base });

describe('a disk that is nearly full', () => {
  let earlier: Reply;
  before(async () => {
    earlier = await submit(service.base, { headers });
    assert.equal((await ready(service.base)).status, 200);
    mock.method(DiskStorage.prototype, 'freeBytes', async () => 255 * 1024 * 1024);
    ({ base: low } = await service.another());
    await until('it is noticed', async () => (await ready(low)).status === 503);
  });

  test('is what /readyz names', async () => {
    assert.match((await ready(low)).text, /disk space/);
  });

  test('refuses submits of media and uploads with 503, and keeps nothing of them', async () => {
    const before = await traces(service);
    const { key } = account;
    const type = { 'content-type': 'image/png' };
    const calls = [
      submit(),
      submit(low, { headers: { 'idempotency-key': 'new' } }),
      service.call('POST', '/v1/files', { key, raw: 'x', headers: type, base: low }),
    ];
    for (const reply of await Promise.all(calls)) {
      assertRefused(reply, 'capacity_unavailable');
      assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
      assert.doesNotMatch(reply.text, /disk/, 'what it lacks is nothing to the caller');
    }
    assert.deepEqual(await traces(service), before);
  });

  test('does not affect chat, which stores no media', async () => {
    const { key } = account;
    const said = await service.call('POST', '/v1/chat/completions', { key, body: chat, base: low });
    assert.equal(said.status, 200, said.text);
  });

  test('is a line in the log for many calls and probes that are refused, without a stack', async () => {
    const { base } = await service.another();
    await until('it is noticed', async () => (await ready(base)).status === 503);
    const earlier = service.log.length;
    for (let i = 0; i < 20; i++) await ready(base);
    for (let i = 0; i < 20; i++) await submit(base);
    // On a slow machine the new process may still log its start.
    const [line, ...more] = service.log
      .slice(earlier)
      .map((each) => JSON.parse(each))
      .filter((each) => each.code !== undefined || each.msg === 'call failed');
    assert.deepEqual(more, []);
    const { level, msg, code, refused, err } = line;
    assert.deepEqual([level, msg, code, refused], [40, 'call failed', 'capacity_unavailable', 1]);
    assert.deepEqual(err, { message: 'not ready: disk space' });
  });

  test('still answers the repeat of an earlier call, and its status', async () => {
    const again = await submit(low, { headers });
    assert.equal(again.status, 200);
    assert.equal(again.body.request_id, earlier.body.request_id);
    const path = `/v1/requests/${earlier.body.request_id}/status`;
    assert.equal((await account.get(path, { base: low })).status, 200);
  });
});

describe('the disk of the embedded database', () => {
  const cluster = '/where/the/books/are';
  const embedded = { cluster } as EmbeddedServer;
  const room = 10 * 1024 ** 3;
  const bytes = { books: 255 * 1024 * 1024, others: room };
  before(() => {
    mock.restoreAll();
    mock.method(fs, 'statfs', async (path: string) => {
      return { bavail: path === cluster ? bytes.books : bytes.others, bsize: 1 };
    });
    syncBuiltinESMExports();
  });
  after(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });

  const figures = async (base: string) => {
    const { text } = await service.call('GET', '/metrics', { base });
    return text.split('\n').filter((line) => /^farebox_(data|media)_free_bytes /.test(line));
  };

  test('is checked as well, with media elsewhere', async () => {
    const { base } = await service.another({}, { embedded });
    await until('it is noticed', async () => (await ready(base)).status === 503);
    assert.match((await ready(base)).text, /disk space/);
    assertRefused(await submit(base), 'capacity_unavailable');
    const { key } = account;
    const said = await service.call('POST', '/v1/chat/completions', { key, body: chat, base });
    assertRefused(said, 'capacity_unavailable');
    assert.match(service.log.join(''), /"disk":"data","free_bytes":267386880,.*disk space is low/);
    assert.deepEqual(await figures(base), [
      'farebox_data_free_bytes 267386880',
      `farebox_media_free_bytes ${room}`,
    ]);
  });

  test('is checked with S3, which reports no free space', async () => {
    const storage = { FAREBOX_STORAGE: 's3+http://KEY:SECRET@127.0.0.1:9/bucket' };
    const { base } = await service.another(storage, { embedded });
    await until('it is noticed', async () => (await ready(base)).status === 503);
    assert.deepEqual(await figures(base), ['farebox_data_free_bytes 267386880']);
  });

  test('does not affect a service whose database is elsewhere', async (t) => {
    Object.assign(bytes, { others: 1 });
    const s3 = new S3Server();
    const { host } = new URL(await s3.listen());
    t.after(() => s3.close());
    const address = `s3+http://AKTEST:se%2Fcr%2Bet@${host}/bucket?region=eu-test-1`;
    const storage = { FAREBOX_STORAGE: address };
    const { base } = await service.another(storage);
    assert.equal((await submit(base)).status, 202);
    assert.equal((await ready(base)).status, 200);
    assert.deepEqual(await figures(base), ['farebox_data_free_bytes 1']);
  });
});
