import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { openRpc, RpcError, type Rpc } from '../../src/chains/rpc.ts';
import { hideInLogs } from '../../src/lib/log.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';

/** An endpoint over HTTP, and the answers that are accepted. */

interface Call {
  headers: IncomingHttpHeaders;
  body: any;
}

let server: Server;
let rpc: Rpc;
let calls: Call[] = [];
let answer: (call: Call) => { status?: number; text: string };
const secret = 'a-key-in-the-path';
const fetch = createFetch({ guard: false });
before(async () => {
  server = createServer((req, res) => {
    let text = '';
    req.on('data', (chunk) => (text += chunk));
    req.on('end', () => {
      const call = { headers: req.headers, body: JSON.parse(text) };
      calls.push(call);
      const { status = 200, text: reply } = answer(call);
      res.writeHead(status).end(reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const headers = { 'tron-pro-api-key': 'header-key' };
  rpc = openRpc(fetch, { url: `http://127.0.0.1:${port}/${secret}`, headers });
});
after(async () => {
  server.close();
  await fetch.close();
});

const result = (body: object) => ({ text: JSON.stringify({ jsonrpc: '2.0', ...body }) });

describe('a call of an endpoint', () => {
  test('sends the method and its key, and returns the result', async () => {
    calls = [];
    answer = ({ body: { id } }) => result({ id, result: '0x7' });
    assert.equal(await rpc('eth_chainId'), '0x7');
    const [{ headers, body }] = calls as [Call];
    assert.equal(headers['tron-pro-api-key'], 'header-key');
    assert.deepEqual([body.method, body.params], ['eth_chainId', []]);
  });

  test('shows no beginning of a secret where the words of a refusal are cut', async () => {
    hideInLogs('zq-secret-of-the-endpoint');
    const message = `${'x'.repeat(295)}zq-secret-of-the-endpoint`;
    answer = ({ body: { id } }) => result({ id, error: { code: 1, message } });
    await assert.rejects(rpc('eth_chainId'), (error: Error) => {
      assert.match(error.message, /x{295}/);
      assert.doesNotMatch(error.message, /zq/);
      return true;
    });
  });

  const refusals: Record<string, [reply: typeof answer, code: number | null, text: RegExp]> = {
    'with an error of its own': [
      ({ body: { id } }) => result({ id, error: { code: -32005, message: 'limit exceeded' } }),
      -32005,
      /^limit exceeded$/,
    ],
    'with a page, and no JSON': [
      () => ({ status: 403, text: '{"Error":"The key exceeds the frequency limit(15)"}' }),
      403,
      /frequency limit/,
    ],
    'to another call': [
      ({ body: { id } }) => result({ id: id + 1, result: '0x7' }),
      200,
      /^not the reply to this call$/,
    ],
    'without a result': [({ body: { id } }) => result({ id }), 200, /^not the reply/],
    'with half of a reply': [
      () => ({ text: '{"jsonrpc":"2.0","id":1,"res' }),
      200,
      /^not the reply to this call: \{"jsonrpc":"2.0","id":1,"res$/,
    ],
    'with a page of several lines': [
      () => ({ status: 502, text: '<html>\r\n<h1>502 Bad Gateway</h1>\r\n</html>\r\n' }),
      502,
      /^<html> <h1>502 Bad Gateway<\/h1> <\/html>$/,
    ],
    'with its reason in the data of its error': [
      ({ body: { id } }) =>
        result({ id, error: { code: -32602, message: 'invalid params', data: { max: 5 } } }),
      -32602,
      /^invalid params: \{"max":5\}$/,
    ],
    'with a reason in the data alone': [
      ({ body: { id } }) => result({ id, error: { code: '-32005', data: 'range too wide' } }),
      -32005,
      /^range too wide$/,
    ],
    'with an error that is a text': [
      ({ body: { id } }) => result({ id, error: 'daily limit reached' }),
      200,
      /^daily limit reached$/,
    ],
    'with an error in a list of one': [
      ({ body: { id } }) => ({
        text: JSON.stringify([{ id, error: { code: -32600, message: 'too high' } }]),
      }),
      -32600,
      /^too high$/,
    ],
    'with an error beside a result': [
      ({ body: { id } }) => result({ id, result: null, error: { code: -32602, message: 'no' } }),
      -32602,
      /^no$/,
    ],
    'with a very long error': [
      ({ body: { id } }) => result({ id, error: { code: 1, message: 'x'.repeat(10_000) } }),
      1,
      /^x{300}…$/,
    ],
  };
  for (const [outcome, [reply, code, text]] of Object.entries(refusals))
    test(`that is answered ${outcome} is an error without the address`, async () => {
      answer = reply;
      const error = await rpc('eth_getLogs').catch((thrown: unknown) => thrown);
      assert.ok(error instanceof RpcError);
      assert.equal(error.code, code);
      assert.match(error.text, text);
      assert.ok(!error.message.includes(secret), error.message);
    });

  test('of an endpoint that is away is an error without the address', async () => {
    const away = openRpc(fetch, { url: `http://127.0.0.1:1/${secret}` });
    const error = await away('eth_chainId').catch((thrown: unknown) => thrown);
    assert.ok(error instanceof RpcError);
    assert.equal(error.code, null);
    assert.match(error.text, /^no reply \(refused\): it refuses connections: nothing listens/);
    assert.ok(!error.message.includes(secret), error.message);
  });
});
