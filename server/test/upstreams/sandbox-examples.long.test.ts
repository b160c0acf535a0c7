import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { before, withService } from '../kit/with-service.ts';
import { openSandbox, type OpenedSandbox } from './sandbox-kit.ts';

/**
 * Every example of the sandbox's catalog, without any network. Videos are one second long.
 */

const catalog = await readFile(new URL('../../../catalog/sandbox.yaml', import.meta.url), 'utf8');
const { rows } = parseCatalogText(catalog, 'sandbox.yaml');

let opened: OpenedSandbox;
const submitted = new Map<string, string>();

const { service, account } = withService(async (use) => {
  const download = () => Promise.reject(new Error('there is no network'));
  opened = use(await openSandbox({ download }));
  return { catalog, upstreams: [opened.sandbox], running: true };
});
before(async () => {
  const models = await service.call('GET', '/v1/models');
  const made = new Set(rows.filter(({ kind }) => kind !== 'text').map(({ id }) => id));
  for (const model of models.body.data.filter(({ id }: { id: string }) => made.has(id))) {
    const path = `/v1/queue/${model.id}`;
    const isVideo = 'duration_seconds' in model.input_schema.properties;
    const body = { ...model.example, ...(isVideo && { duration_seconds: 1 }) };
    const reply = await account.post(path, body);
    assert.equal(reply.status, 202, `${model.id}: ${reply.text}`);
    submitted.set(model.id, reply.body.request_id);
  }
});

async function get(path: string) {
  return (await account.get(`/v1/requests/${path}`)).body;
}

async function finished(id: string): Promise<any> {
  const request = submitted.get(id)!;
  for (;;) {
    const { status } = await get(`${request}/status?wait=60`);
    if (status !== 'IN_QUEUE' && status !== 'IN_PROGRESS') return get(request);
  }
}

describe('the example', () => {
  for (const { id, kind, task, example } of rows) {
    test(`of ${id} works`, async () => {
      if (kind === 'text') {
        const body = { model: id, ...example };
        const reply = await account.post('/v1/chat/completions', body);
        assert.ok(reply.body.choices[0].message.content.length > 0);
        return;
      }
      const card = await finished(id);
      assert.equal(card.status, 'COMPLETED', JSON.stringify(card.error));
      const output = await get(`${card.request_id}/response`);
      if (task === 'video-analyze') assert.ok(output.text.length > 0);
      else assert.ok(card.output_urls.length > 0);
      assert.ok(JSON.stringify(example).length < 200, 'short enough to be read');
    });
  }
});

describe('what an example costs', () => {
  test('is the sum on its card', async () => {
    for (const { id } of rows.filter(({ kind }) => kind !== 'text')) {
      const { price, charged_usd_micro, quoted_usd_micro } = await finished(id);
      const sum = Math.ceil(Number(price.unit_price_usd_micro) * price.quantity - 1e-6);
      assert.equal(charged_usd_micro, String(Math.min(sum, Number(quoted_usd_micro))), id);
    }
  });

  test('of an extended video is for the added seconds', async () => {
    const card = await finished('sandbox/film/video-extend');
    assert.deepEqual([card.price.quantity, card.charged_usd_micro], [1, '50000']);
    const { video } = await get(`${card.request_id}/response`);
    assert.ok(Math.abs(video.duration - 5) < 0.05, `${video.duration} s`);
  });

  test('of a part of audio is for the requested length, which was delivered', async () => {
    const id = 'sandbox/film/video-to-audio';
    for (const [duration_seconds, price] of [
      [0.5, '2000'],
      [2, '8000'],
    ] as const) {
      const body = { video_url: 'sandbox:film', duration_seconds };
      const reply = await account.post(`/v1/queue/${id}`, body);
      submitted.set('a part', reply.body.request_id);
      const card = await finished('a part');
      assert.deepEqual([card.quoted_usd_micro, card.charged_usd_micro], [price, price]);
      const { audio } = await get(`${card.request_id}/response`);
      assert.ok(audio.duration >= duration_seconds, `${audio.duration} s`);
      assert.ok(audio.duration < duration_seconds + 0.2, `${audio.duration} s`);
    }
  });
});
