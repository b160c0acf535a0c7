import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { startProcess } from '../../kit/process.ts';
import { seconds } from '../../kit/seconds.ts';
import { startService } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';

/** Further moments at which the program is stopped. */

describe('a process', { concurrency: true }, () => {
  test('that is auditing aborts the audit, and leaves no statement running', async () => {
    const other = await startService({ times: { auditFirstMs: 0 } });
    try {
      const figures = async () => (await other.call('GET', '/metrics', other)).text;
      await until('it proved them', async () => /^farebox_books_ok 1$/m.test(await figures()));
      const [, at] = /^farebox_books_checked_timestamp_seconds (\S+)$/m.exec(await figures())!;
      assert.ok(Math.abs(Number(at) - Date.now() / 1000) < 60, at);
      await other.db.tx(async (tx) => {
        await other.db.run(rawSql('truncate audit_results'));
        await tx.run(rawSql('lock table transfers in access exclusive mode'));
        const { app } = await other.another();
        const waiting = rawSql(
          `select from pg_locks where relation = 'transfers'::regclass and not granted`,
        );
        await until('it proves them', async () => (await other.db.run(waiting)).length > 0);
        assert.match(await app.metrics.registry.metrics(), /books_checked_timestamp_seconds 0$/m);
        const took = await seconds(() => app.stop());
        assert.ok(took < 4, `${took} s`);
        // PostgreSQL needs a moment to end the statement. Left alone, it would wait for the lock, which
        // is held until here.
        await until('it is gone', async () => (await other.db.run(waiting)).length === 0, 20_000);
      });
      assert.doesNotMatch(other.log.join(''), /the audit could not run|connection was lost/);
    } finally {
      await other.stop();
    }
  });

  test('that has nothing to do is gone in a moment, in order, though it is told twice in the same moment', async (t) => {
    const service = await startService();
    t.after(() => service.stop());
    const running = await startProcess(service);
    t.after(() => running.kill());
    const took = await seconds(async () => {
      running.signal('SIGINT');
      running.signal('SIGTERM');
      assert.equal(await running.ended, 0, running.output());
    });
    assert.ok(took < 5, `${took} s`);
  });
});
