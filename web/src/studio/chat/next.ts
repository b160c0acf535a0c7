import { useEffect, useState } from 'react';
import { fromJson } from '../../../../client/src/unknown.ts';
import type { ChatFile } from './conversations.ts';

/** The next message, before it is sent. Survives a reload and the end of the session. */
export interface Next {
  text: string;
  files: ChatFile[];
}

export function useNext(place: string) {
  const [next, setNext] = useState<Next>(() => storedMessage(place));
  useEffect(() => {
    try {
      if (next.text === '' && next.files.length === 0) sessionStorage.removeItem(place);
      else sessionStorage.setItem(place, JSON.stringify(next));
    } catch {
      // The browser has no room: the message stays in the page only.
    }
  }, [place, next]);
  const change = (how: (now: Next) => Partial<Next>) => setNext((now) => ({ ...now, ...how(now) }));
  return { ...next, change };
}

function storedMessage(place: string): Next {
  const empty = { text: '', files: [] };
  try {
    return fromJson<Next | null>(sessionStorage.getItem(place) ?? 'null') ?? empty;
  } catch {
    return empty;
  }
}
