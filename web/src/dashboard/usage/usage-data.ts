import { useQuery } from '@tanstack/react-query';
import type { UsageLine } from '../../api-types.ts';
import { previous, useAccountKey } from '../../queries.ts';
import { useAccountApi } from '../../session.tsx';
import { daysOf, type Sum, sumsOf } from './usage-lines.ts';
import type { groups } from './usage-search.ts';

export interface UsageGrouping {
  by: (typeof groups)[number];
  days: number;
  /** The name of the metadata, if it groups by that. */
  name: string;
}

/** Lines that are read of each period. */
export const linesMax = 5_000;
const pageMax = 1_000;

interface Sums {
  sums: Sum[];
  /** There are more lines than were read; then nothing is known of the days before. */
  isCut: boolean;
}

/** A period's lines; `isCut`: there are more than were read. */
interface Lines {
  lines: UsageLine[];
  isCut: boolean;
}

/**
 * Both periods, one after the other, because an account adds up one sum at a time. The service
 * lists by name, so that lines of a cut period cannot be compared with those of the other.
 */
export function useUsage(asked: UsageGrouping) {
  const { by, days, name } = asked;
  const api = useAccountApi();
  const key = useAccountKey();
  const { from, to, before } = daysOf(days, Date.now());
  const group = by === 'metadata' ? `metadata.${name}` : by;
  const read = async (first: string, end: string, signal: AbortSignal): Promise<Lines> => {
    const lines: UsageLine[] = [];
    let cursor: string | undefined;
    do {
      const query = { by: group, from: first, to: end, limit: pageMax, ...(cursor && { cursor }) };
      const page = await api('GET /v1/usage', { query, signal });
      lines.push(...page.data);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined && lines.length < linesMax);
    return { lines, isCut: cursor !== undefined };
  };
  const found = useQuery({
    queryKey: [...key('GET /v1/usage', {}), group, from, to],
    queryFn: async ({ signal }): Promise<Sums> => {
      const now = await read(from, to, signal);
      const earlier = by === 'day' || now.isCut ? null : await read(before, from, signal);
      const isCut = now.isCut || (earlier?.isCut ?? false);
      return { isCut, sums: sumsOf(now.lines, isCut ? [] : (earlier?.lines ?? []), by, name) };
    },
    enabled: by !== 'metadata' || name !== '',
    staleTime: 60_000,
    ...previous,
  });
  return { ...found.data, error: found.error, retry: () => void found.refetch() };
}
