/** The verbs on models and files, and the completions of shells. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { startService, type Service } from '../../../server/test/kit/service.ts';
import { homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let home: Home;
before(async () => {
  service = await startService();
});
beforeEach(async () => {
  home = homeOf(service, (await service.account()).key);
});
after(() => service.stop());

describe('fare upload', () => {
  test('prints the id alone', async () => {
    fs.writeFileSync(path.join(home.dir, 'a b.png'), tinyPng);
    assert.match(well(await home.run(['upload', 'a b.png'])).stdout, /^file_[0-9a-f]{32}\n$/);
    const { json } = well(await home.run(['upload', 'a b.png', '--json']));
    assert.deepEqual([json.content_type, json.size], ['image/png', tinyPng.length]);
    const gone = refused(await home.run(['upload', 'gone.png']), 2, /gone\.png/);
    assert.doesNotMatch(gone.stderr, /address|file id/);
    refused(await home.run(['upload', '.']), 2, /\. is a folder\./);
  });
});

describe('fare models', () => {
  test('needs no key; words and kind narrow it down', async () => {
    const stranger = homeOf(service, null);
    const env = { FAREBOX_BASE_URL: service.base };
    const ids = (text: string) =>
      text
        .split('\n')
        .map((line) => line.split('\t')[0])
        .filter(Boolean);
    const all = well(await stranger.run(['models'], { env })).stdout;
    assert.deepEqual(ids(all).length, 4);
    assert.match(all, /^fake\/film\/text-to-video\tvideo\t\$0\.05 to \$0\.10 a second$/m);
    assert.deepEqual(ids(well(await stranger.run(['models', 'READ', 'end'], { env })).stdout), [
      'fake/drain/chat',
    ]);
    const { lines } = well(await stranger.run(['models', '--kind', 'text', '--json'], { env }));
    assert.deepEqual(
      lines.map((line) => line.kind),
      ['text', 'text'],
    );
    refused(await stranger.run(['models', 'xyzzy'], { env }), 0, /No model matches/);
  });

  test('fare model shows the inputs and a call that can be pasted', async () => {
    const shown = well(await home.run(['model', 'fake/film/text-to-video'])).stdout;
    assert.match(shown, /^prompt \*\tstring\tneeded\t$/m);
    assert.match(
      shown,
      /^fare run fake\/film\/text-to-video --prompt 'a cat runs' duration_seconds=5 resolution=480p$/m,
    );
    assert.equal(well(await home.run(['model', 'fake/chat', '--json'])).json.kind, 'text');
    refused(await home.run(['model', 'fake/flim']), 2, /no model fake\/flim[^]*fake\/film/);
  });
});

describe('completions', () => {
  const complete = async (...words: string[]) =>
    well(await home.run(['__complete', ...words]))
      .stdout.split('\n')
      .filter(Boolean);

  test('of verbs, models, options and their values', async () => {
    assert.deepEqual(await complete('mo'), ['models', 'model']);
    assert.deepEqual(await complete('run', 'fake/f'), ['fake/film/text-to-video']);
    assert.deepEqual(await complete('run', 'fake/image', '--ma'), ['--max-usd']);
    assert.deepEqual(await complete('list', '--status', 'CO'), ['COMPLETED']);
    assert.deepEqual(await complete('webhook', ''), ['listen']);
    assert.deepEqual(await complete('run', 'fake/image', '--out', ''), []);
  });

  test('each shell gets a script; another is told which there are', async () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      assert.match(well(await home.run(['completions', shell])).stdout, /fare __complete/);
    refused(await home.run(['completions', 'cmd']), 2, /bash, zsh, fish/);
  });
});
