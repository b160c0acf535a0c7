import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  connect,
  later,
  nextRestart,
  start,
  startScript,
  tempFolder,
  value,
  writer,
} from './embedded-kit.ts';

describe('a first start', () => {
  test('by three processes at once makes one server, in an awkward long path too', async (t) => {
    const dataDir = path.join(tempFolder(t), `a b, "c" 'd' é`, 'x'.repeat(120));
    const script = `
      const server = await startEmbedded({ dataDir });
      say({ pid: server.pid, started: server.started });
      setInterval(() => {}, 1000);`;
    const all = [1, 2, 3].map(() => startScript(t, dataDir, script));
    const told = await Promise.all(all.map((one) => one.hear()));
    assert.equal(new Set(told.map((one) => one.pid)).size, 1);
    assert.equal(told.filter((one) => one.started).length, 1);

    const server = await start(t, { dataDir });
    assert.equal(server.pid, told[0]!.pid);
    const { host } = server.connection;
    later(t, async () => fs.rmSync(host, { recursive: true, force: true }));
    assert.ok(host.length < 90, host);
    assert.equal(fs.statSync(host).mode & 0o077, 0, 'others can get to the socket');
    assert.equal(await value(await connect(t, server), '1'), 1);
    // Otherwise they would restart the server when this test stops it.
    for (const one of all) await one.kill('SIGKILL');
  });
});

describe('a server that runs', () => {
  test('does not get the Ctrl-C that ends its service', async (t) => {
    const dataDir = path.join(tempFolder(t), 'data');
    const service = startScript(t, dataDir, writer, { group: true });
    const { pid } = await service.hear();
    process.kill(-service.pid, 'SIGINT');
    await service.hearAll();
    const server = await start(t, { dataDir });
    assert.equal(server.pid, pid);
    assert.equal(server.started, false);
    const log = fs.readFileSync(path.join(dataDir, 'postgres.log'), 'utf8');
    assert.doesNotMatch(log, /shutdown request/);
  });
});

describe('a server that is killed', () => {
  test('comes back although a backend that computes still holds its memory', async (t) => {
    const dataDir = path.join(tempFolder(t), 'data');
    const server = await start(t, { dataDir });
    const [client, watcher] = [await connect(t, server), await connect(t, server)];
    const backend = Number(await value(client, 'pg_backend_pid()'));
    const busy = assert.rejects(
      client.query('select count(*) from generate_series(1, 1e11::bigint)'),
    );
    const isBusy = `exists (select from pg_stat_activity
      where pid = ${backend} and state = 'active' and query like '%generate_series%')`;
    while (!(await value(watcher, isBusy))) continue;
    const restart = nextRestart(server);
    process.kill(server.pid, 'SIGKILL');
    await restart;
    await busy;
    assert.equal(await value(await connect(t, server), '1'), 1);
    const log = fs.readFileSync(path.join(dataDir, 'postgres.log'), 'utf8');
    assert.match(log, /is still in use/, 'the old backend was not in the way');
  });
});
