import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';

import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { until } from '../kit/until.ts';
import { reasonOf, type FetchErrorKind } from '../../src/lib/outbound/fetch-error.ts';
import {
  assertFault,
  client,
  closedPort,
  head,
  http,
  limits,
  streamLimits,
  tcp,
  text,
} from './outbound.ts';

describe('a fault', () => {
  test('refused: no server listens; nothing was sent', async () => {
    await assertFault(
      client().request({ url: `http://127.0.0.1:${await closedPort()}/`, ...limits }),
      'refused',
      false,
    );
  });

  test('dns: the name is unknown; nothing was sent', async () => {
    const unknown = client({ lookup: () => Promise.reject(new Error('no such name')) });
    await assertFault(unknown.request({ url: 'http://a.example.com/', ...limits }), 'dns', false);
    const empty = client({ lookup: async () => [] });
    await assertFault(empty.request({ url: 'http://a.example.com/', ...limits }), 'dns', false);
    const silent = client({ lookup: () => new Promise(() => {}), connectTimeoutMs: 50 });
    await assertFault(silent.request({ url: 'http://a.example.com/', ...limits }), 'dns', false);
  });

  test('connect_timeout: the handshake never ends; nothing was sent', async () => {
    const server = await tcp(() => {});
    const fetch = client({ connectTimeoutMs: 100 });
    const url = `https://127.0.0.1:${server.port}/`;
    await assertFault(
      fetch.request({ url, method: 'POST', body: 'x', ...limits }),
      'connect_timeout',
      false,
    );
  });

  test('tls: the other side does not speak it; nothing was sent', async () => {
    const server = await tcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await assertFault(
      client().request({ url: `https://127.0.0.1:${server.port}/`, ...limits }),
      'tls',
      false,
    );
  });

  const openssl = spawnSync('openssl', ['version']).status === 0;
  test(
    'tls: the certificate is not trusted; nothing was sent',
    { skip: openssl ? false : 'needs openssl to make a certificate' },
    async () => {
      const { key, cert } = selfSigned('hook.example-farm.com');
      const seen: unknown[] = [];
      const server = createTlsServer({
        key,
        cert,
        SNICallback: (name, done) => {
          seen.push(name);
          done(null);
        },
      });
      server.on('secureConnection', (socket) =>
        socket.on('data', (data) => seen.push(data)).on('error', () => {}),
      );
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      const fetch = client({ lookup: async () => ['127.0.0.1'] });
      const asked = (host: string) =>
        assertFault(fetch.request({ url: `https://${host}:${port}/`, ...limits }), 'tls', false);
      const { message } = await asked('hook.example-farm.com');
      assert.equal(message, `hook.example-farm.com:${port}: its certificate is self-signed`);
      server.close();
      await once(server, 'close');
      assert.deepEqual(seen, ['hook.example-farm.com']);
    },
  );

  test('tls: says in plain words what is wrong with a certificate', () => {
    const told = (code: string) =>
      reasonOf('tls', Object.assign(new Error('as Node says'), { code }));
    assert.equal(told('ERR_TLS_CERT_ALTNAME_INVALID'), 'its certificate is for another name');
    assert.equal(told('CERT_HAS_EXPIRED'), 'its certificate has expired');
    assert.equal(told('EPROTO'), 'an encrypted connection could not be established');
  });

  const words: [kind: FetchErrorKind, code: string, told: string][] = [
    ['refused', 'ECONNREFUSED', 'it refuses connections: nothing listens there'],
    ['refused', 'EHOSTUNREACH', 'it cannot be reached from here'],
    ['refused', 'EMFILE', 'as Node says'],
    ['connect_timeout', 'UND_ERR_CONNECT_TIMEOUT', 'no connection could be made in time'],
    ['reset', 'UND_ERR_SOCKET', 'the connection broke off'],
    ['protocol', 'UND_ERR_HEADERS_OVERFLOW', 'the headers of its answer are too long'],
  ];
  for (const [kind, code, told] of words) {
    test(`${kind}: ${code} is told as "${told}"`, () =>
      assert.equal(reasonOf(kind, Object.assign(new Error('as Node says'), { code })), told));
  }

  test('timeout: no answer comes; it may have been received', async () => {
    const server = await http(() => {});
    await assertFault(
      client().request({ url: server.url, timeoutMs: 500, maxBytes: 1 }),
      'timeout',
      true,
    );
    // The server may read the request after the client has given up.
    await until('it has arrived', () => server.requests.length > 0);
    assert.equal(server.requests.length, 1);
  });

  test('timeout: slow single bytes do not extend the deadline; the status is known', async () => {
    const server = await http((_req, res) => {
      res.writeHead(202);
      const drip = setInterval(() => res.write('.'), 5);
      res.on('close', () => clearInterval(drip));
    });
    const begun = performance.now();
    await assertFault(
      client().request({ url: server.url, timeoutMs: 1000, maxBytes: 1e6 }),
      'timeout',
      true,
      202,
    );
    assert.ok(performance.now() - begun < 10_000);
  });

  test('timeout: a call that waited for a connection is never sent, even later', async () => {
    let release = (): void => {};
    const server = await http((_req, res) => {
      release = () => res.end('late');
    });
    const fetch = client({ connections: 1 });
    const first = fetch.request({ url: `${server.url}/first`, ...limits });
    while (server.requests.length === 0) await new Promise(setImmediate);
    await assertFault(
      fetch.request({ url: `${server.url}/second`, timeoutMs: 30, maxBytes: 1 }),
      'timeout',
      false,
    );
    release();
    assert.equal(text((await first).body), 'late');
    const third = fetch.request({ url: `${server.url}/third`, ...limits });
    while (server.requests.length < 2) await new Promise(setImmediate);
    release();
    await third;
    assert.deepEqual(
      server.requests.map((req) => req.url),
      ['/first', '/third'],
    );
    assert.equal(server.connections, 1);
  });

  test('reset: the connection breaks before an answer; it may have been received', async () => {
    const server = await tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await assertFault(
      client().request({ url: server.url, method: 'POST', body: 'x', ...limits }),
      'reset',
      true,
    );
    assert.equal(server.connections, 1);
  });

  test('reset: the connection breaks in the middle of the answer, with any form of its length', async () => {
    const lengths = [
      'content-length: 100',
      'transfer-encoding: chunked',
      'content-length: 100\r\nconnection: close',
    ];
    for (const length of lengths) {
      const server = await tcp((socket) =>
        socket.once('data', () => socket.end(`${head(`${length}\r\n`)}5\r\nhello`)),
      );
      await assertFault(client().request({ url: server.url, ...limits }), 'reset', true, 200);
      assert.equal(server.connections, 1);
    }
  });

  test('reset: a call on a kept connection that the server closes is not repeated', async () => {
    let seen = 0;
    const server = await tcp((socket) => {
      socket.on('data', () => {
        seen++;
        if (seen === 1) socket.write(`${head('content-length: 2\r\n')}ok`);
        else socket.destroy();
      });
    });
    const fetch = client({ connections: 1 });
    assert.equal(text((await fetch.request({ url: server.url, ...limits })).body), 'ok');
    await assertFault(fetch.request({ url: server.url, ...limits }), 'reset', true);
    assert.deepEqual([seen, server.connections], [2, 1]);
  });

  test('protocol: what comes back is not HTTP', async () => {
    const server = await tcp((socket) =>
      socket.once('data', () => socket.end('220 mail.example.com ESMTP\r\n')),
    );
    await assertFault(client().request({ url: server.url, ...limits }), 'protocol', true);
  });

  test('protocol: the head of the reply has no end', async () => {
    const server = await tcp((socket) =>
      socket.once('data', () => socket.write(head(`x: ${'y'.repeat(64 * 1024)}\r\n`))),
    );
    await assertFault(client().request({ url: server.url, ...limits }), 'protocol', true);
  });

  test('protocol: an invalid header is not sent, and the error does not show its value', async () => {
    const server = await http((_req, res) => res.end());
    const call = { url: server.url, headers: { authorization: 'Key s3cret\r\nx: y' }, ...limits };
    const error = await assertFault(client().request(call), 'protocol', false);
    assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /s3cret/);
    assert.equal(server.requests.length, 0);
  });

  test('blocked: an invalid URL, or one with a password', async () => {
    for (const url of ['', 'nonsense', 'ftp://127.0.0.1/', 'http://u:p@127.0.0.1/']) {
      await assertFault(client().request({ url, ...limits }), 'blocked', false);
      await assertFault(client().stream({ url, ...streamLimits }), 'blocked', false);
    }
  });

  test('aborted: before it began, nothing is sent', async () => {
    const server = await http((_req, res) => res.end());
    const signal = AbortSignal.abort();
    await assertFault(client().request({ url: server.url, signal, ...limits }), 'aborted', false);
    await assertFault(
      client().stream({ url: server.url, signal, ...streamLimits }),
      'aborted',
      false,
    );
    assert.equal(server.connections, 0);
  });

  test('aborted: while it waits, and the other side sees the connection go', async () => {
    const abort = new AbortController();
    const gone = Promise.withResolvers<void>();
    const server = await http((_req, res) => {
      res.on('close', () => gone.resolve());
      abort.abort();
    });
    await assertFault(
      client().request({ url: server.url, signal: abort.signal, ...limits }),
      'aborted',
      true,
    );
    await gone.promise;
  });

  test('aborted: the body to be sent cannot be read', async () => {
    const server = await http((req) => void req.resume());
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      throw new Error('disk');
    }
    await assertFault(
      client().request({ url: server.url, method: 'POST', body: broken(), ...limits }),
      'aborted',
      true,
    );
  });

  test('aborted: the client is closed under it', async () => {
    const fetch = createFetch({ guard: false });
    const server = await http(() => {});
    const call = fetch.request({ url: server.url, ...limits });
    const faulted = assertFault(call, 'aborted', true);
    while (server.requests.length === 0) await new Promise(setImmediate);
    await fetch.close();
    await faulted;
    await assertFault(fetch.request({ url: server.url, ...limits }), 'aborted', false);
    assert.equal(server.requests.length, 1);
  });

  test('names the host, and neither path, query, nor headers', async () => {
    const url = `http://127.0.0.1:${await closedPort()}/p4th?sig=s3cret`;
    const error = await assertFault(
      client().request({ url, headers: { authorization: 'k3y' }, ...limits }),
      'refused',
      false,
    );
    assert.match(error.message, /^127\.0\.0\.1:\d+: /);
    assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /p4th|s3cret|k3y/);
  });
});

function selfSigned(name: string): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'cert-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
    '-subj',
    `/CN=${name}`,
    '-addext',
    `subjectAltName=DNS:${name}`,
    '-keyout',
    key,
    '-out',
    cert,
  ]);
  assert.equal(made.status, 0, String(made.stderr));
  const pair = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return pair;
}
