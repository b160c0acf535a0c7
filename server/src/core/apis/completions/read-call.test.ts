import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import fileSchema from '../../../../../catalog/schema.json' with { type: 'json' };
import { chatBodyOf } from '../../../../test/kit/chat-apis.ts';
import { demandModalities } from '../../chat/chat-media.ts';
import { optionalNames } from '../../chat/optional-fields.ts';
import { ApiError } from '../../errors.ts';
import type { ReadCall } from '../api.ts';
import { passingFields, readCompletionsCall } from './read-call.ts';

const hi = { role: 'user', content: 'hi' };
const chat = (change: object = {}) => ({ model: 'acme/small/chat', messages: [hi], ...change });
const saying = (...messages: unknown[]) => chat({ messages });
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

/** The call as a server gets it that knows all fields. */
function sentOn(body: unknown) {
  const {
    max_tokens: _max,
    model: _model,
    ...sent
  } = chatBodyOf({
    ...readCompletionsCall(body),
    max_tokens: 1,
  });
  return sent;
}

const mostly = <T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>) =>
  fc.oneof({ weight: 15, arbitrary: usual }, { weight: 1, arbitrary: odd });

describe('a call is accepted with', () => {
  test('the least there is', () => {
    const { conversation, ...call } = readCompletionsCall(chat());
    assert.deepEqual(call, {
      model: 'acme/small/chat',
      stream: false,
      max_tokens: null,
      metadata: null,
      ignored: [],
    });
    assert.deepEqual([conversation.tools, conversation.extras], [[], {}]);
    assert.deepEqual(sentOn(chat()), { messages: [hi] });
  });

  const empty = { role: 'assistant', content: '' };
  const called = { role: 'assistant', content: null, tool_calls: [call] };
  const conversations: [name: string, message: object, sent?: object][] = [
    ...['system', 'user', 'assistant'].map((role): [string, object] => [
      `the role ${role}`,
      { role, content: 'x' },
    ]),
    [
      'the role developer, which many servers do not know',
      { role: 'developer', content: 'x' },
      { role: 'system', content: 'x' },
    ],
    ['the role tool', { role: 'tool', tool_call_id: 'c1', content: 'x' }],
    [
      'the older role function',
      { role: 'function', name: 'f', content: 'x' },
      { role: 'tool', tool_call_id: 'f', content: 'x' },
    ],
    ['an empty text', { role: 'user', content: '' }],
    ['an assistant that called a tool', called],
    ['the same without content', { role: 'assistant', tool_calls: [call] }, called],
    [
      'an old function call',
      { role: 'assistant', content: null, function_call: { name: 'f' } },
      { ...called, tool_calls: [{ ...call, id: 'call_0_' }] },
    ],
    ['an assistant that refused', { role: 'assistant', content: null, refusal: 'no' }],
    [
      'a tool with nothing to say',
      { role: 'tool', tool_call_id: 'c1', content: null },
      { role: 'tool', tool_call_id: 'c1', content: '' },
    ],
    [
      'null for no tool calls',
      { role: 'assistant', content: 'x', tool_calls: null },
      { role: 'assistant', content: 'x' },
    ],
    [
      'all kinds of parts',
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
          { type: 'file', file: { file_id: 'f' } },
          {
            type: 'file',
            file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
          },
          { type: 'refusal', refusal: 'no' },
        ],
      },
    ],
    [
      'what reasoning models said before',
      {
        role: 'assistant',
        content: 'x',
        reasoning: 'a',
        reasoning_content: 'b',
        reasoning_details: [{ type: 'reasoning.text', text: 'c' }],
      },
      { role: 'assistant', content: 'x', reasoning_content: 'c' },
    ],
    ['an empty reply', { role: 'assistant', content: null }, empty],
    ['an empty reply with no calls', { role: 'assistant', content: null, tool_calls: [] }, empty],
    [
      'sound alone, by its id',
      { role: 'assistant', audio: { id: 'a' } },
      { ...empty, audio: { id: 'a' } },
    ],
    [
      'a name, and sound by its id',
      { role: 'assistant', content: 'x', name: 'ann', audio: { id: 'a' } },
    ],
  ];
  for (const [name, message, sent = message] of conversations)
    test(name, () => assert.deepEqual(sentOn(saying(message)).messages, [sent]));

  const settings: [body: object, expected: Partial<ReadCall>][] = [
    [{ stream: true }, { stream: true }],
    [
      { stream: null, n: null, max_tokens: null, stream_options: null, temperature: null },
      { stream: false, max_tokens: null },
    ],
    [{ n: 1 }, { ignored: [] }],
    [{ max_tokens: 1 }, { max_tokens: 1 }],
    [{ max_completion_tokens: 7 }, { max_tokens: 7 }],
    [{ max_tokens: 7, max_completion_tokens: 7 }, { max_tokens: 7 }],
    [{ max_tokens: null, max_completion_tokens: 7 }, { max_tokens: 7 }],
    [
      { stream: true, stream_options: { include_usage: true } },
      { stream: true, ignored: [] },
    ],
    [{ stream: true, stream_options: { include_obfuscation: false } }, { stream: true }],
    [{ tools: [tool, { type: 'custom', custom: { name: 'f' } }] }, {}],
  ];
  for (const [body, expected] of settings) {
    test(`${JSON.stringify(body).slice(0, 70)}`, () => {
      const parsed = readCompletionsCall(chat(body));
      assert.deepEqual(parsed, { ...parsed, ...expected });
      const { tools: _tools, stream: _stream, ...sent } = sentOn(chat(body));
      assert.deepEqual(sent, { messages: [hi] });
    });
  }
});

describe('of a call is kept', () => {
  const emptyTool = {
    type: 'function',
    function: { name: 'f', parameters: { type: 'object', properties: {} } },
  };
  const known = {
    temperature: 99,
    top_p: 1,
    presence_penalty: -2,
    frequency_penalty: 0.5,
    seed: 7,
    stop: ['x'],
    logit_bias: { 50256: -100 },
    logprobs: true,
    top_logprobs: 2,
    tools: [tool],
    response_format: { type: 'json_object' },
    tool_choice: 'auto',
    parallel_tool_calls: false,
    functions: [{ name: 'f' }],
    function_call: { name: 'f' },
    reasoning_effort: 'low',
    verbosity: 'high',
    user: 'u-1',
  };

  test('every known field as it came', () => {
    const { functions, function_call: _older, ...newer } = known;
    const tools = [emptyTool, { type: 'function', function: functions[0] }];
    assert.deepEqual(sentOn(chat(known)), { messages: [hi], ...newer, tools });
    assert.deepEqual(Object.keys(known).sort(), Object.keys(passingFields).sort());
  });

  test('nothing else: no price changers, nothing that is kept, nothing of ours', () => {
    const dropped = {
      service_tier: 'priority',
      store: true,
      metadata: { a: 'b' },
      prediction: { content: 'x' },
      modalities: ['audio'],
      audio: { voice: 'x' },
      web_search_options: {},
      plugins: [{}],
      provider: {},
      models: ['dear/model'],
      max_tokens: 5,
      n: 1,
      background: true,
      stream_options: { include_usage: true },
      cost: 0,
      account_id: 'x',
    };
    assert.deepEqual(sentOn(chat(dropped)), { messages: [hi] });
  });

  test('of an object what is known, at any depth, and a JSON schema whole', () => {
    const hidden = { cache_control: { type: 'ephemeral', ttl: '1h' }, plugins: ['web'], extra: 1 };
    const schema = { type: 'object', properties: { cache_control: { type: 'string' } } };
    const tools = [
      {
        type: 'function',
        function: { name: 'f', description: 'd', parameters: schema, strict: true },
      },
      {
        type: 'custom',
        custom: {
          name: 'g',
          format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } },
        },
      },
    ];
    const known = {
      tools,
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
      tool_choice: { type: 'function', function: { name: 'f' } },
    };
    const sent = {
      tools: [
        { ...tools[0], ...hidden, function: { ...tools[0]!.function, ...hidden } },
        { ...tools[1], ...hidden, custom: { ...tools[1]!.custom, ...hidden } },
      ],
      response_format: {
        ...hidden,
        type: 'json_schema',
        json_schema: { ...known.response_format.json_schema, ...hidden },
      },
      tool_choice: { ...hidden, type: 'function', function: { name: 'f', ...hidden } },
    };
    const mark = { cache_control: { type: 'ephemeral' } };
    const kept = { ...known, tools: tools.map((tool) => ({ ...tool, ...mark })) };
    assert.deepEqual(sentOn(chat(sent)), { messages: [hi], ...kept });
  });
});

describe('optional fields', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const sent = {
    ...chat({}),
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control, hidden: 1 }], mood: 'x' },
    ],
    tools: [{ type: 'function', function: { name: 'f', extra: 1 }, cache_control }],
    top_k: 40,
    reasoning: { effort: 'low', wait: true },
    chat_template_kwargs: { enable_thinking: false, system: 'a text in the prompt' },
    service_tier: 'priority',
    store: null,
  };

  test('are kept with their known fields only', () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    const all = {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'a', ...mark }] }],
      tools: [{ type: 'function', function: { name: 'f' }, ...mark }],
      top_k: 40,
      reasoning: { effort: 'low' },
      chat_template_kwargs: { enable_thinking: false },
    };
    assert.deepEqual(sentOn(sent), all);
  });

  test('are those that a catalog file may name', () => {
    assert.deepEqual(
      [...fileSchema.$defs.openai.properties.pass.items.enum].sort(),
      [...optionalNames].sort(),
    );
  });

  test('that are unknown are named once each, whatever their place in a list', () => {
    assert.deepEqual([...readCompletionsCall(sent).ignored].sort(), [
      'chat_template_kwargs.system',
      'messages[].content[].cache_control.ttl',
      'messages[].content[].hidden',
      'messages[].mood',
      'reasoning.wait',
      'service_tier',
      'tools[].cache_control.ttl',
      'tools[].function.extra',
    ]);
    assert.deepEqual(readCompletionsCall(chat({ store: null, n: 1, stream: false })).ignored, []);
  });

  test('that are unknown are named so far as a header can hold them', () => {
    const many = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`x${i}`, 1]));
    assert.equal(readCompletionsCall(chat(many)).ignored.length, 20);
    const odd = { 'a\r\nset-cookie: b': 1, ['y'.repeat(65)]: 1, ä: 1, '': 1 };
    assert.deepEqual(readCompletionsCall(chat(odd)).ignored, []);
  });

  test('of a wrong type are refused by name', () => {
    for (const [field, value] of [
      ['top_k', 1.5],
      ['reasoning', 'low'],
      ['thinking', { budget_tokens: '1' }],
    ] as const)
      assert.throws(() => readCompletionsCall(chat({ [field]: value })), new RegExp(field));
  });
});

describe('of a message is kept what is known, and nothing that is not', () => {
  const hidden = { images: ['//10.0.0.1/a.png'], url: 'http://10.0.0.1/', cache_control: {} };
  const said = (...content: unknown[]) => ({ role: 'user', content });
  const cases: [name: string, sent: Record<string, unknown>, got: Record<string, unknown>][] = [
    ['of the message itself', { ...hi, ...hidden, cache_control: null }, hi],
    [
      "of a reply's sound, its id",
      { role: 'assistant', content: 'x', audio: { id: 'a', data: 'AAAA', ...hidden } },
      { role: 'assistant', content: 'x', audio: { id: 'a' } },
    ],
    [
      'of a call of a tool',
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ ...call, ...hidden, function: { ...call.function, ...hidden } }],
      },
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    [
      'of what was thought',
      {
        role: 'assistant',
        content: 'x',
        reasoning_details: [{ type: 'reasoning.text', text: 'c', signature: 's', ...hidden }],
      },
      {
        role: 'assistant',
        content: 'x',
        reasoning_details: [{ type: 'reasoning.text', text: 'c', signature: 's', index: 0 }],
      },
    ],
    [
      'of a text, and its mark',
      said({ type: 'text', text: 'a', ...hidden }),
      said({ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }),
    ],
    [
      "of a part, its own type's",
      said({ type: 'refusal', refusal: 'no', image_url: { url: '//10.0.0.1' }, text: 'b' }),
      said({ type: 'refusal', refusal: 'no' }),
    ],
    [
      'of a picture',
      said({ type: 'image_url', image_url: { ...hidden, url: 'u', detail: 'low', url_2: 'v' } }),
      said({ type: 'image_url', image_url: { url: 'u', detail: 'low' } }),
    ],
    [
      'of sound',
      said({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav', ...hidden } }),
      said({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    ],
    [
      'of a file, and nothing empty',
      said({ type: 'file', file: { file_data: 'AAAA', file_id: '', filename: null, ...hidden } }),
      said({ type: 'file', file: { file_data: 'AAAA' } }),
    ],
  ];
  for (const [name, sent, got] of cases) {
    test(name, () => {
      assert.deepEqual(sentOn(saying(sent)).messages, [got]);
    });
  }
});

describe('a model takes', () => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'file', file: { file_data: 'A' } },
  ];
  const { conversation } = readCompletionsCall(saying(hi, { role: 'user', content }));

  test('what its row names', () => {
    demandModalities(conversation, { id: 'acme/chat', input_modalities: ['text', 'file'] });
  });

  test('nothing else, and the refusal names the place and what is taken', () => {
    assert.throws(
      () =>
        demandModalities(conversation, { id: 'acme/chat', input_modalities: ['text', 'image'] }),
      (error) => {
        assert.ok(error instanceof ApiError);
        assert.deepEqual([error.code, error.param], ['bad_messages', 'messages[1].content[1]']);
        assert.match(error.message, /it takes text, image\. No model takes it\.$/);
        return true;
      },
    );
  });

  test('and names some models that take it', () => {
    const others = ['a', 'b', 'c', 'd'].map((id) => ({ id, input_modalities: ['file'] as const }));
    const images = { id: 'acme/draw' };
    const text = { id: 'acme/chat', input_modalities: ['text'] as const };
    assert.throws(
      () => demandModalities(conversation, text, [images, text, ...others]),
      /acme\/chat does not take; it takes text\. Models that take it: a, b, c\.$/,
    );
  });
});

describe('a call is refused', () => {
  const users = (content: unknown) => saying(hi, { role: 'user', content });
  const badMessages: [body: object, param: string][] = [
    [{ model: 'm' }, 'messages'],
    [chat({ messages: null }), 'messages'],
    [chat({ messages: [] }), 'messages'],
    [chat({ messages: 'hi' }), 'messages'],
    [chat({ messages: { 0: hi, length: 1 } }), 'messages'],
    [chat({ messages: Array.from({ length: 10_001 }, () => hi) }), 'messages'],
    [saying(hi, 'hi'), 'messages[1]'],
    [saying(hi, null), 'messages[1]'],
    [saying([hi]), 'messages[0]'],
    [saying({ content: 'x' }), 'messages[0].role'],
    [saying({ role: 'User', content: 'x' }), 'messages[0].role'],
    [saying({ role: 'model', content: 'x' }), 'messages[0].role'],
    [saying({ role: ['user'], content: 'x' }), 'messages[0].role'],
    [saying({ role: 'user' }), 'messages[0].content'],
    [users(null), 'messages[1].content'],
    [users(5), 'messages[1].content'],
    [users({ type: 'video', text: 'x' }), 'messages[1].content.type'],
    [users(true), 'messages[1].content'],
    [users([]), 'messages[1].content'],
    [users([['x']]), 'messages[1].content[0]'],
    [users([null]), 'messages[1].content[0]'],
    [users([{ text: 'x' }]), 'messages[1].content[0].type'],
    [users([{ type: 'video', text: 'x' }]), 'messages[1].content[0].type'],
    [users([{ type: 'toString' }]), 'messages[1].content[0].type'],
    [users([{ type: 'text' }]), 'messages[1].content[0].text'],
    [
      users([
        { type: 'text', text: 'x' },
        { type: 'text', text: 5 },
      ]),
      'messages[1].content[1].text',
    ],
    [users([{ type: 'image_url', image_url: { url: '' } }]), 'messages[1].content[0]'],
    [users([{ type: 'image_url', image_url: null }]), 'messages[1].content[0]'],
    [users([{ type: 'input_audio', input_audio: { data: 'A' } }]), 'messages[1].content[0]'],
    [users([{ type: 'file', file: { filename: 'a' } }]), 'messages[1].content[0]'],
    [
      users([{ type: 'image_url', image_url: { url: 'u', detail: {} } }]),
      'messages[1].content[0].image_url.detail',
    ],
    [
      users([{ type: 'file', file: { file_id: 5, file_data: 'A' } }]),
      'messages[1].content[0].file.file_id',
    ],
    [saying({ ...hi, name: { url: 'x' } }), 'messages[0].name'],
    [saying({ ...hi, reasoning_details: 'x' }), 'messages[0].reasoning_details'],
    [saying({ role: 'assistant', content: 'x', audio: {} }), 'messages[0].audio'],
    [saying({ role: 'user', content: null, tool_calls: [call] }), 'messages[0].content'],
    [saying({ role: 'assistant', content: 'x', tool_calls: 'x' }), 'messages[0].tool_calls'],
    [saying({ role: 'assistant', content: null, tool_calls: ['x'] }), 'messages[0].tool_calls[0]'],
    [
      saying({ role: 'assistant', tool_calls: [{ function: { arguments: 7 } }] }),
      'messages[0].tool_calls[0].function.arguments',
    ],
  ];
  const badRequests: [body: unknown, param: string | null][] = [
    [null, null],
    [[chat()], null],
    ['{}', null],
    [{ messages: [hi] }, 'model'],
    [chat({ model: '' }), 'model'],
    [chat({ model: 5 }), 'model'],
    [chat({ stream: 'true' }), 'stream'],
    [chat({ stream: 1 }), 'stream'],
    [chat({ stream_options: true }), 'stream_options'],
    [chat({ stream_options: { include_usage: 'yes' } }), 'stream_options.include_usage'],
    [chat({ n: 2 }), 'n'],
    [chat({ n: 0 }), 'n'],
    [chat({ n: '1' }), 'n'],
    ...[0, -2, 1.5, '5', true, [5], {}, 2 ** 53, Infinity].flatMap((value): [unknown, string][] => [
      [chat({ max_tokens: value }), 'max_tokens'],
      [chat({ max_completion_tokens: value }), 'max_completion_tokens'],
    ]),
    [chat({ max_tokens: 5, max_completion_tokens: 6 }), 'max_completion_tokens'],
    [chat({ temperature: '1' }), 'temperature'],
    [chat({ seed: 1.5 }), 'seed'],
    [chat({ stop: [1] }), 'stop'],
    [chat({ logit_bias: [] }), 'logit_bias'],
    [chat({ response_format: 'json' }), 'response_format'],
    [chat({ tools: {} }), 'tools'],
    [chat({ tools: ['x'] }), 'tools[0]'],
    [chat({ tools: [{ ...tool, function: { name: 5 } }] }), 'tools[0].function.name'],
    [chat({ tools: [{ type: 'custom', custom: { name: '' } }] }), 'tools[0].custom.name'],
    [chat({ logit_bias: { 5: {} } }), 'logit_bias'],
    [chat({ tool_choice: { function: 'f' } }), 'tool_choice.function'],
    [chat({ tools: [tool, { type: 'web_search' }] }), 'tools[1].type'],
    [chat({ tools: [{ function: {} }] }), 'tools[0].function.name'],
    [chat({ tool_choice: 5 }), 'tool_choice'],
    [chat({ user: {} }), 'user'],
  ];
  const cases = [
    ...badMessages.map(([body, param]) => ({ body, param, code: 'bad_messages' })),
    ...badRequests.map(([body, param]) => ({ body, param, code: 'bad_request' })),
  ];
  for (const { body, param, code } of cases) {
    test(`${code}, ${param}: ${JSON.stringify(body).slice(0, 90)}`, () => {
      assert.throws(
        () => readCompletionsCall(body),
        (error) => {
          assert.ok(error instanceof ApiError);
          assert.deepEqual([error.code, error.param], [code, param]);
          if (param !== null) assert.ok(error.message.startsWith(param), error.message);
          assert.ok(error.message.length < 200 && error.message.includes('must'));
          return true;
        },
      );
    });
  }

  test('no JSON makes it throw anything but bad_messages and bad_request', () => {
    const part = fc.record(
      {
        type: fc.constantFrom('text', 'image_url', 'input_audio', 'file', 'refusal'),
        text: fc.jsonValue(),
        image_url: fc.jsonValue(),
        input_audio: fc.jsonValue(),
        file: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const message = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          role: fc.constantFrom('user', 'assistant', 'tool', 'x'),
          content: fc.oneof(fc.string(), fc.jsonValue(), fc.array(fc.oneof(part, fc.jsonValue()))),
          tool_calls: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    );
    const fields = Object.fromEntries(
      [...Object.keys(passingFields), 'n', 'stream', 'stream_options', 'max_tokens'].map(
        (field) => [field, mostly(fc.constant(null), fc.jsonValue())],
      ),
    );
    const body = mostly(
      fc.record({
        model: mostly(fc.constant('m'), fc.jsonValue()),
        messages: fc.array(mostly(fc.constant(hi), message), { maxLength: 4 }),
        ...fields,
      }),
      fc.jsonValue(),
    );
    const seen = { accepted: 0, bad_messages: 0, bad_request: 0 };
    fc.assert(
      fc.property(body, (value) => {
        try {
          const { stream, conversation } = readCompletionsCall(value);
          seen.accepted++;
          assert.equal(typeof stream, 'boolean');
          assert.ok(Object.keys(conversation.extras).every((key) => key in passingFields));
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          assert.ok(error.code === 'bad_messages' || error.code === 'bad_request');
          seen[error.code]++;
        }
      }),
      { numRuns: 2_000 },
    );
    assert.ok(
      Object.values(seen).every((times) => times > 20),
      JSON.stringify(seen),
    );
  });
});
