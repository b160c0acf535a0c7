import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { placeBefore, standIns } from '../../server/test/commands/upstream-kit.ts';
import { assertWrong, imported, passes } from './import-kit.ts';
import { inLong } from '../../server/test/kit/long.ts';

test('openrouter: chat rows with exact prices, and what has none is named with its reason', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  // OpenRouter's list needs no key.
  const ran = await imported(place, ['openrouter'], { OPENROUTER_API_KEY: '' });
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stderr, 'models: 4, left out: 4\n');
  const file = parse(ran.stdout);
  assert.equal(file.upstream, 'openrouter');
  assert.deepEqual(
    file.models.map((row: any) => [row.id, row.price.input_usd, row.price.output_usd]),
    [
      ['openrouter/maker/plain', '0.180001', '0.72'],
      ['openrouter/maker/plain-free', '0', '0'],
      ['openrouter/maker/thinker', '1.5', '14.4'],
      ['openrouter/other/by-the-hour', '3.6', '2.4'],
    ],
  );
  const [plain, free, thinker] = file.models;
  assert.deepEqual([plain.cost_input_usd, plain.max_output_tokens], ['0.150001', 16_384]);
  assert.equal(free.upstream_model, 'maker/plain:free');
  // From 200,000 tokens on, a prompt costs more there.
  assert.deepEqual([thinker.context_tokens, thinker.refuse_longer_prompts], [199_999, true]);
  assert.equal('refuse_longer_prompts' in plain, false);
  assert.match(ran.stdout, /^# {3}other\/per-call: each call has a price in addition/m);
  assert.match(ran.stdout, /^# {3}router\/auto: its price is not listed/m);
  assert.match(ran.stdout, /^ {2}# Cost: OpenRouter's list of models, \d{4}-\d\d-\d\d\.$/m);
  await passes(place, ran.stdout);
  assert.deepEqual(fakes.router.journal, []);
});

inLong('fal: prices, schemas in our names, and the way back to theirs', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const ran = await imported(place, ['fal', '--margin', '12.5']);
  assert.equal(ran.code, 0, ran.stderr);
  const [image, film] = parse(ran.stdout).models;
  assert.deepEqual(image.price, { unit: 'image', usd: '0.028125' });
  assert.equal(image.cost_usd, '0.025');
  assert.deepEqual(Object.keys(image.input_schema.properties).slice(0, 3), [
    'prompt',
    'image_size',
    'num_images',
  ]);
  assert.deepEqual(film.price, { unit: 'sec', usd: '0.05625' });
  assert.deepEqual(film.input_mapping, { duration_seconds: 'duration:{}s' });
  assert.deepEqual(film.input_schema.required, ['prompt', 'image_url', 'duration_seconds']);
  assert.match(ran.stdout, /^# {3}fal-ai\/euro: no price in US dollars is listed/m);
  assert.match(ran.stdout, /^ {2}# Left to the model's defaults: .*generate_audio/m);
  await passes(place, ran.stdout);
  assert.deepEqual(fakes.fal.journal, []);
  assert.ok(!ran.stdout.includes(fakes.fal.key));
});

inLong('a wrong call is said in words, exit 2', async (t) => {
  const place = placeBefore(t, await standIns(t));
  await assertWrong(place, [
    ['openai', /Name a vendor to import from: openrouter, fal, replicate\./],
    ['fal', /the upstream "fal" is not set up: it needs FAL_KEY\./, { FAL_KEY: '' }],
  ]);
});
