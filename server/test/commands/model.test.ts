/** The commands about how models are sold and about upstreams, without a service. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { testDatabase } from '../kit/database.ts';
import { placeFor } from './cli.ts';

const catalog = `# Ours, read on 2026-11-01.
upstream: sandbox
models:
  - id: test/sized/image
    kind: image
    task: text-to-image
    name: Test
    price: { unit: image, usd_by_resolution: { 1k: "0.01", 2k: "0.02" } } # of our list
    input_schema: { type: object, properties: { prompt: { type: string }, resolution: { type: string } } }
    example: { prompt: a cat }
    upstreams: [{ model: canvas }, { model: sketch }]
  - id: test/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    context_tokens: 1000
    max_output_tokens: 100
`;

describe('farebox model', () => {
  test('sets, shows, undoes and exports how models are sold', async (t) => {
    const database = await testDatabase();
    t.after(() => database.close());
    const place = placeFor(t, { DATABASE_URL: database.url });
    const dir = path.join(place.dir, 'rows');
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, 'ours.yaml'), catalog);
    const env = { FAREBOX_CATALOG: dir };
    const run = async (...args: string[]) => {
      const ran = await place.run([...args, '--json'], env);
      assert.equal(ran.code, 0, ran.stderr);
      return ran.json;
    };
    const [sized, chat] = ['test/sized/image', 'test/chat'];
    const first = await run(
      'model',
      'set',
      sized,
      '--price',
      '1k=0.03,2k=0.05',
      '--reason',
      'dear',
    );
    assert.deepEqual(
      [first.price, first.override.price],
      [
        { '1k': 0.03, '2k': 0.05 },
        { '1k': 0.03, '2k': 0.05 },
      ],
    );
    assert.deepEqual(first.losses, []);
    assert.deepEqual((await run('model', 'set', chat, '--price', 'input=3,output=4.5')).price, {
      input: 3,
      output: 4.5,
    });
    const stopped = await run('model', 'set', chat, '--status', 'stopped', '--status-note', 'soon');
    assert.deepEqual([stopped.status, stopped.status_note], ['stopped', 'soon']);
    assert.deepEqual(await run('model', 'show', chat), stopped);
    const { data } = await run('model', 'history', chat);
    assert.deepEqual(
      data.map(({ after }: any) => after),
      [{ status: 'stopped', status_note: 'soon' }, { price: { input: 3, output: 4.5 } }],
    );
    const undone = await run('model', 'undo', chat, data[0].log_id);
    assert.deepEqual([undone.status, undone.price], ['live', { input: 3, output: 4.5 }]);
    const written = await run('catalog', 'export', path.join(place.dir, 'changed'));
    assert.deepEqual(written.data, [{ file: 'ours.yaml', models: [chat, sized] }]);
    const text = fs.readFileSync(path.join(place.dir, 'changed', 'ours.yaml'), 'utf8');
    for (const kept of [
      '# Ours, read on 2026-11-01.',
      '# of our list',
      'input_usd: "3"',
      '1k: "0.03"',
    ])
      assert.ok(text.includes(kept), `${kept} in ${text}`);
    const checked = await place.run(['catalog', 'check', path.join(place.dir, 'changed')], env);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    const again = await place.run(['catalog', 'export', path.join(place.dir, 'changed')], env);
    assert.match(again.stderr, /exists/);
    assert.equal((await run('model', 'reset', sized)).override, null);
    const shown = await place.run(['model', 'show', chat], env);
    assert.match(shown.stdout, /status +live\nprice +.*set here/);
  });

  const wrong: [args: string[], says: RegExp][] = [
    [['model', 'set', 'test/image', '--price', '-1'], /US dollars from 0/],
    [['model', 'set', 'test/image', '--price', 'input=1'], /has no price at this row/],
    [['model', 'set', 'test/image', '--upstreams', 'nobody'], /has no upstream nobody/],
    [['model', 'set', 'test/image', '--upstreams', 'sandbox=many'], /no share/],
    [['model', 'set', 'test/imag', '--price', '1'], /No catalog file has a row/],
    [['model', 'undo', 'test/image', '0199b3e5-2c4d-7a90-8b1f-6d3e5a7c9b02'], /has no change/],
    [['upstream', 'set', 'nobody', 'off'], /defines the upstream "nobody"/],
    [['upstream', 'set', 'sandbox', 'closed'], /Allowed choices are on, draining, off/],
    [['upstream', 'key', 'sandbox', '--remove'], /defines the upstream "sandbox"/],
  ];
  test('refuses what cannot be, and the database stays as it is', async (t) => {
    const database = await testDatabase();
    t.after(() => database.close());
    const place = placeFor(t, { DATABASE_URL: database.url });
    for (const [args, says] of wrong) {
      const { code, stderr } = await place.run(args);
      assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
      assert.match(stderr, says);
    }
    const { data } = (await place.run(['model', 'history', 'test/image', '--json'])).json;
    assert.deepEqual(data, []);
    const on = await place.run(['upstream', 'set', 'sandbox', 'draining', '--json']);
    assert.deepEqual(on.json, { name: 'sandbox', state: 'draining', before: 'on' });
  });
});
