import { useCallback, useSyncExternalStore } from 'react';
import { ApiFailure } from '../../api.ts';
import type { Input } from './draft.ts';

/** Presses of the button that the service has not answered: they outlive the page, not the tab. */

/** One press of the button, as long as the service has not answered it. */
export interface Press {
  /** The Idempotency-Key: however often it is sent, it is one request. */
  key: string;
  input: Input;
  shown_usd_micro: string | undefined;
  error: unknown;
  isSending: boolean;
}

type Change = (before: Press[]) => Press[];

const listeners = new Set<() => void>();
const all = new Map<string, Press[]>();

/** Those of one place, the newest first. They stay when what shows them is gone. */
export function useKept(place: string): [Press[], (change: Change) => void] {
  const presses = useSyncExternalStore(listen, () => read(place));
  const change = useCallback((change: Change) => write(place, change(read(place))), [place]);
  return [presses, change];
}

/** What the service has refused: it is answered, and a repeat has nothing to be recognised as. */
export function isRefused({ error }: Press): boolean {
  return error instanceof ApiFailure;
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function read(place: string): Press[] {
  const known = all.get(place);
  if (known) return known;
  const presses = stored(place);
  all.set(place, presses);
  return presses;
}

function write(place: string, presses: Press[]): void {
  all.set(place, presses);
  const open = presses.filter((press) => !isRefused(press));
  try {
    if (open.length === 0) sessionStorage.removeItem(place);
    else
      sessionStorage.setItem(
        place,
        JSON.stringify(
          open.map(({ key, input, shown_usd_micro }) => ({ key, input, shown_usd_micro })),
        ),
      );
  } catch {
    // The browser keeps no more; they live in the page's memory alone.
  }
  for (const listener of listeners) listener();
}

/** Whatever was on its way when the document went is lost until it is sent again. */
function stored(place: string): Press[] {
  try {
    const text = sessionStorage.getItem(place) ?? '[]';
    const kept = JSON.parse(text) as Pick<Press, 'key' | 'input' | 'shown_usd_micro'>[];
    return kept.map((press) => ({ ...press, error: new Error('unanswered'), isSending: false }));
  } catch {
    return [];
  }
}
