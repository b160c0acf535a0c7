import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nowhere } from '../upstreams/fakes/kit.ts';
import { chatRow, imageRow, placeBefore, standIns } from './upstream-kit.ts';

test('catalog check --live finds models that are gone, with file and line', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes, {
    fal: `${imageRow('good', 'fal-ai/flux/dev')}\n${imageRow('bad', 'fal-ai/gone')}`,
    openrouter: chatRow('talk', 'maker/nobody', '1', '1'),
  });
  const plain = await place.run(['catalog', 'check']);
  assert.equal(plain.code, 0, plain.stdout);
  assert.equal(fakes.fal.calls.length, 0, 'it asked without being told to');
  const [said, human] = await Promise.all([
    place.run(['catalog', 'check', '--live', '--json']),
    place.run(['catalog', 'check', '--live']),
  ]);
  assert.equal(said.code, 1);
  const { ok, problems, warnings, asked } = said.json;
  assert.deepEqual([ok, warnings, asked], [false, [], ['fal', 'openrouter', 'replicate']]);
  assert.deepEqual(
    problems.map((each: any) => [each.file, each.line, each.path, each.message]),
    [
      [
        'fal.yaml',
        5,
        '/models/1/upstream_model',
        'bad: the upstream fal has no model fal-ai/gone.',
      ],
      [
        'openrouter.yaml',
        3,
        '/models/0/upstream_model',
        'talk: the upstream openrouter has no model maker/nobody.',
      ],
    ],
  );
  assert.equal(human.code, 1);
  assert.match(human.stdout, /^fal\.yaml:5 \/models\/1\/upstream_model: bad: /);
  for (const fake of Object.values(fakes)) assert.deepEqual(fake.journal, []);
});

test('a price below its upstream’s is a warning in words, and exit 0', async (t) => {
  const place = placeBefore(t, await standIns(t), {
    // fal bills whole megapixels, 0.025 each.
    fal: `${imageRow('cheap', 'fal-ai/flux/dev', '0.02')}\n${imageRow('even', 'fal-ai/flux/dev', '0.025')}`,
    openrouter: `${chatRow('less', 'maker/thinker', '1.25', '10')}\n${chatRow('more', 'maker/plain', '1', '1')}`,
  });
  const [said, human] = await Promise.all([
    place.run(['catalog', 'check', '--live', '--json']),
    place.run(['catalog', 'check', '--live']),
  ]);
  assert.deepEqual([said.code, said.json.ok, said.json.prices_compared], [0, true, 4]);
  assert.deepEqual(
    said.json.warnings.map((each: any) => [each.file, each.line, each.message]),
    [
      [
        'fal.yaml',
        4,
        'cheap: it is sold for 0.02 USD an image, and its upstream asks for 0.025 USD.',
      ],
      [
        'openrouter.yaml',
        4,
        'less: it is sold for 10 USD a million completion tokens, and its upstream asks for 12 USD.',
      ],
    ],
  );
  assert.match(human.stdout, /^warning: fal\.yaml:4 \/models\/0\/price: cheap: /m);
});

test('a model that its upstream shuts down is a warning with the day, and exit 0', async (t) => {
  const place = placeBefore(t, await standIns(t), {
    openrouter: `${chatRow('stays', 'maker/plain', '1', '1')}\n${chatRow('goes', 'other/by-the-hour', '9', '9')}`,
  });
  const [ran, human] = await Promise.all([
    place.run(['catalog', 'check', '--live', '--json']),
    place.run(['catalog', 'check', '--live']),
  ]);
  assert.deepEqual([ran.code, ran.json.ok], [0, true]);
  const message = 'goes: the upstream openrouter shut other/by-the-hour down on 2026-01-01.';
  assert.match(human.stdout, /0 problems, 1 warning\.\nAsked .*; 2 prices compared\.\n$/);
  assert.deepEqual(
    ran.json.warnings.map((each: any) => [each.file, each.path, each.message]),
    [['openrouter.yaml', '/models/1/upstream_model', message]],
  );
});

test('an upstream that is away or takes no key is a problem of its file; others go on', async (t) => {
  const fakes = await standIns(t);
  const away = { ...fakes, replicate: { ...fakes.replicate, url: nowhere } };
  const place = placeBefore(t, away, { openrouter: chatRow('talk', 'maker/plain', '1', '1') });
  const ran = await place.run(['catalog', 'check', '--live', '--json'], {
    FAL_KEY: 'wrong:key-here',
  });
  assert.equal(ran.code, 1);
  const found = ran.json.problems.map((each: any) => [each.file, each.line, each.path]);
  assert.deepEqual(found, [
    ['fal.yaml', 1, '/upstream'],
    ['replicate.yaml', 1, '/upstream'],
  ]);
  assert.match(ran.json.problems[0].message, /the upstream fal: it rejects the key/);
  assert.equal(ran.json.prices_compared, 1);
});

test('with nothing set up no upstream is asked', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const none = { FAL_KEY: '', OPENROUTER_API_KEY: '', REPLICATE_API_TOKEN: '' };
  const ran = await place.run(['catalog', 'check', '--live'], none);
  assert.equal(ran.code, 0, ran.stdout);
  assert.match(
    ran.stdout,
    /None of the upstreams that the files define is set up, so none was asked\.\n$/,
  );
});
