import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { sign } from '../../src/core/request/signature.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { accept, images, tinyPng } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { card, rounds, submitted, wake } from './floor.ts';

/** An output as the next input: its signed link works like a file, also on the smallest host. */

const secret = Buffer.from('a secret of at least thirty-two characters');
let link: string;
let made: string;
let got: { bytes: Buffer; type: string } | null;
const { service, account } = withService();
beforeEach(async () => {
  service.fake.behave = { poll: () => ({ state: 'done', result: images(1) }) };
  made = await submitted(account);
  await rounds(service, 2);
  [link] = (await card(account, made)).output_urls as [string];
  got = null;
  service.fake.behave.start = async (job, self) => {
    for (const file of Object.values(job.files)) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of await file.open()) chunks.push(chunk);
      got = { bytes: Buffer.concat(chunks), type: file.content_type };
    }
    return accept(self, job);
  };
});

const submitWith = (image_url: string) =>
  account.post('/v1/queue/fake/image', { prompt: 'again', image_url });

test('an upstream gets the bytes of an output that the input names by its signed link', async () => {
  const reply = await submitWith(link);
  assert.equal(reply.status, 202, reply.text);
  await service.work();
  assert.deepEqual(got, { bytes: tinyPng, type: 'image/png' });
  await wake(service, reply.body.request_id);
  await service.work();
  assert.equal((await card(account, reply.body.request_id)).status, 'COMPLETED');
});

describe('an invalid link is refused at submit, and leaves nothing', () => {
  const exp = Math.floor(Date.now() / 1000);
  const wrong: [string, () => string][] = [
    ['without a signature', () => link.split('?')[0]!],
    ['changed', () => link.replace(/exp=(\d)/, (_all, digit) => `exp=${(Number(digit) + 1) % 10}`)],
    [
      'over',
      () => `${link.split('?')[0]}?${sign(secret, { request_id: made, index: 0, exp: exp - 60 })}`,
    ],
    ['of another output', () => link.replace('/output/0', '/output/1')],
  ];
  for (const [what, url] of wrong) {
    test(what, async () => {
      const before = await traces(service);
      const error = assertRefused(await submitWith(url()), 'invalid_input');
      assert.equal(error.param, 'image_url');
      assert.deepEqual(await traces(service), before);
    });
  }
});

test('an output that is deleted before the start fails the request, free of charge', async () => {
  const { body } = await submitWith(link);
  await service.db.run(sql`
    update requests set expires_at = now() - interval '1 s', wake_at = now() - interval '1 s'
      where id = ${made}`);
  service.fake.concurrency = 0;
  await service.work();
  service.fake.concurrency = 1_000;
  await service.work();
  const { status, error, charged_usd_micro } = await card(account, body.request_id);
  assert.deepEqual([status, error.code, charged_usd_micro], ['FAILED', 'upstream_rejected', '0']);
  assert.equal(got, null);
});
