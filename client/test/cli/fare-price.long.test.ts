/** The price is shown before the job, and nothing above the accepted amount is ever spent. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { inLong } from '../../../server/test/kit/long.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { catalog, homeOf, refused, well, type Home } from './fare-kit.ts';

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

let startsBefore = 0;
beforeEach(() => (startsBefore = service.fake.starts.length));
const nothingStarted = () => assert.equal(service.fake.starts.length, startsBefore);

/** Costs a dollar, because the most expensive resolution is the default. */
const dear = ['run', 'fake/dear', '--prompt', 'a cat'];
const cat = ['run', 'fake/image', '--prompt', 'a cat on a mat'];

describe('fare price', () => {
  test('shows the exact price, as a bare number in a pipe and in full with --json', async () => {
    const args = ['price', ...dear.slice(1)];
    assert.equal(well(await home.run(args)).stdout, '1.00\n');
    const { json } = well(await home.run([...args, '--json']));
    assert.equal(json.price_usd_micro, '1000000');
    assert.deepEqual(json.assumptions, { num_images: 1, resolution: '2k' });
    nothingStarted();
  });
});

describe('what fare run may spend', () => {
  test('above --max-usd nothing is submitted, whatever other options say', async () => {
    const ran = await home.start([...dear, '--max-usd', '0.99', '--yes', '--json']).ended;
    refused(ran, 4, /costs \$1\.00, more than --max-usd allows \(\$0\.99\)/);
    assert.equal(ran.json.error.code, 'price_above_limit');
    assert.equal(ran.json.error.price_usd_micro, '1000000');
    well(await home.run(['settings', 'max-usd', '0.5']));
    refused(await home.run([...dear, '--max-usd', '5']), 4, /the setting max-usd/);
    nothingStarted();
  });

  test('above ask-above-usd, without a terminal: needs --max-usd or --yes', async () => {
    refused(
      await home.run(dear),
      4,
      /prices above \$0\.25 need your confirmation[^]*Pass --max-usd 1\.00 or --yes/,
    );
    nothingStarted();
    well(await home.run([...dear, '--no-save', '--max-usd', '1']));
    well(await home.run([...dear, '--no-save', '--yes']));
    well(await home.run(['settings', 'ask-above-usd', '1']));
    well(await home.run([...dear, '--no-save']));
  });

  test('no balance, and a key at its limit: exit 4, and says what to do', async () => {
    const poor = homeOf(service, (await service.account({ usd: 0 })).key);
    const none = refused(
      await poor.run(cat),
      4,
      /Top up at http:\/\/127\.0\.0\.1:\d+\/dashboard\/money/,
    );
    assert.match(none.stderr, /\nRequired \$0\.01, available \$0\.00, reserved \$0\.00\.\n/);
    const { key } = await service.account({ usd: 5, monthly_limit_usd_micro: 1n });
    const limited = refused(await homeOf(service, key).run(cat), 4, /limit[^]*\/dashboard\/keys/);
    assert.match(limited.stderr, /\nRequired \$0\.01, limit \$0\.000001, spent \$0\.00\.\n/);
    nothingStarted();
  });

  inLong('nowhere to keep the run: nothing is priced, uploaded or submitted, exit 2', async () => {
    const file = path.join(home.dir, 'a.png');
    fs.writeFileSync(file, tinyPng);
    const env = { XDG_STATE_HOME: file };
    const ran = await home.run([...cat, '--image', 'a.png'], { env });
    refused(
      ran,
      2,
      /^Nothing can be saved in [^\n]*\nSet XDG_STATE_HOME to a writable folder[^\n]*\n$/,
    );
    refused(await home.run(['resume'], { env }), 2, /Set XDG_STATE_HOME/);
    nothingStarted();
    const id = (await home.run([...cat, '--no-wait'])).stdout.trim();
    well(await home.run(['wait', id], { env }));
  });
});
