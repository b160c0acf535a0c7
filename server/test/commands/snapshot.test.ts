import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once as happens } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hashKey } from '../../src/core/account/key.ts';
import { authenticateMany } from '../../src/db/accounts/callers.ts';
import { sumOf } from '../../src/db/requests/unfinished.ts';
import { audit } from '../../src/ledger/audit.ts';
import { rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { createAccount, needAccount } from '../../src/operations/accounts/account.ts';
import { Refused } from '../../src/operations/refused.ts';
import { deposit } from '../../src/operations/accounts/deposit.ts';
import { exportSnapshot } from '../../src/operations/export.ts';
import { importSnapshot } from '../../src/operations/import.ts';
import { openStorage } from '../../src/storage/index.ts';
import { StorageFull, type Storage } from '../../src/storage/storage.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import {
  digests,
  fill,
  oddRows,
  oddTables,
  once,
  storedIn,
  submit,
  type Filled,
} from './snapshot-kit.ts';

const main = join(import.meta.dirname, '../../src/main.ts');

interface Place extends TestDatabase {
  dir: string;
  media: string;
  storage: Storage;
}

/** `source` is filled once and stays as it is; `empty` is what refused imports must leave untouched. */
let source: Place;
let empty: Place;
let filled: Filled;
let snapshot: string;
let folder: string;
const places: Place[] = [];

async function place(): Promise<Place> {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-snapshot-'));
  const media = join(dir, 'media');
  const made = { ...(await testDatabase()), dir, media, storage: openStorage(`disk:${media}`) };
  places.push(made);
  return made;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-snapshot-'));
  [source, empty] = [await place(), await place()];
  for (const { db } of places) await runAll(db, oddTables);
  filled = await fill(source.db, source.storage);
  await runAll(source.db, oddRows);
  snapshot = join(folder, 'whole');
  await exportSnapshot(source.db, source.storage, { path: snapshot, secret: 'signed with this' });
});

after(async () => {
  for (const { close, dir } of places) {
    await close();
    rmSync(dir, { recursive: true, force: true });
  }
  rmSync(folder, { recursive: true, force: true });
});

async function runAll(db: Database, statements: string): Promise<void> {
  for (const text of statements.split(';\n')) await db.run(rawSql(text));
}

async function assertUntouched(at: Place, why: string): Promise<void> {
  const found = Object.entries(await digests(at.db)).filter(
    ([, digest]) => !digest.startsWith('0 '),
  );
  assert.deepEqual(found, [], `${why}: rows were left behind`);
  assert.deepEqual([...storedIn(at.media).keys()], [], `${why}: media were left behind`);
}

async function refused(work: Promise<unknown>, says: RegExp): Promise<void> {
  await assert.rejects(work, (error: Error) => {
    assert.ok(error instanceof Refused, error.stack);
    assert.match(error.message, says);
    return true;
  });
}

describe('a snapshot', () => {
  test('loads into an empty database with every row, every key and every living byte', async () => {
    const target = await place();
    await runAll(target.db, oddTables);
    const secrets: string[] = [];
    const imported = await importSnapshot(target.db, target.storage, {
      path: snapshot,
      keepSecret: (secret) => void secrets.push(secret),
    });

    const rows = await digests(source.db);
    assert.ok(
      Object.keys(rows).length >= 13 && !rows.transfers!.startsWith('0 '),
      'the source is filled',
    );
    assert.deepEqual(await digests(target.db), rows);
    assert.deepEqual(storedIn(target.media), new Map([...filled.media].sort()));
    assert.equal(storedIn(target.media).has(filled.expired), false);
    assert.deepEqual(secrets, ['signed with this']);

    const report = await audit(target.db);
    assert.deepEqual(report.violations, []);
    assert.deepEqual(imported.checked, report.checked);
    const [caller, stranger] = await authenticateMany(
      target.db,
      [hashKey(filled.key), hashKey('fbx_x')],
      { key: 600, account: 3000 },
    );
    assert.ok(caller && !('lapsed' in caller));
    assert.equal(caller.account_id, filled.account_id);
    assert.equal(caller.monthly_limit_usd_micro, 9_007_199_254_740_993n);
    assert.equal(stranger, null);
    assert.equal((await needAccount(target.db, 'ana@example.com')).status, 'active');
    const { requests, reserved_usd_micro } = sumOf(imported.unfinished);
    const { to_notify } = imported.unfinished;
    assert.deepEqual([requests, reserved_usd_micro, to_notify], [3, 30_000n, 1]);

    // The next steps go on where the source stopped.
    await submit(target.db, filled);
    await deposit(target.db, { account_id: filled.account_id, amount: 1n, reference: 'later' });
    const [next] = await target.db.run<{ id: bigint }>(
      rawSql(`insert into zz_parents (name) values ('x') returning id`),
    );
    assert.equal(next!.id, 701n);
    assert.equal((await audit(target.db)).ok, true);
    await assert.rejects(target.db.run(rawSql('delete from transfers')), /append-only/);
  });

  test('shows one moment, though the service goes on while it is written', async () => {
    const busy = await place();
    await runAll(busy.db, oddTables);
    await importSnapshot(busy.db, busy.storage, { path: snapshot });
    const path = join(folder, 'one-moment');
    let requestId = '';
    const meanwhile = async () => {
      if (requestId === '') requestId = await submit(busy.db, filled);
    };
    await exportSnapshot(interrupted(busy.db, meanwhile), busy.storage, { path, secret: null });
    const rows = await digests(source.db);
    assert.notEqual(requestId, '', 'something was committed in between');
    assert.notDeepEqual(await digests(busy.db), rows);

    const target = await place();
    await runAll(target.db, oddTables);
    await importSnapshot(target.db, target.storage, { path });
    assert.deepEqual(await digests(target.db), rows, 'no trace of it in the copy');
  });

  test('with its open requests released calls nobody and gives the money back', async () => {
    const target = await place();
    await runAll(target.db, oddTables);
    const before = await needAccount(source.db, filled.account_id);
    const imported = await importSnapshot(target.db, target.storage, {
      path: snapshot,
      releaseOpen: true,
    });
    assert.equal(imported.released, 3);
    assert.deepEqual(imported.unfinished.work, []);

    const after = await needAccount(target.db, filled.account_id);
    assert.equal(before.reserved_usd_micro, 30_000n);
    assert.equal(after.reserved_usd_micro, 0n);
    assert.equal(after.available_usd_micro, before.available_usd_micro + 30_000n);
    const ends = await target.db.run<{ id: string; status: string; error_code: string | null }>(
      rawSql('select id, status, error_code from requests where id = any($1)', [
        [filled.queued, filled.running, filled.calling],
      ]),
    );
    const endOf = (id: string) => ends.find((row) => row.id === id);
    assert.equal(endOf(filled.queued)?.status, 'CANCELLED');
    assert.equal(endOf(filled.running)?.error_code, 'outcome_unknown');
    assert.equal(endOf(filled.calling)?.error_code, 'outcome_unknown');
    const [open] = await target.db.run<{ n: number }>(
      rawSql(`select count(*)::int as n from requests where slot`),
    );
    assert.equal(open!.n, 0, 'no slot at an upstream stays taken');
    assert.deepEqual((await audit(target.db)).violations, []);
    const requests = (await digests(source.db)).requests!;
    assert.match(requests, /^7 /, 'the source keeps its open requests');
  });
});

/** Does something on another connection once the moment is fixed, before the first rows are read. */
function interrupted(db: Database, meanwhile: () => Promise<void>): Database {
  return {
    ...db,
    async connect() {
      const client = await db.connect();
      const query = client.query.bind(client) as (statement: unknown) => unknown;
      const patched = (statement: string | { text: string }) => {
        const answer = query(statement);
        const isSelect = typeof statement === 'object' && /^\s*select/.test(statement.text);
        return isSelect ? Promise.resolve(answer).finally(meanwhile) : answer;
      };
      client.query = patched as typeof client.query;
      return client;
    },
  };
}

describe('an import is refused, and leaves nothing behind,', () => {
  test('where the file was cut short', async () => {
    const cut = join(folder, 'cut');
    const { size } = statSync(snapshot);
    for (const length of [20, 60, Math.floor(size / 2), size - 32, size - 1]) {
      copyFileSync(snapshot, cut);
      truncateSync(cut, length);
      await refused(
        importSnapshot(empty.db, empty.storage, { path: cut }),
        /incomplete or was altered/,
      );
    }
    await assertUntouched(empty, 'cut');
  });

  test('where a byte of it was altered', async () => {
    const altered = join(folder, 'altered');
    const bytes = readFileSync(snapshot);
    for (const at of [
      0,
      20,
      300,
      Math.floor(bytes.length / 3),
      bytes.length - 40,
      bytes.length - 1,
    ]) {
      const wrong = Buffer.from(bytes);
      wrong[at]! ^= 1;
      writeFileSync(altered, wrong);
      const says = at === 0 ? /not a snapshot of Farebox/ : /incomplete or was altered/;
      await refused(importSnapshot(empty.db, empty.storage, { path: altered }), says);
    }
    await assertUntouched(empty, 'altered');
  });

  test('where it is something else, or not there', async () => {
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

  test('where another schema took it, whether newer, older or changed', async () => {
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

  test('where its tables are not those of this database', async () => {
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

  test('where its books do not balance', async () => {
    const path = join(folder, 'unbalanced');
    const shift = (n: number) =>
      rawSql('update balances set credits_posted = credits_posted + $1', [n]);
    await source.db.run(shift(1));
    await exportSnapshot(source.db, source.storage, { path, secret: null });
    await source.db.run(shift(-1));
    const kept: string[] = [];
    const options = { path, keepSecret: (secret: string) => void kept.push(secret) };
    await refused(
      importSnapshot(empty.db, empty.storage, options),
      /do not balance[^]*sum to zero/,
    );
    assert.deepEqual(kept, []);
    await assertUntouched(empty, 'unbalanced');
  });

  test('where the store is full or fails', async () => {
    const full = { ...empty.storage, put: () => Promise.reject(new StorageFull()) };
    await refused(
      importSnapshot(empty.db, full, { path: snapshot }),
      /storage of this service is full/,
    );
    const broken = { ...empty.storage, put: () => Promise.reject(new Error('no such bucket')) };
    await assert.rejects(importSnapshot(empty.db, broken, { path: snapshot }), /no such bucket/);
    await assertUntouched(empty, 'full');
  });

  test('where the database has an account, and of two at once one is', async () => {
    const target = await place();
    await runAll(target.db, oddTables);
    const load = () => importSnapshot(target.db, target.storage, { path: snapshot });
    const outcomes = await Promise.allSettled([load(), load()]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const lost = outcomes.find((one) => one.status === 'rejected')!;
    await refused(Promise.reject(lost.reason), /not empty/);
    const rows = await digests(target.db);
    await refused(load(), /not empty: it has (accounts|zz_parents)\./);
    assert.deepEqual(await digests(target.db), rows, 'nothing was mixed in');
    assert.equal((await audit(target.db)).ok, true);
  });
});

describe('an export', () => {
  test('is for its owner alone and replaces no file', async () => {
    assert.equal(statSync(snapshot).mode & 0o777, 0o600);
    const bytes = readFileSync(snapshot);
    await refused(
      exportSnapshot(source.db, source.storage, { path: snapshot, secret: null }),
      /already exists/,
    );
    assert.deepEqual(readFileSync(snapshot), bytes);
    const path = join(folder, 'no', 'such', 'folder');
    await refused(
      exportSnapshot(source.db, source.storage, { path, secret: null }),
      /folder does not exist/,
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  test('names a stored object that is damaged, and counts one that is gone', async () => {
    const [key, bytes] = [...filled.media].find(([name]) => name.startsWith('outputs/'))!;
    const path = join(folder, 'damaged');
    const storage = openStorage(`disk:${join(folder, 'store')}`);
    for (const [name, body] of filled.media) await storage.put(name, once(body));
    for (const wrong of [bytes.subarray(1), Buffer.concat([bytes.subarray(1), Buffer.of(0)])]) {
      await storage.put(key, once(wrong));
      await refused(
        exportSnapshot(source.db, storage, { path, secret: null }),
        new RegExp(`${key} no longer has the`),
      );
    }
    assert.equal(existsSync(path) || existsSync(`${path}.part`), false);
    await storage.remove(key);
    const { files, gone } = await exportSnapshot(source.db, storage, { path, secret: null });
    assert.deepEqual({ files, gone }, { files: filled.media.size - 1, gone: 1 });
  });
});

describe('the command line', () => {
  test('moves everything with two commands, and the generated secret with it', async () => {
    const target = await place();
    await runAll(target.db, oddTables);
    const from = mkdtempSync(join(folder, 'from-'));
    const to = mkdtempSync(join(folder, 'to-'));
    writeFileSync(join(from, 'secret'), 'a generated secret of some length');
    for (const [name, bytes] of filled.media)
      await openStorage(`disk:${join(from, 'media')}`).put(name, once(bytes));
    const file = join(folder, 'moved');

    const exported = await farebox(['export', file, '--json'], {
      DATABASE_URL: source.url,
      FAREBOX_DATA_DIR: from,
    });
    assert.equal(exported.code, 0, exported.stderr);
    const told = JSON.parse(exported.stdout);
    const sealed = readFileSync(file).subarray(0, -32);
    assert.equal(told.sha256, createHash('sha256').update(sealed).digest('hex'));
    const mediaBytes = [...filled.media.values()].reduce((sum, { length }) => sum + length, 0);
    const { ok, accounts, requests, files, bytes, file_bytes, secret_included } = told;
    assert.deepEqual(
      { ok, accounts, requests, files, bytes, file_bytes, secret_included },
      {
        ok: true,
        accounts: 2,
        requests: 7,
        files: filled.media.size,
        bytes: mediaBytes,
        file_bytes: statSync(file).size,
        secret_included: true,
      },
    );

    const env = { DATABASE_URL: target.url, FAREBOX_DATA_DIR: to };
    const imported = await farebox(['import', file], env);
    assert.equal(imported.code, 0, imported.stderr);
    assert.match(imported.stdout, /accounts 2, requests 7, media files 2\./);
    assert.match(imported.stdout, /fake +poll +1 +0\.01\nfake +start \(costs money\) +1 +0\.01\n/);
    assert.equal(readFileSync(join(to, 'secret'), 'utf8'), 'a generated secret of some length');
    assert.equal(statSync(join(to, 'secret')).mode & 0o777, 0o600);
    assert.deepEqual(await digests(target.db), await digests(source.db));
    assert.deepEqual(storedIn(join(to, 'media')), new Map([...filled.media].sort()));

    const again = await farebox(['import', file, '--json'], env);
    assert.equal(again.code, 2);
    assert.match(JSON.parse(again.stdout).error.message, /not empty/);

    assert.match(imported.stdout, /farebox resume-after-restore/);
    const dry = await farebox(['resume-after-restore', '--dry-run'], env);
    assert.match(dry.stdout, /restored copy.*once it is resumed.*fake +poll +1 .*to send: 1\./s);
    const resumed = await farebox(['resume-after-restore', '--release-open', '--json'], env);
    const said = JSON.parse(resumed.stdout);
    assert.deepEqual(
      [said.held, said.why, said.released_requests, said.resumed],
      [true, 'copy', 3, true],
    );
    const over = await farebox(['resume-after-restore', '--json'], env);
    assert.deepEqual([JSON.parse(over.stdout).held, over.code], [false, 0]);
    assert.equal((await audit(target.db)).ok, true);
  });

  test('names the accounts of a trial that came along, and how to close them', async () => {
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
    assert.equal((await farebox(['export', file], envOf(from))).code, 0);
    const { code, stdout } = await farebox(['import', file], envOf(to));
    assert.equal(code, 0);
    for (const name of ['demo', 'operator'])
      assert.match(stdout, new RegExp(`^ +farebox account suspend ${name}@farebox\\.local$`, 'm'));
    const clean = await place();
    await from.db.run(rawSql(`update accounts set status = 'suspended' where not is_operator`));
    const less = join(folder, 'less');
    assert.equal((await farebox(['export', less], envOf(from))).code, 0);
    const told = await farebox(['import', less, '--json'], envOf(clean));
    assert.deepEqual(JSON.parse(told.stdout).trial_accounts, ['operator@farebox.local']);
  });

  test('puts a secret that came along beside one that is in use', async () => {
    const target = await place();
    await runAll(target.db, oddTables);
    const to = mkdtempSync(join(folder, 'to-'));
    const FAREBOX_SECRET = 'another secret, which this service was given';
    const env = { DATABASE_URL: target.url, FAREBOX_DATA_DIR: to, FAREBOX_SECRET };
    const imported = await farebox(['import', snapshot], env);
    assert.equal(imported.code, 0, imported.stderr);
    assert.equal(readFileSync(join(to, 'secret.imported'), 'utf8'), 'signed with this');
    assert.ok(
      imported.stdout.includes(`FAREBOX_SECRET_PREVIOUS_FILE=${join(to, 'secret.imported')}`),
    );
    assert.equal(existsSync(join(to, 'secret')), false);

    const file = join(folder, 'given');
    const exported = await farebox(['export', file, '--json'], env);
    assert.equal(exported.code, 0, exported.stderr);
    assert.equal(JSON.parse(exported.stdout).secret_included, false);
    assert.equal(readFileSync(file).includes(FAREBOX_SECRET), false, 'a given secret never leaves');
  });
});

async function farebox(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH, FAREBOX_UNSAFE_DATABASE: 'on', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => err.push(text));
  const [code] = (await happens(child, 'close')) as [number];
  return { code, stdout: out.join(''), stderr: err.join('') };
}
