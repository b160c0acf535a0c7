import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { idleWrite, schemaOfSession } from '../../../src/db/schema.ts';
import { openDatabase, sql, type Database } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { before, withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';

/** A database that answers and takes no writes: readiness says so, and nothing is lost. */

const options = (connection: string) => ({
  connection,
  max: 4,
  statementTimeoutMs: 15_000,
  applicationName: 'read-only',
  idleWrite,
});

let db: Database;
let base: string;
let admin: pg.Client;
after(() => admin.end());
const { service, account } = withService();
before(async () => {
  db = openDatabase({ ...options(service.databaseUrl), session: schemaOfSession });
  const overrides = { FAREBOX_LEASE_SECONDS: '2', FAREBOX_STEP_TIMEOUT_SECONDS: '1' };
  ({ base } = await service.another(overrides, { db }));
  admin = await service.db.connect();
  await admin.query('set default_transaction_read_only = off');
});
after(() => db.close());
afterEach(() => setDatabase('reset all'));

/** For each new connection of the second service; its open ones are cut. */
async function setDatabase(value: string): Promise<void> {
  const { rows } = await admin.query<{ name: string }>('select current_database() as name');
  await admin.query(`alter database ${rows[0]!.name} ${value}`);
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'read-only%'`);
}

const readiness = () => service.call('GET', '/readyz', { base });
const submit = () => account.post('/v1/queue/fake/image', { prompt: 'x' }, { base });
const isReady = async () => (await readiness()).status === 200;

async function assertNotReady(): Promise<void> {
  await until('it is not ready', async () => !(await isReady()));
  const { details } = assertRefused(await readiness(), 'capacity_unavailable');
  assert.deepEqual(details, { failing: 'database' });
}

test('a working database is ready, and asking writes nothing', async () => {
  await until('it is ready', isReady);
  const written = async () =>
    (
      await db.run<{ n: bigint }>(sql`select pg_current_xact_id_if_assigned() is null as none,
      (select sum(n_tup_ins + n_tup_upd) from pg_stat_user_tables)::bigint as n`)
    )[0]!;
  // The workers of both services may write meanwhile, but not each time.
  await until('nothing was written', async () => {
    const before = await written();
    for (let i = 0; i < 5; i++) assert.ok(await isReady());
    return isDeepStrictEqual(await written(), before);
  });
});

test('while transactions are read-only it is not ready, and takes nothing', async () => {
  const transfers = await service.transfers();
  await setDatabase('set default_transaction_read_only = on');
  await assertNotReady();
  const refused = await submit();
  assertRefused(refused, 'capacity_unavailable');
  await assertNotReady();
  assert.equal((await service.call('GET', '/livez', { base })).status, 200);
  assert.equal((await service.call('GET', '/v1/models', { base })).status, 200);
  assert.equal(await service.transfers(), transfers, 'something was booked');

  await setDatabase('reset default_transaction_read_only');
  await until('it is ready', isReady);
  assert.equal((await submit()).status, 202);
});

test('a process of an older version is not ready, because its writes are refused', async () => {
  const older = openDatabase(options(service.databaseUrl));
  const { base: at, app } = await service.another({}, { db: older });
  try {
    const { details } = assertRefused(
      await service.call('GET', '/readyz', { base: at }),
      'capacity_unavailable',
    );
    assert.deepEqual(details, { failing: 'database' });
  } finally {
    await app.stop(500);
    await older.close();
  }
});

test('it is ready again without a cut, although its connections began read-only', async () => {
  await setDatabase('set default_transaction_read_only = on');
  await assertNotReady();
  const { rows } = await admin.query<{ name: string }>('select current_database() as name');
  await admin.query(`alter database ${rows[0]!.name} reset default_transaction_read_only`);
  await until('it is ready', isReady);
  assert.equal((await submit()).status, 202);
});
