import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deposit } from './by-command-line.ts';
import { startApp, type App } from '../../src/app.ts';
import type { Chains } from '../../src/chains/chains.ts';
import { readConfig } from '../../src/read-config.ts';
import { usualTimes, type Times } from '../../src/http/times.ts';
import type { EmbeddedServer } from '../../src/db/embedded.ts';
import type { Lookup } from '../../src/lib/outbound/fetch.ts';
import { createLog } from '../../src/lib/log.ts';
import { schemaOfSession } from '../../src/db/schema.ts';
import { openDatabase, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { proveBooks } from '../../src/ledger/audit.ts';
import { createAccount } from '../../src/operations/accounts/account.ts';
import { createKey } from './keys.ts';
import type { KeyChange } from '../../src/core/account/key-settings.ts';
import type { Upstream } from '../../src/upstreams/upstream.ts';
import { testDatabase } from './database.ts';
import { checkReply } from './openapi.ts';
import { createFake, type Fake } from './fake.ts';

/**
 * With this option a test file's service is a fleet on one PostgreSQL: two processes that listen
 * and work and a third that only works, each with its own connections. Calls alternate between the
 * first two.
 */
const isFleet = process.argv.includes('--fleet');

/** A whole service for a test file: its own database and folder, a free port, a fake upstream. */
export interface Service {
  app: App;
  db: Database;
  /** URL of the database, for further processes. */
  databaseUrl: string;
  fake: Fake;
  dir: string;
  base: string;
  /** The logged lines. */
  log: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  account(options?: { usd?: number } & KeyChange): Promise<TestAccount>;
  /** Runs worker rounds until nothing is due. */
  work(): Promise<void>;
  /** Makes every request due now. */
  wakeAll(): Promise<void>;
  balance(account: TestAccount): Promise<{ available: bigint; reserved: bigint }>;
  transfers(): Promise<number>;
  audit(): Promise<void>;
  /** Another service on the same database, with its own pool if one is given. */
  another(
    overrides?: Record<string, string>,
    options?: {
      http?: boolean;
      db?: Database;
      embedded?: EmbeddedServer;
      times?: Partial<Times>;
    },
  ): Promise<{ app: App; base: string }>;
  stop(): Promise<void>;
}

export interface CallOptions {
  key?: string | null;
  body?: unknown;
  /** Replaces the JSON body. */
  raw?: Buffer | string | ReadableStream | FormData;
  headers?: Record<string, string>;
  base?: string;
  signal?: AbortSignal;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** The parsed JSON, or undefined. */
  body: any;
  text: string;
  bytes: Buffer;
}

export interface TestAccount {
  account_id: string;
  email: string;
  key: string;
  key_id: string;
  /** Calls with the account's key. */
  get(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  /** Uploads a file of this content type. */
  upload(raw: CallOptions['raw'], type: string, options?: CallOptions): Promise<Reply>;
  /** The account with another of its keys. */
  another(settings?: KeyChange & { name?: string }): Promise<TestAccount>;
}

/** A catalog of the fake upstream with one model of each kind. */
export const fakeCatalog = `
upstream: fake
owned_by: fake
models:
  - id: fake/image
    kind: image
    task: text-to-image
    name: Fake image
    description: One cent an image.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    cost_usd: "0.004"
    upstream_model: image
    input_schema:
      type: object
      properties: { prompt: { type: string, maxLength: 1000 }, num_images: { type: integer }, image_url: { type: string } }
      required: [prompt]
    example: { prompt: a cat }
  - id: fake/film/text-to-video
    kind: video
    task: text-to-video
    name: Fake film
    description: Priced by second and resolution.
    price: { unit: sec, usd_by_resolution: { 480p: "0.05", 720p: "0.10" } }
    max: 10
    max_unit: seconds
    resolutions: [480p, 720p]
    cost_usd_by_resolution: { 480p: "0.01", 720p: "0.02" }
    upstream_model: film
    input_schema:
      type: object
      properties: { prompt: { type: string }, duration_seconds: { type: number }, resolution: { type: string } }
      required: [prompt]
    example: { prompt: a cat runs, duration_seconds: 5, resolution: 480p }
  - id: fake/chat
    kind: text
    task: chat
    name: Fake chat
    description: A dollar in, two out.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    cost_input_usd: "0.5"
    cost_output_usd: "1"
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    on_disconnect: stop
    input_modalities: [text, image, audio, file]
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
  - id: fake/drain/chat
    kind: text
    task: chat
    name: Fake chat that is read to its end
    description: As the other, with the other rule for callers who leave.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    cost_input_usd: "0.5"
    cost_output_usd: "1"
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    on_disconnect: finish
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;

/**
 * A chat model of an outside upstream whose calls may take one second: appended to `fakeCatalog`.
 */
export function shortChatRow(id: string, hidden_tokens: boolean): string {
  return `  - id: ${id}
    kind: text
    task: chat
    name: Fake chat with little time
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    job_age_seconds: 2
    hidden_tokens: ${hidden_tokens}
`;
}

export interface ServiceOptions {
  /** Environment that overrides the test's defaults. */
  env?: Record<string, string>;
  upstreams?: Upstream[];
  fake?: Fake;
  catalog?: string;
  /** Replaces the configured blockchains; a test reads them by `app.chains.runOnce`. */
  chains?: Chains;
  /** Starts the worker's loop; without it a test calls `work`. */
  running?: boolean;
  /** Shorter time limits. */
  times?: Partial<Times>;
  /** Resolves every host name that callers give, instead of the system. */
  lookup?: Lookup;
}

/** Starts a service with its own database. Its limits are the defaults, except calls a minute. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-service-'));
  const database = await testDatabase();
  mkdirSync(join(dir, 'catalog'));
  writeFileSync(join(dir, 'catalog', 'fake.yaml'), options.catalog ?? fakeCatalog);
  const fake = options.fake ?? createFake();
  const lines: string[] = [];
  const upstreams = new Map(
    [fake, ...(options.upstreams ?? [])].map((upstream) => [upstream.name, upstream]),
  );
  const apps: App[] = [];

  const pools: Database[] = [];

  async function start(
    overrides: Record<string, string> = {},
    given: Parameters<Service['another']>[1] = {},
  ): Promise<{ app: App; base: string }> {
    const { http = true, db = database.db, embedded = null } = given;
    const config = readConfig({
      PORT: '0',
      FAREBOX_DATA_DIR: dir,
      FAREBOX_CATALOG: join(dir, 'catalog'),
      DATABASE_URL: database.url,
      // Far above the default of 600, so that a test may call often.
      FAREBOX_RPM: '1000000',
      FAREBOX_POLL_SECONDS: '0.05',
      FAREBOX_SECRET: 'a secret of at least thirty-two characters',
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_DRAIN_SECONDS: '0',
      ...options.env,
      ...overrides,
    });
    const log = createLog(config.FAREBOX_LOG_LEVEL, {
      write: (text) => lines.push(...text.split(/(?<=\n)/)),
    });
    const opened = { db, embedded, applied: [], close: async () => {} };
    const app = await startApp({
      config,
      database: opened,
      log,
      http,
      worker: true,
      running: options.running ?? false,
      upstreams,
      chains: options.chains,
      times: { ...usualTimes, ...options.times, ...given.times },
      lookup: options.lookup,
    });
    apps.push(app);
    return { app, base: `http://127.0.0.1:${app.address?.port}` };
  }

  /** Starts another process of the fleet. */
  function enlist(http: boolean): Promise<{ app: App; base: string }> {
    const connection = database.url;
    const name = {
      max: 6,
      statementTimeoutMs: 30_000,
      applicationName: 'test fleet',
      session: schemaOfSession,
    };
    const db = openDatabase({ connection, ...name });
    pools.push(db);
    // The fleet has one public address.
    return start({ FAREBOX_BASE_URL: app.baseUrl }, { http, db });
  }

  const { app, base } = await start();
  const fleet = isFleet ? [await enlist(true), await enlist(false)] : [];
  const bases = [base, ...fleet.slice(0, 1).map((each) => each.base)];
  let calls = 0;
  const { db } = database;
  let accounts = 0;

  const service: Service = {
    app,
    db,
    fake,
    dir,
    base,
    databaseUrl: database.url,
    log: lines,
    call: (method, path, call = {}) =>
      send(call.base ?? bases[calls++ % bases.length]!, method, path, call),
    async account({ usd = 100, ...limits } = {}) {
      const email = `a${++accounts}@example.com`;
      const { id: account_id } = await createAccount(db, { email, is_operator: false });
      if (usd > 0) {
        await deposit(db, {
          account_id,
          amount: BigInt(Math.round(usd * 1e6)),
          reference: `test ${account_id}`,
        });
      }
      const another: TestAccount['another'] = async (settings) => {
        const { key, key_id } = await createKey(db, { account_id, name: 'another', ...settings });
        return {
          account_id,
          email,
          key,
          key_id,
          get: (path, more) => service.call('GET', path, { key, ...more }),
          post: (path, body, more) => service.call('POST', path, { key, body, ...more }),
          upload: (raw, type, more) => {
            const headers = { 'content-type': type };
            return service.call('POST', '/v1/files', { key, raw, headers, ...more });
          },
          another,
        };
      };
      return another({ name: 'test', ...limits });
    },
    async work() {
      const workers = [app, ...fleet.map((each) => each.app)].map((each) => each.worker!);
      const round = () => Promise.all(workers.map((worker) => worker.runOnce()));
      while ((await round()).some((done) => done > 0));
    },
    async wakeAll() {
      await db.run(sql`update requests set wake_at = now() - interval '1 s'
        where wake_at is not null`);
    },
    async balance(account) {
      const [row] = await db.run<{ available: bigint; reserved: bigint }>(sql`
        select credits_posted - debits_posted - debits_pending as available, debits_pending as reserved
         from balances where account_id = ${account.account_id}`);
      return row!;
    },
    async transfers() {
      const [row] = await db.run<{ n: bigint }>(rawSql('select count(*) as n from transfers'));
      return Number(row!.n);
    },
    async audit() {
      const report = await db.tx(async (tx) => {
        await tx.run(rawSql('set transaction isolation level repeatable read read only'));
        return proveBooks(tx);
      });
      if (!report.ok)
        throw new Error(`the books do not balance: ${JSON.stringify(report.violations)}`);
    },
    another: start,
    async stop() {
      for (const each of apps) await each.stop(2_000);
      for (const pool of pools) await pool.close();
      await database.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return service;
}

async function send(base: string, method: string, path: string, call: CallOptions): Promise<Reply> {
  const headers: Record<string, string> = { ...call.headers };
  if (call.key) headers.authorization ??= `Key ${call.key}`;
  if (call.body !== undefined) headers['content-type'] ??= 'application/json';
  const body = call.raw ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  const url = path.startsWith('http') ? path : `${base}${path}`;
  const reply = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body: body as never, duplex: 'half' }),
    ...(call.signal && { signal: call.signal }),
  });
  const bytes = Buffer.from(await reply.arrayBuffer());
  const text = bytes.toString('utf8');
  const isJson = /[/+]json/.test(reply.headers.get('content-type') ?? '');
  const parsed = isJson && text !== '' ? JSON.parse(text) : undefined;
  const { pathname } = new URL(url);
  // Every reply of the suite has to match the published document; replies to fal's client have
  // fal's own shapes.
  if (!pathname.startsWith('/fal/'))
    checkReply(method, pathname, reply.status, reply.headers, parsed ?? text);
  return { status: reply.status, headers: reply.headers, body: parsed, text, bytes };
}
