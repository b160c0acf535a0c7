import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/read-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { isReadOnly } from '../../src/lib/sql/faults.ts';
import { openDatabase, rawSql, sql } from '../../src/lib/sql/sql.ts';
import { openStandby } from '../../src/lib/sql/standby.ts';
import { openServiceDatabase } from '../../src/database.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { openPooler, pgbouncer } from '../kit/pgbouncer.ts';

/** PgBouncer with its package's defaults: Farebox works in session mode and refuses the others. */

const options = { max: 2, statementTimeoutMs: 30_000, applicationName: 'test' };

test('a connection begins with no parameter that a pooler refuses', async () => {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (packet) => {
      resolve(packet);
      socket.destroy();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as net.AddressInfo;
  const connection = `postgres://me@127.0.0.1:${port}/books`;
  const db = openDatabase({ ...options, connection });
  const asked = db.run(sql`select 1`).catch(() => {});
  const packet = await promise;
  const words = packet.subarray(8).toString().split('\0');
  const names = words.filter((_, i) => i % 2 === 0 && words[i] !== '');
  assert.deepEqual(names.toSorted(), ['application_name', 'client_encoding', 'database', 'user']);
  server.close();
  await db.close();
  void asked;
});

describe('through PgBouncer with its default settings', () => {
  let database: TestDatabase;
  let dir: string;
  before(async () => {
    database = await testDatabase();
    dir = mkdtempSync(join(tmpdir(), 'farebox-pooler-'));
    chmodSync(dir, 0o755);
  });
  after(async () => {
    await database.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** The URL of the test's database through a pooler in this mode; null where there is none. */
  async function pooler(t: TestContext, mode: string): Promise<string | null> {
    const unpacked = await pgbouncer();
    if (unpacked === null) return (t.skip('not run: pgbouncer'), null);
    const settings = [`pool_mode = ${mode}`];
    const opened = await openPooler(unpacked, { url: database.url, dir, settings });
    t.after(opened.close);
    return opened.url;
  }
  const open = (url: string) =>
    openServiceDatabase(
      readConfig({ DATABASE_URL: url, FAREBOX_UNSAFE_DATABASE: 'on' }),
      'test',
      createLog('silent'),
    );

  test('a standby is read in transaction mode, and nothing stays in its sessions', async (t) => {
    const url = await pooler(t, 'transaction');
    if (url === null) return;
    const standby = openStandby({ ...options, connection: url });
    t.after(() => standby.close());
    const asked = sql`select current_setting('statement_timeout') as statement,
      current_setting('bytea_output') as bytes, '1 hour'::interval::text as hour`;
    const name = database.url.split('/').at(-1)!;
    await database.db.run(rawSql(`alter database ${name} set intervalstyle = 'iso_8601'`));
    t.after(() => database.db.run(rawSql(`alter database ${name} reset intervalstyle`)));
    const rows = await Promise.all(Array.from({ length: 20 }, () => standby.run(asked)));
    for (const row of rows.flat())
      assert.deepEqual(row, { statement: '30s', bytes: 'hex', hour: '01:00:00' });
    const write = sql`insert into migrations (number, name, sha256) values (0, '', '')`;
    await assert.rejects(standby.run(write), isReadOnly);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows: left } = await client.query(
      `select current_setting('statement_timeout') as statement, '1 hour'::interval::text as hour,
        (select count(*)::int from pg_prepared_statements) as prepared`,
    );
    await client.end();
    assert.deepEqual(left, [{ statement: '0', hour: 'PT1H', prepared: 0 }]);
  });

  test('it works in session mode, with its limits in force', async (t) => {
    const url = await pooler(t, 'session');
    if (url === null) return;
    const database = await open(url);
    try {
      const [row] = await database.db.run<Record<string, string>>(sql`
        select current_setting('plan_cache_mode') as plans,
          current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle`);
      assert.deepEqual(row, { plans: 'force_generic_plan', statement: '15s', idle: '15s' });
      const counts = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          database.db.run<{ i: number }>(sql`select ${i}::int as i`),
        ),
      );
      assert.deepEqual(
        counts.map(([each]) => each!.i),
        counts.map((_, i) => i),
      );
      const session = await database.db.connect();
      const { rows } = await session.query('show statement_timeout');
      assert.deepEqual(rows, [{ statement_timeout: '0' }]);
      await session.end();
    } finally {
      await database.close();
    }
  });

  for (const mode of ['transaction', 'statement'])
    test(`${mode} mode is refused with a sentence`, async (t) => {
      const url = await pooler(t, mode);
      if (url === null) return;
      await assert.rejects(open(url), /^Error: DATABASE_URL points to a pooler .*session mode\.$/);
    });
});
