import { microPerUsd } from '../price/money.ts';
import type { Token } from './chain.ts';

/** Decides what becomes of a deposit on a chain. Pure. */

/** Why a deposit waits for an operator or for another endpoint. */
export type HeldWhy = 'unconfirmed' | 'unmatched' | 'review';
/** Why a deposit is not credited. */
export type IgnoredWhy = 'dust' | 'token' | 'operator';

export type DepositDecision =
  | { state: 'credited' }
  | { state: 'held'; why: HeldWhy }
  | { state: 'ignored'; why: IgnoredWhy };

/** A transfer of a token, in a final block. */
export interface FoundDeposit {
  token: Pick<Token, 'credit'>;
  amount_usd_micro: bigint;
  /** The account whose address received it; null: no account has that address. */
  account_id: string | null;
  /** Every endpoint of the chain knows it. */
  is_confirmed: boolean;
  /** A transfer of the ledger names its hash: an operator may have credited it by hand. */
  is_mentioned: boolean;
}

export interface DepositRules {
  minimum_usd_micro: bigint;
  /** Larger deposits wait for an operator; null: only deposits above `creditMaxUsdMicro` wait. */
  review_usd_micro: bigint | null;
}

/** A larger deposit cannot be real and is never credited: many of them would not fit a balance. */
export const creditMaxUsdMicro = 1_000_000_000n * microPerUsd;

export function judgeDeposit(found: FoundDeposit, rules: DepositRules): DepositDecision {
  const { amount_usd_micro: amount } = found;
  // Checked first: without confirmation, amount and token are also the word of one endpoint alone.
  // guard: both-endpoints-agree
  if (!found.is_confirmed) return { state: 'held', why: 'unconfirmed' };
  if (!found.token.credit) return { state: 'ignored', why: 'token' };
  // guard: dust-is-ignored
  if (amount < rules.minimum_usd_micro) return { state: 'ignored', why: 'dust' };
  if (found.account_id === null) return { state: 'held', why: 'unmatched' };
  const { review_usd_micro: review } = rules;
  const isLarge = amount > creditMaxUsdMicro || (review !== null && amount > review);
  // guard: credited-by-hand-is-reviewed
  if (found.is_mentioned || isLarge) return { state: 'held', why: 'review' };
  return { state: 'credited' };
}

/**
 * Micro-USD of an amount in the token's smallest unit, rounded down. The operator keeps the rest.
 */
export function microOf(units: bigint, { decimals }: Pick<Token, 'decimals'>): bigint {
  const shift = decimals - 6;
  return shift >= 0 ? units / 10n ** BigInt(shift) : units * 10n ** BigInt(-shift);
}

/**
 * Whether a transfer is too small to be stored. So each stored row costs its sender at least a
 * hundredth of the minimum.
 */
export function isTrifle(
  units: bigint,
  token: Pick<Token, 'decimals'>,
  minimum_usd_micro: bigint,
): boolean {
  // guard: trifles-leave-no-trace
  return microOf(units, token) * 100n < minimum_usd_micro;
}

/** The place of a deposit on its chain. A reorg may change its block, but not this place. */
export interface DepositPlace {
  chain: string;
  tx_hash: string;
  /** The place of its log among the logs of the receipt, from 0. */
  log_position: number;
}

/** The reference of a deposit's transfer in the ledger. */
export function chainReference({ chain, tx_hash, log_position }: DepositPlace): string {
  return `chain:${chain}:${tx_hash}:${log_position}`;
}
