import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { makePrivate } from './lib/files/make-folders.ts';
import { parseUsd } from './core/price/money.ts';
import { mailParameters } from './lib/mail.ts';
import { because, judgeOperatorUrl } from './lib/outbound/address.ts';
import { faultOfParameters, type Parameters } from './lib/outbound/parameters.ts';
import { isOneOf } from './lib/records.ts';
import { samplers } from './lib/trace.ts';
import { databaseParameters, faultOfDatabaseUrl } from './lib/sql/address.ts';
import { messageOf } from './lib/unknown.ts';

/**
 * Every setting: name, reader, default, and a sentence for the operator. `docs/configuration.md` is
 * generated from this table. A secret may also be given as a file, in a variable of the same name
 * with `_FILE` appended.
 */
export interface Setting<T> {
  read: (text: string) => T;
  /** A string, so that the documentation shows it as an operator would write it. Null: unset. */
  default: string | null;
  secret?: true;
  /** Too long for a variable, so it may be given as a file, like a secret. */
  long?: true;
  says: string;
}

export const settings = {
  PORT: int(0, 65_535, '8080', 'Port to listen on. 0 picks a free one.'),
  HOST: {
    ...text('127.0.0.1', 'Address to listen on. Use 0.0.0.0 in a container.'),
    read: (given: string) => given.replace(/^\[(.*)\]$/, '$1'),
  },
  FAREBOX_BASE_URL: {
    ...text(null, 'Base address of the API for callers. Default: http://localhost:PORT/v1.'),
    read: (given: string) => given.replace(/\/+$/, ''),
  },
  FAREBOX_WEB: flag('on', 'Serve the web pages: dashboard, studio and console.'),
  FAREBOX_WEB_URL: {
    ...text(
      null,
      'The address of the web pages, without a path. Default: the origin of the base address.',
    ),
    read: (given: string) => originIn(given) ?? given,
  },
  FAREBOX_SIGN_UP: {
    ...oneOf(
      ['open', 'invite', 'closed'],
      'invite',
      'People who may [sign up](people.md#who-gets-in) on the web pages. Default: `invite`; in the trial: `open`.',
    ),
    default: null,
  },
  FAREBOX_SMTP_URL: {
    ...address(
      {
        schemes: ['smtp', 'smtps'],
        takesUser: true,
        takesPath: false,
        parameters: mailParameters,
      },
      'must be smtp://USER:PASSWORD@HOST:PORT or smtps://…, with special characters in PASSWORD percent-encoded',
      'Mail server, `smtp://USER:PASSWORD@HOST:587`, after it `?` with options such as `requireTLS=true` if needed. Unset: no mail is sent; operators hand out links.',
    ),
    secret: true as const,
  },
  FAREBOX_MAIL_FROM: matching(
    /^(?:[^\s@<>,;"]+@[^\s@<>,;"]+|[^<>\r\n]{0,100}<[^\s@<>,;"]+@[^\s@<>,;"]+>)$/u,
    'must be one address, such as farebox@example.com or Farebox <farebox@example.com>.',
    'farebox@localhost',
    'Sender of the e-mail: an address, or `NAME <ADDRESS>`.',
  ),
  FAREBOX_OIDC_ISSUER: address(
    { schemes: ['https', 'http'], takesQuery: false },
    'must be an https or http address, such as https://login.example.com',
    '[Identity provider](people.md#an-identity-provider) (OpenID Connect), `https://login.example.com`.',
  ),
  FAREBOX_OIDC_CLIENT_ID: text(null, 'The client id of Farebox at the identity provider.'),
  FAREBOX_OIDC_CLIENT_SECRET: secret('The client secret of Farebox at the identity provider.'),
  FAREBOX_OIDC_NAME: matching(
    /^\S.{0,59}$/u,
    'must be one line of at most 60 characters.',
    'Single sign-on',
    'The label of the identity provider on its sign-in button.',
  ),
  FAREBOX_TOP_UP_TEXT: {
    ...matching(
      /^(?:[^{]|\{(?:account_id|email)\}|\{(?!\w+\}))*$/u,
      'only {account_id} and {email} are filled in; write other names without braces.',
      null,
      'How customers pay, shown on the top-up page. Plain text: `{account_id}` and `{email}` are filled in, addresses become links. Or a file: `FAREBOX_TOP_UP_TEXT_FILE`.',
    ),
    long: true as const,
  },
  FAREBOX_SITE_NAME: matching(
    /^\S.{0,59}$/u,
    'must be one line of at most 60 characters.',
    'Farebox',
    'The name of your service on the public pages.',
  ),
  FAREBOX_SITE_LINE: matching(
    /^\S.{0,199}$/u,
    'must be one line of at most 200 characters.',
    null,
    "Your service in one line: the headline of the front page. Unset: a line of Farebox's own, in the language of the page.",
  ),
  FAREBOX_SITE_LINKS: {
    read: siteLinks,
    default: null,
    says: 'Links at the foot of the public pages, such as terms and privacy: `Terms=https://example.com/terms, Privacy=https://example.com/privacy`.',
  },
  FAREBOX_SITE_ROBOTS: flag('on', 'Let search engines list the public pages.'),
  FAREBOX_LEGAL_NAME: matching(
    /^\S.{0,199}$/u,
    'must be one line of at most 200 characters.',
    null,
    'Your name on [receipts](operating/accounts.md#receipts). Unset: the host of the web pages.',
  ),
  FAREBOX_RECEIPT_TEXT: {
    ...matching(
      /^[^]{1,1000}$/u,
      'must have at most 1,000 characters.',
      null,
      'Further lines about you on receipts: address, tax id. Or a file: `FAREBOX_RECEIPT_TEXT_FILE`.',
    ),
    long: true as const,
  },
  FAREBOX_CHAINS: text(
    null,
    "Folder of [chain files](deposits.md#chain-files). Default: `chains` in Farebox's own folder.",
  ),
  FAREBOX_XPUB_EVM: secret(
    "Public key of a wallet, from which the [deposit addresses](deposits.md) of all EVM chains are derived: `xpub…` of the account `m/44'/60'/0'`.",
  ),
  FAREBOX_XPUB_TRON: secret(
    "Public key of a wallet for the deposit addresses of TRON: `xpub…` of the account `m/44'/195'/0'`.",
  ),
  FAREBOX_CHAIN_SECONDS: number(
    1,
    300,
    '15',
    'Seconds between two reads of a blockchain; at most 5 while a deposit is expected.',
  ),
  FAREBOX_DEPOSIT_REVIEW_USD: {
    read: (given: string) => parseUsd(given),
    default: null,
    says: 'Deposits from blockchains above this amount wait until an operator credits them. Unset: none waits.',
  },
  FAREBOX_OPERATOR_WEBHOOK_URL: {
    ...address(
      { schemes: ['https', 'http'], takesUser: true },
      'must be an https or http address, such as https://ops.example.com/farebox',
      'Address that gets the [events to the operator](operating/events.md).',
    ),
    secret: true as const,
  },
  FAREBOX_OPERATOR_WEBHOOK_SECRET: secret(
    'Signs the events to the operator: `whsec_` and the base64 of 24 to 64 bytes. During a change, give the new and the old secret, with a blank between.',
  ),
  FAREBOX_TRUSTED_PROXIES: int(
    0,
    10,
    '0',
    'Number of your own proxies in front of Farebox that append to X-Forwarded-For, as `IP` or `IP:port`.',
  ),
  FAREBOX_DATA_DIR: text('./data', 'The [data folder](operating.md#the-data-folder).'),
  DATABASE_URL: {
    read: databaseUrl,
    default: null,
    secret: true as const,
    says: [
      'PostgreSQL 15 or later: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, after it `?` with any of',
      databaseParameters.map((name) => `\`${name}\``).join(', '),
      'if needed. Unset: embedded, in the data folder.',
    ].join(' '),
  },
  DATABASE_READ_URL: {
    read: databaseUrl,
    default: null,
    secret: true as const,
    says: 'A [standby that answers sums and lists](operating/processes.md#a-standby-for-reads), as `DATABASE_URL`, of which it is a copy.',
  },
  FAREBOX_DATABASE_POOL: int(2, 200, '10', 'Database connections of one process.'),
  FAREBOX_UNSAFE_DATABASE: flag('off', 'For tests: accept a database that may lose commits.'),
  FAREBOX_CATALOG: text(
    null,
    "Folder of catalog files. Default: `catalog` in Farebox's own folder.",
  ),
  FAREBOX_SECRET: secret(
    'Signs output links; at least 32 characters. Unset: generated and kept in the data folder.',
  ),
  FAREBOX_SECRET_PREVIOUS: secret(
    'The previous secret, for a day after a [change](operating.md#rotating-the-signing-secret).',
  ),
  FAREBOX_WORKER: flag('on', 'Run a worker inside `serve`.'),
  FAREBOX_WORKER_PORT: {
    ...int(0, 65_535, '0', 'Port of `worker` for /livez, /readyz and /metrics.'),
    default: null,
  },
  FAREBOX_WORKER_CONCURRENCY: int(1, 10_000, '256', 'Requests that one worker handles at once.'),
  FAREBOX_LEASE_SECONDS: number(
    0.2,
    3600,
    '60',
    'Seconds after which another worker may take over a request.',
  ),
  FAREBOX_STEP_TIMEOUT_SECONDS: number(
    0.1,
    3600,
    '45',
    "Time limit of a worker's step, and of a call to an upstream unless the upstream sets a longer one. Must be less than `FAREBOX_LEASE_SECONDS`.",
  ),
  FAREBOX_OUTPUT_SECONDS: number(
    0.1,
    86_400,
    '600',
    'Time limit of one attempt to fetch all outputs of a job.',
  ),
  FAREBOX_POLL_SECONDS: number(
    0.05,
    60,
    '2',
    'Seconds between polls of a job, unless its upstream sets its own.',
  ),
  FAREBOX_STORAGE: {
    ...matching(
      /^(disk$|disk:.|s3(\+http)?:\/\/[^:@/]+:[^:@/]+@[^/@]+)/,
      'must be disk, disk:/path, or s3://KEY:SECRET@HOST/BUCKET with a percent-encoded SECRET (s3://KEY:SECRET@BUCKET.HOST where the service wants the bucket in the host name).',
      'disk',
      '`disk` (in the data folder), `disk:/path`, `s3://KEY:SECRET@HOST/BUCKET?region=R` or `s3://KEY:SECRET@BUCKET.HOST?region=R`; `s3+http://` without TLS. [More](operating/storage.md).',
    ),
    secret: true as const,
  },
  FAREBOX_SPOOL_MAX_BYTES: int(
    0,
    1_125_899_906_842_624,
    '4294967296',
    'Bytes of results that one process keeps on its disk while the [storage is away](operating/outages.md#storage-away).',
  ),
  FAREBOX_DRAIN_SECONDS: number(
    0,
    6,
    '3',
    'Seconds during which `serve` still answers after SIGTERM ([stopping](operating.md#stopping)).',
  ),
  FAREBOX_METRICS_TOKEN: {
    ...matching(
      /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
      'must have only letters, digits and signs of ASCII, because a header carries it.',
      null,
      'Bearer token for /metrics from other machines.',
    ),
    secret: true as const,
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...address(
      { schemes: ['https', 'http'], takesQuery: false },
      'must be an https or http address, such as http://localhost:4318',
      'Collector that gets [traces](operating/monitoring.md#traces), by OTLP over HTTP as JSON: `/v1/traces` below this address. Unset: no traces.',
    ),
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    read: (given: string) => {
      const pairs = pairsIn(given);
      if (Object.entries(pairs).some(([name, value]) => !isHeader(name, value)))
        throw new ConfigError('has a name or a value that no header can carry.');
      return pairs;
    },
    default: null,
    secret: true as const,
    says: 'Headers for the collector: `NAME=VALUE`, comma-separated and percent-encoded.',
  },
  OTEL_SERVICE_NAME: matching(
    /^\S.{0,199}$/u,
    'must be one line of at most 200 characters.',
    'farebox',
    'The name of the service in traces.',
  ),
  OTEL_RESOURCE_ATTRIBUTES: {
    read: pairsIn,
    default: null,
    says: 'Attributes of this installation in traces: `deployment.environment.name=live,NAME=VALUE`, percent-encoded.',
  },
  OTEL_TRACES_SAMPLER: oneOf(
    samplers,
    'parentbased_always_on',
    'The rule by which [traces are recorded](operating/monitoring.md#which-calls-are-traced).',
  ),
  OTEL_TRACES_SAMPLER_ARG: number(0, 1, '1', 'The part of the traces for samplers with `ratio`.'),
  FAREBOX_TRACE_UPSTREAMS: {
    read: (given: string) => {
      const names = given.split(',').map((each) => each.trim());
      const wrong = names.find((name) => name !== '' && !/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name));
      if (wrong === undefined) return names.filter((name) => name !== '');
      throw new ConfigError(`"${wrong}" is not the name of an upstream, such as vllm.`);
    },
    default: '',
    says: 'Upstreams that get the [trace context](operating/monitoring.md#traces-and-other-companies) of calls, comma-separated: those that you run yourself.',
  },
  FAREBOX_LOG_LEVEL: oneOf(
    ['fatal', 'error', 'warn', 'info', 'debug', 'silent'],
    'info',
    'Lowest level that is logged.',
  ),
  FAREBOX_RPM: int(1, 10_000_000, '600', 'Calls a minute for a key that has no limit of its own.'),
  FAREBOX_OPEN_JOBS: int(1, 100_000_000, '50', 'Open jobs for a key that has no limit of its own.'),
  FAREBOX_OPEN_CHATS: int(1, 1_000_000, '100', 'Open chats of a key in one process.'),
  FAREBOX_ACCOUNT_RPM: ceiling(10_000_000, 'Calls a minute', 'FAREBOX_RPM'),
  FAREBOX_ACCOUNT_OPEN_JOBS: ceiling(100_000_000, 'Open jobs', 'FAREBOX_OPEN_JOBS'),
  FAREBOX_ACCOUNT_OPEN_CHATS: ceiling(1_000_000, 'Open chats in one process', 'FAREBOX_OPEN_CHATS'),
  FAREBOX_ACCOUNT_CANCELS: int(1, 10_000_000, '1000', 'Jobs an account may cancel in an hour.'),
  FAREBOX_INPUT_BYTES_A_DAY: int(
    1024 * 1024,
    1024 ** 5,
    String(1024 ** 3),
    'Bytes of inputs that an account may submit in a day (UTC).',
  ),
  FAREBOX_DRAINING_CHATS: int(
    1,
    1_000_000,
    '1000',
    'Chats that one process reads to the end after their callers have left, to learn what to charge. One account may have at most as many of them as are still free.',
  ),
  FAREBOX_OPEN_UPLOADS: int(
    1,
    1_000_000,
    '32',
    'Open uploads of an account in one process; beyond it 429. All accounts together may have a quarter of `FAREBOX_IN_FLIGHT_MAX`; beyond it 503.',
  ),
  FAREBOX_UPLOAD_MAX_BYTES: int(1, 10_737_418_240, '104857600', 'Largest uploaded file.'),
  FAREBOX_OUTPUT_MAX_BYTES: int(1, 10_737_418_240, '2147483648', 'Largest output that is kept.'),
  FAREBOX_FILE_DAYS: number(0.001, 365, '7', 'Days an uploaded file is kept.'),
  FAREBOX_FILES_MAX_BYTES: int(
    1,
    1_125_899_906_842_624,
    '10737418240',
    'Bytes of the uploaded files of an account; beyond it 413.',
  ),
  FAREBOX_FILES_MAX: int(
    1,
    1_000_000,
    '20000',
    'Uploaded files of an account; beyond it 413. Each upload counts them all.',
  ),
  FAREBOX_RETENTION_DAYS: number(
    1,
    3650,
    '30',
    'Days that the input, output and Idempotency-Key of a request are kept.',
  ),
  FAREBOX_PROOF_DAYS: number(
    0.1,
    365,
    '1',
    'Days within which the service [proves all its books](ledger.md#proof) again.',
  ),
  FAREBOX_QUEUE_AGE_SECONDS: number(
    1,
    86_400,
    '900',
    "A submit gets 503 while the account's oldest job for the same upstream has waited longer than this.",
  ),
  FAREBOX_WEBHOOK_HTTPS_ONLY: flag('off', 'Refuse webhook addresses that are not https.'),
  FAREBOX_CORS_ORIGINS: {
    read: (given: string) => {
      const named = given.split(',').map((item) => item.trim());
      return named
        .filter((item) => item !== '')
        .map((item) => {
          const origin = originIn(item);
          if (origin !== null) return origin;
          throw new ConfigError(`"${item}" is not an origin, such as https://app.example.com.`);
        });
    },
    default: '',
    says: 'Web origins whose pages may call the API with a key, comma-separated, such as `https://app.example.com`.',
  },
  FAREBOX_ALLOW_PRIVATE_HOSTS: hosts(
    'Private hosts (host or host:port, comma-separated) from which outputs may be downloaded. The hosts of the upstreams themselves need not be listed.',
  ),
  FAREBOX_TEST_PUBLIC_HOSTS: hosts('For tests: host:port that counts as public.'),
  FAREBOX_NOTIFY: flag(
    'on',
    'Wake other processes with LISTEN and NOTIFY; if off, they only poll.',
  ),
  FAREBOX_IN_FLIGHT_MAX: int(
    1,
    1_000_000,
    '2000',
    'Calls in progress in one process; beyond it 503. One account or person may have at most as many as are still free; beyond it 429. At most half as many calls as this setting allows can be sending their bodies at once.',
  ),
  FAREBOX_BODIES_MAX_BYTES: int(
    16 * 1024 * 1024,
    1024 ** 4,
    String(128 * 1024 * 1024),
    'Bytes of JSON bodies in one process; beyond it 503. One account may use a quarter of them; beyond that 429. Files at addresses in inputs, if they are fetched before they are sent on, may have twice as many bytes, shared like `FAREBOX_IN_FLIGHT_MAX`.',
  ),
  FAREBOX_STREAMS_MAX: int(
    1,
    1_000_000,
    '20000',
    'Status streams, waiting calls and open web pages in one process, shared between accounts like `FAREBOX_IN_FLIGHT_MAX`.',
  ),
  FAREBOX_SANDBOX: {
    ...flag(
      'on',
      'Offer the [sandbox](sandbox.md). Unset: on in the trial, off in `serve` and `worker`.',
    ),
    default: null,
  },
  FAREBOX_SANDBOX_CONCURRENCY: int(1, 100_000, '8', 'Most jobs that the sandbox runs at once.'),
  FAREBOX_SANDBOX_SPEED: number(0.01, 1_000_000, '1', 'Speed of the sandbox: 2 is twice as fast.'),
} satisfies Record<string, Setting<unknown>>;

type Settings = typeof settings;
type Name = keyof Settings;
type IsOptional<S> = S extends { default: null } ? true : false;
export type Config = {
  [N in Name]:
    | ReturnType<Settings[N]['read']>
    | (IsOptional<Settings[N]> extends true ? null : never);
} & {
  /** A variable that a catalog file refers to, such as an upstream's key; null if it is not set. */
  variable: ((name: string) => string | null) & {
    /** The variables that are set and whose names begin like this. */
    named: (prefix: string) => string[];
  };
  /** Where given settings come from; their texts, but for secrets. Others have their default. */
  given: ReadonlyMap<string, GivenSetting>;
};

export interface GivenSetting {
  from: 'environment' | 'file';
  /** Null: a secret, or the text of a file. */
  text: string | null;
}

/** A setting is missing or wrong; the message names it and says what is allowed. */
export class ConfigError extends Error {}

/** Limits for all keys of an account together. */
export function ceilings(config: Config): { rpm: number; openJobs: number; openChats: number } {
  return {
    rpm: config.FAREBOX_ACCOUNT_RPM ?? 5 * config.FAREBOX_RPM,
    openJobs: config.FAREBOX_ACCOUNT_OPEN_JOBS ?? 5 * config.FAREBOX_OPEN_JOBS,
    openChats: config.FAREBOX_ACCOUNT_OPEN_CHATS ?? 5 * config.FAREBOX_OPEN_CHATS,
  };
}

/** The folder of catalog files. */
export function catalogDir(config: Config): string {
  return resolve(config.FAREBOX_CATALOG ?? join(import.meta.dirname, '../../catalog'));
}

/** The folder of chain files. */
export function chainsDir(config: Config): string {
  return resolve(config.FAREBOX_CHAINS ?? join(import.meta.dirname, '../../chains'));
}

/** The data folder, or a folder inside it, as an absolute path; made if missing. */
export function dataDir(config: Config, inside = '.'): string {
  const top = resolve(config.FAREBOX_DATA_DIR);
  const dir = resolve(top, inside);
  try {
    // If we are root, the embedded PostgreSQL runs as another user, who must be able to enter the
    // folder.
    makePrivate(top, process.getuid?.() === 0 ? 0o711 : 0o700);
    if (dir !== top) makePrivate(dir, 0o700);
  } catch (error) {
    const why = messageOf(error);
    throw new ConfigError(`FAREBOX_DATA_DIR: cannot use ${dir}: ${why}`, { cause: error });
  }
  return dir;
}

/** Settings that only `Config.variable` reads, because their names contain a chain file's name. */
export const chainSettings: Record<string, Setting<string>> = {
  'FAREBOX_RPC_<NAME>': secret(
    'One or two JSON-RPC addresses, with a blank between, of the [blockchain](deposits.md) whose file has this name: `FAREBOX_RPC_BSC` for `bsc.yaml`. Each may contain `USER:PASSWORD@`, percent-encoded. Unset: the chain is not read.',
  ),
  'FAREBOX_RPC_<NAME>_KEY': secret(
    'API key for a chain of the TRON family, sent to these addresses in the header `TRON-PRO-API-KEY`.',
  ),
};

/** The settings that a file may hold. */
export const files = [...Object.entries(settings), ...Object.entries(chainSettings)].flatMap(
  ([name, setting]: [string, Setting<unknown>]) => (setting.secret || setting.long ? [name] : []),
);

function text<D extends string | null>(fallback: D, says: string) {
  return { read: (given: string) => given, default: fallback, says };
}

/** The origin that an address without a path names, as browsers send it; null: it names none. */
function originIn(given: string): string | null {
  const url = /^[a-z][a-z\d+.-]*:\/\/[^/\s\\][^\s\\]*$/i.test(given) ? URL.parse(given) : null;
  if (url === null || url.host === '' || url.host.includes('*')) return null;
  // No page comes from there.
  if (/^(ftp|wss?):$/.test(url.protocol)) return null;
  const origin = `${url.protocol}//${url.host}`;
  return url.href.replace(/\/$/, '') === origin ? origin : null;
}

/** A text of a given form. Errors do not repeat the value, because it may contain a secret. */
function matching<D extends string | null>(form: RegExp, rule: string, fallback: D, says: string) {
  const read = (given: string) => {
    if (!form.test(given)) throw new ConfigError(rule);
    return given;
  };
  return { read, default: fallback, says };
}

function siteLinks(given: string): [text: string, href: string][] {
  return given.split(',').map((each) => {
    const [, text, href] = /^\s*([^=]{1,60}?)\s*=\s*(\S{1,500})\s*$/u.exec(each) ?? [];
    const { protocol } = URL.parse(href ?? '') ?? {};
    if (text === undefined || (protocol !== 'https:' && protocol !== 'http:'))
      throw new ConfigError('must be TEXT=ADDRESS, …, with addresses that begin with https://.');
    return [text, href!];
  });
}

/** `name=value` pairs, comma-separated and percent-encoded, as W3C Baggage has them. */
function pairsIn(given: string): Record<string, string> {
  const named = given.split(',').filter((pair) => pair.trim() !== '');
  const pairs = named.map((pair) => {
    const [, name, value] = /^\s*([^=\s]{1,200})\s*=\s*(.{0,4000}?)\s*$/.exec(pair) ?? [];
    if (name === undefined) throw new ConfigError('must be NAME=VALUE, …, percent-encoded.');
    return [name, value!].map(decoded);
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigError('must be percent-encoded: write % as %25.');
  }
}

function isHeader(name: string, value: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value);
}

function databaseUrl(given: string): string {
  const fault = faultOfDatabaseUrl(given);
  if (fault !== null) throw new ConfigError(fault);
  return given;
}

interface AddressForm {
  schemes: readonly string[];
  /** True: it may contain a user name and a password. */
  takesUser?: boolean;
  /** False: it ends with its host and port, or with the parameters below. */
  takesPath?: boolean;
  takesQuery?: boolean;
  /** Parameters that it may have after a `?`. Default: any. */
  parameters?: Parameters;
}

/**
 * An address that Farebox calls, judged like the call itself. Errors do not repeat the value,
 * because it may contain a password.
 */
function address(
  { schemes, takesUser = false, takesPath = true, takesQuery = true, parameters }: AddressForm,
  rule: string,
  says: string,
) {
  const read = (given: string) => {
    const scheme = schemes.find((each) => given.toLowerCase().startsWith(`${each}://`));
    if (scheme === undefined || !/^\w+:\/\/[^/]/.test(given)) throw new ConfigError(`${rule}.`);
    const http = /^https?$/.test(scheme) ? given : given.replace(/^\w+/, 'https');
    const verdict = judgeOperatorUrl(http, { takesUser });
    if (!verdict.ok) throw new ConfigError(`${rule}${because(verdict)}.`);
    if (!takesQuery && given.includes('?'))
      throw new ConfigError(`${rule}: it must not contain a query.`);
    if (!takesPath && verdict.url.pathname !== '/')
      throw new ConfigError(`${rule}: it must not contain a path.`);
    const fault = parameters && faultOfParameters(verdict.url.searchParams, parameters);
    if (fault) throw new ConfigError(`${rule}: it ${fault}.`);
    return given;
  };
  return { read, default: null, says };
}

function secret(says: string) {
  return { read: (given: string) => given, default: null, secret: true as const, says };
}

function int(min: number, max: number, fallback: string, says: string) {
  return {
    read: (given: string) => {
      const value = Number(given);
      if (!/^\d+$/.test(given) || value < min || value > max) {
        throw new ConfigError(`"${given}" is not an integer from ${min} to ${max}.`);
      }
      return value;
    },
    default: fallback,
    says,
  };
}

/** A limit for all keys of an account together. */
function ceiling(max: number, what: string, ofKey: string) {
  const says = `${what} of all keys of an account together. Default: five times \`${ofKey}\`.`;
  return { ...int(1, max, '1', says), default: null };
}

function number(min: number, max: number, fallback: string, says: string) {
  return {
    read: (given: string) => {
      const value = Number(given);
      if (!/^\d+(\.\d+)?$/.test(given) || value < min || value > max) {
        throw new ConfigError(`"${given}" is not a number from ${min} to ${max}.`);
      }
      return value;
    },
    default: fallback,
    says,
  };
}

function flag(fallback: 'on' | 'off', says: string) {
  return {
    read: (given: string) => {
      if (given !== 'on' && given !== 'off')
        throw new ConfigError(`"${given}" is invalid; use on or off.`);
      return given === 'on';
    },
    default: fallback,
    says: `${says} \`on\` or \`off\`.`,
  };
}

function oneOf<const T extends string>(values: readonly T[], fallback: T, says: string) {
  return {
    read: (given: string) => {
      if (isOneOf(values, given)) return given;
      throw new ConfigError(`"${given}" is invalid; use ${values.join(', ')}.`);
    },
    default: fallback,
    says: `${says} One of ${values.join(', ')}.`,
  };
}

const hostForm = /^(\[[0-9a-f:.]+\]|[^:[\]/@?#*\s]+)(:\d{1,5})?$/i;

const isPort = (number: number) => number >= 1 && number <= 65_535;

function hosts(says: string) {
  return {
    read: (given: string) => {
      const items = given.split(',').map((item) => item.trim());
      const bracketed = (item: string) =>
        isIPv6(item) && !item.includes('%') ? `[${item}]` : item;
      const named = items.filter((item) => item !== '').map(bracketed);
      const isHost = (item: string) =>
        hostForm.test(item) && isPort(Number(/:(\d+)$/.exec(item)?.[1] ?? 1));
      const wrong = named.find((item) => !isHost(item));
      if (wrong !== undefined) throw new ConfigError(`"${wrong}" must be host or host:port.`);
      return named;
    },
    default: '',
    says,
  };
}
