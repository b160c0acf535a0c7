import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { nowhere } from '../upstreams/fakes/kit.ts';
import { assertSaid, type Place } from './cli.ts';
import { imageRow, placeBefore, standIns } from './upstream-kit.ts';

/** The folder with this text in it as well passes the check. */
async function passes(place: Place, yaml: string, name = 'imported.yaml'): Promise<void> {
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, name), yaml);
  const ran = await place.run(['catalog', 'check']);
  assert.equal(ran.code, 0, ran.stdout);
}

test('openrouter: chat rows with exact prices, and what has none is named with its reason', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  // Its list needs no key.
  const ran = await place.run(['catalog', 'import', 'openrouter'], { OPENROUTER_API_KEY: '' });
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stderr, '4 models, 4 left out.\n');
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
  // From 200,000 tokens on a prompt costs more there.
  assert.equal(thinker.context_tokens, 199_999);
  assert.match(ran.stdout, /^# {3}other\/per-call: each call of it costs extra/m);
  assert.match(ran.stdout, /^# {3}router\/auto: its price is not told/m);
  assert.match(ran.stdout, /^ {2}# Cost: OpenRouter's list of models, \d{4}-\d\d-\d\d\.$/m);
  await passes(place, ran.stdout);
  assert.deepEqual(fakes.router.journal, []);
});

test('fal: prices, schemas in our names, and the way back to theirs', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const ran = await place.run(['catalog', 'import', 'fal', '--margin', '12.5']);
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
  assert.match(ran.stdout, /^# {3}fal-ai\/euro: no price in US dollars/m);
  assert.match(ran.stdout, /^ {2}# Left to the model's defaults: .*generate_audio/m);
  await passes(place, ran.stdout);
  assert.deepEqual(fakes.fal.journal, []);
  assert.ok(!ran.stdout.includes(fakes.fal.key));
});

test('replicate: a row waits as a comment for its price, or takes the given one', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const call = ['catalog', 'import', 'replicate'];
  assertSaid(
    await place.run(call),
    /Replicate tells no prices, so say which models you want: --only/,
  );
  const only = ['--only', 'maker/films', '--only', 'maker/writer', '--only', 'maker/nothing'];
  const waiting = await place.run([...call, ...only]);
  assert.equal(waiting.stderr, '0 models, 1 wait for a price, 2 left out.\n');
  assert.deepEqual(parse(waiting.stdout).models, []);
  assert.match(waiting.stdout, /^# {6}usd: PRICE$/m);
  assert.match(waiting.stdout, /^# {3}maker\/nothing: Replicate has no such model/m);
  await passes(place, waiting.stdout);
  // Its reader puts a price in, and takes the # away.
  const mended = waiting.stdout
    .replace('models: []', 'models:')
    .replace('usd: PRICE', 'usd: "0.07"')
    .replace(/^# Left out[^]*/m, '')
    .replaceAll(/^#(?= {2})/gm, '');
  const given = await place.run([...call, '--only', 'maker/films', '--price', '0.07']);
  const [row] = parse(given.stdout).models;
  assert.deepEqual(row.price, { unit: 'sec', usd: '0.07' });
  assert.equal(row.cost_usd, undefined);
  assert.deepEqual(row.input_mapping, {
    image_url: 'image',
    duration_seconds: 'duration',
    reference_image_urls: 'reference_images',
  });
  assert.deepEqual(parse(mended).models, [row]);
  await passes(place, given.stdout);
});

test('--only names models, or parts of names; what none is called is said', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const ran = await place.run(
    'catalog import openrouter --only maker/plain* --only no/such --json'.split(' '),
  );
  assert.deepEqual(ran.json.models, ['openrouter/maker/plain', 'openrouter/maker/plain-free']);
  const reason = 'no model of this name is offered';
  assert.deepEqual(ran.json.left_out, [{ model: 'no/such', reason }]);
  assert.deepEqual(parse(ran.json.yaml).models.length, 2);
  const none = await place.run('catalog import fal --only fal-ai/none --json'.split(' '));
  assert.deepEqual([none.code, none.json.ok, none.json.models], [1, false, []]);
});

test('--out writes a file that stands alone, and replaces none without --force', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const folder = place.env.FAREBOX_CATALOG!;
  fs.rmSync(path.join(folder, 'fal.yaml'));
  const file = path.join(folder, 'mine.yaml');
  fs.writeFileSync(file, 'x');
  const call = ['catalog', 'import', 'replicate', '--only', 'maker/pictures', '--price', '1'];
  const refused = await place.run([...call, '--out', file]);
  assertSaid(refused, /mine\.yaml is there already; --force replaces it/);
  assert.equal(fs.readFileSync(file, 'utf8'), 'x');
  fs.rmSync(path.join(folder, 'replicate.yaml'));
  // Where no file defines it, the file brings the definition, and the address comes from outside.
  const env = { REPLICATE_URL: fakes.replicate.url };
  const ran = await place.run([...call, '--out', file, '--force', '--json'], env);
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual([ran.json.file, ran.json.models], [file, ['maker/pictures']]);
  const written = parse(fs.readFileSync(file, 'utf8'));
  assert.deepEqual([written.upstream.name, written.upstream.adapter], ['replicate', 'replicate']);
  assert.deepEqual(fs.readdirSync(folder).sort(), ['mine.yaml', 'openrouter.yaml', 'test.yaml']);
  const check = await place.run(['catalog', 'check'], env);
  assert.equal(check.code, 0, check.stdout);
  // Once more: its own rows and its definition are no hindrance.
  const again = await place.run([...call, '--out', file, '--force'], env);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(again.stdout, `${file}: 1 model, 0 left out.\n`);
  assert.equal(parse(fs.readFileSync(file, 'utf8')).upstream.name, 'replicate');
});

test('an id that a row of the folder has is left out', async (t) => {
  const rows = { fal: imageRow('fal-ai/flux/dev', 'fal-ai/flux/dev') };
  const place = placeBefore(t, await standIns(t), rows);
  const ran = await place.run(['catalog', 'import', 'fal', '--json']);
  assert.deepEqual(ran.json.models, ['fal-ai/test-video']);
  const reason = 'fal.yaml has a row with the id fal-ai/flux/dev';
  assert.deepEqual(ran.json.left_out[1], { model: 'fal-ai/flux/dev', reason });
});

test('what cannot be done is said in words, exit 2', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const wrong: [args: string, says: RegExp, env?: Record<string, string>][] = [
    ['openai', /no import from "openai"; there is openrouter, fal, replicate\./],
    ['fal --margin lots', /"lots" is no margin in percent, such as 20 or 12\.5\./],
    ['fal --margin=-5', /is no margin/],
    ['fal --price 1', /--price is for an upstream that tells no prices; fal tells them\./],
    ['replicate --only a/b --price cheap', /"cheap" is no amount in USD/],
    ['fal', /the upstream "fal" is not set up: it needs FAL_KEY\./, { FAL_KEY: '' }],
    ['fal', /fal could not be read: its list of models: No user found/, { FAL_KEY: 'no:such-key' }],
  ];
  for (const [args, says, env] of wrong) {
    const words = ['catalog', 'import', ...args.split(' ')];
    assertSaid(await place.run(words, env), says);
  }
  const away = placeBefore(t, { ...fakes, router: { ...fakes.router, url: nowhere } });
  assertSaid(await away.run(['catalog', 'import', 'openrouter']), /openrouter could not be read: /);
  assert.equal(fs.existsSync(away.dir), false, 'a data folder was made');
  assert.equal(fs.existsSync(place.dir), false, 'a data folder was made');
});
