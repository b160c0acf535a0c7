import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { withService } from '../kit/with-service.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';
import { card, moneyOf, submitted } from '../worker/floor.ts';
import { media } from './fakes/kit.ts';
import { fakeOpenai, type FakeOpenai } from './fakes/openai.ts';
import { ownCatalog } from './own-catalog.ts';

/** Redirects of a caller's address are followed, each judged as the first. */

let fake: FakeOpenai;
/** Two public servers, and one of the inner network. */
let [caller, store, inside]: LocalServer[] = [];
const redirects: Record<string, [status: number, location: string]> = {};
const { service, account } = withService(async () => {
  fake = await fakeOpenai('openai');
  [caller, store, inside] = await Promise.all(
    [0, 1, 2].map(() =>
      serveHttp((req, res) => {
        const [status, location] = redirects[req.url!] ?? [200, ''];
        res.writeHead(status, status === 200 ? { 'content-type': 'image/png' } : { location });
        res.end(status === 200 ? media.png : 'moved');
      }),
    ),
  );
  const hosts = [caller!, store!].map(({ port }) => `127.0.0.1:${port}`).join();
  const env = { OWN_KEY: fake.key, FAREBOX_TEST_PUBLIC_HOSTS: hosts };
  return { catalog: ownCatalog(fake, { field: 'image_url' }), env };
});
after(async () => {
  for (const server of [caller!, store!, inside!, fake]) await server.close();
});
beforeEach(() => {
  fake.calls.length = 0;
  for (const path of Object.keys(redirects)) delete redirects[path];
});

async function edited(): Promise<any> {
  const image_url = `${caller!.url}/a`;
  const id = await submitted(account, { prompt: 'at night', image_url }, 'own/edit');
  await service.work();
  await service.wakeAll();
  await service.work();
  return { ...(await card(account, id)), money: await moneyOf(service, id) };
}

const followed: [what: string, chain: () => typeof redirects][] = [
  ['to a store', () => ({ '/a': [302, `${store!.url}/b`] })],
  ['a lasting one on the same server', () => ({ '/a': [301, '/b'] })],
  [
    'five of them',
    () => ({
      '/a': [307, '/1'],
      '/1': [308, '2'],
      '/2': [303, `${store!.url}/3`],
      '/3': [302, '4'],
      '/4': [302, `${caller!.url}/5`],
    }),
  ],
];
for (const [what, chain] of followed)
  test(`${what}: the upstream gets the picture`, async () => {
    Object.assign(redirects, chain());
    const { status, error, money } = await edited();
    assert.equal(status, 'COMPLETED', JSON.stringify(error));
    assert.equal(money, 'reserve 10000, charge 10000');
    assert.ok(fake.calls.some(({ body }) => body.includes(media.png)));
  });

const refused: [what: string, chain: () => typeof redirects][] = [
  ['to the inner network', () => ({ '/a': [302, `${inside!.url}/b`] })],
  [
    'to the inner network by way of a store',
    () => ({ '/a': [302, `${store!.url}/b`], '/b': [307, `${inside!.url}/c`] }),
  ],
  ["to the upstream's own server", () => ({ '/a': [302, fake.url] })],
  ['to the secrets of a cloud', () => ({ '/a': [301, 'http://169.254.169.254/latest'] })],
  ['without an end', () => ({ '/a': [302, '/a'] })],
];
for (const [what, chain] of refused)
  test(`${what}: the request ends, free, and nobody inside is asked`, async () => {
    Object.assign(redirects, chain());
    const { status, error, money } = await edited();
    assert.deepEqual([status, error?.code], ['FAILED', 'upstream_rejected']);
    assert.match(error.message, /^image_url could not be fetched\. Check the address/);
    assert.doesNotMatch(error.message, /127\.0\.0\.1|169\.254/);
    assert.equal(money, 'reserve 10000, release 10000');
    assert.deepEqual([inside!.requests.length, fake.calls.length], [0, 0]);
  });
