import { asExplorersWrite, transactionUrl } from '../../core/deposit/chain.ts';
import { receiptNumber } from '../../core/account/receipt.ts';
import { ApiError } from '../../core/errors.ts';
import { issueReceipt, type Issuer } from '../../operations/accounts/receipt.ts';
import { requireId } from '../ids.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';
import type { HttpDeps } from '../deps.ts';
import { SourceName } from '../schemas/account.ts';

/** Receipts for paid deposits, and the transactions of deposits from chains. */

export const ChainTransaction = s.namedObject('ChainTransaction', {
  network: s.text('Chain and token, such as `BNB Chain (BEP20), USDT`.'),
  tx_hash: s.text('As the explorer writes it: without 0x on TRON.'),
  explorer_url: s.nullable(s.url('A page that shows the transaction.')),
});

/** The transaction of a deposit from a chain; null for other rows. */
export function transactionOf(
  row: { chain: string | null; token: string | null; tx_hash: string | null },
  { chains }: Pick<HttpDeps, 'chains'>,
) {
  const { chain: name, token, tx_hash: hash } = row;
  if (name === null || hash === null) return null;
  const chain = chains.live.find((each) => each.chain.name === name)?.chain;
  const known = networks({ chains }).find((each) => each.chain === name && each.token === token);
  return {
    network: known?.title ?? name,
    tx_hash: asExplorersWrite({ chain: name, tx_hash: hash }, chains.live).tx_hash,
    explorer_url: chain ? transactionUrl(chain, hash) : null,
  };
}

function networks({ chains }: Pick<HttpDeps, 'chains'>): Issuer['networks'] {
  return chains.live.flatMap(({ chain }) =>
    chain.tokens.map(({ address, symbol }) => {
      return { chain: chain.name, token: address, title: `${chain.title}, ${symbol}` };
    }),
  );
}

/** The seller and the titles of the networks, as a receipt that is issued now gives them. */
export function issuerOf(deps: Pick<HttpDeps, 'chains' | 'seller'>): Issuer {
  return { seller: deps.seller(), networks: networks(deps) };
}

export const Receipt = s.namedObject('Receipt', {
  number: s.text('Its number, such as `R-000123`.'),
  transfer_id: s.id(),
  issued_at: s.time('When it was first requested. Its texts have not changed since.'),
  paid_at: s.time('When the deposit was booked.'),
  seller: s.text('The operator, in lines; the name is the first.'),
  buyer: s.text('The account, in lines; the name is the first.'),
  amount_usd_micro: s.microUsd(),
  source: SourceName,
  reference: s.nullable(s.text()),
  transaction: s.nullable(ChainTransaction),
});

/** The receipt of a deposit, as `Receipt`. Throws `not_found`. */
export async function receiptFor(account_id: string, transferId: string, deps: HttpDeps) {
  const row = await issueReceipt(deps.db, account_id, requireId(transferId), issuerOf(deps));
  if (!row) throw new ApiError('not_found');
  const { number, created_at: issued_at, network, reference, ...shown } = row;
  const transaction = transactionOf(row, deps);
  return {
    ...shown,
    number: receiptNumber(number),
    issued_at,
    reference: transaction ? null : reference,
    transaction: transaction && { ...transaction, network: network ?? transaction.network },
  };
}

/** GET /receipts/:transfer_id: issued at the first call. */
export const read = sessionEndpoint(
  { params: ['transfer_id'], reply: Receipt },
  async ({ req, params }, deps) => receiptFor(req.account_id, params.transfer_id, deps),
);
