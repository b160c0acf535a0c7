import { useCallback } from 'react';
import { exactJson } from '../../exact-json.ts';
import { ApiFailure } from '../../api.ts';
import type { Input } from './draft.ts';
import { createStore, type Store } from '../../store.ts';

/** Submits that have not become a request. Unanswered ones outlast the page, but not the tab. */

/** One submit, until the service accepts it or the user drops it. */
export interface PendingSubmit {
  /** The Idempotency-Key: sent several times, it is still one request. */
  key: string;
  model_id: string;
  input: Input;
  shown_usd_micro: string | undefined;
  error: unknown;
  isSending: boolean;
}

type Change = (before: PendingSubmit[]) => PendingSubmit[];

const stores = new Map<string, Store<PendingSubmit[]>>();

/** The submits of one form, newest first. They are kept when the component unmounts. */
export function useStoredPresses(place: string): [PendingSubmit[], (change: Change) => void] {
  const store = storeOf(place);
  const change = useCallback(
    (change: Change) => {
      store.set(change(store.get()));
      write(place, store.get());
    },
    [place, store],
  );
  return [store.use(), change];
}

function storeOf(place: string): Store<PendingSubmit[]> {
  const known = stores.get(place);
  if (known) return known;
  const store = createStore(readPresses(place));
  stores.set(place, store);
  return store;
}

/** Whether the service refused the submit, so that no request exists under its key. */
export function isRefused({ error }: Pick<PendingSubmit, 'error'>): boolean {
  return error !== null && !isLost(error);
}

/** Whether an error leaves open if the service has accepted the call; a proxy answers 502 or 504. */
export function isLost(error: unknown): boolean {
  return !(error instanceof ApiFailure) || [500, 502, 504].includes(error.status);
}

function write(place: string, presses: PendingSubmit[]): void {
  const open = presses.filter((press) => !isRefused(press));
  try {
    if (open.length === 0) sessionStorage.removeItem(place);
    else
      sessionStorage.setItem(
        place,
        JSON.stringify(
          open.map(({ key, model_id, input, shown_usd_micro }) => ({
            key,
            model_id,
            input,
            shown_usd_micro,
          })),
        ),
      );
  } catch {
    // The browser has no room: the submits stay in memory only.
  }
}

/**
 * Reads stored submits. If a reply was on its way when the document closed, it is lost until the
 * submit is sent again.
 */
function readPresses(place: string): PendingSubmit[] {
  try {
    const text = sessionStorage.getItem(place) ?? '[]';
    // This module wrote it.
    const kept = exactJson(text) as (Pick<PendingSubmit, 'key' | 'input' | 'shown_usd_micro'> &
      Partial<PendingSubmit>)[];
    // An earlier version stored no model; its only places were those of one model, named last.
    const model_id = place.split(' ').at(-1)!;
    return kept.map((press) => ({
      ...press,
      model_id: press.model_id ?? model_id,
      error: new Error('unanswered'),
      isSending: false,
    }));
  } catch {
    return [];
  }
}
