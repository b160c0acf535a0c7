import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { claimFolder } from '../../src/db/embedded.ts';
import { claimOnce, startScript, tempFolder } from './embedded-kit.ts';

describe('a claim on a data folder', () => {
  test('has one winner among processes that start together, and the others say who holds it', async (t) => {
    const dataDir = tempFolder(t);
    const all = [1, 2, 3, 4].map(() => startScript(t, dataDir, claimOnce));
    const told = await Promise.all(all.map((one) => one.hear()));
    const winners = told.filter((one) => one.won);
    assert.equal(winners.length, 1);
    const losers = told.filter((one) => one.held_by === `service ${winners[0]!.won}`);
    assert.equal(losers.length, 3);
  });

  test('stays held by a process that is suspended and cannot answer', async (t) => {
    const dataDir = tempFolder(t);
    const holder = startScript(t, dataDir, claimOnce);
    await holder.hear();
    process.kill(holder.pid, 'SIGSTOP');
    const result = await claimFolder(dataDir, 'me');
    assert.deepEqual(result, { held_by: 'a process that does not respond' });
  });

  test('is never held twice while processes fight for it and are killed', async (t) => {
    const dataDir = tempFolder(t);
    // Only one process can make the file. A process that holds the claim and finds it, says so.
    const fight = `
      for (let wins = 0; wins < 20; ) {
        const result = await claimFolder(dataDir, String(process.pid));
        if ('held_by' in result) continue;
        const inside = dataDir + '/inside';
        const before = readIfThere(inside);
        if (before && isAlive(before)) say({ together: [before, process.pid] });
        fs.writeFileSync(inside, String(process.pid));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
        fs.rmSync(inside, { force: true });
        if (Math.random() < 0.02) process.kill(process.pid, 'SIGKILL');
        result.release();
        wins++;
      }
      say({ done: true });
      function readIfThere(file) {
        try { return Number(fs.readFileSync(file, 'utf8')); } catch { return 0; }
      }
      function isAlive(pid) {
        try { return process.kill(pid, 0); } catch { return false; }
      }`;
    const fighters = [1, 2, 3].map(() => startScript(t, dataDir, fight));
    const told = (await Promise.all(fighters.map((one) => one.hearAll()))).flat();
    assert.deepEqual(
      told.filter((one) => one.together),
      [],
    );
    assert.ok('release' in (await claimFolder(dataDir, 'me')), 'somebody dead still holds it');
  });
});
