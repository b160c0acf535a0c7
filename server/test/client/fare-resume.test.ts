/** A run that was left at any moment is taken up again as the same request. */
import assert from 'node:assert/strict';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { images } from '../kit/fake.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService({ running: true });
  account = await service.account({ usd: 50 });
});
beforeEach(() => {
  service.fake.behave = {};
  home = homeOf(service, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

let startsBefore = 0;
beforeEach(() => (startsBefore = service.fake.starts.length));

const cat = ['run', 'fake/image', '--prompt', 'a cat on a mat'];

describe('an interrupted run', () => {
  /** Starts a run whose job runs until `finish`. */
  async function begun(args: string[] = cat) {
    let over = false;
    service.fake.behave.poll = () =>
      over ? { state: 'done', result: images(1) } : { state: 'running', poll_after_ms: 10 };
    const running = home.start(args);
    await until('it runs', () => running.stderr().includes('Running'), 10_000);
    const id = /Request (\S+)/.exec(running.stderr())![1]!;
    return { running, id, finish: () => (over = true) };
  }

  test('killed with -9: `fare resume` saves what came out, and it is charged once', async () => {
    const before = await service.balance(account);
    const { running, id, finish } = await begun([...cat, '-o', 'later.png']);
    running.child.kill('SIGKILL');
    await running.ended;
    finish();
    const ran = well(await home.run(['resume']));
    assert.equal(ran.stdout, 'later.png\n');
    assert.match(ran.stderr, new RegExp(`Request ${id}`));
    assert.equal(before.available - (await service.balance(account)).available, 10_000n);
    assert.equal(service.fake.starts.length, startsBefore + 1);
    refused(await home.run(['resume']), 2, /Nothing that was run here is open/);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    test(`${signal} while it runs leaves it to itself: exit 5 and how to go on`, async () => {
      const { running, id, finish } = await begun();
      running.child.kill(signal);
      refused(await running.ended, 5, new RegExp(`goes on without[^]*fare resume ${id}`));
      finish();
      assert.match(well(await home.run(['resume', id])).stdout, /^a-cat-on-a-mat-/);
    });
  }

  test('another computer takes it up by its id', async () => {
    const { running, id, finish } = await begun();
    running.child.kill('SIGKILL');
    await running.ended;
    finish();
    home = homeOf(service, account.key);
    assert.match(well(await home.run(['resume', id])).stdout, /^a-cat-on-a-mat-/);
  });

  test('killed before the answer to its submit came: resumed as one request, not two', async () => {
    const before = await service.balance(account);
    const proxy = await openProxy();
    proxy.swallows = true;
    const env = { FAREBOX_BASE_URL: proxy.base, FAREBOX_API_KEY: account.key };
    const running = home.start(cat, { env });
    await until('the submit has arrived', () => proxy.swallowed === 1, 10_000);
    running.child.kill('SIGKILL');
    await running.ended;
    assert.doesNotMatch(running.stderr(), /Request/);
    proxy.swallows = false;
    const ran = well(await home.run(['resume'], { env }));
    assert.match(ran.stderr, /same idempotency key/);
    assert.match(ran.stdout, /^a-cat-on-a-mat-/);
    assert.equal(service.fake.starts.length, startsBefore + 1);
    assert.equal(before.available - (await service.balance(account)).available, 10_000n);
    proxy.server.close();
  });

  test('--no-wait prints the id alone; `fare resume` does the rest', async () => {
    const ran = well(await home.run([...cat, '--no-wait']));
    assert.match(ran.stdout, /^[0-9a-f-]{36}\n$/);
    assert.match(well(await home.run(['resume'])).stdout, /^a-cat-on-a-mat-/);
  });
});

/** Passes everything on; while it swallows, the answers to submits do not come back. */
async function openProxy(): Promise<{
  base: string;
  swallows: boolean;
  swallowed: number;
  server: Server;
}> {
  const { port } = new URL(service.base);
  const proxy = { base: '', swallows: false, swallowed: 0, server: createServer() };
  proxy.server.on('request', (req, res) => {
    const { method, url, headers } = req;
    const onwards = httpRequest({ port, method, path: url, headers }, (reply) => {
      if (proxy.swallows && url!.includes('/queue/')) {
        reply.resume().once('end', () => proxy.swallowed++);
        return;
      }
      res.writeHead(reply.statusCode!, reply.headers);
      reply.pipe(res);
    });
    onwards.on('error', () => res.destroy());
    req.pipe(onwards);
  });
  await new Promise<void>((go) => proxy.server.listen(0, '127.0.0.1', go));
  proxy.base = `http://127.0.0.1:${(proxy.server.address() as AddressInfo).port}/v1`;
  return proxy;
}
