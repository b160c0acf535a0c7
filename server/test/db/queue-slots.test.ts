import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimQueued } from '../../src/db/requests/queue.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { claim, customer, submit } from '../kit/by-hand.ts';
import { withDatabase } from '../kit/with-database.ts';
import { until } from '../kit/until.ts';

/** The moment when a worker has taken slots and has not committed yet. */

const { db } = withDatabase();

test('a second worker waits for the first to count, and finds no slot left', async () => {
  const upstream = 'narrow';
  const lane = { upstream, concurrency: 3 };
  // Turns go by account id: the early account's requests come before the claimed ones.
  const early = await customer(db, 0n);
  const late = await customer(db, 0n);
  for (let i = 0; i < 3; i++) await submit(db, late, { amount: 0n, upstream });
  assert.equal((await claim(db, upstream)).length, 1, 'from here on the upstream has its row');
  const first = await db.connect();
  try {
    // Like a claim that does not end.
    await first.query('begin');
    await first.query('select from upstreams where name = $1 for update', [upstream]);
    const { rowCount } = await first.query(
      `update requests set slot = true, attempt = attempt + 1, wake_at = now() + interval '60 s'
       where upstream = $1 and status = 'IN_QUEUE' and not slot`,
      [upstream],
    );
    assert.equal(rowCount, 2);
    const newcomer = await submit(db, early, { amount: 0n, upstream });
    const second = claimQueued(db, lane, 10, 60);
    await until('the second worker waits', async () => {
      const [waiting] = await db.run(sql`select from pg_stat_activity
           where wait_event_type = 'Lock' and datname = current_database()`);
      return waiting !== undefined;
    });
    await first.query('commit');
    assert.deepEqual(await second, [], 'three slots had four jobs');
    const [next] = await claim(db, upstream);
    assert.equal(next!.id, newcomer);
  } finally {
    await first.end();
  }
});
