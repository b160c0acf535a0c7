import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { startService, type Service, type TestAccount } from '../../kit/service.ts';
import * as kit from '../../kit/swift.ts';
import { before } from '../../kit/with-service.ts';
import { image } from '../../storage/media-fixtures.ts';

/** Signed links of outputs that lead to the store itself. */

const unpacked = await kit.swiftPackages();

if (unpacked === null) test('direct downloads', (t) => t.skip('not run: swift'));
else describe('with direct downloads', () => directDownloads(unpacked));

function directDownloads(packages: string): void {
  let swift: kit.Swift;
  let service: Service;
  let account: TestAccount;
  let bytes: Buffer;
  let id: string;
  /** Path of the signed link. */
  let link: string;

  before(async () => {
    swift = await kit.openSwift(packages);
    const user = `${encodeURIComponent(kit.swiftOwner.accessKeyId)}:${encodeURIComponent(kit.swiftSecret)}`;
    const place = `s3+http://${user}@127.0.0.1:${swift.port}/${kit.swiftBucket}`;
    const FAREBOX_STORAGE = `${place}?region=${kit.swiftRegion}&prefix=ours/&downloads=direct`;
    service = await startService({ env: { FAREBOX_STORAGE } });
    account = await service.account();
    bytes = await image('png');
    [id, link] = await made();
  });
  after(async () => {
    await service?.stop();
    await swift?.close();
  });

  /** A completed request and the path of its output's link. */
  async function made(): Promise<[string, string]> {
    const result = { media: [{ field: 'images', source: { bytes } }], fields: {} };
    service.fake.behave.poll = () => ({ state: 'done', result });
    const { body } = await account.post('/v1/queue/fake/image', { prompt: 'x' });
    await service.work();
    service.fake.behave = {};
    const reply = await account.get(`/v1/requests/${body.request_id}/response`);
    const { pathname, search } = new URL(reply.body.images[0].url);
    return [body.request_id, pathname + search];
  }
  const erase = (request_id: string) =>
    service.call('DELETE', `/v1/requests/${request_id}/output`, { key: account.key });
  const call = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(service.base + path, { method, headers, redirect: 'manual' });
  const placeOf = async (path = link) => {
    const reply = await call(path);
    assert.equal(reply.status, 302);
    return new URL(reply.headers.get('location')!);
  };

  test('a signed link leads to the same bytes, with their type and name, in parts, too', async () => {
    const place = await placeOf();
    assert.equal(place.port, String(swift.port));
    const whole = await fetch(place);
    assert.equal(whole.status, 200);
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes));
    const told = ['content-type', 'content-disposition'].map((name) => whole.headers.get(name));
    assert.deepEqual(told, ['image/png', `inline; filename="${id.slice(-12)}-0.png"`]);
    const part = await fetch(place, { headers: { range: 'bytes=1-3' } });
    assert.deepEqual([part.status, await part.text()], [206, 'PNG']);
    // As clients do it that follow redirects, with the headers of their first call.
    const followed = await fetch(service.base + link, { headers: { range: 'bytes=-4' } });
    assert.deepEqual([followed.status, followed.redirected], [206, true]);
    assert.ok(Buffer.from(await followed.arrayBuffer()).equals(bytes.subarray(-4)));
  });

  test('the redirect is kept by nobody, and told to no other site', async () => {
    const { headers } = await call(link);
    assert.equal(headers.get('cache-control'), 'private, no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('etag'), null);
  });

  test('the address opens this object alone, and no longer than the link', async () => {
    const place = await placeOf();
    const exp = Number(new URL(link, service.base).searchParams.get('exp'));
    const seconds = Number(place.searchParams.get('X-Amz-Expires'));
    assert.ok(seconds > 0 && seconds <= exp - Math.floor(Date.now() / 1000) + 1, `${seconds}`);
    const [, otherLink] = await made();
    const other = await placeOf(otherLink);
    const changes: [string, (url: URL) => unknown][] = [
      ['another object', (url) => (url.pathname = other.pathname)],
      ['a longer time', (url) => url.searchParams.set('X-Amz-Expires', String(seconds + 60))],
      ['no signature', (url) => (url.search = '')],
      ['another type', (url) => url.searchParams.set('response-content-type', 'text/html')],
    ];
    for (const [what, change] of changes) {
      const url = new URL(place);
      change(url);
      const { status } = await fetch(url);
      assert.ok([400, 403].includes(status), `${what}: ${status}`);
    }
    for (const method of ['HEAD', 'PUT', 'DELETE'])
      assert.equal((await fetch(place, { method })).status, 403, method);
    assert.equal((await fetch(place)).status, 200);
  });

  test('keys, HEAD, scripts of pages and our own pages get the bytes from us', async () => {
    const calls: [what: string, headers: Record<string, string>, method?: string][] = [
      ['a key and the link', { authorization: `Key ${account.key}` }],
      ['another key and the link', { 'x-api-key': 'nonsense' }],
      ['HEAD', {}, 'HEAD'],
      ['a script', { origin: 'https://a.example', 'sec-fetch-site': 'cross-site' }],
      ['our own page', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'same-origin' }],
    ];
    for (const [what, headers, method = 'GET'] of calls) {
      const reply = await call(link, headers, method);
      assert.equal(reply.status, 200, what);
      assert.equal(reply.headers.get('location'), null, what);
      const got = Buffer.from(await reply.arrayBuffer());
      assert.ok(method === 'HEAD' ? got.length === 0 : got.equals(bytes), what);
      const current = await call(link, { ...headers, 'if-none-match': reply.headers.get('etag')! });
      assert.equal(current.status, 304, what);
    }
    const [keyed] = link.split('?');
    assert.equal((await call(keyed!, { authorization: `Key ${account.key}` })).status, 200);
    const shown = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'cross-site' };
    assert.equal((await call(link, shown)).status, 302, 'an image on another page');
  });

  test('a small version comes from us', async () => {
    assert.equal((await call(`${link}&size=square`)).status, 200);
  });

  test('a link that is wrong, expired or deleted leads nowhere', async () => {
    const refused = async (path: string, status: number) => {
      const reply = await call(path);
      assert.deepEqual([reply.status, reply.headers.get('location')], [status, null]);
    };
    await refused(`${link}x`, 401);
    const [deleted, deletedLink] = await made();
    const place = await placeOf(deletedLink);
    assert.equal((await erase(deleted)).status, 200);
    await refused(deletedLink, 410);
    await service.work();
    assert.equal((await fetch(place)).status, 404, 'the object is gone, too');
    const [late, lateLink] = await made();
    await service.db.run(
      rawSql(
        `update requests set completed_at = completed_at - interval '2 days',
           expires_at = expires_at - interval '2 days' where id = $1`,
        [late],
      ),
    );
    await refused(lateLink, 410);
  });
}
