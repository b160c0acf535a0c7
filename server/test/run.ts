/**
 * The test command: one embedded PostgreSQL for the whole suite. Each process runs many files;
 * four processes run at a time, at most two of them with a browser. The counts come
 * last, so that the end of the output is enough to read.
 *
 *   npm test [-- PATH …] [--only TEXT] [--timeout SECONDS] [--fleet] [--slow cpu|timers|calls] [--again]
 *   npm test -- --changed [REF] | --watch [PATH …] [--only TEXT] …
 *   npm run test:full [-- …]
 *
 * A PATH is a test file or a folder; TEXT is a part of a path. With --fleet each service under test
 * is a fleet of several on one database. `test:full` (--full) also runs the files that end in
 * `.long.test.ts`, and every test in its long form: pages at each width and in each colour scheme,
 * more random histories. Without a PATH it also runs the tests of money, queue and limits a second
 * time with --fleet. With --slow the pages have a slow processor, late timers or late answers, to
 * find tests that rely on fast pages.
 *
 * With --again the files that failed, if they are few, run a second time, alone. A file that then
 * passes is named as unstable in the last lines, and the run does not fail for it.
 *
 * With --changed only the tests run from which imports lead to a file that differs from HEAD, or
 * from REF; those with the fewest imports on the way come first. --watch does this again whenever a
 * file is saved, for that file, on the same database server.
 *
 * Tests find the server's address in FAREBOX_TEST_DATABASE, a URL whose host is the socket's
 * folder. If it is already set, that server is used and none is started. Tests create their own
 * databases on that server.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { startEmbedded, type EmbeddedServer } from '../src/db/embedded.ts';
import { changedSince, stepsTo, watchFolders } from './changed.ts';
import { readProject } from './layout/project.ts';

const root = path.resolve(import.meta.dirname, '../..');
const folders = [
  'server/src',
  'server/test',
  'client/src',
  'client/test',
  'web/test',
  'bench',
  'tools',
];
/** The folders whose files tests import or read. */
const watched = ['server/migrations', 'catalog', 'chains', 'docs', 'web/src', ...folders];
const runner = path.join(import.meta.dirname, 'group-child.ts');

/** Twice the two cores, because most files wait half of the time for a database or a process. */
const processesAtOnce = 4;
const browsersAtOnce = 2;
/** Loading the service takes longer than the tests of most files. */
const filesOfProcess = 40;
/** With a small young generation, garbage collection takes a tenth of the processor's time. */
const nodeFlags = ['--max-semi-space-size=32'];
/** Few, so that two browsers are busy until the end. */
const pagesOfProcess = 4;
/** Files that are long, or that change something global of the process. */
const oneFileEach = new RegExp(
  [
    '^server/test/[^/]+$',
    '^server/test/(chaos|examples)/',
    '^server/test/commands/(verbs|serve|snapshot)',
    '^server/test/db/(embedded|migrate)',
    '^(client/test|web/test/walk|server/test/(commands|db))/.*\\.long\\.test\\.ts$',
  ].join('|'),
);
/** Databases live for seconds, so vacuuming and compressing cost more than they save. */
const serverSettings = {
  max_connections: '200',
  max_wal_size: '256MB',
  autovacuum: 'off',
  wal_compression: 'off',
};
/** Several times the longest process, because machines differ and may be busy. */
const defaultTimeoutSeconds = '900';
/** Files of the long form only; CONTRIBUTING.md says which tests they have. */
const onlyLong = /\.long\.test\.ts$/;
/** Files that `npm run check` runs. */
const ofCheck = /^server\/test\/(layout|rows)\.test\.ts$/;
/** Laws of one process must also hold across several, so these files run again with --fleet. */
const fleetToo = [
  'server/test/http/api/chat/chat-repeat.test.ts',
  'server/test/http/api/chat/chat-stream.test.ts',
  'server/test/http/api/chat/chat.test.ts',
  'server/test/http/requests/idempotency.test.ts',
  'server/test/http/order-of-checks.test.ts',
  'server/test/http/requests/queue.test.ts',
  'server/test/http/rate.test.ts',
  'server/test/http/requests/requests.test.ts',
  'server/test/operations/duplicates.test.ts',
  'server/test/operations/limits.test.ts',
  'server/test/operations/races.test.ts',
  'server/test/worker/claims.test.ts',
  'server/test/worker/leases.test.ts',
  'server/test/worker/outputs.test.ts',
];

/**
 * With --changed, the sizes of the first processes: their results come soonest. Later ones are as
 * large as usual.
 */
const filesOfFirst = [1, 2, 5, 10];

/** A hung test ends a little before its file does, so that its name is reported. */
const testTimeoutShare = 0.9;
const slowestShown = 5;
/** With --again: more failed files or processes than this are not by chance. */
const partsAgainMax = 5;

type Run = ReturnType<typeof run>;
type TestEvent =
  Run extends AsyncIterable<infer Event> ? Event & { type: string; data: any } : never;

interface Counts {
  tests: number;
  suites: number;
  passed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  todo: number;
}

/** Test files of one process, with their flags. */
interface Task {
  files: string[];
  flags: string[];
}

interface Outcome {
  /** Its files with a failed test that passed when they ran again. */
  unstable: string[];
  task: Task;
  events: TestEvent[];
  counts: Counts;
}

const stop = new AbortController();
for (const [signal, code] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
  process.on(signal, () => {
    process.exitCode = code;
    stop.abort(new Error(`stopped by ${signal}`));
  });
}

const options = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    timeout: { type: 'string', default: defaultTimeoutSeconds },
    fleet: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    slow: { type: 'string', default: '' },
    again: { type: 'boolean', default: false },
    changed: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
  },
});
if (!['', 'cpu', 'timers', 'calls'].includes(options.values.slow)) {
  console.error('--slow takes cpu, timers or calls.');
  process.exit(2);
}
process.chdir(root);
const { changed, watch } = options.values;
/** With --changed, a name that is no path is a commit. */
const ref = changed ? options.positionals.find((name) => !fs.existsSync(name)) : undefined;
const named = options.positionals.filter((name) => name !== ref);
const ok = await (watch
  ? withSurroundings(runOnSave)
  : changed
    ? runChanged({ files: changedSince(ref ?? 'HEAD') }, withSurroundings)
    : runChosen());
if (!ok) process.exitCode ||= 1;

async function runChosen(): Promise<boolean> {
  const { fleet, full } = options.values;
  const again = full && named.length === 0 && !fleet ? fleetToo : [];
  const tasks = [
    ...tasksOf(groupsOf(chosenFiles())),
    ...tasksOf(groupsOf(again.filter(isWanted)), ['--fleet']),
  ];
  // Browsers first, because fewer of them run at a time. Small files last, to fill the gaps.
  const rank = (task: Task) => (hasBrowser(task) ? 2 : isLengthy(task) ? 1 : 0);
  tasks.sort((a, b) => rank(b) - rank(a));
  if (tasks.length > 0) return withSurroundings(() => runAll(tasks));
  console.error('No test file is named like that.');
  return false;
}

function chosenFiles(): string[] {
  const { fleet, full } = options.values;
  const places = named.length > 0 ? named : fleet ? fleetToo : folders;
  return places
    .flatMap((place) => (fs.statSync(place).isDirectory() ? filesBelow(place) : [place]))
    .filter(
      (file) => named.includes(file) || (!ofCheck.test(file) && (full || !onlyLong.test(file))),
    )
    .filter(isWanted)
    .sort();
}

/** With --only, once or several times: whether the path has one of its texts. */
function isWanted(file: string): boolean {
  return options.values.only.some((text) => file.includes(text));
}

function tasksOf(groups: string[][], more: string[] = []): Task[] {
  const { fleet, slow } = options.values;
  const flags = [
    ...(slow === '' ? [] : [`--slow=${slow}`]),
    ...(fleet ? ['--fleet'] : []),
    ...more,
  ];
  return groups.map((files) => ({ files, flags }));
}

/**
 * Runs the tests that these files concern, the nearest first; true if every test passed. Those that
 * `newest` concern come before the others.
 */
async function runChanged(
  { files, newest = [] }: { files: string[]; newest?: string[] },
  around: (work: () => Promise<boolean>) => Promise<boolean>,
  signal = stop.signal,
): Promise<boolean> {
  const project = readProject(root);
  const [steps, first] = [stepsTo(files, project), stepsTo(newest, project)];
  const far = (file: string) => first.get(file) ?? first.size + steps.get(file)!;
  const near = chosenFiles()
    .filter((file) => steps.has(file))
    .toSorted((a, b) => far(a) - far(b));
  const counts = Object.entries(Object.groupBy(near, (file) => steps.get(file)!));
  const by = counts.map(([step, all]) => `${all!.length} by ${step}`).join(', ');
  console.log(
    `Changed files: ${files.length}. Test files: ${near.length}${by && ` (${by} imports)`}.`,
  );
  if (near.length === 0) return true;
  const groups: string[][] = [];
  for (let at = 0, n = 0; at < near.length; n++) {
    const size = filesOfFirst[n] ?? filesOfProcess;
    groups.push(...groupsOf(near.slice(at, at + size)));
    at += size;
  }
  return around(() => runAll(tasksOf(groups), signal));
}

/** Runs the tests of each file that is saved; first those of files that differ from HEAD. */
async function runOnSave(): Promise<boolean> {
  const saved = new Set(changedSince('HEAD'));
  let newest: string[] = [];
  let run = new AbortController();
  let next = Promise.withResolvers<void>();
  stop.signal.addEventListener('abort', () => next.resolve());
  watchFolders(watched, stop.signal, (files) => {
    for (const file of files) saved.add(file);
    newest = files;
    run.abort(new Error('a file was saved'));
    next.resolve();
  });
  while (!stop.signal.aborted) {
    run = new AbortController();
    next = Promise.withResolvers<void>();
    const signal = AbortSignal.any([stop.signal, run.signal]);
    await runChanged({ files: [...saved], newest }, (work) => work(), signal);
    // Tests that were stopped run again, beside those of the file that stopped them.
    if (!signal.aborted) saved.clear();
    console.log('Waiting for a file to be saved.');
    await next.promise;
  }
  return true;
}

/** Groups of files that share a process. */
function groupsOf(files: string[]): string[][] {
  const kindOf = (file: string) => (oneFileEach.test(file) ? file : `pages: ${isOfPages(file)}`);
  return [...Map.groupBy(files, kindOf).values()].flatMap((kind) => {
    // Groups of about equal length, because the last one to end decides the time.
    const size = isOfPages(kind[0]!) ? pagesOfProcess : filesOfProcess;
    const groups = Math.ceil(kind.length / size);
    return Array.from({ length: groups }, (_, n) => kind.filter((_, i) => i % groups === n));
  });
}

function filesBelow(folder: string): string[] {
  const found = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return found
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => path.join(folder, file));
}

/** Runs `work` with a clean environment, a folder for temporary files and a PostgreSQL. */
async function withSurroundings<T>(work: () => Promise<T>): Promise<T> {
  const disk = os.tmpdir();
  const parent = memoryFolder() ?? disk;
  for (const each of new Set([disk, parent])) await removeLeftovers(each);
  const temp = makeFolder(parent);
  const data = makeFolder(parent);
  const onDisk = makeFolder(disk);
  let postgres: EmbeddedServer | undefined;
  try {
    cleanEnvironment();
    process.env.TMPDIR = temp;
    process.env.FAREBOX_TEST_DISK = onDisk;
    if (options.values.full) process.env.FAREBOX_TEST_LONG = 'on';
    // One cache, because two hundred processes would strip and compile the same files.
    process.env.NODE_COMPILE_CACHE = path.join(temp, 'compiled');
    if (!process.env.FAREBOX_TEST_DATABASE) {
      postgres = await startEmbedded({
        dataDir: path.join(data, 'data'),
        settings: serverSettings,
      });
      process.env.FAREBOX_TEST_DATABASE = addressOf(postgres);
    }
    return await work();
  } finally {
    await postgres?.stop();
    for (const folder of [data, temp, onDisk]) fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Database settings of the developer's shell must not reach the tests. */
function cleanEnvironment(): void {
  for (const name of Object.keys(process.env)) {
    const ours = name.startsWith('FAREBOX_') && !name.startsWith('FAREBOX_TEST_');
    if (ours || /^(PG[A-Z]+|DATABASE_URL|PORT|HOST)$/.test(name)) delete process.env[name];
  }
  // Node warns in every process that has both variables.
  if (process.env.NO_COLOR) delete process.env.FORCE_COLOR;
}

function makeFolder(parent: string): string {
  const folder = fs.mkdtempSync(path.join(parent, `farebox-test-${process.pid}-`));
  // Under root PostgreSQL runs as another user, who needs access to the folder.
  fs.chmodSync(folder, 0o755);
  return folder;
}

/**
 * A folder in memory, if it is large enough; containers often have only 64 MiB. In memory a
 * database is cloned in a tenth of the time, with the durable settings left on, and short-lived
 * files cost less.
 */
function memoryFolder(): string | undefined {
  const folder = '/dev/shm';
  const bytesNeeded = 8 * 2 ** 30;
  if (!fs.existsSync(folder)) return undefined;
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize >= bytesNeeded && startsPrograms(folder) ? folder : undefined;
}

/**
 * Whether programs can run from the folder: the browser is unpacked there, and `noexec` would stop
 * it.
 */
function startsPrograms(folder: string): boolean {
  const probe = path.join(folder, `farebox-probe-${process.pid}`);
  try {
    fs.writeFileSync(probe, '', { mode: 0o755 });
    fs.accessSync(probe, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    fs.rmSync(probe, { force: true });
  }
}

/** Removes folders of killed runs, and stops a PostgreSQL that still runs in one of them. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of fs.readdirSync(parent)) {
    const pid = Number(/^farebox-test-(\d+)-/.exec(name)?.[1]);
    if (!pid || isAlive(pid)) continue;
    const folder = path.join(parent, name);
    const dataDir = path.join(folder, 'data');
    try {
      if (fs.existsSync(dataDir)) await (await startEmbedded({ dataDir })).stop();
      fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // It belongs to another user and does not affect this run.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function addressOf({ connection }: EmbeddedServer): string {
  const { host, port, user, database } = connection;
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

/** Runs the files and prints the results; true if every test passed. */
async function runAll(tasks: Task[], signal = stop.signal): Promise<boolean> {
  const startedAt = performance.now();
  const events = new PassThrough({ objectMode: true });
  const printed = print(events);
  const waiting = [...tasks];
  const outcomes: Outcome[] = [];
  let browsers = 0;
  const next = () => {
    const at = waiting.findIndex((task) => !hasBrowser(task) || browsers < browsersAtOnce);
    return at === -1 ? undefined : waiting.splice(at, 1)[0];
  };
  const lane = async () => {
    for (let task; !signal.aborted && (task = next());) {
      browsers += Number(hasBrowser(task));
      const outcome = await runTask(task, signal);
      browsers -= Number(hasBrowser(task));
      outcomes.push(outcome);
      // A process that was ended by a saved file has failed no test.
      if (signal.aborted && !stop.signal.aborted) break;
      // Prints one process at a time, so that lines of two files do not mix.
      for (const event of outcome.events) events.write(event);
    }
  };
  await Promise.all(Array.from({ length: processesAtOnce }, lane));
  if (options.values.again && !signal.aborted) {
    for (const outcome of await runAgain(outcomes, signal)) {
      for (const event of outcome.events) events.write(event);
    }
  }
  events.end();
  await printed;
  if (signal.aborted && !stop.signal.aborted) return false;
  const filesNotRun = waiting.reduce((sum, { files }) => sum + files.length, 0);
  return summarize(outcomes, filesNotRun, performance.now() - startedAt);
}

/** Runs the failed files once more, each alone, and takes back what has passed; the new outcomes. */
async function runAgain(outcomes: Outcome[], signal: AbortSignal): Promise<Outcome[]> {
  const red = outcomes.map((outcome) => ({ outcome, parts: failedParts(outcome) }));
  if (red.flatMap(({ parts }) => parts).length > partsAgainMax) return [];
  const second: Outcome[] = [];
  for (const { outcome, parts } of red.filter((each) => each.parts.length > 0)) {
    const again: Outcome[] = [];
    for (const files of parts) again.push(await runTask({ ...outcome.task, files }, signal));
    second.push(...again);
    if (again.some(({ counts }) => counts.failed + counts.cancelled > 0)) continue;
    outcome.unstable = parts.flat();
    const { counts } = outcome;
    counts.passed += counts.failed + counts.cancelled;
    counts.failed = counts.cancelled = 0;
  }
  return second;
}

/** The files with a failed test, each alone; all files of a process that failed outside of them. */
function failedParts({ task, events, counts }: Outcome): string[][] {
  if (counts.failed + counts.cancelled === 0) return [];
  const failed = events.filter(({ type, data }) => type === 'test:fail' && !data.nesting);
  const names = new Set(failed.map(({ data }) => data.name));
  const files = task.files.filter((file) => names.has(file));
  return files.length > 0 ? files.map((file) => [file]) : [task.files];
}

function isLengthy({ files }: Task): boolean {
  const [first] = files as [string];
  return files.length > 1 || onlyLong.test(first) || first.startsWith('server/test/commands/');
}

/** The files of one process are all of one kind. */
function hasBrowser({ files }: Task): boolean {
  return isOfPages(files[0]!);
}

function isOfPages(file: string): boolean {
  return /-pages(\.long)?\.test\.ts$/.test(file);
}

async function print(events: PassThrough): Promise<void> {
  for await (const text of events.compose(new spec())) process.stdout.write(text);
}

async function runTask(task: Task, end: AbortSignal): Promise<Outcome> {
  const timeoutMs = Number(options.values.timeout) * 1000;
  const giveUp = new AbortController();
  const outcome: Outcome = { task, events: [], counts: noCounts(), unstable: [] };
  const timer = setTimeout(() => {
    giveUp.abort(new Error(`no end after ${timeoutMs / 1000} s; ${openTests(outcome)}`));
  }, timeoutMs);
  // Aborting also ends the process, whatever it is doing.
  const signal = AbortSignal.any([end, giveUp.signal]);
  const stream = run({
    files: [runner],
    argv: [...task.flags, ...task.files],
    execArgv: nodeFlags,
    timeout: timeoutMs * testTimeoutShare,
    signal,
    cwd: root,
  });
  for await (const event of stream as AsyncIterable<TestEvent>) {
    const { type, data } = event;
    if (type === 'test:summary' && !data.file) outcome.counts = data.counts;
    // The counts of one process would look like those of the suite.
    if (data.file || !['test:summary', 'test:diagnostic', 'test:plan'].includes(type)) {
      outcome.events.push(event);
    }
  }
  clearTimeout(timer);
  // Failures outside of tests, such as the final audit of the books, are not in the counts.
  outcome.counts.failed ||= outcome.events.filter(({ type }) => type === 'test:fail').length;
  return outcome;
}

function openTests({ task, events }: Outcome): string {
  const open = new Set<string>();
  const ended = new Set<string>();
  for (const { type, data } of events) {
    if (type === 'test:complete') ended.add(data.name);
    if (type === 'test:dequeue' && data.name !== data.file) open.add(data.name);
    if (type === 'test:complete') open.delete(data.name);
  }
  const left = task.files.filter((file) => !ended.has(file));
  return open.size === 0
    ? `no test is open, so a handle keeps the process alive or a loop never yields; not ended: ${left.join(', ') || 'none'}`
    : `still running: ${[...open].join(', ')}`;
}

/** The seconds of each file, without its loading. */
function timesOf({ task, events }: Outcome): { file: string; seconds: number }[] {
  const ends = events.filter(({ type, data }) => /^test:(pass|fail)$/.test(type) && !data.nesting);
  return ends.map(({ data }) => ({
    file: [data.name, ...task.flags].join(' '),
    seconds: data.details.duration_ms / 1000,
  }));
}

/** The tests whose program is missing here, which say so as `not run: PROGRAM`. */
function notRunIn({ events }: Outcome): string[] {
  const reasons = events.map(({ type, data }) => (type === 'test:pass' ? data.skip : undefined));
  return reasons.filter((skip) => typeof skip === 'string' && skip.startsWith('not run: '));
}

function noCounts(): Counts {
  return { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 };
}

function summarize(outcomes: Outcome[], filesNotRun: number, ms: number): boolean {
  const sum = noCounts();
  for (const { counts } of outcomes) {
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  }
  const slowest = outcomes
    .flatMap(timesOf)
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, slowestShown);
  const lines = [
    ...slowest.map(({ seconds, file }) => `${seconds.toFixed(1).padStart(6)} s  ${file}`),
    ...outcomes.flatMap(notRunIn).toSorted(),
    ...outcomes.flatMap(({ unstable }) => unstable).map((file) => `unstable: ${file}`),
    ...(filesNotRun > 0 ? [`stopped with ${filesNotRun} of the files not run`] : []),
    `tests ${sum.tests}`,
    `suites ${sum.suites}`,
    `pass ${sum.passed}`,
    `fail ${sum.failed}`,
    `cancelled ${sum.cancelled}`,
    `skipped ${sum.skipped}`,
    `todo ${sum.todo}`,
    `duration_ms ${Math.round(ms)}`,
  ];
  console.log(`\n${lines.map((line) => `ℹ ${line}`).join('\n')}`);
  return sum.tests > 0 && sum.failed === 0 && sum.cancelled === 0 && filesNotRun === 0;
}
