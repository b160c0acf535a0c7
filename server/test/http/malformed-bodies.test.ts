import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import type { ErrorCode } from '../../src/core/errors.ts';
import { readObject } from '../../src/http/body.ts';
import type { HttpDeps, Keyed } from '../../src/http/deps.ts';
import { createBudget } from '../../src/lib/budget.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { assertRefused } from '../kit/refusal.ts';
import {
  assertRefusedAs,
  assertUnharmed,
  json,
  latin1,
  leavingNothing,
  send,
  sendBytes,
  type Sent,
} from '../kit/rough.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { requestIn } from '../kit/states.ts';
import { until } from '../kit/until.ts';
import { exchange } from '../kit/wire.ts';

/** Bodies that are packed, late, cut short or not what they say: nothing of them is kept. */

const marker = 'PROMPT-MARKER-e35d';
let service: Service;
let account: TestAccount;
let done: string;
before(async () => {
  service = await startService({
    env: { FAREBOX_UPLOAD_MAX_BYTES: '1000' },
    times: { bodyMs: 300, uploadWindowMs: 300, headersMs: 400, connectionsCheckMs: 50 },
  });
  account = await service.account();
  done = await requestIn(service, account, 'COMPLETED');
});
after(async () => {
  await service.audit();
  await service.stop();
});

const call = (line: string, sent?: Sent) => send(service, account, line, sent);

describe('bodies', () => {
  const packed = {
    gzip: gzipSync(Buffer.alloc(10 * 1024 * 1024)),
    deflate: deflateSync(Buffer.alloc(10 * 1024 * 1024)),
    br: brotliCompressSync(Buffer.alloc(1024 * 1024)),
    'gzip, gzip': gzipSync(gzipSync(Buffer.alloc(10 * 1024 * 1024))),
  };
  for (const [encoding, body] of Object.entries(packed)) {
    test(`packed as ${encoding} are refused unopened`, async () => {
      await leavingNothing(service, async () => {
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
          assertRefusedAs(
            await call(`POST ${path}`, { headers, body }),
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
      await leavingNothing(service, async () => {
        const reply = await call(`POST ${path}`, { headers, body: '{"prompt":' });
        const { message } = assertRefused(reply!, 'bad_request');
        assert.match(message, /too slowly/);
      });
    });

    test(`of ${path} whose sender leaves are forgotten`, async () => {
      await leavingNothing(service, async () => {
        await call(`POST ${path}`, { headers, body: '{"prompt":', leave: 'politely' });
        await call(`POST ${path}`, { headers, body: '{"prompt":', leave: 'rudely' });
        await idle();
      });
    });

    test(`of ${path} in chunks that break off are forgotten`, async () => {
      await leavingNothing(service, async () => {
        const chunked = [`Content-Type: ${type}`, 'Transfer-Encoding: chunked'];
        await call(`POST ${path}`, {
          headers: chunked,
          body: 'a\r\n{"prompt":\r\n',
          leave: 'politely',
        });
        await call(`POST ${path}`, { headers: chunked, body: 'zz\r\n{"prompt":\r\n' });
        await call(`POST ${path}`, {
          headers: chunked,
          body: '5\r\n{"prompt":"too long"}\r\n0\r\n\r\n',
        });
        await idle();
      });
    });
  }

  test(
    'whose sender leaves while the key is looked up end at once',
    { timeout: 10_000 },
    async () => {
      const body = new PassThrough().destroy();
      await once(body, 'close');
      const headers = { 'content-type': 'application/json' };
      const req = { headers, body, caller: { account_id: 'a' } } as unknown as Keyed;
      const reply = { raw: new PassThrough() } as unknown as FastifyReply;
      const settings = { times: { bodyMs: 3_600_000 } };
      const budgets = { bodies: createBudget(100, 100), reading: createBudget(2, null) };
      const deps = { ...budgets, settings } as HttpDeps;
      await assert.rejects(readObject(req, reply, 100, deps), { code: 'bad_request' });
    },
  );

  test('whose sender leaves while the key is looked up are no fault of ours', async () => {
    await leavingNothing(service, async () => {
      const released = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const lock = service.db.tx(async (tx) => {
        await tx.run(rawSql('lock table key_windows in access exclusive mode'));
        locked.resolve();
        await released.promise;
      });
      await locked.promise;
      const earlier = await finished();
      for (const [path, type] of paths) {
        const headers = [`Content-Type: ${type}`, 'Content-Length: 100'];
        await call(`POST ${path}`, { headers, body: '{"prompt":', leave: 'rudely' });
      }
      const over = earlier + paths.length;
      await until('all have left', async () => (await finished()) >= over);
      released.resolve();
      await lock;
      await service.call('GET', '/v1/requests', { key: account.key });
    });
    const levels = service.log.map((line) => JSON.parse(line).level as number);
    assert.ok(Math.max(...levels) < 40, service.log.join(''));
  });

  test('that come byte by byte are taken', async () => {
    const body = '{"prompt":"x"}';
    const { headers = [] } = json(body);
    const reply = await call('POST /v1/queue/fake/image', { headers, parts: [...body] });
    assert.equal(reply?.status, 202, reply?.text);
    await call(`POST /v1/requests/${reply!.body.request_id}/cancel`);
  });

  test('in chunks with extensions and trailers are taken', async () => {
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    const body = '9;a=b\r\n{"prompt"\r\n5\r\n:"x"}\r\n0\r\nX-Trailer: y\r\n\r\n';
    const reply = await call('POST /v1/queue/fake/image', { headers, body });
    assert.equal(reply?.status, 202, reply?.text);
    await call(`POST /v1/requests/${reply!.body.request_id}/cancel`);
  });

  test('beyond the bound are refused before they have come', async () => {
    const headers = ['Content-Type: application/json', 'Content-Length: 1000000000'];
    for (const path of [
      '/v1/estimate',
      '/v1/queue/fake/image',
      '/v1/chat/completions',
      '/v1/files',
    ]) {
      assertRefused((await call(`POST ${path}`, { headers }))!, 'payload_too_large', {
        about: path,
      });
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
      assert.equal((await call(`${method} ${path}`, { headers, body }))?.status, 200, path!);
    }
  });

  /** Calls that came to an end, of whatever sort. */
  async function finished(): Promise<number> {
    const { values } = await service.app.metrics.httpSeconds.get();
    const counts = values.filter(({ metricName }) => metricName?.endsWith('_count'));
    return counts.reduce((sum, { value }) => sum + value, 0);
  }

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
      const reply = await sendBytes(service, bytes);
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
    call('POST /v1/files', {
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
      await leavingNothing(service, async () => {
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

test('after all that nothing is harmed', () => assertUnharmed(service, account, marker));
