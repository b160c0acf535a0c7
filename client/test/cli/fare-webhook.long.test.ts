/** `fare webhook listen` shows notifications, and accepts only signed ones. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createServer as createReceiver } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { verifyWebhook } from '../../src/index.ts';
import { inLong } from '../../../server/test/kit/long.ts';
import { startService, type Service } from '../../../server/test/kit/service.ts';
import { until } from '../../../server/test/kit/until.ts';
import { homeOf, refused, type RunningCommand } from './fare-kit.ts';

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const event = {
  request_id: '0199c0de-1234-7abc-8def-0123456789ab',
  status: 'COMPLETED',
  model_id: 'fake/\u001B[31mimage',
  charged_usd_micro: '10000',
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go));
  const { port } = server.address() as AddressInfo;
  await new Promise((end) => server.close(end));
  return port;
}

async function listening(args: string[], env: Record<string, string> = {}, stdin = '') {
  const port = await freePort();
  const home = homeOf(service, null);
  const running = home.start(['webhook', 'listen', '-p', String(port), ...args], { env, stdin });
  await until('it listens', () => running.stderr().includes('Listening'));
  const send = (body: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
  return { running, send, port, home };
}

function signed(body: string): Record<string, string> {
  const stamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice(6), 'base64');
  const signature = createHmac('sha256', key).update(`msg_1.${stamp}.${body}`).digest('base64');
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': stamp,
    'webhook-signature': `v1,${signature}`,
  };
}

async function end(running: RunningCommand) {
  running.child.kill('SIGINT');
  const ran = await running.ended;
  assert.equal(ran.code, 0, ran.all);
  return ran;
}

describe('fare webhook listen', () => {
  test('distinguishes calls of the service from others', async () => {
    const { running, send } = await listening([], { FAREBOX_WEBHOOK_SECRET: secret });
    const body = JSON.stringify(event);
    assert.equal((await send(body, signed(body))).status, 204);
    assert.equal((await send(body, signed(`${body} `))).status, 400);
    assert.equal((await send(body)).status, 400);
    const { stdout } = await end(running);
    const [good, forged] = stdout.split('\n');
    assert.equal(good, `verified  COMPLETED ${event.request_id} fake/[31mimage $0.01`);
    assert.match(forged!, /^rejected/);
    assert.ok(!stdout.includes('\u001B'));
  });

  inLong('with --json: a value for each; without a secret nothing is called verified', async () => {
    const { running, send } = await listening(['--json']);
    const body = JSON.stringify(event);
    assert.equal((await send(body, signed(body))).status, 204);
    assert.equal((await send('no json')).status, 204);
    const ran = await end(running);
    assert.match(ran.stderr, /nothing is verified/);
    const shown = ran.lines.map(({ verified, webhook_id }) => [verified, webhook_id]);
    assert.deepEqual(shown, [
      [null, 'msg_1'],
      [null, null],
    ]);
  });

  test('survives any body, and shows only fields that are texts', async () => {
    const { running, send, port } = await listening([], { FAREBOX_WEBHOOK_SECRET: secret });
    const socket = connect(port, '127.0.0.1');
    const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{';
    await new Promise<void>((go) => socket.write(head, () => go()));
    socket.destroy();
    const odd = [
      'null',
      '7',
      '[]',
      '"text"',
      '{"charged_usd_micro":"12x","status":{"toString":1},"request_id":{"__proto__":null}}',
      '{"charged_usd_micro":{"toString":null},"model_id":["a"]}',
      '{"charged_usd_micro":[],"status":"\\u009b31mred"}',
    ];
    for (const body of odd) {
      assert.equal((await send(body)).status, 400, body);
      // A signed call may have odd contents too.
      assert.equal((await send(body, signed(body))).status, 204, body);
    }
    const body = JSON.stringify(event);
    assert.equal((await send(body, signed(body))).status, 204);
    const { stdout } = await end(running);
    assert.match(stdout, /verified {2}COMPLETED .*\$0\.01\n$/);
    assert.doesNotMatch(stdout, /undefined|object|\u009b/);
  });

  inLong('a flood of forged calls does not hide real ones, and web pages are refused', async () => {
    const { running, send } = await listening([], { FAREBOX_WEBHOOK_SECRET: secret });
    const body = JSON.stringify(event);
    const page = { origin: 'https://example.com', ...signed(body) };
    assert.equal((await send(body, page)).status, 403);
    const answers = await Promise.all(Array.from({ length: 100 }, () => send('{}')));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([400]));
    assert.equal((await send(body, signed(body))).status, 204);
    const { stdout } = await end(running);
    const forged = stdout.split('\n').filter((line) => line.startsWith('rejected')).length;
    assert.ok(forged >= 10 && forged <= 50, `${forged} forged ones are shown`);
    assert.equal(stdout.match(/^verified/gm)?.length, 1);
  });

  test('the secret comes by stdin or environment, never as an argument that others can read', async () => {
    const { running, send, home } = await listening(['--secret-stdin'], {}, `${secret}\n`);
    const body = JSON.stringify(event);
    assert.equal((await send(body, signed(body))).status, 204);
    assert.equal((await send(body)).status, 400);
    await end(running);
    refused(await home.run(['webhook', 'listen', '--secret', secret]), 2, /unknown option/);
    for (const stdin of ['hunter2', 'whsec_wrongwrongwrongwrongwrongwrong', '']) {
      const ran = await home.run(['webhook', 'listen', '--secret-stdin'], { stdin });
      refused(ran, 2, /whsec_ followed by base64/);
      assert.doesNotMatch(ran.all, /hunter2|wrongwrong/);
    }
  });

  inLong('a port that is taken: said', async () => {
    const { running, port, home } = await listening([]);
    refused(
      await home.run(['webhook', 'listen', '-p', String(port)]),
      2,
      /cannot be used[^]*--port/,
    );
    await end(running);
  });
});

describe('fare webhook listen --forward-to', () => {
  test('posts each request that ends, once, signed as the service would', async (t) => {
    const got: { body: string; headers: Record<string, string | string[] | undefined> }[] = [];
    const receiver = createReceiver(async (req, res) => {
      const parts: Buffer[] = [];
      for await (const part of req as AsyncIterable<Buffer>) parts.push(part);
      got.push({ body: Buffer.concat(parts).toString(), headers: req.headers });
      res.writeHead(got.length === 1 ? 204 : 500).end();
    });
    await new Promise<void>((go) => receiver.listen(0, '127.0.0.1', go));
    t.after(() => receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const account = await service.account();
    const submit = async () => {
      const body = { prompt: 'a cat' };
      const reply = await service.call('POST', '/v1/queue/fake/image', { key: account.key, body });
      return reply.body.request_id as string;
    };
    const early = await submit();
    await service.work();
    const open = await submit();
    const home = homeOf(service, account.key);
    const url = `http://127.0.0.1:${port}/hook`;
    const args = ['--json', 'webhook', 'listen', '--forward-to', url];
    const running = home.start(args, { env: { FAREBOX_WEBHOOK_SECRET: secret } });
    await until('it follows', () => running.stderr().includes('Forwarding'));
    await service.work();
    const later = await submit();
    await service.work();
    await until('both are posted', () => got.length === 2);
    const ran = await end(running);
    const events = await Promise.all(got.map((each) => verifyWebhook({ ...each, secret })));
    assert.deepEqual(
      events.map(({ request_id, status }) => [request_id, status]),
      [
        [open, 'COMPLETED'],
        [later, 'COMPLETED'],
      ],
    );
    assert.ok(!got.some(({ body }) => body.includes('a cat') || body.includes(early)));
    assert.deepEqual(
      ran.lines.map(({ request_id, answer }) => [request_id, answer]),
      [
        [open, 204],
        [later, 500],
      ],
    );
  });

  test('of no address is refused before anything is asked', async () => {
    const home = homeOf(service, null);
    const ran = await home.run(['webhook', 'listen', '--forward-to', 'localhost:3000']);
    refused(ran, 2, /--forward-to must be an http or https address/);
  });
});
