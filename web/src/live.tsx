import { useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { fromJson } from '../../client/src/unknown.ts';
import type { LibraryPage, RequestEntry, RequestPage } from './api-types.ts';
import { liveSearch } from './dashboard/requests/live-key.ts';
import { placed, readSearch } from './dashboard/requests/request-entries.ts';
import { accountKey, meQuery, useAccount } from './session.tsx';
import { placedInLibrary } from './studio/library/placed.ts';
import { createStore } from './store.ts';
import type { AccountCalls } from './api.ts';

/**
 * Each tab has one event stream that reports changes of the account, so that lists need no polling.
 * Changed requests are put into the lists of `usePage`; their other lists are loaded again.
 */

export type LiveState = 'on' | 'waiting' | 'paused';

/** A hidden tab closes its connection after this time, because a browser allows only a few. */
const hiddenMs = 15_000;
const retryMs = [1_000, 2_000, 5_000, 10_000, 30_000];
/** Lists are loaded again at most this often, however much changes. */
const refreshMs = 2_000;

/** Queries to load again after any change in the account. */
const affectedRoutes: ReadonlySet<unknown> = new Set<keyof AccountCalls>([
  'GET /requests',
  'GET /overview',
  'GET /statement',
  'GET /statement/lines',
  'GET /statement/totals',
  'GET /deliveries',
  'GET /keys',
  'GET /studio/allowance',
]);
/**
 * Queries that are updated change by change, or that sum up days: loaded again only after a gap in
 * the stream, as are the lists of `usePage`.
 */
const gapRoutes: ReadonlySet<unknown> = new Set<keyof AccountCalls>([
  'GET /requests/:request_id',
  'GET /library',
  'GET /spend',
  'GET /v1/deposits',
]);

const state = createStore<LiveState>('waiting');
export const useLiveState = state.use;

/** Keeps the cached data of the shown account up to date. Used once, around all its pages. */
export function useLive(): void {
  const queries = useQueryClient();
  const { account_id } = useAccount();
  useEffect(() => follow(account_id, queries), [account_id, queries]);
}

function follow(account_id: string, queries: QueryClient): () => void {
  let source: EventSource | null = null;
  let retry: number | undefined;
  let hiding: number | undefined;
  let tries = 0;
  const refresh = refresher(account_id, queries);

  function open(): void {
    if (source !== null || document.hidden) return;
    source = new EventSource(`/api/accounts/${account_id}/events`);
    let first = true;
    listen('balance', (balance) => {
      queries.setQueryData(accountKey(account_id, 'GET /balance', {}), balance);
      if (!first) return;
      // The stream reports every change from now on, but data loaded earlier may be out of date.
      first = false;
      tries = 0;
      state.set('on');
      refresh.all();
    });
    listen<{ data: RequestEntry[] }>('requests', ({ data }) => {
      mergeChanges(account_id, queries, data);
      refresh.soon();
    });
    listen('changed', () => refresh.soon(true));
    listen('deposits', () => {
      void queries.invalidateQueries({ queryKey: accountKey(account_id, 'GET /v1/deposits') });
      refresh.soon();
    });
    listen<{ reason: string }>('end', ({ reason }) => {
      close();
      if (reason === 'access') void queries.invalidateQueries({ queryKey: meQuery.queryKey });
      reconnect();
    });
    source.addEventListener('error', () => {
      close();
      reconnect();
    });
  }

  function listen<T>(event: string, hear: (data: T) => void): void {
    source?.addEventListener(event, (message: MessageEvent<string>) =>
      hear(fromJson(message.data)),
    );
  }

  function close(): void {
    source?.close();
    source = null;
  }

  function reconnect(): void {
    state.set(document.hidden ? 'paused' : 'waiting');
    const wait = retryMs[Math.min(tries++, retryMs.length - 1)]!;
    clearTimeout(retry);
    // Spread, so that tabs do not all reconnect at once when a server returns.
    retry = window.setTimeout(open, wait * (0.5 + Math.random()));
  }

  function onVisibilityChange(): void {
    clearTimeout(hiding);
    if (document.hidden) {
      hiding = window.setTimeout(() => {
        close();
        state.set('paused');
      }, hiddenMs);
    } else if (source === null) {
      clearTimeout(retry);
      state.set('waiting');
      open();
    }
  }

  document.addEventListener('visibilitychange', onVisibilityChange);
  open();
  return () => {
    document.removeEventListener('visibilitychange', onVisibilityChange);
    for (const timer of [retry, hiding]) clearTimeout(timer);
    refresh.stop();
    close();
    state.set('waiting');
  };
}

/** Merges changes into the live lists, and reloads open details. */
function mergeChanges(account_id: string, queries: QueryClient, entries: RequestEntry[]): void {
  const key = accountKey(account_id, 'GET /requests');
  for (const query of queries.getQueryCache().findAll({ queryKey: key })) {
    const written = liveSearch(query.queryKey);
    if (!written) continue;
    const search = readSearch(written);
    queries.setQueryData<RequestPage>(
      query.queryKey,
      (page) => page && placed(page, search, entries),
    );
    // A reply that is still on its way may be older than this change.
    if (query.state.fetchStatus === 'fetching')
      void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
  }
  const library = { queryKey: accountKey(account_id, 'GET /library') };
  for (const {
    queryKey,
    state: { fetchStatus },
  } of queries.getQueryCache().findAll(library)) {
    queries.setQueryData<InfiniteData<LibraryPage>>(
      queryKey,
      (loaded) => loaded && placedInLibrary(queryKey[3], loaded, entries),
    );
    if (fetchStatus === 'fetching') void queries.invalidateQueries({ queryKey, exact: true });
  }
  for (const { request_id } of entries) {
    const params = { request_id };
    const queryKey = accountKey(account_id, 'GET /requests/:request_id', { params });
    void queries.invalidateQueries({ queryKey });
  }
}

function refresher(account_id: string, queries: QueryClient) {
  let timer: number | undefined;
  let pages = false;
  const run = (withPages: boolean) => {
    void queries.invalidateQueries({
      predicate: ({ queryKey }) => {
        const [scope, id, route] = queryKey;
        if (scope !== 'account' || id !== account_id) return false;
        const isLate = gapRoutes.has(route) || liveSearch(queryKey) !== null;
        return isLate ? withPages : affectedRoutes.has(route);
      },
    });
  };
  return {
    all: () => run(true),
    /** Reloads soon; the lists, which already hold the change, only if `withPages` is set. */
    soon(withPages = false) {
      pages ||= withPages;
      timer ??= window.setTimeout(() => {
        timer = undefined;
        run(pages);
        pages = false;
      }, refreshMs);
    },
    stop: () => clearTimeout(timer),
  };
}
