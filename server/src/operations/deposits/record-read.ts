import { creditedTokens, type Chain, type Token } from '../../core/deposit/chain.ts';
import {
  chainReference,
  judgeDeposit,
  microOf,
  type DepositPlace,
  type DepositRules,
  type FoundDeposit,
  type HeldWhy,
  type DepositDecision,
} from '../../core/deposit/deposit.ts';
import type { BlockRange, FinalTransfer, SeenTransfer } from '../../core/deposit/transfer.ts';
import { columnMax } from '../../core/price/money.ts';
import * as addresses from '../../db/deposits/addresses.ts';
import * as chainDeposits from '../../db/deposits/chain-deposits.ts';
import * as chains from '../../db/deposits/chains.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import * as sightings from '../../db/deposits/sightings.ts';
import { openBooks, writeBooks } from '../../ledger/ledger.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { DepositChain } from './deposit-address.ts';
import { creditedEvent, heldEvent } from './deposit-events.ts';

/** The result of one read of a chain, or a part of the result. */
export interface ChainRead {
  final: FinalTransfer[];
  /** Null: the blocks above the final one were not read. */
  seen: SeenTransfer[] | null;
  /** Blocks whose deposits remain shown although `seen` lacks them; null: none. */
  skipped: BlockRange | null;
  state: chains.ReadState;
}

export interface CreditedDeposit extends DepositPlace {
  id: string;
  account_id: string;
  amount_usd_micro: bigint;
}

/** The changes of a read; null if a newer attempt has begun, and nothing was written. */
export type RecordedRead = { credited: CreditedDeposit[]; held: number } | null;

/**
 * Writes what a read of a chain found, in one transaction: new deposits with their money, what was
 * seen above the final block, and how far the chain is read. A deposit is written and credited
 * once, however often it is found. `state` null: only the deposits are written.
 */
export function recordRead(
  db: Database,
  { key, ...shown }: DepositChain,
  attempt: number,
  read: Omit<ChainRead, 'state'> & { state: ChainRead['state'] | null },
  reviewUsdMicro: bigint | null,
): Promise<RecordedRead> {
  const { chain } = shown;
  const tokens = new Map(chain.tokens.map((token) => [token.address, token]));
  return db.tx(async (tx) => {
    const found = [...read.final, ...(read.seen ?? [])];
    const receivers = found.map(({ to_address }) => to_address);
    const owners = await addresses.findOwners(tx, key, receivers);
    // Balances come first in every transaction.
    const paid = read.final.flatMap(({ to_address }) => owners.get(to_address) ?? []);
    const books = await openBooks(tx, paid);
    const isNewest = await chains.lockAttempt(tx, { name: chain.name, attempt });
    // guard: newest-read-writes
    if (!isNewest) return null;
    const hashes = [...new Set(read.final.map(({ tx_hash }) => tx_hash))];
    const known = hashes.length === 0 ? [] : await chainDeposits.lockMany(tx, chain.name, hashes);
    const mentioned =
      hashes.length === 0 ? new Set<string>() : await chainDeposits.findMentioned(tx, hashes);
    const { added, changed } = decide(
      read.final.map((each) => ({
        ...each,
        chain: chain.name,
        facts: demandToken(tokens, each.token),
        account_id: owners.get(each.to_address) ?? null,
        is_mentioned: mentioned.has(each.tx_hash),
      })),
      known,
      { minimum_usd_micro: chain.minimum_usd_micro, review_usd_micro: reviewUsdMicro },
    );
    const decided = [...added, ...changed];
    const credited = decided.filter(isCredited);
    const held = decided.filter((each): each is HeldDeposit => each.state === 'held');
    for (const each of credited)
      books.deposit(
        each.transfer_id,
        each.account_id,
        each.amount_usd_micro,
        chainReference(each),
        'chain',
      );
    if (added.length > 0) await chainDeposits.insertMany(tx, added);
    if (changed.length > 0) await chainDeposits.decideMany(tx, changed);
    writeBooks(tx, books);
    await operatorEvents.addMany(tx, [
      ...credited.map((each) => creditedEvent(each, [shown])),
      ...held.map((each) => heldEvent(each, [shown])),
    ]);
    if (read.seen !== null && read.state !== null)
      await sightings.replace(
        tx,
        chain.name,
        shownOf(read.seen, owners, chain),
        read.state.head_height,
        read.skipped,
      );
    if (read.state !== null) await chains.noteRead(tx, chain.name, read.state);
    return { credited, held: held.length };
  });
}

type NewCredit = chainDeposits.NewDeposit & CreditedDeposit & { transfer_id: string };

function isCredited(deposit: chainDeposits.NewDeposit): deposit is NewCredit {
  return deposit.transfer_id !== null && deposit.log_position !== null;
}

type HeldDeposit = chainDeposits.NewDeposit & { why: HeldWhy };

interface DepositCandidate
  extends FinalTransfer, Pick<FoundDeposit, 'account_id' | 'is_mentioned'> {
  chain: string;
  facts: Token;
}

/**
 * Decides on new deposits, and again on deposits that were held as unconfirmed. A deposit that was
 * found several times is decided once, by a copy that is confirmed if there is one.
 */
function decide(
  found: DepositCandidate[],
  stored: readonly chainDeposits.KnownDeposit[],
  rules: DepositRules,
): { added: chainDeposits.NewDeposit[]; changed: chainDeposits.NewDeposit[] } {
  const added: chainDeposits.NewDeposit[] = [];
  const changed: chainDeposits.NewDeposit[] = [];
  const known = new Map(stored.map((row) => [row.id, row]));
  const inOrder = found.toSorted((one, two) => +two.is_confirmed - +one.is_confirmed);
  for (const { facts: token, units, is_confirmed, is_mentioned, ...facts } of inOrder) {
    const earlier = earlierOf(facts, [...known.values()]);
    // guard: deposit-credited-once
    if (earlier && earlier.why !== 'unconfirmed') continue;
    const amount_usd_micro = amountOf(units, token);
    const { account_id } = facts;
    const deposit = { token, amount_usd_micro, account_id, is_confirmed, is_mentioned };
    const decision = decisionOf(judgeDeposit(deposit, rules));
    if (earlier && decision.why === 'unconfirmed') continue;
    const id = earlier?.id ?? newId();
    const { block_log_index = null } = facts;
    const row = {
      ...facts,
      ...decision,
      id,
      block_log_index,
      amount_units: units,
      amount_usd_micro,
    };
    (earlier ? changed : added).push(row);
    known.set(id, row);
  }
  return { added, changed };
}

/**
 * The row of a deposit. Until its place is known, it is found by the number of its log. A row that
 * has no number may be any deposit of its transaction.
 */
function earlierOf(
  found: Pick<DepositCandidate, 'tx_hash' | 'log_position' | 'block_log_index'>,
  known: readonly chainDeposits.KnownDeposit[],
): chainDeposits.KnownDeposit | undefined {
  const { log_position: place, block_log_index: number } = found;
  const rows = known.filter(({ tx_hash }) => tx_hash === found.tx_hash);
  const placed = rows.find(({ log_position }) => log_position !== null && log_position === place);
  const isNumbered = (row: chainDeposits.KnownDeposit) =>
    row.block_log_index === null || row.block_log_index === number;
  return (
    placed ?? rows.find((row) => (place === null || row.log_position === null) && isNumbered(row))
  );
}

/** The deposits above the final block, as the pages show them: dust is left out. */
function shownOf(
  seen: SeenTransfer[],
  owners: ReadonlyMap<string, string>,
  chain: Chain,
): sightings.Sighting[] {
  const credited = new Map(creditedTokens(chain).map((each) => [each.address, each]));
  const shown = seen.flatMap(({ units, ...each }) => {
    const account_id = owners.get(each.to_address);
    const token = credited.get(each.token);
    if (account_id === undefined || !token) return [];
    const amount_usd_micro = amountOf(units, token);
    if (amount_usd_micro < chain.minimum_usd_micro) return [];
    return [{ ...each, account_id, amount_usd_micro }];
  });
  // A node may give one number to several logs.
  return [
    ...new Map(
      shown.map((each) => [`${each.tx_hash}:${each.block_log_index}`, each] as const),
    ).values(),
  ];
}

function decisionOf(
  verdict: DepositDecision,
): Pick<chainDeposits.NewDeposit, 'state' | 'why' | 'transfer_id'> {
  if (verdict.state === 'credited') return { state: 'credited', why: null, transfer_id: newId() };
  return { ...verdict, transfer_id: null };
}

function demandToken(tokens: ReadonlyMap<string, Token>, address: string): Token {
  const token = tokens.get(address);
  if (!token) throw new Error(`a transfer of ${address}, which is no token of the chain file`);
  return token;
}

/** At most what a balance can hold: a larger amount is not real, and an operator looks at it. */
function amountOf(units: bigint, token: Token): bigint {
  const amount = microOf(units, token);
  return amount > columnMax ? columnMax : amount;
}
