import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { sign } from '../../src/core/request/signature.ts';
import { audit } from '../../src/ledger/audit.ts';
import { createAccount, needAccount } from '../../src/operations/accounts/account.ts';
import { deposit } from '../../src/operations/accounts/deposit.ts';
import { createKey } from '../../src/operations/accounts/key.ts';
import { signingSecrets } from '../../src/secrets.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { until } from '../kit/until.ts';
import { S3Server } from '../storage/s3-server.ts';
import { assertNoPostgres, assertSaid, call, outputOf, placeFor, reaches, submit } from './cli.ts';

const secret = 'a secret of at least thirty-two characters';
const stopMaxMs = 10_000;

describe('serve refuses to start', () => {
  const given = { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c', FAREBOX_SECRET: secret };
  const base = { FAREBOX_BASE_URL: 'https://models.example.com/v1' };
  const settings: [what: string, env: Record<string, string>, says: RegExp][] = [
    [
      'with nothing set',
      {},
      /^Set DATABASE_URL, FAREBOX_SECRET, FAREBOX_BASE_URL, or use --embedded/,
    ],
    ['without a base address', given, /^Set FAREBOX_BASE_URL, or use --embedded/],
    ['without a secret', { ...base, DATABASE_URL: given.DATABASE_URL }, /^Set FAREBOX_SECRET, or/],
    [
      'without a database',
      { ...base, FAREBOX_SECRET: secret },
      /^Set DATABASE_URL, or use --embedded/,
    ],
    [
      'where no database answers',
      { ...base, ...given },
      /The database cannot be used: .*ECONNREFUSED/,
    ],
    [
      'at a host with no name',
      { ...given, ...base, DATABASE_URL: 'postgres://a@no.invalid/b' },
      /no\.invalid/,
    ],
    [
      'with a database address that is none',
      { ...base, ...given, DATABASE_URL: 'mysql://x' },
      /^DATABASE_URL: must be postgres:\/\//,
    ],
    [
      'with a short secret',
      { ...base, ...given, FAREBOX_SECRET: 'short' },
      /^FAREBOX_SECRET must have at least 32/,
    ],
    [
      'with a short secret before it',
      { ...base, ...given, FAREBOX_SECRET_PREVIOUS: 'short' },
      /^FAREBOX_SECRET_PREVIOUS must have at least 32/,
    ],
    [
      'with an empty secret file',
      { ...base, ...given, FAREBOX_SECRET_PREVIOUS_FILE: '/dev/null' },
      /^FAREBOX_SECRET_PREVIOUS: \/dev\/null is empty/,
    ],
    ...['postgres://u:p#w@localhost/x', 'postgres://u:p@h:notaport/x', 'postgres://u:%ff@h/x'].map(
      (DATABASE_URL): [string, Record<string, string>, RegExp] => [
        `with the database address ${DATABASE_URL}`,
        { ...base, ...given, DATABASE_URL },
        /^DATABASE_URL: must be postgres:\/\/.*percent-encoded/,
      ],
    ),
    ...['https://api.example.com /v1', 'https://:99999/v1', 'https://h:99999/v1'].map(
      (FAREBOX_BASE_URL): [string, Record<string, string>, RegExp] => [
        `with the base address ${FAREBOX_BASE_URL}`,
        { ...given, FAREBOX_BASE_URL },
        /^FAREBOX_BASE_URL must be an http or https address/,
      ],
    ),
    ...['foo', 'https://mail.example.com', 'smtp:mail', 'smtp://', 'smtp://u:%ff@mail'].map(
      (FAREBOX_SMTP_URL): [string, Record<string, string>, RegExp] => [
        `with the mail server ${FAREBOX_SMTP_URL}`,
        { ...base, ...given, FAREBOX_SMTP_URL },
        /^FAREBOX_SMTP_URL: must be smtp:\/\/.*percent-encoded/,
      ],
    ),
    ...['foo', 'login.example.com', 'ftp://login.example.com', 'https:login'].map(
      (FAREBOX_OIDC_ISSUER): [string, Record<string, string>, RegExp] => [
        `with the identity provider ${FAREBOX_OIDC_ISSUER}`,
        { ...base, ...given, FAREBOX_OIDC_ISSUER, FAREBOX_OIDC_CLIENT_ID: 'farebox' },
        /^FAREBOX_OIDC_ISSUER: must be an https or http address/,
      ],
    ),
    [
      'with a base address outside /v1',
      { ...given, FAREBOX_BASE_URL: 'https://x.example.com' },
      /^FAREBOX_BASE_URL must be .* ends in \/v1/,
    ],
    [
      'with a secret file that is not there',
      { FAREBOX_SECRET_FILE: '/no/such' },
      /^FAREBOX_SECRET: cannot read \/no\/such/,
    ],
    [
      'with a port that is none',
      { PORT: '80800' },
      /^PORT: "80800" is not a whole number from 0 to 65535/,
    ],
    [
      'with a flag that is none',
      { FAREBOX_WORKER: 'yes' },
      /^FAREBOX_WORKER: "yes" is invalid; use on or off/,
    ],
    [
      'with a step longer than its lease',
      { FAREBOX_LEASE_SECONDS: '5' },
      /FAREBOX_STEP_TIMEOUT_SECONDS must be less than FAREBOX_LEASE_SECONDS/,
    ],
    [
      'with a storage that is none',
      { FAREBOX_STORAGE: 's3://bucket' },
      /^FAREBOX_STORAGE: must be disk/,
    ],
    [
      'with a host that is none',
      { FAREBOX_ALLOW_PRIVATE_HOSTS: 'a,http://b' },
      /"http:\/\/b" must be host or host:port/,
    ],
    ['with several faults', { PORT: 'x', FAREBOX_RPM: '0' }, /^PORT: .*\nFAREBOX_RPM: .*\n$/],
  ];

  for (const [what, env, says] of settings) {
    test(what, async (t) => {
      const place = placeFor(t);
      const ran = await place.run(['serve', '--json'], env);
      assertSaid(ran, says);
      assert.match(ran.json.error.message, new RegExp(says.source.replace(/\\n\$$/, '')));
      assert.equal(place.postgresPid(), null);
      assert.doesNotMatch(ran.stderr + ran.stdout, /a secret of at|a:b@/, 'a secret was shown');
    });
  }

  test('with two databases', async (t) => {
    const place = placeFor(t);
    for (const verb of ['serve', 'worker']) {
      const ran = await place.command([verb, '--embedded'], { ...base, ...given });
      assertSaid(ran, /^DATABASE_URL and --embedded name two different databases/);
    }
    assert.equal(place.postgresPid(), null);
    assert.equal(fs.existsSync(place.dir), false, 'a data folder was made');
  });

  test('in a data folder that it cannot write to', async (t) => {
    const place = placeFor(t);
    fs.mkdirSync(place.dir);
    fs.writeFileSync(path.join(place.dir, 'locks'), '');
    const ran = await place.command(['serve', '--embedded']);
    assertSaid(ran, /^FAREBOX_DATA_DIR: cannot use .*data: /);
    assert.equal(place.postgresPid(), null);
  });

  test('a worker too, which signs the links of notifications', async (t) => {
    const place = placeFor(t);
    const [, , says] = settings[0]!;
    assertSaid(await place.command(['worker']), says);
    assertSaid(
      await place.command(['worker'], { ...base, DATABASE_URL: given.DATABASE_URL }),
      /SECRET/,
    );
    assert.equal(place.postgresPid(), null);
  });
});

describe('on the embedded database', () => {
  test('a second service in the folder is refused and told who holds it', async (t) => {
    const place = placeFor(t);
    const first = await place.start(['serve', '--embedded']);
    const postgres = place.postgresPid();
    const [serve, trial] = await Promise.all([
      place.command(['serve', '--embedded']),
      place.command(['trial', '--json']),
    ]);
    for (const second of [serve, trial]) {
      assertSaid(second, new RegExp(`Another Farebox runs in .*/data \\(pid ${first.pid}, port`));
    }
    assert.match(trial.json.error.message, /Stop it, or set FAREBOX_DATA_DIR to another folder/);
    assert.equal((await call(first.base, 'GET', '/readyz', null)).status, 200);
    assert.equal(place.postgresPid(), postgres);
    const { data } = (await place.run(['account', 'list', '--json'])).json;
    assert.deepEqual(data, [], 'the refused trial made its accounts');
    assert.equal((await first.end('SIGINT')).code, 0);
    await assertNoPostgres(place);
  });

  test('a port in use is said in words, and nothing is left running', async (t) => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.after(() => taken.close());
    const { port } = taken.address() as net.AddressInfo;
    const place = placeFor(t);
    const ran = await place.command(['serve', '--embedded', '--json'], { PORT: String(port) });
    assertSaid(ran, new RegExp(`Port ${port} is taken by another program\\. Set PORT`));
    await assertNoPostgres(place);
    const elsewhere = await place.command(['serve', '--embedded'], { HOST: '192.0.2.1' });
    assertSaid(elsewhere, /Cannot listen on 192\.0\.2\.1:0 \(EADDRNOTAVAIL\)/);
    await assertNoPostgres(place);
    const lost = await place.command(['serve', '--embedded'], { FAREBOX_CATALOG: '/no/such' });
    assertSaid(lost, /Cannot read the catalog folder \/no\/such/);
    await assertNoPostgres(place);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} ends it in order while a job runs and a stream is open`, async (t) => {
      const place = placeFor(t);
      const service = await place.start(['trial']);
      const { key, email } = service.said;
      const id = await submit(service.base, key, 'sandbox:hang');
      await reaches(service.base, key, id, 'IN_PROGRESS');
      const stream = await fetch(`${service.base}/v1/requests/${id}/status/stream`, {
        headers: { authorization: `Key ${key}` },
      });
      const ended = stream.text();
      const { code, ms } = await service.end(signal);
      t.diagnostic(`ended after ${ms} ms`);
      assert.equal(code, 0, service.stderr());
      assert.ok(ms < stopMaxMs, `${ms} ms`);
      assert.match(
        await ended,
        /event: end\ndata: .*draining/,
        'the stream was cut without a word',
      );
      await assertNoPostgres(place);
      // It is still there, reserved, for the next start.
      const { json } = await place.run(['account', 'show', email, '--json']);
      assert.equal(json.reserved_usd_micro, '10000');
    });
  }

  test('stopped in the midst of its start it leaves no PostgreSQL behind', async (t) => {
    const place = placeFor(t);
    const child = place.spawn(['serve', '--embedded']);
    const output = outputOf(child);
    await until('PostgreSQL is starting', () => place.postgresPid(), 20_000);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 0, output.stderr);
    await assertNoPostgres(place);
  });
});

describe('on a database of its own', () => {
  let database: TestDatabase;
  let key: string;
  let balance: () => Promise<{ available: bigint; reserved: bigint }>;
  before(async () => {
    database = await testDatabase();
    const { db } = database;
    const email = 'ana@example.com';
    const { id: account_id } = await createAccount(db, { email, is_operator: false });
    await deposit(db, { account_id, amount: 10_000_000n, reference: 'first' });
    const limits = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
    ({ key } = await createKey(db, { account_id, name: 'main', ...limits }));
    balance = async () => {
      const account = await needAccount(db, email);
      return { available: account.available_usd_micro, reserved: account.reserved_usd_micro };
    };
  });
  after(() => database.close());

  const placeOn = (t: TestContext) =>
    placeFor(t, {
      DATABASE_URL: database.url,
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_SECRET: secret,
      FAREBOX_BASE_URL: 'https://models.example.com/v1',
    });

  test('the sandbox is offered only to who asks for it', async (t) => {
    const models = async (env: Record<string, string>) => {
      const service = await placeOn(t).start(['serve'], env);
      const { body } = await call(service.base, 'GET', '/v1/models', key);
      assert.equal((await service.end('SIGTERM')).code, 0);
      return (body.data as { id: string }[]).length;
    };
    assert.equal(await models({ FAREBOX_SANDBOX: '' }), 0);
    assert.ok((await models({ FAREBOX_SANDBOX: 'on' })) > 0);
  });

  test('secrets come from files, and callers see the base address', async (t) => {
    const place = placeOn(t);
    const file = (name: string, text: string) => {
      const where = path.join(path.dirname(place.dir), name);
      fs.writeFileSync(where, `${text}\n`);
      return where;
    };
    const service = await place.start(['serve'], {
      DATABASE_URL: '',
      DATABASE_URL_FILE: file('url', database.url),
      FAREBOX_SECRET: '',
      FAREBOX_SECRET_FILE: file('secret', secret),
    });
    assert.equal(service.said.base_url, 'https://models.example.com/v1');
    const id = await submit(service.base, key, 'a lighthouse');
    await reaches(service.base, key, id, 'COMPLETED');
    const { body } = await call(service.base, 'GET', `/v1/requests/${id}/response`, key);
    const { url } = body.images[0] as { url: string };
    assert.ok(url.startsWith(`https://models.example.com/v1/requests/${id}/output/0?`), url);
    const { searchParams } = new URL(url);
    const exp = Number(searchParams.get('exp'));
    // Signed with what stood in the file, without its line break.
    const signed = sign(Buffer.from(secret), { request_id: id, index: 0, exp });
    assert.equal(searchParams.toString(), signed);
    assert.equal((await service.end('SIGTERM')).code, 0);
    assert.equal(fs.existsSync(path.join(place.dir, 'postgres')), false);
  });

  test('a worker completes what waits where no service works', async (t) => {
    const place = placeOn(t);
    const services = await Promise.all([
      place.start(['serve', '--no-worker']),
      place.start(['serve'], { FAREBOX_WORKER: 'off' }),
    ]);
    const [first, second] = services;
    assert.notEqual(first.base, second.base);
    const { available } = await balance();
    const id = await submit(first.base, key, 'a lighthouse');
    // A whole process comes and goes meanwhile.
    const shown = await place.run(['account', 'show', 'ana@example.com', '--json']);
    assert.equal(shown.json.reserved_usd_micro, '10000');
    const { body } = await call(second.base, 'GET', `/v1/requests/${id}/status`, key);
    assert.equal(body.status, 'IN_QUEUE', 'it was worked on without a worker');
    const worker = await place.start(['worker']);
    await reaches(second.base, key, id, 'COMPLETED');
    assert.deepEqual(await balance(), { available: available - 10_000n, reserved: 0n });
    assert.equal((await worker.end('SIGTERM')).code, 0, worker.stderr());
    for (const service of services) {
      assert.equal((await call(service.base, 'GET', '/readyz', null)).status, 200);
      assert.equal((await service.end('SIGINT')).code, 0, service.stderr());
    }
    assert.equal(place.postgresPid(), null);
  });

  test('a folder for media that cannot be used is named', async (t) => {
    const place = placeOn(t);
    fs.mkdirSync(place.dir);
    fs.writeFileSync(path.join(place.dir, 'media'), '');
    for (const verb of [['serve'], ['export', 'a.farebox']]) {
      assertSaid(await place.run(verb), /^FAREBOX_STORAGE: .*data\/media/);
    }
  });

  test('folders that the system denies are named, and nothing tries for ever', async (t) => {
    if (process.platform !== 'linux') return t.skip('there is no /proc');
    const place = placeOn(t);
    const began = performance.now();
    const storage = await place.command(['serve'], { FAREBOX_STORAGE: 'disk:/proc/x/y' });
    assertSaid(storage, /^FAREBOX_STORAGE: ENOENT.*\/proc\/x/);
    const data = await place.command(['serve'], { FAREBOX_DATA_DIR: '/proc/zz' });
    assertSaid(data, /^FAREBOX_DATA_DIR: cannot use \/proc\/zz: ENOENT/);
    const embedded = { DATABASE_URL: '', FAREBOX_DATA_DIR: '/proc/zz' };
    assertSaid(await place.run(['account', 'list'], embedded), /FAREBOX_DATA_DIR: .*\/proc\/zz/);
    assert.ok(performance.now() - began < 15_000, 'it had to be killed');
  });

  test('a storage that does not answer is told at the start, and bad catalog files are counted', async (t) => {
    const place = placeOn(t);
    const bad = path.join(place.dir, '../catalog/bad.yaml');
    fs.writeFileSync(bad, 'models: 5\n');
    const s3 = new S3Server();
    s3.before = () => ({ status: 404, code: 'NoSuchBucket' });
    const { host } = new URL(await s3.listen());
    t.after(() => s3.close());
    const service = await place.start(['serve', '--no-worker'], {
      FAREBOX_STORAGE: `s3+http://key:unspoken@${host}`,
    });
    const problems = async () => {
      const { body } = await call(service.base, 'GET', '/metrics', null);
      return /^farebox_catalog_problems (.+)$/m.exec(body)?.[1];
    };
    assert.equal(await problems(), '1');
    await until('the storage is warned of', () =>
      service.stderr().includes('the storage does not answer as it should: see FAREBOX_STORAGE'),
    );
    assert.match(service.stderr(), /NoSuchBucket/);
    assert.doesNotMatch(service.stderr(), /unspoken/, 'the secret is in the log');
    const asked = new Set(s3.calls.map(({ method }) => method));
    assert.deepEqual([...asked], ['GET'], 'something was written where nothing answers');
    const { body } = await call(service.base, 'GET', '/readyz', null);
    assert.equal(body.error.details.failing, 'storage');
    fs.rmSync(bad);
    await until('nothing is wrong any more', async () => (await problems()) === '0');
    assert.match(service.stderr(), /"files":\["bad\.yaml"\].*catalog problems are gone/);
    assert.equal((await service.end('SIGTERM')).code, 0, service.stderr());
  });

  test('a kept secret is made whole, and refused where it is not', async (t) => {
    const place = placeOn(t);
    const kept = path.join(place.dir, 'secret');
    const fresh = await testDatabase();
    t.after(() => fresh.close());
    const env = { DATABASE_URL: fresh.url, FAREBOX_SECRET: '', FAREBOX_SECRET_PREVIOUS: secret };
    const trial = () => place.command(['trial'], env);
    fs.mkdirSync(kept, { recursive: true });
    const began = performance.now();
    assertSaid(await trial(), /^The signing secret in .*data\/secret: EISDIR/);
    assert.ok(performance.now() - began < 10_000, 'what was opened held up the end');
    fs.rmdirSync(kept);
    for (const text of ['', '\n', 'x'.repeat(31)]) {
      fs.writeFileSync(kept, text);
      assertSaid(await trial(), /data\/secret holds no signing secret of at least 32 characters/);
      assert.equal(fs.readFileSync(kept, 'utf8'), text, 'it was replaced');
    }
    assert.equal(fs.existsSync(path.join(place.dir, 'demo-key')), false, 'it served');
    fs.rmSync(kept);
    const config = readConfig({ FAREBOX_DATA_DIR: place.dir });
    const [made] = signingSecrets(config);
    assert.match(made!.toString(), /^[0-9a-f]{64}$/);
    assert.deepEqual(signingSecrets(config), [made]);
    assert.equal(fs.statSync(kept).mode & 0o777, 0o600);
    assert.deepEqual(fs.readdirSync(place.dir), ['secret'], 'a part was left');
  });

  test('a worker with a port answers for its health and figures, and for nothing else', async (t) => {
    const place = placeOn(t);
    const worker = await place.start(['worker'], {
      FAREBOX_WORKER_PORT: '0',
      FAREBOX_METRICS_TOKEN: 'a token for the figures',
    });
    for (const path of ['/livez', '/readyz']) {
      assert.equal((await call(worker.base, 'GET', path, null)).status, 200, path);
    }
    assert.equal((await call(worker.base, 'GET', '/metrics', null)).status, 403);
    const authorization = 'Bearer a token for the figures';
    const reply = await fetch(`${worker.base}/metrics`, { headers: { authorization } });
    assert.match(await reply.text(), /^farebox_queue_waiting\{upstream="sandbox"\} 0$/m);
    for (const path of ['/v1/models', '/v1/requests', '/v1/openapi.json']) {
      assert.equal((await call(worker.base, 'GET', path, key)).status, 404, path);
    }
    assert.equal((await worker.end('SIGTERM')).code, 0, worker.stderr());
    const silent = await place.start(['worker']);
    assert.equal(silent.said.port, undefined);
    await silent.end('SIGTERM');
  });

  test('at the level debug each call leaves a line, without query, body or key', async (t) => {
    const service = await placeOn(t).start(['serve'], { FAREBOX_LOG_LEVEL: 'debug' });
    await call(service.base, 'GET', '/v1/requests?model_id=hush/word', key);
    const refused = { prompt: 'a hushed prompt', num_images: 'x' };
    await call(service.base, 'POST', '/v1/queue/test/image?a=hush', key, refused);
    await call(service.base, 'GET', '/livez', null);
    await service.end('SIGTERM');
    const lines = service.stderr().trim().split('\n');
    const calls = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'call');
    assert.deepEqual(
      calls.map(({ method, route, status }) => [method, route, status]),
      [
        ['GET', '/v1/requests', 200],
        ['POST', '/v1/queue/*', 400],
        ['GET', '/livez', 200],
      ],
    );
    for (const { ms, request_id } of calls) {
      assert.ok(Number.isInteger(ms) && ms >= 0);
      assert.match(request_id, /^req_/);
    }
    assert.match(calls[0].key_id, /^[0-9a-f-]{36}$/);
    assert.equal(calls[2].key_id, undefined);
    assert.doesNotMatch(service.stderr(), /hush/);
    assert.ok(!service.stderr().includes(key));
  });

  test('a human is told where it listens', async (t) => {
    const child = placeOn(t).spawn(['serve']);
    const output = outputOf(child);
    const told = /^Farebox serves https:\/\/models\.example\.com\/v1 on 127\.0\.0\.1:(\d+)\.\n$/;
    const [, port] = await until('it is ready', () => told.exec(output.stdout), 20_000);
    assert.equal((await call(`http://127.0.0.1:${port}`, 'GET', '/readyz', null)).status, 200);
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

  test('the books balance after all of this', async () => {
    const { violations, checked } = await audit(database.db);
    assert.deepEqual(violations, []);
    assert.equal(checked.requests, 2);
  });
});
