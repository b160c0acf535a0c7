import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { isCustom, isFirstChoice, textOf, toolCallsMax } from '../chat/completion.ts';

/**
 * Reads the chunks of one reply as typed pieces, for dialects that write events of their own. A
 * whole reply is read in the same way, as the chunks of `chunksFromCompletion`. Nothing here throws
 * on JSON values; values of the wrong type count as absent.
 */

export type Delta =
  | { type: 'text'; text: string; logprobs: Json[] }
  | ReasoningDelta
  | { type: 'refusal'; text: string }
  | CallDelta
  | { type: 'input'; call: number; text: string }
  | FinishDelta;

interface FinishDelta {
  type: 'finish';
  reason: string;
  /**
   * The server's `stop_reason`: with vLLM the entry of `stop` that ended the reply, with other
   * servers perhaps a word of their own.
   */
  stop: string | null;
}

/** The next piece of the reasoning: of one of OpenRouter's details, or of a plain text. */
export interface ReasoningDelta {
  type: 'reasoning';
  kind: 'text' | 'summary' | 'encrypted';
  /** May be empty beside a signature. For `encrypted`, data that only the model can read. */
  text: string;
  /** Proves to the model that it wrote the text. */
  signature: string | null;
  id: string | null;
  format: string | null;
  /** Pieces of one detail have the same index. Null for a plain text. */
  index: number | null;
}

/** The start of a tool call. Its input follows as `input` with the same `call`. */
export interface CallDelta {
  type: 'call';
  /** Place of the call in `tool_calls`. */
  call: number;
  kind: 'function' | 'custom';
  /** Null if the model's server gave none, or one that an earlier call of the reply has. */
  id: string | null;
  name: string;
}

/** Returns a function that reads the next chunk. One reader for each reply. */
export function deltaReader(): (chunk: Json) => Delta[] {
  const calls: Calls = { open: new Map(), ids: new Set() };
  return (chunk) => {
    const choice = itemsOf(chunk.choices).find(isFirstChoice);
    if (choice === undefined) return [];
    const delta = objectOf(choice.delta);
    const { logprobs, finish_reason: reason } = choice;
    const stop = filled(choice.stop_reason);
    return [
      ...reasoningIn(delta),
      ...textIn(delta, objectOf(logprobs)),
      ...refusalIn(delta),
      ...callsIn(delta, calls),
      ...(typeof reason === 'string' ? [{ type: 'finish' as const, reason, stop }] : []),
    ];
  };
}

function textIn({ content }: Json, { content: logprobs }: Json): Delta[] {
  const text = textOf(content);
  const list = itemsOf(logprobs).filter(isObject);
  return text === '' && list.length === 0 ? [] : [{ type: 'text', text, logprobs: list }];
}

function refusalIn({ refusal }: Json): Delta[] {
  return isFilled(refusal) ? [{ type: 'refusal', text: refusal }] : [];
}

const detailTexts = { text: 'text', summary: 'summary', encrypted: 'data' } as const;

function reasoningIn(delta: Json): ReasoningDelta[] {
  const details = itemsOf(delta.reasoning_details).filter(isObject).flatMap(readDetail);
  // Servers that send details repeat their texts as plain reasoning.
  if (details.some(({ kind, text }) => kind !== 'encrypted' && text !== '')) return details;
  const text = textOf(delta.reasoning_content) || textOf(delta.reasoning);
  if (text === '') return details;
  const plain = { signature: null, id: null, format: null, index: null };
  return [{ type: 'reasoning', kind: 'text', text, ...plain }, ...details];
}

function readDetail(detail: Json, position: number): ReasoningDelta[] {
  const type = 'reasoning';
  const kind = (['text', 'summary', 'encrypted'] as const).find(
    (each) => detail.type === `${type}.${each}`,
  );
  if (kind === undefined) return [];
  const text = textOf(detail[detailTexts[kind]]);
  const [signature, id, format] = [detail.signature, detail.id, detail.format].map(filled);
  if (text === '' && signature === null) return [];
  const index = isCount(detail.index) ? detail.index : position;
  return [{ type, kind, text, signature: signature!, id: id!, format: format!, index }];
}

function filled(value: unknown): string | null {
  return isFilled(value) ? value : null;
}

/** A tool call whose pieces are arriving. It begins once its name is known; earlier input waits. */
interface OpenCall {
  begun: boolean;
  id: string | null;
  waiting: string;
}

interface Calls {
  open: Map<number, OpenCall>;
  /** Ids that are taken. Clients refuse a reply in which two calls have the same id. */
  ids: Set<string>;
}

function callsIn(delta: Json, { open: calls, ids }: Calls): Delta[] {
  return itemsOf(delta.tool_calls).flatMap((piece, position): Delta[] => {
    if (!isObject(piece)) return [];
    // Some servers omit the index if there is only one call.
    const call = isCount(piece.index) ? piece.index : position;
    if (!calls.has(call) && calls.size >= toolCallsMax) return [];
    const open = calls.get(call) ?? { begun: false, id: null, waiting: '' };
    calls.set(call, open);
    open.id ??= filled(piece.id);
    const kind = isCustom(piece) ? 'custom' : 'function';
    const own = objectOf(piece[kind] ?? piece.custom ?? piece.function);
    const text = textOf(own.input) + textOf(own.arguments);
    if (open.begun) return text === '' ? [] : [{ type: 'input', call, text }];
    open.waiting += text;
    if (!isFilled(own.name)) return [];
    open.begun = true;
    const id = open.id !== null && ids.has(open.id) ? null : open.id;
    if (id !== null) ids.add(id);
    const begin: Delta = { type: 'call', call, kind, id, name: own.name };
    return open.waiting === '' ? [begin] : [begin, { type: 'input', call, text: open.waiting }];
  });
}
