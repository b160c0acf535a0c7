/** The page of webhooks: secrets, tests, resends and sent notifications. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { before, person, withWebService, type Person } from '../../kit/web.ts';

interface Hit {
  headers: IncomingHttpHeaders;
  body: any;
  text: string;
}

let receiver: Server;
let url: string;
let answer = 204;
const hits: Hit[] = [];
let owner: Person;

const { service, account } = withWebService(async () => {
  receiver = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    hits.push({ headers: req.headers, text, body: JSON.parse(text) });
    res.writeHead(answer).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  url = `http://127.0.0.1:${port}/hook`;
  const env = { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${port}` };
  return { env };
});
before(async () => {
  owner = await person(service, { [account.account_id]: 'owner' });
});
after(async () => {
  await new Promise((resolve) => receiver.close(resolve));
});

const call = (method: string, path: string, body?: unknown) =>
  owner.of(account.account_id).call(method, path, body);

async function finished(webhook_url?: string): Promise<string> {
  const body = { prompt: 'x', webhook_url };
  const reply = await account.post('/v1/queue/fake/image', body);
  await service.work();
  await service.wakeAll();
  await service.work();
  return reply.body.request_id;
}

describe('signing secrets', () => {
  test('are replaced in two steps: both sign meanwhile, and then only the new one', async () => {
    const [first] = (await call('GET', '/webhooks')).body.secrets;
    const rotated = (await call('POST', '/webhooks/rotate')).body.secrets;
    assert.equal(rotated.length, 2);
    assert.equal(rotated[1], first);
    const again = await call('POST', '/webhooks/rotate');
    assert.equal(again.status, 400);
    await call('POST', '/webhooks/test', { url });
    const hit = hits.at(-1)!;
    for (const secret of rotated)
      new Webhook(secret).verify(hit.text, hit.headers as Record<string, string>);
    const retired = (await call('POST', '/webhooks/retire')).body.secrets;
    assert.deepEqual(retired, [rotated[0]]);
    await call('POST', '/webhooks/test', { url });
    const last = hits.at(-1)!;
    assert.throws(() => new Webhook(first).verify(last.text, last.headers as never));
  });

  test('are shown in full only to owners and developers', async () => {
    const { body } = await call('GET', '/webhooks');
    for (const role of ['billing', 'read_only'] as const) {
      const reader = await person(service, { [account.account_id]: role });
      const seen = await reader.of(account.account_id).call('GET', '/webhooks');
      assert.equal(seen.status, 200);
      assert.doesNotMatch(
        seen.text,
        new RegExp(body.secrets[0].slice(8, 30).replace(/[+/]/g, '.')),
      );
      const rotated = await reader.of(account.account_id).call('POST', '/webhooks/rotate');
      assert.equal(rotated.status, 403);
    }
  });
});

describe('a test', () => {
  test('is sent signed, and shows the answer', async () => {
    const before = hits.length;
    const { status, body } = await call('POST', '/webhooks/test', { url });
    assert.equal(status, 200);
    assert.deepEqual([body.delivered, body.status, body.error], [true, 204, null]);
    assert.equal(hits.length, before + 1);
    assert.equal(hits.at(-1)!.body.type, 'test');
  });

  test('that the receiver refuses says so', async () => {
    answer = 500;
    const { body } = await call('POST', '/webhooks/test', { url });
    answer = 204;
    assert.deepEqual([body.delivered, body.status, body.error], [false, 500, 'answered 500']);
  });

  for (const address of ['http://127.0.0.1:9/x', 'http://169.254.169.254/', 'ftp://x.example/']) {
    test(`to ${address} is refused before anything is sent`, async () => {
      const reply = await call('POST', '/webhooks/test', { url: address });
      assert.equal(reply.status, 400);
      assert.equal(reply.body.error.code, 'bad_webhook_url');
    });
  }
});

describe('a resend', () => {
  test('sends the same under the same id, and corrects the state', async () => {
    answer = 503;
    const id = await finished(url);
    answer = 204;
    const before = await account.get(`/v1/requests/${id}`);
    assert.equal(before.body.webhook.state, 'failed');
    const first = hits.at(-1)!;
    const { body } = await call('POST', `/requests/${id}/resend`);
    assert.equal(body.delivered, true);
    const second = hits.at(-1)!;
    assert.equal(second.headers['webhook-id'], first.headers['webhook-id']);
    assert.equal(second.body.request_id, id);
    assert.equal('input' in second.body, false);
    const card = await account.get(`/v1/requests/${id}`);
    assert.deepEqual([card.body.webhook.state, card.body.webhook.last_status], ['delivered', 204]);
    const sent = await call('GET', `/requests/${id}/deliveries`);
    assert.deepEqual(
      sent.body.data.map(({ cause, status }: any) => [cause, status]),
      [
        ['resend', 204],
        ['final', 503],
      ],
    );
    const page = (await call('GET', `/requests/${id}`)).body;
    assert.deepEqual(
      page.deliveries.map(({ status }: any) => status),
      [503, 204],
    );
    await service.audit();
  });

  test('that is repeated is listed in pages, each delivery once, newest first', async () => {
    answer = 204;
    const id = await finished(url);
    for (let n = 0; n < 3; n++) await call('POST', `/requests/${id}/resend`);
    const pages: any[] = [];
    let cursor: string | null = '';
    while (cursor !== null && pages.length < 9) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await call('GET', `/requests/${id}/deliveries?limit=3${query}`);
      pages.push(body.data.map(({ cause }: any) => cause));
      cursor = body.next_cursor;
    }
    assert.deepEqual(pages, [['resend', 'resend', 'resend'], ['final']]);
    for (const query of ['limit=0', 'limit=101', 'cursor=x', 'before=x']) {
      const { status } = await call('GET', `/requests/${id}/deliveries?${query}`);
      assert.equal(status, 400, query);
    }
  });

  test('of a request without an address, or of another account, sends nothing', async () => {
    const id = await finished();
    const before = hits.length;
    assert.equal((await call('POST', `/requests/${id}/resend`)).status, 400);
    const other = await service.account();
    const stranger = await person(service, { [other.account_id]: 'owner' });
    const asked = await stranger.of(other.account_id).call('POST', `/requests/${id}/resend`);
    assert.equal(asked.status, 404);
    assert.equal(hits.length, before);
  });
});

test('notifications are listed newest first, by filter only failed ones, of this account only', async () => {
  const all = (await call('GET', '/deliveries')).body.data;
  assert.ok(all.length >= 5);
  const failed = (await call('GET', '/deliveries?failed=true')).body.data;
  assert.ok(failed.length > 0 && failed.length < all.length);
  for (const { status } of failed) assert.ok(status === null || status >= 300);
  const other = await service.account();
  const stranger = await person(service, { [other.account_id]: 'owner' });
  const seen = await stranger.of(other.account_id).call('GET', '/deliveries');
  assert.deepEqual(seen.body.data, []);
});
