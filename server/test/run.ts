/**
 * The test command: one embedded PostgreSQL for the whole suite, and a process for a few files of
 * one folder, four processes at a time, at most two of them with a browser. The counts come last,
 * so that whoever reads only the end reads what matters.
 *
 *   npm test [-- PATH …] [--only TEXT] [--timeout SECONDS] [--fleet] [--slow cpu|timers|calls]
 *
 * A PATH is a test file or a folder; TEXT is a part of a path. With --fleet each service of theirs is
 * a fleet of several on one database; without a PATH, those of money, queue and limits run both ways.
 * With --slow the pages have a slow processor, late timers or late answers, so that a test shows
 * where it counts on being slower than they are. Tests find the server's address in
 * FAREBOX_TEST_DATABASE, a URL whose host is the socket's folder; where it is set already, that
 * server is used and none is started. It is a server to make databases on, not a database to use.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { startEmbedded, type Embedded } from '../src/db/embedded.ts';

const root = path.resolve(import.meta.dirname, '../..');
const folders = ['server/src', 'server/test', 'client/src', 'bench', 'tools'];
const runner = path.join(import.meta.dirname, 'group-child.ts');

/** Two cores, and most files wait for a database or a process half of the time; browsers do not. */
const processesAtOnce = 4;
const browsersAtOnce = 2;
/** Loading the service costs more than most files' tests do. */
const filesOfProcess = 10;
/** They start processes, stop databases or share servers that their first file closes. */
const oneFileEach =
  /^server\/test\/(chaos|commands|db|examples|lib)\/|^server\/test\/[^/]+$|^(bench|tools)\//;
/** Several times what the longest takes: machines differ, and share their cores with others. */
const defaultTimeoutSeconds = '900';
/** What holds in one process has to hold over several: these run again with --fleet. */
const fleetToo = [
  'server/test/http/chat-repeat.test.ts',
  'server/test/http/chat-stream.test.ts',
  'server/test/http/chat.test.ts',
  'server/test/http/idempotency.test.ts',
  'server/test/http/order-of-checks.test.ts',
  'server/test/http/queue.test.ts',
  'server/test/http/rate.test.ts',
  'server/test/http/requests.test.ts',
  'server/test/operations/duplicates.test.ts',
  'server/test/operations/limits.test.ts',
  'server/test/operations/races.test.ts',
  'server/test/worker/claims.test.ts',
  'server/test/worker/leases.test.ts',
  'server/test/worker/outputs.test.ts',
];

/** A hung test is given up a little before its file, so that it is named. */
const testTimeoutShare = 0.9;
const slowestShown = 5;

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

/** Test files of one process, and what it is told. */
interface Task {
  files: string[];
  flags: string[];
}

interface Outcome {
  task: Task;
  events: TestEvent[];
  counts: Counts;
}

const startedAt = performance.now();
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
    only: { type: 'string', default: '' },
    timeout: { type: 'string', default: defaultTimeoutSeconds },
    fleet: { type: 'boolean', default: false },
    slow: { type: 'string', default: '' },
  },
});
if (!['', 'cpu', 'timers', 'calls'].includes(options.values.slow)) {
  console.error('--slow takes cpu, timers or calls.');
  process.exit(2);
}
process.chdir(root);
const tasks = findTasks(options.positionals, options.values);
if (tasks.length === 0) {
  console.error('No test file is named like that.');
  process.exitCode = 1;
} else {
  const ok = await withSurroundings(() => runAll(tasks, Number(options.values.timeout) * 1000));
  if (!ok) process.exitCode ||= 1;
}

type Chosen = typeof options.values;

function findTasks(named: string[], { only, fleet, slow }: Chosen): Task[] {
  const places = named.length > 0 ? named : fleet ? fleetToo : folders;
  const files = places
    .flatMap((place) => (fs.statSync(place).isDirectory() ? filesBelow(place) : [place]))
    .sort();
  const again = named.length === 0 && !fleet ? fleetToo : [];
  const wanted = (all: string[]) => all.filter((file) => file.includes(only));
  const flags = slow === '' ? [] : [`--slow=${slow}`];
  const several = [...flags, '--fleet'];
  return [
    ...groupsOf(wanted(files)).map((group) => ({ files: group, flags: fleet ? several : flags })),
    ...groupsOf(wanted(again)).map((group) => ({ files: group, flags: several })),
  ];
}

/** Those that share a process. */
function groupsOf(files: string[]): string[][] {
  const kindOf = (file: string) =>
    oneFileEach.test(file) ? file : `${path.dirname(file)} ${isOfPages(file)}`;
  return [...Map.groupBy(files, kindOf).values()].flatMap((kind) => {
    // Of about the same length: the last to end decides.
    const groups = Math.ceil(kind.length / filesOfProcess);
    return Array.from({ length: groups }, (_, n) => kind.filter((_, i) => i % groups === n));
  });
}

function filesBelow(folder: string): string[] {
  const found = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return found
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => path.join(folder, file));
}

/** Gives the tests a clean environment, a folder for temporary files and a PostgreSQL. */
async function withSurroundings<T>(work: () => Promise<T>): Promise<T> {
  const disk = os.tmpdir();
  const parent = memoryFolder() ?? disk;
  for (const each of new Set([disk, parent])) await removeLeftovers(each);
  const temp = makeFolder(parent);
  const data = makeFolder(parent);
  const onDisk = makeFolder(disk);
  let postgres: Embedded | undefined;
  try {
    cleanEnvironment();
    process.env.TMPDIR = temp;
    process.env.FAREBOX_TEST_DISK = onDisk;
    // Two hundred processes would strip and compile the same files.
    process.env.NODE_COMPILE_CACHE = path.join(temp, 'compiled');
    if (!process.env.FAREBOX_TEST_DATABASE) {
      postgres = await startEmbedded({
        dataDir: path.join(data, 'data'),
        settings: { max_connections: '200', max_wal_size: '256MB' },
      });
      process.env.FAREBOX_TEST_DATABASE = addressOf(postgres);
    }
    return await work();
  } finally {
    await postgres?.stop();
    for (const folder of [data, temp, onDisk]) fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** What the developer's shell says about databases must not reach the tests. */
function cleanEnvironment(): void {
  for (const name of Object.keys(process.env)) {
    const ours = name.startsWith('FAREBOX_') && !name.startsWith('FAREBOX_TEST_');
    if (ours || /^(PG[A-Z]+|DATABASE_URL|PORT|HOST)$/.test(name)) delete process.env[name];
  }
  // Node warns in every process that finds both.
  if (process.env.NO_COLOR) delete process.env.FORCE_COLOR;
}

function makeFolder(parent: string): string {
  const folder = fs.mkdtempSync(path.join(parent, `farebox-test-${process.pid}-`));
  // Under root PostgreSQL runs as another user, who has to pass through.
  fs.chmodSync(folder, 0o755);
  return folder;
}

/**
 * In memory a database is cloned in a tenth of the time, with the durable settings left on, and
 * files that live for a second cost less. Containers often have 64 MiB there, which is not enough.
 */
function memoryFolder(): string | undefined {
  const folder = '/dev/shm';
  const bytesNeeded = 8 * 2 ** 30;
  if (!fs.existsSync(folder)) return undefined;
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize >= bytesNeeded && startsPrograms(folder) ? folder : undefined;
}

/** The browser is unpacked among the temporary files; where mounted `noexec` it could not start. */
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

/** A run that was killed leaves its folders, and its PostgreSQL running in one of them. */
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
      // Another user's; it is no obstacle to this run.
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

function addressOf({ connection }: Embedded): string {
  const { host, port, user, database } = connection;
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

/** Runs the files and prints all about them; true when every test passed. */
async function runAll(tasks: Task[], timeoutMs: number): Promise<boolean> {
  const events = new PassThrough({ objectMode: true });
  const printed = print(events);
  // Browsers first: there are fewer lanes for them. The longest of the others are single files.
  const rank = (task: Task) => (hasBrowser(task) ? 2 : task.files.length === 1 ? 1 : 0);
  const waiting = tasks.toSorted((a, b) => rank(b) - rank(a));
  const outcomes: Outcome[] = [];
  let browsers = 0;
  const next = () => {
    const at = waiting.findIndex((task) => !hasBrowser(task) || browsers < browsersAtOnce);
    return at === -1 ? undefined : waiting.splice(at, 1)[0];
  };
  const lane = async () => {
    for (let task; !stop.signal.aborted && (task = next());) {
      browsers += Number(hasBrowser(task));
      const outcome = await runTask(task, timeoutMs);
      browsers -= Number(hasBrowser(task));
      outcomes.push(outcome);
      // Whole processes at a time, or two files' lines would mix.
      for (const event of outcome.events) events.write(event);
    }
  };
  await Promise.all(Array.from({ length: processesAtOnce }, lane));
  events.end();
  await printed;
  const filesNotRun = waiting.reduce((sum, { files }) => sum + files.length, 0);
  return summarize(outcomes, filesNotRun);
}

/** The files of one process are all of a kind. */
function hasBrowser({ files }: Task): boolean {
  return isOfPages(files[0]!);
}

function isOfPages(file: string): boolean {
  return file.endsWith('-pages.test.ts');
}

async function print(events: PassThrough): Promise<void> {
  for await (const text of events.compose(new spec())) process.stdout.write(text);
}

async function runTask(task: Task, timeoutMs: number): Promise<Outcome> {
  const giveUp = new AbortController();
  const outcome: Outcome = { task, events: [], counts: noCounts() };
  const timer = setTimeout(() => {
    giveUp.abort(new Error(`no end after ${timeoutMs / 1000} s; ${openTests(outcome.events)}`));
  }, timeoutMs);
  // Aborting also ends the process, whatever it is doing.
  const signal = AbortSignal.any([stop.signal, giveUp.signal]);
  const stream = run({
    files: [runner],
    argv: [...task.flags, ...task.files],
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
  // What fails around the tests, such as the last look at the books, is in no count.
  outcome.counts.failed ||= outcome.events.filter(({ type }) => type === 'test:fail').length;
  return outcome;
}

function openTests(events: TestEvent[]): string {
  const open = new Set<string>();
  for (const { type, data } of events) {
    if (type === 'test:dequeue' && data.name !== data.file) open.add(data.name);
    if (type === 'test:complete') open.delete(data.name);
  }
  return open.size === 0
    ? 'no test is open, so a handle keeps the process alive or a loop never yields'
    : `still running: ${[...open].join(', ')}`;
}

/** How long each file took, without loading it. */
function timesOf({ task, events }: Outcome): { file: string; seconds: number }[] {
  const ends = events.filter(({ type, data }) => /^test:(pass|fail)$/.test(type) && !data.nesting);
  return ends.map(({ data }) => ({
    file: [data.name, ...task.flags].join(' '),
    seconds: data.details.duration_ms / 1000,
  }));
}

function noCounts(): Counts {
  return { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 };
}

function summarize(outcomes: Outcome[], filesNotRun: number): boolean {
  const sum = noCounts();
  for (const { counts } of outcomes) {
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  }
  const slowest = outcomes
    .flatMap(timesOf)
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, slowestShown);
  const seconds = (performance.now() - startedAt) / 1000;
  const lines = [
    ...slowest.map(({ seconds, file }) => `${seconds.toFixed(1).padStart(6)} s  ${file}`),
    ...(filesNotRun > 0 ? [`stopped with ${filesNotRun} of the files not run`] : []),
    `tests ${sum.tests}`,
    `suites ${sum.suites}`,
    `pass ${sum.passed}`,
    `fail ${sum.failed}`,
    `cancelled ${sum.cancelled}`,
    `skipped ${sum.skipped}`,
    `todo ${sum.todo}`,
    `duration_ms ${Math.round(seconds * 1000)}`,
  ];
  console.log(`\n${lines.map((line) => `ℹ ${line}`).join('\n')}`);
  return sum.tests > 0 && sum.failed === 0 && sum.cancelled === 0 && filesNotRun === 0;
}
