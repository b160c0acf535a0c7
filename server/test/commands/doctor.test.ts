/** `farebox doctor`: each finding is made real, is found with its remedy, and goes away again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createServer } from 'node:net';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import type { Diagnosis } from '../../src/commands/doctor/finding.ts';
import { ofServerHealth } from '../../src/commands/doctor/database-checks.ts';
import type { ServerHealth } from '../../src/db/server-health.ts';
import { runCommand } from '../../src/commands/program.ts';
import { checkSettings } from '../../src/commands/doctor/settings-checks.ts';
import { readConfig } from '../../src/read-config.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { auditNews } from '../../src/operations/audit.ts';
import { testDatabase } from '../kit/database.ts';
import { inLong } from '../kit/long.ts';
import { before, withService } from '../kit/with-service.ts';
import { tempFolder } from '../db/embedded-kit.ts';
import { assertSaid, placeFor, type Place } from './cli.ts';

const { service, submit } = withService();

/** Settings of a service in which nothing is wrong. */
const well = {
  FAREBOX_SECRET: 'a secret of at least thirty-two characters',
  FAREBOX_BASE_URL: 'https://models.example.com/v1',
  FAREBOX_TRUSTED_PROXIES: '1',
  FAREBOX_WEB: 'off',
  FAREBOX_UNSAFE_DATABASE: 'on',
};

let place: Place;
const ends: (() => unknown)[] = [];
before(async () => {
  place = placeFor(
    { after: (clean) => void ends.push(clean) },
    { ...well, DATABASE_URL: service.databaseUrl },
  );
  await auditNews(service.db, { days: 1, waits: true });
});
after(async () => {
  for (const end of ends) await end();
});

/** Runs it with the connections of the service, unless it is told of another database. */
async function run(args: string[], env: Record<string, string> = {}) {
  if (env.DATABASE_URL || env.FAREBOX_UNSAFE_DATABASE) return place.run(args, env);
  const said = { stdout: '', stderr: '' };
  const code = await runCommand(args, {
    env: { ...place.env, FAREBOX_SANDBOX: 'on', ...env },
    db: service.db,
    out: (text) => void (said.stdout += `${text}\n`),
    err: (text) => void (said.stderr += `${text}\n`),
  });
  return { code, ...said };
}

async function findings(env: Record<string, string> = {}): Promise<Diagnosis[]> {
  const ran = await run(['doctor', '--json'], env);
  const { ok, checks } = JSON.parse(ran.stdout) as { ok: boolean; checks: Diagnosis[] };
  assert.equal(ran.code, ok ? 0 : 1, ran.stdout);
  assert.equal(ok, !checks.some(({ state }) => state === 'wrong'), ran.stdout);
  return checks;
}

/** The findings that are wrong, and nothing else may be. */
async function wrong(env: Record<string, string> = {}): Promise<string[]> {
  const checks = await findings(env);
  const found = checks.filter(({ state }) => state === 'wrong');
  for (const { says, todo } of found) assert.ok(todo || /needs|Check|Start/.test(says), says);
  return found.map(({ check, says }) => `${check}: ${says}`);
}

const change = (text: string) => service.db.run(rawSql(text));

async function assertOnly(says: RegExp, env: Record<string, string> = {}): Promise<void> {
  const found = await wrong(env);
  assert.equal(found.length, 1, found.join('\n'));
  assert.match(found[0]!, says);
}

describe('where nothing is wrong', () => {
  test('each check says that it is fine, and the exit is 0', async () => {
    const ran = await run(['doctor']);
    assert.equal(ran.code, 0, ran.stdout);
    assert.equal(ran.stderr, '');
    const fine = [
      'secret',
      'address',
      'storage',
      'disk of data',
      'mail',
      'indexes',
      'work',
      'queue',
    ];
    for (const check of [...fine, 'books', 'processes', 'upstreams', 'attention'])
      assert.match(ran.stdout, new RegExp(`^fine +${check} `, 'm'), ran.stdout);
    assert.match(ran.stdout, /^note +test settings +FAREBOX_UNSAFE_DATABASE/m);
    assert.match(ran.stdout, /\nNothing is wrong, to know: \d+, fine: \d+\. Farebox /);
    assert.doesNotMatch(ran.stdout, /^wrong|undefined|null|NaN/m);
    assert.ok(ran.stdout.split('\n').length < 45, 'it is longer than a page');
  });

  test('nothing is written or left behind', async () => {
    const count = async () => {
      const [row] = await service.db.run<{ n: bigint }>(
        rawSql(`select (select count(*) from operator_log) + (select count(*) from transfers)
          + (select count(*) from processes where kind = 'command') as n`),
      );
      return row!.n;
    };
    const earlier = await count();
    await findings();
    assert.equal(await count(), earlier);
    const left = fs.readdirSync(path.join(place.dir, 'media'), { recursive: true });
    assert.deepEqual(
      left.filter((each) => /probe.+/.test(String(each))),
      [],
    );
  });
});

describe('of the settings it finds', () => {
  const cases: [says: RegExp, env: Record<string, string>][] = [
    [/^secret: .*easy to guess/, { FAREBOX_SECRET: 'ab'.repeat(20) }],
    [/^secret: FAREBOX_SECRET is not set/, { FAREBOX_SECRET: '' }],
    [/^address: FAREBOX_BASE_URL is not set/, { FAREBOX_BASE_URL: '' }],
    [/^address: .*in clear/, { FAREBOX_BASE_URL: 'http://models.example.com/v1' }],
    [/^address: .*TRUSTED_PROXIES is 0/, { FAREBOX_TRUSTED_PROXIES: '0' }],
    [/^address: .*can choose/, { FAREBOX_BASE_URL: 'http://localhost:8080/v1' }],
  ];
  for (const [says, env] of cases)
    test(says.source, () => {
      const checks = checkSettings(
        readConfig({ ...well, DATABASE_URL: 'postgres://a@b/c', ...env }),
      );
      const ill = checks.filter(({ state }) => state === 'wrong');
      assert.equal(ill.length, 1, JSON.stringify(ill));
      assert.match(`${ill[0]!.check}: ${ill[0]!.says}`, says);
      assert.ok(ill[0]!.todo);
    });

  test('a former secret, as something to know', async () => {
    const checks = await findings({
      FAREBOX_SECRET_PREVIOUS: 'the former one, of thirty-two characters',
    });
    const found = checks.find(({ check }) => check === 'secret');
    assert.deepEqual([found!.state, found!.todo?.slice(0, 6)], ['note', 'Remove']);
  });

  test('a setting that cannot be read ends it with 2', async () => {
    assertSaid(await place.run(['doctor'], { PORT: 'x' }), /^PORT: /);
  });
});

describe('outside of the database it finds', () => {
  test('a storage that refuses files', async () => {
    const says = /^storage: The storage takes no file: /;
    await assertOnly(says, { FAREBOX_STORAGE: 's3+http://key:a-secret-of-s3@127.0.0.1:1/bucket' });
  });

  inLong('a folder of media that is not there any longer', async (t) => {
    const dir = path.join(tempFolder(t), 'media');
    fs.writeFileSync(dir, 'a file');
    await assertOnly(/^storage: /, { FAREBOX_STORAGE: `disk:${dir}` });
  });

  test('a mail server that does not answer', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => void free.once('listening', resolve));
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => void free.close(resolve));
    const url = `smtp://user:the-password-of-mail@127.0.0.1:${port}`;
    await assertOnly(/^mail: The mail server does not take mail: /, { FAREBOX_SMTP_URL: url });
  });

  test('a collector of traces that is away, refuses, or takes them', async () => {
    const asked: unknown[] = [];
    const collector = createHttp((req, reply) => {
      asked.push([req.method, req.url, req.headers.authorization]);
      reply.writeHead(req.headers.authorization === 'Bearer right' ? 200 : 401).end('{}');
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as { port: number };
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}/`;
    const env = (word: string) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${word}`,
    });
    await assertOnly(/^traces: The collector does not take them: .*401$/, env('wrong'));
    const found = (await findings(env('right'))).find(({ check }) => check === 'traces');
    assert.deepEqual(found, { check: 'traces', state: 'fine', says: 'The collector takes them.' });
    assert.deepEqual(asked.at(-1), ['POST', '/v1/traces', 'Bearer right']);
    collector.close();
    collector.closeAllConnections();
    await assertOnly(/^traces: .*(refuses connections|ECONNREFUSED)/, env('right'));
  });

  inLong('an upstream whose server is away, and a catalog without a live model', async (t) => {
    const dir = tempFolder(t);
    const upstream = '{ name: own, adapter: openai, url: "http://127.0.0.1:1", key_from: OWN_KEY }';
    fs.writeFileSync(path.join(dir, 'own.yaml'), `upstream: ${upstream}\nmodels: []\n`);
    const env = {
      FAREBOX_CATALOG: dir,
      OWN_KEY: 'the-key-of-the-upstream',
      FAREBOX_SANDBOX: 'off',
    };
    const found = await wrong(env);
    assert.match(found[0]!, /^upstreams: own: /);
    assert.match(found[1]!, /^upstreams: No model is live/);
    assert.equal(found.length, 2, found.join('\n'));
  });

  test('a catalog folder that is missing, and a file with a problem', async (t) => {
    await assertOnly(/^catalog: Cannot read the folder/, { FAREBOX_CATALOG: '/nonexistent' });
    const dir = tempFolder(t);
    fs.cpSync(place.env.FAREBOX_CATALOG!, dir, { recursive: true });
    fs.writeFileSync(path.join(dir, 'bad.yaml'), 'models: 1\n');
    await assertOnly(/^catalog problems: .*: bad\.yaml\.$/, { FAREBOX_CATALOG: dir });
  });

  inLong('chains whose settings cannot work', async () => {
    const env = { FAREBOX_RPC_BSC: 'https://bsc.example.com' };
    await assertOnly(/^chains: FAREBOX_/, env);
  });
});

describe('of the database it finds', () => {
  test('a standby that is none, or does not answer', async () => {
    const { databaseUrl } = service;
    await assertOnly(/^standby: It follows no primary/, { DATABASE_READ_URL: databaseUrl });
    const at = 'postgres://me:a-secret-word@127.0.0.1:1/books';
    await assertOnly(/^standby: It does not answer: .*ECONNREFUSED/, { DATABASE_READ_URL: at });
  });

  test('that it is away; the other checks are made all the same', async () => {
    const away = 'postgres://farebox:the-password-of-it@127.0.0.1:1/farebox';
    const found = await wrong({ DATABASE_URL: away, FAREBOX_SECRET: '' });
    assert.equal(found.length, 2, found.join('\n'));
    assert.match(
      found.join('\n'),
      /^secret: .*\ndatabase: The database cannot be used: .*DATABASE_URL/,
    );
  });

  test('that there is none yet, and makes none', async (t) => {
    const empty = placeFor(t, { FAREBOX_WEB: 'off' });
    const ran = await empty.run(['doctor', '--json']);
    assert.match(ran.stdout, /"check":"database","state":"wrong","says":"There is none in /);
    assert.equal(fs.existsSync(path.join(empty.dir, 'postgres')), false);
  });

  inLong('migrations that are missing, and newer ones', async () => {
    const database = await testDatabase();
    const env = { DATABASE_URL: database.url };
    try {
      const [last] = await database.db.run<{ number: number; name: string; sha256: string }>(
        rawSql('select number, name, sha256 from migrations order by number desc limit 1'),
      );
      await database.db.run(rawSql(`delete from migrations where number = ${last!.number}`));
      await assertOnly(/^database: .*needs \d+\. Run "farebox migrate"/, env);
      await database.db.run(
        rawSql(`insert into migrations (number, name, sha256) values
          (${last!.number}, '${last!.name}', '${last!.sha256}'), (9999, '9999_new.sql', 'x')`),
      );
      await assertOnly(/^database: .*Start the version that migrated it/, env);
      await database.db.run(rawSql('delete from migrations where number = 9999'));
    } finally {
      await database.close();
    }
  });

  inLong('a setting that loses commits', async () => {
    const database = await testDatabase();
    const alter = (how: string) =>
      database.db.run(
        rawSql(
          `do $$ begin execute format('alter database %I ${how}', current_database()); end $$`,
        ),
      );
    try {
      await alter('set synchronous_commit = off');
      const env = { DATABASE_URL: database.url, FAREBOX_UNSAFE_DATABASE: 'off' };
      assert.match((await wrong(env)).join(), /^database: PostgreSQL has synchronous_commit = off/);
    } finally {
      await alter('reset synchronous_commit');
      await database.close();
    }
  });

  test('an index that was broken off', async () => {
    await change('create table doubles as select 1 as n from generate_series(1, 2)');
    try {
      await assert.rejects(change('create unique index concurrently broken on doubles (n)'));
      await assertOnly(/^indexes: The index broken is invalid/);
    } finally {
      await change('drop table doubles');
    }
    assert.deepEqual(await wrong(), []);
  });

  test('more connections than it allows', async () => {
    await assertOnly(/^connections: .*1 processes may open 201/, { FAREBOX_DATABASE_POOL: '200' });
  });

  test('a clock that differs', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 60_000 });
    await assertOnly(/^clock skew: .*: (59|60)(\.\d)? s\.$/);
  });

  test('accounts of the trial', async () => {
    const account = (verb: string) => run(['account', verb, 'demo@farebox.local']);
    assert.equal((await account('create')).code, 0);
    await assertOnly(/^trial accounts: demo@farebox\.local /);
    await account('suspend');
    assert.deepEqual(await wrong(), []);
  });

  inLong('a key of an upstream that another secret has sealed', async (t) => {
    const dir = tempFolder(t);
    fs.cpSync(place.env.FAREBOX_CATALOG!, dir, { recursive: true });
    const upstream = '{ name: own, adapter: openai, url: "http://127.0.0.1:1", key_from: OWN_KEY }';
    fs.writeFileSync(path.join(dir, 'own.yaml'), `upstream: ${upstream}\nmodels: []\n`);
    await change(`insert into upstream_controls (name, changed_by, sealed_key, sealed_with, key_tails)
      values ('own', 'test', '\\x00', 'another', '{}')`);
    await assertOnly(/^stored keys: The stored keys of own were sealed/, { FAREBOX_CATALOG: dir });
    await change('delete from upstream_controls');
  });
});

describe('of the work it finds', () => {
  test('that no worker takes it; nothing once one has', async () => {
    await submit({ prompt: 'a cat' });
    await service.work();
    await submit({ prompt: 'a dog' });
    await change(`update requests set slot = true, wake_at = now() - interval '20 minutes'
      where status = 'IN_QUEUE'`);
    await assertOnly(/^work: Work has been due for 20 min/);
    await service.work();
    assert.deepEqual(await wrong(), []);
  });

  test('books that were not proved for long, and new lines that are not sealed', async () => {
    await change(`update audit_results set created_at = created_at - interval '5 hours'`);
    await assertOnly(/^books old: The books were not proved for a long time\.$/);
    await change(`update audit_results set created_at = now(), is_behind = true`);
    const books = (await findings()).find(({ check }) => check === 'books');
    assert.deepEqual([books!.state, /did not reach/.test(books!.says)], ['note', true]);
    await change(`update audit_results set is_behind = false`);
  });

  test('a restored copy that is on hold', async () => {
    await change(`update installation set held_since = now(), held_why = 'copy'`);
    await assertOnly(/^restored copy: /);
    await change('update installation set held_since = null, held_why = null');
  });
});

test('a state of the server that tests cannot make is told from what it reports', () => {
  const health: ServerHealth = {
    version: '15.6',
    connections: 5,
    connections_max: 97,
    invalid_indexes: [],
    transaction_seconds: 2,
    sees_all: true,
    frozen_age: 1e6,
    autovacuum: true,
    untuned: [],
    archives: false,
    archived_at: null,
    archive_failed_at: null,
  };
  const settings = { FAREBOX_DATABASE_POOL: 10, FAREBOX_UNSAFE_DATABASE: false };
  const cases: [Partial<ServerHealth>, string | null][] = [
    [{}, null],
    [{ autovacuum: false }, 'database: PostgreSQL has autovacuum = off'],
    [{ connections: 90 }, 'connections: 90 of 97'],
    [{ transaction_seconds: 7200 }, 'transactions: A transaction has been open for 2 h'],
    [{ frozen_age: 1.5e9 }, 'transactions: The oldest rows'],
    [{ archives: true, archived_at: new Date(2) }, null],
    [{ archives: true, archive_failed_at: new Date(1) }, 'backups: The archive'],
    [{ archives: true, archived_at: new Date(2), archive_failed_at: new Date(1) }, null],
    [{ archives: true, archived_at: new Date(2), archive_failed_at: new Date(3) }, 'backups: The'],
  ];
  for (const [own, says] of cases) {
    const found = ofServerHealth({ ...health, ...own }, settings);
    const ill = found.filter(({ state }) => state === 'wrong');
    assert.equal(ill.length, says === null ? 0 : 1, JSON.stringify([own, ill]));
    if (says !== null)
      assert.ok(`${ill[0]!.check}: ${ill[0]!.says}`.startsWith(says), ill[0]!.says);
  }
  const [first] = ofServerHealth({ ...health, untuned: ['jit'] }, settings);
  assert.deepEqual([first!.state, first!.says.includes('jit')], ['note', true]);
});

test('no secret is printed, whatever fails', async () => {
  const secrets = {
    FAREBOX_SECRET: 'the-signing-secret-of-this-service-0123',
    FAREBOX_SMTP_URL: 'smtp://user:the-password-of-mail@127.0.0.1:1',
    FAREBOX_STORAGE: 's3+http://the-key-of-s3:the-secret-of-s3@127.0.0.1:1/bucket',
    DATABASE_URL: 'postgres://farebox:the-password-of-it@127.0.0.1:1/farebox',
    FAREBOX_METRICS_TOKEN: 'the-token-of-metrics',
  };
  for (const args of [['doctor'], ['doctor', '--json']]) {
    const { stdout, stderr, code } = await place.run(args, secrets);
    assert.equal(code, 1);
    assert.match(stdout, /storage[^]*mail[^]*database/);
    assert.doesNotMatch(stdout + stderr, /the-(signing|password|key|secret|token)/);
  }
});
