import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openDatabase, rawSql, sql } from '../../src/lib/sql/sql.ts';
import { createAccount } from '../../src/operations/accounts/account.ts';
import { exportSnapshot } from '../../src/operations/export.ts';
import { importSnapshot } from '../../src/operations/import.ts';
import { StorageFull } from '../../src/storage/storage.ts';
import { placeFor } from './cli.ts';
import { oddTables } from './snapshot-kit.ts';
import {
  assertUntouched,
  openWorld,
  refused,
  runAll,
  type Place,
  type World,
} from './snapshot-world.ts';

let source: Place;
let empty: Place;
let snapshot: string;
let folder: string;
let place: World['place'];
let stop: World['stop'];
before(async () => {
  ({ source, empty, snapshot, folder, place, stop } = await openWorld());
});
after(() => stop());

/** A database that no version has migrated. */
async function bareDatabase() {
  const name = `bare_${process.pid}`;
  await source.db.run(rawSql(`create database ${name} template template0 encoding 'UTF8'`));
  const url = source.url.replace(/\/[^/?]+(\?|$)/, `/${name}$1`);
  const tables = async () => {
    const db = openDatabase({
      connection: url,
      max: 1,
      statementTimeoutMs: 10_000,
      applicationName: 'farebox test',
    });
    try {
      return await db.run(sql`select tablename from pg_tables where schemaname = current_schema()`);
    } finally {
      await db.close();
    }
  };
  const drop = async () => void (await source.db.run(rawSql(`drop database ${name}`)));
  return { url, tables, drop };
}

describe('an import is refused, and leaves nothing behind,', () => {
  test('if it is another file, or missing', async () => {
    const other = join(folder, 'other');
    for (const text of ['', 'a', 'PNG\n'.repeat(100), 'FAREBOX SNAPSHOT\n']) {
      writeFileSync(other, text);
      await refused(
        importSnapshot(empty.db, empty.storage, { path: other }),
        /not a snapshot of Farebox/,
      );
    }
    for (const [first, form] of [
      ['FAREBOX SNAPSHOT 1\n', 1],
      ['farebox-snapshot-3\0', 3],
    ]) {
      writeFileSync(other, `${first}${'x'.repeat(100)}`);
      const says = new RegExp(`format ${form}.*reads format 2.*with the version that took it`);
      await refused(importSnapshot(empty.db, empty.storage, { path: other }), says);
    }
    await refused(
      importSnapshot(empty.db, empty.storage, { path: join(folder, 'none') }),
      /cannot be read/,
    );
    await assertUntouched(empty, 'something else');
  });

  test('if another schema wrote it, whether newer, older or changed', async () => {
    const path = join(folder, 'schema');
    const add = `insert into migrations (number, name, sha256) values (9999, '9999_later.sql', 'x')`;
    const drop = 'delete from migrations where number = 9999';
    await source.db.run(rawSql(add));
    await exportSnapshot(source.db, source.storage, { path, secret: null });
    await source.db.run(rawSql(drop));
    await refused(
      importSnapshot(empty.db, empty.storage, { path }),
      /at database migration \d+; .* or a newer one/,
    );
    await empty.db.run(rawSql(add));
    await refused(
      importSnapshot(empty.db, empty.storage, { path: snapshot }),
      /which migrates the database/,
    );
    await empty.db.run(rawSql(drop));
    await empty.db.run(rawSql(`update migrations set sha256 = 'y' || sha256 where number = 1`));
    await refused(
      importSnapshot(empty.db, empty.storage, { path: snapshot }),
      /0001_init.* differs from this version/,
    );
    await empty.db.run(rawSql(`update migrations set sha256 = substr(sha256, 2) where number = 1`));
    await assertUntouched(empty, 'another schema');
  });

  test('if its tables are not those of this database', async () => {
    const plain = await place();
    await refused(
      importSnapshot(plain.db, plain.storage, { path: snapshot }),
      /table zz_parents, .* has none/,
    );
    await runAll(plain.db, oddTables);
    await plain.db.run(rawSql('alter table a_children drop column flag'));
    await refused(
      importSnapshot(plain.db, plain.storage, { path: snapshot }),
      /a_children has other columns/,
    );
    await assertUntouched(plain, 'other tables');
  });

  test('if the storage is full or fails', async () => {
    const full = { ...empty.storage, put: () => Promise.reject(new StorageFull()) };
    await refused(
      importSnapshot(empty.db, full, { path: snapshot }),
      /storage of this service is full/,
    );
    const broken = { ...empty.storage, put: () => Promise.reject(new Error('no such bucket')) };
    await assert.rejects(importSnapshot(empty.db, broken, { path: snapshot }), /no such bucket/);
    await assertUntouched(empty, 'full');
  });
});

describe('the command line', () => {
  test('refuses a file of another version before it migrates an empty database', async (t) => {
    const { run } = placeFor(t, { FAREBOX_UNSAFE_DATABASE: 'on' });
    const bare = await bareDatabase();
    t.after(bare.drop);
    const changes: [what: string, change: string, back: string, says: RegExp][] = [
      [
        'older',
        'create table zz_kept as select * from migrations where number > 30;\ndelete from migrations where number > 30',
        'insert into migrations select * from zz_kept;\ndrop table zz_kept',
        /migration 30; this version needs \d+\. .* which migrates the database/,
      ],
      [
        'newer',
        `insert into migrations (number, name, sha256) values (9999, '9999_later.sql', 'x')`,
        'delete from migrations where number = 9999',
        /this version needs \d+\. .*, or a newer one/,
      ],
      [
        'changed',
        `update migrations set sha256 = 'y' || sha256 where number = 2`,
        `update migrations set sha256 = substr(sha256, 2) where number = 2`,
        /0002_\w+\.sql differs from this version/,
      ],
    ];
    for (const [what, change, back, says] of changes) {
      const file = join(folder, `bare-${what}`);
      await runAll(source.db, change);
      await exportSnapshot(source.db, source.storage, { path: file, secret: null });
      await runAll(source.db, back);
      const ran = await run(['import', file], { DATABASE_URL: bare.url });
      assert.equal(ran.code, 2, what);
      assert.match(ran.stderr, says, what);
    }
    writeFileSync(join(folder, 'bare-cut'), readFileSync(snapshot).subarray(0, 5_000));
    const cut = await run(['import', join(folder, 'bare-cut')], { DATABASE_URL: bare.url });
    assert.match(cut.stderr, /Nothing was changed/);
    assert.deepEqual(await bare.tables(), [], 'the version that took it could not use it any more');
  });

  test('names the accounts of a trial that came along, and how to close them', async (t) => {
    const { run } = placeFor(t, { FAREBOX_UNSAFE_DATABASE: 'on' });
    const [from, to] = [await place(), await place()];
    for (const [email, is_operator] of [
      ['demo@farebox.local', false],
      ['operator@farebox.local', true],
    ] as const)
      await createAccount(from.db, { email, is_operator });
    const file = join(folder, 'trial');
    const envOf = ({ url }: { url: string }) => ({
      DATABASE_URL: url,
      FAREBOX_DATA_DIR: mkdtempSync(join(folder, 'trial-')),
    });
    assert.equal((await run(['export', file], envOf(from))).code, 0);
    const { code, stdout } = await run(['import', file], envOf(to));
    assert.equal(code, 0);
    for (const name of ['demo', 'operator'])
      assert.match(stdout, new RegExp(`^ +farebox account suspend ${name}@farebox\\.local$`, 'm'));
    const clean = await place();
    await from.db.run(rawSql(`update accounts set status = 'suspended' where not is_operator`));
    const less = join(folder, 'less');
    assert.equal((await run(['export', less], envOf(from))).code, 0);
    const told = await run(['import', less, '--json'], envOf(clean));
    assert.deepEqual(told.json.trial_accounts, ['operator@farebox.local']);
  });

  test('keeps the imported secret beside the one in use', async (t) => {
    const { run } = placeFor(t, { FAREBOX_UNSAFE_DATABASE: 'on' });
    const target = await place();
    await runAll(target.db, oddTables);
    const to = mkdtempSync(join(folder, 'to-'));
    const FAREBOX_SECRET = 'another secret, which this service was given';
    const env = { DATABASE_URL: target.url, FAREBOX_DATA_DIR: to, FAREBOX_SECRET };
    const imported = await run(['import', snapshot], env);
    assert.equal(imported.code, 0, imported.stderr);
    assert.equal(readFileSync(join(to, 'secret.imported'), 'utf8'), 'signed with this');
    assert.ok(
      imported.stdout.includes(`FAREBOX_SECRET_PREVIOUS_FILE=${join(to, 'secret.imported')}`),
    );
    assert.equal(existsSync(join(to, 'secret')), false);

    const file = join(folder, 'given');
    const exported = await run(['export', file, '--json'], env);
    assert.equal(exported.code, 0, exported.stderr);
    assert.equal(exported.json.secret_included, false);
    assert.equal(readFileSync(file).includes(FAREBOX_SECRET), false, 'a given secret never leaves');
  });
});
