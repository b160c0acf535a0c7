import * as chains from '../../db/deposits/chains.ts';
import { resumeChain } from '../../operations/deposits/resume-chain.ts';
import { commandLine, runAction } from '../../operations/operator-action.ts';
import { print, table, withDatabase, type Context } from '../output.ts';

const head = ['CHAIN', 'READ TO', 'HEAD', 'LAST READ', 'FAILURES', 'STATE'];

export async function list(context: Context): Promise<void> {
  const rows = await withDatabase(context, (db) => chains.list(db));
  const cells = rows.map((row) => [
    row.name,
    String(row.scanned_height ?? '-'),
    String(row.head_height ?? '-'),
    row.read_at?.toISOString() ?? '-',
    String(row.failures),
    stateOf(row),
  ]);
  print(context, { data: rows }, table(head, cells));
}

function stateOf(row: chains.ChainRow): string {
  const { stopped_why, refused_why, last_error, rescan_from, rescan_to } = row;
  if (stopped_why !== null) return `stopped: ${stopped_why}`;
  const error = refused_why ?? last_error;
  if (error !== null) return error;
  return rescan_from === null ? 'read' : `read; blocks ${rescan_from} to ${rescan_to} once more`;
}

export async function resume(
  context: Context,
  name: string,
  { from }: { from?: number },
): Promise<void> {
  const height = from === undefined ? null : BigInt(from);
  const done = await withDatabase(context, (db) =>
    runAction(db, commandLine, 'chain.resume', (inside) => resumeChain(inside, name, height)),
  );
  const where = height === null ? 'where it was' : `from block ${height} on`;
  print(context, done, `${name} is read ${where}.`);
}
