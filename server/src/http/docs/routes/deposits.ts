import { one, type RouteDocs } from '../route-docs.ts';

/** The calls about deposits from blockchains. */

const address = '0x9858EfFD232B4033E47d90003D41EC34EcaEda94';
const tx_hash = `0x${'5c'.repeat(32)}`;

export const depositAddresses: RouteDocs = {
  operationId: 'listDepositAddresses',
  tag: 'Deposits',
  summary: 'List the addresses for deposits',
  description:
    'The addresses for topping up with USDT, one entry for each chain and token; empty if the ' +
    'operator takes no deposits from chains. The first call makes the addresses. They stay valid ' +
    'for ever and take any amount from the minimum on. Send only this token on this chain: ' +
    'others may be lost.',
  replies: {
    200: {
      description: 'The addresses of the account.',
      examples: one({
        data: [
          {
            chain: 'bsc',
            title: 'BNB Chain (BEP20)',
            family: 'evm',
            chain_id: 56,
            token: {
              symbol: 'USDT',
              address: '0x55d398326f99059fF775485246999027B3197955',
              decimals: 18,
            },
            address,
            minimum_usd_micro: '1000000',
            finality: 'finalized',
            confirmations: null,
            block_seconds: 1,
            usual_seconds: 4,
            explorer_url: `https://bscscan.com/address/${address}`,
          },
        ],
      }),
    },
  },
  errors: [],
};

export const listDeposits: RouteDocs = {
  operationId: 'listDeposits',
  tag: 'Deposits',
  summary: 'List deposits from chains',
  description:
    'Deposits at the addresses of the account, newest first. Deposits whose block is not final ' +
    'come first, on the first page, in addition to `limit`. Amounts below a hundredth of the minimum leave no trace.',
  replies: {
    200: {
      description: 'One page.',
      examples: one({
        data: [
          {
            deposit_id: '019b0e4c-7a10-7c3e-9a51-2f4d8e6b0a11',
            chain: 'bsc',
            token: 'USDT',
            address,
            tx_hash,
            log_position: 0,
            amount: '25',
            amount_usd_micro: '25000000',
            state: 'credited',
            why: null,
            confirmations: 12,
            required: null,
            explorer_url: `https://bscscan.com/tx/${tx_hash}`,
            seen_at: '2026-03-14T09:26:51.000Z',
            credited_at: '2026-03-14T09:26:55.000Z',
            transfer_id: '019b0e4c-7a10-7c3e-9a51-2f4d8e6b0a12',
          },
        ],
        next_cursor: null,
      }),
    },
  },
  errors: ['bad_request'],
};
