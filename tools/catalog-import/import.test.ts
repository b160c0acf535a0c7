import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { assertSaid, ranOf, type Place } from '../../server/test/commands/cli.ts';
import { imageRow, placeBefore, standIns } from '../../server/test/commands/upstream-kit.ts';
import { nowhere } from '../../server/test/upstreams/fakes/kit.ts';

const tool = path.join(import.meta.dirname, 'main.ts');

function imported({ env }: Place, args: string[], own: Record<string, string> = {}) {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  return ranOf(spawn(process.execPath, [tool, ...args], { env: { ...env, ...own }, stdio }));
}

/** The folder passes the check with this text added. */
async function passes(place: Place, yaml: string, name = 'imported.yaml'): Promise<void> {
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, name), yaml);
  const ran = await place.run(['catalog', 'check']);
  assert.equal(ran.code, 0, ran.stdout);
}

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

test('fal: prices, schemas in our names, and the way back to theirs', async (t) => {
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

test('replicate: a row waits as a comment for its price, or takes the given one', async (t) => {
  const place = placeBefore(t, await standIns(t));
  assertSaid(
    await imported(place, ['replicate']),
    /Replicate lists no prices, so say which models you want: --only/,
  );
  const only = ['--only', 'maker/films', '--only', 'maker/writer', '--only', 'maker/nothing'];
  const waiting = await imported(place, ['replicate', ...only]);
  assert.equal(waiting.stderr, 'models: 0, 1 without a price, left out: 2\n');
  assert.deepEqual(parse(waiting.stdout).models, []);
  assert.match(waiting.stdout, /^# {6}usd: PRICE$/m);
  assert.match(waiting.stdout, /^# {3}maker\/nothing: Replicate has no such model/m);
  await passes(place, waiting.stdout);
  // The operator fills in a price and removes the #.
  const mended = waiting.stdout
    .replace('models: []', 'models:')
    .replace('usd: PRICE', 'usd: "0.07"')
    .replace(/^# Left out[^]*/m, '')
    .replaceAll(/^#(?= {2})/gm, '');
  const call = ['replicate', '--only', 'maker/films', '--price', '0.07'];
  const given = await imported(place, call);
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

test('--only names models, or parts of names; a name that no model has is listed', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const call = 'openrouter --only maker/plain* --only no/such';
  const { stdout } = await imported(place, call.split(' '));
  assert.deepEqual(
    parse(stdout).models.map((row: any) => row.id),
    ['openrouter/maker/plain', 'openrouter/maker/plain-free'],
  );
  assert.match(stdout, /^# {3}no\/such: no model of this name is offered$/m);
  assert.doesNotMatch(stdout, /maker\/plain.*: no model/);
  const none = await imported(place, ['fal', '--only', 'fal-ai/none']);
  assert.deepEqual([none.code, parse(none.stdout).models], [1, []]);
});

test('where no file of the folder defines the upstream, the printed one does', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const folder = place.env.FAREBOX_CATALOG!;
  fs.rmSync(path.join(folder, 'replicate.yaml'));
  // A shell creates the target of `>` before the tool reads the folder.
  fs.writeFileSync(path.join(folder, 'mine.yaml'), '');
  const env = { REPLICATE_URL: fakes.replicate.url };
  const call = ['replicate', '--only', 'maker/pictures', '--price', '1'];
  const ran = await imported(place, call, env);
  assert.equal(ran.code, 0, ran.stderr);
  const { upstream, models } = parse(ran.stdout);
  assert.deepEqual([upstream.name, upstream.adapter], ['replicate', 'replicate']);
  assert.deepEqual([models.length, models[0].id], [1, 'maker/pictures']);
  fs.writeFileSync(path.join(folder, 'mine.yaml'), ran.stdout);
  const check = await place.run(['catalog', 'check'], env);
  assert.equal(check.code, 0, check.stdout);
});

test('an id that a row of the folder has is left out', async (t) => {
  const rows = { fal: imageRow('fal-ai/flux/dev', 'fal-ai/flux/dev') };
  const place = placeBefore(t, await standIns(t), rows);
  const { stdout } = await imported(place, ['fal']);
  assert.deepEqual(
    parse(stdout).models.map((row: any) => row.id),
    ['fal-ai/test-video'],
  );
  assert.match(
    stdout,
    /^# {3}fal-ai\/flux\/dev: fal\.yaml has a row with the id fal-ai\/flux\/dev$/m,
  );
});

test('a wrong call and an unreadable vendor are said in words, exit 2', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const wrong: [args: string, says: RegExp, env?: Record<string, string>][] = [
    ['openai', /Name a vendor to import from: openrouter, fal, replicate\./],
    ['fal --margin lots', /"lots" is not a margin in percent, such as 20 or 12\.5\./],
    ['fal --margin=-5', /is not a margin/],
    ['fal --price 1', /--price is for a vendor that lists no prices; fal lists them\./],
    ['replicate --only a/b --price cheap', /"cheap" is not an amount in USD/],
    ['fal', /the upstream "fal" is not set up: it needs FAL_KEY\./, { FAL_KEY: '' }],
    ['fal', /fal could not be read: \/v1\/models was answered 401/, { FAL_KEY: 'no:such-key' }],
  ];
  for (const [args, says, env] of wrong)
    assertSaid(await imported(place, args.split(' '), env), says);
  const away = placeBefore(t, { ...fakes, router: { ...fakes.router, url: nowhere } });
  assertSaid(await imported(away, ['openrouter']), /openrouter could not be read: /);
});
