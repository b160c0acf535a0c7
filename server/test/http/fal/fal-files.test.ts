import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { FalClient } from '@fal-ai/client';
import { fileId } from '../../../src/core/request/file-id.ts';
import { signUpload } from '../../../src/core/request/signature.ts';
import * as accounts from '../../../src/db/accounts/accounts.ts';
import * as keys from '../../../src/db/accounts/keys.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { tinyPng } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Service, type TestAccount } from '../../kit/service.ts';
import { falClient } from './fal-kit.ts';

/** Files of fal's client, which asks for an address with its key and sends the bytes without it. */

let service: Service;
let account: TestAccount;
let fal: FalClient;
before(async () => {
  service = await startService();
  account = await service.account();
  fal = falClient(service.base, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

const secret = Buffer.from('a secret of at least thirty-two characters');
const model = 'fake/image';
const picture = () => new Blob([tinyPng], { type: 'image/png' });
const png = { raw: tinyPng, headers: { 'content-type': 'image/png' } };

async function count(): Promise<number> {
  const [row] = await service.db.run<{ n: bigint }>(rawSql('select count(*) as n from files'));
  return Number(row!.n);
}

/** An address for one upload, as the client gets it. */
async function address(from: TestAccount = account) {
  const body = { content_type: 'image/png', file_name: 'a.png' };
  const path = '/fal/rest.fal.ai/storage/upload/initiate?storage_type=fal-cdn-v3';
  const reply = await service.call('POST', path, { key: from.key, body });
  assert.equal(reply.status, 200, reply.text);
  return reply.body as { upload_url: string; file_url: string };
}

describe('an upload', () => {
  for (const host of ['rest.fal.ai', 'rest.alpha.fal.ai', 'rest.shark.fal.ai'])
    test(`by ${host} is the same call, whatever storage it names`, async () => {
      const body = { content_type: 'image/png', file_name: 'a.png' };
      for (const query of ['', '?storage_type=gcs', '?storage_type=fal-cdn-v3']) {
        const path = `/fal/${host}/storage/upload/initiate${query}`;
        const asked = await service.call('POST', path, { key: account.key, body });
        assert.equal(asked.status, 200, asked.text);
        const { upload_url, file_url } = asked.body;
        const put = await fetch(upload_url, {
          method: 'PUT',
          body: new Uint8Array(tinyPng),
          headers: png.headers,
        });
        assert.equal(put.status, 201);
        const own = await service.call('GET', `/v1/files/${file_url}`, { key: account.key });
        assert.deepEqual(own.bytes, tinyPng);
      }
    });

  const refused: [method: string, path: string, says: RegExp][] = [
    [
      'POST',
      '/rest.fal.ai/storage/upload/initiate-multipart?storage_type=fal-cdn-v3',
      /not taken in parts\. Upload the file with POST \/v1\/files/,
    ],
    ['POST', '/rest.alpha.fal.ai/storage/upload/initiate-multipart', /not taken in parts/],
    ['POST', '/rest.alpha.fal.ai/storage/upload/complete-multipart', /not taken in parts/],
    [
      'POST',
      '/rest.beta.fal.ai/storage/upload/initiate',
      /POST \/fal\/rest\.fal\.ai\/storage\/upload\/initiate gives/,
    ],
    [
      'POST',
      '/rest.alpha.fal.ai/storage/auth/token?storage_type=fal-cdn-v3',
      /fal's own storage[^]*POST \/v1\/files/,
    ],
    ['POST', '/v3.fal.media/files/upload', /fal's own storage/],
    ['POST', '/rest.alpha.fal.ai/tokens/', /realtime are not supported; use subscribe/],
    ['GET', '/rest.alpha.fal.ai/billing/user_balance', /Served are/],
  ];
  for (const [method, path, says] of refused)
    test(`by ${method} ${path} is refused, and the refusal names another call`, async () => {
      const before = await count();
      const reply = await service.call(method, `/fal${path}`, {
        key: account.key,
        ...(method === 'POST' && { body: {} }),
      });
      assert.equal(reply.status, 404);
      assert.match(reply.body.error.message, says);
      const [, at = ''] = /There is nothing at (\S+)\. /.exec(reply.body.error.message)!;
      assert.equal(at, `/fal${path.split('?')[0]}`);
      assert.ok(!reply.body.error.message.slice(at.length + 20).includes(at));
      assert.doesNotMatch(reply.body.error.message, /storage\.upload up to/);
      assert.equal(await count(), before);
    });

  test('gives the id of a file that holds the very bytes, for its account alone', async () => {
    const id = await fal.storage.upload(picture());
    const own = await service.call('GET', `/v1/files/${id}`, { key: account.key });
    assert.deepEqual(own.bytes, tinyPng);
    const other = await service.account();
    assertRefused(await service.call('GET', `/v1/files/${id}`, { key: other.key }), 'not_found');
  });

  test('of files inside an input comes by itself, and the job gets them', async () => {
    const input = { prompt: 'edit', image_url: picture(), more: { mask_url: picture() } };
    const { request_id } = await fal.queue.submit(model, { input });
    await service.work();
    const { body } = await service.call('GET', `/v1/requests/${request_id}`, { key: account.key });
    assert.match(body.input.image_url, /^file_[0-9a-f]{32}$/);
    assert.match(body.input.more.mask_url, /^file_[0-9a-f]{32}$/);
    assert.notEqual(body.input.image_url, body.input.more.mask_url);
    const started = service.fake.starts.find((start) => start.request_id === request_id);
    assert.ok(started, 'the job has begun');
  });

  test('of bytes that do not match their type is refused in our words', async () => {
    const earlier = await count();
    const text = new Blob(['no picture'], { type: 'image/png' });
    await assert.rejects(fal.storage.upload(text), (error: any) => {
      assert.equal(error.status, 415);
      return error.body.error.code === 'unsupported_media_type' && /image\/png/.test(error.message);
    });
    assert.equal(await count(), earlier);
  });

  test('in parts is not offered, and says what to do', async () => {
    const large = new Blob([new Uint8Array(91 * 1024 * 1024)], { type: 'video/mp4' });
    await assert.rejects(fal.storage.upload(large), { status: 404, message: /POST \/v1\/files/ });
  });
});

describe('an address for an upload', () => {
  test('takes one file: a second one is refused and does not touch the first', async () => {
    const { upload_url, file_url } = await address();
    assert.equal((await service.call('PUT', upload_url, png)).status, 201);
    const other = { raw: Buffer.concat([tinyPng, tinyPng]), headers: png.headers };
    assertRefused(await service.call('PUT', upload_url, other), 'bad_request');
    const { bytes } = await service.call('GET', `/v1/files/${file_url}`, { key: account.key });
    assert.deepEqual(bytes, tinyPng);
  });

  test('takes one file also when two come at once', async () => {
    const { upload_url, file_url } = await address();
    const replies = await Promise.all([1, 2, 3].map(() => service.call('PUT', upload_url, png)));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 400, 400]);
    const { bytes } = await service.call('GET', `/v1/files/${file_url}`, { key: account.key });
    assert.deepEqual(bytes, tinyPng);
  });

  const spoilt: [string, (url: URL) => void][] = [
    ['another file', (url) => (url.pathname = `/fal/uploads/${fileId(randomUUID())}`)],
    ['another key', (url) => url.searchParams.set('key_id', randomUUID())],
    ['a later end', (url) => url.searchParams.set('exp', '4102444800')],
    ['no signature', (url) => url.searchParams.delete('sig')],
    ['no key', (url) => url.searchParams.delete('key_id')],
    ['a key that is none', (url) => url.searchParams.set('key_id', 'x')],
  ];
  for (const [name, spoil] of spoilt) {
    test(`is not valid with ${name} in it`, async () => {
      const earlier = await count();
      const url = new URL((await address()).upload_url);
      spoil(url);
      assertRefused(await service.call('PUT', String(url), png), 'unauthorized');
      assert.equal(await count(), earlier);
    });
  }

  test('is valid for ten minutes', async () => {
    const id = randomUUID();
    const now = Math.floor(Date.now() / 1000);
    const at = (exp: number) => {
      const query = signUpload(secret, { id, key_id: account.key_id, exp });
      return service.call('PUT', `/fal/uploads/${fileId(id)}?${query}`, png);
    };
    const exp = Number(new URL((await address()).upload_url).searchParams.get('exp'));
    assert.ok(exp - now >= 600 && exp - now <= 605, `${exp - now} seconds`);
    assertRefused(await at(now - 1), 'unauthorized');
    assert.equal((await at(now + 5)).status, 201);
  });

  const losses: [string, (lost: TestAccount) => Promise<unknown>][] = [
    ['the key is revoked', ({ key_id }) => keys.revoke(service.db, key_id)],
    [
      'the account is suspended',
      ({ account_id }) => accounts.setStatus(service.db, account_id, 'suspended'),
    ],
  ];
  for (const [name, lose] of losses) {
    test(`is no longer valid once ${name}`, async () => {
      const lost = await service.account();
      const { upload_url } = await address(lost);
      await lose(lost);
      const earlier = await count();
      assertRefused(await service.call('PUT', upload_url, png), 'unauthorized');
      assert.equal(await count(), earlier);
    });
  }
});
