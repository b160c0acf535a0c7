/** The log while the database is away: complete, but without a line for every failed call. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, mock, test } from 'node:test';
import type pg from 'pg';
import { readConfig } from '../../src/read-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { isUnavailable, sql } from '../../src/lib/sql/sql.ts';
import { openServiceDatabase, type ServiceDatabase } from '../../src/database.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { openLine, type DatabaseLine } from '../kit/database-line.ts';
import { until } from '../kit/until.ts';

const dir = mkdtempSync(join(tmpdir(), 'farebox-outage-'));
const lines: string[] = [];
let database: TestDatabase;
let line: DatabaseLine;
let service: ServiceDatabase;
let skipped = 0;
before(async () => {
  const now = performance.now.bind(performance);
  mock.method(performance, 'now', () => now() + skipped);
  database = await testDatabase();
  line = await openLine(database.url);
  const log = createLog('info', { write: (text) => void lines.push(text) });
  const env = { DATABASE_URL: line.url, FAREBOX_UNSAFE_DATABASE: 'on', FAREBOX_DATA_DIR: dir };
  service = await openServiceDatabase(readConfig(env), 'outage', log);
});
after(async () => {
  mock.restoreAll();
  await service.close();
  await line.close();
  await database.close();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(() => {
  lines.length = 0;
  skipped += 61_000;
});

const said = (of: RegExp) =>
  lines
    .map((text) => JSON.parse(text))
    .filter(({ msg }) => of.test(msg))
    .map(({ msg, count }) => [msg, count]);
const told = () => said(/^the database/);
const ask = () => service.db.run(sql`select 1 as one`);

/**
 * Number of sleeping backends: the server does not notice at once that their connections are gone.
 */
let asleep = 0;

/** Breaks so many busy connections. */
async function busy(count: number): Promise<unknown[]> {
  const asked = Array.from({ length: count }, () =>
    service.db.run(sql`select pg_sleep(60)`).catch((error: unknown) => error),
  );
  asleep += count;
  await until('they run', async () => {
    const [row] = await database.db.run<{ n: number }>(sql`
      select count(*)::int as n from pg_stat_activity
        where datname = current_database() and state = 'active' and query like '%pg_sleep(60)%'
          and pid <> pg_backend_pid()`);
    return row!.n === asleep;
  });
  line.cut();
  return Promise.all(asked);
}

test('it is one line a minute, with the number of failures, and one line when it is back', async () => {
  const failed = await busy(4);
  assert.ok(failed.every((each) => each instanceof Error));
  assert.deepEqual(told(), [['the database does not answer', 1]]);
  await ask();
  await ask();
  assert.deepEqual(told().slice(1), [['the database is back', undefined]]);
  await busy(2);
  await ask();
  assert.equal(told().length, 2, 'a second time within the minute is told in the next one');
  skipped += 61_000;
  await busy(1);
  await ask();
  assert.deepEqual(told().slice(2), [
    ['the database does not answer', 6],
    ['the database is back', undefined],
  ]);
});

describe('a database that answers and takes no writes', () => {
  const write = () => service.db.run(sql`update installation set beat = beat`);
  let admin: pg.Client;
  before(async () => {
    // A session that stays able to write.
    admin = await database.db.connect();
    await admin.query('set default_transaction_read_only = off');
  });
  after(() => admin.end());
  const setReadOnly = async (isReadOnly: boolean) => {
    const { rows } = await admin.query<{ name: string }>('select current_database() as name');
    const value = isReadOnly ? 'set default_transaction_read_only = on' : 'reset all';
    await admin.query(`alter database ${rows[0]!.name} ${value}`);
  };

  test('is not called back, and is named until it takes writes', async () => {
    await busy(1);
    await setReadOnly(true);
    await ask();
    await ask();
    assert.deepEqual(told(), [
      ['the database does not answer', 1],
      ['the database takes no writes', 1],
    ]);
    await assert.rejects(write(), isUnavailable);
    await assert.rejects(service.db.demandWrites(), /read-only|default_transaction_read_only/);
    await setReadOnly(false);
    await until('it is back', async () => {
      await ask();
      return told().length > 2;
    });
    assert.deepEqual(told().slice(2), [['the database is back', undefined]]);
    await write();
    await service.db.demandWrites();
  });

  test('does not keep its connections', async () => {
    await setReadOnly(true);
    line.cut();
    await until('connections are new', async () => {
      const rows = await service.db
        .run<{ value: string }>(sql`select current_setting('transaction_read_only') as value`)
        .catch(() => []);
      return rows[0]?.value === 'on';
    });
    await assert.rejects(write(), isUnavailable);
    await setReadOnly(false);
    await until('a write succeeds', () =>
      write().then(
        () => true,
        () => false,
      ),
    );
    const sentences = told().map(([sentence]) => sentence);
    assert.deepEqual(sentences.slice(-2), ['the database takes no writes', 'the database is back']);
  });
});

test('lost idle connections are one line, without their contents', async () => {
  await Promise.all([ask(), ask(), ask()]);
  lines.length = 0;
  const { total } = service.db.stats();
  assert.ok(total >= 3);
  line.cut();
  await until('they are gone', async () => service.db.stats().total === 0);
  assert.equal(said(/connection was lost/).length, 1);
  assert.ok(lines.join('').length < 2_000, lines.join(''));
  assert.doesNotMatch(lines.join(''), /secretKey|select 1/);
});
