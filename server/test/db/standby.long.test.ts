import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import { startEmbedded } from '../../src/db/embedded.ts';
import { killOrphans } from '../../src/db/embedded/running.ts';
import { readStandbyState } from '../../src/db/standby.ts';
import { openDatabase, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { openStandby, standbyFirst } from '../../src/lib/sql/standby.ts';
import { placeFor } from '../commands/cli.ts';
import { followPrimary, startServers, urlOf, type Servers } from '../chaos/servers.ts';
import { chargedRequest, ok, operatorKey } from '../http/operator/world.ts';
import { testDatabase } from '../kit/database.ts';
import { openPooler, pgbouncer } from '../kit/pgbouncer.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { before } from '../kit/with-service.ts';

/**
 * A service with a real standby. While the standby's replay is paused, a reply shows by its data
 * which of the two servers has answered.
 */

const dir = mkdtempSync(join(tmpdir(), 'farebox-standby-'));
const options = { max: 2, statementTimeoutMs: 30_000, applicationName: 'test' };
/** So long that a test does not wait for it, or so short that it does. */
const [patient, strict] = [3_600_000, 500];
let servers: Servers;
let service: Service;
let account: TestAccount;
let operator: string;

before(async () => {
  // Under root PostgreSQL runs as another user, who needs access to the folder.
  chmodSync(dir, 0o711);
  servers = await startServers(dir, true);
  const usual = process.env.FAREBOX_TEST_DATABASE;
  process.env.FAREBOX_TEST_DATABASE = urlOf(servers.primary);
  service = await startService();
  // Restores the setting of other files in this process.
  if (usual === undefined) delete process.env.FAREBOX_TEST_DATABASE;
  else process.env.FAREBOX_TEST_DATABASE = usual;
  // Otherwise commits would wait for a standby that is away.
  await service.db.run(rawSql('alter system reset synchronous_standby_names'));
  await service.db.run(rawSql('select pg_reload_conf()'));
  account = await service.account();
  operator = (await operatorKey(service)).key;
});
after(async () => {
  await service.audit();
  await service.stop();
  await servers.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function onServer(server: Servers['primary'], text: string): Promise<void> {
  const db = openDatabase({ ...options, connection: urlOf(server) });
  await db.run(rawSql(text)).finally(() => db.close());
}

/** The test's database on the standby. */
function standbyUrl(): string {
  const database = service.databaseUrl.split('/').at(-1)!;
  return urlOf(servers.standby!).replace(/[^/]*$/, database);
}

async function onStandby<T>(work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase({ ...options, connection: standbyUrl() });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

const resumeReplay = () => onStandby((db) => db.run(rawSql('select pg_wal_replay_resume()')));
/** Pauses the replay: the standby receives writes and does not show them. */
const pauseReplay = () =>
  onStandby(async (db) => {
    await db.run(rawSql('select pg_wal_replay_pause()'));
    await until('the replay is paused', async () => {
      const [row] = await db.run<{ state: string }>(sql`
        select pg_get_wal_replay_pause_state() as state`);
      return row!.state === 'paused';
    });
  });

/** A process with this standby, once it is used. */
async function openProcess(standbyLagMs: number, url = standbyUrl()): Promise<string> {
  const { base } = await service.another({ DATABASE_READ_URL: url }, { times: { standbyLagMs } });
  await until('the standby is used', async () => (await gauge(base, 'used')) === 1);
  return base;
}

async function gauge(base: string, name: 'used' | 'lag_seconds'): Promise<number> {
  const { text } = await service.call('GET', '/metrics', { base });
  return Number(new RegExp(`^farebox_reader_${name} (.+)$`, 'm').exec(text)![1]);
}

/** Replies that may lag, each as the number of requests that it shows. */
const lagging: Record<string, (base: string) => Promise<number>> = {
  'a sum': async (base) => {
    const { data } = ok(await account.get('/v1/usage?by=metadata.team', { base }));
    return data.reduce((all: number, line: any) => all + line.requests, 0);
  },
  "the operator's list": async (base) =>
    ok(await byOperator('/v1/operator/requests?limit=100', base)).data.length,
  "the operator's sum": async (base) => {
    const { data } = ok(await byOperator('/v1/operator/usage?by=key', base));
    return data.reduce((all: number, line: any) => all + line.completed, 0);
  },
  'an export': async (base) => {
    const reply = await byOperator('/v1/operator/requests/export', base);
    assert.equal(reply.status, 200, reply.text);
    return reply.text.trim().split('\r\n').length - 1;
  },
};
const byOperator = (path: string, base: string) =>
  service.call('GET', path, { key: operator, base });

async function shown(base: string): Promise<number[]> {
  const counts: number[] = [];
  for (const read of Object.values(lagging)) counts.push(await read(base));
  return counts;
}
const each = (count: number) => Object.values(lagging).map(() => count);

async function count(): Promise<number> {
  const [row] = await service.db.run<{ count: number }>(
    sql`select count(*)::int as count from requests`,
  );
  return row!.count;
}

/** Waits until the standby shows what the primary has, because the second of two is no proof. */
const caughtUp = (base: string) =>
  until('the standby has all', async () => {
    const all = await count();
    return (await shown(base)).every((n) => n === all);
  });

async function paused(t: TestContext): Promise<void> {
  await pauseReplay();
  t.after(resumeReplay);
}

async function assertPrimaryOnly(base: string): Promise<void> {
  const { available } = await service.balance(account);
  const balance = ok(await account.get('/v1/balance', { base }));
  assert.equal(balance.available_usd_micro, String(available));
  const { data } = ok(await account.get('/v1/requests?limit=100', { base }));
  assert.equal(data.length, await count());
}

describe('with a standby that may lag', () => {
  let base: string;
  before(async () => {
    base = await openProcess(patient);
    await chargedRequest(service, account);
    await caughtUp(base);
  });

  test('it answers sums, lists and exports, and the primary all about money', async (t) => {
    const earlier = await count();
    await paused(t);
    const id = await chargedRequest(service, account);
    assert.deepEqual(await shown(base), each(earlier));
    await assertPrimaryOnly(base);
    assert.equal(ok(await account.get(`/v1/requests/${id}`, { base })).status, 'COMPLETED');
    assert.deepEqual(await shown(service.base), each(earlier + 1));
  });

  test('a call that has just submitted sees its request, and may repeat it', async (t) => {
    await paused(t);
    const call = { base, headers: { 'idempotency-key': 'once' } };
    const first = ok(await account.post('/v1/queue/fake/image', { prompt: 'a' }, call), 202);
    const repeat = ok(await account.post('/v1/queue/fake/image', { prompt: 'a' }, call));
    assert.equal(repeat.request_id, first.request_id);
    assert.equal(
      ok(await account.get('/v1/requests', { base })).data[0].request_id,
      first.request_id,
    );
    await service.work();
    await assertPrimaryOnly(base);
  });

  test('sums that first store past days go to the primary', async (t) => {
    await paused(t);
    await service.db.run(rawSql('delete from revenue_days'));
    const id = await chargedRequest(service, account);
    const [row] = ok(await byOperator('/v1/operator/usage?by=day', base)).data;
    const all = await service.db.run(sql`select from requests where status = 'COMPLETED'`);
    assert.equal(row.completed, all.length, id);
    assert.ok((await service.db.run(sql`select from revenue_days`)).length > 0);
  });

  test('while it is away no call fails, and when it is back it is used again', async () => {
    const { standby } = servers;
    // Otherwise it would be started again.
    await standby!.release();
    const calls = Array.from({ length: 20 }, (_, n) =>
      byOperator(`/v1/operator/requests?limit=${n + 1}`, base),
    );
    process.kill(standby!.pid, 'SIGKILL');
    killOrphans(standby!.cluster);
    for (const reply of await Promise.all(calls)) ok(reply);
    await chargedRequest(service, account);
    assert.deepEqual(await shown(base), each(await count()));
    await until('it is told', async () => (await gauge(base, 'used')) === 0);
    assert.ok(Number.isNaN(await gauge(base, 'lag_seconds')));
    assert.match(service.log.join(''), /"why":"away".+the standby is not used/);
    await assertPrimaryOnly(base);
    servers.standby = await followPrimary(dir, servers.primary);
    await until('it is used again', async () => (await gauge(base, 'used')) === 1);
    await caughtUp(base);
    await pauseReplay();
    const earlier = await count();
    await chargedRequest(service, account);
    assert.deepEqual(await shown(base), each(earlier));
    await resumeReplay();
  });
});

describe('with a standby that lags too much', () => {
  test('the primary answers until it has caught up, and the lag is told', async (t) => {
    const base = await openProcess(strict);
    await paused(t);
    await chargedRequest(service, account);
    await until('it lags', async () => (await gauge(base, 'used')) === 0);
    assert.ok((await gauge(base, 'lag_seconds')) > strict / 1000);
    assert.deepEqual(await shown(base), each(await count()));
    // Without a word of the primary, it goes by its own clock.
    const alone = { lsn: null, at: null, installation: null };
    const look = await onStandby((db) => readStandbyState(db, alone));
    assert.ok(look.lag_seconds! > strict / 1000);
    assert.equal(look.is_ours, false);
    const said = service.log.filter((line) => line.includes('"why":"lags"'));
    assert.match(said.at(-1)!, /"lag_seconds":[\d.]+.+the standby is not used/);
    await resumeReplay();
    await until('it is used again', async () => (await gauge(base, 'used')) === 1);
    assert.match(service.log.join(''), /the standby answers reads/);
  });
});

test('reads that wait on the standby keep no place from those at the primary', async () => {
  const env = { DATABASE_READ_URL: standbyUrl(), FAREBOX_DATABASE_POOL: '2' };
  const { base } = await service.another(env, { times: { standbyLagMs: patient } });
  await until('the standby is used', async () => (await gauge(base, 'used')) === 1);
  const held = Promise.withResolvers<void>();
  const locked = service.db.tx(async (tx) => {
    await tx.run(rawSql('lock table operator_events in access exclusive mode'));
    await held.promise;
  });
  const locks = (granted: boolean) => () =>
    onStandby(async (db) => {
      const found = await db.run(sql`
        select from pg_locks
        where relation = 'operator_events'::regclass and granted = ${granted}`);
      return found.length === 1;
    });
  await until('the standby has the lock, too', locks(true));
  const waiting = byOperator('/v1/operator/events', base);
  await until('the call waits there', locks(false));
  // With this pool an owner has one place, and so have all together.
  ok(await byOperator('/v1/operator/accounts', base));
  ok(await account.get('/v1/requests', { base }));
  const { text } = await service.call('GET', '/metrics', { base });
  assert.match(text, /^farebox_share_running\{share="standby_reads"\} 1$/m);
  assert.match(text, /^farebox_share_running\{share="statements"\} 0$/m);
  held.resolve();
  await locked;
  ok(await waiting);
});

test('farebox doctor tells its connections, and the tables that its role may not read', async (t) => {
  const place = placeFor(t, {
    DATABASE_URL: service.databaseUrl,
    FAREBOX_UNSAFE_DATABASE: 'on',
    FAREBOX_WEB: 'off',
  });
  const found = async (url: string, own = {}) => {
    const ran = await place.run(['doctor', '--json'], { DATABASE_READ_URL: url, ...own });
    const checks = ran.json.checks.filter((each: any) => each.check === 'standby');
    assert.equal(checks.length, 1, ran.stdout);
    return checks[0];
  };
  const well = await found(standbyUrl());
  assert.equal(well.state, 'fine', well.says);
  assert.match(
    well.says,
    /^It is [\d.]+ s behind the primary; \d+ of its \d+ connections are open\.$/,
  );
  await service.db.run(rawSql('create role reader login'));
  const [row] = await service.db.run<{ schema: string }>(sql`select current_schema() as schema`);
  await service.db.run(rawSql(`grant select on all tables in schema ${row!.schema} to reader`));
  await service.db.run(rawSql('revoke select on transfers from reader'));
  const reader = standbyUrl().replace(/\/\/[^@]+@/, '//reader@');
  const told = await found(reader);
  assert.equal(told.state, 'wrong', told.says);
  assert.equal(told.says, 'Its role may not read transfers.');
  assert.match(told.todo, /grant select on all tables in schema public/);
  await service.db.run(rawSql('grant select on transfers to reader'));
  await until('the standby has it', async () => (await found(reader)).state === 'fine');
  // Those of the service's own role are not hidden from it.
  const open = (says: string) => Number(/; (\d+) of its/.exec(says)![1]);
  const others = Array.from({ length: 5 }, () =>
    openDatabase({ ...options, max: 1, connection: standbyUrl() }),
  );
  t.after(() => Promise.all(others.map((each) => each.close())));
  for (const each of others) await each.run(sql`select 1`);
  assert.ok(open((await found(reader)).says) > others.length);
  // Another server that has this installation, as a restored copy has.
  const copy = await testDatabase();
  t.after(() => copy.close());
  const [here] = await service.db.run<{ id: string }>(sql`select id from installation`);
  await copy.db.run(sql`
    insert into installation (id, beat, beat_at, writer, database_oid)
    values (${here!.id}, 0, now(), pg_current_xact_id(), 1)`);
  const other = await found(standbyUrl(), { DATABASE_URL: copy.url });
  assert.match(
    `${other.state}: ${other.says}`,
    /^wrong: It follows another primary: it has system_identifier (\d+), this one (?!\1)\d+\.$/,
  );
});

test('farebox doctor knows a standby after a failover that follows, and one that does not', async (t) => {
  const own = mkdtempSync(join(tmpdir(), 'farebox-failover-'));
  chmodSync(own, 0o711);
  const { primary, standby } = await startServers(own, true);
  const running = new Set([primary, standby!]);
  t.after(async () => {
    for (const each of running) await each.stop();
    rmSync(own, { recursive: true, force: true });
  });
  const usual = process.env.FAREBOX_TEST_DATABASE;
  process.env.FAREBOX_TEST_DATABASE = urlOf(primary);
  const { db, url } = await testDatabase();
  if (usual === undefined) delete process.env.FAREBOX_TEST_DATABASE;
  else process.env.FAREBOX_TEST_DATABASE = usual;
  const on = (server: Servers['primary'], role = 'farebox') =>
    urlOf(server)
      .replace(/[^/]*$/, url.split('/').at(-1)!)
      .replace(/\/\/[^@]+@/, `//${role}@`);
  const [row] = await db.run<{ schema: string }>(sql`select current_schema() as schema`);
  for (const text of [
    `insert into installation (id, beat, beat_at, writer, database_oid)
      values (gen_random_uuid(), 0, now(), pg_current_xact_id(), 1)`,
    'create role reader login',
    `grant select on all tables in schema ${row!.schema} to reader`,
    'alter system reset synchronous_standby_names',
  ])
    await db.run(rawSql(text));
  await db.close();
  const settings = { FAREBOX_UNSAFE_DATABASE: 'on', FAREBOX_WEB: 'off' };
  const place = placeFor(t, settings);
  const says = async (read: string, from = standby!) => {
    const env = { DATABASE_URL: on(from), DATABASE_READ_URL: read };
    const ran = await place.run(['doctor', '--json'], env);
    return ran.json.checks.find((each: any) => each.check === 'standby').says;
  };
  const follows = /^It is [\d.]+ s behind the primary; /;
  await primary.stop();
  running.delete(primary);
  const former = join(own, 'former');
  execFileSync('cp', ['-a', join(own, 'data'), former]);
  await onServer(standby!, 'select pg_promote()');
  writeFileSync(join(primary.cluster, 'standby.signal'), '');
  const follower = await followPrimary(own, standby!, 'data');
  running.add(follower);
  await until('it follows', async () => follows.test(await says(on(follower))));
  assert.match(await says(on(follower, 'reader')), follows);
  // The former primary came back, and its services have not heard of the failover.
  const back = await startEmbedded({ dataDir: former });
  running.add(back);
  await onServer(standby!, 'create role newer');
  await until('the follower has it', async () =>
    (await says(on(follower), back)).startsWith(
      'It follows another primary: it has timeline 2, this one 1',
    ),
  );
});

test('a server that is no standby of this database is not asked', async () => {
  const { base } = await service.another({ DATABASE_READ_URL: service.databaseUrl });
  await until('it is told', () => service.log.some((line) => line.includes('takes_writes')));
  assert.equal(await gauge(base, 'used'), 0);
  assert.deepEqual(await shown(base), each(await count()));
});

test('behind PgBouncer in transaction mode it answers as well', async (t) => {
  const unpacked = await pgbouncer();
  if (unpacked === null) return t.skip('not run: pgbouncer');
  const settings = ['pool_mode = transaction', 'default_pool_size = 2'];
  const pooler = await openPooler(unpacked, { url: standbyUrl(), dir, settings });
  t.after(pooler.close);
  const base = await openProcess(patient, pooler.url);
  await caughtUp(base);
  const earlier = await count();
  await paused(t);
  await chargedRequest(service, account);
  const all = await Promise.all(Array.from({ length: 5 }, () => lagging['an export']!(base)));
  assert.deepEqual(
    all,
    Array.from({ length: 5 }, () => earlier),
  );
  assert.deepEqual(await shown(base), each(earlier));
});

test('a read that the replay of a write cancels is repeated on the primary', async (t) => {
  const standby = openStandby({ ...options, connection: standbyUrl() });
  t.after(() => standby.close());
  await service.db.run(rawSql('create table conflicted as select 1 as n'));
  await until('it is there', () =>
    standby.run(rawSql('select from conflicted')).then(
      () => true,
      () => false,
    ),
  );
  await onStandby(async (db) => {
    await db.run(rawSql('alter system set max_standby_streaming_delay = 0'));
    await db.run(rawSql('select pg_reload_conf()'));
  });
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  const reads = standbyFirst({ standby, isUsed: () => true, onFailure }, service.db);
  let tries = 0;
  const found = await reads.tx(async (tx) => {
    tries++;
    const rows = await tx.run(rawSql('select from conflicted'));
    if (tries === 1) {
      await service.db.run(rawSql('truncate conflicted'));
      await tx.run(rawSql('select pg_sleep(60)'));
    }
    return rows.length;
  });
  assert.equal(found, 0);
  assert.equal(tries, 2);
  assert.equal(failures.length, 1);
  await service.db.run(rawSql('drop table conflicted'));
});
