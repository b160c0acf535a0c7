import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { eventsOf, read, shortOf } from '../../../test/kit/read-replies.ts';
import type { OpenReader } from './api.ts';
import { completionsReader } from './completions/read-reply.ts';
import { messagesReader } from './messages/read-reply.ts';
import { responsesReader } from './responses/read-reply.ts';

type Json = Record<string, any>;

/** The official clients add a stream up. Their whole reply is read like the stream itself. */

const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});
const called = (index: number, piece: string, id?: string): Json =>
  chunk({
    tool_calls: [
      id
        ? { index, id, type: 'function', function: { name: 'look', arguments: piece } }
        : { index, function: { arguments: piece } },
    ],
  });
const completions = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Hel' }),
  chunk({ content: 'lo 😀' }),
  called(0, '', 'a'),
  called(0, '{"p"'),
  called(0, ':1}'),
  called(1, '{}', 'b'),
  chunk({}, 'tool_calls'),
];

const usage = { input_tokens: 5, output_tokens: 1 };
const blocks: [block: Json, ...deltas: Json[]][] = [
  [
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Hm' },
    { type: 'signature_delta', signature: 'S' },
  ],
  [{ type: 'text', text: '' }, ...['Hel', 'lo 😀'].map((text) => ({ type: 'text_delta', text }))],
  [
    { type: 'tool_use', id: 'a', name: 'look', input: {} },
    ...['{"p"', ':1}'].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  ],
];
const messages = [
  {
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', usage },
  },
  ...blocks.flatMap(([content_block, ...deltas], index) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]),
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
  { type: 'message_stop' },
];

const message = (text: string) => ({
  type: 'message',
  id: 'm',
  role: 'assistant',
  status: 'completed',
  content: text === '' ? [] : [{ type: 'output_text', text, annotations: [] }],
});
const call = (json: string) => ({
  type: 'function_call',
  id: 'f',
  call_id: 'a',
  name: 'look',
  arguments: json,
});
const response = (status: string, output: Json[]) => ({
  id: 'r',
  object: 'response',
  status,
  output,
});
const at = { output_index: 0, item_id: 'm', content_index: 0 };
const responses = [
  { type: 'response.created', response: response('in_progress', []) },
  { type: 'response.output_item.added', output_index: 0, item: message('') },
  {
    type: 'response.content_part.added',
    ...at,
    part: { type: 'output_text', text: '', annotations: [] },
  },
  ...['Hel', 'lo 😀'].map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
  { type: 'response.output_text.done', ...at, text: 'Hello 😀' },
  { type: 'response.output_item.done', output_index: 0, item: message('Hello 😀') },
  { type: 'response.output_item.added', output_index: 1, item: call('') },
  ...['{"p"', ':1}'].map((delta) => ({
    type: 'response.function_call_arguments.delta',
    output_index: 1,
    item_id: 'f',
    delta,
  })),
  { type: 'response.output_item.done', output_index: 1, item: call('{"p":1}') },
  {
    type: 'response.completed',
    response: response('completed', [message('Hello 😀'), call('{"p":1}')]),
  },
];

const clients: [what: string, OpenReader, Json[], (stream: ReadableStream) => Promise<unknown>][] =
  [
    [
      'openai, chat completions',
      completionsReader,
      completions,
      (stream) => ChatCompletionStream.fromReadableStream(stream).finalChatCompletion(),
    ],
    [
      'anthropic, messages',
      messagesReader,
      messages,
      (stream) => MessageStream.fromReadableStream(stream).finalMessage(),
    ],
    [
      'openai, responses',
      responsesReader,
      responses,
      (stream) => ResponseStream.fromReadableStream(stream).finalResponse(),
    ],
  ];
for (const [what, open, pieces, gathered] of clients)
  test(what, async () => {
    const lines = pieces.map((piece) => `${JSON.stringify(piece)}\n`).join('');
    const whole = await gathered(new Blob([lines]).stream() as ReadableStream);
    const streamed = shortOf(await read(open, eventsOf(pieces)));
    assert.ok(streamed.includes('text Hello 😀') && streamed.includes('input 0 {"p":1}'));
    assert.deepEqual(shortOf(await read(open, JSON.stringify(whole))), streamed);
  });
