import { useQueryClient, type InfiniteData } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { LibraryPage, RequestEntry } from '../../api-types.ts';
import { showFailure } from '../../components/Failure.tsx';
import { midnight } from '../../dashboard/money/money-search.ts';
import { previous, useAccountPages } from '../../queries.ts';
import { accountKey, useAccount, useAccountApi } from '../../session.tsx';
import type { LibrarySearch } from '../search.ts';

/** The account's finished jobs over all models, and what people do with them. */

export type Entry = RequestEntry;
export type LibraryOutput = Entry['outputs'][number];

const pageSize = 60;
/** The service puts no more requests into one ZIP. */
export const selectedMax = 100;

/** Newest first, as far as the user has scrolled. */
export function useLibrary({ q, show, model, day }: LibrarySearch) {
  const kind = show === 'favorites' ? undefined : show;
  const query = {
    q,
    kind,
    model_id: model,
    from: day && midnight(day),
    to: day && midnight(day, 1),
    ...(show === 'favorites' && { favorites: true }),
    limit: pageSize,
  };
  return useAccountPages('GET /library', { query }, previous);
}

/** Changes entries in every loaded list of the library, and of requests, as the studio shows them. */
function useChange(): (change: (entry: Entry) => Entry) => void {
  const queries = useQueryClient();
  const { account_id } = useAccount();
  return (change) => {
    queries.setQueriesData<InfiniteData<LibraryPage>>(
      { queryKey: accountKey(account_id, 'GET /library') },
      (before) =>
        before && {
          ...before,
          pages: before.pages.map((page) => ({ ...page, data: page.data.map(change) })),
        },
    );
    queries.setQueriesData<{ data?: Entry[] }>(
      { queryKey: accountKey(account_id, 'GET /requests') },
      (before) => before?.data && { ...before, data: before.data.map(change) },
    );
  };
}

/** Marks or unmarks a request; shown at once, and undone if the service refuses. */
export function useFavorite(): (entry: Entry) => void {
  const api = useAccountApi();
  const change = useChange();
  return ({ request_id, favorite }) => {
    const show = (marked: boolean) =>
      change((each) => (each.request_id === request_id ? { ...each, favorite: marked } : each));
    const given = { params: { request_id } };
    show(!favorite);
    const asked = favorite
      ? api('DELETE /requests/:request_id/favorite', given)
      : api('PUT /requests/:request_id/favorite', given);
    void asked.catch((error: unknown) => {
      show(favorite);
      showFailure(error);
    });
  };
}

/** So many deletions are under way at once. */
const deletionsAtOnce = 4;

/** Deletes the files of these requests; returns the ids of those that were deleted. */
export function useDeleteFiles(): (ids: string[]) => Promise<string[]> {
  const api = useAccountApi();
  const change = useChange();
  return async (ids) => {
    const left = [...ids];
    const deleted: string[] = [];
    const work = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const given = { params: { request_id: id } };
        const isDone = await api('DELETE /v1/requests/:request_id/output', given).then(
          () => true,
          () => false,
        );
        if (isDone) deleted.push(id);
      }
    };
    await Promise.all(Array.from({ length: deletionsAtOnce }, work));
    const gone = new Set(deleted);
    change((each) => (gone.has(each.request_id) ? withoutFiles(each) : each));
    return deleted;
  };
}

function withoutFiles(entry: Entry): Entry {
  return { ...entry, outputs: [], expires_at: null };
}

/** The entries at this moment: files whose time has come disappear from an open page, too. */
export function useUnexpired(entries: Entry[]): Entry[] {
  const [now, setNow] = useState(Date.now);
  const ends = entries.flatMap(({ expires_at }) => (expires_at ? [Date.parse(expires_at)] : []));
  const next = Math.min(...ends.filter((end) => end > now));
  useEffect(() => {
    if (!Number.isFinite(next)) return;
    // Browsers run a timer of more than 24.8 days at once.
    const timer = setTimeout(
      () => setNow(Date.now()),
      Math.min(next - Date.now() + 50, 2 ** 31 - 1),
    );
    return () => clearTimeout(timer);
  }, [next]);
  return entries.map((entry) =>
    entry.expires_at && Date.parse(entry.expires_at) <= now ? withoutFiles(entry) : entry,
  );
}
