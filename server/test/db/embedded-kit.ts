/** Data folders and real processes for the tests of the embedded PostgreSQL. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { startEmbedded, type EmbeddedServer, type EmbeddedOptions } from '../../src/db/embedded.ts';
import { stopServer } from '../../src/db/embedded/process.ts';
import { until } from '../kit/until.ts';

export const isRoot = process.getuid?.() === 0;

const modules = {
  embedded: new URL('../../src/db/embedded.ts', import.meta.url).href,
  pg: import.meta.resolve('pg'),
};

/** A message of a script; each test knows its form. */
export type ScriptMessage = Record<string, any>;

/** A test, or anything else that runs functions at its end. */
export interface Cleanup {
  after(clean: () => Promise<void>): void;
}

export interface Script {
  pid: number;
  /** The next message; rejects if the script ends without one. */
  hear(): Promise<ScriptMessage>;
  /** All messages until the script ends. */
  hearAll(): Promise<ScriptMessage[]>;
  /** Resolves when it is dead. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/**
 * An empty folder that other users may enter. It and the processes in it are removed at the end.
 */
export function tempFolder(t: Cleanup, mode = 0o711): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-'));
  const folder = fs.realpathSync(made);
  fs.chmodSync(folder, mode);
  later(t, async () => {
    for (const cluster of clustersIn(folder)) await stopServer(cluster);
    fs.rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/**
 * Runs a module in its own Node process, with the names `startEmbedded`, `claimFolder`, `pg`, `fs`,
 * `dataDir` and `say`. With `group` it leads a process group, like a command in a terminal.
 */
export function startScript(
  t: Cleanup,
  dataDir: string,
  body: string,
  options: { group?: boolean; uid?: number; embedded?: string } = {},
): Script {
  const code = `
    import fs from 'node:fs';
    import pg from ${JSON.stringify(modules.pg)};
    import { startEmbedded, claimFolder } from
      ${JSON.stringify(options.embedded ?? modules.embedded)};
    const dataDir = ${JSON.stringify(dataDir)};
    const say = (what) => fs.writeSync(1, JSON.stringify(what) + '\\n');
    ${body}`;
  const ids = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    ...ids,
    cwd: '/',
    detached: options.group === true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const script: Script = {
    pid: child.pid!,
    async hear() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the script ended: ${await ended}`);
      return JSON.parse(value) as ScriptMessage;
    },
    async hearAll() {
      const all: ScriptMessage[] = [];
      for (let next = await lines.next(); !next.done; next = await lines.next()) {
        all.push(JSON.parse(next.value) as ScriptMessage);
      }
      return all;
    },
    async kill(signal) {
      child.kill(signal);
      await ended;
    },
  };
  later(t, () => script.kill('SIGKILL'));
  return script;
}

/** A script that says whether it got the claim, and keeps running. */
export const claimOnce = `
  const result = await claimFolder(dataDir, 'service ' + process.pid);
  say('held_by' in result ? { held_by: result.held_by } : { won: process.pid });
  setInterval(() => {}, 1000);`;

/** Writes numbers one by one and says each once it is committed. */
export const writer = `
  const server = await startEmbedded({ dataDir });
  const client = new pg.Client(server.connection);
  await client.connect();
  await client.query('drop table if exists rows');
  await client.query('create table rows (n int primary key)');
  for (let n = 1; ; n++) {
    await client.query('insert into rows values ($1)', [n]);
    say({ n, pid: server.pid, started: server.started });
  }`;

/** Starts an embedded server, which is stopped when the test is over. */
export async function start(t: Cleanup, options: EmbeddedOptions): Promise<EmbeddedServer> {
  const server = await startEmbedded(options);
  later(t, () => server.stop());
  return server;
}

/** Resolves with the server's PID after its next restart. */
export async function nextRestart(server: EmbeddedServer): Promise<number> {
  const { pid } = server;
  await until('the server is back', () => server.pid !== pid, 60_000);
  return server.pid;
}

export async function connect(t: Cleanup, server: EmbeddedServer): Promise<pg.Client> {
  const client = new pg.Client(server.connection);
  client.on('error', () => {});
  await client.connect();
  later(t, () => client.end());
  return client;
}

/** The value of one SQL expression. */
export async function value(client: pg.Client, sql: string): Promise<unknown> {
  const { rows } = await client.query<{ value: unknown }>(`select ${sql} as value`);
  return rows[0]!.value;
}

export function clusterOf(dataDir: string): string {
  return path.join(dataDir, 'postgres', 'cluster');
}

const cleanups = new WeakMap<object, (() => Promise<void>)[]>();

/** Cleans up in reverse order: a process must have ended before its folder is removed. */
export function later(t: Cleanup, clean: () => Promise<void>): void {
  const known = cleanups.get(t);
  if (known) return void known.push(clean);
  const all = [clean];
  cleanups.set(t, all);
  t.after(async () => {
    for (const each of all.reverse()) await each();
  });
}

function clustersIn(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === 'postmaster.pid')
    .map((entry) => entry.parentPath);
}
