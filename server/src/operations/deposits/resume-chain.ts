import * as chains from '../../db/deposits/chains.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refused } from '../refused.ts';

/**
 * Reads a chain on that was stopped, or reads it again from a height on. Deposits that are known
 * stay as they are, so none is credited twice. Throws `Refused`.
 */
export async function resumeChain(
  db: Database,
  name: string,
  from: bigint | null,
): Promise<ActionResult<{ chain: string; stopped_why: string | null }>> {
  const stopped_why = await chains.resume(db, name, from);
  if (stopped_why === undefined)
    throw new Refused(`No chain with the name ${name} was read yet.`, { reason: 'chain_unknown' });
  const details = { stopped_why, from: from === null ? null : String(from) };
  return { answer: { chain: name, stopped_why }, target: name, details };
}
