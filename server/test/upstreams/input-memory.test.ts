import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { InputRefused, sized } from '../../src/upstreams/inputs.ts';
import { fitInputs } from '../../src/upstreams/open-media.ts';
import type { StartJob } from '../../src/upstreams/upstream.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';
import { card, moneyOf, submitted, wake } from '../worker/floor.ts';
import { fakeOpenai, type FakeOpenai } from './fakes/openai.ts';
import { ownCatalog } from './own-catalog.ts';

/**
 * Files at callers' addresses that are read before they are sent on share the memory: 32 MiB here,
 * of which one account alone gets 16.
 */

const chatRow = `  - id: own/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    context_tokens: 100000
    max_output_tokens: 100
    upstream_model: gpt-fake
`;

const MiB = 1024 * 1024;
const piece = Buffer.alloc(MiB, 'picture');
let fake: FakeOpenai;
let caller: LocalServer;
let other: TestAccount;
/** Replies that have sent all their bytes and not ended. */
let open: ServerResponse[] = [];
const endAll = () => {
  for (const res of open) res.end();
  open = [];
};
const { service, account } = withService(async (use) => {
  fake = use(await fakeOpenai('openai'));
  caller = use(
    await serveHttp(async (req, res) => {
      const [, how, size] = req.url!.split('/');
      res.writeHead(200, { 'content-type': 'image/png' });
      for (let i = 0; i < Number(size); i++)
        if (!res.write(piece)) await new Promise((resolve) => res.once('drain', resolve));
      if (how === 'hangs') open.push(res);
      else res.end();
    }),
  );
  return {
    catalog: ownCatalog(fake, {
      field: 'image_urls',
      options: '{ inline_images: true }',
      more: chatRow,
    }),
    env: {
      OWN_KEY: fake.key,
      FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${caller.port}`,
      FAREBOX_BODIES_MAX_BYTES: String(16 * MiB),
    },
  };
});
before(async () => void (other = await service.account()));
afterEach(endAll);

const address = (path: string) => `http://127.0.0.1:${caller.port}/${path}`;
const chat = (paths: string[], { key } = account, more: object = {}) => {
  const content = paths.map((path) => ({ type: 'image_url', image_url: { url: address(path) } }));
  const body = { model: 'own/chat', max_tokens: 5, messages: [{ role: 'user', content }], ...more };
  return service.call('POST', '/v1/chat/completions', { key, body });
};
/** A chat that goes on, with a file of 12 MiB. */
async function holding() {
  const call = chat(['hangs/12']);
  await until('its file is there', () => open.length === 1);
  const isHeld = async () => (await chat(['whole/9'])).status === 429;
  await until('its file is held', isHeld, 20_000);
  return { call };
}
const asked = () => fake.chat.asked.length;
const failures = () => service.db.run(rawSql('select name from upstreams where failures > 0'));

test('a chat whose files do not fit beside those of its account is refused and costs nothing', async () => {
  const first = await holding();
  const earlier = [await service.balance(account), asked()];
  for (const stream of [false, true]) {
    const refused = assertRefused(await chat(['whole/9'], account, { stream }), 'rate_limited');
    assert.equal(refused.details.reason, 'account_share');
    assert.ok(refused.details.held >= 8 * MiB, JSON.stringify(refused.details));
  }
  assert.deepEqual([await service.balance(account), asked()], earlier);
  assert.equal((await chat(['whole/9'], other)).status, 200, 'others have their share');
  endAll();
  assert.equal((await first.call).status, 200);
  assert.equal((await chat(['whole/9'])).status, 200, 'the bytes are given back');
  assert.deepEqual(await failures(), [], 'the upstream is not to blame');
});

test('files that never fit are refused for good', async () => {
  const earlier = asked();
  const refused = assertRefused(await chat(['whole/9', 'whole/9']), 'bad_messages');
  assert.match(refused.message, /larger together than this server can take/);
  assert.equal(asked(), earlier);
});

test('a job whose files do not fit now starts later', async () => {
  const first = await holding();
  const image_urls = [address('whole/5'), address('whole/4')];
  const id = await submitted(account, { prompt: 'at night', image_urls }, 'own/edit');
  const earlier = fake.calls.length;
  await service.work();
  assert.equal((await card(account, id)).status, 'IN_PROGRESS');
  assert.equal(fake.calls.length, earlier, 'the upstream is not called');
  assert.deepEqual(await failures(), [], 'the upstream is not to blame');
  endAll();
  assert.equal((await first.call).status, 200);
  await wake(service, id);
  await service.work();
  assert.equal((await card(account, id)).status, 'COMPLETED');
  assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
});

test('a caller who leaves gives the bytes back', async () => {
  const gone = new AbortController();
  const content = [{ type: 'image_url', image_url: { url: address('hangs/12') } }];
  const body = { model: 'own/chat', max_tokens: 5, messages: [{ role: 'user', content }] };
  const { key } = account;
  const left = service.call('POST', '/v1/chat/completions', { key, body, signal: gone.signal });
  await until('its file is there', () => open.length === 1);
  gone.abort();
  await assert.rejects(left);
  endAll();
  await until('the bytes are free', async () => (await chat(['whole/15'])).status === 200);
});

test('what is counted is what is kept, however small the chunks', async () => {
  const counted: number[] = [];
  async function* chunks() {
    for (let i = 0; i < 20_000; i++) yield piece.subarray(i, i + 1);
  }
  const file = { content_type: 'image/png', size: 0, open: async () => chunks() };
  const hold = (bytes: number) => void counted.push(bytes);
  const read = await sized({ ...file, hold }, 'image_url', MiB);
  assert.equal(read.size, 20_000);
  assert.equal(
    counted.reduce((sum, bytes) => sum + bytes),
    20_000,
  );
  const kept: Uint8Array[] = [];
  for await (const chunk of await read.open()) kept.push(chunk);
  assert.deepEqual(Buffer.concat(kept), piece.subarray(0, 20_000));
  assert.ok(kept.every(({ buffer }) => buffer.byteLength <= 64 * 1024));
  const small = sized({ ...file, hold }, 'image_url', 10_000);
  await assert.rejects(small, new InputRefused('image_url is larger than 10000 bytes.'));
});

test('the same holds for a picture that is converted', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  // A collection ends the sweeping of the one before, which frees buffers in the background.
  const used = () => (collect(), collect(), process.memoryUsage().arrayBuffers);
  const tiff = readFileSync(join(import.meta.dirname, '../fixtures/media/lzw.tif'));
  async function* chunks() {
    for (let i = 0; i < 100; i++) yield Buffer.alloc(MiB, tiff.subarray(i, i + 1)).subarray(0, 1);
    yield tiff.subarray(100);
  }
  const file = { content_type: 'image/tiff', size: tiff.length, open: async () => chunks() };
  const earlier = used();
  const job = {
    files: { file },
    takes: ['image/png'],
    hold: () => {},
    signal: AbortSignal.any([]),
  };
  let kept = 0;
  const inShare = <T>(work: () => Promise<T>) => {
    kept = used() - earlier;
    return work();
  };
  const fit = await fitInputs({ ...job, inShare } as unknown as StartJob);
  assert.equal(fit.files.file!.content_type, 'image/png');
  assert.ok(kept < 10 * MiB, `${kept} bytes`);
});
