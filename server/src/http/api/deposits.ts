import {
  asExplorersWrite,
  creditedTokens,
  shownToken,
  transactionUrl,
  usualSeconds,
  type Chain,
} from '../../core/deposit/chain.ts';
import { formatUsd } from '../../core/price/money.ts';
import * as chains from '../../db/deposits/chains.ts';
import * as lists from '../../db/deposits/deposit-lists.ts';
import type { Database } from '../../lib/sql/sql.ts';
import {
  listAddressesForPayer,
  type DepositChain,
  type AccountAddress,
} from '../../operations/deposits/deposit-address.ts';
import { pageFrom } from '../page.ts';
import * as s from '../schemas/schema.ts';
import { keyedEndpoint } from '../endpoint.ts';

/** The addresses to which an account sends USDT, and its deposits. */

const DepositAddress = s.namedObject('DepositAddress', {
  chain: s.text('Name of the chain, such as `tron`.'),
  title: s.text('The name that people know, such as `BNB Chain (BEP20)`.'),
  family: s.choice(['evm', 'tron'], 'The form of its addresses.'),
  chain_id: s.integer('Number of the chain; for EVM chains its number in EIP-155.'),
  token: s.object({
    symbol: s.text('Symbol of the token, such as `USDT`.'),
    address: s.text('Its contract. Other tokens of that name are not credited.'),
    decimals: s.integer('Decimals of its amounts on the chain.'),
  }),
  address: s.text("The account's own address, for any amount at any time, for ever."),
  minimum_usd_micro: s.microUsd('Smaller deposits are not credited.'),
  finality: s.choice(
    ['finalized', 'confirmations'],
    'Credited once the network calls the block final, or after `confirmations` blocks.',
  ),
  confirmations: s.nullable(s.integer('Blocks on top of it before a deposit is credited.')),
  block_seconds: s.nullable(s.integer('Usual seconds between two blocks, rounded up.')),
  usual_seconds: s.nullable(s.integer('Usual time until a deposit is credited.')),
  explorer_url: s.nullable(s.text('A page that shows the address.')),
});

const DepositAddressList = s.namedObject('DepositAddressList', { data: s.list(DepositAddress) });

/** GET /deposit-addresses */
export const addresses = keyedEndpoint(
  { reply: DepositAddressList },
  async ({ req }, { db, chains: { live } }) => {
    const open = await listAddressesForPayer(db, req.caller.account_id, live);
    return { data: open.flatMap((each) => addressesOf(each, live)) };
  },
);

/** An entry for each token that the chain credits. */
function addressesOf(
  { chain, address }: AccountAddress,
  live: readonly DepositChain[],
): s.Static<typeof DepositAddress>[] {
  const { name, title, family, chain_id, minimum_usd_micro, finality, explorer } = chain;
  const written = (token: string) => asExplorersWrite({ chain: name, token }, live).token;
  return creditedTokens(chain).map(({ symbol, decimals, address: contract }) => ({
    chain: name,
    title,
    family,
    chain_id,
    token: { symbol, address: written(contract), decimals },
    address,
    minimum_usd_micro: String(minimum_usd_micro),
    finality: finality === 'finalized' ? finality : 'confirmations',
    confirmations: requiredBy(chain),
    block_seconds: Math.ceil(chain.block_seconds),
    usual_seconds: usualSeconds(chain),
    explorer_url: explorer && explorer.address + address,
  }));
}

const DepositWhy = s.named(
  'DepositWhy',
  s.choice(
    ['unconfirmed', 'review', 'dust', 'token', 'operator'],
    'Why a deposit is held or ignored. unconfirmed: a second source does not know it yet. review: the operator looks at it. dust: less than the minimum. token: another token. operator: decided by the operator.',
  ),
);

const Deposit = s.namedObject('Deposit', {
  deposit_id: s.nullable(s.id('Null until its block is final.')),
  chain: s.text('Name of the chain.'),
  token: s.text('Symbol of the token; its contract if the chain is no longer read.'),
  address: s.text('The address that got it.'),
  tx_hash: s.text('Hash of its transaction, as the explorer writes it: without 0x on TRON.'),
  log_position: s.nullable(s.integer("Its place in the transaction's receipt, from 0.")),
  amount: s.text('Amount of the token with at most six decimals, such as `25.5`.'),
  amount_usd_micro: s.microUsd('The same amount; 1 USDT counts as 1 USD.'),
  state: s.choice(
    ['seen', 'held', 'credited', 'ignored', 'dropped'],
    'seen: its block is not final. held: an operator or a second source has to confirm it. ignored: it is not credited. dropped: the network has removed it.',
  ),
  why: s.nullable(DepositWhy),
  confirmations: s.integer('Blocks on top of it when the chain was last read.'),
  required: s.nullable(s.integer('Blocks that it needs; null: the network says when it is final.')),
  explorer_url: s.nullable(s.text('A page that shows the transaction.')),
  seen_at: s.time('When it was noticed.'),
  credited_at: s.nullable(s.time('When it was added to the balance.')),
  transfer_id: s.nullable(s.id('The id of its transfer on the statement.')),
});

const sightingsMax = 100;

/** GET /deposits */
export const list = keyedEndpoint(
  { query: s.form(s.pageQuery(20)), reply: s.named('DepositList', s.pageOf(Deposit)) },
  async ({ req, query }, { db, chains: { live } }) =>
    depositPage(db, req.caller.account_id, query, live),
);

/** A page of final deposits. The first page begins with the deposits that are not final. */
async function depositPage(
  db: Database,
  account_id: string,
  query: { limit: number; cursor?: string },
  live: readonly DepositChain[],
) {
  const [heads, seen, final] = await Promise.all([
    chains.readHeads(db),
    query.cursor === undefined ? lists.listSightings(db, account_id, sightingsMax) : [],
    lists.listFinal(db, {
      account_id,
      below_id: query.cursor ?? null,
      limit: query.limit + 1,
    }),
  ]);
  const shown = (entry: lists.DepositEntry) => depositOf(entry, heads, live);
  const page = pageFrom(final, query, shown);
  return { ...page, data: [...seen.map(shown), ...page.data] };
}

function depositOf(
  entry: lists.DepositEntry,
  heads: ReadonlyMap<string, bigint>,
  live: readonly DepositChain[],
): s.Static<typeof Deposit> {
  const chain = live.find((each) => each.chain.name === entry.chain)?.chain;
  const { id: deposit_id, log_position, state, why, transfer_id, block_height } = entry;
  const shown = asExplorersWrite(entry, live);
  const above = Number((heads.get(entry.chain) ?? block_height) - block_height);
  return {
    deposit_id,
    chain: entry.chain,
    token: shownToken(entry, live),
    address: shown.to_address,
    tx_hash: shown.tx_hash,
    log_position,
    amount: formatUsd(entry.amount_usd_micro),
    amount_usd_micro: String(entry.amount_usd_micro),
    state,
    why,
    confirmations: Math.max(0, above),
    required: chain ? requiredBy(chain) : null,
    explorer_url: chain ? transactionUrl(chain, entry.tx_hash) : null,
    seen_at: entry.seen_at.toISOString(),
    credited_at: entry.credited_at?.toISOString() ?? null,
    transfer_id,
  };
}

function requiredBy({ finality }: Chain): number | null {
  return finality === 'finalized' ? null : finality.confirmations;
}
