import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import type { ReplyEvent } from '../chat/reply.ts';
import type { AnswerContext, ReplyWriter } from './api.ts';
import { completionsWriter } from './completions/write-reply.ts';
import { messagesWriter } from './messages/write-reply.ts';
import { responsesWriter } from './responses/write-reply.ts';

type Json = Record<string, any>;

/** Replies have every field that the types of the official clients require. */

const require = createRequire(import.meta.url);

/** The required fields of each interface of a client's types, by its name. */
function requiredIn(module: string, file: string): Map<string, string[]> {
  const types = readFileSync(join(dirname(require.resolve(module)), file), 'utf8');
  const plain = types.replaceAll(/\/\*\*.*?\*\//gs, '');
  const found = new Map<string, string[]>();
  for (const [, name, body] of plain.matchAll(
    /^ *(?:export )?interface (\w+)(?: extends \w+)? \{\n(.*?)^ *\}/gms,
  )) {
    const indent = /^ +/m.exec(body!)?.[0] ?? '';
    const fields = body!.matchAll(new RegExp(`^${indent}(\\w+): `, 'gm'));
    found.set(
      name!,
      [...fields].map(([, field]) => field!),
    );
  }
  return found;
}

const openai = requiredIn('openai', 'resources/responses/responses.d.ts');
const chat = requiredIn('openai', 'resources/chat/completions/completions.d.ts');
const anthropic = requiredIn('@anthropic-ai/sdk', 'resources/messages/messages.d.ts');

function demand(types: Map<string, string[]>, name: string, value: Json): void {
  const fields = types.get(name);
  assert.ok(fields !== undefined && fields.length > 0, name);
  // Clients add this one up themselves.
  const missing = fields.filter((field) => !(field in value) && field !== 'output_text');
  assert.deepEqual(missing, [], `${name}: ${JSON.stringify(value)}`);
}

const none = { signature: null, id: null, format: null, index: null };
const calls: ReplyEvent[] = [
  { type: 'call', call: 0, id: 'a', name: 'look', custom: false },
  { type: 'input', call: 0, text: '{"p":1}' },
  { type: 'call', call: 1, id: 'b', name: 'sql', custom: true },
  { type: 'input', call: 1, text: 'select' },
  { type: 'end', reason: 'tools', stop: null },
];
const replies: Record<string, ReplyEvent[]> = {
  'a text and calls': [{ type: 'text', text: 'Hi', logprobs: null }, ...calls],
  'thoughts and a text': [
    { type: 'thought', form: 'text', text: 'Hm', ...none },
    { type: 'thought', form: 'summary', text: 'S', ...none, index: 0 },
    { type: 'thought', form: 'hidden', text: 'E', ...none, index: 1 },
    { type: 'text', text: 'Hi', logprobs: null },
    { type: 'end', reason: 'length', stop: null },
  ],
  'a refusal': [
    { type: 'refusal', text: 'No', logprobs: null },
    { type: 'end', reason: 'stop', stop: null },
  ],
};
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, cost_usd_micro: '7' };
const error = {
  code: 'submit_failed',
  message: 'm',
  type: 'upstream_error',
  param: null,
  request_id: 'r',
};

const answering = (stream: boolean): AnswerContext => ({
  request_id: 'r-1',
  created: 1,
  now: () => 2,
  model: 'm',
  body: { stream_options: { include_usage: true } },
  stream,
});

function wholeOf(open: (answering: AnswerContext) => ReplyWriter, reply: ReplyEvent[]): Json {
  const writer = open(answering(false));
  reply.forEach(writer.add);
  return writer.whole(usage);
}

function streamOf(
  open: (answering: AnswerContext) => ReplyWriter,
  reply: ReplyEvent[],
  breaks: boolean,
) {
  const writer = open(answering(true));
  const sent = [
    ...writer.begin(() => usage),
    ...writer.alive(),
    ...reply.flatMap(writer.add),
    ...(breaks ? writer.fail(error, usage) : writer.end(usage)),
  ];
  return sent.filter(({ data }) => data !== '[DONE]').map(({ data }): Json => JSON.parse(data));
}

const blocks: Record<string, string> = {
  text: 'TextBlock',
  thinking: 'ThinkingBlock',
  redacted_thinking: 'RedactedThinkingBlock',
  tool_use: 'ToolUseBlock',
};
const items: Record<string, string> = {
  message: 'ResponseOutputMessage',
  reasoning: 'ResponseReasoningItem',
  function_call: 'ResponseFunctionToolCall',
  custom_tool_call: 'ResponseCustomToolCall',
};

function demandMessage({ content, usage: told, ...message }: Json): void {
  demand(anthropic, 'Message', { content, usage: told, ...message });
  demand(anthropic, 'Usage', told);
  for (const block of content) demand(anthropic, blocks[block.type]!, block);
}

function demandItem(item: Json): void {
  demand(openai, items[item.type]!, item);
  for (const part of item.type === 'message' ? item.content : [])
    demand(openai, part.type === 'refusal' ? 'ResponseOutputRefusal' : 'ResponseOutputText', part);
}

function demandResponse(response: Json): void {
  demand(openai, 'Response', response);
  response.output.forEach(demandItem);
  if (response.usage) demand(openai, 'ResponseUsage', response.usage);
}

/** The name of an event's type, such as `ResponseTextDeltaEvent`. */
function eventName(type: string): string {
  const words = type.replace('response.output_text', 'response.text').split(/[._]/);
  return `${words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')}Event`;
}

for (const [what, reply] of Object.entries(replies))
  describe(what, () => {
    test('whole in Messages', () => demandMessage(wholeOf(messagesWriter, reply)));
    test('whole in Responses', () => demandResponse(wholeOf(responsesWriter, reply)));
    test('whole in chat completions', () => {
      const completion = wholeOf(completionsWriter, reply);
      demand(chat, 'ChatCompletion', completion);
      for (const choice of completion.choices) {
        assert.deepEqual(Object.keys(choice).toSorted().slice(0, 2), ['finish_reason', 'index']);
        demand(chat, 'ChatCompletionMessage', choice.message);
      }
    });
    for (const breaks of [false, true]) {
      const end = breaks ? 'broken' : 'streamed';
      test(`${end} in Messages`, () => {
        for (const event of streamOf(messagesWriter, reply, breaks)) {
          if (event.type === 'message_start') demandMessage(event.message);
          if (event.type === 'content_block_start')
            demand(anthropic, blocks[event.content_block.type]!, event.content_block);
          if (event.type !== 'message_delta') continue;
          demand(anthropic, 'Delta', event.delta);
          demand(anthropic, 'MessageDeltaUsage', event.usage);
        }
      });
      test(`${end} in Responses`, () => {
        streamOf(responsesWriter, reply, breaks).forEach((event, i) => {
          demand(openai, eventName(event.type), event);
          assert.equal(event.sequence_number, i);
          if (event.response) demandResponse(event.response);
          if (event.item) demandItem(event.item);
        });
      });
      test(`${end} in chat completions`, () => {
        const chunks = streamOf(completionsWriter, reply, breaks);
        for (const chunk of chunks) {
          if (chunk.error) continue;
          demand(chat, 'ChatCompletionChunk', chunk);
          assert.ok('usage' in chunk);
        }
        assert.equal(chunks[0]!.choices[0].delta.role, 'assistant');
      });
    }
  });
