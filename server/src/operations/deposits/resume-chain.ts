import * as chains from '../../db/deposits/chains.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { lockRead, blockUnreadRefusal } from './rescan-chain.ts';

/**
 * Makes the worker continue a stopped chain, or read a chain again from a height on. Known deposits
 * stay as they are, so no deposit is credited twice. Throws `Refusal`.
 */
export function resumeChain(
  db: Database,
  name: string,
  from: bigint | null,
): Promise<ActionResult<{ chain: string; stopped_why: string | null }>> {
  return db.tx(async (tx) => {
    const { stopped_why, scanned_height: scanned } = await lockRead(tx, name);
    if (from !== null && from > scanned + 1n) throw blockUnreadRefusal(name, from, scanned);
    await chains.resume(tx, name, from);
    const details = { stopped_why, from: from === null ? null : String(from) };
    return { answer: { chain: name, stopped_why }, target: name, details };
  });
}
