import type { InfiniteData } from '@tanstack/react-query';
import { fieldOf } from '../../../../client/src/unknown.ts';
import type { LibraryPage, RequestEntry } from '../../api-types.ts';

/**
 * Updates changed entries of a loaded library, and adds new ones at the top. A filtered library
 * gets no new ones: only the service knows whether they match.
 */
export function placedInLibrary(
  given: unknown,
  loaded: InfiniteData<LibraryPage>,
  changed: RequestEntry[],
): InfiniteData<LibraryPage> {
  const known = new Map(changed.map((entry) => [entry.request_id, entry]));
  const pages = loaded.pages.map((page) => ({
    ...page,
    data: page.data.map((entry) => known.get(entry.request_id) ?? entry),
  }));
  const shown = new Set(pages.flatMap(({ data }) => data.map(({ request_id }) => request_id)));
  const { limit: _, ...filters } = Object(fieldOf(given, 'query')) as Record<string, unknown>;
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const [first, ...rest] = pages;
  if (isFiltered || first === undefined) return { ...loaded, pages };
  const added = changed.filter(
    ({ request_id, status, kind }) =>
      status === 'COMPLETED' && kind !== 'text' && !shown.has(request_id),
  );
  const data = [...added, ...first.data].toSorted((a, b) => (a.request_id < b.request_id ? 1 : -1));
  // An entry below the loaded ones comes with its own page.
  const last = loaded.pages.at(-1)?.next_cursor ?? null;
  const within = data.filter(({ request_id }) => last === null || request_id >= last);
  return { ...loaded, pages: [{ ...first, data: within }, ...rest] };
}
