/** `fare resume` continues each open request of this computer. */
import { after, before, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { refused as refusedBy, startFaulty } from '../../../server/test/kit/faulty.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { begin, homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService({ running: true });
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

const limited = refusedBy(429, 'rate_limited', { 'x-should-retry': 'false' });
const cat = ['run', 'fake/image', '--prompt', 'a cat on a mat'];

describe('fare resume', () => {
  test('another computer takes it up by its id', async () => {
    const { running, id, finish } = await begin(service, home, cat);
    running.child.kill('SIGKILL');
    await running.ended;
    finish();
    home = homeOf(service, account.key);
    assert.match(well(await home.run(['resume', id])).stdout, /^a-cat-on-a-mat-/);
  });

  test('a refusal of the first try leaves nothing to resume', async () => {
    const faulty = await startFaulty(service.base);
    const env = { FAREBOX_BASE_URL: `${faulty.base}/v1`, FAREBOX_API_KEY: account.key };
    faulty.meet('/queue/', limited);
    refused(await home.run(cat, { env }), 6, /Not now/);
    refused(
      await home.run(['resume'], { env }),
      2,
      /No request that was run on this computer is still open/,
    );
    await faulty.stop();
  });

  test('--no-wait prints the id alone; `fare resume` does the rest', async () => {
    const ran = well(await home.run([...cat, '--no-wait']));
    assert.match(ran.stdout, /^[0-9a-f-]{36}\n$/);
    assert.match(well(await home.run(['resume'])).stdout, /^a-cat-on-a-mat-/);
  });
});
