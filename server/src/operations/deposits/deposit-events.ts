import { asExplorersWrite, type ShownChain } from '../../core/deposit/chain.ts';
import type { DepositPlace, HeldWhy } from '../../core/deposit/deposit.ts';
import type { NewEvent } from '../../core/operator-event.ts';

/** Events to the operator about deposits. Ignored deposits cause no event. */

interface EventDeposit extends Omit<DepositPlace, 'log_position'> {
  id: string;
  log_position: number | null;
  token: string;
  account_id: string | null;
  amount_usd_micro: bigint;
}

/** `chains`: each with its own form of addresses and hashes. */
export function creditedEvent(
  deposit: EventDeposit & { transfer_id: string },
  chains: readonly ShownChain[],
): NewEvent {
  const { account_id, transfer_id } = deposit;
  return {
    type: 'deposit.credited',
    account_id,
    data: { ...dataOf(deposit, chains), transfer_id },
  };
}

export function heldEvent(
  deposit: EventDeposit & { why: HeldWhy },
  chains: readonly ShownChain[],
): NewEvent {
  const { account_id, why } = deposit;
  return { type: 'deposit.held', account_id, data: { ...dataOf(deposit, chains), why } };
}

function dataOf(deposit: EventDeposit, chains: readonly ShownChain[]) {
  const { id: deposit_id, amount_usd_micro } = deposit;
  const { chain, token, tx_hash, log_position } = asExplorersWrite(deposit, chains);
  return {
    deposit_id,
    chain,
    token,
    tx_hash,
    log_position,
    amount_usd_micro: String(amount_usd_micro),
  };
}
