/**
 * Whole servers that change what texts say or take no writes: a service on each is right, is not
 * ready, or does not start.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded.ts';
import { isUnavailable, rawSql, sql } from '../../src/lib/sql/sql.ts';
import { assertSaid, call, placeFor, reaches, submit, type Place } from '../commands/cli.ts';
import { secret } from '../commands/serve-kit.ts';
import { until } from '../kit/until.ts';
import { clusterOf, tempFolder, type Cleanup } from './embedded-kit.ts';
import { answers, everywhere, foreign, openAt } from './settings-kit.ts';

const urlOf = ({ connection: { host, port, user, database } }: EmbeddedServer) =>
  `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;

const socketOf = ({ connection: { host, port } }: EmbeddedServer) => `${host}/.s.PGSQL.${port}`;

/** A started server with its own folder; all of it is gone after the suite. */
async function serverIn(t: Cleanup, settings: Record<string, string> = {}) {
  const dataDir = path.join(tempFolder(t), 'data');
  const server = await startEmbedded({ dataDir, settings });
  t.after(() => server.stop());
  return { dataDir, server, url: urlOf(server) };
}

/** Commands and services on this database. */
function placeOn(t: Cleanup, url: string): Place {
  const FAREBOX_BASE_URL = 'https://models.example.com/v1';
  return placeFor(t, { DATABASE_URL: url, FAREBOX_SECRET: secret, FAREBOX_BASE_URL });
}

async function newKey(place: Place, email: string): Promise<string> {
  const made = await place.run(['account', 'create', email, '--credit-usd', '5', '--json']);
  assert.equal(made.code, 0, made.stderr);
  const key = await place.run(['key', 'create', '--account', email, '--json']);
  assert.equal(key.code, 0, key.stderr);
  return key.json.key;
}

/** `database`, if the service is not ready because of it; null if it is ready. */
async function failing(base: string): Promise<string | null> {
  const { status, body } = await call(base, 'GET', '/readyz', null);
  return status === 200 ? null : body.error.details.failing;
}

async function query(url: string, ...texts: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set default_transaction_read_only = off');
    let rows: Record<string, unknown>[] = [];
    for (const text of texts) ({ rows } = await client.query(text));
    return rows;
  } finally {
    await client.end();
  }
}

/** Runs the functions in reverse order, also those of tests that failed. */
function cleaned() {
  const cleanings: (() => Promise<unknown>)[] = [];
  const t: Cleanup = { after: (clean) => void cleanings.unshift(clean) };
  const clean = async () => {
    for (const each of cleanings) await each();
  };
  return { t, clean };
}

describe('a server with other settings', () => {
  const { t, clean } = cleaned();
  after(clean);

  test('makes no difference to a connection, a service and a command', async () => {
    const { url } = await serverIn(t, foreign);
    const db = openAt(url);
    assert.deepEqual(await answers(db), everywhere);
    await db.close();
    await serves(placeOn(t, url));
  });

  // In Turkish, I and i are different letters; in Lithuanian, y sorts as i; C sorts by bytes.
  for (const locale of ['tr-TR', 'lt-LT', 'C'])
    test(`serves a database whose locale is ${locale}`, async () => {
      const { url } = await serverIn(t);
      const provider =
        locale === 'C' ? `locale = 'C'` : `locale_provider icu icu_locale '${locale}' locale 'C'`;
      await query(url, `create database other template template0 encoding UTF8 ${provider}`);
      await serves(placeOn(t, url.replace(/[^/]*$/, 'other')));
    });
});

/** A service and the commands do a job from its submit to the audit. */
async function serves(place: Place): Promise<void> {
  const service = await place.start(['serve']);
  const key = await newKey(place, 'I.Ana@EXAMPLE.com');
  const again = await place.run(['account', 'create', 'i.ana@example.com', '--json']);
  assert.notEqual(again.code, 0, 'the same address made two accounts');
  const id = await submit(service.base, key, 'a lighthouse');
  await reaches(service.base, key, id, 'COMPLETED');
  const { body: card } = await call(service.base, 'GET', `/v1/requests/${id}`, key);
  assert.ok(Date.now() - Date.parse(card.created_at) < 120_000, card.created_at);
  assert.ok(card.completed_at >= card.started_at, card.completed_at);
  const { status, body } = await call(service.base, 'GET', `/v1/requests/${id}/response`, key);
  assert.equal(status, 200);
  assert.equal(body.images.length, 1);
  const listed = await call(service.base, 'GET', '/v1/requests?limit=1', key);
  assert.equal(listed.body.data[0].request_id, id);
  assert.equal((await place.run(['audit', '--json'])).json.ok, true);
  assert.equal((await service.end('SIGTERM')).code, 0);
  assert.doesNotMatch(service.stderr(), /"level":50/);
}

describe('a server that becomes read-only', () => {
  const { t, clean } = cleaned();
  after(clean);

  test('is not ready without a lost connection, and serve does not start on it', async () => {
    const { url } = await serverIn(t);
    const place = placeOn(t, url);
    const service = await place.start(['serve']);
    const key = await newKey(place, 'ana@example.com');
    const set = (text: string) => query(url, `alter system ${text}`, 'select pg_reload_conf()');
    await set('set default_transaction_read_only = on');
    await until('it is not ready', async () => (await failing(service.base)) === 'database');
    const body = { prompt: 'x' };
    const refused = await call(service.base, 'POST', '/v1/queue/test/image', key, body);
    assert.equal(refused.status, 503);
    assertSaid(
      await place.command(['serve']),
      /default_transaction_read_only = on; Farebox needs off/,
    );
    const listed = await place.command(['account', 'list', '--json']);
    assert.equal(listed.json.total, 1);
    await set('reset all');
    await until('it is ready', async () => (await failing(service.base)) === null);
    await submit(service.base, key, 'a lighthouse');
    assert.equal((await service.end('SIGTERM')).code, 0);
    assert.match(service.stderr(), /takes no writes[^]*the database is back/);
  });
});

describe('a failover', () => {
  const { t, clean } = cleaned();
  after(clean);

  test('is not over on a standby, and is over once that was promoted', async () => {
    const { dataDir, server } = await serverIn(t);
    const target = { path: socketOf(server) };
    const line = await openSwitch(target);
    t.after(line.close);
    const url = `postgres://farebox@127.0.0.1:${line.port}/farebox`;
    const place = placeOn(t, url);
    const first = await place.start(['serve']);
    const key = await newKey(place, 'ana@example.com');
    assert.equal((await first.end('SIGTERM')).code, 0);

    // A standby is a copy that follows nobody.
    await server.stop();
    const copy = path.join(tempFolder(t), 'data');
    execFileSync('cp', ['-a', dataDir, copy]);
    const signal = path.join(clusterOf(copy), 'standby.signal');
    execFileSync('cp', ['-a', path.join(clusterOf(copy), 'PG_VERSION'), signal]);
    const primary = await startEmbedded({ dataDir });
    t.after(() => primary.stop());
    const standby = await startEmbedded({ dataDir: copy });
    t.after(() => standby.stop());
    const service = await place.start(['serve']);
    assert.equal(await failing(service.base), null);

    // The open connections stay with the former primary, which has become read-only.
    target.path = socketOf(standby);
    const of = urlOf(primary);
    await query(
      of,
      'alter system set default_transaction_read_only = on',
      'select pg_reload_conf()',
    );
    await until('it is not ready', async () => (await failing(service.base)) === 'database');
    const usersOf = (server: EmbeddedServer) =>
      query(
        urlOf(server),
        `select pid from pg_stat_activity where application_name like 'farebox serve%'`,
      );
    await until('the standby is asked', async () => {
      assert.equal(await failing(service.base), 'database');
      return (await usersOf(standby)).length > 0;
    });
    assert.doesNotMatch(service.stderr(), /the database is back/);
    assertSaid(await place.command(['serve']), /PostgreSQL is a standby, which takes no writes/);
    const audit = await place.command(['audit', '--full', '--json']);
    assert.deepEqual([audit.code, audit.json.ok], [0, true], audit.stderr);
    assert.doesNotMatch(audit.stderr, /"level"/);
    const refused = await place.command(['credit', 'ana@example.com', '1', '--reference', 'r']);
    assertSaid(refused, /^The database cannot be used: .*read-only/);

    await query(url, 'select pg_promote()');
    await until('it is ready', async () => (await failing(service.base)) === null);
    const id = await submit(service.base, key, 'a lighthouse');
    await reaches(service.base, key, id, 'COMPLETED');
    await until('nobody is left', async () => (await usersOf(primary)).length === 0, 40_000);
    assert.equal((await service.end('SIGTERM')).code, 0);
    assert.match(service.stderr(), /the database takes no writes[^]*the database is back/);
  });
});

describe('a full disk', () => {
  const { t, clean } = cleaned();
  after(clean);
  const folder = tempFolder(t);
  const isMounted =
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', folder]).status === 0;
  if (isMounted) t.after(async () => void execFileSync('umount', ['-l', folder]));

  let url: string;
  let place: Place;
  before(async () => {
    if (!isMounted) return;
    const { dataDir, server } = await serverIn(t);
    const { uid, gid } = fs.statSync(clusterOf(dataDir));
    fs.chownSync(folder, uid, gid);
    url = urlOf(server).replace(/\/[^/]*$/, '/books');
    await query(
      urlOf(server),
      `create tablespace small location '${folder}'`,
      'create database books tablespace small',
    );
    place = placeOn(t, url);
  });
  const filler = path.join(folder, 'filler');
  const fill = () => {
    const part = Buffer.alloc(64 << 10);
    try {
      for (;;) fs.appendFileSync(filler, part);
    } catch {
      // Not even one more page fits.
    }
    try {
      for (;;) fs.appendFileSync(filler, part.subarray(0, 4096));
    } catch {}
  };

  test(
    'is not ready before a write was tried, and is ready as soon as there is room',
    { skip: isMounted ? false : 'mounting a small disk needs rights that are missing here' },
    async () => {
      const service = await place.start(['serve']);
      const key = await newKey(place, 'ana@example.com');
      await submit(service.base, key, 'a lighthouse');
      for (let round = 0; round < 2; round++) {
        fill();
        await until('it is not ready', async () => (await failing(service.base)) === 'database');
        fs.rmSync(filler);
        await until('it is ready', async () => (await failing(service.base)) === null);
      }
      const id = await submit(service.base, key, 'a lighthouse');
      await reaches(service.base, key, id, 'COMPLETED');
      assert.equal((await service.end('SIGTERM')).code, 0);
      assert.match(service.stderr(), /No space left[^]*takes no writes[^]*the database is back/);
      assert.equal((await place.run(['audit', '--json'])).json.ok, true);
    },
  );

  test('also when it is only one file that must not grow', { skip: !hasPrlimit() }, async () => {
    const { dataDir, server, url: limited } = await serverIn(t);
    const { uid, gid } = fs.statSync(clusterOf(dataDir));
    const user = process.getuid?.() === 0 ? { uid, gid } : {};
    const limitFiles = (limit: string) =>
      execFileSync('prlimit', ['--pid', String(server.pid), `--fsize=${limit}`], user);
    const db = openAt(limited);
    t.after(() => db.close());
    await db.run(rawSql('create table big (filler text)'));
    // Below this, the log of the server could not grow either.
    limitFiles(`${(17 << 20) + 8192}:`);
    const own = openAt(limited);
    t.after(() => own.close());
    await own.demandWrites();
    const writes = async () => {
      for (;;)
        await own.run(sql`insert into big select repeat(random()::text, 400)
        from generate_series(1, 40000)`);
    };
    await assert.rejects(writes(), (error) => {
      assert.match(String(error), /could not extend file|File too large/);
      return isUnavailable(error);
    });
    await assert.rejects(own.demandWrites(), /could not extend file|File too large/);
    limitFiles('unlimited:');
  });
});

function hasPrlimit(): boolean {
  return spawnSync('prlimit', ['--version']).status === 0;
}

/** Leads new connections to the target of the moment; open ones stay where they are. */
async function openSwitch(target: { path: string }) {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(target.path);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as net.AddressInfo;
  const close = async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port, close };
}
