import type { Delta } from './deltas.ts';

/**
 * Writes the pieces of a reply as blocks or items, one after the other. The pieces of parallel tool
 * calls may be mixed, and a call may go on until the end of the reply. So the first call stays open
 * until the end, and what follows it waits.
 */
export interface Ordered<E> {
  add(delta: Delta): E[];
  /**
   * Writes what has waited. `isWhole`: false if the reply is incomplete; this concerns only its
   * last entry.
   */
  end(isWhole: boolean): E[];
}

/** A block or item of a reply, and its events. */
export interface Entry<E> {
  /** Whether the next piece belongs to this entry. */
  takes(delta: Delta): boolean;
  begin(): E[];
  /** Adds a piece. The first call gets the piece for which the entry was begun. */
  add(delta: Delta): E[];
  end(isWhole: boolean): E[];
}

/** `entryOf`: returns the entry that begins with this piece; null if none does. */
export function inOrder<E>(entryOf: (delta: Delta, index: number) => Entry<E> | null): Ordered<E> {
  let open: Entry<E> | null = null;
  let entries = 0;
  let firstCall: number | null = null;
  /** Pieces that wait, grouped by tool call. */
  let held: Delta[][] = [];
  const heldCalls = new Map<number, Delta[]>();

  function write(delta: Delta): E[] {
    if (open?.takes(delta)) return open.add(delta);
    const next = entryOf(delta, entries);
    if (next === null) return [];
    const ended = open?.end(true) ?? [];
    open = next;
    entries++;
    return [...ended, ...next.begin(), ...next.add(delta)];
  }

  function hold(delta: Delta): void {
    const call = delta.type === 'input' ? heldCalls.get(delta.call) : undefined;
    if (call) return void call.push(delta);
    const group = [delta];
    held.push(group);
    if (delta.type === 'call') heldCalls.set(delta.call, group);
  }

  return {
    add(delta) {
      const isNow = firstCall === null || (delta.type === 'input' && delta.call === firstCall);
      if (delta.type === 'call') firstCall ??= delta.call;
      if (isNow) return write(delta);
      hold(delta);
      return [];
    },
    end(isWhole) {
      const events = held.flat().flatMap(write);
      held = [];
      const last = open?.end(isWhole) ?? [];
      open = null;
      return [...events, ...last];
    },
  };
}
