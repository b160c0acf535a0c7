import { isObject, objectOf, type Json } from '../../lib/json.ts';
import { isFilled } from '../check.ts';
import { textOf } from '../chat/completion.ts';
import { claudeFormat } from '../chat/reasoning-details.ts';
import { isTokenCount } from '../chat/usage.ts';
import { callChunk, chunkOf, type ReplyReader } from './chat-api.ts';

/** Reads a reply of Anthropic's Messages as chunks of a chat completion. */

/** `custom`: names of the tools whose input is a text. */
export function messagesReader(custom: ReadonlySet<string>): ReplyReader {
  const blocks = new Map<unknown, Block>();
  const used = usageCounter();
  let state: 'open' | 'complete' | 'ended' = 'open';
  let hasBegun = false;
  let calls = 0;
  let thoughts = 0;

  function begin(event: Json): Json[] {
    const own = objectOf(event.content_block);
    if (blocks.size >= blocksMax) return [];
    const block = blockOf(own, { calls, thoughts, custom });
    if (block === null) return [];
    if (own.type === 'tool_use') calls++;
    if (own.type === 'thinking' || own.type === 'redacted_thinking') thoughts++;
    blocks.set(event.index, block);
    return block.begin();
  }

  function end({ delta, usage }: Json): Json[] {
    used.end(usage);
    const { stop_reason: reason, stop_sequence: stop } = objectOf(delta);
    const own = used.usage();
    const more = own && { usage: own };
    if (!isFilled(reason)) return more ? [{ choices: [], ...more }] : [];
    state = 'complete';
    const ended = isFilled(stop) && { stop_reason: stop };
    return [chunkOf({}, more ?? {}, { finish_reason: finishOf(reason), ...ended })];
  }

  function chunksOf(event: Json): Json[] {
    switch (event.type) {
      case 'message_start':
        // Adds no chunk, so that an error after this event is still answered with its own status.
        used.begin(objectOf(event.message).usage);
        return [];
      case 'content_block_start':
        return begin(event);
      case 'content_block_delta':
        return blocks.get(event.index)?.add(objectOf(event.delta)) ?? [];
      case 'content_block_stop':
        return blocks.get(event.index)?.end() ?? [];
      case 'message_delta':
        return end(event);
      case 'message_stop':
        state = 'ended';
        return [];
      case 'error':
        return [{ choices: [], error: event.error ?? event }];
      default:
        return [];
    }
  }

  return {
    state: () => state,
    read(event) {
      const chunks = chunksOf(event);
      const [first, ...rest] = chunks;
      if (hasBegun || first === undefined || 'error' in first) return chunks;
      hasBegun = true;
      // The stream may break off before the last event, which has the whole usage.
      const usage = first.usage ?? used.usage();
      return usage ? [{ ...first, usage }, ...rest] : chunks;
    },
    events: eventsOf,
  };
}

/** A whole reply as the events of a stream. */
function eventsOf({ content, stop_reason, stop_sequence, usage }: Json): Json[] | null {
  if (!Array.isArray(content)) return null;
  const pieces = content.flatMap((content_block: unknown, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ]);
  return [...pieces, { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }];
}

/**
 * More blocks than any reply has. Without a limit, a faulty upstream could open one in every event.
 */
const blocksMax = 1_024;

const finishes: Readonly<Record<string, string>> = {
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

function finishOf(reason: string): string {
  return Object.hasOwn(finishes, reason) ? finishes[reason]! : 'stop';
}

interface Block {
  /** A block may arrive whole, or start empty and grow. */
  begin(): Json[];
  add(delta: Json): Json[];
  end(): Json[];
}

interface BlockContext {
  /** Tool calls and thoughts before this block. */
  calls: number;
  thoughts: number;
  custom: ReadonlySet<string>;
}

function blockOf(own: Json, { calls, thoughts, custom }: BlockContext): Block | null {
  switch (own.type) {
    case 'text':
      return textBlock(own);
    case 'thinking':
      return thinkingBlock(own, thoughts);
    case 'redacted_thinking':
      return redactedBlock(own, thoughts);
    case 'tool_use':
      return toolBlock(own, calls, custom.has(textOf(own.name)));
    default:
      return null;
  }
}

const nothing = () => [];

function textBlock({ text }: Json): Block {
  const said = (piece: unknown) => (isFilled(piece) ? [chunkOf({ content: piece })] : []);
  return { begin: () => said(text), add: (delta) => said(delta.text), end: nothing };
}

function thinkingBlock({ thinking, signature }: Json, index: number): Block {
  const detail = { type: 'reasoning.text', format: claudeFormat, index };
  const said = (text: unknown, proof: unknown) => {
    if (!isFilled(text) && !isFilled(proof)) return [];
    const own = { ...detail, text: textOf(text), ...(isFilled(proof) && { signature: proof }) };
    const reasoning = isFilled(text) && { reasoning: text };
    return [chunkOf({ ...reasoning, reasoning_details: [own] })];
  };
  return {
    begin: () => said(thinking, signature),
    add: (delta) => said(delta.thinking, delta.signature),
    end: nothing,
  };
}

function redactedBlock({ data }: Json, index: number): Block {
  const detail = { type: 'reasoning.encrypted', data, format: claudeFormat, index };
  const begin = () => (isFilled(data) ? [chunkOf({ reasoning_details: [detail] })] : []);
  return { begin, add: nothing, end: nothing };
}

function toolBlock({ id, name, input }: Json, index: number, isCustom: boolean): Block {
  // Servers that send whole blocks put the input here; others put an empty object.
  let text = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
  const type = isCustom ? 'custom' : 'function';
  const piece = (said: string) =>
    callChunk(index, { [type]: isCustom ? { input: said } : { arguments: said } });
  return {
    begin() {
      const own = { name, ...(isCustom ? { input: '' } : { arguments: text }) };
      return [callChunk(index, { ...(isFilled(id) && { id }), type, [type]: own })];
    },
    add({ partial_json: said }) {
      if (!isFilled(said)) return [];
      text += said;
      return isCustom ? [] : [piece(said)];
    },
    end() {
      if (isCustom) return [piece(inputIn(text))];
      // Clients parse the arguments, and cannot parse an empty text.
      return text === '' ? [piece('{}')] : [];
    },
  };
}

/** The text that a tool gets. The JSON around it can be removed only once all of it has arrived. */
function inputIn(text: string): string {
  try {
    const { input } = objectOf(JSON.parse(text) as unknown);
    return typeof input === 'string' ? input : text;
  } catch {
    return text;
  }
}

const promptCounts = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/**
 * Collects the usage of a message. `message_start` has the counts of the prompt; with most
 * services `message_delta` has all counts. The output count in `message_start` is a placeholder.
 */
function usageCounter() {
  let prompt: Json = {};
  let last: Json = {};
  function begin(usage: unknown): void {
    if (!isObject(usage)) return;
    const given = promptCounts.filter((name) => isTokenCount(usage[name]));
    const counts = Object.fromEntries(given.map((name) => [name, usage[name]]));
    const isEmpty = given.every((name) => usage[name] === 0);
    // Some services count the prompt in only one of the two events, and report 0 in the other.
    if (!isEmpty || Object.keys(prompt).length === 0) prompt = { ...prompt, ...counts };
  }
  return {
    begin,
    end(usage: unknown): void {
      begin(usage);
      last = { ...last, ...objectOf(usage) };
    },
    usage: (): Json | null => usageOf(prompt, last),
  };
}

/** `input_tokens` leaves out tokens that were read from a cache or written to it. */
function usageOf(prompt: Json, last: Json): Json | null {
  const { output_tokens: completion_tokens, output_tokens_details, cost } = last;
  const [input, read, written] = promptCounts.map((name) => prompt[name]);
  const [cached_tokens, cache_write_tokens] = [read, written].map((n) => (isTokenCount(n) ? n : 0));
  const { thinking_tokens: reasoning_tokens } = objectOf(output_tokens_details);
  const counted = isTokenCount(input) && {
    prompt_tokens: input + cached_tokens! + cache_write_tokens!,
    prompt_tokens_details: { cached_tokens, cache_write_tokens },
  };
  const isTold = isTokenCount(completion_tokens);
  if (!counted && !isTold) return null;
  return {
    ...counted,
    ...(isTold && { completion_tokens }),
    ...(isTokenCount(reasoning_tokens) && { completion_tokens_details: { reasoning_tokens } }),
    ...(cost !== undefined && { cost }),
  };
}
