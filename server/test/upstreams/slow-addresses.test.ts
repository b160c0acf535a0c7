import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FetchError, type StreamCall } from '../../src/lib/outbound/fetch.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { createDownload, TooSlow } from '../../src/upstreams/download.ts';
import { until } from '../kit/until.ts';
import { withService } from '../kit/with-service.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';
import { card, moneyOf, submitted } from '../worker/floor.ts';
import { media } from './fakes/kit.ts';
import { fakeOpenai, type FakeOpenai } from './fakes/openai.ts';
import { ownCatalog } from './own-catalog.ts';

/** A caller's slow server, for which a slot of the upstream is held. */

let fake: FakeOpenai;
let caller: LocalServer;
let dripping = 0;
const { service, account } = withService(async (use) => {
  fake = use(await fakeOpenai('openai'));
  caller = use(
    await serveHttp((req, res) => {
      res.writeHead(200, { 'content-type': 'image/png' });
      if (req.url === '/late') return void setTimeout(() => res.end(media.png), 800);
      dripping++;
      const drip = setInterval(() => res.write('x'), 50);
      res.on('close', () => {
        dripping--;
        clearInterval(drip);
      });
    }),
  );
  const env = { OWN_KEY: fake.key, FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${caller.port}` };
  return {
    catalog: ownCatalog(fake, { field: 'image_urls', options: '{ start_seconds: 2 }' }),
    env,
  };
});

const refusal =
  'image_urls could not be fetched: fetching all addresses of this request took more than 1.3 s. ' +
  'Check the address, or upload the file and give its file_id.';

for (const [what, paths] of [
  ['one that drips', ['/drip']],
  ['two that are late one after the other', ['/late', '/late']],
] as const)
  test(`${what} ends the request before its start is over, and the upstream is not to blame`, async () => {
    const image_urls = paths.map((path) => `http://127.0.0.1:${caller.port}${path}`);
    const id = await submitted(account, { prompt: 'at night', image_urls }, 'own/edit');
    await service.work();
    const { status, error } = await card(account, id);
    assert.deepEqual([status, error.code], ['FAILED', 'upstream_rejected']);
    assert.equal(error.message, refusal);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    assert.deepEqual(fake.calls, [], 'the upstream was called');
    await until('the connection is let go', () => dripping === 0);
    const noted = 'select failures, paused_until from upstreams where failures > 0';
    assert.deepEqual(await service.db.run(rawSql(noted)), []);
  });

test('a minute is the most for the addresses of one start, and each start has its own', async () => {
  const asked: number[] = [];
  const stream = async ({ timeoutMs }: StreamCall) => {
    asked.push(Math.ceil(timeoutMs! / 1000));
    throw new FetchError('reset', 'the connection broke');
  };
  const download = createDownload({ stream }, { maxBytes: 9, stepSeconds: 45 });
  const url = 'https://example.com/a.png';
  for (const startSeconds of [3600, 360, 60, undefined]) {
    const { signal } = new AbortController();
    const lost = download(url, signal, startSeconds);
    await assert.rejects(lost, (error) => !(error instanceof TooSlow));
  }
  assert.deepEqual(asked, [60, 60, 40, 30]);
});
