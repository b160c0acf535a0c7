/**
 * The whole ledger in memory, as simple as possible, without locks, batches, SQL and time. After
 * every step the real ledger must agree with it.
 */

export type Verdict =
  | 'booked'
  | 'replayed'
  | 'refused'
  | 'accepted'
  | 'insufficient_balance'
  | 'key_limit_reached'
  | 'rate_limited'
  | 'idempotency_conflict'
  | 'ended'
  | 'overtaken'
  | 'error'
  | 'begun'
  | 'claimed'
  | 'nothing';

export interface ModelKey {
  account: number;
  limit: bigint | null;
  open_jobs: number;
  pending: bigint;
  posted: bigint;
  open: number;
}

export interface ModelRequest {
  key: number;
  quoted: bigint;
  charged: bigint | null;
  refunded: bigint;
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
  attempt: number;
  /** Whether the request holds a slot of the upstream. */
  slot: boolean;
  is_call: boolean;
  idempotency: { key: string; body: string } | null;
}

export interface ModelAccount {
  credits: bigint;
  debits: bigint;
  pending: bigint;
  debt: bigint;
}

export interface Ask {
  key: number;
  amount: bigint;
  idempotency: { key: string; body: string } | null;
  is_call: boolean;
}

export type Finish =
  | { to: 'COMPLETED'; charge: bigint; attempt: number }
  | { to: 'FAILED'; attempt: number }
  | { to: 'CANCELLED' };

export class LedgerModel {
  accounts: ModelAccount[];
  keys: ModelKey[];
  requests: ModelRequest[] = [];
  #references = new Map<string, string>();

  constructor(accounts: number, keys: Pick<ModelKey, 'account' | 'limit' | 'open_jobs'>[]) {
    this.accounts = Array.from({ length: accounts }, () => ({
      credits: 0n,
      debits: 0n,
      pending: 0n,
      debt: 0n,
    }));
    this.keys = keys.map((key) => ({ ...key, pending: 0n, posted: 0n, open: 0 }));
  }

  available(account: number): bigint {
    const { credits, debits, pending } = this.accounts[account]!;
    return credits - debits - pending;
  }

  book(
    kind: 'deposit' | 'adjust',
    account: number,
    amount: bigint,
    { reference, allows_debt }: { reference: string; allows_debt: boolean },
  ): Verdict {
    if (amount === 0n || (kind === 'deposit' && amount < 0n)) return 'refused';
    const said = `${kind} ${account} ${amount}`;
    const earlier = this.#references.get(reference);
    if (earlier !== undefined) return earlier === said ? 'replayed' : 'refused';
    const short = -amount - this.available(account);
    if (short > 0n && !(kind === 'adjust' && allows_debt)) return 'refused';
    this.#references.set(reference, said);
    const row = this.accounts[account]!;
    if (amount > 0n) this.#receive(account, amount);
    else {
      if (short > 0n) {
        row.credits += short;
        row.debt += short;
      }
      row.debits -= amount;
    }
    return 'booked';
  }

  /** The verdict, and the index of the request; for a replay, of the earlier request. */
  submit(ask: Ask): [verdict: Verdict, request: number] {
    const key = this.keys[ask.key]!;
    const earlier = this.#earlier(key.account, ask.idempotency?.key);
    if (earlier !== -1) {
      const same = this.requests[earlier]!.idempotency!.body === ask.idempotency!.body;
      return [same ? 'replayed' : 'idempotency_conflict', earlier];
    }
    if (!ask.is_call && key.open >= key.open_jobs) return ['rate_limited', -1];
    if (key.limit !== null && key.pending + key.posted + ask.amount > key.limit)
      return ['key_limit_reached', -1];
    if (this.available(key.account) < ask.amount) return ['insufficient_balance', -1];
    key.pending += ask.amount;
    this.accounts[key.account]!.pending += ask.amount;
    if (!ask.is_call) key.open++;
    const { idempotency, is_call } = ask;
    const state = is_call
      ? { status: 'IN_PROGRESS' as const, attempt: 1 }
      : { status: 'IN_QUEUE' as const, attempt: 0 };
    this.requests.push({
      key: ask.key,
      quoted: ask.amount,
      charged: null,
      refunded: 0n,
      slot: false,
      is_call,
      idempotency,
      ...state,
    });
    return ['accepted', this.requests.length - 1];
  }

  /** Requests that may be claimed: the oldest waiting request of each account. */
  claimable(): number[] {
    const seen = new Set<number>();
    return this.requests.flatMap(({ key, status, slot }, i) => {
      const { account } = this.keys[key]!;
      if (status !== 'IN_QUEUE' || slot || seen.has(account)) return [];
      seen.add(account);
      return [i];
    });
  }

  claim(request: number): void {
    const row = this.requests[request]!;
    row.slot = true;
    row.attempt++;
  }

  /** Another worker claims the request: writes that name the earlier attempt change nothing. */
  reclaim(request: number): Verdict {
    const row = this.requests[request]!;
    if (!isOpen(row) || (row.status === 'IN_QUEUE' && !row.slot)) return 'nothing';
    row.attempt++;
    return 'claimed';
  }

  begin(request: number, attempt: number): Verdict {
    const row = this.requests[request]!;
    if (!isOpen(row) || row.attempt !== attempt) return 'overtaken';
    row.status = 'IN_PROGRESS';
    row.slot = true;
    return 'begun';
  }

  finish(request: number, finish: Finish): Verdict {
    const row = this.requests[request]!;
    const { to } = finish;
    const may =
      to === 'CANCELLED'
        ? row.status === 'IN_QUEUE'
        : row.attempt === finish.attempt &&
          (row.status === 'IN_PROGRESS' || (row.status === 'IN_QUEUE' && to === 'FAILED'));
    if (!may) return 'overtaken';
    const charge = to === 'COMPLETED' ? finish.charge : 0n;
    if (charge < 0n || charge > row.quoted) return 'error';
    const key = this.keys[row.key]!;
    const account = this.accounts[key.account]!;
    account.pending -= row.quoted;
    account.debits += charge;
    key.pending -= row.quoted;
    key.posted += charge;
    if (!row.is_call) key.open--;
    Object.assign(row, { status: to, charged: charge, slot: false });
    if (to === 'FAILED' && row.is_call) row.idempotency = null;
    return 'ended';
  }

  /** Refunds a part of the charge; `amount` null: all that is left of it. */
  refund(request: number, amount: bigint | null, reference: string): Verdict {
    if (amount !== null && amount <= 0n) return 'refused';
    const row = this.requests[request]!;
    const earlier = this.#references.get(reference);
    const said = `refund ${request} `;
    if (earlier !== undefined) {
      const isSame = amount === null ? earlier.startsWith(said) : earlier === said + amount;
      return isSame ? 'replayed' : 'refused';
    }
    const left = (row.charged ?? 0n) - row.refunded;
    const given = amount ?? left;
    if (left === 0n || given > left) return 'refused';
    this.#references.set(reference, said + given);
    row.refunded += given;
    this.#receive(this.keys[row.key]!.account, given);
    return 'booked';
  }

  /** Adds money to the account; it pays the debt first. */
  #receive(account: number, amount: bigint): void {
    const row = this.accounts[account]!;
    const paid = row.debt < amount ? row.debt : amount;
    row.credits += amount;
    row.debits += paid;
    row.debt -= paid;
  }

  #earlier(account: number, idempotencyKey: string | undefined): number {
    if (idempotencyKey === undefined) return -1;
    return this.requests.findIndex(
      ({ key, idempotency }) =>
        this.keys[key]!.account === account && idempotency?.key === idempotencyKey,
    );
  }
}

function isOpen({ status }: ModelRequest): boolean {
  return status === 'IN_QUEUE' || status === 'IN_PROGRESS';
}
