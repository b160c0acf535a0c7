import type { LiveChain } from '../../chains/chains.ts';
import {
  asExplorersWrite,
  parseHash,
  shownToken,
  transactionUrl,
} from '../../core/deposit/chain.ts';
import * as deposits from '../../db/deposits/deposit-search.ts';
import { creditDeposit, ignoreDeposit } from '../../operations/deposits/decide-deposit.ts';
import { needAccount } from '../../operations/accounts/account.ts';
import { idOf, pageFrom } from '../form.ts';
import { DepositReason, depositStates, DepositWhy, NewDepositCredit } from '../schemas/operator.ts';
import {
  choice,
  form,
  id,
  integer,
  microUsd,
  named,
  nullable,
  object,
  optional,
  pageOf,
  pageQuery,
  text,
  time,
} from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Deposits from blockchains, of all accounts: held, credited and ignored. */

const OperatorDeposit = named(
  'OperatorDeposit',
  object({
    deposit_id: id(),
    chain: text(),
    title: text("The chain's name for people."),
    token: text('Symbol of the token; its contract if the chain is no longer set up.'),
    tx_hash: text('As the explorer writes it: without 0x on TRON.'),
    log_position: nullable(integer()),
    explorer_url: nullable(text('A page that shows the transaction.')),
    block_height: integer(),
    block_at: time(),
    from_address: text(),
    to_address: text(),
    address_url: nullable(text('A page that shows the address that got it.')),
    amount_usd_micro: microUsd(),
    account_id: nullable(id('Null: no account has the address.')),
    account_email: nullable(text()),
    state: choice(depositStates),
    why: nullable(DepositWhy),
    transfer_id: nullable(id()),
    created_at: time('When it was found.'),
    credited_at: nullable(time()),
  }),
);

/** GET /operator/deposits: newest first. */
export const list = operatorEndpoint(
  {
    query: form({
      state: optional(choice(depositStates)),
      why: optional(DepositWhy),
      chain: optional(text(undefined, { maxLength: 30 })),
      account_id: optional(text()),
      tx_hash: optional(text('With or without 0x.', { maxLength: 100 })),
      ...pageQuery(50),
    }),
    reply: pageOf(OperatorDeposit),
  },
  async ({ query }, { db, chains: { live } }) => {
    const { state = null, why = null, chain = null, account_id, tx_hash, limit } = query;
    const rows = await deposits.search(db, {
      state,
      why,
      chain,
      account_id: account_id === undefined ? null : idOf(account_id),
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

const DecidedDeposit = named(
  'DecidedDeposit',
  object({
    deposit_id: id(),
    state: choice(['credited', 'ignored']),
    account_id: nullable(id()),
    amount_usd_micro: microUsd(),
    transfer_id: nullable(id()),
  }),
);

/** POST /operator/deposits/{deposit_id}/credit: a held or ignored one; cannot be undone. */
export const credit = operatorAction(
  'deposit.credit',
  {
    params: ['deposit_id'],
    body: form(NewDepositCredit),
    reply: DecidedDeposit,
  },
  async ({ params, body: { account, ...how } }, { chains: { live } }) => {
    const deposit_id = idOf(params.deposit_id);
    return async (db) => {
      const named = account === undefined ? null : await needAccount(db, account);
      return creditDeposit(db, { ...how, deposit_id, account_id: named?.id }, live);
    };
  },
);

/** POST /operator/deposits/{deposit_id}/ignore: a held one, which can be credited later. */
export const ignore = operatorAction(
  'deposit.ignore',
  { params: ['deposit_id'], body: form({ reason: DepositReason }), reply: DecidedDeposit },
  async ({ params, body }) => {
    const deposit_id = idOf(params.deposit_id);
    return (db) => ignoreDeposit(db, { deposit_id, reason: body.reason });
  },
);
