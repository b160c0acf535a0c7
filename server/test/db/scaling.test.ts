import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { withDatabase } from '../kit/with-database.ts';
import { acrossAccounts } from './across-accounts.ts';

/** docs/scaling.md says the truth about the schema. */

const page = readFileSync(new URL('../../../docs/scaling.md', import.meta.url), 'utf8');
const { db } = withDatabase();

/** The first cells of the table below a heading. */
function cellsBelow(heading: string): string[] {
  const [, text] = page.split(`### ${heading}\n`);
  const rows = text!.split('\n#')[0]!.match(/^\| .*\|$/gm)!;
  return rows.slice(1).map((row) => row.split(' | ')[0]!.slice(2));
}

/** `account_id` is missing in these although they belong to one account. */
const withoutColumn = ['attempts', 'key_windows'];

test('each unique key without the account is named, with its answer', async () => {
  const rows = await db.run<{ key: string }>(
    rawSql(
      `select format('%s (%s)', i.indrelid::regclass, string_agg(a.attname, ', ' order by k.n)) as key
      from pg_index i
      cross join unnest(i.indkey) with ordinality as k (attnum, n)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      where i.indisunique and i.indrelid::regclass::text not like 'pg_%'
        and (i.indrelid::regclass::text = any($1) or exists (
          select from pg_attribute o
            where o.attrelid = i.indrelid and o.attname = 'account_id' and not o.attisdropped))
      group by i.indexrelid, i.indrelid
      having bool_and(a.attname <> 'account_id')
      order by 1`,
      [withoutColumn],
    ),
  );
  const named = cellsBelow('Keys that are unique over all accounts')
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)])
    .map(([, key]) => key);
  assert.deepEqual(named.toSorted(), rows.map(({ key }) => key).toSorted());
});

test('each kind of statement that is not local to an account has its answer', () => {
  assert.deepEqual(cellsBelow('Statements that reach over accounts'), Object.keys(acrossAccounts));
});
