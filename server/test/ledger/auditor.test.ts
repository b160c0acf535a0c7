import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditWhenDue } from '../../src/worker/background/audit.ts';
import * as auditResults from '../../src/db/audit-results.ts';
import { auditLock } from '../../src/ledger/audit.ts';
import { createLog } from '../../src/lib/log.ts';
import { runLongTransaction } from '../../src/lib/sql/long-transaction.ts';
import { createMetrics, type Metrics } from '../../src/lib/metrics.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { auditNews } from '../../src/operations/audit.ts';
import { mend } from '../../src/operations/mend.ts';
import { until } from '../kit/until.ts';
import { withDatabase } from '../kit/with-database.ts';

/** One process audits for all processes, for a small share of the time. */

const { db } = withDatabase();

const log = createLog('silent');
const look = (metrics: Metrics) =>
  auditWhenDue({ db, metrics, log, days: 1 }, new AbortController().signal);
const audits = async () => (await auditResults.findNewest(db))?.created_at.getTime() ?? 0;
const age = (minutes: number, took_ms: number) =>
  db.run(
    rawSql(
      `update audit_results set created_at = now() - $1 * interval '1 minute', took_ms = $2, ok = false`,
      [minutes, took_ms],
    ),
  );
const shown = async (metrics: Metrics, name: string) =>
  (await metrics.registry.getSingleMetric(name)!.get()).values[0]!.value;

test('a process that comes later shows the existing audit, and makes none', async () => {
  const first = createMetrics();
  await look(first);
  assert.equal(await shown(first, 'farebox_books_ok'), 1);
  await age(14, 10);
  const made = await audits();
  const second = createMetrics();
  assert.equal(await look(second), 60_000);
  assert.equal(await audits(), made, 'no second audit');
  assert.equal(await shown(second, 'farebox_books_ok'), 0, "the first one's verdict");
  assert.equal(await shown(second, 'farebox_books_audit_seconds'), 0.01);
  assert.equal(await shown(second, 'farebox_books_checked_timestamp_seconds'), made / 1000);
});

test('a pause is 15 minutes, or 50 times as long as the audit took', async () => {
  for (const [minutes, took_ms, isDue] of [
    [14, 1_000, false],
    [16, 1_000, true],
    [149, 180_000, false],
    [151, 180_000, true],
    // The database's clock ran ahead.
    [-60, 1_000, true],
    [-1_000_000, 180_000, true],
  ] as const) {
    await age(minutes, took_ms);
    const made = await audits();
    await look(createMetrics());
    assert.equal((await audits()) !== made, isDue, `${minutes} min after one of ${took_ms} ms`);
  }
});

test('another process takes over when the auditing one ends', async () => {
  await age(16, 1_000);
  const made = await audits();
  await runLongTransaction(db, 'read only', async (tx) => {
    await tx.run(rawSql('select pg_advisory_xact_lock($1)', [auditLock]));
    await look(createMetrics());
    assert.equal(await audits(), made, 'one at a time');
  });
  await look(createMetrics());
  assert.notEqual(await audits(), made);
});

/** Begins the work during another audit, which ends when the work waits for it. */
async function duringAnother<T>(work: () => Promise<T>, onWait: () => void): Promise<T> {
  let waiting: Promise<T> | undefined;
  await runLongTransaction(db, 'read only', async (tx) => {
    await tx.run(rawSql('select pg_advisory_xact_lock($1)', [auditLock]));
    waiting = work();
    await until('it waits for the lock', async () => {
      const [waits] = await db.run<{ n: bigint }>(
        rawSql(`select count(*) as n from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`),
      );
      return waits!.n > 0n;
    });
    onWait();
  });
  return waiting!;
}

test('mending waits for an audit, too', async () => {
  let hasWaited = false;
  const { report } = await duringAnother(
    () => mend(db),
    () => (hasWaited = true),
  );
  assert.deepEqual([hasWaited, report.ok], [true, true]);
});

test('the time of an audit begins after the wait for another one, and ends with its end', async (t) => {
  const real = performance.now.bind(performance);
  let hours = 0;
  t.mock.method(performance, 'now', () => real() + hours * 3_600_000);
  await duringAnother(
    () => auditNews(db, { days: 1, waits: true }),
    () => (hours = 1),
  );
  const newest = await auditResults.findNewest(db);
  assert.ok(newest!.took_ms < 3_600_000, `${newest!.took_ms} ms`);
  const [ends] = await db.run<{ is_later: boolean }>(
    rawSql(`select date_trunc('milliseconds', r.created_at) > p.part_at as is_later
      from audit_results r cross join audit_progress p`),
  );
  assert.ok(ends!.is_later, 'the part is named by the start of the transaction');
});
