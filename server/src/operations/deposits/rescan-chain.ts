import * as chains from '../../db/deposits/chains.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refusal } from '../refusal.ts';

export interface Rescan {
  chain: string;
  from: bigint;
  to: bigint;
}

/**
 * Makes the worker read blocks once more, to find missed deposits, while it reads new blocks as
 * before. Known deposits stay as they are. If `to` is null or was not read yet, the rescan ends at
 * the newest block that was read. Replaces a rescan that has not ended. Throws `Refusal`.
 */
export async function rescanChain(
  db: Database,
  name: string,
  from: bigint,
  to: bigint | null = null,
): Promise<ActionResult<Rescan>> {
  if (to !== null && to < from)
    throw new Refusal(`Block ${to} is before block ${from}: give the lower one first.`, {
      reason: 'blocks_reversed',
    });
  return db.tx(async (tx) => {
    const { scanned_height: scanned, stopped_why } = await lockRead(tx, name);
    if (stopped_why !== null)
      throw new Refusal(`Reading of ${name} is stopped: ${stopped_why}. Resume it first.`, {
        reason: 'chain_stopped',
      });
    if (from > scanned) throw blockUnreadRefusal(name, from, scanned);
    const until = to === null || to > scanned ? scanned : to;
    await chains.setRescan(tx, name, { from, to: until });
    const details = { from: String(from), to: String(until) };
    return { answer: { chain: name, from, to: until }, target: name, details };
  });
}

/** Ends a rescan, for example of blocks that the endpoints no longer have. Throws `Refusal`. */
export function cancelRescan(db: Database, name: string): Promise<ActionResult<{ chain: string }>> {
  return db.tx(async (tx) => {
    await lockRead(tx, name);
    await chains.setRescan(tx, name, null);
    return { answer: { chain: name }, target: name, details: { from: null, to: null } };
  });
}

/**
 * Locks the row of a chain that was read. Throws `Refusal` for a chain that was never read, because
 * it may have been read under another name.
 */
export async function lockRead(
  tx: Connection,
  name: string,
): Promise<{ scanned_height: bigint; stopped_why: string | null }> {
  const chain = await chains.lock(tx, name);
  const scanned_height = chain?.scanned_height ?? null;
  // guard: renamed-chain-is-not-resumed
  if (!chain || scanned_height === null)
    throw new Refusal(`No chain with the name ${name} was read yet.`, { reason: 'chain_unknown' });
  return { ...chain, scanned_height };
}

export function blockUnreadRefusal(name: string, block: bigint, scanned: bigint): Refusal {
  return new Refusal(
    `Block ${block} of ${name} was not read yet: reading is at block ${scanned}.`,
    { reason: 'block_unread', scanned_height: String(scanned) },
  );
}
