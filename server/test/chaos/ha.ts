import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { besideLibraries, debianPackage, haproxyNeeds } from '../kit/debian.ts';
import { pgbouncer } from '../kit/pgbouncer.ts';
import { until } from '../kit/until.ts';
import { root } from './sabotage.ts';

/**
 * Faults of the nodes. A primary loses power, stands still, or is cut off from the others while its
 * PostgreSQL goes on; the standby that commits wait for stands still; the parts change by hand; two
 * of three etcds are away; both other nodes are.
 */
export const clusterFaults = [
  'lose_primary',
  'freeze_primary',
  'split_primary',
  'freeze_standby',
  'switch_over',
  'lose_etcd',
  'lose_majority',
] as const;
export type ClusterFault = (typeof clusterFaults)[number];

/** The three nodes of `examples/ha`, started by its own script, on addresses of their own. */
export interface Cluster {
  /** The primary, wherever it is. */
  url: string;
  /** Calls the script: `tell('kill', '2')`. Resolves with what it printed. */
  tell(...words: string[]): Promise<string>;
  /** The number of the node with this role, once one has it. */
  nodeOf(role: Role): Promise<string>;
  /** Waits until each node has its part, and the standbys follow. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

const script = join(root, 'examples/ha/start');
const python = [
  'psycopg2',
  'yaml',
  'dateutil',
  'click',
  'prettytable',
  'urllib3',
  'six',
  'wcwidth',
];
const modules = [...python, 'psutil', 'etcd', 'dnspython', 'cdiff', 'pkg-resources', 'minimal'];
const interpreter = ['python3.11-minimal', 'libpython3.11-minimal', 'libpython3.11-stdlib'];
const wholeMs = 180_000;
const takeOverMs = 120_000;
/** Longer than a primary may be silent. */
const awayMs = 30_000;

/** The unpacked programs; the name of the first that cannot be fetched. */
export async function haPrograms(): Promise<{ folders: string[] } | { missing: string }> {
  const named = modules.map((name) => `python3-${name}`);
  const fetched = {
    patroni: await debianPackage('patroni', [...named, ...interpreter, 'libpq5', 'libyaml-0-2']),
    etcd: await debianPackage('etcd-server'),
    postgresql: await debianPackage('postgresql-15', ['postgresql-client-15', 'libpq5']),
    haproxy: await debianPackage('haproxy', haproxyNeeds),
    pgbouncer: await pgbouncer(),
  };
  const missing = Object.entries(fetched).find(([, folder]) => folder === null);
  if (missing) return { missing: missing[0] };
  return { folders: Object.values(fetched).filter((folder) => folder !== null) };
}

/**
 * Plays a fault, and mends it once writes work; then each node has its part again.
 * @param writes resolves when a write has been accepted that began after this call
 */
export async function playOnCluster(
  { tell, nodeOf, whole }: Cluster,
  fault: ClusterFault,
  writes: () => Promise<void>,
): Promise<void> {
  const [primary, standby] = [await nodeOf('leader'), await nodeOf('sync_standby')];
  const others = ['1', '2', '3'].filter((n) => n !== primary);
  const each = (...words: string[]) =>
    Promise.all(others.map((n) => tell(words[0]!, n, ...words.slice(1))));
  const replaced = () =>
    until('another node is primary', async () => primary !== (await nodeOf('leader')), takeOverMs);
  const acts: Record<
    ClusterFault,
    { hurt: () => Promise<unknown>; mend?: () => Promise<unknown> }
  > = {
    lose_primary: {
      hurt: () => tell('kill', primary).then(replaced),
      mend: () => tell('node', primary),
    },
    freeze_primary: {
      hurt: () => tell('freeze', primary).then(replaced),
      mend: () => tell('thaw', primary),
    },
    split_primary: {
      hurt: () => tell('freeze', primary, 'etcd|patroni').then(replaced),
      mend: () => tell('thaw', primary),
    },
    freeze_standby: { hurt: () => tell('freeze', standby), mend: () => tell('thaw', standby) },
    switch_over: {
      hurt: () =>
        tell('ctl', 'switchover', '--force', '--candidate', `node${standby}`).then(replaced),
    },
    lose_etcd: {
      hurt: () => each('freeze', 'etcd').then(() => pause(awayMs)),
      mend: () => each('thaw'),
    },
    lose_majority: {
      hurt: () =>
        each('freeze')
          .then(() => pause(awayMs))
          .then(() => each('thaw')),
    },
  };
  await acts[fault].hurt();
  await writes();
  await acts[fault].mend?.();
  await whole();
}

/** @param dir a folder that every user can enter */
export async function startCluster(folders: string[], dir: string): Promise<Cluster> {
  const data = join(dir, 'nodes');
  mkdirSync(data, { mode: 0o755 });
  // Others may rehearse on this machine, too.
  const net = `127.${someByte()}.${someByte()}`;
  const postgres = folders.find((folder) => folder.includes('/postgresql-'))!;
  const env = {
    ...besideLibraries(...folders),
    HA_NODES: [1, 2, 3].map((n) => `${net}.${n}`).join(' '),
    HA_DOOR: `${net}.9`,
    HA_DATA: data,
    HA_BIN_DIR: join(postgres, 'usr/lib/postgresql/15/bin'),
  };
  const run = (words: string[]) =>
    // Its input ends with this process, which ends all nodes.
    collect(spawn(script, words, { env, stdio: ['pipe', 'pipe', 'pipe'] }));
  const all = run([]);
  const tell = async (...words: string[]) => {
    const { child, said } = run(words);
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`start ${words.join(' ')} ended with ${code}: ${said()}`);
    return said();
  };
  const members = async (): Promise<Member[]> => {
    const asked = [1, 2, 3].map(async (n) => {
      const signal = AbortSignal.timeout(1_000);
      const reply = await fetch(`http://${net}.${n}:8008/cluster`, { signal });
      return ((await reply.json()) as { members: Member[] }).members;
    });
    return Promise.any(asked).catch(() => []);
  };
  const isWhole = async () => {
    const list = await members();
    const has = (role: Role) => list.some((each) => each.role === role);
    const follow = list.filter(({ state, lag }) => state === 'running' && Number(lag) < 1e6);
    return has('leader') && has('sync_standby') && follow.length === 2;
  };
  const stop = async () => {
    all.child.stdin!.end();
    if (all.child.exitCode === null) await once(all.child, 'close');
  };
  try {
    await until(
      `the nodes run: ${all.said()}`,
      () => {
        if (all.child.exitCode !== null) throw new Error(all.said());
        return all.said().includes('DATABASE_READ_URL=');
      },
      wholeMs,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: /^DATABASE_URL=(.*)$/m.exec(all.said())![1]!,
    tell,
    nodeOf: (role) =>
      until(`a node is ${role}`, async () => {
        const found = (await members()).find((each) => each.role === role);
        return found?.name.slice('node'.length);
      }),
    async whole() {
      await until('each node has its part', isWhole, wholeMs);
    },
    stop,
  };
}

type Role = 'leader' | 'sync_standby' | 'replica';

/** As Patroni tells it; `lag` in bytes, of standbys. */
interface Member {
  name: string;
  role: Role;
  state: string;
  lag?: number | 'unknown';
}

const someByte = () => 1 + Math.floor(Math.random() * 254);

function collect(child: ChildProcess) {
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part) => (text += part));
  return { child, said: () => text };
}
