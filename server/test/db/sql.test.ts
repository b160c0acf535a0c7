import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rowsOf } from '../../src/lib/sql/rows-of.ts';
import {
  isDataError,
  isUnavailable,
  openDatabase,
  rawSql,
  sql,
  type Database,
} from '../../src/lib/sql/sql.ts';
import { codeOf } from '../../src/lib/unknown.ts';
import { before, withDatabase } from '../kit/with-database.ts';
import { until } from '../kit/until.ts';

const database = withDatabase();
const { db } = database;
before(async () => {
  await db.run(
    rawSql(`
    create table t (id int primary key, n int not null default 0 check (n >= 0));
    create table late (id int, unique (id) deferrable initially deferred)`),
  );
});
beforeEach(async () => {
  await db.run(
    rawSql(
      'delete from late; delete from t; insert into t select id from generate_series(1, 3) id',
    ),
  );
});

const numbers = async () =>
  (await db.run<{ n: number }>(sql`select n from t order by id`)).map(({ n }) => n);
const count = async (table: string) =>
  Number((await db.run<{ n: bigint }>(rawSql(`select count(*) as n from ${table}`)))[0]!.n);
const codes = (expected: string) => (error: unknown) => codeOf(error) === expected;

describe('a value', () => {
  test('of 64 bits arrives exactly, alone and in a list', async () => {
    const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
    const [row] = await db.run(sql`
      select ${least}::bigint as least, ${[most, least, 0n]}::bigint[] as list, ${[]}::bigint[] as none`);
    assert.deepEqual(row, { least, list: [most, least, 0n], none: [] });
  });

  test('that is null is null, in a list of 64 bits too', async () => {
    const [row] = await db.run(sql`
      select null::bigint as alone, ${[1n, null]}::bigint[] as list, null::bigint[] as none`);
    assert.deepEqual(row, { alone: null, list: [1n, null], none: null });
  });

  test('of smaller types arrives as a number, a date as a date, bytes as bytes', async () => {
    const [row] = await db.run(sql`
      select 7 as int, 0.5::float8 as float, true as flag, ${['a', 'b"c']}::text[] as texts,
        ${Buffer.from('ab')}::bytea as bytes, '2026-03-01T10:00:00.123Z'::timestamptz as time, ${'{"a":[1]}'}::jsonb as json`);
    assert.deepEqual(row, {
      int: 7,
      float: 0.5,
      flag: true,
      texts: ['a', 'b"c'],
      bytes: Buffer.from('ab'),
      time: new Date('2026-03-01T10:00:00.123Z'),
      json: { a: [1] },
    });
  });

  test('of a row arrives in its column, regardless of the other values', async () => {
    const id = '018f0000-0000-7000-8000-000000000000';
    const rows: {
      id: string;
      n: number;
      text: string | null;
      json: string | null;
      late?: bigint;
    }[] = [
      { id, n: 1, text: `a "quote", a \\ and {}`, json: JSON.stringify({ a: '"\n\u001e' }) },
      { id, n: 2, text: null, json: null, late: 2n ** 40n },
    ];
    const columns = { id: 'uuid', n: 'int', text: 'text', json: 'json', late: 'bigint' } as const;
    const found = (some: typeof rows) =>
      db.run(sql`select * from ${rowsOf(some, columns)} as d where d.n > ${0} order by d.n`);
    const arrived = rows.map(({ json, late = null, ...row }) => {
      return { ...row, json: json && JSON.parse(json), late };
    });
    assert.deepEqual(await found(rows), arrived);
    assert.deepEqual(await found(rows.slice(1)), arrived.slice(1));
    assert.deepEqual(await found([]), []);
  });

  test('is never a part of the statement', async () => {
    const bad = `1'; delete from t; --`;
    const [row] = await db.run(sql`select ${bad}::text as same`);
    assert.deepEqual(row, { same: bad });
    assert.equal(await count('t'), 3);
  });
});

describe('a statement', () => {
  test('is prepared once a connection, under one name for one text', async () => {
    const find = (n: number) => sql`select id from t where id = ${n}`;
    assert.equal(find(1).name, find(2).name);
    assert.deepEqual([find(7).text, find(7).values], ['select id from t where id = $1', [7]]);
    await db.tx(async (tx) => {
      for (let i = 1; i <= 3; i++) await tx.run(find(i));
      const rows = await tx.run(sql`
        select name from pg_prepared_statements where name = ${find(1).name}`);
      assert.equal(rows.length, 1);
    });
    assert.equal(rawSql('select 1').name, undefined);
  });

  test('that takes too long is cancelled, and counts as the database being away', async () => {
    const url = database.url;
    const hasty = openDatabase({
      connection: url,
      max: 1,
      statementTimeoutMs: 50,
      applicationName: 'hasty',
    });
    await assert.rejects(
      hasty.run(sql`select pg_sleep(5)`),
      (error) => codes('57014')(error) && isUnavailable(error),
    );
    assert.deepEqual(await hasty.run(sql`select 1 as one`), [{ one: 1 }]);
    await hasty.close();
  });

  test('that a deadlock ended is run again', { timeout: 20_000 }, async () => {
    const locked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const rival = db.tx(async (tx) => {
      await tx.run(sql`update t set n = n + 1 where id = 1`);
      locked.resolve();
      await goOn.promise;
      await tx.run(sql`update t set n = n + 1 where id = 2`);
    });
    await locked.promise;
    // Takes 2 and waits for 1, then the rival waits for 2. PostgreSQL ends the one that waited
    // longest.
    const backwards = db.run(sql`
      with locked as (
        select x.id from (values (2), (1)) v (id), lateral (select id from t where t.id = v.id for update) x
      ) update t set n = n + 10 from locked where t.id = locked.id`);
    await until('it waits', () => someoneWaits());
    goOn.resolve();
    await Promise.all([rival, backwards]);
    assert.deepEqual(await numbers(), [11, 11, 0]);
  });
});

describe('a transaction', () => {
  test('is committed whole', async () => {
    const value = await db.tx(async (tx) => {
      tx.send(sql`update t set n = 1 where id = 1`);
      await tx.run(sql`update t set n = 2 where id = 2`);
      tx.send(sql`update t set n = 3 where id = 3`);
      return 'done';
    });
    assert.equal(value, 'done');
    assert.deepEqual(await numbers(), [1, 2, 3]);
  });

  test('is rolled back whole when the work throws, and the error is its own', async () => {
    const own = new Error('own');
    await assert.rejects(
      db.tx(async (tx) => {
        tx.send(sql`update t set n = 1 where id = 1`);
        await tx.run(sql`update t set n = 2 where id = 2`);
        throw own;
      }),
      own,
    );
    assert.deepEqual(await numbers(), [0, 0, 0]);
  });

  const places = { first: 0, middle: 1, last: 2 };
  for (const [place, at] of Object.entries(places)) {
    test(`is rolled back whole when the ${place} of its pipelined writes fails, and that one is named`, async () => {
      await assert.rejects(
        db.tx(async (tx) => {
          for (let i = 0; i < 3; i++)
            tx.send(sql`update t set n = ${i === at ? -1 : 1} where id = ${i + 1}`);
        }),
        codes('23514'),
      );
      assert.deepEqual(await numbers(), [0, 0, 0]);
    });
  }

  test('names the write that failed, and not the later read that could not be made', async () => {
    await assert.rejects(
      db.tx(async (tx) => {
        tx.send(sql`update t set n = -1 where id = 1`);
        await tx.run(sql`select 1`);
      }),
      codes('23514'),
    );
  });

  test('whose error was caught does not count as committed', async () => {
    await assert.rejects(
      db.tx(async (tx) => {
        await tx.run(sql`update t set n = 1 where id = 1`);
        await tx.run(sql`update t set n = -1 where id = 2`).catch(() => {});
      }),
      /ended with ROLLBACK/,
    );
    assert.deepEqual(await numbers(), [0, 0, 0]);
  });

  test('that fails in its COMMIT says so', async () => {
    await assert.rejects(
      db.tx(async (tx) => {
        tx.send(sql`insert into late values (1)`);
        tx.send(sql`insert into late values (1)`);
      }),
      (error) => codes('23505')(error) && isDataError(error),
    );
    assert.equal(await count('late'), 0);
  });

  test('gives its connection back, however it ends', async () => {
    const bad = () => db.tx((tx) => tx.run(sql`select 1 / 0`));
    const results = await Promise.allSettled(Array.from({ length: 30 }, bad));
    assert.deepEqual(
      new Set(results.map((each) => codeOf((each as PromiseRejectedResult).reason))),
      new Set(['22012']),
    );
    const { total, idle, waiting } = db.stats();
    assert.deepEqual([total - idle, waiting], [0, 0]);
    await db.tx((tx) => tx.run(sql`select 1`));
  });
});

describe('a transaction is run again from its start', () => {
  const kinds = {
    'when it was ended by a deadlock': (tx: { run: Database['run'] }, id: number) =>
      tx.run(sql`update t set n = n + 1 where id = ${id}`),
    'when a pipelined write of it was, with a read behind that': async (
      tx: { run: Database['run']; send(s: unknown): void },
      id: number,
    ) => {
      tx.send(sql`update t set n = n + 1 where id = ${id}`);
      await tx.run(sql`select 1`);
    },
  };
  for (const [what, touch] of Object.entries(kinds)) {
    test(what, { timeout: 20_000 }, async () => {
      const bothHaveOne = barrier(2);
      let runs = 0;
      const both = (first: number, second: number) =>
        db.tx(async (tx) => {
          runs++;
          await tx.run(sql`update t set n = n + 1 where id = ${first}`);
          if (runs <= 2) await bothHaveOne();
          await touch(tx as never, second);
          return first;
        });
      assert.deepEqual(await Promise.all([both(1, 2), both(2, 1)]), [1, 2]);
      assert.ok(runs >= 3, 'one of the two was the victim');
      assert.deepEqual(await numbers(), [2, 2, 0]);
    });
  }

  test('when its snapshot is outdated', async () => {
    let runs = 0;
    await db.tx(async (tx) => {
      await tx.run(sql`set transaction isolation level repeatable read`);
      const [row] = await tx.run<{ n: number }>(sql`select n from t where id = 1`);
      if (++runs === 1) await db.run(sql`update t set n = 5 where id = 1`);
      tx.send(sql`update t set n = ${row!.n + 1} where id = 1`);
    });
    assert.equal(runs, 2);
    assert.deepEqual(await numbers(), [6, 0, 0]);
  });

  test('at most five times', async () => {
    let runs = 0;
    await assert.rejects(
      db.tx((tx) => {
        runs++;
        return tx.run(
          rawSql(`do $$ begin raise exception 'again' using errcode = '40001'; end $$`),
        );
      }),
      codes('40001'),
    );
    assert.equal(runs, 5);
  });

  test('for no other reason', async () => {
    let runs = 0;
    await assert.rejects(
      db.tx((tx) => {
        runs++;
        return tx.run(sql`update t set n = -1`);
      }),
      codes('23514'),
    );
    assert.equal(runs, 1);
  });
});

describe('when every connection is cut', () => {
  async function cutAll(): Promise<void> {
    const admin = await db.connect();
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await admin.end();
  }
  /** Until the pool notices, a call may get a dead connection, and exactly this error. */
  const works = async () => {
    try {
      return (await db.run(sql`select 1 as one`)).length === 1;
    } catch (error) {
      assert.ok(isUnavailable(error), String(error));
      return false;
    }
  };

  test('idle ones are replaced', async () => {
    await Promise.all(Array.from({ length: 12 }, () => db.run(sql`select pg_sleep(0.01)`)));
    assert.ok(db.stats().idle > 1);
    await cutAll();
    await until('it works again', works);
    await Promise.all(Array.from({ length: 12 }, () => db.run(sql`select 1`)));
  });

  test('a transaction under way fails as unavailable, leaves nothing, and is not run again', async () => {
    let runs = 0;
    await assert.rejects(
      db.tx(async (tx) => {
        runs++;
        await tx.run(sql`update t set n = 1 where id = 1`);
        await cutAll();
        await tx.run(sql`update t set n = 2 where id = 2`);
      }),
      isUnavailable,
    );
    await until('it works again', works);
    assert.equal(runs, 1);
    assert.deepEqual(await numbers(), [0, 0, 0]);
  });

  test('statements under way fail as unavailable, every one', async () => {
    const running = Array.from({ length: 4 }, () =>
      db.run(sql`select pg_sleep(10)`).then(
        () => 'done',
        (error) => isUnavailable(error),
      ),
    );
    await until(
      'they run',
      async () => (await activity(`query like 'select pg_sleep(10)%'`)) === 4,
    );
    await cutAll();
    assert.deepEqual(await Promise.all(running), [true, true, true, true]);
    await until('it works again', works);
  });
});

describe('a database that cannot be reached', () => {
  test('is unavailable, and says so before long', async () => {
    const nowhere = openDatabase({
      connection: 'postgres://nobody@127.0.0.1:1/none',
      max: 2,
      statementTimeoutMs: 500,
      applicationName: 'lost',
    });
    await assert.rejects(nowhere.run(sql`select 1`), isUnavailable);
    await assert.rejects(
      nowhere.tx((tx) => tx.run(sql`select 1`)),
      isUnavailable,
    );
    await nowhere.close();
    await assert.rejects(nowhere.run(sql`select 1`), isUnavailable);
  });

  test('an error of our own does not count as that', () => {
    for (const error of [
      new Error('a bug'),
      new TypeError('x is not a function'),
      'text',
      null,
      { code: '57P01' },
    ]) {
      assert.equal(isUnavailable(error), false, String(error));
    }
  });
});

test('a fault of the values is distinguished from one of the statement', () => {
  const by = (code: string) => isDataError(Object.assign(new Error('x'), { code }));
  assert.deepEqual(['22003', '22P05', '23505', '23514', '42601', '40001', '57014', '2'].map(by), [
    true,
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

async function activity(condition: string): Promise<number> {
  const [row] = await db.run<{ n: bigint }>(
    rawSql(
      `select count(*) as n from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and ${condition}`,
    ),
  );
  return Number(row!.n);
}

function someoneWaits(): Promise<boolean> {
  return activity(`wait_event_type = 'Lock'`).then((waiting) => waiting > 0);
}

/** Holds callers until so many have come, then lets all pass. */
function barrier(parties: number): () => Promise<void> {
  const open = Promise.withResolvers<void>();
  let here = 0;
  return () => {
    if (++here >= parties) open.resolve();
    return open.promise;
  };
}
