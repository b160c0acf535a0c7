import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startService, type Service } from '../../server/test/kit/service.ts';
import { run, workspace } from './package-kit.ts';

/** The client that the service serves, installed by npm. */

const { version } = JSON.parse(readFileSync(path.join(workspace, 'package.json'), 'utf8'));

describe('GET /farebox-client.tgz', () => {
  let service: Service;
  let dir: string;
  before(async () => {
    service = await startService();
    dir = mkdtempSync(path.join(tmpdir(), 'farebox-stranger-'));
    writeFileSync(path.join(dir, 'package.json'), '{ "private": true, "type": "module" }');
  });
  after(async () => {
    rmSync(dir, { recursive: true, force: true });
    await service.stop();
  });

  test('is a package that npm installs from its address, with the library and the command', async () => {
    const account = await service.account();
    const address = `${service.base}/v1/farebox-client.tgz`;
    // The registry cannot be reached, because the package needs no other one.
    const alone = ['--registry=http://127.0.0.1:9', '--fetch-retries=0'];
    const flags = [...alone, '--no-audit', '--no-fund', '--ignore-scripts'];
    const made = await run('npm', ['install', address, ...flags], dir);
    assert.equal(made.code, 0, made.stderr);
    const everywhere = await run('npm', ['install', '-g', '--prefix', dir, address, ...flags], dir);
    assert.equal(everywhere.code, 0, everywhere.stderr);
    assert.match(readFileSync(path.join(dir, 'share/man/man1/fare.1'), 'utf8'), /^\.TH/m);
    const env = { FAREBOX_API_KEY: account.key, FAREBOX_BASE_URL: `${service.base}/v1` };
    const fare = path.join(dir, 'node_modules/.bin/fare');
    assert.equal((await run(fare, ['--version'], dir, env)).stdout.trim(), version);
    const told = await run(fare, ['balance', '--json'], dir, env);
    assert.equal(JSON.parse(told.stdout).available_usd_micro, '100000000', told.stderr);
    const program = `import { Farebox } from '@farebox/client';
      console.log((await new Farebox().balance()).available_usd_micro);`;
    writeFileSync(path.join(dir, 'balance.mjs'), program);
    assert.equal((await run('node', ['balance.mjs'], dir, env)).stdout, '100000000n\n');
  });
});
