import type { LiveChain } from '../../chains/chains.ts';
import {
  asExplorersWrite,
  parseHash,
  shownToken,
  transactionUrl,
} from '../../core/deposit/chain.ts';
import * as deposits from '../../db/deposits/deposit-search.ts';
import { creditDeposit, ignoreDeposit } from '../../operations/deposits/decide-deposit.ts';
import { requireAccount } from '../../operations/accounts/account.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import { DepositReason, depositStates, DepositWhy, NewDepositCredit } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Deposits from blockchains, of all accounts: held, credited and ignored. */

const OperatorDeposit = s.namedObject('OperatorDeposit', {
  deposit_id: s.id(),
  chain: s.text(),
  title: s.text("The chain's name for people."),
  token: s.text('Symbol of the token; its contract if the chain is no longer set up.'),
  tx_hash: s.text('As the explorer writes it: without 0x on TRON.'),
  log_position: s.nullable(s.integer()),
  explorer_url: s.nullable(s.text('A page that shows the transaction.')),
  block_height: s.integer(),
  block_at: s.time(),
  from_address: s.text(),
  to_address: s.text(),
  address_url: s.nullable(s.text('A page that shows the address that got it.')),
  amount_usd_micro: s.microUsd(),
  account_id: s.nullable(s.id('Null: no account has the address.')),
  account_email: s.nullable(s.text()),
  account_name: s.nullable(s.text()),
  state: s.choice(depositStates),
  why: s.nullable(DepositWhy),
  transfer_id: s.nullable(s.id()),
  created_at: s.time('When it was found.'),
  credited_at: s.nullable(s.time()),
});

/** GET /operator/deposits: newest first. */
export const list = operatorEndpoint(
  {
    query: s.form({
      state: s.optional(s.choice(depositStates)),
      why: s.optional(DepositWhy),
      chain: s.optional(s.text(undefined, { maxLength: 30 })),
      account_id: s.optional(s.text()),
      tx_hash: s.optional(s.text('With or without 0x.', { maxLength: 100 })),
      ...s.pageQuery(50),
    }),
    reply: s.pageOf(OperatorDeposit),
  },
  async ({ query }, { db, chains: { live } }) => {
    const { state = null, why = null, chain = null, account_id, tx_hash, limit } = query;
    const rows = await deposits.search(db, {
      state,
      why,
      chain,
      account_id: account_id === undefined ? null : requireId(account_id),
      tx_hash: tx_hash === undefined ? null : parseHash(tx_hash),
      below_id: query.cursor ?? null,
      limit: limit + 1,
    });
    return pageFrom(rows, query, (row) => view(row, live));
  },
);

function view({ id: deposit_id, ...row }: deposits.FoundDepositRow, live: readonly LiveChain[]) {
  const chain = live.find((each) => each.chain.name === row.chain)?.chain ?? null;
  const shown = asExplorersWrite(row, live);
  return {
    deposit_id,
    ...shown,
    title: chain?.title ?? row.chain,
    token: shownToken(row, live),
    explorer_url: chain && transactionUrl(chain, row.tx_hash),
    address_url: chain?.explorer ? chain.explorer.address + shown.to_address : null,
  };
}

const DecidedDeposit = s.namedObject('DecidedDeposit', {
  deposit_id: s.id(),
  state: s.choice(['credited', 'ignored']),
  account_id: s.nullable(s.id()),
  amount_usd_micro: s.microUsd(),
  transfer_id: s.nullable(s.id()),
});

/** POST /operator/deposits/{deposit_id}/credit: a held or ignored one; cannot be undone. */
export const credit = operatorAction(
  'deposit.credit',
  {
    params: ['deposit_id'],
    body: s.form(NewDepositCredit),
    reply: DecidedDeposit,
  },
  async ({ params, body: { account, ...how } }, { chains: { live } }) => {
    const deposit_id = requireId(params.deposit_id);
    return async (db) => {
      const named = account === undefined ? null : await requireAccount(db, account);
      return creditDeposit(db, { ...how, deposit_id, account_id: named?.id }, live);
    };
  },
);

/** POST /operator/deposits/{deposit_id}/ignore: a held one, which can be credited later. */
export const ignore = operatorAction(
  'deposit.ignore',
  { params: ['deposit_id'], body: s.form({ reason: DepositReason }), reply: DecidedDeposit },
  async ({ params, body }) => {
    const deposit_id = requireId(params.deposit_id);
    return (db) => ignoreDeposit(db, { deposit_id, reason: body.reason });
  },
);
