import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamedReply, wholeReply } from '../../../../test/kit/chat-apis.ts';
import { completionsWriter } from './write-reply.ts';

type Json = Record<string, any>;

const called = (index: number, id: string, name: string) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: `{"of":"${id}"}` },
});
const chunkOf = (delta: Json, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const chunks = [
  chunkOf({ content: 'Look.' }),
  chunkOf({ tool_calls: [called(0, 'a', 'look')] }),
  chunkOf({ tool_calls: [called(1, 'b', 'see')] }),
  chunkOf({ tool_calls: [called(2, 'c', 'look')] }),
  chunkOf({}, 'tool_calls'),
];
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const older = { functions: [{ name: 'look' }, { name: 'see' }] };

/** The older form has a place for one call. Its pieces add up, so a second one would spoil it. */
const first = { name: 'look', arguments: '{"of":"a"}' };

test('a caller of functions gets the first of several calls: in one piece', () => {
  const { message, finish_reason } = wholeReply(completionsWriter, chunks, usage, older).choices[0];
  assert.deepEqual(message.function_call, first);
  assert.equal(message.content, 'Look.');
  assert.equal(finish_reason, 'function_call');
});

test('a caller of functions gets the first of several calls: as a stream', () => {
  const sent = streamedReply(completionsWriter, chunks, usage, older)
    .map(({ data }) => data)
    .filter((data) => data !== '[DONE]')
    .map((data): Json => JSON.parse(data).choices[0]);
  const pieces = sent.flatMap(({ delta }) => delta.function_call ?? []);
  const sum = (field: string) => pieces.map((piece: Json) => piece[field] ?? '').join('');
  assert.deepEqual({ name: sum('name'), arguments: sum('arguments') }, first);
  assert.ok(sent.every(({ delta }) => !('tool_calls' in delta)));
  assert.equal(sent.at(-1)!.finish_reason, 'function_call');
});
