import { isObject, objectOf, type Json } from '../../../lib/json.ts';
import { callsMax, type FinishReason } from '../../chat/reply.ts';
import { foreignUsage, isTokenCount } from '../../chat/usage.ts';
import type { OpenReader, EmitEvent } from '../api.ts';
import { endedEarly, failedReply } from '../read-reply.ts';
import { nothing, replyCalls, type Calls, type OpenCall } from '../reading/calls.ts';
import * as pieces from '../reading/pieces.ts';
import { claudeFormat } from '../thoughts.ts';

/** Reads a message of Anthropic's Messages, whole or as events. */
export const messagesReader: OpenReader = (context, say) => {
  const calls = replyCalls(context, say);
  const blocks = replyBlocks(calls, say);
  const usage = usageCounter(say);
  let finish: FinishReason | null = null;
  let stop: string | null = null;
  /** A message with which a stream began. Its content counts unless it comes in blocks. */
  let early: Json = {};
  let isWhole = false;
  let isOver = false;

  function readEarly(): void {
    if (!blocks.hasAny()) readContent(blocks, early);
    early = {};
  }

  function readStop(message: Json): void {
    const reason = pieces.finishOf(message.stop_reason);
    if (reason === 'broken') throw failedReply(null, { stop_reason: message.stop_reason });
    finish = reason ?? finish;
    const stated = pieces.textOf(message.stop_sequence);
    if (context.stops.includes(stated)) stop = stated;
  }

  function readWhole(message: Json): void {
    isWhole = true;
    readContent(blocks, message);
    usage.end(message.usage);
    readStop(message);
  }

  return {
    read(piece, name) {
      const index = pieces.wholeNumberIn(piece.index);
      switch (pieces.textOf(piece.type) || name) {
        case 'message_start':
          early = objectOf(piece.message);
          return usage.begin(early.usage);
        case 'content_block_start':
          return blocks.begin(index, objectOf(piece.content_block));
        case 'content_block_delta':
          return blocks.add(index, objectOf(piece.delta));
        case 'content_block_stop':
          return blocks.end(index);
        case 'message_delta':
          readEarly();
          usage.end(piece.usage ?? objectOf(piece.delta).usage);
          return readStop(isObject(piece.delta) ? piece.delta : piece);
        case 'message_stop':
          isOver = true;
          readEarly();
          usage.end(piece.usage ?? piece['amazon-bedrock-invocationMetrics']);
          return readStop(piece);
        default:
          if (Array.isArray(piece.content) || typeof piece.content === 'string') readWhole(piece);
      }
    },
    isOver: () => isOver,
    end(at) {
      if (finish === null && !isOver && !(isWhole && at !== 'fault')) throw endedEarly();
      blocks.complete();
      say({ type: 'end', reason: calls.end(finish), stop });
    },
    cut() {
      readEarly();
      calls.cut();
    },
  };
};

/** The blocks of a message that came whole. */
function readContent(blocks: ReturnType<typeof replyBlocks>, { content = [] }: Json): void {
  for (const [index, own] of (Array.isArray(content) ? content : [content]).entries()) {
    blocks.begin(index, isObject(own) ? own : { text: own });
    blocks.end(index);
  }
}

interface Block {
  /** The key of its thought. */
  key: string;
  call: OpenCall | null;
  /** It may be that of a tool of the server, which has an input, too. */
  hasOwnInput: boolean;
  /** Servers that send whole blocks put the input into the block's beginning. */
  input: string;
}

/** The blocks of the content. Pieces are read by their fields, whatever the block's type is. */
function replyBlocks(calls: Calls, say: EmitEvent) {
  const blocks = new Map<number | null, Block>();
  const thoughts = pieces.replyThoughts(say);
  let last: Block | undefined;
  let lastCall: Block | undefined;
  let begun = 0;

  function begin(index: number | null, own: Json): void {
    const replaced = blocks.get(index);
    last = undefined;
    if (replaced) endBlock(replaced);
    else if (blocks.size >= callsMax) return;
    const call = own.type === 'tool_use' ? calls.open() : null;
    const hasOwnInput = !/^(?:text|thinking)$/.test(pieces.textOf(own.type));
    last = { key: String(begun++), call, hasOwnInput, input: pieces.jsonTextOf(own.input) };
    if (call) lastCall = last;
    blocks.set(index, last);
    call?.add({ ...nothing, id: pieces.textOf(own.id), name: pieces.textOf(own.name) });
    addTo(last, own);
  }

  function addTo({ key, call }: Block, piece: Json): void {
    const text = pieces.textOf(piece.text);
    if (text !== '') say({ type: 'text', text, logprobs: null });
    const signature = pieces.textOf(piece.signature) || null;
    const format = claudeFormat;
    thoughts.piece(key, { form: 'text', text: pieces.textOf(piece.thinking), signature, format });
    thoughts.piece(key, { form: 'hidden', text: pieces.textOf(piece.data), format });
    call?.add(inputOf(piece));
  }

  return {
    begin,
    hasAny: () => begun > 0,
    add(index: number | null, delta: Json): void {
      last = blocks.get(index) ?? last;
      if (last === undefined) begin(index, {});
      if (last) addTo(last, delta);
      // Some servers give the input the index of the text before the call.
      if (last?.hasOwnInput === false && calls.all.length === 1)
        lastCall?.call?.add(inputOf(delta));
    },
    end(index: number | null): void {
      const block = blocks.get(index) ?? last;
      if (block) endBlock(block);
    },
    complete(): void {
      for (const block of blocks.values()) completeBlock(block);
    },
  };
}

const inputOf = (piece: Json) => ({ ...nothing, input: pieces.jsonTextOf(piece.partial_json) });

function completeBlock({ call, input }: Block): void {
  if (call?.input === '') call.add({ ...nothing, input });
}

function endBlock(block: Block): void {
  completeBlock(block);
  block.call?.end();
}

const promptCounts = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/**
 * Collects the usage of a message. `message_start` has the counts of the prompt; with most
 * services `message_delta` has all counts. The output count in `message_start` is a placeholder.
 */
function usageCounter(say: EmitEvent) {
  let prompt: Json = {};
  let rest: Json = {};

  function addPrompt(usage: Json): void {
    const all = promptCounts.map((name) => [name, pieces.wholeNumberIn(usage[name])] as const);
    const given = all.filter(([, count]) => count !== null && isTokenCount(count));
    const counts = Object.fromEntries(given);
    const isEmpty = given.every(([, count]) => count === 0);
    // Some services count the prompt in only one of the two events, and report 0 in the other.
    if (!isEmpty || Object.keys(prompt).length === 0) prompt = { ...prompt, ...counts };
  }

  function add(given: unknown, isLast: boolean): void {
    if (!isObject(given)) return;
    addPrompt(given);
    if (isLast) rest = { ...rest, ...given };
    const usage = foreignUsage({ ...rest, ...prompt });
    if (usage !== null) say({ type: 'usage', usage });
  }
  return {
    begin: (usage: unknown) => add(usage, false),
    end: (usage: unknown) => add(usage, true),
  };
}
