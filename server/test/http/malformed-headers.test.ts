import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/core/errors.ts';
import { assertRefused } from '../kit/refusal.ts';
import { assertUnharmed, json, leavingNothing, send, sendBytes, type Sent } from '../kit/rough.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { exchange } from '../kit/wire.ts';

/** Heads of requests that no client sends: refused in the usual shape, or cut; never half understood. */

const marker = 'PROMPT-MARKER-1be6';
let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService({ times: { headersMs: 400, connectionsCheckMs: 50 } });
  account = await service.account();
  const { key } = account;
  await service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: marker } });
  await service.work();
  await service.wakeAll();
  await service.work();
});
after(async () => {
  await service.audit();
  await service.stop();
});

const call = (line: string, sent?: Sent) => send(service, account, line, sent);

describe('headers', () => {
  const { headers: typed = [], body } = json(`{"prompt":"${marker}"}`);
  const [type = '', length = ''] = typed;
  const key = () => `Authorization: Key ${account.key}`;
  const usual = ['Host: x', 'Connection: close'];
  type Case = [name: string, headers: () => string[], status: number, code: ErrorCode | null];

  const submits: Case[] = [
    ['no key', () => [...usual, type, length], 401, 'unauthorized'],
    [
      'an empty Authorization',
      () => [...usual, 'Authorization:', type, length],
      401,
      'unauthorized',
    ],
    ['two keys', () => [...usual, key(), key(), type, length], 401, 'unauthorized'],
    [
      'a good key and a bad one',
      () => [...usual, key(), 'Authorization: Key x', type, length],
      401,
      'unauthorized',
    ],
    [
      'a key of 8 KB',
      () => [...usual, `Authorization: Key fbx_${'a'.repeat(8_000)}`, type, length],
      401,
      'unauthorized',
    ],
    [
      'a key with bytes beyond ASCII',
      () => [...usual, `${key()}\xff`, type, length],
      401,
      'unauthorized',
    ],
    [
      'a key with a control byte',
      () => [...usual, `${key()}\x01`, type, length],
      400,
      'bad_request',
    ],
    [
      'a folded key',
      () => [...usual, 'Authorization: Key', ` ${account.key}`, type, length],
      400,
      'bad_request',
    ],
    [
      'two Idempotency-Keys',
      () => [...usual, key(), 'Idempotency-Key: a', 'Idempotency-Key: b', type, length],
      400,
      'bad_request',
    ],
    [
      'twice the same Idempotency-Key',
      () => [...usual, key(), 'Idempotency-Key: a', 'Idempotency-Key: a', type, length],
      400,
      'bad_request',
    ],
    [
      'an empty Idempotency-Key',
      () => [...usual, key(), 'Idempotency-Key:', type, length],
      400,
      'bad_request',
    ],
    [
      'an Idempotency-Key of 256 bytes',
      () => [...usual, key(), `Idempotency-Key: ${'a'.repeat(256)}`, type, length],
      400,
      'bad_request',
    ],
    [
      'an Idempotency-Key beyond ASCII',
      () => [...usual, key(), 'Idempotency-Key: \xe9', type, length],
      400,
      'bad_request',
    ],
    [
      'an Idempotency-Key with DEL',
      () => [...usual, key(), 'Idempotency-Key: a\x7f', type, length],
      400,
      'bad_request',
    ],
    ['no Content-Type', () => [...usual, key(), length], 415, 'unsupported_media_type'],
    [
      'an empty Content-Type',
      () => [...usual, key(), 'Content-Type:', length],
      415,
      'unsupported_media_type',
    ],
    [
      'two Content-Types',
      () => [...usual, key(), 'Content-Type: text/plain', type, length],
      415,
      'unsupported_media_type',
    ],
    [
      'JSON in UTF-16',
      () => [...usual, key(), `${type}; charset=utf-16`, length],
      415,
      'unsupported_media_type',
    ],
    [
      'a form',
      () => [...usual, key(), 'Content-Type: multipart/form-data; boundary=x', length],
      415,
      'unsupported_media_type',
    ],
    [
      'a Content-Type that is none',
      () => [...usual, key(), 'Content-Type: ;;;', length],
      415,
      'unsupported_media_type',
    ],
    [
      'a Content-Type of 10 KB',
      () => [...usual, key(), `Content-Type: ${'a'.repeat(10_000)}`, length],
      415,
      'unsupported_media_type',
    ],
    [
      'an unknown Content-Encoding',
      () => [...usual, key(), type, 'Content-Encoding: rot13', length],
      415,
      'unsupported_media_type',
    ],
    ['no length at all', () => [...usual, key(), type], 400, 'bad_request'],
    [
      'a length below zero',
      () => [...usual, key(), type, 'Content-Length: -1'],
      400,
      'bad_request',
    ],
    [
      'a length that is no number',
      () => [...usual, key(), type, 'Content-Length: many'],
      400,
      'bad_request',
    ],
    [
      'a length in hexadecimal',
      () => [...usual, key(), type, 'Content-Length: 0x1f'],
      400,
      'bad_request',
    ],
    [
      'a length with a plus',
      () => [...usual, key(), type, 'Content-Length: +31'],
      400,
      'bad_request',
    ],
    [
      'a list of lengths',
      () => [...usual, key(), type, 'Content-Length: 31, 31'],
      400,
      'bad_request',
    ],
    [
      'a length beyond all numbers',
      () => [...usual, key(), type, `Content-Length: ${'9'.repeat(40)}`],
      400,
      'bad_request',
    ],
    ['two lengths', () => [...usual, key(), type, length, 'Content-Length: 5'], 400, 'bad_request'],
    [
      'a length and chunks',
      () => [...usual, key(), type, length, 'Transfer-Encoding: chunked'],
      400,
      'bad_request',
    ],
    [
      'chunks and a length',
      () => [...usual, key(), type, 'Transfer-Encoding: chunked', length],
      400,
      'bad_request',
    ],
    [
      'chunks in an unknown wrapping',
      () => [...usual, key(), type, 'Transfer-Encoding: chunked, identity'],
      400,
      'bad_request',
    ],
    [
      'chunks behind a blank',
      () => [...usual, key(), type, length, 'Transfer-Encoding : chunked'],
      400,
      'bad_request',
    ],
    [
      'chunks spelled oddly',
      () => [...usual, key(), type, length, 'Transfer-Encoding: xchunked'],
      400,
      'bad_request',
    ],
    ['no Host', () => ['Connection: close', key(), type, length], 400, 'bad_request'],
    ['two Hosts', () => [...usual, 'Host: y', key(), type, length], 400, 'bad_request'],
    ['a blank in a name', () => [...usual, key(), type, length, 'X Y: z'], 400, 'bad_request'],
    ['no name', () => [...usual, key(), type, length, ': z'], 400, 'bad_request'],
    ['a NUL in a value', () => [...usual, key(), type, length, 'X: a\x00b'], 400, 'bad_request'],
    ['a bare CR in a value', () => [...usual, key(), type, length, 'X: a\rb'], 400, 'bad_request'],
    [
      '100 KB in one header',
      () => [...usual, key(), type, length, `X: ${'a'.repeat(100_000)}`],
      431,
      'bad_request',
    ],
    [
      '2,001 headers',
      () => [...usual, key(), type, length, ...Array.from({ length: 2_001 }, (_, i) => `X${i}: y`)],
      431,
      'bad_request',
    ],
  ];
  for (const [name, lines, status, code] of submits) {
    test(`of a submit: ${name} is refused, and nothing is reserved`, async () => {
      await leavingNothing(service, async () => {
        const reply = await call('POST /v1/queue/fake/image', {
          usual: [],
          headers: lines(),
          body: body!,
        });
        assertRefused(reply!, code!, { status });
      });
    });
  }

  const harmless: Case[] = [
    ['an expectation', () => [...usual, key(), type, length, 'Expect: 100-continue'], 202, null],
    [
      'an expectation nobody knows',
      () => [...usual, key(), type, length, 'Expect: a-miracle'],
      202,
      null,
    ],
    [
      'a wish for HTTP/2',
      () => [...usual, key(), type, length, 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAA'],
      202,
      null,
    ],
    [
      'names of objects',
      () => [...usual, key(), type, length, '__proto__: x', 'constructor: y'],
      202,
      null,
    ],
    [
      'a foreign Host and where it came from',
      () => [
        'Host: evil.example',
        'X-Forwarded-Host: evil.example',
        'X-Forwarded-For: 127.0.0.1',
        'Connection: close',
        key(),
        type,
        length,
      ],
      202,
      null,
    ],
    [
      'another method inside',
      () => [...usual, key(), type, length, 'X-HTTP-Method-Override: DELETE'],
      202,
      null,
    ],
  ];
  for (const [name, lines, status] of harmless) {
    test(`of a submit: ${name} changes nothing`, async () => {
      const reply = await call('POST /v1/queue/fake/image', {
        usual: [],
        headers: lines(),
        body: body!,
      });
      assert.equal(reply?.status, status, reply?.text);
      assert.ok(reply!.body.status_url.startsWith(service.app.baseUrl), 'links follow a header');
      assert.equal((await call(`POST /v1/requests/${reply!.body.request_id}/cancel`))?.status, 200);
    });
  }
});

describe('a request that is none', () => {
  const target = '/v1/requests';
  const lines: [string, () => string, number | null][] = [
    ['HTTP/0.9', () => 'GET /livez\r\n\r\n', 400],
    ['HTTP/0.9 with headers', () => 'GET /livez\r\nHost: x\r\n\r\n', 400],
    ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['HTTP/3.7', () => `GET ${target} HTTP/3.7\r\nHost: x\r\n\r\n`, 400],
    ['a version that is none', () => `GET ${target} HTTP/1.x\r\nHost: x\r\n\r\n`, 400],
    ['another protocol', () => `GET ${target} FTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['SSH', () => 'SSH-2.0-OpenSSH_9.6\r\n', 400],
    ['bytes of zero', () => '\x00'.repeat(100), 400],
    ['bare line feeds', () => `GET ${target} HTTP/1.1\nHost: x\n\n`, 400],
    ['a bare line feed among others', () => `GET ${target} HTTP/1.1\r\nHost: x\nX: y\r\n\r\n`, 400],
    ['a method that nobody knows', () => `BREW ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['a method in small letters', () => `get ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['a blank before the method', () => ` GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['a blank in the target', () => `GET ${target}/a b HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['no target', () => 'GET  HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a target of 20 KB', () => `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['a tunnel', () => 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    [
      'a tunnel to ourselves',
      () => `CONNECT ${new URL(service.base).host} HTTP/1.1\r\nHost: x\r\n\r\n`,
      400,
    ],
  ];
  for (const [name, bytes, status] of lines) {
    test(`is refused and the connection closed: ${name}`, async () => {
      await leavingNothing(service, async () => {
        const reply = await sendBytes(service, bytes());
        assert.equal(reply?.status ?? null, status, reply?.text);
      });
    });
  }

  const targets: [string, string, string, number][] = [
    ['everything', 'OPTIONS', '*', 404],
    ['a foreign address without a key', 'GET', 'http://evil.example/v1/requests', 401],
    ['a foreign address of nothing', 'GET', 'http://evil.example/nothing', 404],
    ['an address inside an address', 'GET', '/v1/http://127.0.0.1/livez', 404],
    ['two slashes', 'GET', '//v1/models', 404],
    ['a host in disguise', 'GET', '//127.0.0.1/livez', 404],
    ['dots', 'GET', '/v1/../livez', 404],
    ['a way back from a model', 'GET', '/v1/models/../../livez', 404],
    ['a fragment', 'GET', '/livez#x', 200],
    ['a semicolon', 'GET', '/livez;x', 404],
    ['a tracing', 'TRACE', '/v1/models', 405],
    ['a foreign method', 'PROPFIND', '/v1/models', 405],
    ['a foreign method with a key that is none', 'PROPFIND', '/v1/requests', 405],
    ['a foreign method of nothing', 'PROPFIND', '/v1/nothing', 404],
    ['a query without end', 'GET', `/v1/requests?${'a=b&'.repeat(3_000)}`, 401],
    ['a query of odd bytes', 'GET', '/v1/requests?%zz=%ff&[]=1&a[b]=c&=', 401],
  ];
  for (const [name, method, path, status] of targets) {
    test(`is answered by what it names: ${name}`, async () => {
      const reply = await call(`${method} ${path}`, {
        usual: ['Host: x', 'Connection: close'],
      });
      assert.equal(reply?.status, status, reply?.text);
    });
  }

  test('in small letters of a query that is odd lists all the same', async () => {
    const reply = await call('GET /v1/requests?%zz=%ff&[]=1&a[b]=c&=&limit=1');
    assert.equal(reply?.status, 200, reply?.text);
    assert.equal(reply!.body.data.length, 1);
  });
});

describe('several requests on one connection', () => {
  test('are answered in order, each for itself', async () => {
    const one = (path: string, extra = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${extra}\r\n`;
    const { replies, closed } = await exchange(
      service.base,
      one('/livez') +
        one('/v1/requests') +
        one('/v1/models/%zz') +
        one('/v1/models/fake/image') +
        one('/livez', 'Connection: close\r\n'),
    );
    assert.ok(closed);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 401, 400, 200, 200],
    );
  });

  test('do not let one hide in the body of another', async () => {
    const hidden = `POST /v1/queue/fake/image HTTP/1.1\r\nHost: x\r\nAuthorization: Key ${account.key}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"prompt":"x"}`;
    await leavingNothing(service, async () => {
      for (const framing of [
        `Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        'Content-Length: 0\r\nContent-Length: 5\r\n\r\n',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
        'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
        'Transfer-Encoding: chunked\r\n\r\n0;ext=\n\r\n\r\n',
        'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
        'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n',
      ]) {
        const head = `POST /livez HTTP/1.1\r\nHost: x\r\n${framing}`;
        const { replies, closed } = await exchange(service.base, head + hidden);
        assert.ok(closed, framing);
        for (const reply of replies) assert.ok(reply.status >= 400 && reply.status < 500, framing);
      }
    });
  });
});

test('after all that nothing is harmed', () => assertUnharmed(service, account, marker));
