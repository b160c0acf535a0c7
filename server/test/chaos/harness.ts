import { fork, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deposit } from '../kit/by-command-line.ts';
import { migrate } from '../../src/db/migrate.ts';
import { audit } from '../../src/ledger/audit.ts';
import { schemaOfSession } from '../../src/db/schema.ts';
import { isUnavailable, openDatabase, rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { openPooler, type Pooler } from '../kit/pgbouncer.ts';
import { openLine, type DatabaseLine } from '../kit/database-line.ts';
import { createAccount } from '../../src/operations/accounts/account.ts';
import { createKey } from '../kit/keys.ts';
import { until } from '../kit/until.ts';
import { clusterFaults, playOnCluster, startCluster, type ClusterFault } from './ha.ts';
import { watchGrowth } from './growth.ts';
import type { NodeFault } from './node.ts';
import { receiverOf, startServers, takeOver, urlOf, type Servers } from './servers.ts';
import { mulberry, startPaidUpstream, type PaidUpstream } from './upstream.ts';

/**
 * Runs the service in several processes under load, injects faults, lets it recover, and compares
 * three journals: the calls and answers of callers, the rows, and the jobs that the upstream
 * accepted.
 */
export interface ChaosOptions {
  seed: number;
  /** Faults to inject, one after the other, in each round. */
  faults: Fault[];
  rounds: number;
  /** Time between two faults. */
  pauseMs: number;
  submitters: number;
  upstreamFaults: PaidUpstream['faults'];
  /** With a standby that has each commit before it is answered. */
  standby?: boolean;
  /** The unpacked programs of `examples/ha`, whose three nodes take the place of one PostgreSQL. */
  cluster?: string[];
  /** The unpacked PgBouncer, to put between the processes and PostgreSQL. */
  pooler?: string;
  log?: (line: string) => void;
}

/**
 * Faults of a process, of PostgreSQL, or of the connections between the two. Some need the
 * pooler, the standby or the cluster; a run has at most one `fail_over`.
 */
export const faults = [
  ...clusterFaults,
  'kill_worker',
  'kill_service',
  'kill_postgres',
  'stop_worker',
  'lose_commits',
  'cut_line',
  'hold_line',
  'deafen_line',
  'exhaust_memory',
  'jump_clock',
  'restart_pooler',
  'slow_standby',
  'fail_over',
  'none',
] as const;
export type Fault = (typeof faults)[number];

export interface ChaosReport {
  seed: number;
  submitted: number;
  completed: number;
  failed: number;
  unknown: number;
  /** Faults that were injected. */
  faults: number;
  fenced: number;
  /** Transactions that PostgreSQL committed without the process getting the answer. */
  lostCommits: number;
  /** The number of different writing statements in these transactions. */
  lostStatements: number;
  lostAnswers: number;
  repeats: number;
  callerRetries: number;
  /** Submits whose caller got an answer, and those of them that have no row. */
  acknowledged: number;
  lost: number;
  /** The longest time without an accepted submit, in ms. */
  longestPauseMs: number;
  /** The same during each fault of the cluster. */
  pauses: { fault: Fault; ms: number }[];
  /** Growth of the process that only takes calls, unless it was killed; in MB an hour. */
  growthMbHour: number | null;
  /** Violations of the laws; must be empty. */
  violations: string[];
}

const leaseSeconds = 1.5;
/** A class C job whose answer was lost is given up after this time. */
const jobAgeSeconds = 10;
const healMs = 60_000;
/** The shift of each process's clock: decisions must use PostgreSQL's clock only. */
const clockOffMs = { http: 0, both: -3 * 3_600_000, worker: 40 * 86_400_000 };
/** Lost commits of each process in one fault. */
const commitsLost = 3;
/** Most pauses of a worker until one hits it at work. */
const pausesMax = 10;
/** The memory of each process; one that is told to uses it up. */
const memoryMb = 300;
/** A clock jumps to one of these. */
const clockJumpsMs = [-3 * 3_600_000, 40 * 86_400_000, 0];
/** The standby stops for this time, and commits wait. */
const standbyPauseMs = 3_000;
/** The connections of all processes. */
const poolerSettings = ['pool_mode = session', 'default_pool_size = 50'];
/** Limits the printed violations, because one defect may cause thousands. */
const violationsShown = 20;
const statuses5xx = new Set([503]);

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const log = options.log ?? (() => {});
  const random = mulberry(options.seed);
  const dir = mkdtempSync(join(tmpdir(), 'farebox-chaos-'));
  chmodSync(dir, 0o755);
  mkdirSync(join(dir, 'catalog'));
  writeFileSync(join(dir, 'catalog', 'remote.yaml'), catalog);
  const cluster = options.cluster ? await startCluster(options.cluster, dir) : null;
  const servers = cluster ? null : await startServers(dir, options.standby ?? false);
  const url = cluster?.url ?? urlOf(servers!.primary);
  const own = await openLine(url);
  const db = openDatabase({
    connection: own.url,
    max: 4,
    statementTimeoutMs: 30_000,
    applicationName: 'chaos harness',
    session: schemaOfSession,
  });
  const pooler =
    options.pooler === undefined
      ? null
      : await openPooler(options.pooler, { url, dir, settings: poolerSettings });
  const upstream = await startPaidUpstream(options.seed);
  upstream.faults = options.upstreamFaults;
  const env = {
    PATH: process.env.PATH,
    PORT: '0',
    FAREBOX_DATA_DIR: join(dir, 'files'),
    FAREBOX_CATALOG: join(dir, 'catalog'),
    FAREBOX_SECRET: 'a secret of at least thirty-two characters',
    FAREBOX_DRAIN_SECONDS: '0',
    FAREBOX_BASE_URL: 'http://localhost:1/v1',
    FAREBOX_LOG_LEVEL: 'fatal',
    FAREBOX_LEASE_SECONDS: String(leaseSeconds),
    FAREBOX_STEP_TIMEOUT_SECONDS: '1.2',
    FAREBOX_POLL_SECONDS: '0.1',
    FAREBOX_DATABASE_POOL: '6',
  };
  const nodes: Node[] = [];
  const callers: Caller[] = [];
  const lines: DatabaseLine[] = [];
  let played = 0;
  let fenced = 0;
  try {
    await migrate(db);
    const key = await fund(db);
    for (const role of ['http', 'both', 'worker'] as const) {
      const line = await openLine(pooler?.url ?? url);
      lines.push(line);
      nodes.push(await startNode(role, upstream.url, envOf(role, line, env)));
    }
    const pace = { sent: 0, last: performance.now(), longest: 0 };
    const database = { own, servers, cluster, pooler };
    const scene = { nodes, lines, upstreamUrl: upstream.url, env, random, pace, ...database };
    const growth = watchGrowth(nodes[0]!.child.pid!);
    const pauses: ChaosReport['pauses'] = [];
    const stop = new AbortController();
    const journals = Array.from({ length: options.submitters }, (_, i) => {
      const caller: Caller = { got: new Map(), retries: 0, strange: [], pace };
      callers.push(caller);
      return submitUntil(stop.signal, caller, i, key, () =>
        nodes.filter((n) => n.role !== 'worker').map((n) => n.port),
      );
    });
    for (let round = 0; round < options.rounds; round++) {
      await pause(options.pauseMs * (0.5 + random()));
      const fault = options.faults[round % options.faults.length]!;
      log(`${round + 1}/${options.rounds} ${fault}`);
      if (fault !== 'none') played++;
      if (isOfCluster(fault)) {
        const ms = await pauseOf(pace, () => playOnCluster(cluster!, fault, () => accepted(pace)));
        log(`no accepted submit for ${ms} ms`);
        pauses.push({ fault, ms });
      } else fenced += await play(fault, scene);
    }
    await pause(options.pauseMs);
    stop.abort();
    await Promise.all(journals);
    const growthMbHour = growth();
    upstream.faults = { lose: 0, hang: 0, fail: 0, refuse: 0 };
    const healed = await heal(db);
    fenced += await fencedWrites(nodes);
    const { lost, ...compared } = await compare(db, callers, upstream);
    const violations = [
      ...(healed ? [] : ['not everything was final in time']),
      ...compared.violations,
    ].slice(0, violationsShown);
    return {
      seed: options.seed,
      faults: played,
      fenced,
      acknowledged: callers.flatMap(({ got }) => [...got.values()].filter(({ size }) => size > 0))
        .length,
      lost,
      longestPauseMs: Math.round(pace.longest),
      pauses,
      growthMbHour,
      violations,
      ...lossesOf(lines),
      ...(await figures(db, callers, upstream)),
    };
  } finally {
    await Promise.all(nodes.map((node) => kill(node.child, 'SIGKILL')));
    await Promise.all(lines.map((line) => line.close()));
    await upstream.close();
    await db.close();
    await own.close();
    await pooler?.close();
    await servers?.stop();
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

export interface Node {
  role: 'http' | 'both' | 'worker';
  child: ChildProcess;
  port: number;
}

interface Caller {
  /** Request ids returned for each Idempotency-Key; there must be one for each key. */
  got: Map<string, Set<string>>;
  retries: number;
  strange: string[];
  pace: Pace;
}

/** The accepted submits of all callers. */
interface Pace {
  /** When the latest of them was sent. */
  sent: number;
  /** When the last one was answered, and the longest time between two. */
  last: number;
  longest: number;
}

/** Starts a process. `upstreamUrl` null: its catalog defines the upstreams. */
export async function startNode(
  role: Node['role'],
  upstreamUrl: string | null,
  env: NodeJS.ProcessEnv,
): Promise<Node> {
  const told = upstreamUrl === null ? [role] : [role, upstreamUrl];
  const child = fork(join(import.meta.dirname, 'node.ts'), told, {
    env,
    execArgv: [`--max-old-space-size=${memoryMb}`],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('exit', (code) => reject(new Error(`a node ended at its start with ${code}`)));
  });
  return { role, child, port };
}

function envOf(role: Node['role'], line: DatabaseLine, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, DATABASE_URL: line.url, CHAOS_CLOCK_OFF_MS: String(clockOffMs[role]) };
}

interface Scene {
  nodes: Node[];
  /** Each node's connections to PostgreSQL. */
  lines: DatabaseLine[];
  /** The harness's own connection. */
  own: DatabaseLine;
  upstreamUrl: string;
  env: NodeJS.ProcessEnv;
  servers: Servers | null;
  pooler: Pooler | null;
  random: () => number;
}

export const isOfCluster = (fault: Fault): fault is ClusterFault =>
  (clusterFaults as readonly string[]).includes(fault);

/** The longest time without an accepted submit during this work, in ms. */
async function pauseOf(pace: Pace, work: () => Promise<void>): Promise<number> {
  const before = pace.longest;
  pace.longest = 0;
  await work();
  const during = pace.longest;
  pace.longest = Math.max(before, during);
  return Math.round(during);
}

/** Resolves once a submit is accepted that was sent after this call. */
async function accepted(pace: Pace): Promise<void> {
  const now = performance.now();
  await until('a submit is accepted', () => pace.sent > now);
}

/** Injects one fault; returns the count of fenced writes that is lost with a killed process. */
async function play(fault: Fault, scene: Scene): Promise<number> {
  const { nodes, lines, servers, random } = scene;
  const candidates = nodes.filter(({ role }) =>
    fault === 'kill_worker' || fault === 'stop_worker'
      ? role !== 'http'
      : fault !== 'kill_service' || role !== 'worker',
  );
  const victim = candidates[Math.floor(random() * candidates.length)]!;
  const line = lines[nodes.indexOf(victim)]!;
  if (fault === 'kill_postgres') process.kill(servers!.primary.pid, 'SIGKILL');
  if (fault === 'stop_worker') await overtake(victim);
  if (fault === 'lose_commits') for (const each of lines) each.loseCommits(commitsLost);
  if (fault === 'cut_line') line.cut();
  if (fault === 'deafen_line') line.deafen();
  if (fault === 'hold_line') {
    const letGo = line.holdUp();
    await pause(leaseSeconds * 1000 * 1.4);
    letGo();
  }
  if (fault === 'jump_clock')
    tell(victim, { clock_off_ms: clockJumpsMs[Math.floor(random() * clockJumpsMs.length)]! });
  if (fault === 'restart_pooler') await scene.pooler!.restart();
  if (fault === 'slow_standby') {
    const receiver = await receiverOf(servers!.standby!);
    process.kill(receiver, 'SIGSTOP');
    await pause(standbyPauseMs);
    process.kill(receiver, 'SIGCONT');
  }
  if (fault === 'fail_over') {
    await takeOver(servers!.primary, servers!.standby!);
    for (const each of [...lines, scene.own]) each.leadTo(urlOf(servers!.standby!));
  }
  return /^(kill_worker|kill_service|exhaust_memory)$/.test(fault)
    ? replace(victim, fault, scene)
    : 0;
}

function tell({ child }: Node, fault: NodeFault): void {
  child.send(fault);
}

async function replace(
  victim: Node,
  fault: Fault,
  { nodes, lines, upstreamUrl, env }: Scene,
): Promise<number> {
  const fenced = await fencedWrites([victim]);
  const at = nodes.indexOf(victim);
  if (fault === 'exhaust_memory') {
    const ended = once(victim.child, 'exit');
    tell(victim, 'exhaust_memory');
    await ended;
  } else await kill(victim.child, 'SIGKILL');
  // PostgreSQL may be down at this moment. Then the service exits, and a supervisor would start it
  // again.
  for (;;) {
    try {
      const { role } = victim;
      nodes[at] = await startNode(role, upstreamUrl, envOf(role, lines[at]!, env));
      return fenced;
    } catch {
      await pause(200);
    }
  }
}

function lossesOf(lines: DatabaseLine[]) {
  return {
    lostCommits: lines.reduce((sum, line) => sum + line.lostCommits, 0),
    lostStatements: new Set(lines.flatMap((line) => [...line.lost.keys()])).size,
  };
}

/**
 * Pauses a worker for longer than its leases last. If no write was fenced, because the worker held
 * no lease or no other worker claimed its requests, the worker is paused again.
 */
async function overtake(victim: Node): Promise<void> {
  for (let tries = 0; tries < pausesMax; tries++) {
    const before = await fencedWrites([victim]);
    process.kill(victim.child.pid!, 'SIGSTOP');
    await pause(leaseSeconds * 1000 * 1.4);
    process.kill(victim.child.pid!, 'SIGCONT');
    // The worker needs time to notice.
    await pause(300);
    if ((await fencedWrites([victim])) > before) return;
  }
}

/**
 * Sends submits one after the other, each until its answer is definite, as a careful client does.
 */
async function submitUntil(
  signal: AbortSignal,
  caller: Caller,
  index: number,
  key: string,
  ports: () => number[],
): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const idempotencyKey = `c${index}-${n}`;
    const model = ['a', 'b', 'c'][n % 3]!;
    caller.got.set(idempotencyKey, new Set());
    await submitOnce(caller, idempotencyKey, model, key, ports);
    // Now and then a caller repeats a call although it has the answer.
    if (n % 7 === 0) await submitOnce(caller, idempotencyKey, model, key, ports);
  }
}

async function submitOnce(
  caller: Caller,
  idempotencyKey: string,
  model: string,
  key: string,
  ports: () => number[],
): Promise<void> {
  const giveUp = Date.now() + healMs;
  while (Date.now() < giveUp) {
    const choice = ports();
    const port = choice[Math.floor(Math.random() * choice.length)]!;
    const sent = performance.now();
    try {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/queue/remote/${model}`, {
        method: 'POST',
        headers: {
          authorization: `Key ${key}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify({ prompt: idempotencyKey }),
        signal: AbortSignal.timeout(10_000),
      });
      const body = (await reply.json()) as { request_id?: string };
      if (reply.status === 202 || reply.status === 200) {
        caller.got.get(idempotencyKey)!.add(body.request_id!);
        const { pace } = caller;
        const now = performance.now();
        pace.longest = Math.max(pace.longest, now - pace.last);
        pace.last = now;
        pace.sent = Math.max(pace.sent, sent);
        return;
      }
      if (!statuses5xx.has(reply.status)) {
        caller.strange.push(`${reply.status} ${JSON.stringify(body)}`);
        return;
      }
    } catch {
      // The process was killed: the outcome is unknown, so the call is repeated under the same key.
    }
    caller.retries++;
    await pause(50);
  }
  caller.strange.push(`${idempotencyKey} got no answer`);
}

export async function fund(db: Database): Promise<string> {
  const { id: account_id } = await createAccount(db, {
    email: 'chaos@example.com',
    is_operator: false,
  });
  await deposit(db, { account_id, amount: 1_000_000_000n, reference: 'chaos' });
  const limits = { monthly_limit_usd_micro: null, rpm: 1_000_000, open_jobs: 1_000_000 };
  return (await createKey(db, { account_id, name: 'chaos', ...limits })).key;
}

/** Waits until every request is final; false if that takes too long. */
async function heal(db: Database): Promise<boolean> {
  const until = Date.now() + healMs;
  while (Date.now() < until) {
    try {
      const [row] = await db.run<{ open: bigint }>(
        rawSql("select count(*) as open from requests where status in ('IN_QUEUE', 'IN_PROGRESS')"),
      );
      if (row!.open === 0n) return true;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    await pause(200);
  }
  return false;
}

async function fencedWrites(nodes: Node[]): Promise<number> {
  let sum = 0;
  for (const { port } of nodes) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const match of text.matchAll(/^farebox_fenced_writes_total\{[^}]*\} (\d+)/gm))
      sum += Number(match[1]);
  }
  return sum;
}

async function compare(db: Database, callers: Caller[], upstream: PaidUpstream) {
  const violations = callers.flatMap((caller) => caller.strange);
  const rows = await db.run<{
    id: string;
    key: string;
    status: string;
    charged: bigint | null;
    deliveries: bigint;
  }>(
    rawSql(`
    select r.id, i.idempotency_key as key, r.status, r.charged_usd_micro as charged,
      (select count(*) from transfers t where t.pending_id = r.id) as deliveries
    from requests r join request_inputs i on i.request_id = r.id`),
  );
  const byKey = new Map<string, string>();
  for (const row of rows) {
    if (byKey.has(row.key)) violations.push(`key ${row.key} made two requests`);
    byKey.set(row.key, row.id);
    const submissions = upstream.accepted.get(row.id) ?? 0;
    if (submissions > 1) violations.push(`request ${row.id} was submitted ${submissions} times`);
    if (row.status === 'COMPLETED' && submissions !== 1)
      violations.push(`completed ${row.id} has ${submissions} submissions`);
    if (row.status !== 'COMPLETED' && row.charged !== 0n)
      violations.push(`${row.status} ${row.id} was charged ${row.charged}`);
    if (row.deliveries !== 1n)
      violations.push(`request ${row.id} has ${row.deliveries} settlements`);
  }
  let lost = 0;
  for (const { got } of callers) {
    for (const [key, ids] of got) {
      if (ids.size > 1) violations.push(`key ${key} was answered with ${ids.size} requests`);
      const gone = [...ids].filter((id) => byKey.get(key) !== id);
      violations.push(...gone.map((id) => `answered request ${id} of ${key} has no row`));
      lost += gone.length;
    }
  }
  for (const id of upstream.accepted.keys()) {
    if (!rows.some((row) => row.id === id))
      violations.push(`the upstream has ${id}, we have no such row`);
  }
  const report = await audit(db);
  for (const { law, found } of report.violations)
    violations.push(`audit: ${law}: ${JSON.stringify(found)}`);
  return { violations, lost };
}

async function figures(db: Database, callers: Caller[], upstream: PaidUpstream) {
  const [row] = await db.run<Record<'submitted' | 'completed' | 'failed' | 'unknown', bigint>>(
    rawSql(`
    select count(*) as submitted, count(*) filter (where status = 'COMPLETED') as completed,
      count(*) filter (where status = 'FAILED') as failed, count(*) filter (where error_code = 'outcome_unknown') as unknown
    from requests`),
  );
  return {
    submitted: Number(row!.submitted),
    completed: Number(row!.completed),
    failed: Number(row!.failed),
    unknown: Number(row!.unknown),
    lostAnswers: upstream.lostAnswers,
    repeats: upstream.repeats,
    callerRetries: callers.reduce((sum, caller) => sum + caller.retries, 0),
  };
}

export function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const row = (name: string) => `
  - id: remote/${name}
    kind: image
    task: text-to-image
    name: Remote ${name}
    description: Class ${name.toUpperCase()}.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    job_age_seconds: ${jobAgeSeconds}
    upstreams: [{ upstream: remote_${name}, model: m, cost_usd: "0.004" }]
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }`;
export const catalog = `owned_by: chaos\nupstream: remote_a\nmodels:${['a', 'b', 'c'].map(row).join('')}\n`;
