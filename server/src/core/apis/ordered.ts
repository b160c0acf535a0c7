import type { ReplyEvent } from '../chat/reply.ts';

/** A block or item of a reply, and its events. */
export interface OrderedEntry<E> {
  /** Whether the next piece belongs to this entry. */
  takes(event: ReplyEvent): boolean;
  begin(): E[];
  /** Adds a piece. The first call gets the piece for which the entry was begun. */
  add(event: ReplyEvent): E[];
  end(isWhole: boolean): E[];
}

/**
 * Writes the pieces of a reply as blocks or items, one after the other. The pieces of parallel tool
 * calls may be mixed, and a call may go on until the end of the reply. So the first call stays open
 * until the end, and what follows it waits. `entryOf`: the entry that begins with this piece.
 */
export function inOrder<E>(entryOf: (event: ReplyEvent, index: number) => OrderedEntry<E> | null): {
  add(event: ReplyEvent): E[];
  end(isWhole: boolean): E[];
} {
  let open: OrderedEntry<E> | null = null;
  let entries = 0;
  let firstCall: number | null = null;
  /** Pieces that wait, grouped by tool call. */
  let held: ReplyEvent[][] = [];
  const heldCalls = new Map<number, ReplyEvent[]>();

  function write(event: ReplyEvent): E[] {
    if (open?.takes(event)) return open.add(event);
    const next = entryOf(event, entries);
    if (next === null) return [];
    const ended = open?.end(true) ?? [];
    open = next;
    entries++;
    return [...ended, ...next.begin(), ...next.add(event)];
  }

  function hold(event: ReplyEvent): void {
    const call = event.type === 'input' ? heldCalls.get(event.call) : undefined;
    if (call) return void call.push(event);
    const group = [event];
    held.push(group);
    if (event.type === 'call') heldCalls.set(event.call, group);
  }

  return {
    add(event) {
      const isNow = firstCall === null || (event.type === 'input' && event.call === firstCall);
      if (event.type === 'call') firstCall ??= event.call;
      if (isNow) return write(event);
      hold(event);
      return [];
    },
    /** Writes what has waited. `isWhole`: false if the last entry is incomplete. */
    end(isWhole) {
      const events = held.flat().flatMap(write);
      held = [];
      const last = open?.end(isWhole) ?? [];
      open = null;
      return [...events, ...last];
    },
  };
}
