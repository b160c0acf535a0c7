import { isObject, type Json } from '../../lib/json.ts';
import type { CallDelta, Delta, ReasoningDelta } from './deltas.ts';
import { packed } from './messages-signature.ts';

interface OpenCall {
  call: number;
  block: Json;
  input: string;
  /** How much of the input was written; -1: the block was not started. */
  written: number;
  /** How much of the input was found to be unfinished. */
  judged: number;
}

/** Writes the pieces of one reply as the content blocks of a message, one after the other. */
export class BlockWriter {
  #blocks = 0;
  #open: 'text' | 'thinking' | 'tool_use' | null = null;
  /** Index of the reasoning in the open block. */
  #thought: number | null = null;
  /** Calls that may get more input, in order. The first has the open block. */
  readonly #calls: OpenCall[] = [];
  #hasCalled = false;
  #hasRefused = false;
  #finish = 'stop';
  readonly #requestId: string;

  /** `requestId`: for tool calls that came without an id. */
  constructor(requestId: string) {
    this.#requestId = requestId.replaceAll('-', '');
  }

  add(delta: Delta): Json[] {
    switch (delta.type) {
      case 'call':
        return this.#begin(delta);
      case 'input': {
        const target = this.#calls.find(({ call }) => call === delta.call);
        if (target) target.input += delta.text;
        return this.#writeCalls(false);
      }
      case 'finish':
        this.#finish = delta.reason;
        return [];
      case 'reasoning':
        return [...this.#writeCalls(true), ...this.#writeReasoning(delta)];
      default:
        this.#hasRefused ||= delta.type === 'refusal';
        return delta.text === '' ? [] : [...this.#writeCalls(true), ...this.#writeText(delta.text)];
    }
  }

  /** Ends the last block. */
  end(): Json[] {
    return [...this.#writeCalls(true), ...this.#close()];
  }

  stopReason(): 'end_turn' | 'max_tokens' | 'tool_use' | 'refusal' {
    if (this.#hasRefused || this.#finish === 'content_filter') return 'refusal';
    if (this.#finish === 'length') return 'max_tokens';
    return this.#hasCalled ? 'tool_use' : 'end_turn';
  }

  #close(): Json[] {
    if (this.#open === null) return [];
    this.#open = null;
    return [{ type: 'content_block_stop', index: this.#blocks - 1 }];
  }

  #start(kind: 'text' | 'thinking' | 'tool_use', content_block: Json): Json[] {
    const before = this.#close();
    this.#open = kind;
    return [...before, { type: 'content_block_start', index: this.#blocks++, content_block }];
  }

  #piece(delta: Json): Json {
    return { type: 'content_block_delta', index: this.#blocks - 1, delta };
  }

  #writeText(text: string): Json[] {
    const begun = this.#open === 'text' ? [] : this.#start('text', { type: 'text', text: '' });
    return [...begun, this.#piece({ type: 'text_delta', text })];
  }

  #writeReasoning(delta: ReasoningDelta): Json[] {
    const { kind, text, signature, index } = delta;
    if (kind === 'encrypted') {
      const data = packed(text, delta);
      return [...this.#start('thinking', { type: 'redacted_thinking', data }), ...this.#close()];
    }
    const events: Json[] = [];
    const isOther = this.#thought !== null && index !== null && this.#thought !== index;
    if (this.#open !== 'thinking' || isOther) {
      events.push(...this.#start('thinking', { type: 'thinking', thinking: '', signature: '' }));
      this.#thought = null;
    }
    this.#thought ??= index;
    if (text !== '') events.push(this.#piece({ type: 'thinking_delta', thinking: text }));
    if (signature === null) return events;
    const proof = { type: 'signature_delta', signature: packed(signature, delta) };
    return [...events, this.#piece(proof), ...this.#close()];
  }

  #begin({ call, id, name }: CallDelta): Json[] {
    this.#hasCalled = true;
    const own = id ?? `toolu_${this.#requestId}_${call}`;
    const block = { type: 'tool_use', id: own, name, input: {} };
    this.#calls.push({ call, block, input: '', written: -1, judged: 0 });
    return this.#writeCalls(false);
  }

  /**
   * A block ends before the next one starts. A call is over once its input is valid JSON and
   * another call has begun; until then the next one waits.
   */
  #writeCalls(isEnd: boolean): Json[] {
    const events: Json[] = [];
    for (let first = this.#calls[0]; first !== undefined; first = this.#calls[0]) {
      if (first.written < 0) events.push(...this.#start('tool_use', first.block));
      const partial_json = first.input.slice(Math.max(0, first.written));
      if (partial_json !== '') events.push(this.#piece({ type: 'input_json_delta', partial_json }));
      first.written = first.input.length;
      if (!isEnd && (this.#calls.length === 1 || !isFinished(first))) break;
      this.#calls.shift();
    }
    return events;
  }
}

/**
 * Whether the input of the call is a whole object. A long one is read again only when it has
 * doubled, since a reply may have tens of thousands of pieces.
 */
function isFinished(call: OpenCall): boolean {
  const { input, judged } = call;
  const isDue = input.length > judged && (input.length < 16_384 || input.length >= 2 * judged);
  if (!isDue || !input.trimEnd().endsWith('}')) return false;
  call.judged = input.length;
  return toolInput(input) !== null;
}

/** The input of a tool call; null if it is not a JSON object. */
export function toolInput(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
