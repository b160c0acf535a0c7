/**
 * Switches off one guard after the other in a copy of the repository and runs the test that must
 * then fail: `npm run sabotage [-- NAME …]`. Prints a row for each guard; exits 1 if a test did not
 * fail.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded.ts';
import { stopServer } from '../../src/db/embedded/process.ts';
import { guards, laws } from './guards.ts';
import { findGuards, switchedOff } from './switch-off.ts';

export const root = path.resolve(import.meta.dirname, '../../..');
/** Files that the tests read. */
const needed = [
  'package.json',
  'tsconfig.json',
  'openapi.json',
  'catalog',
  'chains',
  'docs',
  // The service serves these files.
  'client/dist',
  'web/src/look/tokens.css',
  'server/package.json',
  'server/bin',
  'server/migrations',
  'server/src',
  'server/test',
];
/** Longer than a test's own waits, so that the test fails by itself. */
const testTimeoutMs = 300_000;
/** Stops the run cleanly. */
const stop = new AbortController();

export interface Guard {
  name: string;
  /** Path below `server/`. */
  test_file: string;
  /** Part of the name of the test or its group, as the file has it. */
  test: string;
}

/** New texts of files below `server/`, which replace the files of the copy. */
export type Changes = Record<string, string>;

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

/** All guards, in the order of their table. */
export const allGuards: Guard[] = [
  ...Object.entries(guards).flatMap(([test_file, tests]) =>
    Object.entries(tests).map(([name, test]) => ({ name, test_file, test })),
  ),
  ...Object.entries(laws).map(([name, { test }]) => ({
    name,
    test_file: 'test/ledger/laws.test.ts',
    test,
  })),
];

/** The changes to `server` that remove this guard from the service. */
export function changesWithout(name: string, server: string): Changes {
  const law = laws[name];
  if (law) {
    const next = fs.readdirSync(path.join(server, 'migrations')).length + 1;
    return { [`migrations/${String(next).padStart(4, '0')}_sabotage.sql`]: `${law.drop};\n` };
  }
  const files = findGuards(path.join(server, 'src')).get(name) ?? [];
  return Object.fromEntries(
    files.map((file) => [
      path.relative(server, file),
      switchedOff(fs.readFileSync(file, 'utf8'), name),
    ]),
  );
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
 * Runs the guard's test in the copy, unchanged and changed. `greens` caches the tests that passed
 * unchanged, because several guards may share one.
 */
export async function tryGuard(
  copy: string,
  guard: Guard,
  changes: Changes,
  greens = new Set<string>(),
): Promise<Verdict> {
  const began = performance.now();
  const known = `${guard.test_file} ${guard.test}`;
  const whole: Run = greens.has(known)
    ? { colour: 'green', output: '' }
    : await runTest(copy, guard);
  let spoiled: Run = { colour: 'broken', output: whole.output };
  if (whole.colour === 'green') {
    greens.add(known);
    const restore = apply(changes, path.join(copy, 'server'));
    try {
      // A running server's template is made from the unchanged schema.
      const isShared = !Object.keys(changes).some((file) => file.startsWith('migrations/'));
      spoiled = await runTest(copy, guard, isShared);
    } finally {
      restore();
    }
  }
  const seconds = (performance.now() - began) / 1000;
  const { output } = spoiled;
  return { guard, whole: whole.colour, spoiled: spoiled.colour, seconds, output };
}

/** Writes the changes. Returns a function that undoes them. */
function apply(changes: Changes, server: string): () => void {
  const undo = Object.entries(changes).map(([name, text]) => {
    const file = path.join(server, name);
    const earlier = fs.existsSync(file) ? fs.readFileSync(file) : null;
    fs.writeFileSync(file, text);
    return () => (earlier === null ? fs.rmSync(file) : fs.writeFileSync(file, earlier));
  });
  return () => undo.forEach((each) => each());
}

interface Run {
  colour: Colour;
  output: string;
}

async function runTest(
  copy: string,
  { test_file, test: name }: Guard,
  isShared = true,
): Promise<Run> {
  const { NODE_TEST_CONTEXT: _context, FAREBOX_TEST_DATABASE, ...env } = process.env;
  const shared = FAREBOX_TEST_DATABASE !== undefined && isShared;
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const args = ['--test', '--test-reporter=tap', `--test-name-pattern=${pattern}`];
  const TMPDIR = path.join(copy, 'tmp');
  fs.mkdirSync(TMPDIR, { recursive: true });
  const child = spawn(process.execPath, [...args, path.join(copy, 'server', test_file)], {
    cwd: copy,
    // Some guards are tested only in the long form.
    env: { ...env, ...(shared && { FAREBOX_TEST_DATABASE }), FAREBOX_TEST_LONG: 'on', TMPDIR },
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
    // No process of the group is left, which is the usual case.
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

/** Removes the entries of whole files, whose name is a path. */
function withoutFiles(tap: string): string {
  return tap.replace(/^not ok \d+ - \S+\.test\.ts\n {2}---\n[^]*?\n {2}\.\.\.\n/gm, '');
}

/** True if the test passes with the guard and fails without it. */
export function isProven({ whole, spoiled }: Verdict): boolean {
  return whole === 'green' && spoiled === 'red';
}

async function main(): Promise<void> {
  const { values, positionals: names } = parseArgs({
    allowPositionals: true,
    options: { verbose: { type: 'boolean', default: false } },
  });
  const unknown = names.filter((name) => !allGuards.some((guard) => guard.name === name));
  if (unknown.length > 0) throw new Error(`no guard is named ${unknown.join(', ')}`);
  const chosen = allGuards.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  const copy = copyRepository();
  const greens = new Set<string>();
  let unproven = 0;
  let postgres: EmbeddedServer | undefined;
  try {
    postgres = await startEmbedded({
      dataDir: path.join(copy, 'data'),
      settings: { max_connections: '200' },
    });
    process.env.FAREBOX_TEST_DATABASE ??= addressOf(postgres);
    for (const guard of chosen) {
      stop.signal.throwIfAborted();
      const changes = changesWithout(guard.name, path.join(copy, 'server'));
      const verdict = await tryGuard(copy, guard, changes, greens);
      if (!isProven(verdict)) unproven++;
      console.log(row(verdict));
      if (!isProven(verdict) && values.verbose) console.log(verdict.output);
    }
  } finally {
    await postgres?.stop();
    fs.rmSync(copy, { recursive: true, force: true });
  }
  console.log(`${chosen.length - unproven} of ${chosen.length} guards are missed when they go.`);
  if (unproven > 0) process.exitCode = 1;
}

function addressOf({ connection }: EmbeddedServer): string {
  const { host, port, user, database } = connection;
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

function row(verdict: Verdict): string {
  const { guard, whole, spoiled, seconds } = verdict;
  const mark = isProven(verdict) ? 'ok ' : 'NOT';
  const took = `${seconds.toFixed(0)} s`.padStart(5);
  return `${mark} ${took}  ${guard.name.padEnd(32)} ${whole}, then ${spoiled}  (${guard.test_file}: ${guard.test})`;
}

if (import.meta.main) await main();
