import assert from 'node:assert/strict';
import { exchange } from '../../kit/wire.ts';
import { bytes, sent, type Call, type Row } from './row.ts';

/** Bytes that are not a request, and targets that no client sends. */

const target = '/v1/requests';

/** Each gets an answer, and its connection is closed. */
const lines: [name: string, text: string, status?: number][] = [
  ['HTTP/0.9', 'GET /livez\r\n\r\n'],
  ['HTTP/0.9 with headers', 'GET /livez\r\nHost: x\r\n\r\n'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/3.7', `GET ${target} HTTP/3.7\r\nHost: x\r\n\r\n`],
  ['a version in letters', `GET ${target} HTTP/1.x\r\nHost: x\r\n\r\n`],
  ['another protocol', `GET ${target} FTP/1.1\r\nHost: x\r\n\r\n`],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['bytes of zero', '\x00'.repeat(100)],
  ['bare line feeds', `GET ${target} HTTP/1.1\nHost: x\n\n`],
  ['a bare line feed among others', `GET ${target} HTTP/1.1\r\nHost: x\nX: y\r\n\r\n`],
  ['an unknown method', `BREW ${target} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a method in small letters', `get ${target} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a blank before the method', ` GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a blank in the target', `GET ${target}/a b HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['no target', 'GET  HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a target of 20 KB', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ['a tunnel', 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['half a line', 'GET /livez HT', 408],
  ['a line as of HTTP/0.9, without end', 'GET /livez\n', 408],
  ['a head without end', 'GET /livez HTTP/1.1\r\nHost: x\r\n', 408],
  ['half a header', 'POST /v1/estimate HTTP/1.1\r\nHost: x\r\nContent-Le', 408],
];

const targets: [name: string, method: string, path: string, status: number][] = [
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
  ['a foreign method without a key', 'PROPFIND', '/v1/requests', 405],
  ['a foreign method of nothing', 'PROPFIND', '/v1/nothing', 404],
  ['a query without end', 'GET', `/v1/requests?${'a=b&'.repeat(3_000)}`, 401],
  ['a query of odd bytes', 'GET', '/v1/requests?%zz=%ff&[]=1&a[b]=c&=', 401],
];

/** A request hidden in the body of another one, whose length can be read in two ways. */
const framings = [
  ({ length }: string) =>
    `Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  () => 'Content-Length: 0\r\nContent-Length: 5\r\n\r\n',
  () => 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
  () => 'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
  () => 'Transfer-Encoding: chunked\r\n\r\n0;ext=\n\r\n\r\n',
  () => 'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
  () => 'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n',
];

function hiddenBehind(framing: (hidden: string) => string): Call {
  return async ({ service, account }) => {
    const hidden = `POST /v1/queue/fake/image HTTP/1.1\r\nHost: x\r\nAuthorization: Key ${account.key}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"prompt":"x"}`;
    const head = `POST /livez HTTP/1.1\r\nHost: x\r\n${framing(hidden)}`;
    const { replies, closed } = await exchange(service.base, head + hidden);
    assert.ok(closed, 'the connection hangs');
    for (const { status } of replies) assert.ok(status >= 400 && status < 500, `${status}`);
    return replies[0];
  };
}

/** Several requests on one connection are answered in order, each for itself. */
const pipelined: Call = async ({ service }) => {
  const one = (path: string, extra = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${extra}\r\n`;
  const paths = ['/livez', '/v1/requests', '/v1/models/%zz', '/v1/models/fake/image'];
  const last = one('/livez', 'Connection: close\r\n');
  const { replies, closed } = await exchange(
    service.base,
    paths.map((path) => one(path)).join('') + last,
  );
  assert.ok(closed);
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 401, 400, 200, 200],
  );
  return replies[0];
};

export const refused: Row[] = [
  ...lines.map(([name, text, status = 400]): Row => [name, bytes(text), [status]]),
  [
    'a tunnel to ourselves',
    bytes(({ service }) => `CONNECT ${new URL(service.base).host} HTTP/1.1\r\nHost: x\r\n\r\n`),
    [400],
  ],
  ...targets.map(([name, method, path, status]): Row => [
    `a target of ${name}`,
    sent(`${method} ${path}`, { usual: ['Host: x', 'Connection: close'] }),
    [status],
  ]),
  [
    'an odd query of a list',
    sent('GET /v1/requests?%zz=%ff&[]=1&a[b]=c&=&limit=1'),
    [400],
    ({ body }) => assert.match(body.error.message, /^There is no parameter .* Allowed: /),
  ],
  ['five requests on one connection', pipelined, [200]],
  ...framings.map((framing): Row => [
    `a request hidden behind ${JSON.stringify(framing('x'))}`,
    hiddenBehind(framing),
    [],
  ]),
];
