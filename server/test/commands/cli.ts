/** Runs the operator's command in this process or in its own: output, exit codes, leftovers. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runCommand } from '../../src/commands/program.ts';
import { findRunning } from '../../src/db/embedded/running.ts';
import { clusterOf, later, tempFolder, type Cleanup } from '../db/embedded-kit.ts';
import type { Database } from '../../src/lib/sql/sql.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { until } from '../kit/until.ts';

export const farebox = path.join(import.meta.dirname, '../../bin/farebox.mjs');

/** A command that has ended. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** The one JSON object that --json prints. */
  json: Record<string, any>;
}

/** A running service or worker. */
export interface RunningService {
  pid: number;
  /** The address without /v1; unused for a worker. */
  base: string;
  /** The one JSON object that the program printed when it was ready. */
  said: Record<string, any>;
  ready_ms: number;
  stdout(): string;
  stderr(): string;
  /** Sends the signal and waits until the process has ended. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }>;
}

/** A data folder and the commands that work on it. */
export interface Place {
  dir: string;
  /** The environment of every command of this place; a call may override it. */
  env: Record<string, string>;
  /** Runs a command that ends by itself, in this process. */
  run(args: string[], env?: Record<string, string>): Promise<CommandResult>;
  /** The same in a process of its own. */
  command(args: string[], env?: Record<string, string>): Promise<CommandResult>;
  /** Starts a service and waits until it says that it is ready; --json is added. */
  start(args: string[], env?: Record<string, string>): Promise<RunningService>;
  /** Starts a command with this text on its stdin, and does not wait. */
  spawn(args: string[], env?: Record<string, string>, stdin?: string): ChildProcess;
  /** PID of this folder's PostgreSQL; null if none runs. */
  postgresPid(): number | null;
}

/** Far longer than any verb takes, even if all cores are busy. */
const verbMaxMs = 180_000;

/** Models of the sandbox, few and cheap. */
export const smallCatalog = `
upstream: sandbox
owned_by: test
models:
  - id: test/image
    kind: image
    task: text-to-image
    name: Test image
    description: One cent an image.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    cost_usd: "0"
    upstream_model: image
    input_schema:
      type: object
      properties: { prompt: { type: string }, num_images: { type: integer } }
      required: [prompt]
    example: { prompt: a lighthouse }
`;

/** A new folder with a catalog. Processes of `program` that run in it end with the test. */
export function placeFor(
  t: Cleanup,
  more: Record<string, string> = {},
  program: string = farebox,
): Place {
  const dir = tempFolder(t);
  fs.mkdirSync(path.join(dir, 'catalog'));
  fs.writeFileSync(path.join(dir, 'catalog', 'test.yaml'), smallCatalog);
  const data = path.join(dir, 'data');
  const env = {
    PATH: process.env.PATH ?? '',
    // Shared, because a hundred processes would strip and compile the same files.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'compiled'),
    PORT: '0',
    FAREBOX_DATA_DIR: data,
    FAREBOX_CATALOG: path.join(dir, 'catalog'),
    FAREBOX_SANDBOX_SPEED: '1000',
    FAREBOX_POLL_SECONDS: '0.05',
    FAREBOX_DRAIN_SECONDS: '0',
    ...more,
  };
  const place: Place = {
    dir: data,
    env,
    async run(args, own = {}) {
      const said = { stdout: '', stderr: '' };
      const code = await runCommand(args, {
        env: { ...env, FAREBOX_SANDBOX: 'on', ...own },
        db: opened.get(own.DATABASE_URL ?? more.DATABASE_URL ?? ''),
        out: (text) => void (said.stdout += `${text}\n`),
        err: (text) => void (said.stderr += `${text}\n`),
      });
      return ranWith(code, said);
    },
    command: (args, own) => ranOf(place.spawn(args, own)),
    start: async (args, own) => untilReady(place.spawn([...args, '--json'], own)),
    spawn(args, own = {}, stdin = '') {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: dir,
        // Only the trial offers the sandbox by itself.
        env: { ...env, ...(args[0] !== 'trial' && { FAREBOX_SANDBOX: 'on' }), ...own },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      child.stdin.on('error', () => {}).end(stdin);
      const ended = once(child, 'close');
      later(t, async () => {
        child.kill('SIGKILL');
        await ended;
      });
      return child;
    },
    postgresPid: () => findRunning(clusterOf(data))?.pid ?? null,
  };
  return place;
}

/** Databases of `databaseFor` by URL, to save the three connections of a command's own. */
const opened = new Map<string, Database>();

/**
 * A database for verbs that would otherwise start an embedded one, removed after the test. Verbs in
 * this process use its connections; verbs in verbs.test.ts and in other processes open their own.
 */
export async function databaseFor(
  t: Cleanup,
): Promise<{ database: TestDatabase; env: Record<string, string> }> {
  const database = await testDatabase();
  opened.set(database.url, database.db);
  later(t, async () => {
    opened.delete(database.url);
    await database.close();
  });
  return { database, env: { DATABASE_URL: database.url, FAREBOX_UNSAFE_DATABASE: 'on' } };
}

/** Asserts that neither the server of this folder's cluster nor a child of it is running. */
export async function assertNoPostgres(place: Place): Promise<void> {
  assert.equal(place.postgresPid(), null, 'PostgreSQL was left running');
  const cluster = clusterOf(place.dir);
  // A child may take a moment longer than the server that it belongs to.
  await until('its processes are gone', () => !workingIn(cluster));
}

/** Asserts that a command was refused in words, on both outputs, without a stack. */
export function assertSaid(ran: CommandResult, says: RegExp, code = 2): void {
  const shown = `${ran.code} ${ran.stdout} ${ran.stderr}`;
  assert.match(ran.stderr, says, shown);
  assert.equal(ran.code, code, shown);
  assert.doesNotMatch(ran.stdout + ran.stderr, /\n\s+at |node:internal|\.ts:\d/, shown);
}

export async function ranOf(child: ChildProcess): Promise<CommandResult> {
  const said = outputOf(child);
  // A command that serves instead of ending would block all tests.
  const timer = setTimeout(() => child.kill('SIGKILL'), verbMaxMs);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return ranWith(code, said);
}

function ranWith(
  code: number | null,
  { stdout, stderr }: { stdout: string; stderr: string },
): CommandResult {
  return {
    code,
    stdout,
    stderr,
    get json() {
      assert.match(stdout, /^\{.*\}\n$/, `not one JSON object: ${stdout} ${stderr}`);
      return JSON.parse(stdout) as Record<string, any>;
    },
  };
}

export function outputOf(child: ChildProcess): { stdout: string; stderr: string } {
  const said = { stdout: '', stderr: '' };
  child.stdout!.setEncoding('utf8').on('data', (part: string) => (said.stdout += part));
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (said.stderr += part));
  return said;
}

export async function untilReady(child: ChildProcess): Promise<RunningService> {
  const began = performance.now();
  const output = outputOf(child);
  const ended = once(child, 'close') as Promise<[number | null]>;
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', () => output.stdout.includes('\n') && resolve());
    void ended.then(([code]) => reject(new Error(`ended with ${code}: ${output.stderr}`)));
  });
  const said = JSON.parse(output.stdout.split('\n', 1)[0]!) as Record<string, any>;
  return {
    pid: child.pid!,
    base: `http://127.0.0.1:${said.port}`,
    said,
    ready_ms: Math.round(performance.now() - began),
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    async end(signal) {
      const asked = performance.now();
      child.kill(signal);
      const [code] = await ended;
      return { code, ms: Math.round(performance.now() - asked) };
    },
  };
}

/** Whether a process works in the cluster, by its working folder. Known on Linux only. */
function workingIn(cluster: string): boolean {
  if (process.platform !== 'linux') return false;
  return fs.readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readlinkSync(`/proc/${pid}/cwd`) === cluster;
    } catch {
      return false;
    }
  });
}

/** A call with a key. */
export async function call(
  base: string,
  method: string,
  where: string,
  key: string | null,
  body?: object,
): Promise<{ status: number; headers: Headers; body: any }> {
  const reply = await fetch(`${base}${where}`, {
    method,
    headers: {
      ...(key !== null && { authorization: `Key ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  const isJson = /json/.test(reply.headers.get('content-type') ?? '');
  return { status: reply.status, headers: reply.headers, body: isJson ? JSON.parse(text) : text };
}

/** Submits an image and returns its id. */
export async function submit(base: string, key: string, prompt: string): Promise<string> {
  const { status, body } = await call(base, 'POST', '/v1/queue/test/image', key, { prompt });
  assert.equal(status, 202, JSON.stringify(body));
  return body.request_id as string;
}

/** Waits until the request has this status; few calls suffice for a final status. */
export async function reaches(
  base: string,
  key: string,
  id: string,
  wanted: string,
  withinMs = 60_000,
): Promise<void> {
  const isFinal = (status: string) => /^(COMPLETED|FAILED|CANCELLED)$/.test(status);
  // A long poll could miss a status that lasts only for a moment.
  const where = `/v1/requests/${id}/status?wait=${isFinal(wanted) ? 5 : 0}`;
  await until(
    `${id} is ${wanted}`,
    async () => {
      const { body } = await call(base, 'GET', where, key);
      if (isFinal(body.status)) assert.equal(body.status, wanted, JSON.stringify(body));
      return body.status === wanted;
    },
    withinMs,
  );
}

/** Resident memory of a process, in MB. */
export function memoryMb(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024);
}
