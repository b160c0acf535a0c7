import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, mkdirSync, writeFileSync, readFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../server/src/db/embedded.ts';
import { migrate } from '../server/src/db/migrate.ts';
import { schemaOfSession } from '../server/src/db/schema.ts';
import { openDatabase, rawSql, type Database } from '../server/src/lib/sql/sql.ts';
import { createAccount } from '../server/src/operations/accounts/account.ts';
import { deposit } from '../server/src/operations/accounts/book-by-hand.ts';
import { createKey } from '../server/src/operations/accounts/key.ts';
import { commandLine } from '../server/src/operations/operator-action.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

/** The environment of a bench: PostgreSQL with durable settings, and processes of the service. */
export interface Bench {
  db: Database;
  dir: string;
  /** PID of PostgreSQL's main process. */
  databasePid: number;
  /** `key` and `keys` create keys of separate accounts, whose balances do not run out. */
  key(): Promise<string>;
  keys(count: number): Promise<string[]>;
  start(options: ProcessOptions): Promise<Process>;
  /** Empties the request tables between two measurements. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  role: 'empty' | 'service' | 'bare-proxy';
  http?: boolean;
  worker?: boolean;
  /** Maximum number of calls in one batch; 1 gives each call its own transaction. */
  batchMax?: number;
  env?: Record<string, string>;
}

export interface Process {
  port: number;
  pid: number;
  rssMb(): number;
  stop(): Promise<void>;
}

/**
 * The flags with which `npm start` runs the service. A larger heap would take a third more memory
 * and save next to nothing.
 */
export const nodeFlags = ['--max-semi-space-size=16', '--heap-growing-percent=100'];

/**
 * @param settings further settings of PostgreSQL, to inspect it during a bench
 * @param folder its files, which are kept; without it, in a new one that is removed
 */
export async function openBench(
  settings: Record<string, string> = {},
  folder?: string,
): Promise<Bench> {
  const dir = folder ?? mkdtempSync(join(tmpdir(), 'farebox-bench-'));
  mkdirSync(join(dir, 'catalog'), { recursive: true });
  chmodSync(dir, 0o755);
  writeFileSync(join(dir, 'catalog', 'instant.yaml'), catalog);
  const embedded = await startEmbedded({ dataDir: join(dir, 'data'), settings });
  const { host, port, user, database } = embedded.connection;
  const url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
  const db = openDatabase({
    connection: url,
    max: 4,
    statementTimeoutMs: 120_000,
    applicationName: 'bench',
    session: schemaOfSession,
  });
  await migrate(db);
  const running = new Set<ChildProcess>();
  return {
    db,
    dir,
    databasePid: embedded.pid,
    key: async () => (await makeKeys(db, 1))[0]!,
    keys: (count) => makeKeys(db, count),
    async start(options) {
      const child = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(options)], {
        execArgv: nodeFlags,
        env: {
          PATH: process.env.PATH,
          DATABASE_URL: url,
          FAREBOX_DATA_DIR: join(dir, 'files'),
          FAREBOX_CATALOG: join(dir, 'catalog'),
          ...options.env,
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      running.add(child);
      const port = await new Promise<number>((resolve, reject) => {
        child.once('message', (message) => resolve(Number(fieldOf(message, 'port'))));
        child.once('exit', (code) => reject(new Error(`a bench process ended with ${code}`)));
      });
      return {
        port,
        pid: child.pid!,
        rssMb: () => rssMb(child.pid!),
        stop: () => end(child).then(() => void running.delete(child)),
      };
    },
    reset: () => reset(db),
    async stop() {
      await Promise.all([...running].map(end));
      await db.close();
      await embedded.stop();
      if (folder === undefined) rmSync(dir, { recursive: true, force: true });
    },
  };
}

let accounts = 0;

async function makeKeys(db: Database, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const email = `b${++accounts}@example.com`;
    const { id: account_id } = await createAccount(db, { email, is_operator: false });
    await deposit(db, commandLine, {
      account_id,
      amount: 1_000_000_000_000n,
      reference: `bench ${account_id}`,
    });
    const by = { who: 'operator' } as const;
    const limits = { monthly_limit_usd_micro: null, rpm: 1_000_000_000, open_jobs: 100_000_000 };
    keys.push((await createKey(db, by, { account_id, name: 'bench', ...limits })).answer.key);
  }
  return keys;
}

/**
 * Leaves the emptied tables without statistics: while PostgreSQL takes a table for empty, its plans
 * read all of it.
 */
async function reset(db: Database): Promise<void> {
  const statements = [
    'truncate requests, request_inputs, request_results, attempts, outputs',
    'alter table transfers disable trigger transfers_append_only',
    "delete from transfers where kind not in ('deposit')",
    'alter table transfers enable trigger transfers_append_only',
    'update balances set debits_pending = 0, debits_posted = 0, last_seq = 1, open_requests = 0',
    'update key_usage set pending_usd_micro = 0, posted_usd_micro = 0, open_requests = 0',
    'vacuum analyze transfers, balances, key_usage',
  ];
  for (const statement of statements) await db.run(rawSql(statement));
}

export function rssMb(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(match?.[1]) / 1024);
}

export function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

function wordsRow(upstream: string): string {
  return `  - id: bench/${upstream}
    upstream: ${upstream}
    kind: video
    task: video-analyze
    name: Words about a film
    description: Nothing to fetch or to measure, so that the service is what is measured.
    price: { unit: request, usd: "0.01" }
    upstream_model: words
    input_schema: { type: object, properties: { prompt: { type: string } } }
    example: { prompt: what is it }
`;
}

const catalog = `
upstream: instant
owned_by: bench
models:
  - id: bench/flux/dev/text-to-image
    kind: image
    task: text-to-image
    name: Instant image
    description: Made at once.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    cost_usd: "0.004"
    upstream_model: image
    input_schema:
      type: object
      properties: { prompt: { type: string, maxLength: 10000 }, num_images: { type: integer }, seed: { type: integer } }
      required: [prompt]
    example: { prompt: a cat }
${['instant', 'paced', 'hanging', 'slow', 'limiting'].map(wordsRow).join('')}  - id: bench/chat
    kind: text
    task: chat
    name: Instant chat
    description: Answered by a local upstream.
    price: { unit: 1M tokens, input_usd: "0.10", output_usd: "0.40" }
    max: 4096
    max_unit: tokens
    cost_input_usd: "0.05"
    cost_output_usd: "0.2"
    upstream_model: chat
    context_tokens: 128000
    max_output_tokens: 8192
    on_disconnect: stop
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;
