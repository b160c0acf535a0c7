import { ApiError } from '../core/errors.ts';
import type { Viewer } from '../db/people.ts';

/**
 * Who looks at something that stays open, with a right that may be taken from them meanwhile: all
 * of them are judged anew now and then.
 */
export interface Viewers {
  /**
   * Until the returned function is called; `over` is called where they have no right to it any
   * more. Throws `rate_limited` where they hold as many as one person may.
   */
  join(viewer: Viewer, over: () => void): () => void;
  isFull(viewer: Viewer): boolean;
  close(): void;
}

interface Options {
  areStillThere: (viewers: Viewer[]) => Promise<boolean[]>;
  onError: (error: unknown) => void;
  everyMs: number;
}

/** Streams and waits of one person in this process, whatever browsers they are open in. */
export const openMax = 20;
const againSeconds = 30;

/** What somebody is told whose right has ended. */
export const overWords = 'You are signed out, or belong there no more.';

export function createViewers({ areStillThere, onError, everyMs }: Options): Viewers {
  const open = new Map<() => void, Viewer>();
  const held = new Map<string, number>();
  const timer = setInterval(() => void judge().catch(onError), everyMs).unref();

  async function judge(): Promise<void> {
    const all = [...open];
    if (all.length === 0) return;
    const there = await areStillThere(all.map(([, viewer]) => viewer));
    for (const [i, [over]] of all.entries()) if (!there[i] && open.has(over)) over();
  }

  const isFull = ({ person_id }: Viewer) => (held.get(person_id) ?? 0) >= openMax;

  function add({ person_id }: Viewer, count: 1 | -1): void {
    const now = (held.get(person_id) ?? 0) + count;
    if (now === 0) held.delete(person_id);
    else held.set(person_id, now);
  }

  return {
    join(viewer, over) {
      if (isFull(viewer)) throw tooManyOpen();
      open.set(over, viewer);
      add(viewer, 1);
      return () => {
        if (open.delete(over)) add(viewer, -1);
      };
    },
    isFull,
    close: () => clearInterval(timer),
  };
}

function tooManyOpen(): ApiError {
  return new ApiError('rate_limited', {
    message: `You have ${openMax} streams open, as many as one person may. Close a page first.`,
    headers: { 'retry-after': String(againSeconds) },
  });
}
