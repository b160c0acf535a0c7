/** A run that is interrupted at any moment is resumed as the same request. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { images, tinyPng } from '../../../server/test/kit/fake.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { refused as refusedBy, startFaulty } from '../../../server/test/kit/faulty.ts';
import { inShort, inLong } from '../../../server/test/kit/long.ts';
import { until } from '../../../server/test/kit/until.ts';
import { begin, homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
let proxy: Proxy;
before(async () => {
  proxy = await openProxy();
  service = await startService({ running: true, env: { FAREBOX_BASE_URL: proxy.base } });
  proxy.port = Number(new URL(service.base).port);
  account = await service.account({ usd: 50 });
});
beforeEach(() => {
  service.fake.behave = {};
  home = homeOf(service, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
  proxy.server.close();
  proxy.server.closeAllConnections();
});

let startsBefore = 0;
beforeEach(() => (startsBefore = service.fake.starts.length));

const limited = refusedBy(429, 'rate_limited', { 'x-should-retry': 'false' });
const cat = ['run', 'fake/image', '--prompt', 'a cat on a mat'];

describe('an interrupted run', () => {
  test('killed with -9: `fare resume` saves the outputs, and the job is charged once', async () => {
    const before = await service.balance(account);
    const { running, id, finish } = await begin(service, home, [...cat, '-o', 'later.png']);
    running.child.kill('SIGKILL');
    await running.ended;
    finish();
    const ran = well(await home.run(['resume']));
    assert.equal(ran.stdout, 'later.png\n');
    assert.match(ran.stderr, new RegExp(`Request ${id}`));
    assert.equal(before.available - (await service.balance(account)).available, 10_000n);
    assert.equal(service.fake.starts.length, startsBefore + 1);
    refused(
      await home.run(['resume']),
      2,
      /No request that was run on this computer is still open/,
    );
  });

  for (const signal of inShort(1, ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)) {
    test(`${signal} while it runs leaves it to itself: exit 5 and how to go on`, async () => {
      const { running, id, finish } = await begin(service, home, cat);
      running.child.kill(signal);
      refused(await running.ended, 5, new RegExp(`goes on without[^]*fare resume ${id}`));
      finish();
      assert.match(well(await home.run(['resume', id])).stdout, /^a-cat-on-a-mat-/);
    });
  }

  inLong('Ctrl-C during a download: no partial file, and resume saves all of it', async () => {
    proxy.stalls = true;
    const env = { FAREBOX_BASE_URL: proxy.base, FAREBOX_API_KEY: account.key };
    const running = home.start([...cat, '-o', 'x.png'], { env });
    await until('the download has begun', () => proxy.stalled === 1);
    running.child.kill('SIGINT');
    refused(await running.ended, 5, /not all of its outputs are saved[^]*fare resume/);
    assert.deepEqual(fs.readdirSync(home.dir), []);
    proxy.stalls = false;
    assert.equal(well(await home.run(['resume'], { env })).stdout, 'x.png\n');
    assert.deepEqual(fs.readFileSync(path.join(home.dir, 'x.png')), tinyPng);
  });

  for (const out of inShort(1, [[], ['-o', 'cats/'], ['-o', 'cat.png']])) {
    inLong(
      `left between two outputs: the first is not saved again (${out.at(-1) ?? 'no --out'})`,
      async () => {
        service.fake.behave.poll = () => ({ state: 'done', result: images(3) });
        const env = { FAREBOX_BASE_URL: proxy.base, FAREBOX_API_KEY: account.key };
        const files = () =>
          (fs.readdirSync(home.dir, { recursive: true }) as string[]).filter((each) =>
            each.endsWith('.png'),
          );
        Object.assign(proxy, { stalls: true, stalled: 0, passes: 1, outputs: 0 });
        const args = ['run', 'fake/image', '--prompt', 'a cat', 'num_images=3', ...out];
        const running = home.start(args, { env });
        await until('the second is on its way', () => proxy.stalled === 1);
        running.child.kill('SIGKILL');
        await running.ended;
        const [first] = files();
        Object.assign(proxy, { stalls: false, passes: 0, outputs: 0 });
        const ran = well(await home.run(['resume'], { env }));
        assert.equal(proxy.outputs, 2, 'downloads');
        const names = ran.stdout.trim().split('\n');
        assert.equal(names.length, 3);
        assert.equal(names[0], first);
        assert.deepEqual(files().sort(), names.sort());
        assert.ok(!names.some((name) => name.includes('_2')));
      },
    );
  }

  for (const how of inShort(1, ['SIGKILL', 'SIGINT'] as const)) {
    test(`${how} before the answer to its submit came: resumed as one request, not two`, async () => {
      const before = await service.balance(account);
      Object.assign(proxy, { swallows: true, swallowed: 0 });
      const env = { FAREBOX_BASE_URL: proxy.base, FAREBOX_API_KEY: account.key };
      const running = home.start(cat, { env });
      await until('the submit has arrived', () => proxy.swallowed === 1);
      running.child.kill(how);
      const left = await running.ended;
      assert.doesNotMatch(left.stderr, /Request /);
      if (how === 'SIGINT') refused(left, 5, /is unknown[^]*fare resume/);
      proxy.swallows = false;
      const ran = well(await home.run(['resume'], { env }));
      assert.match(ran.stderr, /same idempotency key/);
      assert.match(ran.stdout, /^a-cat-on-a-mat-/);
      assert.equal(service.fake.starts.length, startsBefore + 1);
      assert.equal(before.available - (await service.balance(account)).available, 10_000n);
    });
  }

  test('a repeat that is refused after a lost answer: exit 5, resumed as one request', async () => {
    const before = await service.balance(account);
    const faulty = await startFaulty(service.base);
    const env = { FAREBOX_BASE_URL: `${faulty.base}/v1`, FAREBOX_API_KEY: account.key };
    faulty.meet('/queue/', { cutAt: 0 }, limited);
    refused(await home.run(cat, { env }), 5, /Not now: it is unknown whether[^]*fare resume/);
    // The outcome of the last command is unknown when a new one is refused.
    faulty.meet('/queue/', refusedBy(401, 'unauthorized'));
    refused(await home.run(['resume'], { env }), 3, /Not now/);
    const ran = well(await home.run(['resume'], { env }));
    await faulty.stop();
    assert.match(ran.stdout, /^a-cat-on-a-mat-/);
    assert.equal(service.fake.starts.length, startsBefore + 1);
    assert.equal(before.available - (await service.balance(account)).available, 10_000n);
  });
});

interface Proxy {
  base: string;
  /** The service's port. */
  port: number;
  swallows: boolean;
  swallowed: number;
  stalls: boolean;
  stalled: number;
  /** Number of outputs that pass before one stalls. */
  passes: number;
  /** Number of requested outputs. */
  outputs: number;
  server: Server;
}

/**
 * Passes everything on; while it swallows, the answers to submits do not come back; while it stalls,
 * outputs stop after ten bytes.
 */
async function openProxy(): Promise<Proxy> {
  const switches = {
    swallows: false,
    swallowed: 0,
    stalls: false,
    stalled: 0,
    passes: 0,
    outputs: 0,
  };
  const proxy: Proxy = { base: '', port: 0, ...switches, server: createServer() };
  proxy.server.on('request', (req, res) => {
    const { method, url, headers } = req;
    const onwards = httpRequest({ port: proxy.port, method, path: url, headers }, (reply) => {
      if (proxy.swallows && url!.includes('/queue/')) {
        reply.resume().once('end', () => proxy.swallowed++);
        return;
      }
      res.writeHead(reply.statusCode!, reply.headers);
      const isOutput = url!.includes('/output/');
      if (isOutput) proxy.outputs++;
      if (proxy.stalls && isOutput && proxy.outputs > proxy.passes) {
        res.flushHeaders();
        reply.once('data', (part: Buffer) => res.write(part.subarray(0, 10)));
        proxy.stalled++;
        return;
      }
      reply.pipe(res);
    });
    onwards.on('error', () => res.destroy());
    req.pipe(onwards);
  });
  await new Promise<void>((go) => proxy.server.listen(0, '127.0.0.1', go));
  proxy.base = `http://127.0.0.1:${(proxy.server.address() as AddressInfo).port}/v1`;
  return proxy;
}
