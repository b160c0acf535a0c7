import { keepPreviousData, useInfiniteQuery, type QueryKey } from '@tanstack/react-query';
import { call, type CallOptions } from './api.ts';

interface Page<Row> {
  data: Row[];
  next_cursor: string | null;
}

/** A list that is read a page at a time, as far as somebody has asked for. */
export function usePages<Row, More = object>(
  queryKey: QueryKey,
  path: string,
  query: CallOptions['query'] = {},
  /** How often it is read anew while somebody looks; left out: when something has changed. */
  everyMs?: number,
) {
  const found = useInfiniteQuery({
    queryKey: [...queryKey, query],
    queryFn: ({ pageParam: cursor, signal }) =>
      call<Page<Row> & More>(path, { query: { ...query, cursor }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    placeholderData: keepPreviousData,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = found;
  return {
    /** Undefined: they are on their way. */
    rows: data?.pages.flatMap((page) => page.data),
    first: data?.pages[0],
    error,
    retry: () => void refetch(),
    more: hasNextPage ? () => void fetchNextPage() : null,
    isLoadingMore: isFetchingNextPage,
  };
}
