import type { Json } from '../../lib/json.ts';
import { deltaReader, type Delta } from './deltas.ts';
import { beginItem, type Item, type ItemEvent, type ItemStatus } from './responses-items.ts';
import { ownNames } from './responses-tools.ts';

/**
 * The output of one reply, item after item. Chat completions may mix the pieces of parallel tool
 * calls, and a client reads one item at a time. So the first call stays open until the end, and the
 * items after it wait.
 */
export interface Output {
  add(chunk: Json): ItemEvent[];
  /** Ends all items; only the last one is incomplete if the reply is. */
  end(isWhole: boolean): ItemEvent[];
  /** All items as they are now, complete or not. */
  shown(): Json[];
}

export function openOutput(request_id: string, tools: unknown): Output {
  const read = deltaReader();
  const names = ownNames(tools);
  const nameOf = (name: string) => ({ ...(names.get(name) ?? { name }) });
  const items: Item[] = [];
  /** Final forms of the ended items, which are the first ones. */
  const ended: Json[] = [];
  /** Events of the items after the open one. */
  const waiting: ItemEvent[][] = [];
  const callIds = new Set<string | null>();
  let firstCall: number | null = null;

  function add(delta: Delta): ItemEvent[] {
    const at = items.findLastIndex((item) => item.takes(delta));
    if (at >= ended.length) return sent(at, items[at]!.add(delta));
    const output_index = items.length;
    const item = beginItem(withOwnId(delta), { request_id, output_index }, nameOf);
    if (item === null) return [];
    const before = firstCall === null ? close('completed') : [];
    if (delta.type === 'call') firstCall ??= output_index;
    items.push(item);
    waiting.push([]);
    const added = { type: 'response.output_item.added', output_index };
    const begun = sent(output_index, [
      { ...added, item: item.shown('in_progress') },
      ...item.add(delta),
    ]);
    return [...before, ...begun];
  }

  /** Clients refuse replies in which two calls have the same id. */
  function withOwnId(delta: Delta): Delta {
    if (delta.type !== 'call') return delta;
    const isTaken = callIds.has(delta.id);
    callIds.add(delta.id);
    return isTaken ? { ...delta, id: null } : delta;
  }

  /** The events now, or nothing if they have to wait. */
  function sent(at: number, events: ItemEvent[]): ItemEvent[] {
    if (at === ended.length) return events;
    waiting[at]!.push(...events);
    return [];
  }

  /** Ends the open item. */
  function close(status: ItemStatus): ItemEvent[] {
    const item = items[ended.length];
    if (!item) return [];
    const output_index = ended.length;
    const events = [...waiting[output_index]!, ...item.end()];
    const shown = item.shown(status);
    ended.push(shown);
    return [...events, { type: 'response.output_item.done', output_index, item: shown }];
  }

  return {
    add: (chunk) => read(chunk).flatMap(add),
    end(isWhole) {
      const events: ItemEvent[][] = [];
      while (ended.length < items.length) {
        const isLast = ended.length === items.length - 1;
        events.push(close(isLast && !isWhole ? 'incomplete' : 'completed'));
      }
      return events.flat();
    },
    shown: () => [...ended, ...items.slice(ended.length).map((item) => item.shown('incomplete'))],
  };
}
