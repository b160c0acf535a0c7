import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { startEmbedded } from '../../src/db/embedded.ts';
import {
  migrate,
  SchemaTooOld,
  SchemaUnfit,
  unsafeSettings,
  verifySchema,
} from '../../src/db/migrate.ts';
import { audit } from '../../src/ledger/audit.ts';
import { createLog } from '../../src/lib/log.ts';
import { openDatabase, rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { openServiceDatabase } from '../../src/database.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';

let database: TestDatabase;
let db: Database;
before(async () => {
  database = await testDatabase();
  ({ db } = database);
});
beforeEach(async () => {
  await db.run(rawSql('drop schema public cascade; create schema public'));
});
after(() => database.close());

interface Applied {
  number: number;
  name: string;
}
const applied = () =>
  db.run<Applied>(rawSql('select number, name from migrations order by number'));
const tables = async () => {
  const rows = await db.run<{ name: string }>(
    rawSql(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
    ),
  );
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

  test('that cannot be noted is not kept either', async () => {
    await db.run(
      rawSql(`create table migrations (number integer primary key check (number > 1), name text not null,
        sha256 text not null, applied_at timestamptz not null default now())`),
    );
    await assert.rejects(migrate(db), /migrations_number_check/);
    assert.deepEqual(await tables(), ['migrations']);
  });

  test('frees its lock when it fails, so that the next one need not wait for ever', async () => {
    await db.run(rawSql('create view outputs as select 1 as in_the_way'));
    const results = await Promise.allSettled([migrate(db), migrate(db), migrate(db)]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
  });
});

describe('a migration', () => {
  const folder = join(import.meta.dirname, '../../migrations');
  const apply = async (wanted: (name: string) => boolean) => {
    for (const name of readdirSync(folder).toSorted().filter(wanted))
      await db.run(rawSql(readFileSync(join(folder, name), 'utf8')));
  };
  const leftOutcomes = readdirSync(folder).find((name) => name.endsWith('_left_outcomes.sql'))!;

  test('counts starts that were left among the days that are summed up, and no other', async () => {
    await apply((name) => name < leftOutcomes);
    await db.run(
      rawSql(`
      create function uid(n int) returns uuid language sql immutable
        as $$ select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid $$;
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status,
          quoted_usd_micro, charged_usd_micro, started_at, completed_at)
        select uid(n), uid(0), uid(0), 'm', 'image', 'next', 'COMPLETED', 5, 5, now(), now()
        from generate_series(1, 3) n;
      insert into attempts (request_id, attempt, upstream, class, request_hash, outcome, left_at)
        select uid(n), 1, 'u', 'C', sha256(''), 'unknown', case n when 1 then now()
          when 2 then now() - interval '3 days' end from generate_series(1, 3) n;
      insert into revenue_days (day) select (now() at time zone 'utc')::date - 3;
      insert into resolutions (request_id, account_id, outcome, cost_usd_micro, by_email)
        select uid(1), uid(0), 'ran', 5, 'op@x.test'`),
    );
    await apply((name) => name === leftOutcomes);
    const days = await db.run(
      rawSql('select upstream, completed, failed, cost_usd_micro as cost, uncosted from revenue'),
    );
    const none = { completed: 0n, failed: 0n, cost: 0n };
    assert.deepEqual(days, [{ upstream: 'u', ...none, uncosted: 1n }]);
    assert.equal((await db.run(rawSql('select from spending'))).length, 1);
    assert.deepEqual(await db.run(rawSql('select attempt from resolutions')), [{ attempt: 0 }]);
  });

  test('keeps the models stopped that an operator stopped, and no other of their routes', async () => {
    const stoppedModels = readdirSync(folder).find((name) => name.endsWith('_stopped_models.sql'))!;
    await apply((name) => name < stoppedModels);
    const log = (n: number, action: string, target: string, routes: string[]) =>
      `select uid(${n}), ${n}, 'op@x.test', 'model.${action}', '${target}',
        '${JSON.stringify({ routes })}'::json`;
    await db.run(
      rawSql(`
      create function uid(n int) returns uuid language sql immutable
        as $$ select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid $$;
      insert into upstreams (name, model, stopped, paused_until) values
        ('a', 'both', false, null), ('b', 'both', true, now() + interval '100 years'),
        ('a', 'woken', false, null), ('a', 'busy', false, now() + interval '1 hour');
      insert into operator_log (id, seq, by_email, action, target, details)
        ${log(1, 'stop', 't/both', ['a both', 'b both'])} union all
        ${log(2, 'stop', 't/resumed', ['b both'])} union all
        ${log(3, 'resume', 't/resumed', ['b both'])} union all
        ${log(4, 'stop', 't/woken', ['a woken'])}`),
    );
    await apply((name) => name === stoppedModels);
    const kept = await db.run(rawSql('select model_id, stopped_by from stopped_models'));
    assert.deepEqual(kept, [{ model_id: 't/both', stopped_by: 'op@x.test' }]);
    const paused = rawSql('select model from upstreams where paused_until is not null');
    assert.deepEqual(await db.run(paused), [{ model: 'busy' }]);
  });

  test('puts late jobs among those of unknown outcome, and those that none took at no cost', async () => {
    await apply((name) => name < '0008');
    await db.run(
      rawSql(`
      create function uid(n int) returns uuid language sql immutable
        as $$ select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid $$;
      insert into requests (id, account_id, key_id, model_id, kind, upstream, status, error_code,
          quoted_usd_micro, charged_usd_micro, started_at, completed_at)
        select uid(n), uid(0), uid(0), 'm', 'image', 'u', 'FAILED',
          case n when 3 then 'outcome_unknown' when 4 then 'upstream_failed' else 'timeout' end,
          5, 0, now(), now() from generate_series(1, 4) n;
      insert into request_results (request_id, account_id, created_at)
        select id, account_id, now() - interval '3 days' from requests;
      insert into attempts (request_id, attempt, upstream, class, request_hash, handle, outcome)
        select uid(n), 1, 'u', 'A', sha256(''), case n when 1 then '{"key": 1}'::json end,
          case n when 1 then 'accepted' else 'not_accepted' end from generate_series(1, 2) n;
      insert into revenue
        select created_at::date, 'image', 'm', 'u', 1, 4, 5, 0, 1
        from request_results where request_id = uid(1)`),
    );
    await apply((name) => name.startsWith('0008'));
    const costs = await db.run<{ cost: bigint | null }>(
      rawSql('select cost_usd_micro as cost from request_results order by request_id'),
    );
    assert.deepEqual(
      costs.map(({ cost }) => cost),
      [null, 0n, null, null],
    );
    const [{ open }] = (await db.run(
      rawSql(`select count(*)::int as open from requests r join request_results s
        on s.request_id = r.id where error_code in ('outcome_unknown', 'timeout')
          and cost_usd_micro is null`),
    )) as [{ open: number }];
    const days = await db.run(rawSql('select uncosted from revenue'));
    assert.deepEqual([open, days], [2, [{ uncosted: 3n }]]);
  });
});

describe('migrating refuses', () => {
  test('a database that a newer version has migrated, and touches nothing', async () => {
    const known = (await migrate(db)).length;
    await db.run(
      rawSql(`insert into migrations (number, name, sha256) values ($1, 'later.sql', 'x')`, [
        known + 1,
      ]),
    );
    const before = await applied();
    await assert.rejects(migrate(db), (error) => {
      assert.ok(error instanceof SchemaUnfit);
      assert.match(
        error.message,
        new RegExp(
          `at migration ${known + 1}, this version of Farebox knows ${known}\\. Start the version`,
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

  test('a file that was put in between two applied ones', async () => {
    await migrate(db);
    await db.run(rawSql(`update migrations set number = number + 100`));
    await db.run(
      rawSql(`insert into migrations (number, name, sha256) values (1, '0001_other.sql', 'x')`),
    );
    await assert.rejects(migrate(db), /0001_other|at migration/);
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

  test('takes a schema of this version, with no right but to read', async () => {
    await migrate(db);
    const role = `reader_${process.pid}`;
    await db.run(rawSql(`create role ${role} login`));
    await db.run(rawSql(`grant usage on schema public to ${role}`));
    await db.run(rawSql(`grant select on all tables in schema public to ${role}`));
    const reader = openDatabase({
      connection: database.url.replace(/\/\/[^@/]*@/, `//${role}@`),
      max: 2,
      statementTimeoutMs: 10_000,
      applicationName: 'reader',
    });
    try {
      assert.equal((await reader.run(rawSql('select current_user as name')))[0]!.name, role);
      await verifySchema(reader);
      assert.equal((await audit(reader)).ok, true);
      await assert.rejects(migrate(reader), /permission denied/);
    } finally {
      await reader.close();
      await db.run(rawSql(`drop owned by ${role}`));
      await db.run(rawSql(`drop role ${role}`));
    }
  });

  test('refuses a schema that another version has migrated', async () => {
    const known = (await migrate(db)).length;
    await db.run(
      rawSql(`insert into migrations (number, name, sha256) values ($1, 'later.sql', 'x')`, [
        known + 1,
      ]),
    );
    await assert.rejects(verifySchema(db), /Start the version that migrated it/);
    await db.run(rawSql('delete from migrations'));
    await assert.rejects(verifySchema(db), (error) => error instanceof SchemaTooOld);
    assert.deepEqual(await applied(), [], 'it was migrated');
  });
});

describe('settings that lose what was committed', () => {
  test('are none on a database as it should be', async () => {
    assert.deepEqual(await unsafeSettings(db), []);
  });

  const wrong: [setting: string, value: string, says: RegExp][] = [
    ['fsync', 'off', /fsync = off; Farebox needs on/],
    ['full_page_writes', 'off', /full_page_writes = off; Farebox needs on/],
    ['synchronous_commit', 'off', /synchronous_commit = off; Farebox needs on/],
    ['server_version_num', '140012', /version 140012; Farebox needs 15 or later/],
    ['server_encoding', 'SQL_ASCII', /encoding is SQL_ASCII; Farebox needs UTF8/],
  ];
  for (const [setting, value, says] of wrong) {
    test(`${setting} = ${value} is named, alone`, async () => {
      const [found, ...others] = await unsafeSettings(answering({ [setting]: value }));
      assert.match(found!, says);
      assert.deepEqual(others, []);
    });
  }

  test('a stricter synchronous_commit, or a local one, is fine', async () => {
    for (const synchronous_commit of ['remote_apply', 'remote_write', 'local']) {
      assert.deepEqual(await unsafeSettings(answering({ synchronous_commit })), []);
    }
  });

  test('stop the service from starting, unless it is told so', { timeout: 60_000 }, async () => {
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
      const database = await open({ FAREBOX_UNSAFE_DATABASE: 'on' });
      assert.equal((await database.db.run(rawSql('show fsync')))[0]!.fsync, 'off');
      await database.close();
    } finally {
      await embedded.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });

  /** A database that answers as this one does, but for these settings. */
  function answering(changes: Record<string, string>): Database {
    return {
      ...db,
      async run(statement) {
        const rows = await db.run<Record<string, string>>(statement);
        return rows.map((row) => ({
          ...row,
          ...(row.name && changes[row.name] && { setting: changes[row.name] }),
          ...(row.server_encoding &&
            changes.server_encoding && { server_encoding: changes.server_encoding }),
        })) as never;
      },
    };
  }
});
