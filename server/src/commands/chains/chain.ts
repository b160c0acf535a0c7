import { readChainFiles } from '../../chains/chains.ts';
import { chainsDir } from '../../config.ts';
import { chainState } from '../../core/deposit/chain-state.ts';
import * as chains from '../../db/deposits/chains.ts';
import { height } from '../../http/schemas/operator.ts';
import * as s from '../../http/schemas/schema.ts';
import { resumeChain } from '../../operations/deposits/resume-chain.ts';
import { operand, row } from '../command.ts';
import { act, withDatabase } from '../database.ts';
import { seconds, table, type TableColumns } from '../output.ts';
import { check } from './chain-check.ts';

const name = operand(s.text());

export const verbs = {
  list: row('list chains: how far each is read, or why it is not', {}, async (_, context) => {
    const rows = await withDatabase(context, (db) => chains.list(db));
    const files = readChainFiles(chainsDir(context.config), []);
    const data = rows.map((row) => {
      const file = files.find(({ name }) => name === row.name) ?? null;
      return { ...row, state: chainState(row, file) };
    });
    const text = [table(data, columns), ...rows.flatMap(remarksOn)].join('\n');
    return { json: { data }, text };
  }),
  check: row(
    'ask the endpoints of a chain whether they fit its file; no database needed',
    { name },
    check,
    { example: ['chain check bsc', 'exit 1 if something is wrong'] },
  ),
  resume: row(
    'go on reading a stopped chain, or read blocks again',
    {
      name,
      from: s.optional({
        ...height('read again from this block on; a deposit is credited once'),
        word: 'height',
      }),
    },
    async ({ name, from }, context) => {
      const height = from === undefined ? null : BigInt(from);
      const json = await act(context, 'chain.resume', (db) => resumeChain(db, name, height));
      const where = height === null ? 'where it was' : `from block ${height} on`;
      return { json, text: `${name} is read ${where}.` };
    },
    { example: ['chain resume bsc --from 71230000', 'after a missed deposit'] },
  ),
};

const columns: TableColumns<chains.ChainRow & { state: string }> = {
  CHAIN: 'name',
  STATE: 'state',
  'FINAL BLOCK': ({ scanned_height }) => plain(scanned_height),
  'NEWEST BLOCK': ({ head_height }) => plain(head_height),
  LAG: ({ lag_seconds: lag }) => (lag === null ? null : seconds(Math.max(0, lag))),
  'READ AGAIN TO': ({ rescanned_height }) => plain(rescanned_height),
  'LAST READ': 'read_at',
  FAILURES: 'failures',
};

/** A block's height as text, because amounts of this type are shown in dollars. */
function plain(height: bigint | null): string | null {
  return height === null ? null : String(height);
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
