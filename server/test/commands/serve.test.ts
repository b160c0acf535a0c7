import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readConfig } from '../../src/read-config.ts';
import { redact } from '../../src/lib/log.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { signingSecrets } from '../../src/secrets.ts';
import { testDatabase } from '../kit/database.ts';
import { inLong, inShort } from '../kit/long.ts';
import { until } from '../kit/until.ts';
import { assertNoPostgres, assertSaid, call, outputOf, placeFor } from './cli.ts';
import { openCompany, secret, type Company } from './serve-kit.ts';

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
      /^The database cannot be used: .*ECONNREFUSED.*\. Check DATABASE_URL\./,
    ],
    [
      'at a host with no name',
      { ...given, ...base, DATABASE_URL: 'postgres://a@no.invalid/b' },
      /^The database cannot be used: .*no\.invalid\. Check DATABASE_URL\./,
    ],
    [
      'with a certificate of the database that is not there',
      { ...base, ...given, DATABASE_URL: 'postgres://a@127.0.0.1:1/b?sslrootcert=/no/such' },
      /^DATABASE_URL: .*\/no\/such/,
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
      /^PORT: "80800" is not an integer from 0 to 65535/,
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
    ...['*.internal', 'x:99999'].map((host): [string, Record<string, string>, RegExp] => [
      `with the private host ${host}`,
      { FAREBOX_ALLOW_PRIVATE_HOSTS: host },
      /^FAREBOX_ALLOW_PRIVATE_HOSTS: .* must be host or host:port/,
    ]),
    ...['nonsense', 'a@b@c', '<>', 'a@x.com, b@x.com', 'A <a@x.com>\nBcc: b@x.com'].map(
      (FAREBOX_MAIL_FROM): [string, Record<string, string>, RegExp] => [
        `with the sender ${JSON.stringify(FAREBOX_MAIL_FROM)}`,
        { FAREBOX_MAIL_FROM },
        /^FAREBOX_MAIL_FROM: must be one address, such as/,
      ],
    ),
    [
      'with an origin that no page has',
      { FAREBOX_CORS_ORIGINS: 'ftp://x.example.com' },
      /^FAREBOX_CORS_ORIGINS: .* is not an origin, such as/,
    ],
    [
      'with a token that no header carries',
      { FAREBOX_METRICS_TOKEN: 'h\u00e9' },
      /^FAREBOX_METRICS_TOKEN: must have only letters/,
    ],
    ['with several faults', { PORT: 'x', FAREBOX_RPM: '0' }, /^PORT: .*\nFAREBOX_RPM: .*\n$/],
  ];

  for (const [what, env, says] of inShort(2, settings)) {
    test(what, async (t) => {
      const place = placeFor(t);
      const ran = await place.run(['serve', '--json'], env);
      assertSaid(ran, says);
      assert.match(ran.json.error.message, new RegExp(says.source.replace(/\\n\$$/, '')));
      assert.equal(place.postgresPid(), null);
      assert.doesNotMatch(ran.stderr + ran.stdout, /a secret of at|a:b@/, 'a secret was shown');
    });
  }

  for (const count of ['0', '-1', '2.5', '129', 'two', 'AUTO', ''])
    test(`with ${count || 'no number'} of processes`, async (t) => {
      const ran = await placeFor(t).run(['serve', '--processes', count]);
      assertSaid(ran, /--processes <auto\|n>.*must be auto or an integer from 1 to 128/);
    });

  test('with several processes on the embedded PostgreSQL', async (t) => {
    const place = placeFor(t);
    const ran = await place.run(['serve', '--embedded', '--processes', 'auto']);
    assertSaid(ran, /^The embedded PostgreSQL serves one process/);
    assert.equal(place.postgresPid(), null);
  });

  test('and a secret setting is hidden in logs from then on', () => {
    const hook = `whsec_${Buffer.alloc(24, 'hook-').toString('base64')}`;
    const secrets = {
      FAREBOX_SMTP_URL: ['smtp://me:smtp-passw0rd@m.example', 'smtp-passw0rd'],
      DATABASE_URL: ['postgres://me:db-passw0rd@d.example/farebox', 'db-passw0rd'],
      FAREBOX_STORAGE: ['s3://key:s3-passw0rd@s.example/bucket', 's3-passw0rd'],
      FAREBOX_OIDC_CLIENT_SECRET: ['oidc-passw0rd', 'oidc-passw0rd'],
      FAREBOX_METRICS_TOKEN: ['metrics-passw0rd', 'metrics-passw0rd'],
      FAREBOX_SECRET: ['sign-'.repeat(8), 'sign-'.repeat(8)],
      FAREBOX_SECRET_PREVIOUS: ['sing-'.repeat(8), 'sing-'.repeat(8)],
      FAREBOX_OPERATOR_WEBHOOK_URL: ['https://o.example/h/0123456789abcdef', '0123456789abcdef'],
      FAREBOX_OPERATOR_WEBHOOK_SECRET: [hook, hook],
    };
    const oidc = { FAREBOX_OIDC_ISSUER: 'https://i.example', FAREBOX_OIDC_CLIENT_ID: 'farebox' };
    const given = Object.entries(secrets).map(([name, [value]]) => [name, value]);
    readConfig({ ...oidc, ...Object.fromEntries(given) });
    for (const [name, [, secret]] of Object.entries(secrets))
      assert.equal(redact(`535 "${secret}" is wrong`), '535 "[redacted]" is wrong', name);
    readConfig({ FAREBOX_STORAGE: 'disk:/srv/media-of-farebox' });
    assert.equal(redact('no space in /srv/media-of-farebox'), 'no space in /srv/media-of-farebox');
  });

  test('for no sender with a name, and for no host with a port', () => {
    for (const FAREBOX_MAIL_FROM of ['a@x.com', 'Farebox <a@x.com>', 'Färe Box<a@x.com>'])
      assert.equal(readConfig({ FAREBOX_MAIL_FROM }).FAREBOX_MAIL_FROM, FAREBOX_MAIL_FROM);
    const hosts = ['files.lan', '10.0.0.1:9000', '[fd00::1]:443', '[fd00::1]'];
    const { FAREBOX_ALLOW_PRIVATE_HOSTS: read } = readConfig({
      FAREBOX_ALLOW_PRIVATE_HOSTS: hosts.join(','),
    });
    assert.deepEqual(read, hosts);
  });

  for (const [what, env, says] of [
    [
      'a folder of chains that is not there',
      { FAREBOX_CHAINS: '/no/such' },
      /^FAREBOX_CHAINS: cannot read \/no\/such/,
    ],
    [
      'an endpoint of a chain that has no file',
      { FAREBOX_RPC_BCS: 'https://one.example' },
      /^FAREBOX_RPC_BCS: no chain file in .* has this name/,
    ],
    ['a key file of an upstream', { FAL_KEY_FILE: '/no/such' }, /^FAL_KEY: cannot read \/no\/such/],
  ] as const)
    inLong(`with ${what}`, async (t) => {
      const place = placeFor(t, { FAREBOX_CATALOG: '' });
      for (const verb of ['serve', 'worker'])
        assertSaid(await place.run([verb, '--embedded', '--json'], env), says);
      await assertNoPostgres(place);
    });

  for (const [what, env, says] of [
    [
      'address',
      { OPENAI_BASE_URL: 'https://me:hidden@models.example/v1' },
      /OPENAI_BASE_URL to be/,
    ],
    ['key', { OPENAI_API_KEY: 'sk-hidden-\u0430' }, /OPENAI_API_KEY to hold a key of ASCII/],
    [
      'port',
      { OLLAMA_URL: 'http://hidden:99999/v1' },
      /"ollama" is not set up: it needs OLLAMA_URL/,
    ],
  ] as const)
    inLong(`with an upstream whose ${what} can never be used`, async (t) => {
      const place = placeFor(t, { FAREBOX_CATALOG: '' });
      const ran = await place.run(['serve', '--embedded', '--json'], env);
      assertSaid(ran, says);
      assert.doesNotMatch(ran.stderr + ran.stdout, /hidden/);
      await assertNoPostgres(place);
    });

  inLong('with two databases', async (t) => {
    const place = placeFor(t);
    for (const verb of ['serve', 'worker']) {
      const ran = await place.run([verb, '--embedded'], { ...base, ...given });
      assertSaid(ran, /^DATABASE_URL and --embedded name two different databases/);
    }
    assert.equal(place.postgresPid(), null);
    assert.equal(fs.existsSync(place.dir), false, 'a data folder was made');
  });

  inLong('in a data folder that it cannot write to', async (t) => {
    const place = placeFor(t);
    fs.mkdirSync(place.dir);
    fs.writeFileSync(path.join(place.dir, 'locks'), '');
    const ran = await place.run(['serve', '--embedded']);
    assertSaid(ran, /^FAREBOX_DATA_DIR: cannot use .*data: /);
    assert.equal(place.postgresPid(), null);
  });

  inLong('also as a worker, which signs the links in notifications', async (t) => {
    const place = placeFor(t);
    const [, , says] = settings[0]!;
    assertSaid(await place.run(['worker']), says);
    assertSaid(
      await place.run(['worker'], { ...base, DATABASE_URL: given.DATABASE_URL }),
      /SECRET/,
    );
    assert.equal(place.postgresPid(), null);
  });
});

describe('on the embedded database', () => {
  inLong('a second service in the folder is refused and told who holds it', async (t) => {
    const place = placeFor(t);
    const first = await place.start(['serve', '--embedded']);
    const postgres = place.postgresPid();
    const holder = new RegExp(`Another Farebox runs in .*/data \\(pid ${first.pid}, port`);
    assertSaid(await place.command(['serve', '--embedded']), holder);
    const trial = await place.run(['trial', '--json']);
    assertSaid(trial, holder);
    assert.match(trial.json.error.message, /Stop it, or set FAREBOX_DATA_DIR to another folder/);
    assert.equal((await call(first.base, 'GET', '/readyz', null)).status, 200);
    assert.equal(place.postgresPid(), postgres);
    const { data } = (await place.run(['account', 'list', '--json'])).json;
    assert.deepEqual(data, [], 'the refused trial made its accounts');
    assert.equal((await first.end('SIGINT')).code, 0);
    await assertNoPostgres(place);
  });

  inLong('a port in use is said in words, and nothing is left running', async (t) => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.after(() => taken.close());
    const { port } = taken.address() as net.AddressInfo;
    const place = placeFor(t);
    const ran = await place.command(['serve', '--embedded', '--json'], { PORT: String(port) });
    assertSaid(ran, new RegExp(`Port ${port} is taken by another program\\. Set PORT`));
    await assertNoPostgres(place);
  });
});

describe('a database that refuses the first connections', () => {
  let company: Company;
  before(async () => void (company = await openCompany()));
  after(() => company.database.close());

  const refused: [what: string, of: (url: string) => string, says: RegExp][] = [
    ['another database', (url) => url.replace(/\/[^/]*$/, '/no_such'), /"no_such" does not exist/],
    ['another role', (url) => url.replace(/\/\/[^@]*@/, '//no_such@'), /"no_such" does not exist/],
    ['a server without TLS', (url) => `${url}?sslmode=verify-full`, /does not support SSL/],
    ['options that are none', (url) => `${url}?options=bogus`, /invalid command-line argument/],
    ['a setting that is none', (url) => `${url}?options=-c%20no_such=1`, /parameter "no_such"/],
    ['a folder without a socket', () => 'postgres://a@%2Fno%2Fsuch/b', /ENOENT \/no\/such/],
  ];
  for (const [what, of, says] of inShort(3, refused))
    test(`is told in words: ${what}`, async (t) => {
      const place = placeFor(t, company.env);
      const env = { DATABASE_URL: of(company.database.url) };
      const ran = await place.run(['account', 'list'], env);
      assertSaid(ran, /^The database cannot be used: .*\. Check DATABASE_URL\.\n$/);
      assert.match(ran.stderr, says);
    });

  test('ends the start if it has room for one connection only', async (t) => {
    const { db, url } = company.database;
    const role = `role_${randomBytes(6).toString('hex')}`;
    await db.run(rawSql(`create role ${role} login connection limit 1`));
    t.after(() => db.run(rawSql(`drop role ${role}`)));
    const env = { DATABASE_URL: url.replace(/\/\/[^@]*@/, `//${role}@`) };
    const ran = await placeFor(t, company.env).run(['serve'], env);
    assertSaid(ran, /^The database cannot be used: too many connections for role .*"\.\n$/);
  });

  test('ends the start if it wants a password and none is given', async (t) => {
    const server = await asksForPassword();
    t.after(() => server.close());
    const { port } = server.address() as net.AddressInfo;
    const env = { DATABASE_URL: `postgres://a@127.0.0.1:${port}/b` };
    // In its own process, which an open socket would keep alive.
    const ran = await placeFor(t, company.env).command(['serve'], env);
    assertSaid(
      ran,
      /^The database cannot be used: .*password must be a string\. Check DATABASE_URL/,
    );
  });
});

/** A server that asks for a password by SCRAM, and then waits. */
async function asksForPassword(): Promise<net.Server> {
  const message = (kind: number, text: string) => {
    const body = Buffer.from(text);
    const head = Buffer.from([0x52, 0, 0, 0, body.length + 8, 0, 0, 0, kind]);
    return Buffer.concat([head, body]);
  };
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(message(10, 'SCRAM-SHA-256\0\0'));
      socket.once('data', () => socket.write(message(11, 'r=a,s=YQ==,i=4096')));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

describe('on a database of its own', () => {
  let company: Company;
  before(async () => void (company = await openCompany()));
  after(() => company.database.close());

  inLong('a folder for media that cannot be used is named', async (t) => {
    const place = placeFor(t, company.env);
    fs.mkdirSync(place.dir);
    fs.writeFileSync(path.join(place.dir, 'media'), '');
    for (const verb of [['serve'], ['export', 'a.farebox']]) {
      assertSaid(await place.run(verb), /^FAREBOX_STORAGE: .*data\/media/);
    }
  });

  inLong('a generated secret is written completely, and refused if it is damaged', async (t) => {
    const place = placeFor(t, company.env);
    const kept = path.join(place.dir, 'secret');
    const fresh = await testDatabase();
    t.after(() => fresh.close());
    const env = { DATABASE_URL: fresh.url, FAREBOX_SECRET: '', FAREBOX_SECRET_PREVIOUS: secret };
    fs.mkdirSync(kept, { recursive: true });
    // In its own process, because an open handle would keep that from ending.
    assertSaid(
      await place.command(['trial'], env),
      /^The signing secret in .*data\/secret: EISDIR/,
    );
    fs.rmdirSync(kept);
    for (const text of ['', '\n', 'x'.repeat(31)]) {
      fs.writeFileSync(kept, text);
      assertSaid(
        await place.run(['trial'], env),
        /data\/secret holds no signing secret of at least 32 characters/,
      );
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

  inLong('the start prints the address, and the sandbox is offered only on request', async (t) => {
    const child = placeFor(t, company.env).spawn(['serve'], { FAREBOX_SANDBOX: '' });
    const output = outputOf(child);
    const told = /^Farebox serves https:\/\/models\.example\.com\/v1 on 127\.0\.0\.1:(\d+)\.\n$/;
    const [, port] = await until('it is ready', () => told.exec(output.stdout));
    const base = `http://127.0.0.1:${port}`;
    assert.equal((await call(base, 'GET', '/livez', null)).status, 200);
    assert.deepEqual((await call(base, 'GET', '/v1/models', company.key)).body.data, []);
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
});
