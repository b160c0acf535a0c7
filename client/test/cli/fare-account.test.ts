/** Keys, addresses and settings of `fare`: what is saved, with which rights, and never shown. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { inLong } from '../../../server/test/kit/long.ts';
import { withService } from '../../../server/test/kit/with-service.ts';
import { homeOf, refused, well } from './fare-kit.ts';

const { service, account } = withService({
  account: { usd: 12.5, monthly_limit_usd_micro: 3_000_000n },
});

describe('fare login', () => {
  test('saves a key that the service accepts, readable by its owner only', async () => {
    const home = homeOf(service, null);
    const address = service.base.replace('http://', '');
    const ran = well(
      await home.start(['login', '--base-url', address, '--key-stdin'], {
        stdin: `${account.key}\n`,
      }).ended,
    );
    assert.match(ran.stdout, /\$12\.50 can be spent/);
    assert.doesNotMatch(ran.all, /fbx_/);
    assert.equal(fs.statSync(home.settingsFile).mode & 0o777, 0o600);
    assert.equal(fs.statSync(path.dirname(home.settingsFile)).mode & 0o777, 0o700);
    const { base_url, api_key } = JSON.parse(fs.readFileSync(home.settingsFile, 'utf8'));
    assert.deepEqual([base_url, api_key], [`${service.base}/v1`, account.key]);
    assert.equal(well(await home.run(['balance', '--json'])).json.available_usd_micro, '12500000');
  });

  inLong('shows the name of a key without control sequences', async () => {
    const home = homeOf(service, null);
    const reply = {
      available_usd_micro: '1',
      reserved_usd_micro: '0',
      key: {
        name: 'a\u001b]0;x\u0007\u009b31m\u202eb',
        limit_usd_micro: null,
        spent_usd_micro: '0',
      },
    };
    const other = createServer((_req, res) => res.end(JSON.stringify(reply)));
    await new Promise<void>((go) => other.listen(0, '127.0.0.1', go));
    const { port } = other.address() as AddressInfo;
    const args = ['login', '--base-url', `http://127.0.0.1:${port}`, '--key-stdin'];
    const ran = well(await home.run(args, { stdin: 'fbx_a' }));
    const json = well(await home.run(['balance', '--json']));
    other.close();
    assert.match(ran.stdout, /the key "a\]0;x31mb"/);
    for (const { stdout } of [ran, json])
      assert.doesNotMatch(stdout, /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
    assert.equal(json.json.key.name, reply.key.name);
  });

  test('keeps nothing of a key that the service refuses', async () => {
    const home = homeOf(service, null);
    const wrong = `${account.key.slice(0, -1)}${account.key.endsWith('0') ? '1' : '0'}`;
    const args = ['login', '--base-url', service.base, '--key-stdin'];
    // `fare login` tries the given key and address, not those of the environment.
    const env = { FAREBOX_API_KEY: account.key, FAREBOX_BASE_URL: 'http://127.0.0.1:9/v1' };
    for (const how of [{ stdin: wrong }, { stdin: wrong, env }]) {
      const ran = refused(await home.run(args, how), 3, /did not accept this key\.\nNot saved/);
      assert.doesNotMatch(ran.stderr, /Authorization|header/i);
      assert.ok(ran.stderr.includes(`${service.base}/dashboard/keys`), ran.all);
      assert.doesNotMatch(ran.stderr, /FAREBOX_API_KEY/);
    }
    assert.equal(fs.existsSync(home.settingsFile), false);
  });

  inLong('a file that lost its mode gets it back when it is read', async () => {
    const home = homeOf(service, account.key);
    fs.chmodSync(home.settingsFile, 0o644);
    well(await home.run(['balance']));
    assert.equal(fs.statSync(home.settingsFile).mode & 0o777, 0o600);
  });
});

describe('the environment', () => {
  inLong('its key and address override the saved ones', async () => {
    const other = await service.account({ usd: 1 });
    const home = homeOf(service, account.key);
    const env = { FAREBOX_API_KEY: other.key };
    assert.equal(
      well(await home.run(['balance', '--json'], { env })).json.available_usd_micro,
      '1000000',
    );
    const bare = homeOf(service, null);
    const both = { ...env, FAREBOX_BASE_URL: service.base };
    assert.equal(well(await bare.run(['balance', '--json'], { env: both })).code, 0);
  });

  test('another address never gets the saved key', async () => {
    const seen: (string | undefined)[] = [];
    const stranger = createServer((req, res) => {
      seen.push(req.headers.authorization);
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
    });
    await new Promise<void>((go) => stranger.listen(0, '127.0.0.1', go));
    const env = {
      FAREBOX_BASE_URL: `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`,
    };
    const home = homeOf(service, account.key);
    refused(await home.run(['balance'], { env }), 3, /no key for http:\/\/127[^]*saved key is for/);
    refused(await home.run(['models'], { env }), 0, /offers no models/);
    assert.deepEqual(seen, [undefined]);
    stranger.close();
  });
});

test('fare balance shows the account and the month of the key', async () => {
  const home = homeOf(service, account.key);
  const shown = well(await home.run(['balance'])).stdout;
  assert.match(
    shown,
    /^available\t\$12\.50\nreserved\t\$0\.00\nkey\ttest\nthis month\t\$0\.00 of \$3\.00, resets on /,
  );
  const { key, ...rest } = well(await home.run(['balance', '--json'])).json;
  assert.deepEqual(rest, {
    currency: 'USDT',
    available_usd_micro: '12500000',
    reserved_usd_micro: '0',
    bonuses: [],
    top_up: [],
  });
  assert.equal(key.limit_usd_micro, '3000000');
});
