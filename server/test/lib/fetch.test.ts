import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { bodyOf } from './local-server.ts';
import { assertFault, client, closedPort, http, limits, text } from './outbound.ts';

describe('request', () => {
  test('sends method, path, headers and body, and returns the whole reply', async () => {
    const server = await http(async (req, res) => {
      const body = await bodyOf(req);
      res.writeHead(201, { 'X-Answer': 'yes', 'Set-Cookie': ['a=1', 'b=2'] });
      res.end(
        JSON.stringify({ method: req.method, url: req.url, key: req.headers.authorization, body }),
      );
    });
    const reply = await client().request({
      url: `${server.url}/v1/x%20y?q=1#part`,
      method: 'PUT',
      headers: { Authorization: 'Key k' },
      body: 'hällo',
      ...limits,
    });
    assert.equal(reply.status, 201);
    assert.equal(reply.truncated, false);
    assert.equal(reply.headers['x-answer'], 'yes');
    assert.equal(reply.headers['set-cookie'], 'a=1, b=2');
    assert.deepEqual(JSON.parse(text(reply.body)), {
      method: 'PUT',
      url: '/v1/x%20y?q=1',
      key: 'Key k',
      body: 'hällo',
    });
  });

  test('sends bytes and any async source as they are', async () => {
    const server = await http(async (req, res) => void res.end(await bodyOf(req)));
    const call = { url: server.url, method: 'POST', ...limits };
    const bytes = await client().request({ ...call, body: Buffer.from('bytes') });
    assert.equal(text(bytes.body), 'bytes');
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('one,');
      yield Buffer.from('two');
    }
    const streamed = await client().request({
      ...call,
      body: source(),
      headers: { 'content-length': '7' },
    });
    assert.equal(text(streamed.body), 'one,two');
    assert.equal(server.requests[1]?.headers['content-length'], '7');
  });

  test('asks for no compression, whatever the caller says, and decodes one up to its limit', async () => {
    const bomb = gzipSync(Buffer.alloc(1024 * 1024));
    const server = await http((req, res) => {
      const body = req.url === '/bomb' ? bomb : gzipSync('plain');
      res.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    });
    const call = { headers: { 'Accept-Encoding': 'gzip' }, timeoutMs: 5000, maxBytes: 10_000 };
    const reply = await client().request({ url: server.url, ...call });
    assert.equal(server.requests[0]?.headers['accept-encoding'], 'identity');
    assert.deepEqual([text(reply.body), reply.truncated], ['plain', false]);
    const cut = await client().request({ url: `${server.url}/bomb`, ...call });
    assert.deepEqual([cut.body.length, cut.truncated], [bomb.length, true]);
  });

  test('undoes at most three codings, and none of more', async () => {
    const twice = gzipSync(gzipSync('plain'));
    const server = await http((req, res) =>
      res.writeHead(200, { 'content-encoding': req.headers['x-label'] as string }).end(twice),
    );
    const call = { url: server.url, timeoutMs: 5000, maxBytes: 10_000 };
    for (const [label, expected] of [
      ['gzip, , identity,gzip,', 'plain'],
      [','.repeat(2000), gzipSync('plain')],
      ['gzip,'.repeat(1500), twice],
    ] as const) {
      const { body } = await client().request({ ...call, headers: { 'x-label': label } });
      assert.ok(Buffer.from(expected).equals(body), label.slice(0, 30));
    }
  });

  test('sends its configured User-Agent, unless the call has its own', async () => {
    const server = await http((_req, res) => res.end());
    const fetch = client({ userAgent: 'tester/1' });
    await fetch.request({ url: server.url, ...limits });
    await fetch.request({ url: server.url, headers: { 'User-Agent': 'other/2' }, ...limits });
    await client().request({ url: server.url, ...limits });
    assert.deepEqual(
      server.requests.map((req) => req.headers['user-agent']),
      ['tester/1', 'other/2', undefined],
    );
  });

  test('returns any final status, and skips interim ones', async () => {
    const server = await http((req, res) => {
      res.writeEarlyHints({ link: '</a>; rel=preload' });
      res.writeHead(Number(req.url?.slice(1)), { location: '/200' }).end();
    });
    for (const status of [204, 302, 404, 500, 503]) {
      const reply = await client().request({ url: `${server.url}/${status}`, ...limits });
      assert.equal(reply.status, status);
    }
    assert.equal(server.requests.length, 5);
  });

  test('cuts a body at the limit and disconnects; a body that just fits is complete', async () => {
    const gone: Promise<unknown>[] = [];
    const server = await http((req, res) => {
      gone.push(once(res, 'close'));
      if (req.url === '/fits') res.end('x'.repeat(1000));
      else res.write('x'.repeat(100_000));
    });
    const call = { timeoutMs: 5000, maxBytes: 1000 };
    const fits = await client().request({ url: `${server.url}/fits`, ...call });
    assert.deepEqual([fits.body.length, fits.truncated], [1000, false]);
    const cut = await client().request({ url: `${server.url}/more`, ...call });
    assert.deepEqual([cut.body.length, cut.truncated, cut.status], [1000, true, 200]);
    await Promise.all(gone);
  });

  test('uses few connections for many calls, and never one for two at a time', async () => {
    const server = await http((_req, res) => setImmediate(() => res.end('ok')));
    const fetch = client({ connections: 4 });
    const calls = Array.from({ length: 100 }, () => fetch.request({ url: server.url, ...limits }));
    const replies = await Promise.all(calls);
    assert.ok(replies.every((reply) => text(reply.body) === 'ok'));
    assert.ok(server.connections <= 4, `${server.connections} connections`);
  });
});

describe('connections', () => {
  test("are kept between calls if the hosts are the operator's", async () => {
    const server = await http((_req, res) => res.end('ok'));
    for (const guard of [false, { allowHosts: [`127.0.0.1:${server.port}`] }]) {
      const before = server.connections;
      const fetch = client({ guard });
      for (let i = 0; i < 10; i++) await fetch.request({ url: server.url, ...limits });
      // A connection is free again only a moment after its reply, so two may take turns.
      assert.ok(server.connections - before <= 2);
    }
  });

  test('leave no origin behind once they are closed', async () => {
    const servers = await Promise.all(
      Array.from({ length: 20 }, () =>
        http((_req, res) => res.setHeader('connection', 'close').end('ok')),
      ),
    );
    const fetch = client();
    const closed = await closedPort();
    await Promise.all(servers.map((server) => fetch.request({ url: server.url, ...limits })));
    await assertFault(
      fetch.request({ url: `http://127.0.0.1:${closed}/`, ...limits }),
      'refused',
      false,
    );
    while (fetch.origins() > 0) await new Promise(setImmediate);
    assert.equal(fetch.origins(), 0);
  });
});
