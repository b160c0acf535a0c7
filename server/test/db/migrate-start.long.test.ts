import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { readConfig } from '../../src/read-config.ts';
import { startEmbedded } from '../../src/db/embedded.ts';
import {
  migrate,
  SchemaTooOld,
  SchemaUnfit,
  listUnsafeSettings,
  verifySchema,
} from '../../src/db/migrate.ts';
import { createLog } from '../../src/lib/log.ts';
import { openDatabase, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { openServiceDatabase } from '../../src/database.ts';
import { withDatabase } from '../kit/with-database.ts';

const database = withDatabase();
const { db } = database;
beforeEach(async () => {
  await db.run(rawSql('drop schema public cascade; create schema public'));
});

const account = '01890f5e-27c1-7d3a-9e4f-000000000001';

interface AppliedMigration {
  number: number;
  name: string;
}
const applied = () =>
  db.run<AppliedMigration>(rawSql('select number, name from migrations order by number'));
const tables = async () => {
  const rows = await db.run<{ name: string }>(sql`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`);
  return rows.map(({ name }) => name);
};

describe('migrating', () => {
  test('an empty database brings it up, and once more does nothing', async () => {
    const names = await migrate(db);
    assert.equal(names[0], '0001_init.sql');
    assert.deepEqual(names, names.toSorted());
    const rows = await applied();
    assert.deepEqual(
      rows.map(({ name }) => name),
      names,
    );
    assert.deepEqual(
      rows.map(({ number }) => number),
      names.map((_, i) => i + 1),
    );
    const made = await tables();
    assert.ok(made.includes('transfers') && made.includes('requests'), String(made));
    assert.deepEqual(await migrate(db), []);
    assert.deepEqual(await applied(), rows);
  });

  test('five processes at once do it once', async () => {
    const others = Array.from({ length: 4 }, () =>
      openDatabase({
        connection: database.url,
        max: 2,
        statementTimeoutMs: 10_000,
        applicationName: 'rival',
      }),
    );
    const results = await Promise.all([db, ...others].map((each) => migrate(each)));
    assert.equal(results.filter((names) => names.length > 0).length, 1);
    assert.deepEqual(
      (await applied()).map(({ name }) => name),
      results.flat(),
    );
    await Promise.all(others.map((each) => each.close()));
  });

  test('that fails midway leaves nothing of the failed file, and goes through once the cause is gone', async () => {
    await db.run(rawSql('create view outputs as select 1 as in_the_way'));
    await assert.rejects(migrate(db), /outputs.*already exists/);
    assert.deepEqual(await applied(), []);
    assert.deepEqual(await tables(), ['migrations']);
    await db.run(rawSql('drop view outputs'));
    assert.equal((await migrate(db))[0], '0001_init.sql');
  });
});

test('existing deposits get their source, and do not change otherwise', async () => {
  const folder = join(import.meta.dirname, '../../migrations');
  const names = readdirSync(folder).toSorted();
  const at = names.findIndex((name) => name.endsWith('_sources.sql'));
  const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');
  for (const name of names.slice(0, at)) await db.run(rawSql(textOf(name)));
  const voucher = 'voucher:01890f5e-27c1-7d3a-9e4f-0123456789ab';
  for (const [i, reference] of ['wire 1', voucher, 'voucher:mine'].entries())
    await db.run(
      rawSql(
        `insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
          amount_usd_micro, available_after_usd_micro, reference)
        values (gen_random_uuid(), $1, $2, 'deposit', $3, $1, 5, 5, $4)`,
        [account, i + 1, '00000000-0000-0000-0000-000000000001', reference],
      ),
    );
  await db.run(
    rawSql(
      `insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
        amount_usd_micro, available_after_usd_micro)
      values (gen_random_uuid(), $1, 4, 'reserve', $1, $2, 5, 10)`,
      [account, '00000000-0000-0000-0000-000000000002'],
    ),
  );
  const rows = () =>
    db.run<{ source: string | null }>(sql`
      select to_jsonb(t) - 'source' as row, to_jsonb(t)->>'source' as source
        from transfers t order by seq`);
  const before = await rows();
  await db.run(rawSql(textOf(names[at]!)));
  const sources = ['paid', 'voucher', 'paid', null];
  assert.deepEqual(
    await rows(),
    before.map((row, i) => ({ ...row, source: sources[i] })),
  );
  await assert.rejects(db.run(rawSql('update transfers set source = null')), /append-only/);
});

describe('migrating refuses', () => {
  test('a database that a newer version has migrated, and touches nothing', async () => {
    const known = (await migrate(db)).length;
    await db.run(sql`insert into migrations (number, name, sha256)
      values (${known + 1}, 'later.sql', 'x')`);
    const before = await applied();
    await assert.rejects(migrate(db), (error) => {
      assert.ok(error instanceof SchemaUnfit);
      assert.match(
        error.message,
        new RegExp(
          `at migration ${known + 1} and works only with versions of Farebox that know ${known + 1}; this one knows ${known}\\. Start the version`,
        ),
      );
      return true;
    });
    assert.deepEqual(await applied(), before);
  });

  test('a database whose migrations are not the files of this version, and names the file', async () => {
    await migrate(db);
    await db.run(rawSql(`update migrations set sha256 = repeat('0', 64) where number = 1`));
    await assert.rejects(
      migrate(db),
      /^Error: Migration 0001_init\.sql was applied with other contents/,
    );
  });
});

describe('a database that is not ours', () => {
  test('is refused in words and left as it is', async () => {
    for (const text of ['create table users (id int)', 'create table migrations (id int)']) {
      await db.run(rawSql(text));
      const before = await tables();
      for (const open of [migrate, verifySchema]) {
        await assert.rejects(open(db), (error) => {
          assert.ok(error instanceof SchemaUnfit);
          assert.match(error.message, /tables of another program \((migrations, )?users\)/);
          assert.match(error.message, /Give Farebox its own empty database/);
          return true;
        });
      }
      assert.deepEqual(await tables(), before);
    }
  });
});

describe('verifying', () => {
  test('an empty database says what to run, and makes nothing', async () => {
    await assert.rejects(verifySchema(db), /at migration 0, .* needs \d+\. Run "farebox migrate"/);
    assert.deepEqual(await tables(), []);
  });

  test('refuses a schema that another version has migrated', async () => {
    const known = (await migrate(db)).length;
    await db.run(sql`insert into migrations (number, name, sha256)
      values (${known + 1}, 'later.sql', 'x')`);
    await assert.rejects(verifySchema(db), /Start the version that migrated it/);
    await db.run(rawSql('delete from migrations'));
    await assert.rejects(verifySchema(db), (error) => error instanceof SchemaTooOld);
    assert.deepEqual(await applied(), [], 'it was migrated');
  });
});

describe('settings that lose what was committed', () => {
  test('do not exist on a correct database', async () => {
    assert.deepEqual(await listUnsafeSettings(db), []);
  });

  const wrong: [setting: string, value: string, says: RegExp][] = [
    ['fsync', 'off', /fsync = off; Farebox needs on/],
    ['full_page_writes', 'off', /full_page_writes = off; Farebox needs on/],
    ['synchronous_commit', 'off', /synchronous_commit = off; Farebox needs on/],
    ['server_version_num', '140012', /PostgreSQL is version 14; Farebox needs 15 or later/],
    ['server_encoding', 'SQL_ASCII', /encoding is SQL_ASCII; Farebox needs UTF8/],
  ];
  for (const [setting, value, says] of wrong) {
    test(`${setting} = ${value} is named, alone`, async () => {
      const [found, ...others] = await listUnsafeSettings(answering({ [setting]: value }));
      assert.match(found!, says);
      assert.deepEqual(others, []);
    });
  }

  test('a stricter synchronous_commit, or a local one, is fine', async () => {
    for (const synchronous_commit of ['remote_apply', 'remote_write', 'local']) {
      assert.deepEqual(await listUnsafeSettings(answering({ synchronous_commit })), []);
    }
  });

  test(
    'prevent a start of the service, unless a setting allows them',
    { timeout: 60_000 },
    async () => {
      const dir = mkdtempSync(join(tmpdir(), 'farebox-unsafe-'));
      const embedded = await startEmbedded({ dataDir: dir, settings: { fsync: 'off' } });
      const { host, port, user, database: name } = embedded.connection;
      const DATABASE_URL = `postgres://${user}@${encodeURIComponent(host)}:${port}/${name}`;
      const log = createLog('silent', { write() {} });
      const open = (env: object, options = {}) =>
        openServiceDatabase(
          readConfig({ DATABASE_URL, FAREBOX_DATA_DIR: dir, ...env }),
          'test',
          log,
          options,
        );
      try {
        await assert.rejects(open({}), /^Error: PostgreSQL has fsync = off; Farebox needs on\.$/);
        await assert.rejects(
          open({ FAREBOX_UNSAFE_DATABASE: 'on' }, { migrates: false }),
          /at migration 0/,
          'it was migrated before it was looked at',
        );
        const opened = await open({ FAREBOX_UNSAFE_DATABASE: 'on' });
        const [shown] = await opened.db.run<{ fsync: string }>(rawSql('show fsync'));
        assert.equal(shown!.fsync, 'off');
        await opened.close();
      } finally {
        await embedded.stop();
        rmSync(dir, { recursive: true, force: true });
      }
    },
  );

  /** The database with other answers for these settings. */
  function answering(changes: Record<string, string>): Database {
    return {
      ...db,
      async run(statement) {
        const rows = await db.run(statement);
        return rows.map((row: { name?: string; server_encoding?: string }) => ({
          ...row,
          ...(row.name && changes[row.name] && { setting: changes[row.name] }),
          ...(row.server_encoding &&
            changes.server_encoding && { server_encoding: changes.server_encoding }),
        })) as never;
      },
    };
  }
});
