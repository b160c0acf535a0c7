import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { openBeside } from '../../src/database.ts';
import { makeFolder, unprivilegedUser } from '../../src/db/embedded/user.ts';
import * as installation from '../../src/db/installation.ts';
import { migrate } from '../../src/db/migrate.ts';
import { rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { openStorage } from '../../src/storage/index.ts';
import { assertSaid, placeFor, type Place } from './cli.ts';
import { digests, fill } from './snapshot-kit.ts';

/** Backups on a server of the system, because the embedded one has no pg_dump. */

const bin = globSync('/usr/lib/postgresql/*/bin').find((folder) =>
  ['pg_dump', 'pg_restore', 'pg_ctl'].every((name) => existsSync(path.join(folder, name))),
);

describe('a backup', { skip: bin === undefined && 'not run: pg_dump' }, () => {
  let folder: string;
  let data: string;
  let admin: Database;
  let source: Database;
  let backup: string;
  const opened: Database[] = [];

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'farebox-backup-'));
    chmodSync(folder, 0o755);
    data = path.join(folder, 'server');
    makeFolder(data, 0o700, unprivilegedUser());
    await asServer('initdb', [
      '--username=farebox',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-sync',
    ]);
    const options = `-c unix_socket_directories=${data} -c listen_addresses=`;
    await asServer('pg_ctl', ['start', '--wait', '--log', `${data}/log`, '--options', options]);
    admin = openBeside(urlOf('postgres'));
    source = await database('source');
    await migrate(source);
    await fill(source, openStorage(`disk:${path.join(folder, 'media')}`));
    // A service has run on it.
    await installation.make(source, null);
    backup = path.join(folder, 'whole.dump');
  });
  after(async () => {
    await Promise.all([admin, ...opened].map((db) => db?.close()));
    await asServer('pg_ctl', ['stop', '--mode=immediate']);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a program on the server's folder, as the user of the server. */
  function asServer(program: string, args: string[]): Promise<unknown> {
    const options = { ...unprivilegedUser(), cwd: data, env: { PGDATA: data, PATH: bin! } };
    return promisify(execFile)(path.join(bin!, program), args, options);
  }

  const urlOf = (name: string) => `postgres://farebox@${encodeURIComponent(data)}:5432/${name}`;

  async function database(name: string): Promise<Database> {
    await admin.run(rawSql(`create database ${name}`));
    const db = openBeside(urlOf(name));
    opened.push(db);
    return db;
  }

  /** Commands on the database of this name. */
  function at(t: TestContext, name: string, env: Record<string, string> = {}): Place {
    return placeFor(t, {
      DATABASE_URL: urlOf(name),
      FAREBOX_STORAGE: `disk:${path.join(folder, 'media')}`,
      FAREBOX_UNSAFE_DATABASE: 'on',
      PATH: `${bin}:${process.env.PATH}`,
      ...env,
    });
  }

  async function assertNoScratch(): Promise<void> {
    const left = await admin.run<{ datname: string }>(sql`
      select datname from pg_database where datname like 'farebox_check%'`);
    assert.deepEqual(left, []);
  }

  test('is proved beside the service, restored into an empty database, and held there', async (t) => {
    const rows = await digests(source);
    const written = await at(t, 'source').run(['backup', 'create', backup, '--json']);
    assert.equal(written.code, 0, written.stderr);
    assert.equal(written.json.bytes, statSync(backup).size);
    assert.equal(statSync(backup).mode & 0o777, 0o600);
    const checked = await at(t, 'source').run(['backup', 'check', backup, '--json']);
    assert.equal(checked.code, 0, checked.stderr);
    assert.deepEqual([checked.json.ok, checked.json.missing], [true, 0]);
    assert.ok(checked.json.media > 0 && checked.json.books.checked.transfers > 0);
    await assertNoScratch();

    const target = await database('target');
    const restored = await at(t, 'target').run(['backup', 'restore', backup]);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stdout, /^Restored, and the books balance: .*\nAll media/);
    assert.deepEqual(await digests(target), rows);
    assert.deepEqual(await digests(source), rows, 'the source was changed');
    const { json } = await at(t, 'target').run(['resume-after-restore', '--dry-run', '--json']);
    assert.deepEqual([json.held, json.why], [true, 'copy']);
  });

  test('is not restored into a used database, and replaces no file', async (t) => {
    const place = at(t, 'source');
    const rows = await digests(source);
    assertSaid(
      await place.run(['backup', 'restore', backup]),
      /already has \d+ tables, and nothing/,
    );
    assertSaid(await place.run(['backup', 'create', backup]), /already exists\. Name a new file/);
    assert.deepEqual(await digests(source), rows);
  });

  test('that is cut off is refused, and leaves nothing', async (t) => {
    const cut = path.join(folder, 'cut.dump');
    const place = at(t, 'source');
    assert.equal((await place.run(['backup', 'create', cut])).code, 0);
    truncateSync(cut, Math.round(statSync(cut).size / 2));
    assertSaid(await place.run(['backup', 'check', cut]), /pg_restore: error/);
    await assertNoScratch();
    const empty = await database('cut');
    assertSaid(await at(t, 'cut').run(['backup', 'restore', cut]), /pg_restore: error/);
    const tables = await empty.run<{ name: string }>(sql`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace`);
    assert.deepEqual(tables, []);
  });

  test('without its media or with broken books does not pass', async (t) => {
    const elsewhere = { FAREBOX_STORAGE: `disk:${path.join(folder, 'elsewhere')}` };
    const without = await at(t, 'source', elsewhere).run(['backup', 'check', backup]);
    assert.equal(without.code, 1, without.stderr);
    assert.match(without.stdout, /NOT in the storage: \d+ of \d+ media files, such as \S/);

    const broken = await database('broken');
    assert.equal((await at(t, 'broken').run(['backup', 'restore', backup])).code, 0);
    await broken.tx(async (tx) => {
      await tx.run(rawSql('set local session_replication_role = replica'));
      await tx.run(
        rawSql(
          'delete from transfers where id = (select id from transfers order by id desc limit 1)',
        ),
      );
    });
    const file = path.join(folder, 'broken.dump');
    assert.equal((await at(t, 'broken').run(['backup', 'create', file])).code, 0);
    const { code, stdout } = await at(t, 'broken').run(['backup', 'check', file]);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /^The books do NOT balance/);
    await assertNoScratch();
  });

  test('needs the programs of the server\u2019s version, and says which', async (t) => {
    const file = path.join(folder, 'none.dump');
    const place = at(t, 'source', { PATH: folder });
    const major = /\d+/.exec(bin!)![0];
    const says = new RegExp(`pg_dump was not found.*postgresql-client-${major}`);
    assertSaid(await place.run(['backup', 'create', file]), says);
    assert.ok(!existsSync(file));
  });

  test('of the embedded database is an export', async (t) => {
    const { code, stderr } = await placeFor(t).run(['backup', 'create', 'some.dump']);
    assert.deepEqual([code, /farebox export FILE/.test(stderr)], [2, true], stderr);
  });
});
