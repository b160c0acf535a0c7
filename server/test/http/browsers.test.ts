import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { requestIn } from '../kit/states.ts';
import { before, withService } from '../kit/with-service.ts';

/** Routes that browsers may read from other origins, and compressed replies. */

let listed: string;
const { service, account } = withService();
before(async () => {
  listed = (await service.another({ FAREBOX_CORS_ORIGINS: 'https://app.example' })).base;
});

interface RawReply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

function raw(
  path: string,
  { method = 'GET', base = service.base, headers = {}, body = '' } = {},
): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const call = request(base + path, { method, headers }, async (reply) => {
      const bytes = Buffer.concat(await Array.fromAsync(reply as AsyncIterable<Buffer>));
      resolve({ status: reply.statusCode!, headers: reply.headers, bytes });
    });
    call.once('error', reject);
    call.end(body);
  });
}

const allowed = ({ headers }: RawReply) => headers['access-control-allow-origin'];
const preflight = (origin: string) => ({
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-os',
});

describe('pages of other origins', () => {
  test('may read what is public', async () => {
    for (const path of [
      '/v1/models',
      '/v1/models/fake/image',
      '/v1/openapi.json',
      '/v1/llms.txt',
    ]) {
      const reply = await raw(path, { headers: { origin: 'https://any.example' } });
      assert.equal(reply.status, 200);
      assert.equal(allowed(reply), '*', path);
      const asked = await raw(path, {
        method: 'OPTIONS',
        headers: preflight('https://any.example'),
      });
      assert.equal(asked.status, 204);
      assert.equal(allowed(asked), '*');
    }
  });

  test('may read a signed link, again by its tag too, but not with a key', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    const at = `/v1/requests/${id}/response`;
    const { body } = await account.get(at);
    const { pathname, search } = new URL(body.images[0].url);
    const origin = 'https://any.example';
    const ask = (path: string, names: string) =>
      raw(path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': names,
        },
      });
    const asked = await ask(pathname + search, 'if-none-match,Authorization,x-api-key,range');
    assert.deepEqual([asked.status, allowed(asked)], [204, '*']);
    assert.match(String(asked.headers['access-control-allow-methods']), /GET, HEAD/);
    assert.equal(asked.headers['access-control-allow-headers'], 'if-none-match, range');
    const first = await raw(pathname + search, { headers: { origin } });
    assert.deepEqual([first.status, allowed(first)], [200, '*']);
    assert.match(String(first.headers['access-control-expose-headers']), /\betag\b/);
    const headers = { origin, 'if-none-match': String(first.headers.etag) };
    assert.equal((await raw(pathname + search, { headers })).status, 304);
    // A page must be able to read why a link does not open.
    assert.equal(allowed(await raw(`${pathname}?exp=1&sig=x`, { headers: { origin } })), '*');
    const keyed = await ask(pathname, 'authorization');
    assert.deepEqual([keyed.status, allowed(keyed)], [405, undefined]);
  });

  test('may not call with a key, unless the operator lists them', async () => {
    for (const [base, origin, status, header] of [
      [service.base, 'https://app.example', 405, undefined],
      [listed, 'https://other.example', 405, undefined],
      [listed, 'null', 405, undefined],
      [listed, 'https://app.example', 204, 'https://app.example'],
    ] as const) {
      const path = '/v1/chat/completions';
      const asked = await raw(path, { method: 'OPTIONS', base, headers: preflight(origin) });
      assert.deepEqual([asked.status, allowed(asked)], [status, header]);
      const headers = { origin, authorization: `Key ${account.key}` };
      const reply = await raw('/v1/balance', { base, headers });
      assert.deepEqual([reply.status, allowed(reply)], [200, header]);
      assert.equal(reply.headers['access-control-allow-credentials'], undefined);
    }
  });

  test('may also read streams and refusals if they are listed', async () => {
    const headers = {
      origin: 'https://app.example',
      authorization: `Key ${account.key}`,
      'content-type': 'application/json',
    };
    const messages = [{ role: 'user', content: 'x' }];
    for (const model of ['fake/chat', 'none']) {
      const body = JSON.stringify({ model, messages, stream: true });
      const reply = await raw('/v1/chat/completions', {
        method: 'POST',
        base: listed,
        headers,
        body,
      });
      assert.equal(allowed(reply), 'https://app.example', reply.bytes.toString());
      // A page must also be able to read whether and when to call again.
      const shown = String(reply.headers['access-control-expose-headers']).split(', ');
      for (const name of ['retry-after', 'x-should-retry', 'x-request-id'])
        assert.ok(shown.includes(name), name);
    }
  });

  test('never reach the calls of our own pages, and those that manage keys', async () => {
    const headers = preflight('https://app.example');
    for (const path of ['/api/session', '/v1/keys', `/v1/keys/${account.key_id}`]) {
      const asked = await raw(path, { method: 'OPTIONS', base: listed, headers });
      assert.equal(allowed(asked), undefined, path);
    }
  });
});

describe('a reply', () => {
  const ask = (encoding: string) => ({ headers: { 'accept-encoding': encoding } });

  test('is compressed as asked, and is the same', async () => {
    const plain = await raw('/v1/openapi.json');
    assert.equal(plain.headers['content-encoding'], undefined);
    for (const [asked, encoding, open] of [
      ['gzip', 'gzip', gunzipSync],
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['br;q=0, gzip', 'gzip', gunzipSync],
    ] as const) {
      for (let i = 0; i < 2; i++) {
        const reply = await raw('/v1/openapi.json', ask(asked));
        assert.equal(reply.headers['content-encoding'], encoding);
        assert.match(String(reply.headers.vary), /accept-encoding/);
        assert.ok(open(reply.bytes).equals(plain.bytes));
        assert.ok(reply.bytes.length < plain.bytes.length / 4);
        assert.equal(Number(reply.headers['content-length']), reply.bytes.length);
      }
    }
  });

  test('keeps its ETag valid for a later call', async () => {
    const { headers } = await raw('/v1/models', ask('br'));
    const again = await raw('/v1/models', {
      headers: { 'accept-encoding': 'br', 'if-none-match': String(headers.etag) },
    });
    assert.equal(again.status, 304);
  });

  test('is not compressed if it is small, or if the caller does not ask for it', async () => {
    const small = await raw('/livez', ask('br'));
    assert.equal(small.headers['content-encoding'], undefined);
    for (const encoding of ['identity', 'br;q=0', 'zstd']) {
      const reply = await raw('/v1/openapi.json', ask(encoding));
      assert.equal(reply.headers['content-encoding'], undefined, encoding);
    }
  });
});
