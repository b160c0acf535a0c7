import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { habits, messageFields, optionalNames } from '../../chat/optional-fields.ts';
import { readMessagesCall } from '../messages/read-call.ts';
import { readCompletionsCall } from './read-call.ts';
import { writeCompletionsCall, type CompletionsDialect } from './write-call.ts';

type Json = Record<string, any>;

const least: CompletionsDialect = {
  passes: new Set(),
  cacheControl: false,
  developer: true,
  custom_tools: true,
  message_fields: new Set(messageFields),
  tool_name_max: 64,
  token_limit: 'max_tokens',
  include_usage: false,
};
const calling = { model: 'm', max_tokens: 9, stream: false };
const user = { role: 'user', content: 'hi' };

function written(body: Json, manners: Partial<CompletionsDialect> = {}) {
  const { conversation } = readCompletionsCall({ model: 'a/b', messages: [user], ...body });
  return writeCompletionsCall(conversation, calling, { ...least, ...manners });
}

describe('what only some servers know', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const mark = { cache_control: { type: 'ephemeral' } };
  const tool = { type: 'function', function: { name: 'f' } };
  const marked = { type: 'text', text: 'a', cache_control };
  const given = {
    messages: [{ role: 'user', content: [marked] }],
    tools: [{ ...tool, cache_control }],
    top_k: 40,
    reasoning: { effort: 'low', wait: true },
    chat_template_kwargs: { enable_thinking: false, system: 'a text in the prompt' },
    thinking: { type: 'enabled', budget_tokens: 2_000 },
  };
  const known = { model: 'm', max_tokens: 9 };
  const none = {
    ...known,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
    tools: [tool],
  };

  test('reaches the one that lists it, with its known fields only', () => {
    const passes = new Set(optionalNames);
    const { body, ignored } = written(given, { passes, cacheControl: true });
    assert.deepEqual(body, {
      ...known,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'a', ...mark }] }],
      tools: [{ ...tool, ...mark }],
      top_k: 40,
      reasoning: { effort: 'low' },
      chat_template_kwargs: { enable_thinking: false },
      thinking: { type: 'enabled', budget_tokens: 2_000 },
    });
    assert.deepEqual(ignored, []);
  });

  test('is left out for all others, and named', () => {
    const { body, ignored } = written(given);
    assert.deepEqual(body, none);
    const names = ['cache_control', 'chat_template_kwargs', 'reasoning', 'thinking', 'top_k'];
    assert.deepEqual(ignored.toSorted(), names);
    const some = written(given, { passes: new Set(['top_k']) });
    assert.deepEqual(some.body, { ...none, top_k: 40 });
    assert.deepEqual(some.ignored.toSorted(), names.slice(0, -1));
  });

  const texts = [marked, { type: 'text', text: 'b' }];
  const plain = texts.map(({ text }) => ({ type: 'text', text }));
  const image = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } };
  const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const contents: [what: string, message: Json, without: unknown][] = [
    ['of the system become one text', { role: 'system', content: texts }, 'a\n\nb'],
    ['of the user stay parts', { role: 'user', content: texts }, plain],
    ['beside an image stay parts', { role: 'user', content: [...texts, image] }, [...plain, image]],
    ['without a mark stay as they came', { role: 'system', content: plain }, plain],
  ];
  for (const [what, message, without] of contents)
    test(`marked texts ${what}, where marks are not sent`, () => {
      const { messages } = written({ messages: [message] }).body as Json;
      assert.deepEqual(messages, [{ ...message, content: without }]);
    });

  test('a marked result of a tool is one text', () => {
    const asked = { role: 'assistant', content: null, tool_calls: calls };
    const result = { role: 'tool', tool_call_id: 'c', content: [marked] };
    const call = { messages: [user, asked, result] };
    const of = (marks: boolean) =>
      (written(call, { cacheControl: marks }).body as Json).messages[2].content;
    assert.equal(of(false), 'a');
    assert.deepEqual(of(true), [{ type: 'text', text: 'a', ...mark }]);
  });
});

describe('fields of messages', () => {
  const said = {
    role: 'assistant',
    content: 'x',
    name: 'ann',
    reasoning_content: 'Hm.',
    reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA' }],
    audio: { id: 'a' },
    refusal: 'no',
  };
  const of = (fields: string[]) => {
    const own = { message_fields: new Set(fields) };
    const { body, ignored, fields: sent } = written({ messages: [user, said] }, own);
    return { message: (body as Json).messages[1], ignored, sent: [...sent] };
  };

  test('reach a server that knows them', () => {
    const all = ['name', 'refusal', 'audio', 'reasoning_content', 'reasoning_details'];
    const { message, ignored, sent } = of(all);
    const { reasoning_content, name, audio, refusal } = message;
    assert.deepEqual(
      { reasoning_content, name, audio, refusal },
      { reasoning_content: 'Hm.', name: 'ann', audio: { id: 'a' }, refusal: 'no' },
    );
    assert.ok(Array.isArray(message.reasoning_details));
    assert.deepEqual(ignored, []);
    assert.deepEqual(sent.toSorted(), all.toSorted());
  });

  test('are left out for others, and named', () => {
    const { message, ignored, sent } = of([]);
    assert.deepEqual(message, { role: 'assistant', content: 'x' });
    assert.deepEqual(ignored.toSorted(), [
      'messages[].audio',
      'messages[].name',
      'messages[].reasoning_content',
      'messages[].refusal',
    ]);
    assert.deepEqual(sent, []);
  });

  test('reasoning has the name that the server knows', () => {
    const { message, ignored } = of(['reasoning']);
    assert.deepEqual([message.reasoning, message.reasoning_content], ['Hm.', undefined]);
    assert.ok(ignored.includes('messages[].reasoning_content'), 'for its hidden part');
  });
});

describe('a server', () => {
  test('that does not know the role of the developer gets one of the system', () => {
    const call = { messages: [{ role: 'developer', content: 'Be brief.' }, user] };
    const rolesOf = (developer: boolean) =>
      (written(call, { developer }).body as Json).messages.map(({ role }: Json) => role);
    assert.deepEqual(rolesOf(true), ['developer', 'user']);
    assert.deepEqual(rolesOf(false), ['system', 'user']);
  });

  test('stay apart under two names', () => {
    const [a, b] = ['a', 'b'].map((name) => ({ role: 'system', content: 'x', name }));
    const { body } = written({ messages: [a, a, b, user] }, { developer: false });
    const sent = (body.messages as Json[]).map(({ name, content }) => [name, content]);
    assert.deepEqual(sent.slice(0, 2), [
      ['a', 'x\n\nx'],
      ['b', 'x'],
    ]);
  });

  test('gets functions of the older form as tools, and their calls and results with one id', () => {
    const { body } = written({
      messages: [
        user,
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1}' } },
        { role: 'function', name: 'f', content: 'one' },
      ],
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
    });
    const [, call, result] = (body as Json).messages;
    const [{ id, ...called }] = call.tool_calls;
    assert.deepEqual(called, { type: 'function', function: { name: 'f', arguments: '{"a":1}' } });
    assert.deepEqual(result, { role: 'tool', tool_call_id: id, content: 'one' });
    assert.partialDeepStrictEqual(body, {
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
    assert.ok(!('functions' in body) && !('function_call' in body));
  });

  test('gets long names of tools shortened, everywhere', () => {
    const name = 'look_'.repeat(20);
    const { body, names } = written({
      messages: [
        user,
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
      tools: [{ type: 'function', function: { name } }],
      tool_choice: { type: 'function', function: { name } },
    });
    const { tools, tool_choice, messages } = body as Json;
    const [[short, own] = []] = [...names];
    assert.equal(own, name);
    assert.ok(short!.length <= 64);
    const seen = [tools[0], tool_choice, messages[1].tool_calls[0]];
    assert.deepEqual(
      seen.map((each) => each.function.name),
      [short, short, short],
    );
  });

  test('gets the pictures of a result in a message behind it, with the id of the call', () => {
    const source = { type: 'url', url: 'https://a.example/x.png' };
    const { conversation } = readMessagesCall({
      model: 'a/b',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              is_error: true,
              content: [
                { type: 'text', text: 'dark' },
                { type: 'image', source },
              ],
            },
            { type: 'text', text: 'Well?' },
          ],
        },
      ],
    });
    const { messages } = writeCompletionsCall(conversation, calling, least).body as Json;
    assert.deepEqual(messages.slice(2), [
      { role: 'tool', tool_call_id: 'c', content: 'Error: dark' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'The result of tool call c has:' },
          { type: 'image_url', image_url: { url: source.url } },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });
});

test('messages of one side that are joined mix no names, and keep all words', () => {
  const inTurn = { message_fields: new Set([...messageFields, habits.inTurn]) };
  const ann = { role: 'user', name: 'ann', content: 'hi' };
  const joined = (...messages: Json[]) => written({ messages }, inTurn).body.messages as Json[];
  assert.deepEqual(joined(ann, { ...ann, content: 'me again' }), [
    { ...ann, content: 'hi\n\nme again' },
  ]);
  assert.deepEqual(joined(ann, { ...ann, name: 'bob', content: 'me too' }), [
    { role: 'user', content: 'hi\n\nme too' },
  ]);
  const [, answer] = joined(
    user,
    { role: 'assistant', content: 'x', reasoning_content: 'A' },
    { role: 'assistant', content: 'y', reasoning_content: 'B' },
  );
  assert.match(JSON.stringify(answer), /A.*B/);
  assert.equal(answer!.content, 'x\n\ny');
});
