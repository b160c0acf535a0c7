import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { configurationPage } from '../../src/commands/configuration-page.ts';
import { ConfigError } from '../../src/config.ts';
import { readConfig } from '../../src/read-config.ts';
import { openMedia } from '../../src/services.ts';

/** Every setting with values that cannot work: each one is named, and no secret is repeated. */

const dir = mkdtempSync(join(tmpdir(), 'farebox-settings-'));
after(() => rmSync(dir, { recursive: true, force: true }));
const word = 'hidden-word';
const held = join(dir, 'held');
writeFileSync(held, 'x'.repeat(40));

/** The refusal of these settings; null: they work. */
function toldOf(env: Record<string, string>): string | null {
  try {
    openMedia(readConfig({ FAREBOX_DATA_DIR: dir, ...env }));
    return null;
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
}

const number = ['-1', '1e3', 'many'];
const flag = ['yes', 'true', '1'];
const xpub = ['\t'];
const path = ['\t'];
const webhookSecret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const oidc = { FAREBOX_OIDC_ISSUER: 'https://one.example', FAREBOX_OIDC_CLIENT_ID: 'farebox' };

/** Values of each setting, alone or beside others. Settings with `path` or `xpub` have more tests. */
const wrong: Record<string, readonly (string | Record<string, string>)[]> = {
  PORT: ['-1', '65536', '80 80'],
  HOST: ['\t'],
  FAREBOX_BASE_URL: ['https://one.example', 'https://*.example/v1', 'https://one.example/v1?a=b'],
  FAREBOX_WEB: flag,
  FAREBOX_WEB_URL: ['https://one.example/pay', 'https://a!b.example', 'one.example'],
  FAREBOX_SIGN_UP: ['Open', 'yes', 'open,invite'],
  FAREBOX_SMTP_URL: [
    `smtp://me:${word}@one.example?debug=true`,
    'smtp://one.example?tls.rejectUnauthorized=maybe',
    'smtp://one.example?host=two.example',
    'smtp://one.example/path',
  ],
  FAREBOX_MAIL_FROM: ['ana', 'a@b@c', 'a@one.example, b@one.example'],
  FAREBOX_OIDC_ISSUER: ['https://one.example', 'https://one.example?a=b', 'https://*'],
  FAREBOX_OIDC_CLIENT_ID: ['farebox', ' ', '\n'],
  FAREBOX_OIDC_CLIENT_SECRET: [word, ' ', { FAREBOX_OIDC_CLIENT_SECRET_FILE: '/no/such' }],
  FAREBOX_OIDC_NAME: ['a'.repeat(61), ' Acme', 'two\nlines'].map((name) => ({
    ...oidc,
    FAREBOX_OIDC_NAME: name,
  })),
  FAREBOX_TOP_UP_TEXT: ['for {acount_id}', '{email} and {name}', '  '],
  FAREBOX_SITE_NAME: ['two\nlines', ' Acme', 'a'.repeat(61)],
  FAREBOX_SITE_LINE: ['two\nlines', ' Acme', 'a'.repeat(201)],
  FAREBOX_SITE_LINKS: [
    'Terms',
    'Terms=',
    'Terms=javascript:alert(1)',
    '=https://a.example',
    'A=https://a.example,',
  ],
  FAREBOX_SITE_ROBOTS: flag,
  FAREBOX_LEGAL_NAME: ['two\nlines', ' Acme', 'a'.repeat(201)],
  FAREBOX_RECEIPT_TEXT: ['a'.repeat(1001), '\n', { FAREBOX_RECEIPT_TEXT_FILE: '/no/such' }],
  FAREBOX_CHAINS: path,
  FAREBOX_XPUB_EVM: xpub,
  FAREBOX_XPUB_TRON: xpub,
  FAREBOX_CHAIN_SECONDS: [...number, '0.5'],
  FAREBOX_DEPOSIT_REVIEW_USD: [...number, '1,5'],
  FAREBOX_OPERATOR_WEBHOOK_URL: [
    'https://one.example',
    'ftp://one.example',
    { FAREBOX_OPERATOR_WEBHOOK_URL: '*', FAREBOX_OPERATOR_WEBHOOK_SECRET: webhookSecret },
  ],
  FAREBOX_OPERATOR_WEBHOOK_SECRET: [webhookSecret, word, `whsec_${word}`],
  FAREBOX_TRUSTED_PROXIES: [...number, '11'],
  FAREBOX_DATA_DIR: [path[0]!, held, '/proc/none'],
  DATABASE_URL: [
    `postgres://me:${word}@one.example/books?sslmode=bogus`,
    `postgres://me:${word}@one.example/books?pool=1`,
    'one.example/books',
  ],
  DATABASE_READ_URL: [
    `postgres://me:${word}@one.example/books`,
    { DATABASE_URL: 'postgres://me@one.example/books', DATABASE_READ_URL: 'one.example/books' },
  ],
  FAREBOX_DATABASE_POOL: [...number, '1'],
  FAREBOX_UNSAFE_DATABASE: flag,
  FAREBOX_CATALOG: path,
  FAREBOX_SECRET: [
    word,
    ' '.repeat(40),
    { FAREBOX_SECRET: 'y'.repeat(40), FAREBOX_SECRET_FILE: held },
  ],
  FAREBOX_SECRET_PREVIOUS: [word, '\n'.repeat(40), { FAREBOX_SECRET_PREVIOUS_FILE: '/dev/null' }],
  FAREBOX_WORKER: flag,
  FAREBOX_WORKER_PORT: [...number, '65536', 'tcp://10.0.0.1:8081'],
  FAREBOX_WORKER_CONCURRENCY: [...number, '0'],
  FAREBOX_LEASE_SECONDS: [...number, '5', '0'],
  FAREBOX_STEP_TIMEOUT_SECONDS: [...number, '60'],
  FAREBOX_OUTPUT_SECONDS: [...number, '0'],
  FAREBOX_POLL_SECONDS: [...number, '61'],
  FAREBOX_STORAGE: [
    's3://bucket',
    `s3://key:${word}@one.example/bucket?bogus=1`,
    `s3://key:${word}@one.example/bucket?Region=eu`,
    `s3://key:${word}@one.example/bucket?region=`,
    `s3://key:${word}@one.example/bucket?prefix=${word}`,
    `s3://key:${word}@one*.example/bucket`,
    `s3://key:${word}@one.example/bucket?downloads=${word}`,
    `disk:${held}`,
  ],
  FAREBOX_SPOOL_MAX_BYTES: [...number, '1.5'],
  FAREBOX_DRAIN_SECONDS: [...number, '7'],
  FAREBOX_METRICS_TOKEN: [
    'h\u00e9',
    ' token',
    { FAREBOX_METRICS_TOKEN: 'a', FAREBOX_METRICS_TOKEN_FILE: held },
  ],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['localhost:4318', 'grpc://one.example', 'https://one.example?a=b'],
  OTEL_EXPORTER_OTLP_HEADERS: [
    word,
    `authorization=Bearer%20${word}%`,
    `two words=${word}`,
    `x-one=${word}%0A`,
    { OTEL_EXPORTER_OTLP_HEADERS_FILE: '/no/such' },
  ],
  OTEL_SERVICE_NAME: ['two\nlines', ' farebox', 'a'.repeat(201)],
  OTEL_RESOURCE_ATTRIBUTES: ['live', '=b', 'a=%'],
  OTEL_TRACES_SAMPLER: ['ALWAYS_ON', 'jaeger_remote', '0.1'],
  OTEL_TRACES_SAMPLER_ARG: [...number, '1.5'],
  FAREBOX_TRACE_UPSTREAMS: ['https://one.example', 'two words', 'OpenAI'],
  FAREBOX_LOG_LEVEL: ['INFO', 'verbose', '3'],
  FAREBOX_RPM: [...number, '0'],
  FAREBOX_OPEN_JOBS: [...number, '0'],
  FAREBOX_OPEN_CHATS: [...number, '0'],
  FAREBOX_ACCOUNT_RPM: [...number, '10'],
  FAREBOX_ACCOUNT_OPEN_JOBS: [...number, '10'],
  FAREBOX_ACCOUNT_OPEN_CHATS: [...number, '10'],
  FAREBOX_ACCOUNT_CANCELS: [...number, '0'],
  FAREBOX_INPUT_BYTES_A_DAY: [...number, '1000'],
  FAREBOX_DRAINING_CHATS: [...number, '0'],
  FAREBOX_OPEN_UPLOADS: [...number, '0'],
  FAREBOX_UPLOAD_MAX_BYTES: [
    ...number,
    { FAREBOX_UPLOAD_MAX_BYTES: '2000', FAREBOX_FILES_MAX_BYTES: '1999' },
  ],
  FAREBOX_OUTPUT_MAX_BYTES: [...number, '0'],
  FAREBOX_FILE_DAYS: [...number, '0'],
  FAREBOX_FILES_MAX_BYTES: [...number, '0'],
  FAREBOX_FILES_MAX: [...number, '0'],
  FAREBOX_RETENTION_DAYS: [...number, '0'],
  FAREBOX_PROOF_DAYS: [...number, '0', '366'],
  FAREBOX_QUEUE_AGE_SECONDS: [...number, '0'],
  FAREBOX_WEBHOOK_HTTPS_ONLY: flag,
  FAREBOX_CORS_ORIGINS: [
    '*',
    'null',
    'https://one.example/app',
    'https://*.example',
    'one.example',
  ],
  FAREBOX_ALLOW_PRIVATE_HOSTS: ['10.0.0.0/8', 'one.example:0', '*.example'],
  FAREBOX_TEST_PUBLIC_HOSTS: ['http://one.example', 'one.example:99999', '[::1'],
  FAREBOX_NOTIFY: flag,
  FAREBOX_IN_FLIGHT_MAX: [...number, '0'],
  FAREBOX_BODIES_MAX_BYTES: [...number, '1000'],
  FAREBOX_STREAMS_MAX: [...number, '0'],
  FAREBOX_SANDBOX: flag,
  FAREBOX_SANDBOX_CONCURRENCY: [...number, '0'],
  FAREBOX_SANDBOX_SPEED: [...number, '0'],
};

describe('a setting that cannot work', () => {
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };
  for (const [name, values] of Object.entries(wrong))
    test(`is named: ${name}`, () => {
      for (const value of values) {
        const told = toldOf({
          ...tracing,
          ...(typeof value === 'string' ? { [name]: value } : value),
        });
        assert.ok(told !== null, `${name} took ${JSON.stringify(value)}`);
        assert.ok(told.includes(name) && !told.includes(word), told);
      }
    });

  test('of traces changes nothing while these are off', () => {
    const injected = {
      OTEL_TRACES_SAMPLER: 'jaeger_remote',
      OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://one.example,pollingIntervalMs=5000',
      OTEL_RESOURCE_ATTRIBUTES: 'a=50%',
    };
    assert.equal(toldOf(injected), null);
    assert.equal(toldOf({ ...tracing, ...injected, OTEL_SDK_DISABLED: 'true' }), null);
  });

  test('is in this table', () => {
    const rows = configurationPage().matchAll(/^\| `([A-Z_]+)` \|/gm);
    assert.deepEqual(
      [...rows].map(([, name]) => name),
      Object.keys(wrong),
    );
  });
});

describe('a name that is nearly that of a setting', () => {
  const meant: Record<string, string> = {
    FAREBOX_RPMM: 'FAREBOX_RPM',
    FAREBOX_LOGLEVEL: 'FAREBOX_LOG_LEVEL',
    FAREBOX_UPLOAD_MAX: 'FAREBOX_UPLOAD_MAX_BYTES',
    FAREBOX_SECRET_PREVIOS: 'FAREBOX_SECRET_PREVIOUS',
    FAREBOX_SECERT_FILE: 'FAREBOX_SECRET_FILE',
    FAREBOX_OPERATER_WEBHOOK_SECERT: 'FAREBOX_OPERATOR_WEBHOOK_SECRET',
    FAREBOX_WEBHOOKS_HTTPS_ONLY: 'FAREBOX_WEBHOOK_HTTPS_ONLY',
    FAREBOX_DATABASE_URL: 'DATABASE_URL',
    FAREBOX_PORT: 'PORT',
    FAREBOX_RPC: 'FAREBOX_RPC_<NAME>',
    farebox_storage: 'FAREBOX_STORAGE',
  };
  for (const [name, setting] of Object.entries(meant))
    test(`is refused: ${name}`, () =>
      assert.equal(toldOf({ [name]: '8' }), `${name} is no setting. Did you mean ${setting}?`));

  test('is refused as the file of a setting that no file holds', () =>
    assert.match(toldOf({ FAREBOX_RPM_FILE: held })!, /^FAREBOX_RPM_FILE: only a secret is read/));

  test('is not one of another program, nor one that is empty', () => {
    const others = {
      FAREBOX_API_KEY: 'fbx_a',
      FAREBOX_MCP_TOKEN: 'a',
      FAREBOX_WEBHOOK_SECRET: 'a',
      FAREBOX_RPMM: '',
      // Kubernetes sets these beside a service with the name farebox.
      FAREBOX_SERVICE_HOST: '10.0.0.1',
      FAREBOX_SERVICE_PORT: '8080',
      FAREBOX_SERVICE_PORT_HTTP: '8080',
      FAREBOX_PORT: 'tcp://10.0.0.1:8080',
      FAREBOX_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      FAREBOX_PORT_8080_TCP_PROTO: 'tcp',
      FAREBOX_PORT_8080_TCP_PORT: '8080',
      FAREBOX_PORT_8080_TCP_ADDR: '10.0.0.1',
    };
    assert.equal(toldOf(others), null);
  });
});

describe('settings that work', () => {
  const right: Record<string, Record<string, string>> = {
    'an identity provider without a secret': oidc,
    'an upload as large as all files': {
      FAREBOX_UPLOAD_MAX_BYTES: '2000',
      FAREBOX_FILES_MAX_BYTES: '2000',
    },
    'less room than a default': { FAREBOX_FILES_MAX_BYTES: '2000' },
    'a mail server with options': {
      FAREBOX_SMTP_URL:
        'smtps://me:p%40ss@one.example:465?requireTLS=true&tls.servername=two.example',
    },
    'a storage with all its parameters': {
      FAREBOX_STORAGE:
        's3://key:secret@one.example/bucket?region=eu-central-1&prefix=farebox/&downloads=direct',
    },
    'a text with braces': { FAREBOX_TOP_UP_TEXT: 'Pay {email} {account_id}, see { below } and {}' },
    'a secret from a file': { FAREBOX_SECRET_FILE: held },
  };
  for (const [what, env] of Object.entries(right))
    test(what, () => assert.equal(toldOf(env), null));

  type SpeltName = 'HOST' | 'FAREBOX_WEB_URL' | 'FAREBOX_BASE_URL';
  const spelt: [name: SpeltName, given: string, read: string][] = [
    ['HOST', '[::1]', '::1'],
    ['HOST', '[::]', '::'],
    ['HOST', 'fe80::1%eth0', 'fe80::1%eth0'],
    ['FAREBOX_WEB_URL', 'https://pay.example/', 'https://pay.example'],
    ['FAREBOX_WEB_URL', 'https://Pay.Example:443', 'https://pay.example'],
    ['FAREBOX_WEB_URL', 'https://b\u00fccher.example', 'https://xn--bcher-kva.example'],
    ['FAREBOX_WEB_URL', 'http://[0:0::1]:8080', 'http://[::1]:8080'],
    ['FAREBOX_BASE_URL', 'https://pay.example/v1/', 'https://pay.example/v1'],
    ['FAREBOX_BASE_URL', 'http://[::1]:8080/gate/v1//', 'http://[::1]:8080/gate/v1'],
  ];
  for (const [name, given, read] of spelt)
    test(`${name} may be written ${given}`, () => {
      assert.equal(toldOf({ [name]: given }), null);
      assert.equal(readConfig({ [name]: given })[name], read);
    });

  const origins: Record<string, string> = {
    'https://app.example/': 'https://app.example',
    'https://App.Example:443': 'https://app.example',
    'https://b\u00fccher.example': 'https://xn--bcher-kva.example',
    'http://[::1]:3000': 'http://[::1]:3000',
    'capacitor://localhost': 'capacitor://localhost',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop':
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  };
  test('origins are read as browsers send them', () => {
    const given = `${Object.keys(origins).join(', ')},`;
    const { FAREBOX_CORS_ORIGINS } = readConfig({ FAREBOX_CORS_ORIGINS: given });
    assert.deepEqual(FAREBOX_CORS_ORIGINS, Object.values(origins));
  });

  test('private hosts may be IPv6 addresses without brackets', () => {
    const given = '::1, fd00::7, [fd00::8]:9000, b\u00fccher.lan, under_score:80';
    assert.equal(toldOf({ FAREBOX_ALLOW_PRIVATE_HOSTS: given }), null);
    const { FAREBOX_ALLOW_PRIVATE_HOSTS } = readConfig({ FAREBOX_ALLOW_PRIVATE_HOSTS: given });
    assert.deepEqual(FAREBOX_ALLOW_PRIVATE_HOSTS.slice(0, 2), ['[::1]', '[fd00::7]']);
  });

  test('a sender may be an address in angle brackets', () =>
    assert.equal(toldOf({ FAREBOX_MAIL_FROM: '<farebox@one.example>' }), null));
});
