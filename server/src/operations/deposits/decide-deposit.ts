import { reasonMax } from '../../core/account/booking.ts';
import type { ShownChain } from '../../core/deposit/chain.ts';
import {
  chainReference,
  creditMaxUsdMicro,
  type DepositPlace,
} from '../../core/deposit/deposit.ts';
import { formatUsd } from '../../core/price/money.ts';
import * as chainDeposits from '../../db/deposits/chain-deposits.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import { openBooks, writeBooks } from '../../ledger/ledger.ts';
import { isUuid, newId } from '../../lib/id.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { requireAccount } from '../accounts/account.ts';
import { demandLine } from '../line.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refusal } from '../refusal.ts';
import { creditedEvent } from './deposit-events.ts';

/** Decisions of an operator on deposits that were not credited automatically. */

/** The deposit after the decision. */
export interface DecidedDeposit {
  deposit_id: string;
  state: 'credited' | 'ignored';
  account_id: string | null;
  amount_usd_micro: bigint;
  transfer_id: string | null;
}

export interface CreditWanted {
  deposit_id: string;
  /**
   * The account that gets the deposit. If the address has an owner, no other account is accepted.
   * May be left out only if there is an owner and the deposit is held for review or is dust. In
   * other cases naming the account confirms a token that is not credited, or a deposit that only
   * one endpoint has reported.
   */
  account_id?: string | null | undefined;
  /** True: credits the deposit although another booking names its transaction. */
  allows_booked?: boolean | undefined;
  /** For the operator's log. */
  reason?: string | undefined;
}

/**
 * Credits a held or ignored deposit with the amount of its row. This is never undone. For a token
 * that the chain file does not credit, the amount counts one token as one US dollar; the operator
 * agrees by naming the account. `described`: the chains, for the event. Throws `Refusal`.
 */
export function creditDeposit(
  db: Database,
  { deposit_id, account_id: named, allows_booked = false, ...wanted }: CreditWanted,
  described: readonly ShownChain[],
): Promise<ActionResult<DecidedDeposit>> {
  const reason = reasonOf(wanted.reason);
  return db.tx(async (tx) => {
    const found = await demandDeposit(tx, deposit_id, chainDeposits.find);
    const account_id = await chooseReceiver(tx, found, named);
    // Balances come first in every transaction.
    const books = await openBooks(tx, [account_id]);
    const deposit = await demandDeposit(tx, deposit_id, chainDeposits.lock);
    const { amount_usd_micro, state, why, tx_hash } = deposit;
    // Another endpoint may have corrected the deposit since `find`.
    if (deposit.account_id !== found.account_id || why !== found.why)
      throw new Refusal('This deposit has just changed. Look at it again.', {
        reason: 'deposit_changed',
      });
    if (amount_usd_micro <= 0n || amount_usd_micro > creditMaxUsdMicro)
      throw new Refusal(
        `A deposit of ${formatUsd(amount_usd_micro)} USD cannot be credited: it must be more than 0 and at most ${formatUsd(creditMaxUsdMicro)} USD.`,
        { reason: 'deposit_amount' },
      );
    const place = placeOf(deposit);
    const mentioned = await chainDeposits.findMentioned(tx, [tx_hash]);
    // guard: credited-by-hand-is-asked
    if (!allows_booked && mentioned.has(tx_hash))
      throw new Refusal(
        'A booking by hand already names this transaction in its reference. Credit the deposit only if that booking was for another payment.',
        { reason: 'deposit_booked' },
      );
    const transfer_id = newId();
    const reference = chainReference(place);
    books.deposit(transfer_id, account_id, amount_usd_micro, reference, 'chain');
    await chainDeposits.credit(tx, { id: deposit_id, account_id, transfer_id });
    writeBooks(tx, books);
    await operatorEvents.addMany(tx, [
      creditedEvent({ ...deposit, account_id, transfer_id }, described),
    ]);
    return {
      answer: { deposit_id, state: 'credited', account_id, amount_usd_micro, transfer_id },
      account_id,
      target: deposit_id,
      details: {
        amount_usd_micro: String(amount_usd_micro),
        reference,
        before: { state, why },
        ...reason,
        transfer_id,
      },
    };
  });
}

/** Ignores a held deposit. It may still be credited later. Throws `Refusal`. */
export function ignoreDeposit(
  db: Database,
  { deposit_id, reason: given }: { deposit_id: string; reason: string },
): Promise<ActionResult<DecidedDeposit>> {
  const reason = reasonOf(given);
  return db.tx(async (tx) => {
    const deposit = await demandDeposit(tx, deposit_id, chainDeposits.lock);
    const { account_id, amount_usd_micro, state, why } = deposit;
    if (state === 'ignored')
      throw new Refusal('This deposit is already ignored.', { reason: 'deposit_ignored' });
    await chainDeposits.ignore(tx, deposit_id);
    return {
      answer: { deposit_id, state: 'ignored', account_id, amount_usd_micro, transfer_id: null },
      account_id,
      target: deposit_id,
      details: {
        amount_usd_micro: String(amount_usd_micro),
        reference: deposit.log_position === null ? null : chainReference(placeOf(deposit)),
        before: { state, why },
        ...reason,
      },
    };
  });
}

/** The place of a deposit. Throws `Refusal` if it is not known: another row may be the same one. */
function placeOf({ chain, tx_hash, log_position }: chainDeposits.OpenDeposit): DepositPlace {
  if (log_position !== null) return { chain, tx_hash, log_position };
  throw new Refusal(
    'No endpoint has shown the receipt of this transaction yet, so nobody knows where in it the deposit is. Set another endpoint, or book the amount by hand with the hash of the transaction as the reference.',
    { reason: 'deposit_unplaced' },
  );
}

function reasonOf(given: string | undefined): { reason?: string } {
  return given === undefined ? {} : { reason: demandLine('reason', given, reasonMax) };
}

/** The deposit. Throws `Refusal` if it is unknown or was credited. */
async function demandDeposit(
  db: Connection,
  id: string,
  load: typeof chainDeposits.find,
): Promise<chainDeposits.OpenDeposit> {
  const deposit = isUuid(id) ? await load(db, id) : null;
  if (!deposit)
    throw new Refusal(`There is no deposit with the id ${id}.`, { reason: 'deposit_unknown' });
  // guard: deposit-decided-once
  if (deposit.state === 'credited')
    throw new Refusal('This deposit was already credited, and that is never undone.', {
      reason: 'deposit_credited',
    });
  return deposit;
}

/** Says why the account must be named. */
function namingOf(
  owner: string | null,
  why: chainDeposits.OpenDeposit['why'],
): ConstructorParameters<typeof Refusal> {
  if (owner === null)
    return [
      'No account has the address of this deposit. Name the account that gets it.',
      { reason: 'deposit_unmatched' },
    ];
  if (why === 'token')
    return [
      'The chain file does not credit this token. If one token is worth one US dollar to you, name the account; otherwise book its value by hand.',
      { reason: 'deposit_token' },
    ];
  return [
    'Nothing has confirmed the token and the amount of this deposit. Compare them with an explorer, then name the account.',
    { reason: 'deposit_unconfirmed' },
  ];
}

/** The account that gets the deposit. */
async function chooseReceiver(
  db: Connection,
  { account_id: owner, why }: chainDeposits.OpenDeposit,
  named: string | null = null,
): Promise<string> {
  const isOwners = owner !== null && (why === 'review' || why === 'dust');
  if (named === null && !isOwners) throw new Refusal(...namingOf(owner, why));
  const { id } = await requireAccount(db, named ?? owner!);
  // guard: deposit-stays-with-owner
  if (owner !== null && id !== owner)
    throw new Refusal(
      'The address of this deposit belongs to another account. Credit it there, and correct the two balances if need be.',
      { reason: 'deposit_of_other' },
    );
  return id;
}
