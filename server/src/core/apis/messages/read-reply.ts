import { isObject, objectOf, type Json } from '../../../lib/json.ts';
import { callsMax, type FinishReason } from '../../chat/reply.ts';
import { isTokenCount } from '../../chat/usage.ts';
import type { OpenReader, Say } from '../api.ts';
import { endedEarly, failed } from '../reading/broken.ts';
import { replyCalls, type OpenCall } from '../reading/calls.ts';
import { finishOf, reasonOf } from '../reading/finish.ts';
import { replyThoughts } from '../reading/thoughts.ts';
import { countIn, jsonTextOf, textOf } from '../reading/values.ts';
import { foreignUsage } from '../reading/usage.ts';
import { claudeFormat } from '../thoughts.ts';

/** A block of the content. Its pieces are read by their fields, whatever the block's type is. */
interface Block {
  /** Of its thought. */
  key: string;
  call: OpenCall | null;
  /** Servers that send whole blocks put the input into the block's beginning. */
  input: string;
}

/** Reads a message of Anthropic's Messages, whole or as events. */
export const messagesReader: OpenReader = (asked, say) => {
  const calls = replyCalls(asked, say);
  const thoughts = replyThoughts(say);
  const usage = usageCounter();
  const blocks = new Map<number | null, Block>();
  let last: Block | undefined;
  let begun = 0;
  let finish: FinishReason | null = null;
  let stop: string | null = null;
  let isWhole = false;
  let isOver = false;

  function addBlock(index: number | null, own: Json): Block | undefined {
    const replaced = blocks.get(index);
    if (replaced) endBlock(replaced);
    else if (blocks.size >= callsMax) return undefined;
    const call = own.type === 'tool_use' ? calls.open() : null;
    const block = { key: String(begun++), call, input: jsonTextOf(own.input) };
    blocks.set(index, block);
    call?.add({ id: textOf(own.id), name: textOf(own.name), isCustom: false, input: '' });
    addPiece(block, own);
    return block;
  }

  function addPiece({ key, call }: Block, piece: Json): void {
    const text = textOf(piece.text);
    if (text !== '') say({ type: 'text', text, logprobs: null });
    const signature = textOf(piece.signature) || null;
    const format = claudeFormat;
    thoughts.piece(key, { form: 'text', text: textOf(piece.thinking), signature, format });
    thoughts.piece(key, { form: 'hidden', text: textOf(piece.data), format });
    const input = jsonTextOf(piece.partial_json);
    if (input !== '') call?.add({ id: '', name: '', isCustom: false, input });
  }

  function endBlock({ call, input }: Block): void {
    if (call?.input === '') call.add({ id: '', name: '', isCustom: false, input });
    call?.end();
  }

  function readStop(message: Json): void {
    const reason = finishOf(message.stop_reason);
    if (reason === 'broken') throw failed(null, { stop_reason: message.stop_reason });
    finish = reason ?? finish;
    const told = textOf(message.stop_sequence);
    if (asked.stops.includes(told)) stop = told;
  }

  function readWhole(message: Json): void {
    isWhole = true;
    const { content } = message;
    const list = Array.isArray(content) ? content : [{ text: content }];
    for (const [index, own] of list.entries()) {
      const block = addBlock(index, isObject(own) ? own : { text: own });
      if (block) endBlock(block);
    }
    usage.end(message.usage, say);
    readStop(message);
  }

  return {
    read(piece, name) {
      const index = countIn(piece.index);
      switch (textOf(piece.type) || name) {
        case 'message_start':
          return usage.begin(objectOf(piece.message).usage, say);
        case 'content_block_start':
          return void (last = addBlock(index, objectOf(piece.content_block)));
        case 'content_block_delta':
          last = blocks.get(index) ?? last ?? addBlock(index, {});
          return last && addPiece(last, objectOf(piece.delta));
        case 'content_block_stop': {
          const block = blocks.get(index) ?? last;
          return block && endBlock(block);
        }
        case 'message_delta':
          usage.end(piece.usage, say);
          return readStop(isObject(piece.delta) ? piece.delta : piece);
        case 'message_stop':
          return void (isOver = true);
        default:
          if (Array.isArray(piece.content) || typeof piece.content === 'string') readWhole(piece);
      }
    },
    isOver: () => isOver,
    end() {
      if (finish === null && !isWhole && !isOver) throw endedEarly();
      for (const block of blocks.values()) endBlock(block);
      say({ type: 'end', reason: reasonOf(finish, calls.hasBegun()), stop });
    },
  };
};

const promptCounts = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/**
 * Collects the usage of a message. `message_start` has the counts of the prompt; with most
 * services `message_delta` has all counts. The output count in `message_start` is a placeholder.
 */
function usageCounter() {
  let prompt: Json = {};
  let rest: Json = {};

  function addPrompt(usage: Json): void {
    const given = promptCounts.filter((name) => isTokenCount(usage[name]));
    const counts = Object.fromEntries(given.map((name) => [name, usage[name]]));
    const isEmpty = given.every((name) => usage[name] === 0);
    // Some services count the prompt in only one of the two events, and report 0 in the other.
    if (!isEmpty || Object.keys(prompt).length === 0) prompt = { ...prompt, ...counts };
  }

  function tell(say: Say): void {
    const usage = foreignUsage({ ...rest, ...prompt });
    if (usage !== null) say({ type: 'usage', usage });
  }

  return {
    begin(usage: unknown, say: Say): void {
      if (!isObject(usage)) return;
      addPrompt(usage);
      tell(say);
    },
    end(usage: unknown, say: Say): void {
      if (!isObject(usage)) return;
      addPrompt(usage);
      rest = { ...rest, ...usage };
      tell(say);
    },
  };
}
