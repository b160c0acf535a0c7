import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readConfig } from '../../src/read-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { openDatabase, sql } from '../../src/lib/sql/sql.ts';
import { openServiceDatabase } from '../../src/database.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { until } from '../kit/until.ts';

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

const missing = spawnSync('pgbouncer', ['--version']).error && 'pgbouncer is not installed here';

describe('through PgBouncer with its default settings', { skip: missing ?? false }, () => {
  let database: TestDatabase;
  let dir: string;
  let running: ChildProcess | undefined;
  before(async () => {
    database = await testDatabase();
    dir = mkdtempSync(join(tmpdir(), 'farebox-pooler-'));
    chmodSync(dir, 0o755);
  });
  after(async () => {
    await database.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const freePort = async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    server.close();
    return port;
  };
  /** The URL of the test's database through a pooler in this mode. */
  async function pooler(mode: string): Promise<string> {
    const [, user, host, at, name] = /^postgres:\/\/([^@]+)@(.+):(\d+)\/(.+)$/.exec(database.url)!;
    const port = await freePort();
    const file = join(dir, `${mode}.ini`);
    writeFileSync(
      file,
      `[databases]
books = host=${decodeURIComponent(host!)} port=${at} user=${user} dbname=${name}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
`,
    );
    // PgBouncer does not run as root, and the embedded PostgreSQL accepts only its own user.
    const owner = execFileSync('stat', ['-c', '%U', decodeURIComponent(host!)])
      .toString()
      .trim();
    const own = process.getuid?.() === 0 ? ['-u', owner] : [];
    running = spawn('pgbouncer', [...own, file], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    running.stderr!.on('data', (chunk) => (said += chunk));
    await until(`it listens: ${said}`, () => said.includes('process up'));
    return `postgres://${user}@127.0.0.1:${port}/books`;
  }
  async function stopped(): Promise<void> {
    running!.kill();
    await once(running!, 'exit');
  }
  const open = (url: string) =>
    openServiceDatabase(
      readConfig({ DATABASE_URL: url, FAREBOX_UNSAFE_DATABASE: 'on' }),
      'test',
      createLog('silent'),
    );

  test('it works in session mode, with its limits in force', async () => {
    const database = await open(await pooler('session'));
    try {
      const [row] = await database.db.run<Record<string, string>>(
        sql`select current_setting('plan_cache_mode') as plans,
          current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle`,
      );
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
      await stopped();
    }
  });

  for (const mode of ['transaction', 'statement'])
    test(`${mode} mode is refused with a sentence`, async () => {
      const url = await pooler(mode);
      try {
        await assert.rejects(
          open(url),
          /^Error: DATABASE_URL points to a pooler .*session mode\.$/,
        );
      } finally {
        await stopped();
      }
    });
});
