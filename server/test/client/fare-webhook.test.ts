/** `fare webhook listen` shows what comes, and believes what is signed. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createServer, type AddressInfo } from 'node:net';
import { startService, type Service } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { homeOf, refused, type Running } from './fare-kit.ts';

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

async function listening(args: string[], env: Record<string, string> = {}) {
  const port = await freePort();
  const home = homeOf(service, null);
  const running = home.start(['webhook', 'listen', '-p', String(port), ...args], { env });
  await until('it listens', () => running.stderr().includes('Listening'), 10_000);
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

async function end(running: Running) {
  running.child.kill('SIGINT');
  const ran = await running.ended;
  assert.equal(ran.code, 0, ran.all);
  return ran;
}

describe('fare webhook listen', () => {
  test('tells the service from others, and answers so', async () => {
    const { running, send } = await listening([], { FAREBOX_WEBHOOK_SECRET: secret });
    const body = JSON.stringify(event);
    assert.equal((await send(body, signed(body))).status, 204);
    assert.equal((await send(body, signed(`${body} `))).status, 400);
    assert.equal((await send(body)).status, 400);
    const { stdout } = await end(running);
    const [good, forged] = stdout.split('\n');
    assert.equal(good, `verified  COMPLETED ${event.request_id} fake/[31mimage $0.01`);
    assert.match(forged!, /^FORGED/);
    assert.ok(!stdout.includes('\u001B'));
  });

  test('with --json: a value for each; without a secret nothing is called verified', async () => {
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

  test('a port that is taken: said', async () => {
    const { running, port, home } = await listening([]);
    refused(
      await home.run(['webhook', 'listen', '-p', String(port)]),
      2,
      /cannot be used[^]*--port/,
    );
    await end(running);
  });
});
