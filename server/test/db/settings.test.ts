import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { readConfig } from '../../src/read-config.ts';
import { openServiceDatabase } from '../../src/database.ts';
import { createLog } from '../../src/lib/log.ts';
import { isUnavailable, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { assertSaid, placeFor, type Place } from '../commands/cli.ts';
import { inShort } from '../kit/long.ts';
import { until } from '../kit/until.ts';
import {
  answers,
  everywhere,
  foreign,
  hostileDatabase,
  openAt,
  type HostileDatabase,
} from './settings-kit.ts';

/** Databases and roles with settings that would change what a text says or what is lost. */

const dir = mkdtempSync(join(tmpdir(), 'farebox-settings-'));
const levels = ['database', 'role'] as const;
const folders: (() => Promise<void>)[] = [];
let hostile: HostileDatabase;
let place: Place;
before(async () => {
  hostile = await hostileDatabase();
  const more = { DATABASE_URL: hostile.roleUrl };
  place = placeFor({ after: (clean: () => Promise<void>) => void folders.push(clean) }, more);
});
afterEach(() => hostile.reset());
after(async () => {
  for (const clean of folders) await clean();
  await hostile.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Opens the database, and closes it after the work. */
async function using<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openAt(url);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

const shown = async (db: Database, name: string) => {
  const [row] = await db.run<{ value: string }>(sql`select current_setting(${name}) as value`);
  return row!.value;
};

describe('every connection reads and writes the same', () => {
  test('on a usual database', async () => {
    assert.deepEqual(await using(hostile.url, answers), everywhere);
  });

  for (const level of levels) {
    test(`if the ${level} has all these settings otherwise`, async () => {
      for (const [name, value] of Object.entries(foreign)) await hostile.set(level, name, value);
      assert.deepEqual(await using(hostile.roleUrl, answers), everywhere);
    });

    for (const [name, value] of inShort(1, Object.entries(foreign)))
      test(`if the ${level} has ${name} = ${value}`, async () => {
        await hostile.set(level, name, value);
        assert.deepEqual(await using(hostile.roleUrl, answers), everywhere);
      });
  }

  test('in a table of another schema, of which no later connection loses sight', async () => {
    await using(hostile.url, async (db) => {
      await db.run(rawSql('create schema app; create table app.only_here as select 7 as n'));
      await hostile.set('role', 'search_path', 'app, public');
      await using(hostile.roleUrl, async (moved) => {
        const read = () => moved.run(rawSql('select n from only_here'));
        assert.deepEqual(await read(), [{ n: 7 }]);
        await hostile.set('role', 'search_path', 'public');
        // More than one connection at a time.
        const found = await Promise.all([read(), read(), read()]);
        assert.deepEqual(found.flat(), [{ n: 7 }, { n: 7 }, { n: 7 }]);
        const own = await moved.connect();
        assert.equal((await own.query('select n from only_here')).rows.length, 1);
        await own.end();
      });
      await db.run(rawSql('drop schema app cascade'));
    });
  });

  test('and commits as safely as the first one', async () => {
    await using(hostile.roleUrl, async (db) => {
      const first = await shown(db, 'synchronous_commit');
      await hostile.set('role', 'synchronous_commit', first === 'off' ? 'on' : 'off');
      const own = await db.connect();
      const { rows } = await own.query(`select current_setting('synchronous_commit') as value`);
      await own.end();
      assert.deepEqual(rows, [{ value: first }]);
    });
  });
});

describe('a connection whose settings are reset', () => {
  for (const reset of ['discard all', 'reset all', 'reset application_name; reset datestyle'])
    test(`by ${reset} is replaced before it is read again`, async () => {
      await hostile.set('database', 'DateStyle', 'German');
      await using(hostile.url, async (db) => {
        const client = await db.checkout();
        const lost = client.query(reset).then(
          () => client.query(`select now() as at`),
          (error: unknown) => Promise.reject(error),
        );
        await assert.rejects(lost, isUnavailable);
        client.release();
        await until('it is gone', () => db.stats().total === 0);
        assert.deepEqual(await answers(db), everywhere);
      });
    });

  test('ends by itself outside the pool', async () => {
    await using(hostile.url, async (db) => {
      const own = await db.connect();
      const ended = new Promise<void>((resolve) => own.once('end', resolve));
      await own.query('discard all').catch(() => {});
      await ended;
    });
  });
});

describe('a value that cannot be read', () => {
  const moment = `'2026-03-04T05:06:07Z'::timestamptz`;
  const unread: Record<string, string> = {
    infinity: `'infinity'::timestamptz`,
    'minus infinity': `'-infinity'::timestamptz`,
    'infinity in a list': `array[now(), 'infinity'::timestamptz]`,
    'a year that Date does not reach': `'290000-01-01'::timestamptz`,
    'a day without end': `'infinity'::date`,
    'days without end': `array['2026-03-04'::date, '-infinity']`,
    'a time without a zone and an end': `'infinity'::timestamp`,
    'an interval': `'1 day'::interval`,
    'an amount of money': `'1'::money`,
  };
  test('is an error, and never null', async () => {
    await using(hostile.url, async (db) => {
      for (const [what, text] of Object.entries(unread)) {
        const read = db.run(rawSql(`select ${text} as value`));
        await assert.rejects(
          read,
          /^TypeError: PostgreSQL sent "[^"]+"(, which cannot be read| of a type)/,
          what,
        );
      }
      for (const style of ['German', 'SQL, DMY', 'Postgres, MDY']) {
        const read = db.tx(async (tx) => {
          tx.send(rawSql(`set local datestyle = '${style}'`));
          await tx.run(rawSql('create table left_over ()'));
          await tx.run(rawSql(`select ${moment} as at`));
        });
        await assert.rejects(read, /cannot be read as a time/, style);
        const day = db.tx(async (tx) => {
          tx.send(rawSql(`set local datestyle = '${style}'`));
          await tx.run(rawSql(`select '2026-03-04'::date as day`));
        });
        await assert.rejects(day, /cannot be read as a time/, style);
      }
      const left = await db.run(rawSql(`select to_regclass('left_over')::text as name`));
      assert.deepEqual(left, [{ name: null }], 'a failed read undoes its transaction');
    });
  });

  test('is not one of an early or late year, or of another offset', async () => {
    await using(hostile.url, async (db) => {
      const read = await db.tx(async (tx) => {
        const early = `'0044-03-15 12:00:00.5 BC'::timestamptz as early`;
        const late = `'58880-01-02 03:04:05.678'::timestamptz as late`;
        const days = `array['2026-03-04'::date, null, '0044-03-15 BC'] as days`;
        const local = `'2026-03-04 05:06:07.5'::timestamp as local`;
        const rows = await tx.run(
          rawSql(`select ${early}, ${late}, ${days}, ${local}, null::timestamptz as none`),
        );
        tx.send(rawSql(`set local timezone = 'Asia/Kolkata'`));
        return [...rows, ...(await tx.run(rawSql(`select ${moment} as at`)))];
      });
      assert.deepEqual(read, [
        {
          early: new Date('-000043-03-15T12:00:00.500Z'),
          late: new Date('+058880-01-02T03:04:05.678Z'),
          days: [new Date('2026-03-04'), null, new Date('-000043-03-15')],
          local: new Date('2026-03-04T05:06:07.500Z'),
          none: null,
        },
        { at: new Date('2026-03-04T05:06:07Z') },
      ]);
    });
  });
});

describe('a setting with which the service cannot work', () => {
  const open = async (migrates = true) => {
    const env = { DATABASE_URL: hostile.roleUrl, FAREBOX_DATA_DIR: dir };
    const log = createLog('silent');
    const service = await openServiceDatabase(readConfig(env), 'test', log, { migrates });
    await service.close();
  };
  const wrong: [setting: string, value: string, says: RegExp][] = [
    ['default_transaction_read_only', 'on', /default_transaction_read_only = on; .* needs off\.$/],
    ['session_replication_role', 'replica', /session_replication_role = replica; .* origin\.$/],
    ['zero_damaged_pages', 'on', /zero_damaged_pages = on; Farebox needs off\.$/],
    ['synchronous_commit', 'off', /synchronous_commit = off; Farebox needs on/],
    ['search_path', 'nowhere', /search_path = nowhere: grant it USAGE/],
    ['search_path', 'pg_catalog', /search_path = pg_catalog; Farebox needs its own schema first/],
  ];
  for (const level of levels)
    for (const [setting, value, says] of wrong)
      test(`${setting} = ${value} of the ${level} is named at the start`, async () => {
        await open();
        await hostile.set(level, setting, value);
        await assert.rejects(open(), says);
      });

  for (const [level, path] of [
    ['database', 'other, public'],
    ['role', 'other'],
    ['database', 'pg_catalog_none, other'],
  ] as const)
    test(`search_path = ${path} leads away from our tables, and no other ones are made`, async () => {
      await using(hostile.url, async (db) => {
        await db.run(rawSql('create schema other'));
        await hostile.set(level, 'search_path', path);
        await assert.rejects(open(), /in the schema public, which is not the first in search_path/);
        const made = await db.run(rawSql(`select from pg_class where relname = 'migrations'`));
        assert.equal(made.length, 1);
        await db.run(rawSql('drop schema other'));
      });
    });

  test('a schema of another installation is left alone, which this role may not use', async () => {
    await using(hostile.url, async (db) => {
      const role = `${hostile.role}_own`;
      await db.run(rawSql(`create role ${role} login`));
      await db.run(rawSql(`create schema own authorization ${role}`));
      await db.run(rawSql(`alter role ${role} set search_path = own`));
      await db.run(rawSql('revoke usage on schema public from public'));
      const env = { DATABASE_URL: hostile.url.replace(/\/\/[^@]*@/, `//${role}@`) };
      const config = readConfig({ ...env, FAREBOX_DATA_DIR: dir });
      const service = await openServiceDatabase(config, 'test', createLog('silent'));
      assert.ok(service.applied.length > 0);
      await service.close();
      await db.run(rawSql('grant usage on schema public to public'));
      await db.run(rawSql(`drop schema own cascade`));
      await db.run(rawSql(`drop owned by ${role}`));
      await db.run(rawSql(`drop role ${role}`));
    });
  });

  test('keeps a running service from opening connections', async () => {
    await using(hostile.roleUrl, async (db) => {
      await db.run(rawSql('select 1'));
      await hostile.set('role', 'session_replication_role', 'replica');
      await assert.rejects(db.connect(), (error) => {
        assert.match(String(error), /session_replication_role = replica/);
        return isUnavailable(error);
      });
    });
  });

  test('a database that is read-only can still be read by a command', async () => {
    await hostile.set('role', 'default_transaction_read_only', 'on');
    await open(false);
    const listed = await place.run(['account', 'list', '--json']);
    assert.deepEqual([listed.code, listed.json.total], [0, 0], listed.stderr);
    const refused = await place.run(['account', 'create', 'new@example.com']);
    assertSaid(refused, /^The database cannot be used: .*read-only/);
  });
});

describe("the operator's commands", () => {
  test('make an account as usual, and fail before anything is written', async () => {
    for (const [n, level] of levels.entries()) {
      for (const [name, value] of Object.entries(foreign)) await hostile.set(level, name, value);
      const email = `ana${n}@example.com`;
      const made = await place.run(['account', 'create', email, '--credit-usd', '5', '--json']);
      assert.equal(made.code, 0, made.stderr);
      const { account_id, created_at } = made.json;
      assert.ok(Date.now() - Date.parse(created_at) < 60_000, created_at);
      const listed = await place.run(['account', 'list', '--json']);
      assert.equal(listed.json.data[0].account_id, account_id);
      const statement = await place.run(['account', 'statement', email, '--json']);
      assert.equal(statement.json.data[0].amount_usd_micro, '5000000');
      assert.equal((await place.run(['audit', '--json'])).json.ok, true);
      await hostile.reset();
    }
  });
});
