import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { ErrorCode } from '../../src/core/errors.ts';
import { rawSql } from '../../src/lib/sql.ts';
import { assertErrorShape, assertRefused } from '../kit/refusal.ts';
import { startService, type Reply, type Service, type TestAccount } from '../kit/service.ts';
import { requestIn, wake } from '../kit/states.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';
import { exchange, type ExchangeOptions } from '../kit/wire.ts';

/** What no client would send, byte for byte: refused with the usual words or cut, never a fault, never a hang. */

const marker = 'PROMPT-MARKER-9d0a';
let service: Service;
let account: TestAccount;
let done: string;
let calls = 0;

before(async () => {
  service = await startService({
    env: { FAREBOX_OPEN_JOBS: '10000', FAREBOX_UPLOAD_MAX_BYTES: '1000' },
    times: { bodyMs: 300, uploadIdleMs: 300, headersMs: 400, connectionsCheckMs: 50 },
  });
  account = await service.account();
  done = await requestIn(service, account, 'COMPLETED');
});
after(async () => {
  await service.audit();
  await service.stop();
});

interface Sent extends ExchangeOptions {
  headers?: string[];
  body?: string | Buffer;
  version?: string;
  /** False: no `Connection: close`, no Host, no key. */
  usual?: boolean;
}

/** Sends one request, built line by line, and gives the one reply; the connection has to end. */
async function send(method: string, target: string, sent: Sent = {}): Promise<Reply | undefined> {
  const { headers = [], body = '', version = 'HTTP/1.1', usual = true, ...options } = sent;
  const own = ['Host: x', 'Connection: close', `Authorization: Key ${account.key}`];
  const head = [`${method} ${target} ${version}`, ...(usual ? own : []), ...headers].join('\r\n');
  return only(Buffer.concat([latin1(`${head}\r\n\r\n`), latin1(body)]), options);
}

async function only(
  bytes: string | Buffer,
  options: ExchangeOptions = {},
): Promise<Reply | undefined> {
  calls++;
  const { replies, closed } = await exchange(service.base, bytes, options);
  assert.ok(closed, 'the connection hangs');
  assert.ok(replies.length <= 1, `${replies.length} replies`);
  const [reply] = replies;
  if (reply) assert.ok(reply.status < 500, `a fault of ours: ${reply.text}`);
  if (reply && reply.status >= 400) assertErrorShape(reply);
  return reply;
}

function latin1(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
}

function json(body: string): Sent {
  return {
    headers: ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`],
    body,
  };
}

/** Runs calls that have to leave nothing. */
async function leavingNothing(work: () => Promise<unknown>): Promise<void> {
  const earlier = await traces(service);
  await work();
  assert.deepEqual(await traces(service), earlier);
}

function refusedAs(reply: Reply | undefined, codes: ErrorCode[], about: string): void {
  assert.ok(reply, `${about}: no reply`);
  assert.ok(reply.status >= 400, `${about}: ${reply.status}`);
  assert.ok(codes.includes(reply.body.error.code), `${about}: ${reply.text.slice(0, 200)}`);
}

describe('a model id in the path', () => {
  const ids = [
    '../requests',
    '..%2frequests',
    '%2e%2e/requests',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '....//',
    './fake/image',
    'fake/../fake/image',
    'fake/./image',
    'fake//image',
    '/fake/image',
    'fake/image/',
    'fake%2f%2fimage',
    'fake\\image',
    'fake%5cimage',
    'fake/image%00',
    '%00',
    'fake/image%0d%0aX:y',
    'fake/image%20',
    '%20fake/image',
    'fake/image;a=b',
    'fake/image%3f',
    'fake/image%23',
    '%',
    '%z',
    '%zz',
    '%f',
    '%ff',
    '%c0%ae%c0%ae',
    '%e2%82',
    '%ed%a0%80',
    'fake%252fimage',
    'FAKE/IMAGE',
    'f%C3%A4ke/image',
    'fa%CC%88ke/image',
    'f%D0%B0ke/image',
    '%F0%9F%90%88',
    'fake/%E2%80%AEegami',
    'fake/image%E2%80%8B',
    '\xe9',
    '\xff\xfe',
    '%EF%BB%BFfake/image',
    '*',
    '~',
    "'%20or%20'1'='1",
    'constructor',
    '__proto__',
    'toString',
    'a/'.repeat(300),
    'a'.repeat(599),
    'a'.repeat(5_000),
    '%61'.repeat(2_000),
  ];
  for (const id of ids) {
    test(`is exact or none: ${JSON.stringify(id.slice(0, 40))}`, async () => {
      await leavingNothing(async () => {
        refusedAs(await send('GET', `/v1/models/${id}`), ['not_found', 'bad_request'], 'entry');
        const submit = await send('POST', `/v1/queue/${id}`, json(`{"prompt":"${marker}"}`));
        refusedAs(submit, ['unknown_model', 'bad_request'], 'submit');
      });
    });
  }
});

describe('a request id in the path', () => {
  const ids = [
    '..',
    '%2e%2e',
    'x',
    '0',
    '-1',
    '%00',
    '%',
    '%zz',
    '%ff',
    '\xe9',
    '*',
    '%F0%9F%90%88',
    'a'.repeat(599),
    'a'.repeat(700),
    'a'.repeat(10_000),
    "1'%20or%20'1'='1",
    '00000000-0000-0000-0000-000000000000',
    '%2F',
    'status',
    '%20',
    '{}',
    ';',
    '[object%20Object]',
  ];
  for (const id of ids) {
    test(`is exact or none: ${JSON.stringify(id.slice(0, 40))}`, async () => {
      await leavingNothing(async () => {
        for (const rest of [
          '',
          '/status',
          '/status?wait=60',
          '/status/stream',
          '/response',
          '/output/0',
          '/output/0?exp=1&sig=x',
        ]) {
          const reply = await send('GET', `/v1/requests/${id}${rest}`);
          refusedAs(reply, ['not_found', 'bad_request'], rest);
        }
        for (const method of ['POST', 'PUT']) {
          refusedAs(
            await send(method, `/v1/requests/${id}/cancel`),
            ['not_found', 'bad_request'],
            method,
          );
        }
      });
    });
  }
});

describe('the number of an output', () => {
  const indexes = [
    '-1',
    '00',
    '01',
    '1e1',
    '0x1',
    '0.0',
    '9223372036854775808',
    '18446744073709551616',
    '%2B1',
    '+0',
    '%200',
    '0%20',
    '%00',
    'NaN',
    'x',
    '٠',
    '1000000',
    '%30%30',
    '0,1',
    '0;',
    '[0]',
  ];
  for (const index of indexes) {
    test(`is exact or none: ${index}`, async () => {
      refusedAs(
        await send(
          'GET',
          `/v1/requests/${done}/output/${latin1(Buffer.from(index)).toString('latin1')}`,
        ),
        ['not_found', 'bad_request'],
        index,
      );
    });
  }

  const exps = [
    '',
    '1&sig=',
    'x',
    '-1',
    '1e9',
    '0x1',
    '99999999999999999999',
    '1&exp=2',
    '%00',
    '01',
  ];
  for (const exp of exps) {
    test(`is not opened by a link of exp=${exp}`, async () => {
      const path = `/v1/requests/${done}/output/0?exp=${exp}&sig=${'a'.repeat(43)}`;
      refusedAs(
        await send('GET', path, { usual: false, headers: ['Host: x', 'Connection: close'] }),
        ['unauthorized'],
        exp,
      );
    });
  }

  const ranges = [
    'bytes=0-0,2-3',
    'bytes=0-,0-',
    'bytes=18446744073709551616-',
    'bytes=-0',
    'bytes=5-2',
    'bytes=x-y',
    'bytes=',
    'lines=1-2',
    'bytes=0-18446744073709551616',
    `bytes=${'0-1,'.repeat(1_000)}`,
  ];
  for (const range of ranges) {
    test(`with the range ${range.slice(0, 40)} is given whole, or refused`, async () => {
      const reply = await send('GET', `/v1/requests/${done}/output/0`, {
        headers: [`Range: ${range}`],
      });
      assert.ok([200, 206, 416].includes(reply!.status), String(reply!.status));
    });
  }
});

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
      await leavingNothing(async () => {
        const reply = await send('POST', '/v1/queue/fake/image', {
          usual: false,
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
    ['two Hosts', () => [...usual, 'Host: y', key(), type, length], 202, null],
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
      const reply = await send('POST', '/v1/queue/fake/image', {
        usual: false,
        headers: lines(),
        body: body!,
      });
      assert.equal(reply?.status, status, reply?.text);
      assert.ok(reply!.body.status_url.startsWith(service.app.baseUrl), 'links follow a header');
      assert.equal(
        (await send('POST', `/v1/requests/${reply!.body.request_id}/cancel`))?.status,
        200,
      );
    });
  }
});

describe('a request that is none', () => {
  const target = '/v1/requests';
  const lines: [string, () => string, number | null][] = [
    ['HTTP/0.9', () => 'GET /livez\r\n\r\n', 400],
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
    ['a tunnel', () => 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n', null],
    [
      'a tunnel to ourselves',
      () => `CONNECT ${new URL(service.base).host} HTTP/1.1\r\nHost: x\r\n\r\n`,
      null,
    ],
  ];
  for (const [name, bytes, status] of lines) {
    test(`is refused and the connection closed: ${name}`, async () => {
      await leavingNothing(async () => {
        const reply = await only(bytes());
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
    ['a foreign method', 'PROPFIND', '/v1/models', 404],
    ['a query without end', 'GET', `/v1/requests?${'a=b&'.repeat(3_000)}`, 401],
    ['a query of odd bytes', 'GET', '/v1/requests?%zz=%ff&[]=1&a[b]=c&=', 401],
  ];
  for (const [name, method, path, status] of targets) {
    test(`is answered by what it names: ${name}`, async () => {
      const reply = await send(method, path, {
        usual: false,
        headers: ['Host: x', 'Connection: close'],
      });
      assert.equal(reply?.status, status, reply?.text);
    });
  }

  test('in small letters of a query that is odd lists all the same', async () => {
    const reply = await send('GET', '/v1/requests?%zz=%ff&[]=1&a[b]=c&=&limit=1');
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
    await leavingNothing(async () => {
      for (const framing of [
        `Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        'Content-Length: 0\r\nContent-Length: 5\r\n\r\n',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
        'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
        'Transfer-Encoding: chunked\r\n\r\n0;ext=\n\r\n\r\n',
        'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
        'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n',
      ]) {
        calls++;
        const head = `POST /livez HTTP/1.1\r\nHost: x\r\n${framing}`;
        const { replies, closed } = await exchange(service.base, head + hidden);
        assert.ok(closed, framing);
        for (const reply of replies) assert.ok(reply.status >= 400 && reply.status < 500, framing);
      }
    });
  });
});

describe('bodies', () => {
  const packed = {
    gzip: gzipSync(Buffer.alloc(10 * 1024 * 1024)),
    deflate: deflateSync(Buffer.alloc(10 * 1024 * 1024)),
    br: brotliCompressSync(Buffer.alloc(1024 * 1024)),
    'gzip, gzip': gzipSync(gzipSync(Buffer.alloc(10 * 1024 * 1024))),
  };
  for (const [encoding, body] of Object.entries(packed)) {
    test(`packed as ${encoding} are refused unopened`, async () => {
      await leavingNothing(async () => {
        for (const path of [
          '/v1/estimate',
          '/v1/queue/fake/image',
          '/v1/chat/completions',
          '/v1/files',
        ]) {
          const headers = [
            'Content-Type: application/json',
            `Content-Encoding: ${encoding}`,
            `Content-Length: ${body.length}`,
          ];
          refusedAs(
            await send('POST', path, { headers, body }),
            ['unsupported_media_type', 'payload_too_large'],
            path,
          );
        }
      });
    });
  }

  const paths: [string, string][] = [
    ['/v1/estimate', 'application/json'],
    ['/v1/queue/fake/image', 'application/json'],
    ['/v1/chat/completions', 'application/json'],
    ['/v1/files', 'text/plain'],
  ];
  for (const [path, type] of paths) {
    const headers = [`Content-Type: ${type}`, 'Content-Length: 100'];

    test(`of ${path} that stop coming are cut off`, async () => {
      await leavingNothing(async () => {
        const reply = await send('POST', path, { headers, body: '{"prompt":' });
        const { message } = assertRefused(reply!, 'bad_request');
        assert.match(message, /too slowly/);
      });
    });

    test(`of ${path} whose sender leaves are forgotten`, async () => {
      await leavingNothing(async () => {
        await send('POST', path, { headers, body: '{"prompt":', leave: 'politely' });
        await send('POST', path, { headers, body: '{"prompt":', leave: 'rudely' });
        await idle();
      });
    });

    test(`of ${path} in chunks that break off are forgotten`, async () => {
      await leavingNothing(async () => {
        const chunked = [`Content-Type: ${type}`, 'Transfer-Encoding: chunked'];
        await send('POST', path, {
          headers: chunked,
          body: 'a\r\n{"prompt":\r\n',
          leave: 'politely',
        });
        await send('POST', path, { headers: chunked, body: 'zz\r\n{"prompt":\r\n' });
        await send('POST', path, {
          headers: chunked,
          body: '5\r\n{"prompt":"too long"}\r\n0\r\n\r\n',
        });
        await idle();
      });
    });
  }

  test('that come byte by byte are taken', async () => {
    const body = '{"prompt":"x"}';
    const { headers = [] } = json(body);
    const reply = await send('POST', '/v1/queue/fake/image', { headers, parts: [...body] });
    assert.equal(reply?.status, 202, reply?.text);
    await send('POST', `/v1/requests/${reply!.body.request_id}/cancel`);
  });

  test('in chunks with extensions and trailers are taken', async () => {
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    const body = '9;a=b\r\n{"prompt"\r\n5\r\n:"x"}\r\n0\r\nX-Trailer: y\r\n\r\n';
    const reply = await send('POST', '/v1/queue/fake/image', { headers, body });
    assert.equal(reply?.status, 202, reply?.text);
    await send('POST', `/v1/requests/${reply!.body.request_id}/cancel`);
  });

  test('beyond the bound are refused before they have come', async () => {
    const headers = ['Content-Type: application/json', 'Content-Length: 1000000000'];
    for (const path of [
      '/v1/estimate',
      '/v1/queue/fake/image',
      '/v1/chat/completions',
      '/v1/files',
    ]) {
      assertRefused((await send('POST', path, { headers }))!, 'payload_too_large', { about: path });
    }
  });

  test('that nobody asked for are ignored', async () => {
    const { headers = [], body = '' } = json('{"a":1}');
    for (const [method, path] of [
      ['GET', '/v1/models'],
      ['GET', '/v1/requests'],
      ['GET', `/v1/requests/${done}/status`],
      ['HEAD', '/livez'],
    ]) {
      assert.equal((await send(method!, path!, { headers, body }))?.status, 200, path!);
    }
  });

  async function idle(): Promise<void> {
    await until(
      'no call is under way',
      async () => (await service.app.metrics.inFlight.get()).values[0]?.value === 0,
    );
  }
});

describe('a head that does not come whole', () => {
  for (const [name, bytes] of [
    ['half a line', 'GET /livez HT'],
    ['a line as of HTTP/0.9', 'GET /livez\n'],
    ['no end', 'GET /livez HTTP/1.1\r\nHost: x\r\n'],
    ['half a header', 'POST /v1/estimate HTTP/1.1\r\nHost: x\r\nContent-Le'],
  ] as const) {
    test(`is cut off: ${name}`, async () => {
      const reply = await only(bytes);
      assert.equal(reply?.status, 408);
    });
  }
  test('from many at once does not keep others from being served', async () => {
    const slow = Array.from({ length: 100 }, () =>
      exchange(service.base, 'GET /livez HTTP/1.1\r\nX: '),
    );
    const begun = performance.now();
    assert.equal((await service.call('GET', '/v1/models')).status, 200);
    assert.ok(performance.now() - begun < 2_000);
    for (const { closed } of await Promise.all(slow)) assert.ok(closed);
  });
});

describe('uploads', () => {
  const upload = (type: string, body: string | Buffer) =>
    send('POST', '/v1/files', {
      headers: [`Content-Type: ${type}`, `Content-Length: ${latin1(body).length}`],
      body,
    });
  const floodPng = Buffer.from('89504e470d0a1a0a0000000d494844520000ffff0000ffff0806000000', 'hex');
  const zip = Buffer.concat([Buffer.from('504b0304140000000800', 'hex'), Buffer.alloc(100)]);
  const refused: [string, string, string | Buffer, ErrorCode][] = [
    ['nothing', 'image/png', '', 'bad_request'],
    ['a byte too many', 'text/plain', 'a'.repeat(1_001), 'payload_too_large'],
    [
      "a script under an image's name",
      'image/png',
      '#!/bin/sh\nrm -rf /',
      'unsupported_media_type',
    ],
    ['a page', 'text/html', '<!doctype html><script>alert(1)</script>', 'unsupported_media_type'],
    [
      'a page as text',
      'text/plain',
      '<!doctype html><script>alert(1)</script>',
      'unsupported_media_type',
    ],
    [
      'a drawing',
      'image/svg+xml',
      '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
      'unsupported_media_type',
    ],
    [
      'a drawing as an image',
      'image/png',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'unsupported_media_type',
    ],
    ['an archive', 'application/zip', zip, 'unsupported_media_type'],
    ['an archive as an image', 'image/png', zip, 'unsupported_media_type'],
    ['a program', 'application/octet-stream', '\x7fELF\x02\x01\x01', 'unsupported_media_type'],
    ['bytes of nothing', 'text/plain', '\x00\x01\x02', 'unsupported_media_type'],
    ['no type at all', '', 'abc', 'unsupported_media_type'],
  ];
  for (const [name, type, body, code] of refused) {
    test(`of ${name} are refused, and no byte is kept`, async () => {
      await leavingNothing(async () => {
        assertRefused((await upload(type, body))!, code);
      });
    });
  }

  const taken: [string, string, string | Buffer][] = [
    ['as many bytes as may be', 'text/plain', 'a'.repeat(1_000)],
    ['one byte', 'text/plain', 'a'],
    ['a picture that is a script as well', 'image/gif', 'GIF89a/*\x01\x00*/=1;alert(1)'],
    ['the head of a picture of 65,535 by 65,535', 'image/png', floodPng],
  ];
  for (const [name, type, body] of taken) {
    test(`of ${name} are taken as what they are`, async () => {
      const reply = await upload(type, body);
      assert.equal(reply?.status, 201, reply?.text);
      assert.equal(reply!.body.content_type, type);
      assert.equal(reply!.body.size, body.length);
    });
  }
});

describe('after all that', () => {
  test('there were more than 500 calls', () => {
    assert.ok(calls > 500, `${calls} calls`);
  });

  test('nothing is reserved, open or under way', async () => {
    const { reserved, open_jobs, open_requests } = await traces(service);
    assert.deepEqual(
      { reserved, open_jobs, open_requests },
      { reserved: 0n, open_jobs: 0n, open_requests: 0n },
    );
    assert.equal((await service.app.metrics.inFlight.get()).values[0]?.value, 0);
  });

  test('the service does its work as before', async () => {
    const { key } = account;
    const { body } = await service.call('POST', '/v1/queue/fake/image', {
      key,
      body: { prompt: marker },
    });
    await service.work();
    await wake(service, body.request_id);
    await service.work();
    const reply = await service.call('GET', `/v1/requests/${body.request_id}/response`, { key });
    assert.equal(reply.status, 200);
  });

  test('no line of the log holds a key, a secret or a prompt, or tells of a fault of ours', async () => {
    const [row] = await service.db.run<{ webhook_secrets: string[] }>(
      rawSql('select webhook_secrets from accounts where id = $1', [account.account_id]),
    );
    const log = service.log.join('');
    for (const secret of [account.key, ...row!.webhook_secrets, 'whsec_', marker])
      assert.ok(!log.includes(secret));
    const levels = service.log.map((line) => JSON.parse(line).level as number);
    assert.deepEqual(
      levels.filter((level) => level >= 50),
      [],
    );
  });
});
