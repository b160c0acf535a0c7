import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import pg from 'pg';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded.ts';
import { stopServer } from '../../src/db/embedded/process.ts';
import { findRunning, isServer } from '../../src/db/embedded/running.ts';
import { unprivilegedUser } from '../../src/db/embedded/user.ts';
import {
  clusterOf,
  connect,
  isRoot,
  later,
  nextRestart,
  start,
  startScript,
  tempFolder,
  value,
  writer,
} from './embedded-kit.ts';

const nobodyUid = 65534;

/** A data folder with a cluster; most tests use it one after the other. */
let usedFolder: string;
let firstStart: { started: boolean; facts: Record<string, unknown> };
const cleanups: (() => Promise<void>)[] = [];

before(async () => {
  const folder = tempFolder({ after: (clean: () => Promise<void>) => cleanups.push(clean) });
  usedFolder = path.join(folder, 'not', 'there', 'yet');
  const server = await startEmbedded({ dataDir: usedFolder });
  firstStart = { started: server.started, facts: await factsOf(server) };
  await server.stop();
});
after(async () => {
  for (const clean of cleanups) await clean();
});

async function factsOf(server: EmbeddedServer): Promise<Record<string, unknown>> {
  const client = new pg.Client(server.connection);
  await client.connect();
  const { rows } = await client.query(`
    select datname, datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding,
      uuidv7()::text as uuid,
      (select jsonb_object_agg(name, setting) from pg_settings) as settings
      from pg_database where datname = current_database()`);
  await client.end();
  return rows[0];
}

/** The used folder without a server and with an empty log, restored after the test. */
function stoppedFolder(t: TestContext): string {
  assert.equal(findRunning(clusterOf(usedFolder)), null);
  fs.rmSync(path.join(usedFolder, 'postgres.log'), { force: true });
  later(t, () => stopServer(clusterOf(usedFolder)));
  return usedFolder;
}

const stays = 'setInterval(() => {}, 1000);';

describe('a first start', () => {
  test('makes a durable UTF-8 database, reachable only by a Unix socket', () => {
    const { started, facts } = firstStart;
    assert.equal(started, true);
    assert.match(String(facts.uuid), /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.deepEqual(
      [facts.datname, facts.encoding, facts.datlocprovider, facts.datlocale],
      ['farebox', 'UTF8', 'b', 'C.UTF-8'],
    );
    const expected = {
      data_checksums: 'on',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      TimeZone: 'UTC',
    };
    const settings = facts.settings as Record<string, string>;
    for (const [name, wanted] of Object.entries(expected)) {
      assert.equal(settings[name], wanted, name);
    }
  });

  test('that fails says why and does not block the next start', async (t) => {
    const dataDir = stoppedFolder(t);
    await assert.rejects(
      startEmbedded({ dataDir, settings: { shared_buffers: 'plenty' } }),
      /PostgreSQL did not start .*invalid value for parameter "shared_buffers": "plenty"/s,
    );
    const server = await start(t, { dataDir, settings: { work_mem: '5MB' } });
    const client = await connect(t, server);
    assert.equal(await value(client, `current_setting('work_mem')`), '5MB');
  });
});

describe('a server that runs', () => {
  test('is adopted by the next start and not started twice', async (t) => {
    const dataDir = stoppedFolder(t);
    const first = await start(t, { dataDir });
    await first.release();
    const second = await start(t, { dataDir });
    assert.deepEqual([first.started, second.started], [true, false]);
    assert.equal(second.pid, first.pid);
    assert.deepEqual(second.connection, first.connection);
  });

  test('survives kill -9 of its service with every acknowledged row', async (t) => {
    const dataDir = stoppedFolder(t);
    const service = startScript(t, dataDir, writer);
    for (let n = 0; n < 50; n++) await service.hear();
    await service.kill('SIGKILL');
    const last = (await service.hearAll()).at(-1) ?? { n: 50 };

    const server = await start(t, { dataDir });
    assert.equal(server.started, false);
    const client = await connect(t, server);
    const kept = Number(await value(client, '(select count(*) from rows)'));
    assert.ok(kept === last.n || kept === last.n + 1, `${kept} rows, ${last.n} acknowledged`);
  });

  test('lets no other user in', { skip: !isRoot && 'needs root' }, async (t) => {
    const server = await start(t, { dataDir: stoppedFolder(t) });
    const socket = path.join(server.connection.host, '.s.PGSQL.5432');
    const code = `require('net').connect(${JSON.stringify(socket)})
      .on('connect', () => process.exit(0)).on('error', (e) => { console.log(e.code); })`;
    const run = (uid: number) =>
      spawnSync(process.execPath, ['-e', code], {
        uid,
        gid: nobodyUid,
        cwd: '/',
      }).stdout.toString();
    assert.notEqual(unprivilegedUser()?.uid, nobodyUid);
    assert.equal(run(nobodyUid), 'EACCES\n');
    assert.equal(run(unprivilegedUser()!.uid), '', 'its own user cannot connect');
  });
});

describe('a server that is killed', () => {
  test('restarts by itself, once for all processes that use it, with every acknowledged row', async (t) => {
    const dataDir = stoppedFolder(t);
    // The server is a child of one process, and the other one has adopted it.
    const mine = await start(t, { dataDir });
    const other = await start(t, { dataDir });
    const first = await connect(t, mine);
    await first.query('drop table if exists rows');
    await first.query('create table rows (n int primary key)');
    const restarts = Promise.all([nextRestart(mine), nextRestart(other)]);
    const killed = mine.pid;

    let acked = 0;
    const writing = (async () => {
      for (;;) {
        await first.query('insert into rows values ($1)', [acked + 1]);
        if (++acked === 50) process.kill(killed, 'SIGKILL');
      }
    })();
    await assert.rejects(writing);

    const [pidOfMine, pidOfOther] = await restarts;
    assert.equal(pidOfMine, pidOfOther);
    assert.notEqual(pidOfMine, killed);
    assert.ok(isServer(pidOfMine, clusterOf(dataDir)));
    const again = await connect(t, mine);
    const kept = Number(await value(again, '(select count(*) from rows)'));
    assert.ok(kept === acked || kept === acked + 1, `${kept} rows, ${acked} acknowledged`);
  });

  test('is not brought back after stop', async (t) => {
    const dataDir = stoppedFolder(t);
    const server = await start(t, { dataDir });
    const { pid } = server;
    process.kill(pid, 'SIGKILL');
    await server.stop();
    const next = await start(t, { dataDir });
    assert.equal(next.started, true, 'something had brought it back');
    assert.equal(server.pid, pid);
    await next.stop();
    assert.ok(!isServer(next.pid, clusterOf(dataDir)));
  });
});

describe('leftovers of a crash', () => {
  test('a PID file whose PID now belongs to another program does not prevent a start', async (t) => {
    const dataDir = stoppedFolder(t);
    const stranger = spawn('sleep', ['60'], { ...unprivilegedUser(), stdio: 'ignore' });
    later(t, async () => void stranger.kill('SIGKILL'));
    const cluster = clusterOf(dataDir);
    const run = path.join(dataDir, 'postgres', 'run');
    const lines = [stranger.pid, cluster, 1_700_000_000, 5432, run, '', '  1 1', 'ready   ', ''];
    fs.writeFileSync(path.join(cluster, 'postmaster.pid'), lines.join('\n'));
    fs.writeFileSync(path.join(run, '.s.PGSQL.5432.lock'), lines.join('\n'));

    const server = await start(t, { dataDir });
    assert.equal(server.started, true);
    assert.equal(await value(await connect(t, server), '1'), 1);
    assert.equal(stranger.exitCode ?? stranger.signalCode, null, 'the stranger was killed');
  });

  test('a running server whose process cannot be seen is refused, and no second one is started', async (t) => {
    const dataDir = stoppedFolder(t);
    const server = await start(t, { dataDir });
    await server.release();
    const pidFile = path.join(clusterOf(dataDir), 'postmaster.pid');
    const text = fs.readFileSync(pidFile, 'utf8');
    // As seen from a second container with the same volume and other PIDs.
    fs.writeFileSync(pidFile, text.replace(/^\d+/, String(process.pid)));
    await assert.rejects(
      startEmbedded({ dataDir }),
      /another container, since its process is not visible/,
    );
    assert.ok(fs.existsSync(pidFile));
    assert.equal(await value(await connect(t, server), '1'), 1);
    fs.writeFileSync(pidFile, text);
  });
});

describe('stopIfUnused', () => {
  test('stops the server unless another process or a client uses it', async (t) => {
    const dataDir = stoppedFolder(t);
    const service = await start(t, { dataDir });

    const beside = await start(t, { dataDir });
    assert.equal(await beside.stopIfUnused(), false, 'another one holds it');
    assert.ok(isServer(service.pid, clusterOf(dataDir)));

    const client = await connect(t, service);
    assert.equal(await service.stopIfUnused(), false, 'a client is connected');
    assert.equal(await value(client, '1'), 1);
    await client.end();

    const process = startScript(t, dataDir, `await startEmbedded({ dataDir }); say({});${stays}`);
    await process.hear();
    const second = await start(t, { dataDir });
    assert.equal(await second.stopIfUnused(), false, 'another process holds it');
    await process.kill('SIGKILL');

    const alone = await start(t, { dataDir });
    assert.equal(alone.started, false);
    assert.equal(await alone.stopIfUnused(), true);
    assert.ok(!isServer(alone.pid, clusterOf(dataDir)));
  });
});
