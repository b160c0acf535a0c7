import {
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
} from '@tanstack/react-query';
import {
  argsOf,
  operatorApi,
  type AccountCalls,
  type Caller,
  type CallArguments,
  type OperatorCalls,
  type Reply,
} from './api.ts';
import { accountKey, useAccount, useAccountApi } from './session.tsx';
import { showFailure } from './components/Failure.tsx';

/** Cached replies of the service, by route and arguments. */

type Options<T, Shown> = Omit<UseQueryOptions<T, Error, Shown>, 'queryKey' | 'queryFn'>;
type Key = readonly unknown[];

/** The key of cached data of the shown account, such as `accountKey('GET /team', {})`. */
export function useAccountKey(): (route?: keyof AccountCalls, given?: object) => Key {
  const { account_id } = useAccount();
  return (...parts) => accountKey(account_id, ...parts);
}

/** Reloads the shown account's cached data for these routes; without routes, all of it. */
export function useReload(): (...routes: (keyof AccountCalls)[]) => Promise<void> {
  const queries = useQueryClient();
  const key = useAccountKey();
  return async (...routes) => {
    const keys = routes.length === 0 ? [key()] : routes.map((route) => key(route));
    await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
}

/** Shows a change of cached data at once, makes the change, then loads the data again. */
export function useOptimisticUpdate<T>(queryKey: Key) {
  const queries = useQueryClient();
  return async (change: (before: T) => T, make: () => Promise<unknown>): Promise<void> => {
    queries.setQueryData<T>(queryKey, (before) => before && change(before));
    await make().catch(showFailure);
    await queries.invalidateQueries({ queryKey });
  };
}

export function useAccountQuery<
  R extends keyof AccountCalls & string,
  Shown = Reply<AccountCalls, R>,
>(
  route: R,
  given: CallArguments<AccountCalls, R>,
  options: Options<Reply<AccountCalls, R>, Shown> = {},
) {
  return useReply(useAccountKey()(route, given), useAccountApi(), route, given, options);
}

export function useOperatorQuery<
  R extends keyof OperatorCalls & string,
  Shown = Reply<OperatorCalls, R>,
>(
  route: R,
  given: CallArguments<OperatorCalls, R>,
  options: Options<Reply<OperatorCalls, R>, Shown> = {},
) {
  return useReply(['operator', route, given], operatorApi, route, given, options);
}

function useReply<C, R extends keyof C & string, Shown>(
  queryKey: Key,
  api: Caller<C>,
  route: R,
  given: CallArguments<C, R>,
  options: Options<Reply<C, R>, Shown>,
) {
  return useQuery<Reply<C, R>, Error, Shown>({
    queryKey,
    queryFn: ({ signal }) => api(route, ...argsOf<C, R>({ ...given, signal })),
    ...options,
  });
}

interface PageOptions {
  /** How often the first page is loaded again, in ms. Longer lists are not: each page is a call. */
  everyMs?: number;
  placeholderData?: typeof keepPreviousData;
}

const firstPage: string | undefined = undefined;

/** Keeps showing the present rows until the rows of a new query are loaded. */
export const previous = { placeholderData: keepPreviousData };

interface Page {
  data: unknown[];
  next_cursor: string | null;
}
type PageRoute<C> = {
  [R in keyof C & string]: Reply<C, R> extends Page ? R : never;
}[keyof C & string];
type PageOf<C, R extends keyof C> = Extract<Reply<C, R>, Page>;

/** A paginated list of the shown account, as far as the user has loaded it. */
export function useAccountPages<R extends PageRoute<AccountCalls>>(
  route: R,
  given: CallArguments<AccountCalls, R>,
  options: PageOptions = {},
) {
  return usePages(useAccountKey()(route, given), useAccountApi(), route, given, options);
}

/** A paginated list of the operator console. `everyMs` as in `PageOptions`. */
export function useOperatorPages<R extends PageRoute<OperatorCalls>>(
  route: R,
  given: CallArguments<OperatorCalls, R>,
  everyMs?: number,
) {
  const options = { ...previous, ...(everyMs !== undefined && { everyMs }) };
  return usePages(['operator', route, given], operatorApi, route, given, options);
}

function usePages<C, R extends PageRoute<C>>(
  queryKey: Key,
  api: Caller<C>,
  route: R,
  given: CallArguments<C, R> & { query?: object },
  { everyMs, ...options }: PageOptions,
) {
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: cursor, signal }) => {
      const query = { ...given.query, cursor };
      const reply = api(route, ...argsOf<C, R>({ ...given, query, signal }));
      // `PageRoute` has only routes that reply with a page.
      return reply as Promise<PageOf<C, R>>;
    },
    initialPageParam: firstPage,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: ({ state }) =>
      (state.data?.pages.length ?? 0) > 1 ? false : (everyMs ?? false),
    ...options,
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = found;
  return {
    /** Undefined while loading. */
    rows: data?.pages.flatMap<PageOf<C, R>['data'][number]>((page) => page.data),
    first: data?.pages[0],
    error,
    retry: () => void refetch(),
    more: hasNextPage ? () => void fetchNextPage() : null,
    isLoadingMore: isFetchingNextPage,
    /** True while rows of the previous query are still shown. */
    isOld: found.isPlaceholderData,
  };
}
