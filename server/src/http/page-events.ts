import type { Links } from '../core/request/views.ts';
import type { Hints } from '../db/hints.ts';
import type { DepositVersion } from '../db/deposits/deposit-lists.ts';
import type { EntryRow } from '../db/requests/request-pages.ts';
import type { AccountMovement } from '../ledger/statement.ts';
import { Funds } from './schemas/account.ts';
import { entryOf, RequestEntry } from './requests/views.ts';
import * as s from './schemas/schema.ts';
import { serialize } from './schemas/serialize.ts';

/**
 * Sends the changes of accounts to their open pages. A hint from this or another process starts a
 * quick check for all accounts; a slow check of everything that has changed since the last one
 * makes up for lost hints.
 */
export interface PageEvents {
  /** Sends changes to a page until the returned function is called. */
  open(accountId: string, page: OpenPage): () => void;
  close(): void;
}

export interface OpenPage {
  send(event: PageEvent, data: string): void;
}

export type PageEvent = 'requests' | 'balance' | 'deposits' | 'changed';

export interface PageEventReads {
  /** Requests among these ids that belong to these accounts. */
  entries: (ids: string[], accountIds: string[]) => Promise<EntryRow[]>;
  moved: (
    known: { account_id: string; seq: bigint }[],
    limit: number,
  ) => Promise<AccountMovement[]>;
  open: (accountIds: string[], newest: number) => Promise<{ account_id: string; id: string }[]>;
  /** Empty if there are no chains. */
  deposits: (accountIds: string[], newest: number) => Promise<DepositVersion[]>;
}

/**
 * Pause between two checks. A check seldom sends a page more than three events, so a page seldom
 * gets more than six a second.
 */
const pauseMs = 500;
/** A check waits this long, so that changes that happen together are sent together. */
const gatherMs = 15;
/** Maximum number of hinted ids that are looked up one by one; with more, everything is checked. */
const idsMax = 1_000;
/** Maximum number of changes that are sent one by one; with more, the page reloads its list. */
const entriesMax = 20;
/**
 * Maximum number of an account's movements whose requests are looked up. A request has two: its
 * reserve, and its charge or release.
 */
const movementsMax = 2 * entriesMax;
/**
 * Maximum number of an account's open requests that are checked for lost hints: about as many as a
 * page shows.
 */
const openMax = 50;
/** Deposits of an account whose changes are noticed: about as many as a page shows. */
const depositsMax = 20;
/**
 * Maximum number of open requests, of all accounts, in one slow check; the next check takes the
 * others.
 */
const openCheckMax = 5_000;

interface Account {
  id: string;
  pages: Set<OpenPage>;
  /** Movements up to here were sent; null: not known yet. */
  seq: bigint | null;
  balance: string;
  /** The version of the deposits that the pages know; null: not known yet. */
  deposits: string | null;
  /** The last state that was sent of each open request; null: none was sent. */
  open: Map<string, string | null>;
  /** The last state that was sent of each request since the last slow check. */
  sent: Map<string, string>;
  /** `sent` as it was when the last slow check emptied it. */
  sentBefore: Map<string, string>;
}

interface PageEventOptions {
  links: Links;
  onError: (error: unknown) => void;
  times: { checkMs: number };
}

type PageHints = Pick<Hints, 'on'>;

export function createPageEvents(
  hints: PageHints,
  reads: PageEventReads,
  options: PageEventOptions,
): PageEvents {
  return new AccountWatcher(hints, reads, options);
}

class AccountWatcher implements PageEvents {
  readonly #reads: PageEventReads;
  readonly #links: Links;
  readonly #onError: (error: unknown) => void;
  readonly #accounts = new Map<string, Account>();
  readonly #offs: (() => void)[];
  readonly #checks: NodeJS.Timeout;
  #wanted = new Set<string>();
  #wantsAll = false;
  /** A check has failed, so the changes that it would have sent are unknown. */
  #lost = false;
  /** Where the last slow check began in the list of open requests; each checks only a part. */
  #checkFrom = 0;
  #next: NodeJS.Timeout | undefined;
  #checking = false;
  #checkedAt = -Infinity;

  constructor(
    hints: PageHints,
    reads: PageEventReads,
    { links, onError, times }: PageEventOptions,
  ) {
    this.#reads = reads;
    this.#links = links;
    this.#onError = onError;
    const hear = (ids: string[] | 'any') => this.#hear(ids);
    // A deposit also moves money, so everything is checked.
    const heard = ['changed', 'created', 'deposits'] as const;
    this.#offs = heard.map((hint) => hints.on(hint, hear));
    this.#checks = setInterval(() => hear('any'), times.checkMs).unref();
  }

  open(accountId: string, page: OpenPage): () => void {
    const account = this.#accounts.get(accountId) ?? newAccount(accountId);
    this.#accounts.set(account.id, account);
    account.pages.add(page);
    if (account.seq === null) this.#hear('any');
    else page.send('balance', account.balance);
    return () => {
      account.pages.delete(page);
      if (account.pages.size === 0 && this.#accounts.get(account.id) === account)
        this.#accounts.delete(account.id);
    };
  }

  close(): void {
    for (const off of this.#offs) off();
    clearInterval(this.#checks);
    clearTimeout(this.#next);
  }

  #hear(ids: string[] | 'any'): void {
    if (this.#accounts.size === 0) return;
    if (ids === 'any') this.#wantsAll = true;
    else for (const id of ids) this.#wanted.add(id);
    if (this.#wanted.size > idsMax) {
      this.#wanted = new Set();
      this.#wantsAll = true;
    }
    this.#schedule();
  }

  #schedule(): void {
    const idle = this.#wanted.size === 0 && !this.#wantsAll;
    if (idle || this.#checking || this.#next !== undefined) return;
    const wait = Math.max(gatherMs, this.#checkedAt + pauseMs - performance.now());
    this.#next = setTimeout(() => void this.#run(), wait).unref();
  }

  async #run(): Promise<void> {
    this.#next = undefined;
    this.#checking = true;
    this.#checkedAt = performance.now();
    const ids = this.#wanted;
    const all = this.#wantsAll;
    this.#wanted = new Set();
    this.#wantsAll = false;
    try {
      await this.#begin();
      await this.#check(ids, all);
    } catch (error) {
      this.#lost = true;
      this.#onError(error);
    } finally {
      this.#checking = false;
      this.#schedule();
    }
  }

  /** Reads the state of accounts that were added; from now on their changes are sent. */
  async #begin(): Promise<void> {
    const fresh = [...this.#accounts.values()].filter(({ seq }) => seq === null);
    if (fresh.length === 0) return;
    const ids = fresh.map(({ id }) => id);
    const from = ids.map((account_id) => ({ account_id, seq: -1n }));
    const [standing, open, deposits] = await Promise.all([
      this.#reads.moved(from, 0),
      this.#reads.open(ids, openMax),
      this.#reads.deposits(ids, depositsMax),
    ]);
    this.#noteDeposits(deposits);
    for (const { account_id, id } of open) this.#accounts.get(account_id)?.open.set(id, null);
    for (const row of standing) this.#stand(row);
  }

  /** Notes the account's newest movement, and sends its balance if that has changed. */
  #stand(row: AccountMovement): Account | undefined {
    const account = this.#accounts.get(row.account_id);
    if (account === undefined) return undefined;
    account.seq = row.last_seq;
    tellBalance(account, row);
    return account;
  }

  /** Sends `deposits` to the pages of each account whose deposits have changed. */
  #noteDeposits(versions: DepositVersion[]): void {
    for (const { account_id, version } of versions) {
      const account = this.#accounts.get(account_id);
      if (account === undefined || account.deposits === version) continue;
      if (account.deposits !== null) tell(account, 'deposits', '{}');
      account.deposits = version;
    }
  }

  async #check(ids: Set<string>, all: boolean): Promise<void> {
    // Accounts with more changes than are sent one by one.
    const many = new Set<Account>();
    if (all) {
      await this.#checkMovements(ids, many);
      this.#noteDeposits(await this.#reads.deposits(this.#names(), depositsMax));
      for (const id of this.#someOpen()) ids.add(id);
    }
    const rows = ids.size === 0 ? [] : await this.#reads.entries([...ids], this.#names());
    if (this.#lost) for (const account of this.#accounts.values()) many.add(account);
    this.#lost = false;
    const changed = new Map<Account, EntryRow[]>([...many].map((account) => [account, []]));
    for (const row of rows) {
      const account = this.#accounts.get(row.account_id);
      if (!account) continue;
      tellBalance(account, row);
      if (!note(account, row)) continue;
      const entries = changed.get(account);
      if (entries) entries.push(row);
      else changed.set(account, [row]);
    }
    for (const [account, entries] of changed) {
      if (many.has(account) || entries.length > entriesMax) tell(account, 'changed', '{}');
      else {
        const data = entries.map((row) => entryOf(row, this.#links));
        tell(account, 'requests', serialize(ChangedRequests, { data }));
      }
    }
  }

  async #checkMovements(ids: Set<string>, many: Set<Account>): Promise<void> {
    const known = [...this.#accounts.values()].flatMap(({ id, seq }) =>
      seq === null ? [] : [{ account_id: id, seq }],
    );
    // One movement more than the maximum is read, to see whether there are too many.
    for (const row of await this.#reads.moved(known, movementsMax + 1)) {
      const account = this.#stand(row);
      if (account === undefined) continue;
      if (row.request_ids.length > movementsMax) many.add(account);
      else for (const id of row.request_ids) ids.add(id);
    }
    for (const account of this.#accounts.values()) {
      account.sentBefore = account.sent;
      account.sent = new Map();
    }
  }

  #names(): string[] {
    return [...this.#accounts.keys()];
  }

  #someOpen(): string[] {
    const open = [...this.#accounts.values()].flatMap((account) => [...account.open.keys()]);
    if (open.length <= openCheckMax) return open;
    this.#checkFrom = (this.#checkFrom + openCheckMax) % open.length;
    return [...open.slice(this.#checkFrom), ...open.slice(0, this.#checkFrom)].slice(
      0,
      openCheckMax,
    );
  }
}

const ChangedRequests = s.object({ data: s.list(RequestEntry) });

function newAccount(id: string): Account {
  const empty = { open: new Map(), sent: new Map(), sentBefore: new Map() };
  return { id, pages: new Set(), seq: null, balance: '', deposits: null, ...empty };
}

/** Remembers what the pages know about a request; false if they know it already. */
function note({ open, sent, sentBefore }: Account, row: EntryRow): boolean {
  const { id, status, progress, webhook_state } = row;
  const version = `${status} ${progress} ${webhook_state}`;
  const known = open.get(id) ?? sent.get(id) ?? sentBefore.get(id);
  const isOpen = status === 'IN_QUEUE' || status === 'IN_PROGRESS';
  if (!isOpen) open.delete(id);
  else if (open.has(id) || open.size < openMax) open.set(id, version);
  sent.set(id, version);
  return known !== version;
}

type AccountFunds = Pick<EntryRow, 'available_usd_micro' | 'reserved_usd_micro' | 'debt_usd_micro'>;

function tellBalance(account: Account, row: AccountFunds): void {
  const balance = serialize(Funds, row);
  if (balance === account.balance) return;
  account.balance = balance;
  for (const page of account.pages) page.send('balance', balance);
}

function tell({ pages }: Account, event: PageEvent, data: string): void {
  for (const page of pages) page.send(event, data);
}
