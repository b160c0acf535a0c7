import type { Chains } from '../../chains/chains.ts';
import { secondReadingLag } from '../../core/deposit/chain-state.ts';
import * as chainRows from '../../db/deposits/chains.ts';
import { countHeld } from '../../db/deposits/deposit-search.ts';
import { chatMaxSeconds, countRunning } from '../../db/requests/open-requests.ts';
import { readOverdue } from '../../db/retention.ts';
import { countLeft } from '../../db/requests/left-starts.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import { listPausedModels, readUpstreamStates } from '../../db/upstreams/states.ts';
import type { InstallationWatch } from './installation.ts';
import { addOwn, addShared, type Metrics } from '../../lib/metrics.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { Disk } from './disk-space.ts';
import type { CatalogStore } from '../../catalog/catalog.ts';
import type { Spool } from '../../storage/spool.ts';
import type { WatchedStorage } from '../../storage/watched.ts';
import { readKeyStates } from '../../operations/upstreams/upstream-keys.ts';
import type { Upstream } from '../../upstreams/upstream.ts';

interface Sources {
  db: Database;
  upstreams: ReadonlyMap<string, Upstream>;
  catalog: Pick<CatalogStore, 'problems'>;
  disks: readonly Disk[];
  storage: Pick<WatchedStorage, 'isAway'>;
  spool: Pick<Spool, 'usage'>;
  installation: Pick<InstallationWatch, 'held' | 'skew'>;
  chains: Pick<Chains, 'live'>;
  config: { FAREBOX_RETENTION_DAYS: number };
}

/** Gauges of the whole installation. Every process reports the same values: read them from one. */
const labels = ['upstream'];
const names = {
  waiting: 'farebox_queue_waiting',
  oldest: 'farebox_queue_oldest_seconds',
  inUse: 'farebox_upstream_slots_in_use',
  running: 'farebox_upstream_running',
  paused: 'farebox_upstream_paused_seconds',
  models: 'farebox_model_paused_seconds',
  keys: 'farebox_upstream_key_paused_seconds',
  left: 'farebox_left_starts',
};

const upstreamGauges = [
  {
    name: names.waiting,
    labels,
    help: 'Requests that wait for the upstream, counted up to 10000.',
  },
  { name: names.oldest, labels, help: 'How long the oldest waiting request has waited.' },
  { name: names.inUse, labels, help: 'Slots at the upstream that are taken.' },
  { name: names.running, labels, help: 'Jobs and chat calls that run at the upstream.' },
  {
    name: names.paused,
    labels,
    help: 'How long the upstream will still be paused; 0 if it is not.',
  },
  {
    name: names.models,
    labels: ['upstream', 'model'],
    help: 'How long a model will still be paused, if only the model is paused and not its upstream.',
  },
  {
    name: names.keys,
    labels: ['upstream', 'key', 'model'],
    help: 'How long a key will still be paused, as a whole or for one model, if its upstream has several keys.',
  },
  {
    name: names.left,
    labels,
    help: 'Starts after which the next route was called, and whose cost is still unknown.',
  },
];

export function addGauges(metrics: Metrics, sources: Sources): void {
  const { db, upstreams, catalog, disks } = sources;
  addShared(metrics.registry, upstreamGauges, async () => {
    const states = await readUpstreamStates(db, [...upstreams.keys()]);
    const models = await listPausedModels(db, [...upstreams.keys()]);
    const keys = await readKeyStates(db, upstreams);
    const left = await countLeft(db);
    const running = await countRunning(db, chatMaxSeconds);
    const runningAt = new Map(running.map((each) => [each.upstream, each.running]));
    const of = (pick: (state: (typeof states)[number]) => number) =>
      states.map((state): [string[], number] => [[state.name], pick(state)]);
    return {
      [names.waiting]: of((state) => state.waiting),
      [names.oldest]: of((state) => state.oldest_seconds),
      [names.inUse]: of((state) => state.in_use),
      [names.running]: of((state) => runningAt.get(state.name) ?? 0),
      [names.paused]: of((state) => state.paused_seconds),
      [names.models]: models.map((each) => [[each.upstream, each.model], each.paused_seconds]),
      [names.keys]: keys.flatMap(({ upstream, key, ...state }): [string[], number][] => [
        [[upstream, key, ''], state.paused_seconds],
        ...state.paused_models.map((each): [string[], number] => [
          [upstream, key, each.model],
          each.paused_seconds,
        ]),
      ]),
      [names.left]: left.map((each) => [[each.upstream], each.count]),
    };
  });
  addOwn(metrics.registry, {
    name: 'farebox_catalog_problems',
    help: 'Problems in the catalog files when this process last read them.',
    read: () => catalog.problems().length,
  });
  disks.forEach((disk) => addFree(metrics, disk));
  addEvents(metrics, sources);
  addRetention(metrics, sources);
  addStored(metrics, sources);
  addChains(metrics, sources);
  addInstallation(metrics, sources);
}

function addEvents({ registry }: Metrics, { db }: Sources): void {
  const waiting = 'farebox_operator_events_waiting';
  const givenUp = 'farebox_operator_events_given_up';
  const gauges = [
    { name: waiting, help: "Events to the operator that the operator's webhook has yet to get." },
    {
      name: givenUp,
      help: "Events that the operator's webhook did not accept for 3 days; not sent again.",
    },
  ];
  addShared(registry, gauges, async () => {
    const unsent = await operatorEvents.countUnsent(db);
    return { [waiting]: [[[], unsent.waiting]], [givenUp]: [[[], unsent.given_up]] };
  });
}

function addRetention({ registry }: Metrics, { db, config }: Sources): void {
  const name = 'farebox_retention_overdue_seconds';
  const help = 'How long the oldest of what is to be deleted is past its time; 0 if nothing is.';
  addShared(registry, [{ name, help, labels: ['what'] }], async () => {
    const overdue = await readOverdue(db, config.FAREBOX_RETENTION_DAYS);
    return { [name]: overdue.map(({ what, seconds }) => [[what], seconds]) };
  });
}

function addInstallation({ registry }: Metrics, { installation }: Sources): void {
  addOwn(registry, {
    name: 'farebox_restored_copy',
    help: '1 while nothing is started or sent because the database is a restored copy.',
    read: () => (installation.held() === null ? 0 : 1),
  });
  addOwn(registry, {
    name: 'farebox_clock_skew_seconds',
    help: "How far the database's clock is ahead of this machine's; 0 if they differ by at most 5 s.",
    read: () => installation.skew() ?? 0,
  });
}

/** Gauges of the chains that are set up. */
function addChains({ registry }: Metrics, { db, chains: { live } }: Sources): void {
  if (live.length === 0) return;
  const labels = ['chain'];
  const of = {
    head: 'farebox_chain_head_height',
    scanned: 'farebox_chain_scanned_height',
    lag: 'farebox_chain_lag_seconds',
    again: 'farebox_chain_rescan_lag_seconds',
    stopped: 'farebox_chain_stopped',
    held: 'farebox_deposits_held',
  };
  const gauges = [
    { name: of.head, labels, help: 'The newest block of the chain when it was last read.' },
    { name: of.scanned, labels, help: 'The newest final block that was read for deposits.' },
    { name: of.lag, labels, help: 'The age of the newest final block that was read.' },
    {
      name: of.again,
      labels,
      help: 'How far the second reading of blocks, which finds missed deposits, is behind the first; usually about an hour.',
    },
    {
      name: of.stopped,
      labels,
      help: '1 while the chain is not read: an operator has to resume it, or correct a setting.',
    },
    { name: of.held, labels: ['chain', 'why'], help: 'Deposits that are not credited yet.' },
  ];
  const files = new Map(live.map(({ chain }) => [chain.name, chain]));
  addShared(registry, gauges, async () => {
    const [all, held] = await Promise.all([chainRows.list(db), countHeld(db)]);
    const rows = all.filter(({ name }) => files.has(name));
    const those = (pick: (row: chainRows.ChainRow) => bigint | number | null) =>
      rows.flatMap((row): [string[], number][] => {
        const value = pick(row);
        return value === null ? [] : [[[row.name], Number(value)]];
      });
    return {
      [of.head]: those((row) => row.head_height),
      [of.scanned]: those((row) => row.scanned_height),
      [of.lag]: those((row) => row.lag_seconds),
      [of.again]: those((row) => secondReadingLag(row, files.get(row.name)!)),
      [of.stopped]: those((row) => ((row.stopped_why ?? row.refused_why) === null ? 0 : 1)),
      [of.held]: held.map(({ chain, why, count }) => [[chain, why], count]),
    };
  });
}

function addStored({ registry }: Metrics, { storage, spool }: Sources): void {
  addOwn(registry, {
    name: 'farebox_storage_up',
    help: '1 while the storage can be used, 0 while it is away.',
    read: () => (storage.isAway() ? 0 : 1),
  });
  addOwn(registry, {
    name: 'farebox_spool_results',
    help: 'Results kept on the disk of this process until the storage accepts them.',
    read: () => spool.usage().results,
  });
  addOwn(registry, {
    name: 'farebox_spool_bytes',
    help: 'Bytes of the results on the disk of this process.',
    read: () => spool.usage().bytes,
  });
}

/** Measures each disk separately, because a measurement may hang. */
function addFree({ registry }: Metrics, { holds, free }: Disk): void {
  const name = `farebox_${holds}_free_bytes`;
  const where = holds === 'data' ? 'the data folder lies' : 'media lie';
  const help = `Free bytes on the disk where ${where}.`;
  addShared(registry, [{ name, help }], async () => {
    const bytes = await free();
    return { [name]: bytes === null ? [] : [[[], bytes]] };
  });
}
