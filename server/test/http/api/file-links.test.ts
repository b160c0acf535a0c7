import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseFileId } from '../../../src/core/request/file-id.ts';
import { signFile } from '../../../src/core/request/signature.ts';
import { accept, tinyPng } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { before, withService } from '../../kit/with-service.ts';
import { submitted } from '../../worker/floor.ts';

/** An uploaded file is sent to its own account, and to upstreams by a link that expires. */

const secret = Buffer.from('a secret of at least thirty-two characters');
const soon = () => Math.floor(Date.now() / 1000) + 60;
let file: string;
const { service, account: owner } = withService({
  env: { FAREBOX_BASE_URL: 'https://box.example.com/v1' },
});
before(async () => void (file = await upload()));

async function upload(): Promise<string> {
  const call = { key: owner.key, raw: tinyPng, headers: { 'content-type': 'image/png' } };
  return (await service.call('POST', '/v1/files', call)).body.file_id;
}
const get = (query: string, headers = {}, method = 'GET') =>
  service.call(method, `/v1/files/${file}${query}`, { headers });
const link = (id: string, exp: number, by = secret) =>
  `?${signFile(by, { id: parseFileId(id)!, exp })}`;

test('an account gets its file unchanged, whole or in part', async () => {
  const own = { authorization: `Key ${owner.key}` };
  const whole = await get('', own);
  assert.deepEqual([whole.status, whole.headers.get('content-type')], [200, 'image/png']);
  assert.deepEqual(whole.bytes, tinyPng);
  const part = await get('', { ...own, range: 'bytes=0-7' });
  assert.deepEqual([part.status, part.bytes], [206, tinyPng.subarray(0, 8)]);
  const head = await get('', own, 'HEAD');
  assert.equal(head.headers.get('content-length'), String(tinyPng.length));
  const same = await get('', { ...own, 'if-none-match': whole.headers.get('etag')! });
  assert.equal(same.status, 304);
});

describe('a signed link', () => {
  test('opens its file without a key, until its time is over', async () => {
    assert.deepEqual((await get(link(file, soon()))).bytes, tinyPng);
    assertRefused(await get(link(file, soon() - 61)), 'expired');
  });

  test('opens no other file, and none that somebody else signed', async () => {
    const other = await upload();
    assertRefused(await get(link(other, soon())), 'unauthorized');
    assertRefused(await get(link(file, soon(), Buffer.alloc(32))), 'unauthorized');
    const later = link(file, soon()).replace(/exp=(\d+)/, (_all, exp) => `exp=${Number(exp) + 1}`);
    assertRefused(await get(later), 'unauthorized');
  });

  test('is sent to upstreams that can reach us, and to no others', async () => {
    let given: string | null | undefined;
    service.fake.behave.start = (job, self) => {
      given = job.files[file]?.link;
      return accept(self, job);
    };
    await submitted(owner, { prompt: 'x', image_url: file });
    await service.work();
    const url = new URL(given!);
    assert.equal(url.origin + url.pathname, `https://box.example.com/v1/files/${file}`);
    assert.deepEqual((await get(url.search)).bytes, tinyPng);
  });
});

test('what is no file id is not found, with whatever signature', async () => {
  for (const id of ['file_', 'x', `${file}0`, file.toUpperCase()]) {
    const own = { key: owner.key };
    assertRefused(await service.call('GET', `/v1/files/${id}`, own), 'not_found');
  }
});
