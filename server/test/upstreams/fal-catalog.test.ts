import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import {
  upstreamFields,
  upstreamInput,
  validateInput,
} from '../../src/core/catalog/model-input.ts';
import { price } from '../../src/core/price/price.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { open, started } from './fal-kit.ts';

const text = await readFile(new URL('../../../catalog/fal.yaml', import.meta.url), 'utf8');
const { rows, problems } = parseCatalogText(text, 'fal.yaml');

/** The body that reaches fal for a caller's input. */
async function sent(t: Parameters<typeof open>[0], id: string, more: Record<string, unknown> = {}) {
  const row = rows.find((each) => each.id === id)!;
  const [route] = row.upstreams as [(typeof row.upstreams)[0]];
  const input = { ...(row.example as Record<string, unknown>), ...more };
  assert.equal(validateInput(row, input), null);
  const full = upstreamInput(row, route, input, price(row, input).assumptions);
  const { fake, fal } = await open(t);
  await started(fal, { model: route.model, fields: upstreamFields(row, route) }, full);
  return fake.journal[0]!;
}

describe("fal's catalog", () => {
  test('has no problem, and enough of each sort', () => {
    assert.deepEqual(problems, []);
    assert.ok(rows.length >= 18);
    const tasks = new Set<string>(rows.map(({ task }) => task));
    for (const task of ['edit', 'upscale', 'image-to-video', 'lip-sync', 'video-to-audio'])
      assert.ok(tasks.has(task), task);
  });

  for (const { id } of rows) {
    test(`${id}: its example is sent in fal's own names`, async (t) => {
      const { model, input } = await sent(t, id);
      assert.equal(model, id);
      assert.ok(!('duration_seconds' in input));
      for (const name of Object.keys(input)) assert.match(name, /^[a-z_]+$/);
    });
  }

  const forms: [string, Record<string, unknown>, expected: Record<string, unknown>][] = [
    ['fal-ai/veo3.1', { duration_seconds: 8 }, { duration: '8s', generate_audio: true }],
    ['fal-ai/wan-25-preview/text-to-video', {}, { duration: '5', resolution: '480p' }],
    ['fal-ai/mmaudio-v2', {}, { duration: 8 }],
    ['fal-ai/nano-banana-2', {}, { resolution: '1K', enable_web_search: false }],
    ['fal-ai/bytedance/omnihuman', {}, { image_url: 'https://example.com/portrait.jpg' }],
  ];
  for (const [id, more, expected] of forms) {
    test(`${id} gets ${JSON.stringify(expected)}`, async (t) => {
      assert.partialDeepStrictEqual((await sent(t, id, more)).input, expected);
    });
  }

  test('no row is sold below what it costs', () => {
    for (const row of rows) {
      const [{ cost_usd_micro }] = row.upstreams as [(typeof row.upstreams)[0]];
      const dearest = { ...(row.example as Record<string, unknown>) };
      delete dearest.resolution;
      delete dearest.generate_audio;
      const { unit_price_usd_micro } = price(row, dearest);
      assert.ok(unit_price_usd_micro * 10n >= cost_usd_micro! * 12n, row.id);
    }
  });
});
