import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { claimFolder } from '../../src/db/embedded.ts';
import { claim } from '../../src/db/embedded/claim.ts';
import { claimOnce, startScript, tempFolder } from './embedded-kit.ts';

describe('a claim on a data folder', () => {
  test('is free at once after kill -9 of its holder, and leaves nothing behind', async (t) => {
    const dataDir = tempFolder(t);
    const holder = startScript(t, dataDir, claimOnce);
    assert.equal((await holder.hear()).won, holder.pid);
    assert.deepEqual(await claimFolder(dataDir, 'me'), { held_by: `service ${holder.pid}` });

    await holder.kill('SIGKILL');

    const mine = await claimFolder(dataDir, 'me');
    assert.ok('release' in mine, 'the dead holder still holds it');
    assert.equal(fs.readdirSync(path.join(dataDir, 'locks', 'service')).length, 1);
    assert.deepEqual(await claimFolder(dataDir, 'other'), { held_by: 'me' });
    mine.release();
    assert.deepEqual(fs.readdirSync(path.join(dataDir, 'locks', 'service')), []);
  });

  test('is never held twice within one process either', async (t) => {
    const folder = path.join(tempFolder(t), 'claims');
    for (let round = 0; round < 15; round++) {
      const results = await Promise.all([1, 2, 3, 4, 5].map((n) => claim(folder, `claimant ${n}`)));
      const winners = results.filter((one) => 'release' in one);
      assert.equal(winners.length, 1);
      winners[0]!.release();
    }
  });

  test('works in a folder whose path is longer than a socket path may be', async (t) => {
    const dataDir = path.join(tempFolder(t), 'ü '.repeat(30), 'x'.repeat(100));
    const mine = await claimFolder(dataDir, 'me');
    assert.ok('release' in mine);
    assert.deepEqual(await claimFolder(dataDir, 'other'), { held_by: 'me' });
    mine.release();
  });
});
