import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import {
  retireWebhookSecret,
  rotateWebhookSecret,
} from '../../../src/operations/accounts/account.ts';
import { newWebhookSecret, signWebhook } from '../../../src/core/request/webhook.ts';
import { isLong } from '../../kit/long.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';
import { serveHttp, serveTcp, type LocalServer, type TcpServer } from '../../lib/local-server.ts';

/** Notifications at real receivers: sent once, signed, and never to a private address. */

/** Time limit of a notification in this file. */
const webhookMs = 1_000;

interface Hit {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** All calls that the receiver got. Each test has its own path. */
const hits: Hit[] = [];
const at = (path: string) => hits.filter((hit) => hit.path === path);
/** Answers of the receiver by path; default: 204. */
const answers: Record<string, (res: ServerResponse) => void> = {};

let receiver: LocalServer;
let garbage: TcpServer;
/** A server that no setting allows: a call that arrives has passed the guard. */
let forbidden: LocalServer;
let closedPort: number;
/** Addresses by host name; other names are not found. */
const names = new Map<string, string[]>();

const { service, account } = withService(async () => {
  receiver = await serveHttp((req, res) => void receive(req, res));
  garbage = await serveTcp((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
  forbidden = await serveHttp((_req, res) => res.end());
  const gone = await serveHttp(() => {});
  closedPort = gone.port;
  await gone.close();
  const ports = [receiver.port, garbage.port, closedPort];
  return {
    env: { FAREBOX_TEST_PUBLIC_HOSTS: ports.map((port) => `127.0.0.1:${port}`).join(',') },
    times: { webhookMs },
    lookup: async (name) => names.get(name) ?? Promise.reject(new Error('no such name')),
  };
});
after(() => Promise.all([receiver.close(), garbage.close(), forbidden.close()]));

async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  const { url: path = '', method = '', headers } = req;
  hits.push({ path, method, headers, body: Buffer.concat(chunks).toString('utf8') });
  const answer = answers[path] ?? ((reply: ServerResponse) => reply.writeHead(204).end());
  answer(res);
}

let paths = 0;
const newPath = () => `/hook-${++paths}`;
const to = (path: string) => `${receiver.url}${path}`;

async function submit(webhook_url?: string): Promise<string> {
  const body = { prompt: 'x', ...(webhook_url !== undefined && { webhook_url }) };
  const reply = await account.post('/v1/queue/fake/image', body);
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id;
}

async function card(id: string) {
  return (await account.get(`/v1/requests/${id}`)).body;
}

interface Delivery {
  status: number | null;
  error: string | null;
  attempt: number;
}

function deliveries(id: string): Promise<Delivery[]> {
  return service.db.run<Delivery>(sql`select status, error, attempt from webhook_deliveries
       where request_id = ${id} and url is not null and duration_ms >= 0 order by attempt`);
}

function secrets(): Promise<{ webhook_secrets: string[] }[]> {
  return service.db.run<{ webhook_secrets: string[] }>(sql`select webhook_secrets from accounts
    where id = ${account.account_id}`);
}

function verify(hit: Hit, secret: string): unknown {
  return new Webhook(secret).verify(hit.body, hit.headers as Record<string, string>);
}

type IsGenuine = (secret: string, headers: IncomingHttpHeaders, body: string | Buffer) => boolean;

/** The code of docs/api/webhooks.md, unchanged. */
async function documented(): Promise<IsGenuine> {
  const page = readFileSync(new URL('../../../../docs/api/webhooks.md', import.meta.url), 'utf8');
  const [, recipe] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const module = await import(`data:text/javascript,${encodeURIComponent(recipe!)}`);
  return module.isGenuine;
}

/** Makes every request due, twice. */
async function wakeTwice(): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await service.wakeAll();
    await service.work();
  }
}

describe('each end is sent once, with the card', () => {
  const ends: [status: string, play: () => void][] = [
    ['COMPLETED', () => {}],
    [
      'FAILED',
      () => (service.fake.behave = { start: () => ({ outcome: 'rejected', message: 'no cats' }) }),
    ],
    ['CANCELLED', () => {}],
  ];
  for (const [status, play] of ends) {
    test(status, async () => {
      const path = newPath();
      const id = await submit(to(path));
      play();
      if (status === 'CANCELLED') {
        await account.post(`/v1/requests/${id}/cancel`);
      }
      await service.work();
      service.fake.behave = {};
      const { input, webhook, ...shown } = await card(id);
      assert.equal(shown.status, status);
      assert.equal(input.prompt, 'x');
      assert.deepEqual(webhook, { url: to(path), state: 'delivered', last_status: 204 });
      const [hit, ...more] = at(path);
      assert.deepEqual(more, []);
      assert.equal(hit!.method, 'POST');
      assert.match(hit!.headers['content-type']!, /^application\/json\b/);
      // The notification was being sent when the body was written.
      const pending = { url: to(path), state: 'pending', last_status: null };
      assert.deepEqual(JSON.parse(hit!.body), { ...shown, webhook: pending });
      assert.doesNotMatch(hit!.body, /"prompt"/);
      const recorded = (await deliveries(id)).map((each) => [each.status, each.error]);
      assert.deepEqual(recorded, [[204, null]]);
      await wakeTwice();
      assert.equal(at(path).length, 1);
    });
  }

  test('nothing is sent before the end, or without a webhook_url', async () => {
    const path = newPath();
    service.fake.behave.poll = () => ({ state: 'running', poll_after_ms: 3_600_000 });
    const running = await submit(to(path));
    await service.work();
    service.fake.behave = {};
    assert.equal((await card(running)).status, 'IN_PROGRESS');
    const all = hits.length;
    const silent = await submit();
    await service.work();
    assert.equal((await card(silent)).webhook, null);
    assert.equal(hits.length, all);
    await service.wakeAll();
    await service.work();
    assert.equal(at(path).length, 1);
  });
});

describe('the receiver can prove who sent it', () => {
  async function notified(): Promise<{ id: string; hit: Hit }> {
    const path = newPath();
    const id = await submit(to(path));
    await service.work();
    return { id, hit: at(path)[0]! };
  }

  test('with the account’s secret, by the standard’s own library', async () => {
    const { id, hit } = await notified();
    const [row] = await secrets();
    const body = verify(hit, row!.webhook_secrets[0]!) as Record<string, unknown>;
    assert.equal(body.request_id, id);
    assert.equal(hit.headers['webhook-id'], id);
    assert.ok(Math.abs(Number(hit.headers['webhook-timestamp']) - Date.now() / 1000) < 60);
    const theirs = newWebhookSecret((n) => Buffer.alloc(n, 7));
    assert.throws(() => verify(hit, theirs), WebhookVerificationError);
    const changed = { ...hit, body: hit.body.replace('COMPLETED', 'CANCELLED') };
    assert.throws(() => verify(changed, row!.webhook_secrets[0]!), WebhookVerificationError);
  });

  test('with either secret while one is being replaced', async () => {
    const [row] = await secrets();
    const [old] = row!.webhook_secrets;
    const { account_id } = account;
    const [young] = (await rotateWebhookSecret(service.db, account_id)) as [string];
    const { id, hit } = await notified();
    for (const secret of [young, old!]) {
      assert.equal((verify(hit, secret) as Record<string, unknown>).request_id, id);
    }
    const isGenuine = await documented();
    for (const secret of [young, old!]) assert.ok(isGenuine(secret, hit.headers, hit.body));
    assert.deepEqual(await retireWebhookSecret(service.db, account_id), [young]);
    const later = await notified();
    assert.throws(() => verify(later.hit, old!), WebhookVerificationError);
    assert.equal(isGenuine(old!, later.hit.headers, later.hit.body), false);
    verify(later.hit, young);
  });

  test('as the code in docs/api/webhooks.md verifies it, which accepts nothing else', async () => {
    const isGenuine = await documented();
    const { hit } = await notified();
    const [row] = await secrets();
    const [secret] = row!.webhook_secrets as [string];
    const { headers, body } = hit;
    assert.equal(isGenuine(secret, headers, body), true);
    assert.equal(isGenuine(secret, headers, Buffer.from(body)), true);
    const theirs = newWebhookSecret((n) => Buffer.alloc(n, 7));
    assert.equal(isGenuine(theirs, headers, body), false);
    assert.equal(isGenuine(secret, headers, body.replace('COMPLETED', 'CANCELLED')), false);
    assert.equal(isGenuine(secret, {}, body), false);
    const old = String(Number(headers['webhook-timestamp']) - 301);
    const signed = signWebhook([secret], String(headers['webhook-id']), Number(old), body);
    assert.equal(isGenuine(secret, { ...signed }, body), false, 'taken although it is old');
    for (const signature of ['', 'v1,', 'v1', 'v2,x', `v1,${'A'.repeat(43)}=`]) {
      const forged = { ...headers, 'webhook-signature': signature };
      assert.equal(isGenuine(secret, forged, body), false, signature);
    }
  });
});

describe("the receiver's answer is recorded, and the notification is not sent again", () => {
  interface Receiver {
    name: string;
    answer?: (res: ServerResponse) => void;
    url?: () => string;
    state: 'delivered' | 'failed';
    status: number | null;
    error: RegExp | null;
  }
  const answersWith =
    (status: number, headers = {}) =>
    (res: ServerResponse) =>
      void res.writeHead(status, headers).end('x');
  const ok = 'HTTP/1.1 200 OK\r\nconnection: close\r\n';
  /** Replies that break off after their head, byte by byte. */
  const unfinished: [name: string, reply: string, end?: (socket: Socket) => void][] = [
    ['no body', `${ok}transfer-encoding: chunked\r\n\r\n`],
    ['a body that trickles', `${ok}content-length: 100\r\n\r\nx`],
    ['a body cut short', `${ok}content-length: 100\r\n\r\n12345`, (socket) => socket.end()],
    ['a reset', `${ok}content-length: 100\r\n\r\n`, (socket) => socket.resetAndDestroy()],
    ['a broken chunk', `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`],
    ['a body that never ends', `${ok}\r\n${'x'.repeat(1_000_000)}`],
    ['gzip that is none', `${ok}content-encoding: gzip\r\ncontent-length: 1\r\n\r\nx`],
    ['a huge announced body', `${ok}content-length: 99999999999\r\n\r\nx`],
  ];
  const cases: Receiver[] = [
    ...(isLong ? [200, 201, 299] : [200, 299]).map((status): Receiver => ({
      name: `${status}`,
      answer: answersWith(status),
      state: 'delivered',
      status,
      error: null,
    })),
    ...(isLong ? [400, 404, 410, 429, 500, 503] : [429, 503]).map((status): Receiver => ({
      name: `${status}`,
      answer: answersWith(status),
      state: 'failed',
      status,
      error: /^answered /,
    })),
    {
      name: 'a redirect',
      answer: (res) => answersWith(302, { location: to('/landed') })(res),
      state: 'failed',
      status: 302,
      error: /^answered 302$/,
    },
    {
      name: 'a lasting redirect',
      answer: (res) => answersWith(308, { location: to('/landed') })(res),
      state: 'failed',
      status: 308,
      error: /^answered 308$/,
    },
    { name: 'silence', answer: () => {}, state: 'failed', status: null, error: /in time/ },
    ...unfinished.map(([name, reply, end]): Receiver => ({
      name: `200 and ${name}`,
      answer: ({ socket }) => void socket!.write(reply, () => end?.(socket!)),
      state: 'delivered',
      status: 200,
      error: null,
    })),
    {
      name: '500 and no end',
      answer: (res) => res.writeHead(500).flushHeaders(),
      state: 'failed',
      status: 500,
      error: /^answered 500$/,
    },
    {
      name: 'a hint and no answer',
      answer: (res) => res.writeEarlyHints({ link: '</x>; rel=preload' }),
      state: 'failed',
      status: null,
      error: /in time/,
    },
    {
      name: 'a broken connection',
      answer: (res) => void res.socket!.resetAndDestroy(),
      state: 'failed',
      status: null,
      error: /: the connection broke off$/,
    },
    {
      name: 'no HTTP',
      url: () => garbage.url,
      state: 'failed',
      status: null,
      error: /: its answer is not HTTP$/,
    },
    {
      name: 'nobody there',
      url: () => `http://127.0.0.1:${closedPort}`,
      state: 'failed',
      status: null,
      error: /: it refuses connections: nothing listens there$/,
    },
    {
      name: 'no TLS',
      url: () => to('/').replace('http:', 'https:'),
      state: 'failed',
      status: null,
      error: /: an encrypted connection could not be established$/,
    },
  ];
  for (const { name, answer, url, state, status, error } of cases) {
    test(name, async () => {
      const path = newPath();
      if (answer) answers[path] = answer;
      const earlier = await service.balance(account);
      const id = await submit(url?.() ?? to(path));
      await service.work();
      await wakeTwice();
      const shown = await card(id);
      assert.deepEqual([shown.webhook.state, shown.webhook.last_status], [state, status]);
      assert.equal(shown.status, 'COMPLETED');
      assert.equal((await service.balance(account)).available, earlier.available - 10_000n);
      const [delivery, ...more] = await deliveries(id);
      assert.deepEqual(more, []);
      assert.equal(delivery!.status, status);
      if (error === null) assert.equal(delivery!.error, null);
      else assert.match(delivery!.error ?? '', error);
      assert.equal(at(path).length, url ? 0 : 1);
      assert.equal(at('/landed').length, 0, 'a redirect was followed');
    });
  }

  test('a reply without end is read for 64 KiB and no further', async () => {
    const path = newPath();
    let written = 0;
    const cut = Promise.withResolvers<void>();
    answers[path] = (res) => {
      const piece = Buffer.alloc(64 * 1024);
      const pour = () => {
        while (!res.destroyed && res.write(piece)) written += piece.length;
      };
      res
        .writeHead(200)
        .on('drain', pour)
        .on('close', cut.resolve)
        .on('error', () => {});
      pour();
    };
    const id = await submit(to(path));
    await service.work();
    await cut.promise;
    assert.deepEqual(
      await deliveries(id).then((all) => all.map(({ status, error }) => [status, error])),
      [[200, null]],
    );
    // Bytes in the buffers of the sockets count as sent, although nobody reads them.
    assert.ok(written < 16 * 1024 * 1024, `${written} bytes were taken`);
  });

  test('one that is slow does not hold up the others', async () => {
    const slow = Array.from({ length: 20 }, newPath);
    for (const path of slow) answers[path] = () => {};
    for (const path of slow) await submit(to(path));
    const quick = newPath();
    let order: string[] = [];
    answers[quick] = (res) => {
      order = hits.map((hit) => hit.path);
      res.end();
    };
    await submit(to(quick));
    const begun = performance.now();
    await service.work();
    assert.ok(performance.now() - begun < 10 * webhookMs, 'one after the other');
    assert.equal(order.filter((path) => path === quick).length, 1);
  });
});

describe('a process that dies', () => {
  test('between sending and recording: it is sent again, under the same id', async () => {
    const path = newPath();
    const id = await submit(to(path));
    await service.work();
    const forget = `update requests set webhook_state = 'pending', wake_at = now() where id = $1`;
    await service.db.run(rawSql(forget, [id]));
    await service.work();
    const [first, second, ...more] = at(path);
    assert.deepEqual(more, []);
    assert.equal(second!.headers['webhook-id'], first!.headers['webhook-id']);
    assert.deepEqual(JSON.parse(second!.body).output_urls, JSON.parse(first!.body).output_urls);
    await wakeTwice();
    assert.equal(at(path).length, 2);
    assert.equal((await card(id)).webhook.state, 'delivered');
  });

  test('that only seemed to be dead changes nothing', async () => {
    const path = newPath();
    const gates: ServerResponse[] = [];
    answers[path] = (res) => {
      if (gates.push(res) > 1) res.writeHead(204).end();
    };
    const id = await submit(to(path));
    const other = await service.another();
    const first = service.work();
    await until('the first is sent', () => gates.length === 1);
    await service.db.run(sql`update requests set wake_at = now() - interval '1 s'
      where id = ${id}`);
    while ((await other.app.worker!.runOnce()) > 0);
    assert.equal((await card(id)).webhook.state, 'delivered');
    gates[0]!.writeHead(500).end();
    await first;
    const { webhook } = await card(id);
    assert.deepEqual([webhook.state, webhook.last_status], ['delivered', 204]);
    assert.deepEqual(
      at(path).map(({ headers }) => headers['webhook-id']),
      [id, id],
    );
  });
});

describe('an address that is not public is not called', () => {
  const rewrite = (id: string, url: string) =>
    service.db.run(sql`update request_inputs set webhook_url = ${url} where request_id = ${id}`);

  async function unsent(id: string, error: RegExp): Promise<void> {
    await service.work();
    await wakeTwice();
    const { webhook } = await card(id);
    assert.deepEqual([webhook.state, webhook.last_status], ['failed', null]);
    const [delivery, ...more] = await deliveries(id);
    assert.deepEqual(more, []);
    assert.match(delivery!.error ?? '', error);
    assert.equal(forbidden.connections, 0, 'the guard was passed');
  }

  test('however it got into the row', async () => {
    for (const host of [
      '127.0.0.1',
      '[::1]',
      'localhost',
      '[::ffff:127.0.0.1]',
      '0',
      '2130706433',
    ]) {
      const id = await submit(to(newPath()));
      await rewrite(id, `http://${host}:${forbidden.port}/`);
      await unsent(id, /public|blocked/);
    }
  });

  test('when its name leads elsewhere by the time it is used', async () => {
    const name = 'hook.example.com';
    for (const later of [['127.0.0.1'], ['::1'], ['93.184.216.34', '127.0.0.1'], ['10.0.0.1']]) {
      names.set(name, ['93.184.216.34']);
      const id = await submit(`http://${name}:${forbidden.port}/`);
      names.set(name, later);
      await unsent(id, /public/);
    }
  });

  test('when its name does not resolve: not at the submit, and not later', async () => {
    const id = await submit(`http://nowhere.example.com:${forbidden.port}/`);
    await unsent(id, /resolve/);
  });

  test('a name that resolves to our own address is refused at the submit', async () => {
    names.set('inside.example.com', ['127.0.0.1']);
    const body = { prompt: 'x', webhook_url: `http://inside.example.com:${forbidden.port}/` };
    assertRefused(await account.post('/v1/queue/fake/image', body), 'bad_webhook_url');
  });
});

test('https only: http is refused at the submit, and not sent where it was accepted before', async () => {
  const strict = await service.another({ FAREBOX_WEBHOOK_HTTPS_ONLY: 'on' });
  names.set('hook.example.com', ['93.184.216.34']);
  const submitStrict = (webhook_url: string) =>
    account.post('/v1/queue/fake/image', { prompt: 'x', webhook_url }, { base: strict.base });
  assertRefused(await submitStrict('http://hook.example.com/'), 'bad_webhook_url');
  const path = newPath();
  const id = await submit(to(path));
  while ((await strict.app.worker!.runOnce()) > 0);
  assert.equal(at(path).length, 0);
  assert.match((await deliveries(id))[0]!.error ?? '', /https/);
  assert.equal((await card(id)).webhook.state, 'failed');
});
