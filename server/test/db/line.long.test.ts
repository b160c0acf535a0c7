import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openHints, type Hints } from '../../src/db/hints.ts';
import { isUnavailable, openDatabase, rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { openLine, type DatabaseLine } from '../kit/database-line.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { until } from '../kit/until.ts';

/** Connections that fall silent: no byte comes back, and no error either. */

const connections = 4;
let server: TestDatabase;
let line: DatabaseLine;
let db: Database;
const errors: Error[] = [];
before(async () => {
  server = await testDatabase();
  line = await openLine(server.url);
  db = openDatabase({
    connection: line.url,
    max: connections,
    statementTimeoutMs: 500,
    applicationName: 'line',
    onError: (error) => errors.push(error),
  });
});
after(async () => {
  await db.close();
  await line.close();
  await server.close();
});

const ask = () => db.run(rawSql('select 1'));
const fill = () =>
  Promise.all(Array.from({ length: connections }, () => db.run(rawSql('select pg_sleep(0.1)'))));

describe('connections of the pool that fell silent', () => {
  test('are all closed once the first is noticed', async () => {
    await fill();
    assert.equal(db.stats().idle, connections);
    assert.equal(line.deafen(), connections);
    await assert.rejects(ask(), isUnavailable);
    const begun = performance.now();
    await Promise.all(Array.from({ length: connections }, ask));
    assert.ok(performance.now() - begun < 4_000, 'nobody waits for a second one');
  });

  test('fail a transaction once, and the next has another', async () => {
    await fill();
    line.deafen();
    const begun = performance.now();
    // The statement is sent after the `begin` and would time out later.
    const work = () =>
      db.tx(async (tx) => {
        await setTimeout(50);
        await tx.run(rawSql('select 1'));
      });
    await assert.rejects(work(), isUnavailable);
    // The timeout passes once, not again for the rollback.
    assert.ok(performance.now() - begun < 9_000);
    await work();
  });
});

describe('a connection that listens', () => {
  let far: Hints;
  let near: Hints;
  const heard: (string[] | 'any')[] = [];
  before(() => {
    const onError = (error: Error) => errors.push(error);
    near = openHints(db, { remote: true, onError, pingMs: 100 });
    far = openHints(server.db, { remote: true, onError });
    near.on('changed', (ids) => heard.push(ids));
  });
  after(async () => {
    await near.close();
    await far.close();
  });

  const hears = (id: string) =>
    until(
      `it hears of ${id}`,
      async () => {
        far.tellChanged([id]);
        return heard.flat().includes(id);
      },
      20_000,
    );

  test('that is broken in the moment it begins has one successor, and each hint is heard once', async () => {
    await hears('first');
    const [first] = await server.db.run<{ at: Date }>(rawSql('select now() as at'));
    // Successors of the hint connection: the pool opens no connection here.
    const successors = rawSql(
      `select from pg_stat_activity where application_name = 'line' and backend_start > $1`,
      [first!.at],
    );
    const earlier = errors.length;
    line.cutAt(/^listen/);
    line.cut();
    await until('it tried some times', () => errors.length > earlier + 8);
    line.cutAt(null);
    await hears('again');
    far.tellChanged(['once']);
    await hears('later');
    assert.equal(heard.flat().filter((id) => id === 'once').length, 1);
    const isOne = async () => (await server.db.run(successors)).length === 1;
    await until('it has one successor', isOne);
  });

  test('is replaced once it is silent, and listeners then check everything', async () => {
    await hears('before');
    line.deafen();
    far.tellChanged(['lost']);
    await hears('after');
    assert.ok(heard.lastIndexOf('any') > heard.findLastIndex((ids) => ids[0] === 'before'));
    assert.ok(!heard.flat().includes('lost'));
  });
});
