import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dataDir } from '../../src/config.ts';
import { readConfig } from '../../src/read-config.ts';

test('the data folder and its contents are closed to other users, old ones too', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'farebox-modes-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const config = readConfig({ FAREBOX_DATA_DIR: join(home, 'data') });
  const isRoot = process.getuid?.() === 0;
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  const look = async () => [
    await modeOf(dataDir(config)),
    await modeOf(dataDir(config, 'sandbox')),
  ];
  const wanted = [isRoot ? '711' : '700', '700'];
  assert.deepEqual(await look(), wanted);
  await chmod(dataDir(config), 0o755);
  await chmod(dataDir(config, 'sandbox'), 0o755);
  assert.deepEqual(await look(), wanted);
  await chmod(home, 0o1777);
  dataDir(readConfig({ FAREBOX_DATA_DIR: home }));
  assert.equal(((await stat(home)).mode & 0o7777).toString(8), '1777', 'shared on purpose');
});
