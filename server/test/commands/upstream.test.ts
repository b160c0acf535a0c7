import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { noteFailure } from '../../src/db/upstreams/pauses.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { nowhere, serve } from '../upstreams/fakes/kit.ts';
import { inLong } from '../kit/long.ts';
import { assertSaid, databaseFor, placeFor, ranOf } from './cli.ts';
import { chatRow, imageRow, placeBefore, standIns } from './upstream-kit.ts';
import type { UpstreamRefusal } from '../../src/core/catalog/upstream-key.ts';

test('upstream test tests all upstreams that are set up, at no cost', async (t) => {
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes, {
    fal: imageRow('fal-ai/flux/dev', 'fal-ai/flux/dev'),
    // These models are not in their upstreams' lists.
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
  assert.match(wrong.stdout, /credential +not confirmed\n[^]*wrong: it rejects the key/);
  assert.doesNotMatch(wrong.stdout, /wrong-secret/);
  const away = placeBefore(t, { ...fakes, fal: { ...fakes.fal, url: nowhere } });
  const gone = await away.run(['upstream', 'test', 'fal']);
  assert.equal(gone.code, 1);
  assert.match(gone.stdout, /address +does not answer\n[^]*wrong: its address does not answer: /);
  // Without a name, only upstreams that are set up are tested.
  const rest = await place.run(['upstream', 'test', '--json'], { FAL_KEY: '' });
  assert.equal(rest.code, 0, rest.stdout);
});

test('upstream test does not accept a web page with status 200 as an upstream or a model', async (t) => {
  const page = '<!doctype html><title>Welcome</title>';
  for (const [kind, body] of [
    ['html', page],
    ['json', '{"message":"hello"}'],
  ] as const) {
    const server = await serve(() => ({ status: 200, body }));
    t.after(() => server.close());
    const place = placeFor(t, { A_KEY: 'some-key' });
    const definitions = {
      replicate: `adapter: replicate, url: "${server.url}"`,
      fal: `adapter: fal, url: "${server.url}", options: { api_url: "${server.url}", rest_url: "${server.url}" }`,
    };
    for (const [name, definition] of Object.entries(definitions)) {
      const text = `upstream: { name: ${name}, ${definition}, key_from: A_KEY }\nmodels: []\n`;
      fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, `${name}.yaml`), text);
      const ran = await place.run(['upstream', 'test', name]);
      assert.equal(ran.code, 1, `${name}, ${kind}: ${ran.stdout}`);
      assert.match(ran.stdout, /credential +not confirmed\n[^]*wrong: the service at its address /);
      assert.doesNotMatch(ran.stdout, /it lists/);
    }
  }
});

test('upstream test refuses an undefined name, and lists the defined ones', async (t) => {
  const place = placeBefore(t, await standIns(t));
  assertSaid(
    await place.run(['upstream', 'test', 'fall']),
    /defines the upstream "fall"; there are sandbox, fal, openrouter, replicate\.$/m,
  );
});

test('upstream list shows all definitions, and why some are not set up', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const { env: at } = await databaseFor(t);
  const env = { ...at, FAL_KEY: '', FAREBOX_SANDBOX: 'off' };
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

test('upstream list shows which upstreams drain or are off', async (t) => {
  const place = placeBefore(t, await standIns(t));
  const { env } = await databaseFor(t);
  for (const state of ['draining', 'off', 'on']) {
    assert.equal((await place.run(['upstream', 'set', 'fal', state], env)).code, 0);
    const { json } = await place.run(['upstream', 'list', '--json'], env);
    const states = json.data.map((row: any) => [row.name, row.state]);
    assert.deepEqual(states.slice(0, 2), [
      ['fal', state],
      ['openrouter', 'on'],
    ]);
    const human = await place.run(['upstream', 'list'], env);
    assert.match(human.stdout, new RegExp(`^UPSTREAM +SET UP +STATE [^]*\nfal +\\w+ +${state} `));
  }
});

test('upstream list shows when an upstream last failed, and which of its models are paused', async (t) => {
  const { database, env } = await databaseFor(t);
  const place = placeBefore(t, await standIns(t));
  const fail = (model: string, why: UpstreamRefusal, pause_seconds: number) =>
    noteFailure(database.db, 'fal', {
      account_id: '01890f5e-27c1-7d3a-9e4f-000000000001',
      message: `${model}: ${why}`,
      why,
      model,
      pause_seconds,
      pauses_at_once: true,
      account_wide: false,
      counts_alone: false,
      threshold: 99,
      model_threshold: 99,
      failure_pause_seconds: 30,
    });
  const began = Date.now();
  await fail('fal-ai/well', 'busy', 0);
  await fail('fal-ai/gone', 'model', 300);
  const [said, human] = await Promise.all([
    place.run(['upstream', 'list', '--json'], env),
    place.run(['upstream', 'list'], env),
  ]);
  const [fal, ...others] = said.json.data;
  assert.deepEqual([fal.name, fal.paused_until], ['fal', null], 'all of it rests');
  assert.deepEqual([fal.failures, fal.last_error], [1, 'fal-ai/well: busy']);
  const near = (at: string) => Math.abs(Date.parse(at) - began) < 60_000;
  assert.ok(near(fal.last_error_at), fal.last_error_at);
  const [{ paused_until, last_error_at, ...gone }, ...more] = fal.paused_models;
  assert.deepEqual(more, [], 'the other model rests as well');
  const about = { model: 'fal-ai/gone', failures: 1, last_error: 'fal-ai/gone: model' };
  assert.deepEqual(gone, about);
  assert.ok(near(last_error_at), last_error_at);
  const left = (Date.parse(paused_until) - Date.now()) / 1000;
  assert.ok(left > 200 && left <= 300, paused_until);
  for (const other of others)
    assert.deepEqual([other.last_error_at, other.paused_models], [null, []], other.name);
  const at = String.raw`\d{4}-\d\d-\d\dT\S+Z`;
  assert.match(human.stdout, /^UPSTREAM .* PAUSED FOR +FAILURES +LAST ERROR AT +LAST ERROR\n/);
  assert.match(
    human.stdout,
    new RegExp(
      `\nfal +yes .* 1 model +1 +${at} +fal-ai/well: busy\n {2}fal-ai/gone +5 min +1 +${at} +fal-ai/gone: model\n`,
    ),
  );
  assert.match(human.stdout, /\nreplicate +yes +on +REPLICATE_API_TOKEN +0 +- +0 +- +0 +- +-\n/);
});

test('upstream test ends the pause for a refused key; upstream resume ends any pause', async (t) => {
  const { database, env } = await databaseFor(t);
  const place = placeBefore(t, await standIns(t));
  const rests = async () => {
    const { json } = await place.run(['upstream', 'list', '--json'], env);
    const fal = json.data.find((each: { name: string }) => each.name === 'fal');
    return [fal.paused_until !== null, fal.paused_models.length];
  };
  const fail = (why: UpstreamRefusal, model: string) =>
    noteFailure(database.db, 'fal', {
      account_id: '01890f5e-27c1-7d3a-9e4f-000000000001',
      message: why,
      why,
      model,
      pause_seconds: 3_000,
      pauses_at_once: true,
      account_wide: false,
      counts_alone: true,
      threshold: 99,
      model_threshold: 99,
      failure_pause_seconds: 30,
    });
  await fail('credential', 'a');
  await fail('model', 'b');
  assert.deepEqual(await rests(), [true, 1]);
  await place.run(['upstream', 'test', 'fal'], env);
  assert.deepEqual(await rests(), [false, 1], 'the key is taken; the model is another matter');
  const wrong = await place.run(['upstream', 'resume', 'nope'], env);
  assertSaid(wrong, /"nope"; there are sandbox, fal/);
  const woken = await place.run(['upstream', 'resume', 'fal', '--model', 'b'], env);
  assert.deepEqual([woken.code, woken.stdout], [0, 'fal b is no longer paused.\n']);
  assert.deepEqual(await rests(), [false, 0]);
  const again = await place.run(['upstream', 'resume', 'fal', '--json'], env);
  assert.equal(again.json.was_paused, false);
  const log = await database.db.run(rawSql('select action, target, by_email from operator_log'));
  const row = { action: 'upstream.wake', target: 'fal', by_email: 'command line' };
  assert.deepEqual(log, [row, row]);
});

test('upstream test and list name each of several keys', async (t) => {
  const { database, env: at } = await databaseFor(t);
  const fakes = await standIns(t);
  const place = placeBefore(t, fakes);
  const wrong = 'r8_WrongTokenOfReplicate0000000000000000';
  const nameOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 8);
  const [good, bad] = [nameOf(fakes.replicate.key), nameOf(wrong)];
  const env = { ...at, REPLICATE_API_TOKEN: `${wrong}\n${fakes.replicate.key}\n` };
  await noteFailure(database.db, `replicate#${bad}`, {
    account_id: '01890f5e-27c1-7d3a-9e4f-000000000001',
    message: 'Unauthenticated',
    why: 'credential',
    model: 'm',
    pause_seconds: 60,
    pauses_at_once: true,
    account_wide: false,
    counts_alone: false,
    threshold: 99,
    model_threshold: 99,
    failure_pause_seconds: 30,
  });
  const [tested, json, list, listed] = await Promise.all([
    place.run(['upstream', 'test', 'replicate'], env),
    place.run(['upstream', 'test', 'replicate', '--json'], env),
    place.run(['upstream', 'list'], env),
    place.run(['upstream', 'list', '--json'], env),
  ]);
  assert.deepEqual([tested.code, json.code, list.code], [1, 1, 0]);
  assert.match(tested.stdout, new RegExp(`\n  key ${bad} not confirmed\n  key ${good} taken\n`));
  assert.match(tested.stdout, new RegExp(`\n  wrong: key ${bad}: it answered 401: `));
  assert.doesNotMatch(tested.stdout, /credential/);
  assert.equal(json.json.data[0].listed, 7, 'the models are asked for with the key that is taken');
  assert.deepEqual(json.json.data[0].keys, [
    { key: bad, taken: false },
    { key: good, taken: true },
  ]);
  assert.match(
    list.stdout,
    new RegExp(
      `\nreplicate .*\n  key ${bad} +0 +\\d+ s +1 .*Unauthenticated\n  key ${good} +0 +- +0 +- +-\n`,
    ),
  );
  const row = listed.json.data.find(({ name }: { name: string }) => name === 'replicate');
  assert.deepEqual([row.paused_until, row.failures], [null, 0]);
  const keys = row.keys.map((each: any) => [each.key, each.in_use, each.paused_until !== null]);
  assert.deepEqual(keys, [
    [bad, 0, true],
    [good, 0, false],
  ]);
  assert.ok(!listed.json.data.some(({ name }: { name: string }) => name.includes('#')));
  for (const { stdout, stderr } of [tested, json, list, listed])
    for (const key of [wrong, fakes.replicate.key])
      assert.ok(!(stdout + stderr).includes(key), 'a key was shown');
});

test('catalog check finds options wrong that do not fit together, and upstream list points to it', async (t) => {
  const { env } = await databaseFor(t);
  const place = placeFor(t, { ...env, OWN_KEY: 'own-key' });
  const text = `upstream:
  name: own
  adapter: http-job
  url: http://127.0.0.1:9
  key_from: OWN_KEY
  options:
    { auth: bearer, submit: { path: /jobs, body: $input }, id: id, poll: { path: /jobs }, status: s, outputs: [o] }
models:
${imageRow('own', 'own')}
`;
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, 'own.yaml'), text);
  const [check, list, unset] = await Promise.all([
    place.run(['catalog', 'check', '--json']),
    place.run(['upstream', 'list', '--json']),
    place.run(['catalog', 'check', '--json'], { OWN_KEY: '' }),
  ]);
  assert.deepEqual([check.code, check.json.hidden], [1, []], check.stdout);
  const [problem, ...others] = check.json.problems;
  assert.deepEqual([problem.file, problem.line, others], ['own.yaml', 2, []]);
  assert.match(
    problem.message,
    /^the upstream own: poll does not send the id of the job: use \{id\}/,
  );
  assert.match(
    list.stderr,
    /^The catalog files have problems: "farebox catalog check" names them\.$/m,
  );
  assert.deepEqual(
    list.json.data.map(({ name }: { name: string }) => name),
    ['sandbox'],
  );
  assert.equal(unset.code, 0, 'they are not looked at before the upstream is set up');
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
  assert.match(ran.stdout, /credential +none needed\n +catalog +1 row uses it; it lists 1 /);
  assert.ok(server.calls.every(({ headers }) => headers.authorization === undefined));
});

inLong(
  'upstream list and test use a stored key, and show where it is from and never the key',
  async (t) => {
    const fakes = await standIns(t);
    const place = placeBefore(t, fakes);
    const { env: at } = await databaseFor(t);
    const env = {
      ...at,
      FAL_KEY: '',
      FAREBOX_SECRET: 'a secret of at least thirty-two characters',
    };
    const listed = async (own = {}): Promise<Record<string, [boolean, string | null]>> => {
      const ran = await place.run(['upstream', 'list', '--json'], { ...env, ...own });
      assert.equal(ran.code, 0, ran.stderr);
      assert.doesNotMatch(ran.stdout + ran.stderr, new RegExp(fakes.fal.key));
      return Object.fromEntries(
        ran.json.data.map((row: any) => [row.name, [row.set_up, row.key_from]]),
      );
    };
    const others = {
      openrouter: [true, 'OPENROUTER_API_KEY'],
      replicate: [true, 'REPLICATE_API_TOKEN'],
      sandbox: [true, null],
    };
    assert.deepEqual(await listed(), { fal: [false, 'FAL_KEY'], ...others });
    const set = await ranOf(place.spawn(['upstream', 'key', 'fal'], env, fakes.fal.key));
    assert.equal(set.code, 0, set.stderr);
    assert.deepEqual(await listed(), { fal: [true, 'stored'], ...others });
    const human = await place.run(['upstream', 'list'], env);
    assert.match(
      human.stdout,
      /^UPSTREAM +SET UP +STATE +KEY FROM +WAITING[^]*\nfal +yes +on +stored +0 /,
    );
    assert.match(human.stdout, /\nsandbox +yes +on +- +0 /);
    const tested = await place.run(['upstream', 'test', 'fal'], env);
    assert.match(tested.stdout, /credential +taken/);
    assert.equal(tested.code, 0, tested.stdout);
    const elsewhere = { FAREBOX_SECRET: 'another secret of at least thirty-two characters' };
    assert.deepEqual((await listed(elsewhere)).fal, [false, 'stored']);
    const removed = await ranOf(place.spawn(['upstream', 'key', 'fal', '--remove'], env));
    assert.equal(removed.code, 0, removed.stderr);
    assert.deepEqual(await listed(), { fal: [false, 'FAL_KEY'], ...others });
  },
);
