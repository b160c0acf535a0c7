/**
 * Removes one guard after the other in a copy of the repository and runs the test that must fail
 * then: `npm run sabotage [-- --only TEXT]`. Prints a row for each; exits 1 if a test did not fail.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbedded, type Embedded } from '../../src/db/embedded.ts';
import { stopServer } from '../../src/db/embedded/process.ts';
import { guards, type Guard } from './guards/index.ts';

export const root = path.resolve(import.meta.dirname, '../../..');
/** Files that the tests read. */
const needed = [
  'package.json',
  'tsconfig.json',
  'openapi.json',
  'catalog',
  'docs',
  // Served by the service.
  'client/dist',
  'server/package.json',
  'server/bin',
  'server/migrations',
  'server/src',
  'server/test',
];
const testTimeoutMs = 120_000;
/** Stops the run cleanly. */
const stop = new AbortController();

/** red: the test failed, as it must. */
export type Colour = 'red' | 'green' | 'broken';

export interface Verdict {
  guard: Guard;
  /** The test's result with the guard and without it. */
  whole: Colour;
  spoiled: Colour;
  seconds: number;
  /** The test's output if a result is not the expected one. */
  output: string;
}

/** Why this guard cannot be tried: its text or its test is missing. Null if it can. */
export function staleness(guard: Guard): string | null {
  const source = fs.readFileSync(path.join(root, 'server', guard.file), 'utf8');
  for (const [from] of guard.edits) {
    const times = source.split(from).length - 1;
    if (times !== 1) return `found ${times} times in ${guard.file}: ${JSON.stringify(from)}`;
  }
  const where = path.join(root, 'server', guard.test);
  if (!fs.existsSync(where)) return `there is no ${guard.test}`;
  if (!fs.readFileSync(where, 'utf8').includes(guard.name)) {
    return `${guard.test} has no test "${guard.name}"`;
  }
  return null;
}

/** A copy of what the tests need, with the installed packages of this repository. */
export function copyRepository(): string {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'farebox-sabotage-'));
  // Under root PostgreSQL runs as another user, who needs access to the folder.
  fs.chmodSync(copy, 0o755);
  for (const name of needed) {
    const from = path.join(root, name);
    if (fs.existsSync(from)) fs.cpSync(from, path.join(copy, name), { recursive: true });
  }
  for (const name of ['node_modules', 'server/node_modules']) {
    const from = path.join(root, name);
    if (fs.existsSync(from)) fs.symlinkSync(fs.realpathSync(from), path.join(copy, name));
  }
  return copy;
}

/**
 * Runs the guard's test in the copy, with the guard and without it. `greens` caches the tests that
 * passed with all guards, because several guards may share one.
 */
export async function tryGuard(
  copy: string,
  guard: Guard,
  greens = new Set<string>(),
): Promise<Verdict> {
  const began = performance.now();
  const known = `${guard.test} ${guard.name}`;
  const file = path.join(copy, 'server', guard.file);
  const source = fs.readFileSync(file, 'utf8');
  const whole: Run = greens.has(known)
    ? { colour: 'green', output: '' }
    : await runTest(copy, guard);
  let spoiled: Run = { colour: 'broken', output: whole.output };
  if (whole.colour === 'green') {
    greens.add(known);
    fs.writeFileSync(file, spoil(source, guard));
    try {
      spoiled = await runTest(copy, guard);
    } finally {
      fs.writeFileSync(file, source);
    }
  }
  const seconds = (performance.now() - began) / 1000;
  const { output } = spoiled;
  return { guard, whole: whole.colour, spoiled: spoiled.colour, seconds, output };
}

function spoil(source: string, { edits }: Guard): string {
  return edits.reduce((text, [from, to]) => {
    if (text.split(from).length !== 2) throw new Error(`not found once: ${from}`);
    return text.replace(from, () => to);
  }, source);
}

interface Run {
  colour: Colour;
  output: string;
}

async function runTest(copy: string, { file, test, name }: Guard): Promise<Run> {
  const { NODE_TEST_CONTEXT: _context, FAREBOX_TEST_DATABASE, ...env } = process.env;
  // A running server's template is made from the unedited schema, so edits of migrations need a new
  // server.
  const shared = FAREBOX_TEST_DATABASE !== undefined && !file.startsWith('migrations/');
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const args = ['--test', '--test-reporter=tap', `--test-name-pattern=${pattern}`];
  const TMPDIR = path.join(copy, 'tmp');
  fs.mkdirSync(TMPDIR, { recursive: true });
  const child = spawn(process.execPath, [...args, path.join(copy, 'server', test)], {
    cwd: copy,
    env: { ...env, ...(shared && { FAREBOX_TEST_DATABASE }), TMPDIR },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'exit');
  const closed = once(child, 'close');
  const giveUp = () => child.kill('SIGTERM');
  const timer = setTimeout(giveUp, testTimeoutMs);
  stop.signal.addEventListener('abort', giveUp);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (output += part));
  }
  await ended;
  clearTimeout(timer);
  stop.signal.removeEventListener('abort', giveUp);
  killGroup(child.pid!);
  await closed;
  await clearAway(TMPDIR);
  return { colour: colourOf(output, name), output };
}

/** A failed test may leave services running. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended, as they should.
  }
}

/** Stops the PostgreSQL servers of those services, which have their own process groups. */
async function clearAway(folder: string): Promise<void> {
  const found = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  for (const { name, parentPath } of found) {
    if (name === 'postmaster.pid') await stopServer(parentPath);
  }
  fs.rmSync(folder, { recursive: true, force: true });
}

/**
 * Red only for a failed assertion or timeout: a file that does not load, or a failing hook, proves
 * nothing about the guard. Green only if the test was found.
 */
function colourOf(tap: string, name: string): Colour {
  const report = withoutFiles(tap);
  if (/failureType: '(testCodeFailure|testTimeoutFailure)'/.test(report)) return 'red';
  const failed = /^# (fail|cancelled) [1-9]/m.test(tap);
  const passed = report
    .split('\n')
    .some((line) => /^ *ok \d+ - /.test(line) && line.includes(name));
  return passed && !failed ? 'green' : 'broken';
}

/** Removes the entries of whole files, which are named by their path. */
function withoutFiles(tap: string): string {
  return tap.replace(/^not ok \d+ - \S+\.test\.ts\n {2}---\n[^]*?\n {2}\.\.\.\n/gm, '');
}

/** True if the test passes with the guard and fails without it. */
export function isProven({ whole, spoiled }: Verdict): boolean {
  return whole === 'green' && spoiled === 'red';
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const chosen = guards.filter((guard) =>
    `${guard.guards} ${guard.file} ${guard.test}`.includes(values.only),
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  const copy = copyRepository();
  const greens = new Set<string>();
  let unproven = 0;
  let postgres: Embedded | undefined;
  try {
    postgres = await startEmbedded({
      dataDir: path.join(copy, 'data'),
      settings: { max_connections: '200' },
    });
    process.env.FAREBOX_TEST_DATABASE ??= addressOf(postgres);
    for (const guard of chosen) {
      stop.signal.throwIfAborted();
      const stale = staleness(guard);
      const verdict = stale === null ? await tryGuard(copy, guard, greens) : null;
      const proven = verdict !== null && isProven(verdict);
      if (!proven) unproven++;
      console.log(row(guard, verdict, stale));
      if (!proven && verdict && values.verbose) console.log(verdict.output);
    }
  } finally {
    await postgres?.stop();
    fs.rmSync(copy, { recursive: true, force: true });
  }
  console.log(`${chosen.length - unproven} of ${chosen.length} guards are missed when they go.`);
  if (unproven > 0) process.exitCode = 1;
}

function addressOf({ connection }: Embedded): string {
  const { host, port, user, database } = connection;
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

function row(guard: Guard, verdict: Verdict | null, stale: string | null): string {
  const mark = verdict && isProven(verdict) ? 'ok ' : 'NOT';
  const seconds = `${(verdict?.seconds ?? 0).toFixed(0)} s`.padStart(5);
  const why = verdict ? `${verdict.whole}, then ${verdict.spoiled}` : stale;
  return `${mark} ${seconds}  ${guard.guards.padEnd(70)} ${why}  (${guard.test}: ${guard.name})`;
}

if (import.meta.main) await main();
