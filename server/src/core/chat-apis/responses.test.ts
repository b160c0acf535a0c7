import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { completionFromChunks, usageOf } from '../chat/completion.ts';
import { responsesApi } from './responses.ts';

type Json = Record<string, any>;

const hello = { model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'Hello.' }] };
const patch = { type: 'custom', custom: { name: 'patch', format: { type: 'text' } } };

describe('a call', () => {
  const rows: [what: string, chat: Json, call: Json, ignored?: string[]][] = [
    ['has nothing that was not given', {}, {}],
    [
      'thinks',
      { reasoning_effort: 'low', verbosity: 'low' },
      {
        reasoning: { effort: 'low' },
        include: ['reasoning.encrypted_content'],
        text: { verbosity: 'low' },
      },
    ],
    ['does not think', { reasoning_effort: 'none' }, { reasoning: { effort: 'none' } }],
    [
      'has custom tools',
      { tools: [patch], tool_choice: { type: 'custom', custom: { name: 'patch' } } },
      {
        tools: [{ type: 'custom', name: 'patch', format: { type: 'text' } }],
        tool_choice: { type: 'custom', name: 'patch' },
      },
    ],
    [
      'has log probabilities',
      { logprobs: true, top_logprobs: 2 },
      { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    ],
    ['has fields without a form there', { seed: 1, stop: 'END' }, {}, ['seed', 'stop']],
  ];
  for (const [what, chat, call, ignored = []] of rows)
    test(what, () => {
      const body = { ...hello, ...chat };
      assert.deepEqual(responsesApi.call(body), {
        model: 'm',
        max_output_tokens: 50,
        store: false,
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] }],
        ...call,
      });
      assert.deepEqual(responsesApi.ignored(body), ignored);
    });

  test('gives results back in the form of their call', () => {
    const calls = [
      { id: 'a', type: 'custom', custom: { name: 'patch', input: 'x' } },
      { id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } },
    ];
    const messages = [
      ...hello.messages,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: '2' },
    ];
    const { input } = responsesApi.call({ ...hello, messages }) as Json;
    assert.deepEqual(input.slice(1), [
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'x' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{}' },
      { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
      { type: 'function_call_output', call_id: 'b', output: '2' },
    ]);
  });
});

describe('a reply', () => {
  test('of items that come whole is the same as one in pieces', () => {
    const call = { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: 'abc' };
    const added = { type: 'response.output_item.added', output_index: 0, item: call };
    const piece = (delta: string) => ({
      type: 'response.custom_tool_call_input.delta',
      output_index: 0,
      delta,
    });
    const done = { type: 'response.output_item.done', output_index: 0, item: call };
    const end = { type: 'response.completed', response: {} };
    for (const events of [
      [done, end],
      [added, done, end],
      [added, piece('a'), piece('bc'), done, end],
    ]) {
      const { read } = responsesApi.reader(hello);
      const all = completionFromChunks(events.flatMap(read), { id: '', created: 0, model: '' });
      const [{ message, finish_reason } = {}] = all.choices as Json[];
      assert.equal(finish_reason, 'tool_calls');
      const custom = { name: 'patch', input: 'abc' };
      assert.deepEqual(message.tool_calls, [{ id: 'c', type: 'custom', custom }]);
    }
  });

  test('has its reasoning in its completion, wherever the service counts it', () => {
    const counts = { input_tokens: 1_000, output_tokens: 50 };
    const output_tokens_details = { reasoning_tokens: 500 };
    const rows: [usage: Json, output: number][] = [
      [{ ...counts, total_tokens: 1_550, output_tokens_details }, 550],
      [{ ...counts, total_tokens: 1_050, output_tokens_details }, 500],
      [{ ...counts, output_tokens_details }, 500],
      [{ ...counts, output_tokens: 550, total_tokens: 1_550, output_tokens_details }, 550],
    ];
    for (const [usage, output] of rows) {
      const chunks = responsesApi
        .reader(hello)
        .read({ type: 'response.completed', response: { usage } });
      assert.equal(usageOf(chunks[0])!.completion_tokens, output);
    }
  });

  test('is read whatever its events are', () => {
    const strange: unknown[] = [null, 1, 'x', [], {}, [null]];
    const types = ['response.output_item.added', 'response.output_item.done', 'response.failed'];
    for (const type of [...types, 'response.completed', 'response.output_text.delta', 'error'])
      for (const value of strange)
        for (const field of ['item', 'response', 'delta', 'error', 'output_index'])
          assert.ok(Array.isArray(responsesApi.reader(hello).read({ type, [field]: value })));
  });
});
