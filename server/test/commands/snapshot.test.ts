import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { deposit } from '../kit/by-command-line.ts';
import { hashKey } from '../../src/core/account/key.ts';
import { authenticateMany } from '../../src/db/accounts/callers.ts';
import { findCurrentKey } from '../../src/db/deposits/addresses.ts';
import { sumOf } from '../../src/db/requests/unfinished.ts';
import { audit } from '../../src/ledger/audit.ts';
import { rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { requireAccount } from '../../src/operations/accounts/account.ts';
import { exportSnapshot } from '../../src/operations/export.ts';
import { importSnapshot } from '../../src/operations/import.ts';
import { openStorage } from '../../src/storage/index.ts';
import { placeFor } from './cli.ts';
import { digests, oddTables, once, storedIn, submit, type FilledDatabase } from './snapshot-kit.ts';
import {
  assertUntouched,
  openWorld,
  refused,
  runAll,
  type Place,
  type World,
} from './snapshot-world.ts';
import { inLong } from '../kit/long.ts';

let source: Place;
let empty: Place;
let filled: FilledDatabase;
let snapshot: string;
let folder: string;
let place: World['place'];
let stop: World['stop'];
before(async () => {
  ({ source, empty, filled, snapshot, folder, place, stop } = await openWorld());
});
after(() => stop());

describe('a snapshot', () => {
  test('loads into an empty database with every row, every key and every file that has not expired', async () => {
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
    assert.equal((await requireAccount(target.db, 'ana@example.com')).status, 'active');
    const { requests, reserved_usd_micro } = sumOf(imported.unfinished);
    const { to_notify } = imported.unfinished;
    assert.deepEqual([requests, reserved_usd_micro, to_notify], [3, 30_000n, 1]);

    // Numbers continue from those of the source.
    await submit(target.db, filled);
    await deposit(target.db, { account_id: filled.account_id, amount: 1n, reference: 'later' });
    const [next] = await target.db.run<{ id: bigint }>(sql`insert into zz_parents (name)
      values ('x') returning id`);
    assert.equal(next!.id, 701n);
    assert.equal((await audit(target.db)).ok, true);
    await assert.rejects(target.db.run(rawSql('delete from transfers')), /append-only/);
  });

  inLong('shows one moment, though the service goes on while it is written', async () => {
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

  test('with its open requests released calls no upstream and gives the money back', async () => {
    const target = await place();
    await runAll(target.db, oddTables);
    const before = await requireAccount(source.db, filled.account_id);
    const imported = await importSnapshot(target.db, target.storage, {
      path: snapshot,
      releaseOpen: true,
    });
    assert.equal(imported.released, 3);
    assert.deepEqual(imported.unfinished.work, []);
    // The source's service may have given the next addresses to customers since.
    assert.equal((await findCurrentKey(target.db, 'evm'))!.next_index, 100_000);

    const after = await requireAccount(target.db, filled.account_id);
    assert.equal(before.reserved_usd_micro, 30_000n);
    assert.equal(after.reserved_usd_micro, 0n);
    assert.equal(after.available_usd_micro, before.available_usd_micro + 30_000n);
    const ends = await target.db.run<{ id: string; status: string; error_code: string | null }>(sql`
      select id, status, error_code from requests
        where id = any(${[filled.queued, filled.running, filled.calling]})`);
    const endOf = (id: string) => ends.find((row) => row.id === id);
    assert.equal(endOf(filled.queued)?.status, 'CANCELLED');
    assert.equal(endOf(filled.running)?.error_code, 'outcome_unknown');
    assert.equal(endOf(filled.calling)?.error_code, 'outcome_unknown');
    const [open] = await target.db.run<{ n: number }>(sql`select count(*)::int as n from requests
      where slot`);
    assert.equal(open!.n, 0, 'no slot at an upstream stays taken');
    assert.deepEqual((await audit(target.db)).violations, []);
    const requests = (await digests(source.db)).requests!;
    assert.match(requests, /^7 /, 'the source keeps its open requests');
  });
});

/** Does something on another connection after the snapshot is taken and before rows are read. */
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
  inLong('if the file was cut short', async () => {
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

  test('if a byte of it was altered', async () => {
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

  inLong('if its books do not balance', async () => {
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

  inLong('if the database has an account; of two imports at once, one is', async () => {
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
  inLong('is for its owner alone and replaces no file', async () => {
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

  inLong('names a damaged stored object, and counts a missing one', async () => {
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
  inLong('moves everything with two commands, and the generated secret with it', async (t) => {
    const { run } = placeFor(t, { FAREBOX_UNSAFE_DATABASE: 'on' });
    const target = await place();
    await runAll(target.db, oddTables);
    const from = mkdtempSync(join(folder, 'from-'));
    const to = mkdtempSync(join(folder, 'to-'));
    writeFileSync(join(from, 'secret'), 'a generated secret of some length');
    for (const [name, bytes] of filled.media)
      await openStorage(`disk:${join(from, 'media')}`).put(name, once(bytes));
    const file = join(folder, 'moved');

    const exported = await run(['export', file, '--json'], {
      DATABASE_URL: source.url,
      FAREBOX_DATA_DIR: from,
    });
    assert.equal(exported.code, 0, exported.stderr);
    const told = exported.json;
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
    const imported = await run(['import', file], env);
    assert.equal(imported.code, 0, imported.stderr);
    assert.match(imported.stdout, /accounts 2, requests 7, media files 2\./);
    assert.match(imported.stdout, /fake +poll +1 +0\.01\nfake +start \(costs money\) +1 +0\.01\n/);
    assert.equal(readFileSync(join(to, 'secret'), 'utf8'), 'a generated secret of some length');
    assert.equal(statSync(join(to, 'secret')).mode & 0o777, 0o600);
    assert.deepEqual(await digests(target.db), await digests(source.db));
    assert.deepEqual(storedIn(join(to, 'media')), new Map([...filled.media].sort()));

    const again = await run(['import', file, '--json'], env);
    assert.equal(again.code, 2);
    assert.match(again.json.error.message, /not empty/);

    assert.match(imported.stdout, /farebox resume-after-restore/);
    const dry = await run(['resume-after-restore', '--dry-run'], env);
    assert.match(dry.stdout, /restored copy.*once it is resumed.*fake +poll +1 .*to send: 1\./s);
    const resumed = await run(['resume-after-restore', '--release-open', '--json'], env);
    const said = resumed.json;
    assert.deepEqual(
      [said.held, said.why, said.released_requests, said.resumed],
      [true, 'copy', 3, true],
    );
    const over = await run(['resume-after-restore', '--json'], env);
    assert.deepEqual([over.json.held, over.code], [false, 0]);
    assert.equal((await audit(target.db)).ok, true);
  });
});
