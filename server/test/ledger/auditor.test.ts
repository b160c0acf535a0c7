import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditWhenDue } from '../../src/worker/jobs/audit.ts';
import * as verdicts from '../../src/db/audit-results.ts';
import { auditLock } from '../../src/ledger/audit.ts';
import { createLog } from '../../src/lib/log.ts';
import { runLongTransaction } from '../../src/lib/sql/long-transaction.ts';
import { createMetrics, type Metrics } from '../../src/lib/metrics.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { withDatabase } from '../kit/with-database.ts';

/** One process audits for all processes, for a small share of the time. */

const { db } = withDatabase();

const log = createLog('silent');
const look = (metrics: Metrics) => auditWhenDue(db, metrics, log, new AbortController().signal);
const audits = async () => (await verdicts.newest(db))?.created_at.getTime() ?? 0;
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
