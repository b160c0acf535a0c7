import type { Json } from '../../lib/json.ts';
import { isOneFormat } from '../chat/reasoning-details.ts';
import { deltaReader, type CallDelta, type Delta, type ReasoningDelta } from './deltas.ts';
import { packed } from './messages-signature.ts';
import { inOrder, type Entry } from './order.ts';

type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

/** The content blocks of one message. */
export interface Blocks {
  add(chunk: Json): Json[];
  end(): Json[];
  stopped(): { stop_reason: StopReason; stop_sequence: string | null };
}

/**
 * `requestId`: for tool calls that came without an id. `stops`: the caller's stop sequences. Any
 * other `stop_reason` is ignored, because some servers write a word of their own there.
 */
export function openBlocks(requestId: string, stops: readonly unknown[]): Blocks {
  const read = deltaReader();
  const order = inOrder((delta, index) => blockOf(delta, index, requestId.replaceAll('-', '')));
  let hasCalled = false;
  let hasRefused = false;
  let finish = 'stop';
  let stop: string | null = null;

  function add(delta: Delta): Json[] {
    hasCalled ||= delta.type === 'call';
    hasRefused ||= delta.type === 'refusal';
    if (delta.type === 'finish') {
      finish = delta.reason;
      stop = stops.includes(delta.stop) ? delta.stop : null;
    }
    return order.add(delta);
  }

  function stopReason(): StopReason {
    if (hasRefused || finish === 'content_filter') return 'refusal';
    if (finish === 'length') return 'max_tokens';
    if (hasCalled) return 'tool_use';
    return stop === null ? 'end_turn' : 'stop_sequence';
  }

  return {
    add: (chunk) => read(chunk).flatMap(add),
    end: () => order.end(true),
    stopped() {
      const reason = stopReason();
      return { stop_reason: reason, stop_sequence: reason === 'stop_sequence' ? stop : null };
    },
  };
}

function blockOf(delta: Delta, index: number, requestId: string): Entry<Json> | null {
  switch (delta.type) {
    case 'call':
      return toolUse(delta, index, requestId);
    case 'reasoning':
      return delta.kind === 'encrypted' ? redacted(delta, index) : thinking(index);
    case 'text':
    case 'refusal':
      return delta.text === '' ? null : text(index);
    default:
      return null;
  }
}

/** `piecesOf`: what a delta adds to the block. */
function block(
  index: number,
  content_block: Json,
  takes: (delta: Delta) => boolean,
  piecesOf: (delta: Delta) => Json[],
): Entry<Json> {
  return {
    takes,
    begin: () => [{ type: 'content_block_start', index, content_block }],
    add: (delta) =>
      piecesOf(delta).map((piece) => ({ type: 'content_block_delta', index, delta: piece })),
    end: () => [{ type: 'content_block_stop', index }],
  };
}

function text(index: number): Entry<Json> {
  const takes = ({ type }: Delta) => type === 'text' || type === 'refusal';
  return block(index, { type: 'text', text: '' }, takes, (delta) =>
    'text' in delta && delta.text !== '' ? [{ type: 'text_delta', text: delta.text }] : [],
  );
}

/** A block of thinking. It takes nothing after its signature. */
function thinking(index: number): Entry<Json> {
  let thought: number | null = null;
  let format: string | null = null;
  let isSigned = false;
  const takes = (delta: Delta) => {
    if (delta.type !== 'reasoning' || delta.kind === 'encrypted' || isSigned) return false;
    if (!isOneFormat(format, delta.format)) return false;
    return thought === null || delta.index === null || thought === delta.index;
  };
  return block(index, { type: 'thinking', thinking: '', signature: '' }, takes, (delta) => {
    if (delta.type !== 'reasoning') return [];
    thought ??= delta.index;
    format ??= delta.format;
    const said = delta.text === '' ? [] : [{ type: 'thinking_delta', thinking: delta.text }];
    if (delta.signature === null) return said;
    isSigned = true;
    return [...said, { type: 'signature_delta', signature: packed(delta.signature, delta) }];
  });
}

function redacted(delta: ReasoningDelta, index: number): Entry<Json> {
  const data = packed(delta.text, delta);
  return block(
    index,
    { type: 'redacted_thinking', data },
    () => false,
    () => [],
  );
}

function toolUse({ call, id, name }: CallDelta, index: number, requestId: string): Entry<Json> {
  const own = id ?? `toolu_${requestId}_${call}`;
  const takes = (delta: Delta) => delta.type === 'input' && delta.call === call;
  return block(index, { type: 'tool_use', id: own, name, input: {} }, takes, (delta) =>
    delta.type === 'input' ? [{ type: 'input_json_delta', partial_json: delta.text }] : [],
  );
}
