import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCompletionsCall } from '../completions/read-call.ts';
import { writeMessagesCall, type MessagesDialect } from './write-call.ts';

type Json = Record<string, any>;

type OwnManners = Pick<MessagesDialect, 'thinking' | 'sampling'>;

/** A model that is called by chat completions. */
function modelWith(own: OwnManners) {
  const write = ({ messages, ...body }: Json, marks = false) => {
    const { conversation, max_tokens } = readCompletionsCall({ ...body, messages, model: 'a/b' });
    const calling = { model: 'm', max_tokens: max_tokens!, stream: body.stream === true };
    return writeMessagesCall(conversation, calling, {
      ...own,
      cacheControl: marks,
      tool_name_max: 64,
    });
  };
  return {
    call: (body: Json, marks?: boolean) => write(body, marks).body as Json,
    ignored: (body: Json) => write(body).ignored,
  };
}

const adaptive = modelWith({ thinking: 'adaptive', sampling: true });
const budget = modelWith({ thinking: 'budget', sampling: true });
const newest = modelWith({ thinking: 'summarized', sampling: false });
const hello = { model: 'm', max_tokens: 20_000, messages: [{ role: 'user', content: 'Hello.' }] };
const own = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
const patch = { type: 'custom', custom: { name: 'patch', description: 'Edits.' } };
const lark = { syntax: 'lark', definition: 'start: "a"' };
const grammar = {
  type: 'custom',
  custom: { name: 'ask', format: { type: 'grammar', grammar: lark } },
};
const anyInput = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
};
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const used = [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a.1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
];

describe('a call', () => {
  const rows: [what: string, chat: Json, call: Json, ignored?: string[]][] = [
    ['has nothing that was not given', {}, {}],
    ['stops', { stop: ['END', ' '] }, { stop_sequences: ['END'] }, ['stop']],
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
      'streams, with a custom tool that it must call',
      {
        stream: true,
        tools: [patch, grammar],
        tool_choice: { type: 'custom', custom: { name: 'patch' } },
      },
      {
        stream: true,
        tools: [
          { name: 'patch', description: 'Edits.', input_schema: anyInput },
          {
            name: 'ask',
            description: 'The input has this lark grammar:\n\nstart: "a"',
            input_schema: anyInput,
          },
        ],
        tool_choice: { type: 'tool', name: 'patch' },
      },
    ],
    [
      'answers by a schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } },
      {
        output_config: {
          format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
        },
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
      assert.deepEqual(adaptive.ignored(body).toSorted(), ignored.toSorted());
    });

  test('leaves out what the model refuses of temperature, top_p and top_k', () => {
    const body = { ...hello, temperature: 0.2, top_p: 0.9, top_k: 4 };
    assert.deepEqual(newest.call(body), newest.call(hello));
    assert.deepEqual(newest.ignored(body), ['temperature', 'top_p', 'top_k']);
    assert.deepEqual(adaptive.ignored(body), ['top_p']);
    assert.deepEqual(adaptive.call(body), { ...adaptive.call(hello), temperature: 0.2, top_k: 4 });
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
      { type: 'tool_use', id: 'a_1_4a5f06ec', name: 'look', input: { INVALID_JSON: '{' } },
    ]);
    assert.deepEqual(
      sent[2].content.map(({ type }: Json) => type),
      ['tool_result', 'text'],
    );
  });

  test('gives Claude its own reasoning back, in its order', () => {
    const format = 'anthropic-claude-v1';
    const details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 's1', format },
      { type: 'reasoning.encrypted', data: 'AAAA', format },
    ];
    const said = { role: 'assistant', content: 'Yes.', reasoning_details: details };
    const messages = [...hello.messages, said, ...hello.messages];
    assert.deepEqual(adaptive.call({ ...hello, messages }).messages[1].content, [
      { type: 'thinking', thinking: 'Hm.', signature: 's1' },
      { type: 'redacted_thinking', data: 'AAAA' },
      { type: 'text', text: 'Yes.' },
    ]);
    assert.deepEqual(adaptive.ignored({ ...hello, messages }), []);
    const other = details.map((each) => ({ ...each, format: 'openai-responses-v1' }));
    const foreign = [hello.messages[0], { ...said, reasoning_details: other }];
    assert.deepEqual(adaptive.ignored({ ...hello, messages: foreign }), [
      'messages[].reasoning_content',
    ]);
  });

  test('joins the turns of the system, unless one has a mark', () => {
    const cache_control = { type: 'ephemeral' };
    const of = (mark: object) => [
      { role: 'system', content: [{ type: 'text', text: 'a', ...mark }] },
      { role: 'developer', content: 'b' },
      ...hello.messages,
    ];
    const systemOf = (mark: object, marks: boolean) =>
      adaptive.call({ ...hello, messages: of(mark) }, marks).system;
    assert.equal(systemOf({}, true), 'a\n\nb');
    assert.equal(systemOf({ cache_control }, false), 'a\n\nb');
    assert.deepEqual(systemOf({ cache_control }, true), [
      { type: 'text', text: 'a', cache_control },
      { type: 'text', text: 'b' },
    ]);
    assert.deepEqual(adaptive.ignored({ ...hello, messages: of({ cache_control }) }), [
      'cache_control',
    ]);
  });

  test('cannot have audio', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } };
    const messages = [{ role: 'user', content: [audio] }];
    assert.throws(() => adaptive.call({ ...hello, messages }), { param: 'messages[0].content[0]' });
  });
});
