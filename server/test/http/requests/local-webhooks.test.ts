import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { openPlayChain } from '../../../src/chains/play-chain.ts';
import { trialAccounts } from '../../../src/core/account/trial.ts';
import { createLog } from '../../../src/lib/log.ts';
import { loopbackHosts } from '../../../src/lib/outbound/address.ts';
import { createFetch } from '../../../src/lib/outbound/fetch.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { notifyLowBalances } from '../../../src/worker/background/low-balance.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { person, startWebService } from '../../kit/web.ts';
import { serveHttp, type LocalServer } from '../../lib/local-server.ts';

/** Webhooks to the computer of the trial: for its demo account, and nobody else. */

const posts: { path: string; headers: Record<string, string>; body: string }[] = [];
/** Addresses by host name. */
const names = new Map([['localhost', ['127.0.0.1']]]);
const lookup = async (name: string) => names.get(name) ?? Promise.reject(new Error('no such name'));
let receiver: LocalServer;
let [trial, real]: Service[] = [];
let demo: TestAccount;

before(async () => {
  receiver = await serveHttp((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += chunk));
    req.on('end', () => {
      posts.push({ path: req.url!, headers: req.headers as Record<string, string>, body });
      if (req.url === '/moved') res.writeHead(307, { location: `${receiver.url}/landed` });
      res.end();
    });
  });
  [trial, real] = await Promise.all([
    startWebService({ chains: openPlayChain(), lookup }),
    startWebService({ lookup }),
  ]);
  demo = await demoOf(trial!);
});
after(() => Promise.all([trial!.stop(), real!.stop(), receiver.close()]));

async function demoOf(service: Service): Promise<TestAccount> {
  const account = await service.account();
  const rename = 'update accounts set email = $2 where id = $1';
  await service.db.run(rawSql(rename, [account.account_id, trialAccounts.demo]));
  return account;
}

function submit(service: Service, { key }: TestAccount, input: object) {
  return service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'x', ...input } });
}

async function webhookOf(service: Service, { key }: TestAccount, id: string) {
  await service.work();
  return (await service.call('GET', `/v1/requests/${id}`, { key })).body.webhook;
}

/** Checks for low balances once, with the HTTP clients of a trial. */
async function lookForLowBalances(): Promise<void> {
  const webhooks = createFetch({ guard: true, lookup });
  const localWebhooks = createFetch({ guard: { allowHosts: loopbackHosts }, lookup });
  const log = createLog('silent');
  const deps = { db: trial!.db, log, mail: null, webhookMs: 5_000, origin: () => '' };
  await notifyLowBalances({ ...deps, webhooks, localWebhooks });
  await Promise.all([webhooks.close(), localWebhooks.close()]);
}

const pathsAt = (path: string) => posts.filter((post) => post.path === path).length;

describe('the demo account gets webhooks on its own computer', () => {
  for (const host of ['127.0.0.1', 'localhost']) {
    test(`at ${host}, signed`, async () => {
      const url = `http://${host}:${receiver.port}/${host}`;
      const { status, body } = await submit(trial!, demo, { webhook_url: url });
      assert.equal(status, 202);
      const webhook = await webhookOf(trial!, demo, body.request_id);
      assert.deepEqual(webhook, { url, state: 'delivered', last_status: 200 });
      const [post, ...more] = posts.filter(({ path }) => path === `/${host}`);
      assert.deepEqual(more, []);
      const [account] = await trial!.db.run<{ webhook_secrets: string[] }>(sql`
        select webhook_secrets from accounts where id = ${demo.account_id}`);
      const card = new Webhook(account!.webhook_secrets[0]!).verify(post!.body, post!.headers);
      assert.equal((card as { request_id: string }).request_id, body.request_id);
    });
  }

  test('from the pages: a test, and the alert of a low balance', async () => {
    const owner = (await person(trial!, { [demo.account_id]: 'owner' })).of(demo.account_id);
    const sent = await owner.call('POST', '/webhooks/test', { url: `${receiver.url}/test` });
    assert.deepEqual([sent.status, sent.body.delivered, pathsAt('/test')], [200, true, 1]);
    const alert = { low_balance_usd_micro: '1000000000', emails: false };
    const webhook_url = `${receiver.url}/low`;
    assert.equal((await owner.call('PUT', '/alerts', { ...alert, webhook_url })).status, 200);
    await lookForLowBalances();
    const [low, ...more] = posts.filter(({ path }) => path === '/low');
    assert.deepEqual(more, []);
    const { type, account_id } = JSON.parse(low!.body);
    assert.deepEqual([type, account_id], ['low_balance', demo.account_id]);
  });

  test('but a redirect is not followed', async () => {
    const url = `${receiver.url}/moved`;
    const { body } = await submit(trial!, demo, { webhook_url: url });
    const webhook = await webhookOf(trial!, demo, body.request_id);
    assert.deepEqual([webhook.state, webhook.last_status], ['failed', 307]);
    assert.deepEqual([pathsAt('/moved'), pathsAt('/landed')], [1, 0]);
  });

  test('but a name that leads to it is refused, also when it does so only later', async () => {
    const name = 'hook.example.com';
    const url = `http://${name}:${receiver.port}/rebound`;
    names.set(name, ['127.0.0.1']);
    assertRefused(await submit(trial!, demo, { webhook_url: url }), 'bad_webhook_url');
    names.set(name, ['93.184.216.34']);
    const { body } = await submit(trial!, demo, { webhook_url: url });
    names.set(name, ['127.0.0.1']);
    const webhook = await webhookOf(trial!, demo, body.request_id);
    assert.deepEqual([webhook.state, webhook.last_status], ['failed', null]);
    assert.equal(pathsAt('/rebound'), 0);
  });

  const refused = [
    'http://127.0.0.2/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://farebox.localhost/',
    'http://[::ffff:127.0.0.1]/',
    'http://user@127.0.0.1/',
    'ftp://127.0.0.1/',
  ];
  for (const webhook_url of refused) {
    test(`but ${webhook_url} is refused`, async () => {
      assertRefused(await submit(trial!, demo, { webhook_url }), 'bad_webhook_url');
    });
  }

  test('but an input may not be there', async () => {
    const image_url = `${receiver.url}/input.png`;
    assertRefused(await submit(trial!, demo, { image_url }), 'invalid_input');
    assert.equal(pathsAt('/input.png'), 0);
  });
});

/** Asserts that the address is refused at the submit and on the pages, and never called. */
async function isShut(service: Service, account: TestAccount): Promise<void> {
  const url = `${receiver.url}/shut`;
  assertRefused(await submit(service, account, { webhook_url: url }), 'bad_webhook_url');
  const owner = await person(service, { [account.account_id]: 'owner' });
  const sent = await owner.of(account.account_id).call('POST', '/webhooks/test', { url });
  assert.deepEqual([sent.status, sent.body.error.code], [400, 'bad_webhook_url']);
  const webhook_url = 'http://93.184.216.34/';
  const { body } = await submit(service, account, { webhook_url });
  const rewrite = 'update request_inputs set webhook_url = $2 where request_id = $1';
  await service.db.run(rawSql(rewrite, [body.request_id, url]));
  const webhook = await webhookOf(service, account, body.request_id);
  assert.deepEqual([webhook.state, webhook.last_status], ['failed', null]);
  assert.equal(pathsAt('/shut'), 0);
}

test('local webhooks of another account in the trial are refused', async () => {
  await isShut(trial!, await trial!.account());
});

test('outside a trial the demo account is refused', async () => {
  await isShut(real!, await demoOf(real!));
});
