/** `fare` names wrong keys and addresses, and keeps settings. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { refused as refusedBy, startFaulty } from '../../../server/test/kit/faulty.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { homeOf, refused, well } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService();
  account = await service.account({ usd: 12.5, monthly_limit_usd_micro: 3_000_000n });
});
after(() => service.stop());

test('fare login refuses an invalid key or address, and says if it cannot ask for them', async () => {
  const home = homeOf(service, null);
  const stdin = 'two words';
  const args = ['login', '--key-stdin', '--base-url'];
  refused(await home.run([...args, service.base], { stdin }), 2, /not a key: a key is one word/);
  refused(await home.run([...args, 'http://a b'], { stdin }), 2, /not an address/);
  refused(await home.run(['login']), 2, /This terminal cannot ask[^]*--key-stdin/);
});

test('an address where nothing listens: says what to check, exit 6', async () => {
  const home = homeOf(service, null);
  const env = { FAREBOX_BASE_URL: 'http://127.0.0.1:9', FAREBOX_API_KEY: account.key };
  const ran = refused(await home.run(['balance'], { env }), 6, /127\.0\.0\.1:9[^]*right address/);
  // The hint comes once, not in two forms.
  assert.doesNotMatch(ran.stderr, /Check the address/);
});

test('fare logout forgets the key, and only the key', async () => {
  const home = homeOf(service, account.key);
  well(await home.run(['settings', 'max-usd', '2']));
  well(await home.run(['logout']));
  const kept = JSON.parse(fs.readFileSync(home.settingsFile, 'utf8'));
  assert.deepEqual(kept, { base_url: `${service.base}/v1`, max_usd: '2.00' });
  refused(await home.run(['balance']), 3, /There is no key for/);
  refused(await home.run(['logout']), 1, /No key is saved/);
});

test('fare settings: shown without the key, changed, removed, and only known ones', async () => {
  const home = homeOf(service, account.key);
  well(await home.run(['settings', 'ask-above-usd', '1.5']));
  assert.equal(well(await home.run(['settings', 'ask-above-usd'])).stdout, '1.50\n');
  const all = well(await home.run(['settings', '--json']));
  assert.deepEqual(all.json, {
    base_url: `${service.base}/v1`,
    has_key: true,
    ask_above_usd: '1.50',
    max_usd: null,
    chat_model: null,
  });
  assert.doesNotMatch(all.all, /fbx_/);
  well(await home.run(['settings', 'ask-above-usd', 'none']));
  assert.equal(well(await home.run(['settings', '--json'])).json.ask_above_usd, '0.25');
  refused(await home.run(['settings', 'api-key']), 2, /no setting api-key[^]*max-usd/);
  refused(await home.run(['settings', 'max-usd', 'a lot']), 2, /amount/);
});

test('a service that limits the rate: the wait is shown on stderr, but not with -q', async () => {
  const faulty = await startFaulty(service.base);
  const home = homeOf(service, account.key);
  const env = { FAREBOX_BASE_URL: `${faulty.base}/v1`, FAREBOX_API_KEY: account.key };
  const soon = refusedBy(429, 'rate_limited', { 'retry-after': '2' });
  faulty.meet('/balance', soon, soon);
  const [told, quiet] = await Promise.all([
    home.run(['balance', '--json'], { env }),
    home.run(['balance', '--json', '-q'], { env }),
  ]);
  await faulty.stop();
  assert.equal(well(told).stderr, 'The service limits the rate of calls; trying again in 2 s\n');
  assert.equal(well(quiet).stderr, '');
  assert.equal(told.json.available_usd_micro, '12500000');
});
