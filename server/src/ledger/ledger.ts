import type { Source } from '../core/account/source.ts';
import { newId } from '../lib/id.ts';
import { rowsOf } from '../lib/sql/rows-of.ts';
import { sql, type Transaction } from '../lib/sql/sql.ts';

/**
 * The books. Every change of money is a transfer between two accounts; a reservation is a pending
 * transfer that is settled once, by a charge of at most its amount or by a release. All amounts are
 * micro-USD.
 *
 * Use: `openBooks` locks the accounts' rows, the methods decide on their values, and `writeBooks`
 * sends the decided changes. All three belong in the transaction that also changes the request's
 * status.
 */

/**
 * The operator's side of each transfer. The totals of these accounts are computed when needed, so
 * there is no row that every transaction has to update.
 */
export const operatorAccounts = {
  deposits: '00000000-0000-0000-0000-000000000001',
  revenue: '00000000-0000-0000-0000-000000000002',
  adjustments: '00000000-0000-0000-0000-000000000003',
  debts: '00000000-0000-0000-0000-000000000004',
} as const;

export type TransferKind =
  | 'deposit'
  | 'adjustment'
  | 'reserve'
  | 'charge'
  | 'release'
  | 'debt'
  | 'expiry';

interface Sides {
  id: string;
  account_id: string;
  seq: bigint;
  kind: TransferKind;
  debit_account_id: string;
  credit_account_id: string;
  amount: bigint;
  available_after: bigint;
}

interface Transfer extends Sides {
  pending_id: string | null;
  key_id: string | null;
  source: Source | null;
  /** For a refund: the request that it gives money back for. */
  refunded_id: string | null;
  reference: string | null;
  reason: string | null;
}

interface Balance {
  account_id: string;
  debits_pending: bigint;
  debits_posted: bigint;
  credits_posted: bigint;
  /** Money that was lent to the account and is not paid back. */
  debt: bigint;
  last_seq: bigint;
  open_requests: number;
  /** Bytes of input submitted today (UTC). */
  kept_bytes: bigint;
}

/** The values that are checked against an account's ceilings. */
export interface LimitUsage {
  open_requests: number;
  kept_bytes: bigint;
}

export interface Funds {
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
  debt_usd_micro: bigint;
}

export interface Hold {
  request_id: string;
  account_id: string;
  key_id: string;
  amount: bigint;
  opens_job: boolean;
  /** Size of the stored input. */
  bytes: number;
}

export interface Settlement {
  /** Id of the charge or release. */
  id: string;
  request_id: string;
  account_id: string;
  reserved: bigint;
  /**
   * The charge; the rest of the reservation is returned. Null: a release, which returns all of it.
   */
  charge: bigint | null;
  closes_job: boolean;
}

export interface Refund {
  account_id: string;
  amount: bigint;
  source: 'refund';
  refunded_id: string;
  reference: string;
  reason: string;
}

export interface Adjustment {
  account_id: string;
  /** Negative: money is taken away. */
  amount: bigint;
  reference: string;
  reason: string;
  /** If the available balance does not cover it, the rest becomes a debt. */
  allows_debt: boolean;
}

export class Books {
  readonly #balances: Map<string, Balance>;
  readonly #before: Map<string, Balance>;
  readonly #transfers: Transfer[] = [];

  constructor(balances: Balance[]) {
    this.#balances = new Map(balances.map((balance) => [balance.account_id, { ...balance }]));
    this.#before = new Map(balances.map((balance) => [balance.account_id, balance]));
  }

  funds(accountId: string): Funds {
    const balance = this.#balance(accountId);
    return {
      available_usd_micro: available(balance),
      reserved_usd_micro: balance.debits_pending,
      debt_usd_micro: balance.debt,
    };
  }

  holding(accountId: string): LimitUsage {
    return this.#balance(accountId);
  }

  /** Returns false and changes nothing if the available balance does not cover the amount. */
  reserve(hold: Hold): boolean {
    const balance = this.#balance(hold.account_id);
    // guard: covered-by-balance
    if (available(balance) < hold.amount) return false;
    balance.debits_pending += hold.amount;
    if (hold.opens_job) balance.open_requests += 1;
    balance.kept_bytes += BigInt(hold.bytes);
    this.#add(
      balance,
      hold.request_id,
      'reserve',
      hold.account_id,
      operatorAccounts.revenue,
      hold.amount,
      {
        key_id: hold.key_id,
      },
    );
    return true;
  }

  /**
   * Ends a reservation. The caller holds the request's row lock and has checked that it is open.
   * Throws if the charge exceeds the reservation.
   */
  settle(settlement: Settlement): void {
    const { id, account_id, request_id, reserved, charge } = settlement;
    const balance = this.#balance(account_id);
    // guard: charge-within-reservation
    if (charge !== null && (charge < 0n || charge > reserved)) {
      throw new Error(`charge ${charge} outside the reservation ${reserved} of ${request_id}`);
    }
    balance.debits_pending -= reserved;
    if (settlement.closes_job) balance.open_requests -= 1;
    const links = { pending_id: request_id };
    if (charge === null) {
      this.#add(balance, id, 'release', account_id, operatorAccounts.revenue, reserved, links);
    } else {
      balance.debits_posted += charge;
      this.#add(balance, id, 'charge', account_id, operatorAccounts.revenue, charge, links);
    }
  }

  deposit(id: string, accountId: string, amount: bigint, reference: string, source: Source): void {
    const balance = this.#balance(accountId);
    balance.credits_posted += amount;
    const links = { reference, source };
    this.#add(balance, id, 'deposit', operatorAccounts.deposits, accountId, amount, links);
    // guard: debt-paid-first
    this.#payDebt(balance, amount);
  }

  /**
   * Gives back a part of a request's charge, out of revenue. The caller has checked that the charge
   * covers it.
   */
  refund(id: string, refund: Refund): void {
    const { account_id, amount, ...links } = refund;
    const balance = this.#balance(account_id);
    balance.credits_posted += amount;
    const { revenue } = operatorAccounts;
    this.#add(balance, id, 'deposit', revenue, account_id, amount, links);
    this.#payDebt(balance, amount);
  }

  /**
   * Corrects the balance up (a positive amount) or down. If a correction down exceeds the available
   * balance, the rest is lent to the account if `allows_debt`. Otherwise nothing changes, and the
   * result is false.
   */
  adjust(id: string, { account_id, amount, allows_debt, ...links }: Adjustment): boolean {
    const balance = this.#balance(account_id);
    const { adjustments } = operatorAccounts;
    if (amount > 0n) {
      balance.credits_posted += amount;
      this.#add(balance, id, 'adjustment', adjustments, account_id, amount, links);
      this.#payDebt(balance, amount);
      return true;
    }
    const short = -amount - available(balance);
    // guard: debt-is-allowed
    if (short > 0n && !allows_debt) return false;
    if (short > 0n) this.#lend(balance, short);
    balance.debits_posted += -amount;
    this.#add(balance, id, 'adjustment', account_id, adjustments, -amount, links);
    return true;
  }

  /** Takes back the unspent part of a bonus whose end has come. */
  expire(id: string, accountId: string, amount: bigint): void {
    const balance = this.#balance(accountId);
    balance.debits_posted += amount;
    this.#add(balance, id, 'expiry', accountId, operatorAccounts.deposits, amount, {});
  }

  /** All that was ever taken from the account, without open reservations. */
  taken(accountId: string): bigint {
    return this.#balance(accountId).debits_posted;
  }

  #lend(balance: Balance, amount: bigint): void {
    balance.debt += amount;
    balance.credits_posted += amount;
    const { debts } = operatorAccounts;
    this.#add(balance, newId(), 'debt', debts, balance.account_id, amount, {});
  }

  /** Pays the debt out of money that has just come in, before anything else can take it. */
  #payDebt(balance: Balance, incoming: bigint): void {
    const amount = balance.debt < incoming ? balance.debt : incoming;
    if (amount === 0n) return;
    balance.debt -= amount;
    balance.debits_posted += amount;
    const { debts } = operatorAccounts;
    this.#add(balance, newId(), 'debt', balance.account_id, debts, amount, {});
  }

  /**
   * The changes for `writeBooks`: the differences of the changed balances, and the new transfers in
   * order.
   */
  changes(): { balances: Balance[]; transfers: Transfer[] } {
    const touched = new Set(this.#transfers.map((transfer) => transfer.account_id));
    const balances = [...touched].sort().map((id) => {
      const after = this.#balance(id);
      const before = this.#before.get(id)!;
      return {
        account_id: id,
        debits_pending: after.debits_pending - before.debits_pending,
        debits_posted: after.debits_posted - before.debits_posted,
        credits_posted: after.credits_posted - before.credits_posted,
        debt: after.debt - before.debt,
        last_seq: after.last_seq - before.last_seq,
        open_requests: after.open_requests - before.open_requests,
        kept_bytes: after.kept_bytes - before.kept_bytes,
      };
    });
    return { balances, transfers: this.#transfers };
  }

  #balance(accountId: string): Balance {
    const balance = this.#balances.get(accountId);
    if (!balance) throw new Error(`no balance is open for account ${accountId}`);
    return balance;
  }

  #add(
    balance: Balance,
    id: string,
    kind: TransferKind,
    debit: string,
    credit: string,
    amount: bigint,
    links: Partial<Omit<Transfer, keyof Sides>>,
  ): void {
    balance.last_seq += 1n;
    this.#transfers.push({
      id,
      account_id: balance.account_id,
      seq: balance.last_seq,
      kind,
      debit_account_id: debit,
      credit_account_id: credit,
      amount,
      available_after: available(balance),
      pending_id: null,
      key_id: null,
      source: null,
      refunded_id: null,
      reference: null,
      reason: null,
      ...links,
    });
  }
}

function available(balance: Balance): bigint {
  return balance.credits_posted - balance.debits_posted - balance.debits_pending;
}

/** Locks the accounts' balances for the rest of the transaction. Unknown accounts are ignored. */
export async function openBooks(tx: Transaction, accountIds: string[]): Promise<Books> {
  // In id order: two transactions that lock the same accounts in different orders would deadlock.
  const rows = await tx.run<Balance>(sql`
    select account_id, debits_pending, debits_posted, credits_posted, debt, last_seq,
      open_requests,
      case when kept_on >= (now() at time zone 'utc')::date then kept_bytes else 0 end as kept_bytes
    from balances
    where account_id = any(${[...new Set(accountIds)]}::uuid[]) order by account_id
    for update -- guard: balances-locked`);
  return new Books(rows);
}

/** Sends the new transfers and the changes of the balances. */
export function writeBooks(tx: Transaction, books: Books): void {
  const { balances, transfers } = books.changes();
  if (transfers.length === 0) return;
  tx.send(sql`
    with booked as (
      insert into transfers (id, account_id, seq, kind, debit_account_id, credit_account_id,
        amount_usd_micro, available_after_usd_micro, pending_id, key_id, source, refunded_id,
        reference, reason)
      select * from ${rowsOf(transfers, {
        id: 'uuid',
        account_id: 'uuid',
        seq: 'bigint',
        kind: 'text',
        debit_account_id: 'uuid',
        credit_account_id: 'uuid',
        amount: 'bigint',
        available_after: 'bigint',
        pending_id: 'uuid',
        key_id: 'uuid',
        source: 'text',
        refunded_id: 'uuid',
        reference: 'text',
        reason: 'text',
      })} as d
    )
    update balances b set
      debits_pending = b.debits_pending + d.debits_pending,
      debits_posted = b.debits_posted + d.debits_posted,
      credits_posted = b.credits_posted + d.credits_posted, debt = b.debt + d.debt,
      last_seq = b.last_seq + d.last_seq,
      open_requests = b.open_requests + d.open_requests,
      kept_on = greatest(b.kept_on, (now() at time zone 'utc')::date),
      kept_bytes = d.kept_bytes
        + case when b.kept_on >= (now() at time zone 'utc')::date then b.kept_bytes else 0 end
    from ${rowsOf(balances, {
      account_id: 'uuid',
      debits_pending: 'bigint',
      debits_posted: 'bigint',
      credits_posted: 'bigint',
      debt: 'bigint',
      last_seq: 'bigint',
      open_requests: 'int',
      kept_bytes: 'bigint',
    })} as d
    where b.account_id = d.account_id`);
}
