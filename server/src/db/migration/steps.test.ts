import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { breaksBefore, faultsOf, firstBeside } from './rule.ts';
import { stepsOf } from './steps.ts';

describe('a statement of a migration', () => {
  const free = ['runs beside old code', 'in no time'];
  const rows: [sql: string, lock: string | null, ...says: string[]][] = [
    [
      'create table b (id uuid primary key, a uuid references a (id))',
      'SHARE ROW EXCLUSIVE',
      ...free,
    ],
    ['create table b (id uuid unique, n int check (n > 0))', null, ...free],
    ['alter table a add column b text', 'ACCESS EXCLUSIVE', ...free],
    [`alter table a add column b text not null default 'x'`, 'ACCESS EXCLUSIVE', ...free],
    [
      'alter table a add column b int, add column c boolean not null default true',
      'ACCESS EXCLUSIVE',
      ...free,
    ],
    ['alter table a add column b timestamptz not null default now()', 'ACCESS EXCLUSIVE', ...free],
    ['alter table a add column b text not null', 'ACCESS EXCLUSIVE', 'breaks old code'],
    ['alter table a add column b uuid default gen_random_uuid()', 'ACCESS EXCLUSIVE', 'is refused'],
    [
      'alter table a add column b bigint generated always as identity',
      'ACCESS EXCLUSIVE',
      'is refused',
    ],
    ['alter table a add column b int check (b > 0)', 'ACCESS EXCLUSIVE', 'is refused'],
    ['alter table a add constraint c check (n > 0) not valid', 'ACCESS EXCLUSIVE', ...free],
    ['alter table a add constraint c check (n > 0)', 'ACCESS EXCLUSIVE', 'is refused'],
    [
      'alter table a add constraint c foreign key (b) references b not valid',
      'SHARE ROW EXCLUSIVE',
      ...free,
    ],
    ['alter table a add constraint c unique (n)', 'ACCESS EXCLUSIVE', 'is refused'],
    ['alter table a validate constraint c', 'SHARE UPDATE EXCLUSIVE', 'runs beside old code'],
    [
      'alter table a drop constraint c, add constraint c check (n > 1) not valid',
      'ACCESS EXCLUSIVE',
      ...free,
    ],
    ['alter table a drop constraint c', 'ACCESS EXCLUSIVE', 'breaks old code'],
    ['alter table a drop column b', 'ACCESS EXCLUSIVE', 'breaks old code'],
    ['alter table a rename column b to c', 'ACCESS EXCLUSIVE', 'breaks old code'],
    ['alter table a rename to c', 'ACCESS EXCLUSIVE', 'breaks old code'],
    ['alter table a alter column b type bigint', 'ACCESS EXCLUSIVE', 'is refused'],
    ['alter table a alter column b set not null', 'ACCESS EXCLUSIVE', 'is refused'],
    ['alter table a set logged', 'ACCESS EXCLUSIVE', 'is refused'],
    ['create index concurrently i on a (b)', 'SHARE UPDATE EXCLUSIVE', 'runs beside old code'],
    ['create index i on a (b)', 'SHARE', 'is refused'],
    ['drop index concurrently if exists i', 'SHARE UPDATE EXCLUSIVE', 'breaks old code'],
    ['drop table a', 'ACCESS EXCLUSIVE', 'breaks old code'],
    [`insert into a values ('x; y')`, 'ROW EXCLUSIVE', ...free],
    ['update a set b = 1', 'ROW EXCLUSIVE', 'breaks old code'],
    ['delete from a', 'ROW EXCLUSIVE', 'breaks old code'],
    ['create function f() returns int language sql as $$ select 1; $$', null, ...free],
    [
      'create or replace function f() returns int language sql as $$ select 1; $$',
      null,
      'breaks old code',
    ],
    [
      'create trigger t before insert on a for each row execute function f()',
      'SHARE ROW EXCLUSIVE',
      'breaks old code',
    ],
    [`comment on column a.b is 'x; y'`, 'SHARE UPDATE EXCLUSIVE', ...free],
    ['vacuum full a', 'ACCESS EXCLUSIVE', 'is refused'],
    ['do $$ begin end $$', 'ACCESS EXCLUSIVE', 'is refused'],
    ['alter table a enable row level security', 'ACCESS EXCLUSIVE', 'is refused'],
  ];
  for (const [sql, lock, ...says] of rows)
    test(`${sql}: ${says.join(', ')}`, () => {
      const [step, ...others] = stepsOf(`-- A word; another.\n${sql};\n`);
      assert.deepEqual(others, []);
      assert.equal(step!.statement, sql);
      assert.equal(step!.lock ?? null, lock);
      assert.equal(step!.instead !== undefined, says.includes('is refused'));
      if (says.includes('runs beside old code')) assert.equal(step!.contract, undefined);
      if (says.includes('breaks old code')) assert.ok(step!.contract);
      if (says.includes('in no time')) assert.equal(step!.work, 'at once');
    });

  test('on a table of the same migration locks nobody out', () => {
    const steps = stepsOf(`create table b (id uuid);
      create index b_id on b (id);
      create trigger t before insert on b for each row execute function f()`);
    for (const { tables, lock, instead, contract } of steps)
      assert.deepEqual(
        { tables, lock, instead, contract },
        {
          tables: [],
          lock: undefined,
          instead: undefined,
          contract: undefined,
        },
      );
  });

  test('may forbid nulls once a checked constraint does', () => {
    const text = `alter table a add constraint c check (b is not null) not valid;
      alter table a validate constraint c;
      alter table a alter column b set not null;`;
    const last = stepsOf(text).at(-1)!;
    assert.deepEqual([last.instead, last.work], [undefined, 'at once']);
    assert.match(last.contract!, /may not keep to it/);
  });
});

describe('a migration', () => {
  const drops = 'alter table a drop column b;';

  test('that takes something away names the release whose code no longer uses it', () => {
    const number = firstBeside;
    assert.equal(breaksBefore({ number, text: 'create table a (id int);' }), 0);
    assert.equal(breaksBefore({ number, text: `-- contract: since 0.2.0\n${drops}` }), 47);
    assert.equal(faultsOf(number, `-- contract: since 0.2.0\n${drops}`, new Set()).length, 0);
    assert.match(faultsOf(number, drops, new Set()).join(), /wait for a later release/);
  });

  test('from before the rule serves one version', () => {
    assert.equal(breaksBefore({ number: firstBeside - 1, text: '' }), firstBeside - 1);
    assert.deepEqual(faultsOf(firstBeside - 1, drops, new Set()), []);
  });

  test('changes no law that audits of the version before look for', () => {
    const text = 'alter table a drop constraint c, add constraint c check (n > 1) not valid;';
    assert.match(faultsOf(firstBeside, text, new Set(['c'])).join(), /audits by code/);
    assert.deepEqual(faultsOf(firstBeside, text, new Set(['d'])), []);
  });
});
