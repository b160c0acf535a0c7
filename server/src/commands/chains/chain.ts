import { readChainFiles } from '../../chains/chains.ts';
import { chainsDir } from '../../config.ts';
import { chainState } from '../../core/deposit/chain-state.ts';
import * as chains from '../../db/deposits/chains.ts';
import { resumeChain } from '../../operations/deposits/resume-chain.ts';
import { commandLine, runAction } from '../../operations/operator-action.ts';
import { print, seconds, table, withDatabase, type Context } from '../output.ts';

const figures = ['FINAL BLOCK', 'NEWEST BLOCK', 'LAG', 'READ AGAIN TO', 'LAST READ', 'FAILURES'];

export async function list(context: Context): Promise<void> {
  const rows = await withDatabase(context, (db) => chains.list(db));
  const files = readChainFiles(chainsDir(context.config), []);
  const data = rows.map((row) => {
    const file = files.find(({ name }) => name === row.name) ?? null;
    return { ...row, state: chainState(row, file) };
  });
  const cells = data.map((row) => [
    row.name,
    row.state,
    String(row.scanned_height ?? '-'),
    String(row.head_height ?? '-'),
    row.lag_seconds === null ? '-' : seconds(Math.max(0, row.lag_seconds)),
    String(row.rescanned_height ?? '-'),
    row.read_at?.toISOString() ?? '-',
    String(row.failures),
  ]);
  const lines = [table(['CHAIN', 'STATE', ...figures], cells), ...rows.flatMap(remarksOn)];
  print(context, { data }, lines.join('\n'));
}

function remarksOn(row: chains.ChainRow): string[] {
  const { name, rescan_from, rescan_to } = row;
  const why = row.stopped_why ?? row.refused_why ?? row.last_error;
  return [
    ...(why === null ? [] : [`${name}: ${why}`]),
    ...(rescan_from === null
      ? []
      : [`${name}: blocks ${rescan_from} to ${rescan_to} are read once more`]),
  ];
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
