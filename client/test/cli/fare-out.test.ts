/** `fare run --out`: what cannot be written is refused before anything is spent. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { images, tinyPng } from '../../../server/test/kit/fake.ts';
import { withService } from '../../../server/test/kit/with-service.ts';
import { traces } from '../../../server/test/kit/traces.ts';
import { catalog, homeOf, refused, well, type Home } from './fare-kit.ts';

const layers = `${catalog}
  - id: fake/layers
    kind: image
    task: layer-decomposition
    name: Layers
    description: Several images, one price.
    price: { unit: request, usd: "0.01" }
    max: 1
    max_unit: requests
    cost_usd: "0.004"
    upstream_model: layers
    input_schema:
      type: object
      properties: { prompt: { type: string }, num_layers: { type: integer, default: 3 } }
    example: { prompt: a cat }
`;

let home: Home;
const { service, account } = withService({ running: true, catalog: layers, account: { usd: 50 } });
beforeEach(() => {
  service.fake.behave = {};
  home = homeOf(service, account.key);
  for (const name of ['a.png', 'one-2.png', 'file']) fs.writeFileSync(inHome(name), 'mine');
});

const inHome = (name: string) => path.join(home.dir, name);
const cat = ['run', 'fake/image', '--prompt', 'a cat'];
const making = (count: number) => {
  service.fake.behave.poll = () => ({ state: 'done', result: images(count) });
};

describe('refused before anything is spent, and nothing is left:', () => {
  const odd: [name: string, args: string[], says: RegExp, env?: Record<string, string>][] = [
    ['a folder in /proc', ['-o', '/proc/nope/'], /Nothing can be written to \/proc\/nope/],
    ['a deep one', ['-o', '/proc/nope/a/b/'], /Nothing can be written to \/proc\/nope/],
    ['a file in /proc', ['-o', '/proc/nope.png'], /Nothing can be written to \/proc/],
    ['the folder /sys itself', ['-o', '/sys'], /Nothing can be written to \/sys/],
    ['a folder below a file', ['-o', 'file/'], /Nothing can be written to .*file/],
    ['a file below a file', ['-o', 'file/x.png'], /Nothing can be written to|no folder file/],
    ['a name that is too long', ['-o', `${'x'.repeat(250)}.png`], /Nothing can be written to/],
    ['a missing folder', ['-o', 'no/x.png'], /no folder no/],
    ['several on stdout', ['num_images=2', '-o', '-'], /2 outputs, but stdout takes only one/],
    [
      'several into a device',
      ['num_images=2', '-o', '/dev/null'],
      /2 outputs, but \/dev\/null takes/,
    ],
    ['one of the files exists', ['num_images=2', '-o', 'one.png'], /one-2\.png already exists/],
    ['the file exists', ['-o', 'a.png'], /a\.png already exists/],
    ['a state folder in /proc', [], /Nothing can be saved in/, { XDG_STATE_HOME: '/proc/nope' }],
    [
      'a state folder below a file',
      [],
      /Nothing can be saved in/,
      { XDG_STATE_HOME: '/dev/null/x' },
    ],
  ];
  for (const [name, args, says, env] of odd)
    test(name, async () => {
      const before = await traces(service);
      const files = fs.readdirSync(home.dir);
      refused(await home.run([...cat, ...args], { env }), 2, says);
      assert.deepEqual(await traces(service), before);
      assert.deepEqual(fs.readdirSync(home.dir), files);
      // Nothing is left that `fare resume` would take.
      refused(await home.run(['resume']), 2, /No request that was run/);
    });

  test('several layers on stdout', async () => {
    const before = await traces(service);
    const ran = await home.run(['run', 'fake/layers', 'prompt=x', '-o', '-']);
    refused(ran, 2, /3 outputs, but stdout takes only one/);
    assert.deepEqual(await traces(service), before);
  });
});

test('a missing folder is made once there is something to save', async () => {
  const ran = well(await home.run([...cat, '-o', 'new/deep/']));
  assert.match(ran.stdout, /^new\/deep\/a-cat-[0-9a-f]{6}\.png\n$/);
});

test('several outputs have names that a shell sorts', async () => {
  making(10);
  const ran = well(await home.run([...cat, '-o', 'cat.png']));
  assert.deepEqual(ran.stdout.trim().split('\n').slice(0, 2), ['cat-01.png', 'cat-02.png']);
  assert.ok(fs.existsSync(inHome('cat-10.png')));
});

test('if more come than were expected, all get free names together', async () => {
  making(2);
  const ran = well(await home.run([...cat, '-o', 'one.png']));
  assert.equal(ran.stdout, 'one-1_2.png\none-2_2.png\n');
  assert.equal(fs.readFileSync(inHome('one-2.png'), 'utf8'), 'mine');
});

describe('an output goes into', () => {
  test('a device, which stays one, also with --force', async () => {
    for (const more of [[], ['--force']]) {
      const ran = well(await home.run([...cat, '-o', '/dev/null', ...more]));
      assert.equal(ran.stdout, '/dev/null\n');
      assert.ok(fs.statSync('/dev/null').isCharacterDevice());
    }
    assert.ok(!fs.existsSync('/dev/null_2'));
  });

  test('a named pipe that somebody reads', async () => {
    execFileSync('mkfifo', [inHome('pipe')]);
    const reader = spawn('cat', [inHome('pipe')], { stdio: ['ignore', 'pipe', 'ignore'] });
    const chunks: Buffer[] = [];
    reader.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    const closed = once(reader, 'close');
    well(await home.run([...cat, '-o', 'pipe']));
    await closed;
    assert.deepEqual(Buffer.concat(chunks), tinyPng);
  });

  test('a pipe of the shell', async () => {
    const ran = well(await home.run([...cat, '-o', '/dev/stdout', '-q']));
    assert.equal(ran.stdout.slice(1, 4), 'PNG');
  });

  test('a pipe that nobody reads: paid for, told, and saved by a resume', async () => {
    execFileSync('mkfifo', [inHome('pipe')]);
    const ran = refused(await home.run([...cat, '-o', 'pipe']), 5, /paid for[^]*fare resume/);
    const id = /fare resume (\S+)/.exec(ran.stderr)![1]!;
    well(await home.run(['resume', id, '-o', 'b.png']));
    assert.deepEqual(fs.readFileSync(inHome('b.png')), tinyPng);
  });

  test('a file whose name says another type, with a remark', async () => {
    const ran = well(await home.run([...cat, '-o', 'b.jpg']));
    assert.match(ran.stderr, /b\.jpg holds image\/png/);
    for (const name of ['c.png', 'd.PNG', 'e', 'f.xyz'])
      assert.doesNotMatch(well(await home.run([...cat, '-o', name])).stderr, /holds/);
  });
});
