import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { operatorApi, type Args, type Given, type OperatorCalls, type Reply } from './api.ts';

interface Page {
  data: unknown[];
  next_cursor: string | null;
}
type PageRoute = {
  [R in keyof OperatorCalls]: Reply<OperatorCalls, R> extends Page ? R : never;
}[keyof OperatorCalls];
type PageOf<R extends PageRoute> = Extract<Reply<OperatorCalls, R>, Page>;

/** A paginated list, as far as the user has loaded it. */
export function usePages<R extends PageRoute>(
  route: R,
  given: Given<OperatorCalls, R>,
  /** How often it is loaded again, in milliseconds; without it, only after an action. */
  everyMs?: number,
) {
  const found = useInfiniteQuery({
    queryKey: ['operator', route, given],
    queryFn: ({ pageParam: cursor, signal }) => {
      const whole = { ...given, query: { ...given.query, cursor }, signal };
      const read = operatorApi(route, ...([whole] as Args<OperatorCalls, R>));
      return read as Promise<PageOf<R>>;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = found;
  return {
    /** Undefined while loading. */
    rows: data?.pages.flatMap<PageOf<R>['data'][number]>((page) => page.data),
    first: data?.pages[0],
    error,
    retry: () => void refetch(),
    more: hasNextPage ? () => void fetchNextPage() : null,
    isLoadingMore: isFetchingNextPage,
  };
}
