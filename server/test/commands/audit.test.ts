import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { before } from '../kit/before.ts';
import { addHistory } from '../kit/add-history.ts';
import { endDay } from '../kit/end-day.ts';
import { databaseFor, placeFor, type Place } from './cli.ts';

/** `farebox audit` with seals: what it prints, and what it says when history was changed. */

let db: Database;
let place: Place;
const cleanings: (() => Promise<void>)[] = [];
before(async () => {
  const t = { after: (clean: () => Promise<void>) => void cleanings.push(clean) };
  const made = await databaseFor(t);
  db = made.database.db;
  place = placeFor(t, made.env);
  await place.run(['account', 'create', 'ana@example.com', '--credit-usd', '7']);
});
after(async () => {
  for (const clean of cleanings) await clean();
});

/** Without the triggers. */
async function tamper(...texts: string[]): Promise<void> {
  await db.tx(async (tx) => {
    await tx.run(rawSql('set local session_replication_role = replica'));
    for (const text of texts) await tx.run(rawSql(text));
  });
}

async function sealDay(reference: string): Promise<string> {
  await place.run(['credit', 'ana@example.com', '1', '--reference', reference]);
  await endDay(db);
  const { json } = await place.run(['audit', '--json']);
  assert.equal(json.ok, true);
  return json.sealed_to;
}

describe('audit', () => {
  test('has no head before the first day is over, and says when there will be one', async () => {
    assert.equal((await place.run(['audit', '--json'])).json.sealed_to, null);
    const none = await place.run(['audit', '--head']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /no seals yet.*when the day \(UTC\) is over/);
  });

  test('seals a day once, and prints the head', async () => {
    const first = await sealDay('one');
    assert.match(first, /^1-[0-9a-f]{64}$/);
    assert.equal((await place.run(['audit', '--json'])).json.sealed_to, null, 'not twice a day');
    assert.equal((await place.run(['audit', '--head'])).stdout, `${first}\n`);
    const { json } = await place.run(['audit', '--head', '--json']);
    assert.deepEqual([json.head, json.number, json.seals, json.transfers], [first, '1', 1, 2]);
  });

  test('finds nothing since a head if nothing was changed, also below an older head', async () => {
    const older = (await place.run(['audit', '--head'])).stdout.trim();
    const head = await sealDay('two');
    for (const each of [older, head]) {
      const { code, stdout } = await place.run(['audit', '--since', each]);
      assert.equal(code, 0, stdout);
      assert.equal(stdout, `Nothing below ${each} was changed.\n`);
    }
  });

  test('names the transfers that were changed below a head, with exit 1', async () => {
    const head = (await place.run(['audit', '--head'])).stdout.trim();
    // No other law looks at the key of a deposit.
    const set = (key: string) => `update transfers set key_id = ${key} where seq = 1`;
    await tamper(set('account_id'));
    const { code, stdout } = await place.run(['audit', '--since', head]);
    assert.equal(code, 1);
    assert.match(stdout, /^History below 2-.* was CHANGED\.\n.*"first_seq":"1","last_seq":"2"/);
    assert.equal((await place.run(['audit'])).code, 1, 'so does the usual audit');
    const full = await place.run(['audit', '--full', '--json']);
    assert.deepEqual(
      full.json.violations.map(({ law }: { law: string }) => law),
      ['seals_stand'],
    );
    await tamper(set('null'));
    assert.equal((await place.run(['audit'])).code, 0);
  });

  test('says that a database is older than the head, and what to compare it with', async () => {
    const head = (await place.run(['audit', '--head'])).stdout.trim();
    await tamper('delete from seals where head = 2', 'delete from seal_heads where number = 2');
    const restored = await place.run(['audit', '--since', head]);
    assert.equal(restored.code, 1);
    assert.match(restored.stdout, /only 1 heads: .*restored from a backup.*before the backup/);
    const full = await place.run(['audit', '--full']);
    assert.equal(full.code, 0, 'else it is in accord with itself');
    const again = await sealDay('another two');
    assert.notEqual(again, head);
    const other = await place.run(['audit', '--since', head, '--json']);
    assert.deepEqual([other.code, other.json.head_is_known], [1, false]);
    assert.match(
      (await place.run(['audit', '--since', head])).stdout,
      /Head 2 of this database is another one: .*before the backup/,
    );
  });

  test('names a clock that went back over the newest seals, and seals when the day changes', async () => {
    await tamper(`update seal_heads set created_at = created_at + interval '40 days'
      where number = (select max(number) from seal_heads)`);
    await place.run(['credit', 'ana@example.com', '1', '--reference', 'back']);
    const { code, stdout } = await place.run(['audit']);
    assert.equal(code, 0);
    assert.match(stdout, /Sealed up to .*\n.*clock went back/);
    assert.doesNotMatch((await place.run(['audit'])).stdout, /Sealed|clock/);
  });

  test('refuses what is not a head, and two tasks at once', async () => {
    for (const text of ['', '1', `0-${'a'.repeat(64)}`, `1-${'A'.repeat(64)}`, '1-abc']) {
      const { code, stderr } = await place.run(['audit', '--since', text]);
      assert.equal(code, 2, text);
      assert.match(stderr, /is not a head|must be/);
    }
    const { code, stderr } = await place.run(['audit', '--full', '--head']);
    assert.equal(code, 2);
    assert.match(stderr, /only one of --full, --head/);
  });

  test('of an imported copy proves by the same head', async (t) => {
    const head = (await place.run(['audit', '--head'])).stdout.trim();
    const file = `${place.dir}.farebox`;
    const secret = { FAREBOX_SECRET: 'a secret of at least thirty-two characters' };
    assert.equal((await place.run(['export', file], secret)).code, 0);
    const copy = placeFor(t, { ...(await databaseFor(t)).env, ...secret });
    const imported = await copy.run(['import', file]);
    assert.equal(imported.code, 0, imported.stderr);
    assert.equal((await copy.run(['audit', '--since', head])).code, 0);
    assert.equal((await copy.run(['audit', '--head'])).stdout.trim(), head);
  });

  test('of a part of what is new says so, and since when all history was proved', async () => {
    const all = (await place.run(['audit'])).stdout;
    assert.match(all, /^The books balance: .*\nAll history was proved since 20\S+\.\n$/);
    await db.tx(async (tx) => {
      await tx.run(rawSql('set local session_replication_role = replica'));
      const [account] = await tx.run<{ account_id: string }>(rawSql('select * from balances'));
      await addHistory(tx, account!.account_id, 100_001);
    });
    const { code, stdout } = await place.run(['audit']);
    assert.equal(code, 0);
    const [read, sealed, more, last] = stdout.split('\n');
    assert.match(read!, /^All that was read balances: \d+ laws/);
    assert.match(sealed!, /^Sealed up to /);
    assert.match(more!, /^Not all that is new was proved\. Run it again/);
    assert.match(last!, /^All history was proved since 20\S+\.$/);
  });
});
