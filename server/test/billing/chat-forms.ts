import { chunkOf, eventsOf, replyOf } from '../upstreams/fakes/openai-chat.ts';
import { eventOf } from '../upstreams/fakes/said.ts';
import type { ChatBill } from './chat-bill.ts';
import { visible } from './chat-abuses.ts';

/** The wire forms of the vendors' chat APIs: calls, replies and usage. */

type Json = Record<string, any>;

export interface ChatForm {
  /** The end of the path of a call. */
  path: string;
  /** The call as the body of a chat completion. Its first message is the mark of the call. */
  asked(body: Json): Json;
  whole(bill: ChatBill): Json;
  /** Events before the visible words. Null: no usage is reported. */
  begin(told: ChatBill | null): string;
  /** The events of one visible word. */
  word(content: string): string;
  /** Events after the visible words. Null: no usage is reported. */
  end(told: ChatBill | null): string;
}

const hiddenOf = ({ completion_tokens }: ChatBill) =>
  Math.max(0, completion_tokens - visible.length);

const completions: ChatForm = {
  path: '/chat/completions',
  asked: (body) => body,
  whole: (bill) => replyOf({ usage: usageOf(bill) }),
  begin: () => '',
  word: (content) => eventsOf([chunkOf({ content })], { done: false }),
  end(told) {
    const last = chunkOf({}, {}, 'stop');
    const usage = told && chunkOf({}, { choices: [], usage: usageOf(told) });
    return eventsOf(usage ? [last, usage] : [last]);
  },
};

function usageOf(bill: ChatBill): Json {
  const { prompt_tokens, completion_tokens, is_written } = bill;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    completion_tokens_details: { reasoning_tokens: hiddenOf(bill) },
    ...(is_written && { prompt_tokens_details: { cache_write_tokens: prompt_tokens } }),
  };
}

const messages: ChatForm = {
  path: '/messages',
  asked({ system, messages: turns, ...rest }) {
    const said = turns.map((turn: Json) => ({ ...turn, content: partsOf(turn.content) }));
    return { ...rest, messages: [{ role: 'system', content: system }, ...said] };
  },
  whole: (bill) => ({
    ...message,
    content: [{ type: 'text', text: visible.join('') }],
    stop_reason: 'end_turn',
    usage: { ...promptOf(bill), ...outputOf(bill) },
  }),
  begin: (told) =>
    [
      {
        type: 'message_start',
        message: {
          ...message,
          content: [],
          ...(told && { usage: { ...promptOf(told), output_tokens: 1 } }),
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ]
      .map(sent)
      .join(''),
  word: (text) =>
    sent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  end: (told) =>
    [
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        ...(told && { usage: outputOf(told) }),
      },
      { type: 'message_stop' },
    ]
      .map(sent)
      .join(''),
};

const message = { id: 'msg_fake', type: 'message', role: 'assistant', model: 'claude-fake' };
const sent = (event: Json) => eventOf(event, event.type);

function partsOf(content: Json[]): Json[] {
  return content.map((block) => {
    if (block.type === 'image') return { type: 'image_url', image_url: { detail: 'high' } };
    if (block.type === 'document')
      return { type: 'file', file: { file_data: block.source.data ?? '' } };
    return block;
  });
}

function promptOf({ prompt_tokens, is_written }: ChatBill): Json {
  return {
    input_tokens: is_written ? 0 : prompt_tokens,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: is_written ? prompt_tokens : 0,
  };
}

function outputOf(bill: ChatBill): Json {
  return {
    output_tokens: bill.completion_tokens,
    output_tokens_details: { thinking_tokens: hiddenOf(bill) },
  };
}

export const chatForms: Readonly<Record<string, ChatForm>> = {
  openai: completions,
  anthropic: messages,
};
