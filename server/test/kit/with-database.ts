import assert from 'node:assert/strict';
import { after } from 'node:test';
import { audit } from '../../src/ledger/audit.ts';
import type { Database } from '../../src/lib/sql/sql.ts';
import { before } from './before.ts';
import { testDatabase, type TestDatabase } from './database.ts';

export { before };

/** The database of a test file. Its members are filled before the first test. */
export function withDatabase(): Pick<TestDatabase, 'db' | 'url'> {
  return open(async () => {});
}

/** Like `withDatabase`; the books are proved after the last test. */
export function withBooks(): Pick<TestDatabase, 'db' | 'url'> {
  return open(async (db) => assert.deepEqual((await audit(db)).violations, []));
}

function open(prove: (db: Database) => Promise<void>): TestDatabase {
  const database = { db: {} } as TestDatabase;
  before(async () => {
    const { db, ...rest } = await testDatabase();
    Object.assign(database.db, db);
    Object.assign(database, rest);
  });
  after(() => prove(database.db).finally(database.close));
  return database;
}
