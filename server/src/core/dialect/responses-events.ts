import type { Json } from '../../lib/json.ts';
import { deltaReader } from './deltas.ts';
import { inOrder } from './order.ts';
import { beginItem, type ItemEvent } from './responses-items.ts';
import { ownNames } from './responses-tools.ts';

/** The output of one reply, item after item. */
export interface Output {
  add(chunk: Json): ItemEvent[];
  /**
   * Ends all items. `isWhole`: false if the reply is incomplete; this concerns only the last item.
   */
  end(isWhole: boolean): ItemEvent[];
  /** The ended items. */
  shown(): Json[];
}

export function openOutput(request_id: string, tools: unknown): Output {
  const read = deltaReader();
  const names = ownNames(tools);
  const nameOf = (name: string) => ({ ...(names.get(name) ?? { name }) });
  const ended: Json[] = [];
  const order = inOrder<ItemEvent>((delta, output_index) => {
    const item = beginItem(delta, { request_id, output_index }, nameOf);
    if (item === null) return null;
    const event = (type: string, shown: Json) => ({ type, output_index, item: shown });
    return {
      takes: item.takes,
      begin: () => [event('response.output_item.added', item.shown('in_progress'))],
      add: item.add,
      end(isWhole) {
        const events = item.end();
        const shown = item.shown(isWhole ? 'completed' : 'incomplete');
        ended.push(shown);
        return [...events, event('response.output_item.done', shown)];
      },
    };
  });
  return {
    add: (chunk) => read(chunk).flatMap(order.add),
    end: order.end,
    shown: () => ended,
  };
}
