import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCompletionsCall } from '../completions/read-call.ts';
import { writeResponsesCall } from './write-call.ts';

type Json = Record<string, any>;

function written(body: Json, passes: string[] = []) {
  const { conversation, max_tokens } = readCompletionsCall({ ...body, messages: body.messages });
  const calling = { model: 'm', max_tokens: max_tokens!, stream: body.stream === true };
  const manners = { passes: new Set(passes), cacheControl: false, tool_name_max: 64 };
  return writeResponsesCall(conversation, calling, manners);
}

const hello = { model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'Hello.' }] };
const patch = { type: 'custom', custom: { name: 'patch', description: 'Edits.' } };

const look = { type: 'function', function: { name: 'look' } };
const schema = { type: 'object', properties: { a: { type: 'string' } } };

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
        tools: [{ type: 'custom', name: 'patch', description: 'Edits.' }],
        tool_choice: { type: 'custom', name: 'patch' },
      },
    ],
    [
      'has log probabilities',
      { logprobs: true, top_logprobs: 2 },
      { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    ],
    [
      'offers functions, of which it must call one of some',
      {
        tools: [look, patch],
        parallel_tool_calls: false,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: {
            mode: 'required',
            tools: [{ type: 'function', function: { name: 'look' } }],
          },
        },
      },
      {
        tools: [
          {
            type: 'function',
            name: 'look',
            parameters: { type: 'object', properties: {} },
            strict: false,
          },
          { type: 'custom', name: 'patch', description: 'Edits.' },
        ],
        parallel_tool_calls: false,
        tool_choice: {
          type: 'allowed_tools',
          mode: 'required',
          tools: [{ type: 'function', name: 'look' }],
        },
      },
    ],
    [
      'answers by a schema, streamed',
      {
        stream: true,
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
      },
      { stream: true, text: { format: { type: 'json_schema', name: 'n', schema, strict: true } } },
    ],
    [
      'answers in JSON',
      { response_format: { type: 'json_object' } },
      { text: { format: { type: 'json_object' } } },
    ],
    ['has fields without a form there', { seed: 1, stop: 'END' }, {}, ['seed', 'stop']],
  ];
  for (const [what, chat, call, ignored = []] of rows)
    test(what, () => {
      const body = { ...hello, ...chat };
      const { body: sent, ignored: left } = written(body);
      assert.deepEqual(sent, {
        model: 'm',
        max_output_tokens: 50,
        store: false,
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] }],
        ...call,
      });
      assert.deepEqual(left.toSorted(), ignored.toSorted());
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
    const { input } = written({ ...hello, messages }).body as Json;
    assert.deepEqual(input.slice(1), [
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'x' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{}' },
      { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
      { type: 'function_call_output', call_id: 'b', output: '2' },
    ]);
  });

  test('gives a model its own reasoning back, and no other', () => {
    const format = 'openai-responses-v1';
    const details = [
      { type: 'reasoning.summary', summary: 'Looked.', id: 'rs_1', format },
      { type: 'reasoning.encrypted', data: 'AAAA', id: 'rs_1', format },
    ];
    const said = { role: 'assistant', content: 'Yes.', reasoning_details: details };
    const of = (message: Json) =>
      written({ ...hello, messages: [...hello.messages, message, ...hello.messages] });
    const { body, ignored } = of(said);
    assert.partialDeepStrictEqual(body, { include: ['reasoning.encrypted_content'] });
    assert.deepEqual((body as Json).input.slice(1, 3), [
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'Looked.' }],
        encrypted_content: 'AAAA',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] },
    ]);
    assert.deepEqual(ignored, []);
    const claudes = details.map((each) => ({ ...each, format: 'anthropic-claude-v1' }));
    for (const foreign of [{ reasoning_details: claudes }, { reasoning_content: 'Hm.' }]) {
      const other = of({ role: 'assistant', content: 'Yes.', ...foreign });
      assert.equal((other.body as Json).input.length, 3);
      assert.deepEqual(other.ignored, ['messages[].reasoning_content']);
    }
  });

  test('has the optional fields that its server takes', () => {
    const own = { prompt_cache_key: 'k', safety_identifier: 's' };
    const all = written({ ...hello, ...own }, Object.keys(own));
    assert.partialDeepStrictEqual(all.body, own);
    assert.deepEqual(all.ignored, []);
    const none = written({ ...hello, ...own });
    assert.ok(!('prompt_cache_key' in none.body) && !('safety_identifier' in none.body));
    assert.deepEqual(none.ignored, Object.keys(own));
  });

  test('cannot have audio', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const messages = [{ role: 'user', content: [audio] }];
    assert.throws(() => written({ ...hello, messages }), { param: 'messages[0].content[0]' });
  });
});
