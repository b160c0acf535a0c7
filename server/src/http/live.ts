import { pageEntry } from '../core/page-views.ts';
import type { Links } from '../core/views.ts';
import type { Hints } from '../db/hints.ts';
import type { Viewer } from '../db/people.ts';
import type { EntryRow } from '../db/request-pages.ts';
import type { Moved } from '../ledger/statement.ts';

/**
 * Tells open pages what changes in their accounts. Hints from this or another process make it look
 * soon, once for all accounts; a slow look at what has moved since makes up for hints that were
 * lost, or for all of them.
 */
export interface Live {
  /** Tells a page until the returned function is called. */
  open(viewer: Viewer, page: Page): () => void;
  /** Pages that are open now. */
  size(): number;
  close(): void;
}

export interface Page {
  tell(event: 'requests' | 'balance' | 'changed', data: string): void;
  /** Who looks has no right to it any more. */
  over(): void;
}

export interface LiveReads {
  /** Of requests that belong to these accounts. */
  entries: (ids: string[], accountIds: string[]) => Promise<EntryRow[]>;
  moved: (known: { account_id: string; seq: bigint }[], limit: number) => Promise<Moved[]>;
  open: (accountIds: string[], newest: number) => Promise<{ account_id: string; id: string }[]>;
  areStillThere: (viewers: Viewer[]) => Promise<boolean[]>;
}

/** Between two looks. Each tells a page two things at most, so that is four events a second. */
const pauseMs = 500;
/** What changes together is told together. */
const gatherMs = 15;
/** Hinted ids that are looked up; where more have gathered, the slow look finds them. */
const idsMax = 1_000;
/** Changes told one by one; a page that misses more asks for its list again. */
const entriesMax = 20;
/** Open requests of an account that are watched for lost hints: about what a page shows. */
const openMax = 50;
/** Of all accounts in one slow look; the others have their turn in the next. */
const openLookMax = 5_000;

interface Account {
  id: string;
  pages: Map<Page, Viewer>;
  /** Movements up to here are told; null: not known yet. */
  seq: bigint | null;
  balance: string;
  /** What was told of requests that are open, and of others since the slow look before the last. */
  open: Map<string, string | null>;
  told: Map<string, string>;
  toldBefore: Map<string, string>;
}

export function createLive(
  hints: Pick<Hints, 'onChanged' | 'onCreated'>,
  reads: LiveReads,
  { links, onError }: { links: Links; onError: (error: unknown) => void },
  times: { lookMs: number; viewersMs: number },
): Live {
  const accounts = new Map<string, Account>();
  let size = 0;
  let wanted = new Set<string>();
  let wantsAll = false;
  /** A look has failed: what it would have told is not known. */
  let lost = false;
  let turn = 0;
  let timer: NodeJS.Timeout | undefined;
  let looking = false;
  let lookedAt = -Infinity;

  const hear = (ids: string[] | 'any') => {
    if (accounts.size === 0) return;
    if (ids === 'any') wantsAll = true;
    else for (const id of ids) wanted.add(id);
    if (wanted.size > idsMax) {
      wanted = new Set();
      wantsAll = true;
    }
    schedule();
  };
  const offs = [hints.onChanged(hear), hints.onCreated(hear)];
  const slow = setInterval(() => hear('any'), times.lookMs).unref();
  const viewers = setInterval(() => void judgeViewers().catch(onError), times.viewersMs).unref();

  function schedule(): void {
    if (looking || timer !== undefined || (wanted.size === 0 && !wantsAll)) return;
    const wait = Math.max(gatherMs, lookedAt + pauseMs - performance.now());
    timer = setTimeout(() => void run(), wait);
    timer.unref();
  }

  async function run(): Promise<void> {
    timer = undefined;
    looking = true;
    lookedAt = performance.now();
    const ids = wanted;
    const all = wantsAll;
    wanted = new Set();
    wantsAll = false;
    try {
      await begin();
      await look(ids, all);
    } catch (error) {
      lost = true;
      onError(error);
    } finally {
      looking = false;
      schedule();
    }
  }

  /** Takes the accounts up that are new: from here on their changes are told. */
  async function begin(): Promise<void> {
    const fresh = [...accounts.values()].filter(({ seq }) => seq === null);
    if (fresh.length === 0) return;
    const from = fresh.map(({ id }) => ({ account_id: id, seq: -1n }));
    const names = fresh.map(({ id }) => id);
    const [standing, open] = await Promise.all([reads.moved(from, 0), reads.open(names, openMax)]);
    for (const { account_id, id } of open) accounts.get(account_id)?.open.set(id, null);
    for (const row of standing) {
      const account = accounts.get(row.account_id);
      if (!account) continue;
      account.seq = row.last_seq;
      tellBalance(account, row);
    }
  }

  async function look(hinted: Set<string>, all: boolean): Promise<void> {
    const ids = new Set(hinted);
    const many = new Set<Account>();
    if (all) {
      await lookAtMovements(ids, many);
      for (const id of someOpen()) ids.add(id);
    }
    const rows = ids.size === 0 ? [] : await reads.entries([...ids], [...accounts.keys()]);
    if (lost) for (const account of accounts.values()) many.add(account);
    lost = false;
    const changed = new Map<Account, EntryRow[]>([...many].map((account) => [account, []]));
    for (const row of rows) {
      const account = accounts.get(row.account_id);
      if (!account) continue;
      tellBalance(account, row);
      if (!note(account, row)) continue;
      changed.set(account, [...(changed.get(account) ?? []), row]);
    }
    for (const [account, entries] of changed) {
      if (many.has(account) || entries.length > entriesMax) tell(account, 'changed', {});
      else tell(account, 'requests', { data: entries.map((row) => pageEntry(row, links)) });
    }
  }

  async function lookAtMovements(ids: Set<string>, many: Set<Account>): Promise<void> {
    const known = [...accounts.values()].flatMap(({ id, seq }) =>
      seq === null ? [] : [{ account_id: id, seq }],
    );
    // One more than are told, to see that there are more.
    for (const row of await reads.moved(known, 2 * entriesMax + 1)) {
      const account = accounts.get(row.account_id);
      if (!account) continue;
      account.seq = row.last_seq;
      tellBalance(account, row);
      if (row.request_ids.length > 2 * entriesMax) many.add(account);
      else for (const id of row.request_ids) ids.add(id);
    }
    for (const account of accounts.values()) {
      account.toldBefore = account.told;
      account.told = new Map();
    }
  }

  function someOpen(): string[] {
    const open = [...accounts.values()].flatMap((account) => [...account.open.keys()]);
    if (open.length <= openLookMax) return open;
    turn = (turn + openLookMax) % open.length;
    return [...open.slice(turn), ...open.slice(0, turn)].slice(0, openLookMax);
  }

  async function judgeViewers(): Promise<void> {
    const open = [...accounts.values()].flatMap((account) => [...account.pages]);
    if (open.length === 0) return;
    const there = await reads.areStillThere(open.map(([, viewer]) => viewer));
    for (const [i, [page]] of open.entries()) if (!there[i]) page.over();
  }

  return {
    open(viewer, page) {
      const known = accounts.get(viewer.account_id);
      const account = known ?? newAccount(viewer.account_id);
      accounts.set(account.id, account);
      account.pages.set(page, viewer);
      size++;
      if (account.seq === null) {
        wantsAll = true;
        schedule();
      } else page.tell('balance', account.balance);
      return () => {
        if (account.pages.delete(page)) size--;
        if (account.pages.size === 0 && accounts.get(account.id) === account)
          accounts.delete(account.id);
      };
    },
    size: () => size,
    close() {
      for (const off of offs) off();
      clearInterval(slow);
      clearInterval(viewers);
      clearTimeout(timer);
    },
  };
}

function newAccount(id: string): Account {
  const empty = { open: new Map(), told: new Map(), toldBefore: new Map() };
  return { id, pages: new Map(), seq: null, balance: '', ...empty };
}

/** Keeps what the pages know of it; false where they know it already. */
function note({ open, told, toldBefore }: Account, row: EntryRow): boolean {
  const { id, status, progress, webhook_state } = row;
  const version = `${status} ${progress} ${webhook_state}`;
  const known = open.get(id) ?? told.get(id) ?? toldBefore.get(id);
  const isOpen = status === 'IN_QUEUE' || status === 'IN_PROGRESS';
  if (!isOpen) open.delete(id);
  else if (open.has(id) || open.size < openMax) open.set(id, version);
  told.set(id, version);
  return known !== version;
}

type Balance = Pick<EntryRow, 'available_usd_micro' | 'reserved_usd_micro'>;

function tellBalance(account: Account, row: Balance): void {
  const balance = JSON.stringify({
    available_usd_micro: String(row.available_usd_micro),
    reserved_usd_micro: String(row.reserved_usd_micro),
  });
  if (balance === account.balance) return;
  account.balance = balance;
  for (const page of account.pages.keys()) page.tell('balance', balance);
}

function tell({ pages }: Account, event: 'requests' | 'changed', data: object): void {
  const text = JSON.stringify(data);
  for (const page of pages.keys()) page.tell(event, text);
}
