/**
 * A process of an older version on a migrated database. Its sessions do not say for which schema
 * they are made; its code may be any.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { firstBeside } from '../../src/db/migration/rule.ts';
import { schemaNumber } from '../../src/db/schema.ts';
import { openDatabase, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { codeOf } from '../../src/lib/unknown.ts';
import { before, withService } from '../kit/with-service.ts';

let older: Database;
after(() => older.close());
const { service, account } = withService();
before(async () => {
  older = openDatabase({
    connection: service.databaseUrl,
    max: 2,
    statementTimeoutMs: 5_000,
    applicationName: 'farebox serve',
  });
});

const prompt = { prompt: 'a lighthouse' };

describe('an older process that serves on', () => {
  test('takes no call and no work, and leaves the books as they are', async () => {
    const { base, app } = await service.another({}, { db: older });
    const submit = (at: string) => account.post('/v1/queue/fake/image', prompt, { base: at });
    const before = [await service.transfers(), await service.balance(account)];
    for (const path of ['/v1/queue/fake/image', '/v1/balance', '/v1/requests']) {
      const body = path.includes('queue') ? prompt : undefined;
      const method = body ? 'POST' : 'GET';
      const { status, body: said } = await service.call(method, path, {
        key: account.key,
        base,
        ...(body && { body }),
      });
      assert.equal(status, 503, path);
      assert.equal(said.error.code, 'capacity_unavailable');
    }
    assert.deepEqual([await service.transfers(), await service.balance(account)], before);

    const { body: job } = await submit(service.base);
    assert.equal(await app.worker!.runOnce().catch(() => 0), 0);
    const started = await service.db.run(sql`select status, attempt from requests
      where id = ${job.request_id}`);
    assert.deepEqual(started, [{ status: 'IN_QUEUE', attempt: 0 }]);
    await app.stop(500);
    await service.work();
    await service.audit();
  });
});

describe('a write of an older version', () => {
  const other = '01890f5e-27c1-7d3a-9e4f-000000000001';
  const writes: [what: string, text: string, values?: unknown[]][] = [
    [
      'of a transfer',
      `insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
        amount_usd_micro, available_after_usd_micro, source, reference)
      select gen_random_uuid(), account_id, last_seq + 1, 'deposit', $1, account_id, 5, 5, 'paid',
        'older' from balances limit 1`,
      ['00000000-0000-0000-0000-000000000001'],
    ],
    ['of a status', `update requests set status = 'CANCELLED', charged_usd_micro = 0`],
    ['of a lease that finds nothing due', 'update requests set wake_at = now() where false'],
    ['that removes requests', 'delete from requests'],
    [
      'that counts a call',
      `insert into key_windows (key_id, started_at, calls, asked, granted, quota, used_at)
        values ($1, now(), 1, 1, 1, 1, now())`,
      [other],
    ],
    ['of a daily sum', 'update spend_days set requests = 0'],
    ['of an account', `update accounts set status = 'suspended'`],
    ['of a key', 'update keys set revoked_at = now()'],
    ["of the operator's log", 'insert into operator_log default values'],
    ['of a verdict', 'insert into audit_results default values'],
    ['of a chain', 'update chains set name = name'],
  ];
  for (const [what, text, values] of writes) {
    test(`${what} is refused as by a standby`, async () => {
      await assert.rejects(older.run(rawSql(text, values)), (error: Error) => {
        assert.equal(codeOf(error), '25006');
        assert.match(error.message, /needs code of migration \d+, .* an older one/);
        return true;
      });
      await service.audit();
    });
  }

  for (const [made, passes] of [
    ['7', false],
    [String(firstBeside - 2), false],
    ['', false],
    [String(firstBeside - 1), true],
    [String(schemaNumber), true],
    [String(schemaNumber + 1), true],
  ] as const) {
    test(`in a session made for "${made}" ${passes ? 'passes' : 'is refused'}`, async () => {
      const written = older.tx(async (tx) => {
        await tx.run(rawSql(`set local farebox.schema = '${made}'`));
        await tx.run(rawSql('update requests set wake_at = wake_at where false'));
      });
      await (passes ? written : assert.rejects(written, /this session is made for/));
    });
  }

  test('is refused from the moment of a migration on, in the middle of a transaction', async () => {
    const next = schemaNumber + 1;
    const write = rawSql('update requests set wake_at = wake_at where false');
    try {
      const across = service.db.tx(async (tx) => {
        await tx.run(write);
        await older.run(
          rawSql(
            `insert into migrations (number, name, sha256) values (${next}, 'later.sql', 'x')`,
          ),
        );
        await tx.run(write);
      });
      await assert.rejects(across, /code of migration \d+, and this session is made for \d+/);
    } finally {
      await older.run(rawSql(`delete from migrations where number = ${next}`));
    }
    await service.db.run(write);
  });
});
