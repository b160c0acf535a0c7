/** Processes of several versions on one database: who registers, who is refused, who gives up. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { readConfig } from '../../src/read-config.ts';
import { withDatabase } from '../../src/commands/database.ts';
import { findLivingProcesses } from '../../src/db/other-processes.ts';
import { migrate, SchemaUnfit, verifySchema } from '../../src/db/migrate.ts';
import { beat, leave } from '../../src/db/processes.ts';
import { schemaNumber } from '../../src/db/schema.ts';
import { newId } from '../../src/lib/id.ts';
import { openDatabase, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';

const { service, account } = withService({ times: { beatMs: 25 } });

const change = (text: string, values: unknown[] = []) => service.db.run(rawSql(text, values));
const rows = () =>
  service.db.run<{ kind: string; pid: number; schema: number }>(sql`select kind, pid, schema
    from processes order by started_at`);
const own = { kind: 'serve', pid: process.pid, schema: schemaNumber };

describe('a process', () => {
  test('is registered while it lives, and again after the database has lost it', async () => {
    assert.deepEqual(await rows(), [own]);
    await change('delete from processes');
    await until('it is back', async () => (await rows()).length === 1);
    const { app } = await service.another({}, { http: false });
    assert.deepEqual(await rows(), [own, { ...own, kind: 'worker' }]);
    await app.stop(500);
    assert.deepEqual(await rows(), [own]);
  });

  test('that runs a command is registered until the command ends', async () => {
    const env = { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' };
    const context = { config: readConfig(env), json: true, out() {}, err() {} };
    const seen = await withDatabase(context, rows);
    assert.deepEqual(seen, [own, { ...own, kind: 'command' }]);
    assert.deepEqual(await rows(), [own]);
  });

  test('that ends in order takes along the rows of those that did not, a day ago or ahead', async () => {
    for (const days of [-1, 1]) {
      const old = older();
      await beat(service.db, old);
      await change(`update processes set beat_at = now() + $1 * interval '1 day' where id = $2`, [
        days,
        old.id,
      ]);
    }
    await leave(service.db, newId());
    assert.deepEqual(await rows(), [own]);
  });
});

function older() {
  const [host, version, schema] = ['web-1', '0.0.9', schemaNumber - 1];
  return { id: newId(), kind: 'serve', host, pid: 4711, schema, version };
}

describe('whoever migrates', () => {
  const patience = { lapseMs: 400, closeMs: 200 };
  const look = (db: Database = service.db, tell = (_sentence: string): void => {}) =>
    findLivingProcesses(db, { schema: schemaNumber, registers: true, tell }, patience);
  const pools: Database[] = [];
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((db) => db.close()));
    await change('delete from processes');
  });

  /** A connection of a version that does not register, which has just been used. */
  async function connected(applicationName: string): Promise<Database> {
    const db = openDatabase({
      connection: service.databaseUrl,
      max: 1,
      statementTimeoutMs: 5_000,
      applicationName,
    });
    pools.push(db);
    await db.run(rawSql('select 1'));
    return db;
  }

  /** The process beats while it is looked for. */
  async function beating<T>(work: () => Promise<T>): Promise<T> {
    const process = older();
    await beat(service.db, process);
    const timer = setInterval(() => void beat(service.db, process), 50);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  test('finds nobody, although processes of the same version live', async () => {
    await until('this one lives', async () => (await rows()).length === 1);
    assert.deepEqual(await look(), []);
  });

  test('finds a process of another version by its signs of life', async () => {
    const [found, ...more] = await beating(() => look());
    assert.match(
      found!.says,
      new RegExp(
        `^serve on web-1, pid 4711, version 0\\.0\\.9 \\(migration ${schemaNumber - 1}\\), started \\d{4}`,
      ),
    );
    assert.deepEqual(more, []);
  });

  const dead: [what: string, beatAt: string, waits: number][] = [
    ['killed a moment ago', 'now()', 1],
    ['killed a minute ago', `now() - interval '1 min'`, 0],
    ['of a backup, by a clock that was ahead', `now() + interval '1 hour'`, 1],
  ];
  for (const [what, beatAt, waits] of dead) {
    test(`does not count a process ${what}`, async () => {
      const process = older();
      await beat(service.db, process);
      await change(`update processes set beat_at = ${beatAt} where id = $1`, [process.id]);
      const told: string[] = [];
      assert.deepEqual(await look(service.db, (sentence) => void told.push(sentence)), []);
      assert.equal(told.length, waits);
      for (const sentence of told)
        assert.match(
          sentence,
          /^Waiting up to 0\.4 s for a sign of life: serve on web-1, pid 4711/,
        );
    });
  }

  for (const name of ['farebox serve', 'farebox worker', 'farebox command']) {
    test(`finds "${name}" of a version that does not register`, async () => {
      await connected(name);
      const [found, ...more] = await look();
      assert.match(
        found!.says,
        new RegExp(`^an older "${name}" at (a local|[\\d.:]+).* processes \\d+$`),
      );
      assert.deepEqual(more, []);
    });
  }

  test('finds it too if its own role may not see whose connection it is', async () => {
    await connected('farebox serve');
    const role = `blind_${process.pid}`;
    await change(`create role ${role}`);
    try {
      const session = `set role ${role}`;
      await change(`grant select on processes to ${role}`);
      const blind = openDatabase({
        connection: service.databaseUrl,
        max: 1,
        statementTimeoutMs: 5_000,
        applicationName: 'blind',
        session,
      });
      pools.push(blind);
      const [found] = await look(blind);
      assert.match(found!.says, /^an older "farebox serve" at a hidden address/);
    } finally {
      await Promise.all(pools.splice(0).map((db) => db.close()));
      await change(`drop owned by ${role}`);
      await change(`drop role ${role}`);
    }
  });

  for (const name of [`farebox serve, migration ${schemaNumber}`, 'farebox exporter', 'psql', '']) {
    test(`does not take the connection "${name}" for an older process`, async () => {
      await connected(name);
      assert.deepEqual(await look(), []);
    });
  }

  test('waits for a connection that is just being closed', async () => {
    const db = await connected('farebox serve');
    const looking = look();
    await db.close();
    pools.length = 0;
    assert.deepEqual(await looking, []);
  });

  /** Runs `work` on a database without the migrations from this table of processes on. */
  async function undone(work: () => Promise<void>): Promise<void> {
    const rows = await service.db.run<{ number: number; name: string; sha256: string }>(sql`
      delete from migrations where number >= 34 returning number, name, sha256`);
    try {
      await work();
    } finally {
      for (const { number, name, sha256 } of rows)
        await change('insert into migrations (number, name, sha256) values ($1, $2, $3)', [
          number,
          name,
          sha256,
        ]);
    }
  }
  // A file cannot be applied a second time, so it was tried.
  const tried = /already exists/;

  test('is refused with their names, changes nothing, and may insist', () =>
    undone(async () => {
      await connected('farebox serve');
      await assert.rejects(migrate(service.db, { patience }), (error) => {
        assert.ok(error instanceof SchemaUnfit);
        assert.match(error.message, /an older "farebox serve" at .*\nStop them first/);
        assert.match(error.message, /farebox migrate --ignore-others/);
        return true;
      });
      await assert.rejects(migrate(service.db, { patience, ignoresOthers: true }), tried);
    }));

  test('waits for transactions that hold money, or would not count what they write', () =>
    undone(async () => {
      const waiting = () =>
        change(`select from pg_locks l where relation = 'balances'::regclass and not granted`);
      let migrating: Promise<void> | undefined;
      await service.db.tx(async (tx) => {
        await tx.run(rawSql('select from balances for update'));
        migrating = assert.rejects(migrate(service.db, { ignoresOthers: true }), tried);
        await until('it waits', async () => (await waiting()).length === 1);
      });
      await migrating;
    }));
});

describe('a process whose database another version migrates', () => {
  const next = schemaNumber + 1;
  beforeEach(() => until('it serves', async () => (await get('/readyz')).status === 200));
  const get = (path: string) => service.call('GET', path, { base: service.base });
  const submit = () => account.post('/v1/queue/fake/image', { prompt: 'x' });

  test('refuses calls with the reason, takes no work, says so, and is refused at its next start', async () => {
    const { body: job } = await submit();
    const before = [await service.transfers(), await service.balance(account)];
    await change(`insert into migrations (number, name, sha256) values ($1, 'later.sql', 'x')`, [
      next,
    ]);
    try {
      await until('it has noticed', async () => (await get('/readyz')).status === 503);
      for (const path of ['/readyz', '/livez'])
        assert.equal((await get(path)).body.error.details.failing, 'version', path);
      const { status, headers, body } = await submit();
      assert.equal(status, 503);
      assert.equal(headers.get('retry-after'), '2');
      assert.equal(body.error.code, 'capacity_unavailable');
      assert.equal(body.error.details.reason, 'server_outdated');
      for (const path of ['/v1/models', '/v1/balance', '/api/auth/get-session', '/v1/nothing'])
        assert.equal((await get(path)).status, 503, path);
      assert.equal((await get('/metrics')).status, 200);

      assert.equal(await service.app.worker!.runOnce(), 0);
      const [row] = await change('select status from requests where id = $1', [job.request_id]);
      assert.deepEqual(row, { status: 'IN_QUEUE' });
      assert.deepEqual([await service.transfers(), await service.balance(account)], before);
      const said = service.log.filter((line) =>
        line.includes(`"database_migration":${next},"own_migration":${schemaNumber}`),
      );
      assert.equal(said.length, 1);
      assert.match(said[0]!, /another version has migrated this database: this process takes no/);
      await assert.rejects(verifySchema(service.db), /Start the version that migrated it/);
      await assert.rejects(migrate(service.db), /Start the version that migrated it/);
    } finally {
      await change('delete from migrations where number = $1', [next]);
    }
    await until('it serves again', async () => (await get('/readyz')).status === 200);
    assert.equal((await submit()).status, 202);
    await service.work();
    await service.audit();
  });
});
