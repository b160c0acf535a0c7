/** Visitors without key or session cannot crowd out customers. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { tinyPng } from '../../kit/fake.ts';
import {
  newAddress,
  originOf,
  password,
  person,
  startWebService,
  stranger,
  type Answer,
} from '../../kit/web.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';

/** Open calls of a process: strangers may have 2 of them, and each of their networks 1. */
const most = 16;
const open = ['/api/auth/sign-out', '/api/auth/sign-in/email', '/api/sign-up', '/api/invitation'];

let service: Service;
let account: TestAccount;
before(async () => {
  const env = { FAREBOX_IN_FLIGHT_MAX: String(most) };
  service = await startWebService({ env, times: { strangerBodyMs: 3_600_000 } });
  account = await service.account();
});
after(() => service.stop());

/** Sends the head of a call, but not its body. */
function hold(base: string, path: string, address: string, origin: string): Socket {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\norigin: ${origin}\r\nx-forwarded-for: ${address}\r\n` +
      'content-type: application/json\r\ncontent-length: 5000\r\n\r\n',
  );
  return socket;
}

const refused = async ({ app }: Service) =>
  (await app.metrics.overload.get()).values.find(({ labels }) => labels.reason === 'strangers')
    ?.value ?? 0;

describe('strangers whose bodies do not arrive', () => {
  test('block no caller with a key or a session, and no strangers of other networks', async () => {
    const { account_id, key } = account;
    const ada = await person(service, { [account_id]: 'owner' });
    const address = newAddress();
    const origin = originOf(service);
    const sockets = Array.from({ length: 2 * most }, (_, i) =>
      hold(service.base, open[i % open.length]!, address, origin),
    );
    try {
      await until('all but one are refused', async () => (await refused(service)) >= 2 * most - 1);
      const keyed = await service.call('GET', '/v1/requests', { key });
      assert.equal(keyed.status, 200);
      assert.equal((await ada.of(account_id).call('GET', '/balance')).status, 200);
      assert.equal((await ada.signIn()).status, 200);
      const same = { 'x-forwarded-for': address };
      const { email } = ada;
      const more = await stranger(service).call(
        'POST',
        '/api/auth/sign-in/email',
        { email, password },
        same,
      );
      assert.deepEqual([more.status, more.body.error.code], [503, 'capacity_unavailable']);
      for (const socket of sockets) socket.destroy();
      await until('their slot is free again', async () => {
        const { status } = await stranger(service).call('POST', open[3]!, { token: 'x' }, same);
        return status === 404;
      });
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test('are cut off sooner than callers with a key', async () => {
    const times = { strangerBodyMs: 50, lingerMs: 50, bodyMs: 3_600_000 };
    const strict = await startWebService({ times });
    try {
      for (const path of open) {
        const socket = hold(strict.base, path, newAddress(), originOf(strict));
        let text = '';
        socket.on('data', (chunk) => (text += chunk.toString()));
        await new Promise((resolve) => socket.once('close', resolve));
        assert.match(text, /^HTTP\/1\.1 400 [^]*too slowly/, path);
      }
    } finally {
      await strict.stop();
    }
  });
});

describe('a crowd of sign-ups, whose passwords are hashed,', () => {
  let roomy: Service;
  let quiet: TestAccount;
  before(async () => {
    roomy = await startWebService();
    quiet = await roomy.account();
  });
  after(() => roomy.stop());

  const signUp = (address: string) => {
    const body = { name: 'Eve', email: `${newId()}@example.com`, password };
    return stranger(roomy).call('POST', '/api/sign-up', body, { 'x-forwarded-for': address });
  };
  /** Sign-ups from these addresses, of which the first was answered. */
  async function crowd(addresses: string[]) {
    const come = { answered: 0, all: Promise.resolve<Answer[]>([]) };
    come.all = Promise.all(
      addresses.map((address) => signUp(address).finally(() => (come.answered += 1))),
    );
    await until('the first is answered', () => come.answered > 0);
    return come;
  }

  test("of as many networks does not hold up a customer's file", async () => {
    const { key } = quiet;
    const headers = { 'content-type': 'image/png' };
    const { body } = await roomy.call('POST', '/v1/files', { key, raw: tinyPng, headers });
    const come = await crowd(Array.from({ length: 30 }, newAddress));
    const file = await roomy.call('GET', `/v1/files/${body.file_id}`, { key });
    assert.equal(file.status, 200);
    assert.ok(come.answered < 15, `the file came after ${come.answered} sign-ups`);
    for (const { status } of await come.all) assert.equal(status, 200);
  });

  test('of one network is not served before a later one of another network', async () => {
    const address = newAddress();
    const come = await crowd(Array.from({ length: 10 }, () => address));
    const honest = await signUp(newAddress());
    assert.equal(honest.status, 200);
    assert.ok(come.answered < 6, `it was served after ${come.answered} others`);
    for (const { status } of await come.all) assert.equal(status, 200);
  });
});
