import { itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { hasKey } from '../../../lib/records.ts';
import type { FinishReason } from '../../chat/reply.ts';
import { foreignUsage } from '../../chat/usage.ts';
import type { OpenReader } from '../api.ts';
import { endedEarly, errorIn, failedReply } from '../read-reply.ts';
import { replyCalls } from '../reading/calls.ts';
import * as pieces from '../reading/pieces.ts';
import { replyItems, type ItemType } from './read-items.ts';

/** Reads a response of OpenAI's Responses, whole or as events. */
export const responsesReader: OpenReader = (context, say) => {
  const calls = replyCalls(context, say);
  const items = replyItems({ calls, thoughts: pieces.replyThoughts(say), say });
  let finish: FinishReason | null = null;
  let isOver = false;

  function readText(
    { type, kind, field, read = pieces.textOf }: TextEvent,
    isWhole: boolean,
    event: Json,
  ): void {
    const value = isWhole ? (event[field] ?? objectOf(event.part)[field]) : event.delta;
    const text = read(value);
    const place = {
      type,
      at: pieces.wholeNumberIn(event.output_index),
      id: pieces.textOf(event.item_id),
      call_id: pieces.textOf(event.call_id),
    };
    const index = pieces.wholeNumberIn(
      kind === 'summary' ? event.summary_index : event.content_index,
    );
    const form = isWhole ? 'whole' : 'piece';
    const { name, logprobs } = event;
    if (text !== '')
      items.addText(place, kind, index, { text, form, logprobs, name: pieces.textOf(name) });
  }

  /** `word`: the status that the event's type tells. */
  function readEnd(response: Json, word: string): void {
    items.addAll(itemsOf(response.output).map(objectOf));
    const text = pieces.textOf(response.output_text);
    if (text !== '' && !items.hasAny('message'))
      items.addWhole({ type: 'message', content: text }, null);
    const usage = foreignUsage(objectOf(response.usage));
    if (usage) say({ type: 'usage', usage });
    const stated = pieces.textOf(response.status) || word;
    const status = hasKey(statuses, stated) ? statuses[stated] : 'completed';
    const lack = status === 'completed' ? lackIn(response, items) : null;
    const error = errorIn({ error: response.error }) ?? lack;
    if (error || status === 'failed') throw failedReply(error, { status: stated });
    const cut = pieces.finishOf(objectOf(response.incomplete_details).reason);
    if (cut === 'length' || cut === 'filter') finish = cut;
    // A reply that was cut must not look whole.
    else if (status === 'incomplete') finish = 'length';
    isOver = status !== 'open';
  }

  return {
    read(piece, name) {
      const type = pieces.textOf(piece.type) || (name ?? '');
      const [, own = '', how = ''] = /^response\.(\w+)\.(\w+)$/.exec(type) ?? [];
      const what = own === 'content_part' ? pieces.textOf(objectOf(piece.part).type) : own;
      const text = hasKey(textEvents, what) ? textEvents[what] : null;
      if (text && (how === 'delta' || how === 'done')) return readText(text, how === 'done', piece);
      const at = pieces.wholeNumberIn(piece.output_index);
      if (type === 'response.output_item.added') return items.begin(objectOf(piece.item), at);
      if (type === 'response.output_item.done') return items.addWhole(objectOf(piece.item), at);
      const end = /^response\.(completed|done|incomplete|failed|cancelled)$/.exec(type)?.[1];
      if (end) return readEnd(responseIn(piece), end);
      if (Array.isArray(piece.output) || 'output_text' in piece) readEnd(piece, 'completed');
    },
    isOver: () => isOver,
    end() {
      if (!isOver) throw endedEarly();
      say({ type: 'end', reason: calls.end(finish ?? 'stop'), stop: null });
    },
    cut: calls.cut,
  };
};

/** The response of the last event, which may have usage and error beside it. */
function responseIn({ usage, error, response }: Json): Json {
  const own = objectOf(response);
  return { usage, ...own, error: own.error ?? error };
}

/** The error of a response that has only calls for the caller to carry out, or pictures. */
function lackIn({ output }: Json, { hasAny }: ReturnType<typeof replyItems>): Json | null {
  if (hasAny('message') || hasAny('call')) return null;
  const types = itemsOf(output).map((own) => pieces.textOf(objectOf(own).type));
  const other = types.find((type) =>
    /^(\w*shell|computer|apply_patch|image_generation)_call$|_request$/.test(type),
  );
  return other === undefined ? null : { message: `the model answered with nothing but ${other}` };
}

const statuses: Readonly<Record<string, 'open' | 'incomplete' | 'failed'>> = {
  queued: 'open',
  in_progress: 'open',
  incomplete: 'incomplete',
  failed: 'failed',
  cancelled: 'failed',
};

/** A text of events: the item and part that it belongs to, and the field with the whole text. */
interface TextEvent {
  type: ItemType;
  kind: string;
  field: string;
  /** The text in a value. */
  read?: (value: unknown) => string;
}

const textEvents: Readonly<Record<string, TextEvent>> = {
  output_text: { type: 'message', kind: 'text', field: 'text' },
  refusal: { type: 'message', kind: 'refusal', field: 'refusal' },
  reasoning: { type: 'reasoning', kind: 'content', field: 'text' },
  reasoning_summary: { type: 'reasoning', kind: 'summary', field: 'text' },
  reasoning_text: { type: 'reasoning', kind: 'content', field: 'text' },
  reasoning_summary_text: { type: 'reasoning', kind: 'summary', field: 'text' },
  reasoning_summary_part: { type: 'reasoning', kind: 'summary', field: 'text' },
  function_call_arguments: {
    type: 'call',
    kind: 'input',
    field: 'arguments',
    read: pieces.jsonTextOf,
  },
  custom_tool_call_input: { type: 'call', kind: 'input', field: 'input', read: pieces.inputTextOf },
};
