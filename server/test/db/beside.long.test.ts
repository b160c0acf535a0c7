/** Versions side by side: a newer one migrates the database that this one serves from. */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { migrate, readMigrations, SchemaUnfit, verifySchema } from '../../src/db/migrate.ts';
import type { MigrationFile } from '../../src/db/migration/apply.ts';
import { planMigration } from '../../src/db/migration/plan.ts';
import { firstBeside, releases } from '../../src/db/migration/rule.ts';
import { schemaNumber } from '../../src/db/schema.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { until } from '../kit/until.ts';
import { withService } from '../kit/with-service.ts';

const { service, account } = withService({ times: { beatMs: 25 } });

const change = (text: string) => service.db.run(rawSql(text));
const submit = () => account.post('/v1/queue/fake/image', { prompt: 'a lighthouse' });
const ready = async () => (await service.call('GET', '/readyz', { base: service.base })).status;
const patience = { lapseMs: 400, closeMs: 200 };
const number = Math.max(schemaNumber + 1, firstBeside);

/** This version's migrations and these of later versions. */
async function later(...texts: string[]): Promise<MigrationFile[]> {
  const own = await readMigrations();
  const files = texts.map((text, i) => {
    return { number: number + i, name: `${number + i}_later.sql`, text, sha256: `later ${i}` };
  });
  return [...own, ...files];
}

const applied = () =>
  service.db.run<{ number: number; breaks_before: number; done: number | null }>(sql`
    select number, breaks_before, done from migrations where number >= ${number} order by 1`);

/** The release whose code is this version. */
releases['9.9.8'] = schemaNumber;

afterEach(async () => {
  await change(`delete from migrations where number >= ${number}`);
  await change('drop table if exists later, later_too; alter table requests drop if exists later');
  await until('it serves', async () => (await ready()) === 200);
  await service.audit();
});

const expands = `create table later (id int primary key);
  alter table requests add column later text;
  create index concurrently requests_later on requests (later) where later is not null;`;

describe('beside a newer version whose migrations only add', () => {
  test('a process takes calls and work, says so once, and starts again', async () => {
    const { body: job } = await submit();
    await migrate(service.db, { migrations: await later(expands), patience });
    assert.deepEqual(await applied(), [{ number, breaks_before: 0, done: null }]);
    const says = () => service.log.filter((line) => line.includes('runs on beside it'));
    await until('it has noticed', async () => says().length > 0);
    assert.equal(await ready(), 200);
    assert.equal((await submit()).status, 202);
    await service.work();
    const [row] = await service.db.run(sql`
      select status from requests where id = ${job.request_id}`);
    assert.deepEqual(row, { status: 'COMPLETED' });
    await verifySchema(service.db);
    assert.deepEqual(await migrate(service.db), []);
    assert.equal(says().length, 1);
  });

  test('a process runs on when these take away what it no longer uses', async () => {
    const contract = '-- contract: since 9.9.8\ndrop table later;';
    await migrate(service.db, { migrations: await later(expands, contract), patience });
    assert.equal((await applied()).at(-1)!.breaks_before, schemaNumber);
    assert.equal((await submit()).status, 202);
    await verifySchema(service.db);
    await service.work();
  });
});

describe('a migration that takes away what a process uses', () => {
  const contract = '-- contract: since 10.0.0\ndrop table later;';

  test('is refused while the process lives, which it names, and changes nothing', async () => {
    await migrate(service.db, { migrations: await later(expands), patience });
    const migrations = await later(expands, contract);
    await assert.rejects(migrate(service.db, { migrations, patience }), (error) => {
      assert.ok(error instanceof SchemaUnfit);
      assert.match(error.message, /^Processes of an earlier version.*\n- serve on .*, pid \d+/);
      return true;
    });
    assert.equal((await applied()).length, 1);
    assert.equal((await submit()).status, 202);
    await service.work();
  });

  test('stops a process that lives on, and refuses its next start with the way out', async () => {
    const migrations = await later(expands, contract, 'create table later (id int);');
    await migrate(service.db, { migrations, ignoresOthers: true });
    await until('it has noticed', async () => (await ready()) === 503);
    assert.equal((await submit()).status, 503);
    for (const start of [verifySchema, migrate])
      await assert.rejects(start(service.db), (error) => {
        assert.ok(error instanceof SchemaUnfit);
        assert.match(error.message, new RegExp(`that know ${number + 1}; this one knows`));
        assert.match(error.message, /or a newer one\. The way back is a backup from before/);
        return true;
      });
  });
});

describe('a migration that stops', () => {
  test('says where and what to do, stops nobody, and goes on from there', async () => {
    await change('create table later_too (id int); insert into later_too values (1), (1)');
    const text = `create table later (id int);
      create unique index concurrently later_id on later_too (id);
      alter table requests add column later text;`;
    const migrations = await later(text);
    await assert.rejects(migrate(service.db, { migrations, patience }), (error) => {
      assert.ok(error instanceof SchemaUnfit);
      assert.match(
        error.message,
        /_later\.sql stopped at statement 2 of 3 .*could not create unique/,
      );
      assert.match(error.message, /Remove the cause and run "farebox migrate" again/);
      return true;
    });
    assert.deepEqual(await applied(), [{ number, breaks_before: 0, done: 1 }]);
    assert.equal((await submit()).status, 202);
    await service.work();
    await assert.rejects(
      migrate(service.db, { migrations, patience }),
      /stopped at statement 2/,
      'the first statement was run twice',
    );
    await change('delete from later_too');
    const names = await migrate(service.db, { migrations, patience });
    assert.deepEqual(names, [`${number}_later.sql`]);
    const indexes = await change(`select indisvalid as is_valid from pg_index
      where indrelid = 'later_too'::regclass`);
    assert.deepEqual(indexes, [{ is_valid: true }]);
    assert.deepEqual(await applied(), [{ number, breaks_before: 0, done: null }]);
  });

  test('because it was killed goes on from there, also in the midst of an index', async () => {
    await change('create table later (id int); create table later_too (id int)');
    const migrations = await later(`alter table later add column a int;
      create index concurrently later_id on later_too (id);
      alter table later add column b int;`);
    const kill = () =>
      change(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
    // The index is there, not valid, while its build waits for those who write the table.
    for (const [i, table] of ['later', 'later_too'].entries())
      await service.db.tx(async (tx) => {
        await tx.run(rawSql(`lock table ${table} in row exclusive mode`));
        const killed = assert.rejects(
          migrate(service.db, { migrations, patience }),
          new RegExp(`stopped at statement ${i + 1} of 3`),
        );
        await until('it waits, and is killed', async () => (await kill()).length > 0);
        await killed;
        assert.deepEqual(await applied(), [{ number, breaks_before: 0, done: i }]);
      });
    await migrate(service.db, { migrations, patience });
    const indexes = await change(`select indisvalid as is_valid from pg_index
      where indrelid = 'later_too'::regclass`);
    assert.deepEqual(indexes, [{ is_valid: true }]);
    assert.deepEqual(await applied(), [{ number, breaks_before: 0, done: null }]);
  });
});

test('a migration that gets no lock lets the calls pass that wait behind it', async () => {
  const migrations = await later('alter table requests add column later text;');
  let migrating: Promise<unknown> | undefined;
  await service.db.tx(async (tx) => {
    await tx.run(rawSql('select from requests limit 1'));
    migrating = migrate(service.db, { migrations, patience });
    const waiting = () =>
      change(`select from pg_locks where relation = 'requests'::regclass and not granted
        and mode = 'AccessExclusiveLock'`);
    await until('it waits', async () => (await waiting()).length > 0);
    for (let n = 0; n < 5; n++) assert.equal((await submit()).status, 202);
  });
  await migrating;
  await service.work();
});

describe('a plan', () => {
  test('names locks, sizes and who has to stop, and changes nothing', async () => {
    const state = () =>
      change(`select (select json_agg(m) from migrations m) as migrations,
        (select json_agg((relname, relfilenode, relnatts) order by oid) from pg_class
          where relnamespace = 'public'::regnamespace) as schema`);
    const before = await state();
    const whole = await planMigration(service.db, await later(expands));
    assert.deepEqual([whole.runs_beside, whole.to_stop], [true, []]);
    const [pending] = whole.pending;
    assert.deepEqual(
      pending!.statements.map(({ lock, tables }) => [lock, tables.map(({ name }) => name)]),
      [
        [undefined, []],
        ['ACCESS EXCLUSIVE', ['requests']],
        ['SHARE UPDATE EXCLUSIVE', ['requests']],
      ],
    );
    assert.ok(pending!.statements[1]!.tables[0]!.bytes! >= 0);

    const contract = '-- contract: since 10.0.0\ndrop table later;';
    const stops = await planMigration(service.db, await later(expands, contract));
    assert.deepEqual([stops.runs_beside, stops.lowest], [false, number + 1]);
    assert.match(stops.to_stop.join(), /^serve on .*, pid \d+, version .* \(migration \d+\)$/);
    assert.deepEqual(
      stops.pending[1]!.statements.map(({ contract: why }) => why),
      ['code of the version before may still use it'],
    );
    assert.deepEqual(await state(), before);
  });
});
