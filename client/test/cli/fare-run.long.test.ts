/** `fare run` saves outputs in folders, files and stdout. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { catalog, homeOf, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService({ running: true, catalog });
  account = await service.account({ usd: 50 });
});
beforeEach(() => {
  service.fake.behave = {};
  home = homeOf(service, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

const cat = ['run', 'fake/image', '--prompt', 'a cat on a mat'];

describe('fare run', () => {
  test('into a folder that is made, to stdout, or nowhere', async () => {
    assert.match(
      well(await home.run([...cat, '-o', 'new/folder/'])).stdout,
      /^new\/folder\/a-cat-/,
    );
    const child = home.start([...cat, '-o', '-']).child;
    const parts: Buffer[] = [];
    child.stdout!.removeAllListeners('data').setEncoding('latin1');
    child.stdout!.on('data', (text: string) => parts.push(Buffer.from(text, 'latin1')));
    await new Promise((end) => child.once('close', end));
    assert.deepEqual(Buffer.concat(parts), tinyPng);
    assert.equal(well(await home.run([...cat, '--no-save'])).stdout, '');
    assert.deepEqual(fs.readdirSync(home.dir), ['new']);
  });

  test('text output goes to stdout, or into the named file', async () => {
    const result = { media: [], fields: { text: 'ten bytes!' } };
    service.fake.behave.poll = () => ({ state: 'done', result });
    assert.equal(well(await home.run(['run', 'fake/look/video-analyze'])).stdout, 'ten bytes!\n');
    const args = ['run', 'fake/look/video-analyze', '-o', 'x.txt'];
    assert.equal(well(await home.run(args)).stdout, 'x.txt\n');
    assert.equal(fs.readFileSync(path.join(home.dir, 'x.txt'), 'utf8'), 'ten bytes!');
  });
});
