import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { textOf } from '../chat/completion.ts';
import { responsesFormat } from '../chat/reasoning-details.ts';
import { callChunk, chunkOf, type ReplyReader } from './chat-api.ts';

/** Reads a reply of OpenAI's Responses as chunks of a chat completion. */
export function responsesReader(): ReplyReader {
  const reply: Reply = { items: new Map(), calls: 0, details: new Map(), withDeltas: new Set() };
  let state: 'open' | 'ended' = 'open';
  return {
    state: () => state,
    read(event) {
      const type = textOf(event.type);
      if (type === 'error') return [failure(event.error ?? event)];
      if (type === 'response.output_item.added') return addItem(event, reply);
      if (type === 'response.output_item.done') return endItem(event, reply);
      const end = objectOf(event.response);
      if (type === 'response.failed') return [{ ...failure(end.error), ...usageOf(end) }];
      if (type !== 'response.completed' && type !== 'response.incomplete')
        return deltaIn(type, event, reply);
      state = 'ended';
      return [chunkOf({}, usageOf(end), { finish_reason: finishOf(end, reply.calls > 0) })];
    },
    events(response) {
      const { output, status } = response;
      if (!Array.isArray(output)) return null;
      const items = output.map((item: unknown, output_index) => ({
        type: 'response.output_item.done',
        output_index,
        item,
      }));
      const end = status === 'failed' || status === 'incomplete' ? status : 'completed';
      return [...items, { type: `response.${end}`, response }];
    },
  };
}

interface Reply {
  /** The call of each item, by the item's `output_index`. */
  items: Map<unknown, { index: number; isCustom: boolean }>;
  calls: number;
  /** The index of each reasoning detail, by item and part. */
  details: Map<string, number>;
  /** Items whose pieces arrived as deltas, by `output_index`. */
  withDeltas: Set<unknown>;
}

function failure(error: unknown): Json {
  return { choices: [], error: isObject(error) ? error : { message: 'the response failed' } };
}

function addItem({ output_index: at, item }: Json, reply: Reply): Json[] {
  const { type, call_id: id, name } = objectOf(item);
  const isCustom = type === 'custom_tool_call';
  if ((!isCustom && type !== 'function_call') || reply.items.has(at)) return [];
  const index = reply.calls++;
  reply.items.set(at, { index, isCustom });
  const kind = isCustom ? 'custom' : 'function';
  const own = { name, ...(isCustom ? { input: '' } : { arguments: '' }) };
  return [callChunk(index, { ...(isFilled(id) && { id }), type: kind, [kind]: own })];
}

/**
 * The chunks of a finished item, without texts that deltas have sent. A server may send whole
 * items.
 */
function endItem(event: Json, reply: Reply): Json[] {
  const { output_index: at, item } = event;
  const own = objectOf(item);
  const hasDeltas = reply.withDeltas.has(at);
  switch (own.type) {
    case 'message':
      return hasDeltas ? [] : itemsOf(own.content).map(objectOf).flatMap(partChunks);
    case 'reasoning':
      return reasoningChunks(own, at, reply, hasDeltas);
    case 'function_call':
    case 'custom_tool_call': {
      const begun = addItem(event, reply);
      const text = textOf(own.arguments) || textOf(own.input);
      return hasDeltas ? begun : [...begun, ...inputChunk(at, text, reply)];
    }
    default:
      return [];
  }
}

function partChunks({ text, refusal, logprobs }: Json): Json[] {
  if (isFilled(refusal)) return [chunkOf({ refusal })];
  return isFilled(text) ? [textChunk(text, logprobs)] : [];
}

function textChunk(content: string, logprobs: unknown): Json {
  const list = itemsOf(logprobs);
  if (list.length === 0) return chunkOf({ content });
  const choice = { index: 0, delta: { content }, logprobs: { content: list }, finish_reason: null };
  return { choices: [choice] };
}

function inputChunk(at: unknown, text: string, { items }: Reply): Json[] {
  const call = items.get(at);
  if (call === undefined || text === '') return [];
  const piece = call.isCustom ? { custom: { input: text } } : { function: { arguments: text } };
  return [callChunk(call.index, piece)];
}

function reasoningChunks(item: Json, at: unknown, reply: Reply, hasDeltas: boolean): Json[] {
  const { id, encrypted_content: data } = item;
  const thoughts = hasDeltas
    ? []
    : (['summary', 'content'] as const).flatMap((list) =>
        itemsOf(item[list]).flatMap((part, k) =>
          thoughtChunk(textOf(objectOf(part).text), list === 'summary', { id, at, k }, reply),
        ),
      );
  if (!isFilled(data)) return thoughts;
  const index = indexOf(`${String(at)} encrypted`, reply);
  const detail = { type: 'reasoning.encrypted', data, id, format: responsesFormat, index };
  return [...thoughts, chunkOf({ reasoning_details: [detail] })];
}

/** `at`: the item's `output_index`. `k`: the index of the part. */
interface ThoughtPosition {
  id: unknown;
  at: unknown;
  k: unknown;
}

function thoughtChunk(
  text: string,
  isSummary: boolean,
  position: ThoughtPosition,
  reply: Reply,
): Json[] {
  if (text === '') return [];
  const { id, at, k } = position;
  const index = indexOf(`${String(at)} ${isSummary} ${String(k)}`, reply);
  const own = isSummary
    ? { type: 'reasoning.summary', summary: text }
    : { type: 'reasoning.text', text };
  const detail = { ...own, ...(isFilled(id) && { id }), format: responsesFormat, index };
  return [chunkOf({ reasoning: text, reasoning_details: [detail] })];
}

function indexOf(key: string, { details }: Reply): number {
  const index = details.get(key) ?? details.size;
  details.set(key, index);
  return index;
}

function deltaIn(type: string, event: Json, reply: Reply): Json[] {
  const { delta, output_index: at, item_id: id, logprobs } = event;
  if (!isFilled(delta)) return [];
  const chunks = deltaChunks(type, delta, { at, id, logprobs, event }, reply);
  if (chunks.length > 0) reply.withDeltas.add(at);
  return chunks;
}

function deltaChunks(
  type: string,
  delta: string,
  { at, id, logprobs, event }: { at: unknown; id: unknown; logprobs: unknown; event: Json },
  reply: Reply,
): Json[] {
  switch (type) {
    case 'response.output_text.delta':
      return [textChunk(delta, logprobs)];
    case 'response.refusal.delta':
      return [chunkOf({ refusal: delta })];
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return inputChunk(at, delta, reply);
    case 'response.reasoning_summary_text.delta':
      return thoughtChunk(delta, true, { id, at, k: event.summary_index }, reply);
    case 'response.reasoning_text.delta':
      return thoughtChunk(delta, false, { id, at, k: event.content_index }, reply);
    default:
      return [];
  }
}

function finishOf({ incomplete_details: details }: Json, hasCalled: boolean): string {
  const { reason } = objectOf(details);
  if (reason === 'max_output_tokens') return 'length';
  if (reason === 'content_filter') return 'content_filter';
  return hasCalled ? 'tool_calls' : 'stop';
}

function usageOf({ usage }: Json): Json {
  if (!isObject(usage)) return {};
  const { input_tokens, output_tokens, total_tokens, input_tokens_details: prompt, cost } = usage;
  const { reasoning_tokens } = objectOf(usage.output_tokens_details);
  return {
    usage: {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens,
      prompt_tokens_details: objectOf(prompt),
      ...(isCount(reasoning_tokens) && { completion_tokens_details: { reasoning_tokens } }),
      ...(cost !== undefined && { cost }),
    },
  };
}
