import { LogThrottle, throttleLog } from '../../lib/log-throttle.ts';
import { repeat } from '../../lib/repeat.ts';
import * as chains from '../../db/deposits/chains.ts';
import { beginDueReads, type ChainDeps } from './read-chains.ts';

/** Reads blockchains for deposits, each when its row is due. */

const checkMs = 1_000;

export interface ChainTask {
  /** Reads what is due, to the end. Rejects if the database is away. */
  runOnce(): Promise<void>;
  stop(): Promise<void>;
}

type ChainTaskDeps = Omit<ChainDeps, 'checked' | 'seen' | 'failures' | 'isStopping'> & {
  /** Ends the calls to endpoints. */
  hangUp: () => void;
  /** False: chains are read only by `runOnce`. */
  running: boolean;
};

export function watchChains({ hangUp, running, ...deps }: ChainTaskDeps): ChainTask {
  let isStopping = false;
  let isAdded = false;
  const readDeps: ChainDeps = {
    ...deps,
    checked: new Set(),
    seen: new Map(),
    failures: new LogThrottle(),
    mayWork: () => !isStopping && deps.mayWork(),
    isStopping: () => isStopping,
  };
  const reads = new Set<Promise<void>>();
  /** Begins all due reads without waiting for one, because a slow chain must not delay others. */
  const begin = async () => {
    if (!isAdded)
      await chains.addMany(
        deps.db,
        deps.chains.map(({ chain }) => rowOf(chain)),
      );
    isAdded = true;
    if (!readDeps.mayWork()) return;
    for (const read of await beginDueReads(readDeps)) {
      const ended = read.catch(warn).finally(() => reads.delete(ended));
      reads.add(ended);
    }
  };
  const warn = throttleLog((told) => deps.log.warn(told, 'could not look for chains to read'));
  // If `chainSeconds` is short, checks come after twice that time: after exactly that time, a check
  // would come just before the chain is due.
  const everyMs = Math.min(checkMs, deps.chainSeconds * 2_000);
  const round = async () => {
    await begin().catch(warn);
    return everyMs;
  };
  const rounds = running && deps.chains.length > 0 ? repeat(round, everyMs) : null;
  return {
    async runOnce() {
      await begin();
      await Promise.all(reads);
    },
    async stop() {
      isStopping = true;
      hangUp();
      await rounds?.stop();
      await Promise.all(reads);
    },
  };
}

function rowOf({ name, chain_id }: { name: string; chain_id: number }) {
  return { name, chain_id: BigInt(chain_id) };
}
