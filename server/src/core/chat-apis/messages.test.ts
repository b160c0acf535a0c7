import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { completionFromChunks, usageOf } from '../chat/completion.ts';
import { messagesApi } from './messages.ts';

type Json = Record<string, any>;

const adaptive = messagesApi({ thinking: 'adaptive', sampling: true });
const budget = messagesApi({ thinking: 'budget', sampling: true });
const newest = messagesApi({ thinking: 'summarized', sampling: false });
const hello = { model: 'm', max_tokens: 20_000, messages: [{ role: 'user', content: 'Hello.' }] };
const own = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
const patch = { type: 'custom', custom: { name: 'patch', description: 'Edits.' } };
const used = [{ role: 'assistant', content: null, tool_calls: [{ id: 'a.1', ...own }] }];

describe('a call', () => {
  const rows: [what: string, chat: Json, call: Json, ignored?: string[]][] = [
    ['has nothing that was not given', {}, {}],
    ['stops', { stop: ['END', ' '] }, { stop_sequences: ['END'] }],
    ['has one stop', { stop: 'END' }, { stop_sequences: ['END'] }],
    ['has a user', { user: 'u1' }, { metadata: { user_id: 'u1' } }],
    [
      'thinks, and has no temperature then',
      { reasoning_effort: 'minimal', temperature: 1, top_k: 4 },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      ['temperature', 'top_k'],
    ],
    [
      'thinks as it says, not as the effort says',
      { reasoning_effort: 'high', thinking: { type: 'disabled' } },
      { thinking: { type: 'disabled' } },
      ['reasoning_effort'],
    ],
    ['does not think', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['has an unknown effort', { reasoning_effort: 'some' }, {}, ['reasoning_effort']],
    [
      'cannot think if it has to call',
      { tools: [own], tool_choice: 'required', reasoning_effort: 'low', temperature: 0.5 },
      {
        tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'any' },
        temperature: 0.5,
      },
      ['reasoning_effort'],
    ],
    [
      'makes one call at a time',
      { tools: [own], parallel_tool_calls: false },
      {
        tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      },
    ],
    [
      'chooses among some tools',
      {
        tools: [own, patch],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: {
            mode: 'required',
            tools: [{ type: 'function', function: { name: 'look' } }],
          },
        },
      },
      {
        tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'any' },
      },
    ],
    [
      'has fields without a form there',
      { seed: 1, logit_bias: {}, verbosity: 'low', response_format: { type: 'json_object' } },
      {},
      ['seed', 'logit_bias', 'verbosity', 'response_format'],
    ],
  ];
  for (const [what, chat, call, ignored = []] of rows)
    test(what, () => {
      const body = { ...hello, ...chat };
      const expected = {
        ...hello,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello.' }] }],
        ...call,
      };
      assert.deepEqual(adaptive.call(body), expected);
      assert.deepEqual(adaptive.ignored(body), ignored);
    });

  test('leaves out temperature, top_p and top_k where the model refuses them', () => {
    const body = { ...hello, temperature: 0.2, top_p: 0.9, top_k: 4 };
    assert.deepEqual(newest.call(body), newest.call(hello));
    assert.deepEqual(newest.ignored(body), ['temperature', 'top_p', 'top_k']);
    assert.deepEqual(adaptive.ignored(body), []);
  });

  test('asks for a summary of the thinking where the model shows none otherwise', () => {
    const asked = (more: Json) => {
      const { thinking, output_config } = newest.call({ ...hello, ...more }) as Json;
      return [thinking, output_config, newest.ignored({ ...hello, ...more })];
    };
    const summary = { type: 'adaptive', display: 'summarized' };
    assert.deepEqual(asked({ reasoning_effort: 'high' }), [summary, { effort: 'high' }, []]);
    assert.deepEqual(asked({ thinking: { type: 'adaptive' } }), [summary, undefined, []]);
    assert.deepEqual(asked({ reasoning_effort: 'none' }), [
      undefined,
      undefined,
      ['reasoning_effort'],
    ]);
    assert.deepEqual(asked({ thinking: { type: 'disabled' } })[0], { type: 'disabled' });
  });

  test('has a budget for thinking that leaves room for the reply', () => {
    const of = (max_tokens: number, effort: string) =>
      budget.call({ ...hello, max_tokens, reasoning_effort: effort }).thinking;
    assert.deepEqual(of(20_000, 'high'), { type: 'enabled', budget_tokens: 10_000 });
    assert.deepEqual(of(20_000, 'low'), { type: 'enabled', budget_tokens: 4_096 });
    assert.equal(of(2_000, 'low'), undefined);
    const short = { ...hello, max_tokens: 2_000, reasoning_effort: 'low', temperature: 0.5 };
    assert.deepEqual(budget.ignored(short), ['reasoning_effort']);
    assert.deepEqual(budget.ignored({ ...short, max_tokens: 20_000 }), ['temperature']);
    const called = { ...hello, messages: [...hello.messages, ...used], reasoning_effort: 'low' };
    assert.equal(budget.call(called).thinking, undefined);
  });

  test('has ids and inputs that the service takes, and no reasoning of other models', () => {
    const details = [
      { type: 'reasoning.encrypted', data: 'x', format: 'openai-responses-v1' },
      { type: 'reasoning.text', text: 'unsigned' },
    ];
    const calls = [{ id: 'a.1', type: 'function', function: { name: 'look', arguments: '{' } }];
    const messages = [
      ...hello.messages,
      { role: 'assistant', content: '', tool_calls: calls, reasoning_details: details },
      { role: 'user', content: 'Well?' },
      { role: 'tool', tool_call_id: 'a.1', content: '' },
    ];
    const { messages: sent } = adaptive.call({ ...hello, messages }) as Json;
    assert.deepEqual(sent[1].content, [
      { type: 'tool_use', id: 'a_1', name: 'look', input: { INVALID_JSON: '{' } },
    ]);
    assert.deepEqual(
      sent[2].content.map(({ type }: Json) => type),
      ['tool_result', 'text'],
    );
  });

  test('cannot have audio', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } };
    const messages = [{ role: 'user', content: [audio] }];
    assert.throws(() => adaptive.call({ ...hello, messages }), { param: 'messages[0].content[0]' });
  });
});

describe('a reply', () => {
  const read = (events: Json[], body: Json = hello): Json => {
    const reader = adaptive.reader(body);
    return completionFromChunks(events.flatMap(reader.read), { id: '', created: 0, model: '' });
  };
  const end = (usage?: Json) => ({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage,
  });
  const start = (usage: Json) => ({ type: 'message_start', message: { usage } });

  test('counts the prompt wherever its service does', () => {
    const full = { input_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
    const none = { input_tokens: 0, cache_read_input_tokens: 0 };
    const counted = {
      prompt_tokens: 10,
      completion_tokens: 4,
      cached_tokens: 3,
      cache_write_tokens: 2,
    };
    const output_tokens = 4;
    for (const [begun, ended] of [
      [{ ...full, output_tokens: 1 }, { output_tokens }],
      [
        { ...full, output_tokens: 1 },
        { ...none, output_tokens },
      ],
      [
        { ...none, output_tokens: 0 },
        { ...full, output_tokens },
      ],
      [{}, { ...full, output_tokens }],
      [full, { ...full, output_tokens }],
      [
        { ...full, cache_read_input_tokens: 1 },
        { cache_read_input_tokens: 3, output_tokens },
      ],
      [{ input_tokens: 5 }, { ...full, input_tokens: null, output_tokens }],
      [full, { cache_read_input_tokens: 0, output_tokens }],
    ])
      assert.deepEqual(usageOf(read([start(begun!), end(ended)])), counted);
    assert.equal(usageOf(read([start(full), end()])), null);
    assert.equal(usageOf(read([end({ output_tokens: 4 })]))!.prompt_tokens, null);
  });

  test('has no output count but that of its end, and its prompt as told', () => {
    const told = { input_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
    const begun = start({ ...told, output_tokens: 1 });
    const word = [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    ];
    const error = { type: 'error', error: { type: 'overloaded_error' } };
    const details = { cached_tokens: 3, cache_write_tokens: 2 };
    const prompt = { prompt_tokens: 10, prompt_tokens_details: details };
    for (const events of [
      [begun, ...word, end()],
      [begun, ...word, end({ output_tokens: null })],
      [begun, ...word],
      [begun, ...word, error],
    ])
      assert.deepEqual(read(events).usage, prompt);
    assert.deepEqual(adaptive.reader(hello).read(begun), []);
    const { read: next } = adaptive.reader(hello);
    assert.deepEqual([begun, error].flatMap(next), [{ choices: [], error: error.error }]);
  });

  test('names the stop sequence that ended it', () => {
    const ended = (delta: Json) => read([{ type: 'message_delta', delta }]).choices[0];
    const stopped = ended({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    assert.deepEqual([stopped.finish_reason, stopped.stop_reason], ['stop', 'END']);
    assert.equal('stop_reason' in ended({ stop_reason: 'end_turn', stop_sequence: null }), false);
  });

  test('gives the input of a custom tool back as its text', () => {
    const block = { type: 'tool_use', id: 'c1', name: 'patch', input: {} };
    const pieces = ['{"inp', 'ut": "*** a\\n"}'].map((partial_json) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    }));
    const events = [
      { type: 'content_block_start', index: 0, content_block: block },
      ...pieces,
      { type: 'content_block_stop', index: 0 },
      end(),
    ];
    const { message } = read(events, { ...hello, tools: [patch] }).choices[0];
    assert.deepEqual(message.tool_calls, [
      { id: 'c1', type: 'custom', custom: { name: 'patch', input: '*** a\n' } },
    ]);
  });

  test('is read whatever its events are', () => {
    const strange: unknown[] = [null, 1, 'x', [], {}, { type: 1 }, { index: {} }];
    const types = ['message_start', 'content_block_start', 'content_block_delta', 'error'];
    for (const type of [...types, 'content_block_stop', 'message_delta', 'message_stop'])
      for (const value of strange)
        for (const field of ['message', 'content_block', 'delta', 'usage', 'index', 'error'])
          assert.ok(Array.isArray(adaptive.reader(hello).read({ type, [field]: value })));
  });
});
