import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { assertSaid } from '../../server/test/commands/cli.ts';
import { imageRow, placeBefore, standIns } from '../../server/test/commands/upstream-kit.ts';
import { nowhere } from '../../server/test/upstreams/fakes/kit.ts';
import { assertWrong, imported, passes } from './import-kit.ts';

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

test('more wrong calls and an unreadable vendor are said in words, exit 2', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  await assertWrong(place, [
    ['fal --margin lots', /"lots" is not a margin in percent, such as 20 or 12\.5\./],
    ['fal --margin=-5', /is not a margin/],
    ['fal --price 1', /--price is for a vendor that lists no prices; fal lists them\./],
    ['replicate --only a/b --price cheap', /"cheap" is not an amount in USD/],
    ['fal', /fal could not be read: \/v1\/models was answered 401/, { FAL_KEY: 'no:such-key' }],
  ]);
  const away = placeBefore(t, { ...fakes, router: { ...fakes.router, url: nowhere } });
  assertSaid(await imported(away, ['openrouter']), /openrouter could not be read: /);
});
