/** Asks PostgreSQL which locks the statements of migrations take. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { locks, stepsOf } from '../../src/db/migration/steps.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { withDatabase } from '../kit/with-database.ts';

const { db } = withDatabase();

describe('PostgreSQL takes the lock that the plan says', () => {
  const statements = [
    'create table later_too (id int primary key references later (id))',
    'alter table later add column b text not null default 1',
    'alter table later add constraint c check (n > 0) not valid',
    'alter table later add constraint c foreign key (n) references later (id) not valid',
    'alter table later validate constraint known',
    'alter table later alter column n set not null',
    'alter table later alter column n set default 1',
    'alter table later alter column n type bigint',
    'alter table later drop column n',
    'alter table later rename column n to m',
    'alter table later drop constraint known, add constraint known check (n > 1) not valid',
    'alter table later set unlogged',
    'create index later_n on later (n)',
    `comment on column later.n is 'x'`,
    `comment on table later is 'x'`,
    'create trigger t before insert on later for each statement execute function refuse_change()',
    'insert into later values (1, 1)',
    'update later set n = 1',
    'delete from later',
    'drop table later',
  ];
  for (const statement of statements)
    test(statement, async () => {
      await db.run(
        rawSql(
          'drop table if exists later; create table later (id int primary key, n int, constraint known check (n > 0) not valid)',
        ),
      );
      const [step] = stepsOf(statement);
      const undone = new Error('undone');
      await assert.rejects(
        db.tx(async (tx) => {
          const oid = await tx.run<{ oid: number }>(rawSql(`select 'later'::regclass::oid as oid`));
          await tx.run(rawSql(statement));
          const taken = await tx.run<{ mode: string }>(
            rawSql(`select mode from pg_locks where relation = ${oid[0]!.oid}
              and pid = pg_backend_pid()`),
          );
          const modes = new Set(
            taken.map(({ mode }) =>
              mode
                .replace(/Lock$/, '')
                .replace(/(?<=.)([A-Z])/g, ' $1')
                .toUpperCase(),
            ),
          );
          const strongest = locks.findLast((lock) => modes.has(lock));
          assert.equal(strongest, step!.lock);
          throw undone;
        }),
        undone,
      );
    });
});
