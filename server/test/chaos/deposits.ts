import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startEmbedded } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { audit } from '../../src/ledger/audit.ts';
import { schemaOfSession } from '../../src/db/schema.ts';
import { isUnavailable, openDatabase, rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { availableTo, payer, type Payer } from '../chains/scene.ts';
import { playWorld, type PlayWorld } from '../chains/play-kit.ts';
import { serveRpc } from '../chains/rpc-server.ts';
import { chain as file, keyOf, usdt } from '../operations/deposits-kit.ts';
import { catalog, kill, pause, startNode, type Node } from './harness.ts';
import { mulberry } from './upstream.ts';

/**
 * Kills services, workers and PostgreSQL while deposits come in on a chain with reorgs; each
 * deposit must be credited exactly once.
 */

interface Options {
  seed: number;
  deposits: number;
  /** Number of processes to kill meanwhile. */
  kills: number;
  log?: (line: string) => void;
}

export interface DepositsReport {
  seed: number;
  deposits: number;
  kills: Record<string, number>;
  /** Number of reads that began. */
  reads: number;
  violations: string[];
}

const payers = 20;
const finalAfter = 3;
const healMs = 120_000;
const chain = { ...file, name: 'chaos', title: 'Chaos', chain_id: 77 };
/** Not the default key, whose mnemonic everybody knows. */
const key = keyOf('evm', 2);

export async function chaosOfDeposits(options: Options): Promise<DepositsReport> {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-chaos-'));
  chmodSync(dir, 0o755);
  for (const name of ['catalog', 'chains']) mkdirSync(join(dir, name));
  writeFileSync(join(dir, 'catalog', 'remote.yaml'), catalog);
  writeFileSync(join(dir, 'chains', 'chaos.yaml'), stringify(chainFile()));
  const embedded = await startEmbedded({ dataDir: join(dir, 'data') });
  const { host, port, user, database } = embedded.connection;
  const url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
  const settings = {
    max: 4,
    statementTimeoutMs: 30_000,
    applicationName: 'chaos harness',
    session: schemaOfSession,
  };
  const db = openDatabase({ connection: url, ...settings });
  const world = playWorld(200, chain);
  const endpoints = [await serveRpc(world.play.rpc), await serveRpc(world.play.rpc)];
  const env = {
    PATH: process.env.PATH,
    PORT: '0',
    DATABASE_URL: url,
    FAREBOX_DATA_DIR: join(dir, 'files'),
    FAREBOX_CATALOG: join(dir, 'catalog'),
    FAREBOX_CHAINS: join(dir, 'chains'),
    FAREBOX_RPC_CHAOS: endpoints.map((each) => each.url).join(' '),
    FAREBOX_XPUB_EVM: key.xpub,
    FAREBOX_CHAIN_SECONDS: '1',
    FAREBOX_SECRET: 'a secret of at least thirty-two characters',
    FAREBOX_DRAIN_SECONDS: '0',
    FAREBOX_LOG_LEVEL: 'fatal',
    FAREBOX_DATABASE_POOL: '6',
  };
  const nodes: Node[] = [];
  try {
    await migrate(db);
    const who: Payer[] = [];
    for (let i = 0; i < payers; i++) who.push(await payer(db, key));
    for (const role of ['both', 'worker'] as const)
      nodes.push(await startNode(role, 'http://127.0.0.1:1', env));
    const scene = { db, world, nodes, who, env, embedded };
    const { kills, owed } = await payAndKill(scene, options);
    world.mine(finalAfter + 1);
    return {
      seed: options.seed,
      deposits: options.deposits,
      kills,
      violations: await violationsOf(scene, owed, options.deposits),
      reads: await readsOf(db),
    };
  } finally {
    await Promise.all(nodes.map((node) => kill(node.child, 'SIGKILL')));
    await Promise.all(endpoints.map((each) => each.close()));
    await db.close();
    await embedded.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

interface Scene {
  db: Database;
  world: PlayWorld;
  nodes: Node[];
  who: Payer[];
  env: NodeJS.ProcessEnv;
  embedded: { pid: number };
}

/** Returns how often each kind of process was killed, and the micro-USD that each account paid. */
async function payAndKill(
  scene: Scene,
  { seed, deposits, kills: wanted, log = () => {} }: Options,
): Promise<{ kills: Record<string, number>; owed: bigint[] }> {
  const { world, who } = scene;
  const random = mulberry(seed);
  const kills: Record<string, number> = {};
  const owed = who.map(() => 0n);
  const every = Math.floor(deposits / wanted);
  let killing = Promise.resolve();
  for (let n = 1; n <= deposits; n++) {
    const to = Math.floor(random() * payers);
    const dollars = BigInt(1 + Math.floor(random() * 9));
    owed[to]! += dollars * 1_000_000n;
    world.play.pay({ token: usdt, to: who[to]!.address, units: dollars * 10n ** 18n });
    world.mine();
    if (random() < 0.1) world.play.reorg(1 + Math.floor(random() * 2), 'paid later');
    await pause(10 + random() * 30);
    if (n % every !== 0) continue;
    await killing;
    const what = (['service', 'worker', 'postgres'] as const)[(n / every) % 3]!;
    kills[what] = (kills[what] ?? 0) + 1;
    log(`${n} of ${deposits} paid, kill ${what}`);
    // Payments continue meanwhile.
    killing = killOne(what, scene);
  }
  await killing;
  return { kills, owed };
}

async function killOne(
  what: 'service' | 'worker' | 'postgres',
  { db, nodes, env, embedded }: Scene,
): Promise<void> {
  if (what === 'postgres') process.kill(embedded.pid, 'SIGKILL');
  else {
    const at = what === 'service' ? 0 : 1;
    const { child, role } = nodes[at]!;
    await kill(child, 'SIGKILL');
    nodes[at] = await startNode(role, 'http://127.0.0.1:1', env).catch(async () => {
      // PostgreSQL was away at this moment, so the service exited; a supervisor would start it
      // again.
      await pause(1_000);
      return startNode(role, 'http://127.0.0.1:1', env);
    });
  }
  await wake(db);
}

/** Ends the leases of killed processes. */
async function wake(db: Database): Promise<void> {
  await db.run(rawSql('update chains set wake_at = now()')).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
  });
}

async function violationsOf(
  { db, who }: Scene,
  owed: readonly bigint[],
  deposits: number,
): Promise<string[]> {
  const deadline = Date.now() + healMs;
  let credited = 0;
  for (let i = 0; credited < deposits && Date.now() < deadline; i++) {
    if (i % 10 === 0) await wake(db);
    await pause(300);
    credited = await creditedOf(db).catch(() => credited);
  }
  const violations: string[] = [];
  if (credited !== deposits) violations.push(`${credited} of ${deposits} deposits were credited`);
  for (const [i, each] of who.entries()) {
    const available = await availableTo(db, each);
    if (available !== owed[i]) violations.push(`account ${i} has ${available}, paid ${owed[i]}`);
  }
  const report = await audit(db);
  for (const { law, found } of report.violations)
    violations.push(`audit: ${law}: ${JSON.stringify(found)}`);
  return violations;
}

async function creditedOf(db: Database): Promise<number> {
  const [row] = await db.run<{ n: bigint }>(
    rawSql("select count(*) as n from chain_deposits where state = 'credited'"),
  );
  return Number(row!.n);
}

async function readsOf(db: Database): Promise<number> {
  const [row] = await db.run<{ attempt: number }>(rawSql('select attempt from chains'));
  return row!.attempt;
}

function chainFile() {
  const { minimum_usd_micro: _, ...rest } = chain;
  // A chain file leaves out unknown values.
  const known = Object.entries(rest).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(known), minimum_usd: '1' };
}
