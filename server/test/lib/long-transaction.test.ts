import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runLongTransaction } from '../../src/lib/sql/long-transaction.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { before, withDatabase } from '../kit/with-database.ts';

const { db } = withDatabase();
before(() => db.run(rawSql('create table seen (n integer primary key)')));

const put = (n: number) => rawSql('insert into seen (n) values ($1)', [n]);

async function seen(): Promise<number[]> {
  const rows = await db.run<{ n: number }>(rawSql('select n from seen order by n'));
  return rows.map(({ n }) => n);
}

describe('a long transaction', () => {
  test('commits all its statements, in order and in its mode', async () => {
    const level = await runLongTransaction(db, 'isolation level serializable', async (tx) => {
      tx.send(put(1));
      const rows = await tx.run<{ n: number }>(rawSql('select n from seen'));
      assert.deepEqual(rows, [{ n: 1 }]);
      assert.deepEqual(await seen(), [], 'nobody else sees it yet');
      tx.send(put(2));
      const [row] = await tx.run<{ transaction_isolation: string }>(
        rawSql('show transaction_isolation'),
      );
      return row!.transaction_isolation;
    });
    assert.equal(level, 'serializable');
    assert.deepEqual(await seen(), [1, 2]);
  });

  test('leaves nothing if the work, a statement or the last sent statement fails', async () => {
    const before = await seen();
    const fails = [
      runLongTransaction(db, '', async (tx) => {
        await tx.run(put(10));
        throw new Error('changed my mind');
      }),
      runLongTransaction(db, '', async (tx) => {
        tx.send(put(1));
        await tx.run(put(11));
      }),
      runLongTransaction(db, '', async (tx) => {
        await tx.run(put(12));
        tx.send(put(12));
      }),
    ];
    const outcomes = await Promise.allSettled(fails);
    const reasons = outcomes.map((one) =>
      one.status === 'rejected' ? String(one.reason) : 'none',
    );
    assert.match(reasons[0]!, /changed my mind/);
    assert.match(reasons[1]!, /duplicate key/);
    assert.match(reasons[2]!, /duplicate key/);
    assert.deepEqual(await seen(), before);
  });

  test('has no time limit of a statement or of idleness', async () => {
    const limits = await runLongTransaction(db, '', (tx) =>
      tx.run<{ name: string; setting: string }>(sql`select name, setting from pg_settings
       where name in ('statement_timeout', 'idle_in_transaction_session_timeout') order by name`),
    );
    assert.deepEqual(
      limits.map(({ setting }) => setting),
      ['0', '0'],
    );
  });
});
