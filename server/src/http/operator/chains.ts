import type { LiveChain } from '../../chains/chains.ts';
import { shownToken } from '../../core/deposit/chain.ts';
import { chainState, chainStates, isSecondReadingLate } from '../../core/deposit/chain-state.ts';
import * as chains from '../../db/deposits/chains.ts';
import { countHeld } from '../../db/deposits/deposit-search.ts';
import { chainSums } from '../../ledger/transfers.ts';
import { redact } from '../../lib/log.ts';
import { findDifferingKeys } from '../../operations/deposits/deposit-address.ts';
import { rescanChain } from '../../operations/deposits/rescan-chain.ts';
import { resumeChain } from '../../operations/deposits/resume-chain.ts';
import { runSum } from '../database-share.ts';
import { height } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import type { PaymentDeps, ShareDeps } from '../deps.ts';

/** The blockchains that are read for deposits: their state, and the sums of their deposits. */

const OperatorChain = s.namedObject('OperatorChain', {
  chain: s.text(),
  title: s.text(),
  chain_id: s.integer(),
  state: s.choice([...chainStates, 'not_set_up']),
  endpoints: s.integer('Number of endpoints that are set up.'),
  is_play: s.boolean("True: the trial's own chain, simulated inside the process."),
  key_differs: s.boolean('Its xpub is not the stored one, so no address is shown.'),
  start_height: s.nullable(s.integer()),
  scanned_height: s.nullable(s.integer('The newest final block that was read.')),
  scanned_block_at: s.nullable(s.time('When the block at `scanned_height` was made.')),
  rescanned_height: s.nullable(s.integer('The newest block that was read a second time.')),
  rescan_late: s.boolean('The second reading fails, or is far behind.'),
  rescan_from: s.nullable(s.integer('The next block to read again at the request of an operator.')),
  rescan_to: s.nullable(s.integer('The last block to read again at the request of an operator.')),
  head_height: s.nullable(s.integer('The newest block at the last read.')),
  lag_blocks: s.nullable(s.integer()),
  lag_seconds: s.nullable(s.integer('Age of the newest final block that was read.')),
  read_at: s.nullable(s.time('The last read without an error.')),
  wake_at: s.nullable(s.time('The next read.')),
  failures: s.integer('Consecutive reads that failed.'),
  last_error: s.nullable(s.text()),
  refused_why: s.nullable(s.text('A wrong setting.')),
  stopped_why: s.nullable(s.text()),
  held: s.integer('Deposits that are held.'),
});

type ReadRow = Omit<chains.ChainRow, 'wake_at'> & { wake_at: Date | null };

/** A chain that no worker has begun to read. */
const unread: Omit<ReadRow, 'name' | 'chain_id'> = {
  start_height: null,
  scanned_height: null,
  scanned_hash: null,
  scanned_block_at: null,
  rescanned_height: null,
  rescan_from: null,
  rescan_to: null,
  head_height: null,
  read_at: null,
  wake_at: null,
  attempt: 0,
  failures: 0,
  last_error: null,
  refused_why: null,
  stopped_why: null,
  lag_seconds: null,
  unread_seconds: null,
};

/** GET /operator/chains: the chains that are set up, and chains that were read before. */
export const list = operatorEndpoint(
  { reply: s.object({ data: s.list(OperatorChain) }) },
  (_call, deps: PaymentDeps) => readChains(deps),
);

async function readChains({ db, chains: { live, play } }: PaymentDeps) {
  const [rows, held, differing] = await Promise.all([
    chains.list(db),
    countHeld(db),
    findDifferingKeys(db, live),
  ]);
  const known = new Set(rows.map(({ name }) => name));
  const fresh = live
    .filter(({ chain }) => !known.has(chain.name))
    .map(({ chain: { name, chain_id } }) => ({ ...unread, name, chain_id: BigInt(chain_id) }));
  const data = [...rows, ...fresh].map((row) => {
    const found = live.find(({ chain }) => chain.name === row.name);
    const ofChain = held.filter(({ chain }) => chain === row.name);
    return {
      ...row,
      ...setUpOf(row, found),
      is_play: play !== null && found !== undefined,
      key_differs: found !== undefined && differing.includes(found.key.family),
      wake_at: found && row.stopped_why === null ? row.wake_at : null,
      lag_blocks: blocksBetween(row),
      lag_seconds: row.lag_seconds === null ? null : Math.max(0, Math.round(row.lag_seconds)),
      // An endpoint's message may repeat its address, which contains a key.
      last_error: row.last_error && redact(row.last_error),
      refused_why: row.refused_why && redact(row.refused_why),
      stopped_why: row.stopped_why && redact(row.stopped_why),
      held: ofChain.reduce((sum, { count }) => sum + count, 0),
    };
  });
  return { data };
}

function setUpOf(row: ReadRow, found: LiveChain | undefined) {
  const { name: chain } = row;
  if (!found)
    return { chain, title: chain, endpoints: 0, state: 'not_set_up' as const, rescan_late: false };
  const { title } = found.chain;
  return {
    chain,
    title,
    endpoints: found.endpoints.length,
    state: chainState(row, found.chain),
    rescan_late: isSecondReadingLate(row, found.chain),
  };
}

function blocksBetween({ head_height: head, scanned_height: scanned }: ReadRow): bigint | null {
  if (head === null || scanned === null) return null;
  return head > scanned ? head - scanned : 0n;
}

const ChainSums = s.namedObject('ChainSums', {
  chain: s.text(),
  title: s.text(),
  tokens: s.list(
    s.object({ token: s.text(), deposits: s.integer(), amount_usd_micro: s.microUsd() }),
    'The credited deposits on the chain.',
  ),
  deposits: s.integer('Deposits of all tokens.'),
  amount_usd_micro: s.microUsd(),
  ledger_deposits: s.integer('Deposits in the ledger that name this chain.'),
  ledger_usd_micro: s.microUsd(),
  differs: s.boolean(),
});

const noMoney = { deposits: 0, amount_usd_micro: 0n };

/**
 * GET /operator/chains/sums: sums of credited deposits by chain, and the ledger's sums of the same.
 */
export const sums = operatorEndpoint(
  { reply: s.object({ data: s.list(ChainSums) }) },
  async ({ req, reply }, deps: ShareDeps & PaymentDeps) => {
    const { live } = deps.chains;
    const rows = await runSum(req, reply, deps, () => chainSums(deps.db));
    const data = [...new Set(rows.map(({ chain }) => chain))].map((chain) => {
      const found = live.find((each) => each.chain.name === chain)?.chain;
      const ofChain = rows.filter((row) => row.chain === chain);
      const tokens = ofChain.flatMap(({ token, ...sum }) =>
        token === null ? [] : [{ token: shownToken({ chain, token }, live), ...sum }],
      );
      const deposits = tokens.reduce((sum, each) => sum + each.deposits, 0);
      const amount_usd_micro = tokens.reduce((sum, each) => sum + each.amount_usd_micro, 0n);
      const ledger = ofChain.find(({ token }) => token === null) ?? noMoney;
      return {
        chain,
        title: found?.title ?? chain,
        tokens,
        deposits,
        amount_usd_micro,
        ledger_deposits: ledger.deposits,
        ledger_usd_micro: ledger.amount_usd_micro,
        differs: deposits !== ledger.deposits || amount_usd_micro !== ledger.amount_usd_micro,
      };
    });
    return { data };
  },
);

/** POST /operator/chains/{chain}/resume: reads on where it stopped, or from a lower block. */
export const resume = operatorAction(
  'chain.resume',
  {
    params: ['chain'],
    body: s.form({ from_height: s.optional(height('The first block that is read again.')) }),
    reply: s.object({ chain: s.text(), stopped_why: s.nullable(s.text()) }),
  },
  async ({ params, body: { from_height } }) => {
    const from = from_height === undefined ? null : BigInt(from_height);
    return (db) => resumeChain(db, params.chain, from);
  },
);

/** POST /operator/chains/{chain}/rescan: reads blocks again while new ones are read. */
export const rescan = operatorAction(
  'chain.rescan',
  {
    params: ['chain'],
    body: s.form({
      from_height: height('The first block that is read again.'),
      to_height: s.optional(height('The last block; by default the newest that was read.')),
    }),
    reply: s.object({ chain: s.text(), from: s.integer(), to: s.integer() }),
  },
  async ({ params, body: { from_height, to_height } }) => {
    const to = to_height === undefined ? null : BigInt(to_height);
    return (db) => rescanChain(db, params.chain, BigInt(from_height), to);
  },
);
