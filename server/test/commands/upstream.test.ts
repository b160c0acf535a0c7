import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { serve } from '../upstreams/fakes/kit.ts';
import { assertSaid, placeFor } from './cli.ts';
import { chatRow, imageRow, placeBefore, standIns } from './upstream-kit.ts';

test('upstream test asks all that are set up, at no cost, and finds them well', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes, {
    fal: imageRow('fal-ai/flux/dev', 'fal-ai/flux/dev'),
    // None of these is in the lists of models that their upstreams give.
    openrouter: chatRow('talk', 'maker/plain:nitro', '1', '1'),
    replicate: `${imageRow('own', 'deployments/maker/films-live')}\n${imageRow('old', 'maker/pictures')}`,
  });
  const [said, human] = await Promise.all([
    place.run(['upstream', 'test', '--json']),
    place.run(['upstream', 'test']),
  ]);
  assert.equal(said.code, 0, said.stdout + said.stderr);
  const brief = said.json.data.map((look: any) => [look.name, look.rows, look.listed]);
  assert.deepEqual(brief.sort(), [
    ['fal', 1, 3],
    ['openrouter', 1, 10],
    ['replicate', 2, 7],
    ['sandbox', 1, null],
  ]);
  assert.match(human.stdout, /^fal: fal, http[^]*address +answers\n +credential +taken\n/m);
  assert.doesNotMatch(human.stdout, /undefined|null|wrong/);
  for (const fake of Object.values(fakes)) {
    assert.deepEqual(fake.journal, []);
    assert.ok(fake.calls.every(({ method }) => method === 'GET'));
    assert.ok(!(said.stdout + human.stdout).includes(fake.key), 'a key was shown');
  }
});

test('upstream test names what is wrong: variable, address, credential, models', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes, { fal: imageRow('a', 'fal-ai/gone') });
  const ask = (env: Record<string, string> = {}) => place.run(['upstream', 'test', 'fal'], env);
  const lacks = await ask();
  assert.equal(lacks.code, 1);
  assert.match(lacks.stdout, /wrong: it has no model fal-ai\/gone \(a in fal\.yaml\)/);
  const unset = await ask({ FAL_KEY: '' });
  assert.equal(unset.code, 1);
  assert.match(unset.stdout, /set up +no: the upstream "fal" is not set up: it needs FAL_KEY\n/);
  assert.doesNotMatch(unset.stdout, /address/);
  const wrong = await ask({ FAL_KEY: 'wrong-id:wrong-secret' });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stdout, /credential +not confirmed\n[^]*wrong: it does not take the key/);
  assert.doesNotMatch(wrong.stdout, /wrong-secret/);
  await fakes.fal.close();
  const gone = await ask();
  assert.equal(gone.code, 1);
  assert.match(gone.stdout, /address +does not answer\n[^]*wrong: its address does not answer: /);
  // Without a name only those that are set up are asked.
  const rest = await place.run(['upstream', 'test', '--json'], { FAL_KEY: '' });
  assert.equal(rest.code, 0, rest.stdout);
});

test('upstream test refuses a name that no file defines, and says which there are', async (t) => {
  const place = placeBefore(t, await standIns(t));
  assertSaid(
    await place.run(['upstream', 'test', 'fall']),
    /defines the upstream "fall"; there are sandbox, fal, openrouter, replicate\.$/m,
  );
});

test('upstream list shows what is defined, set up or not and why', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const env = { FAL_KEY: '', FAREBOX_SANDBOX: 'off' };
  const [said, human] = await Promise.all([
    place.run(['upstream', 'list', '--json'], env),
    place.run(['upstream', 'list'], env),
  ]);
  const brief = said.json.data.map((row: any) => [row.name, row.set_up]);
  assert.deepEqual(brief, [
    ['fal', false],
    ['openrouter', true],
    ['replicate', true],
    ['sandbox', false],
  ]);
  assert.match(said.json.data[0].reason, /it needs FAL_KEY$/);
  assert.match(human.stdout, /^fal +no .*\n/m);
  assert.match(human.stdout, /\nthe upstream "sandbox" is not set up: it needs FAREBOX_SANDBOX=on/);
});

test('an upstream without a key needs none, and a model goes by its name without a tag', async (t) => {
  const server = await serve(() => ({ json: { data: [{ id: 'small:latest' }] } }));
  t.after(() => server.close());
  const place = placeFor(t);
  const row = chatRow('small', 'small', '1', '1');
  const text = `upstream: { name: own, adapter: openai, url: "${server.url}" }\nmodels:\n${row}\n`;
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, 'own.yaml'), text);
  const ran = await place.run(['upstream', 'test', 'own']);
  assert.equal(ran.code, 0, ran.stdout);
  assert.match(
    ran.stdout,
    /credential +none, and none is needed\n +catalog +1 row uses it; it lists 1 /,
  );
  assert.ok(server.calls.every(({ headers }) => headers.authorization === undefined));
});
