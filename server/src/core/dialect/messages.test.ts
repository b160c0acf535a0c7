import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { parseChat } from '../chat/chat.ts';
import { gatherChunks } from '../chat/completion.ts';
import { ApiError } from '../errors.ts';
import type { SentEvent } from './dialect.ts';
import { messages } from './messages.ts';
import { passedBody } from '../chat/optional-fields.ts';

const head = { id: 'chatcmpl-0199b3c2-7d1e', created: 1, model: 'm' };
const hello = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const usage = { prompt_tokens: 9, completion_tokens: 4, cost_usd_micro: '7' };

const chatOf = (body: Json) => parseChat(messages.chatBody(body));
const say = (...content: Json[]) => chatOf({ ...hello, messages: [{ role: 'user', content }] });

function chunk(delta: Json, finish_reason: string | null = null): Json {
  return { ...head, choices: [{ index: 0, delta, finish_reason }] };
}

/** All events of a stream of these chunks. */
function eventsOf(chunks: Json[], completion: Json = { ...head, usage }): Json[] {
  const events = messages.events({ body: hello, chat: chatOf(hello), head });
  const sent = [...events.begin(), ...chunks.flatMap(events.add), ...events.end(completion, 9)];
  return sent.map(({ event, data }: SentEvent) => {
    const value = JSON.parse(data) as Json;
    assert.equal(event, value.type);
    return value;
  });
}

function replyOf(message: Json, finish_reason = 'stop'): Json {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }];
  return messages.reply({ ...head, choices, usage }, hello, 9);
}

const call = (id: string, args: string, index = 0) => ({
  index,
  id,
  type: 'function',
  function: { name: `tool_${id}`, arguments: args },
});
const signed = {
  type: 'reasoning.text',
  text: 'Hm.',
  signature: 'S',
  format: 'anthropic-claude-v1',
};
const hidden = {
  type: 'reasoning.encrypted',
  data: 'E',
  id: 'rs_1',
  format: 'openai-responses-v1',
};

describe('a call becomes a chat completion', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } };
  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AA==' };

  test('with its marks for a cache, which an upstream without one does not see', () => {
    const cache_control = { type: 'ephemeral' };
    const { body } = chatOf({
      ...hello,
      system: [
        { type: 'text', text: 'A' },
        { type: 'text', text: 'B', cache_control },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 't', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'x', content: 'done', cache_control }],
        },
      ],
    });
    const contents = (of: typeof body) => of.messages.map(({ content }) => content);
    const part = (text: string, mark: object = { cache_control }) => ({
      type: 'text',
      text,
      ...mark,
    });
    assert.deepEqual(contents(passedBody(body, (name) => name === 'cache_control')), [
      [part('A', {}), part('B')],
      [part('hi')],
      null,
      [part('done')],
    ]);
    assert.deepEqual(contents(passedBody(body, () => false)), [
      'A\n\nB',
      [part('hi', {})],
      null,
      'done',
    ]);
  });

  test('with every field that has a counterpart', () => {
    const { body, max_tokens, stream } = chatOf({
      ...hello,
      stream: true,
      system: [
        { type: 'text', text: 'A', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'B' },
      ],
      tools: [
        {
          name: 't',
          description: null,
          input_schema: { type: 'object' },
          cache_control: { type: 'ephemeral', ttl: '1h' },
        },
      ],
      tool_choice: { type: 'tool', name: 't', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: null,
      top_k: 5,
      thinking: { type: 'enabled', budget_tokens: 10_000 },
      output_config: { format: { type: 'json_schema', schema: { type: 'string' } } },
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      context_management: { edits: [] },
      mcp_servers: [],
    });
    assert.deepEqual([max_tokens, stream], [9, true]);
    const mark = { cache_control: { type: 'ephemeral' } };
    const text = (said: string) => ({ type: 'text', text: said });
    assert.deepEqual(body, {
      messages: [
        { role: 'system', content: [{ ...text('A'), ...mark }, text('B')] },
        { role: 'user', content: 'hi' },
      ],
      top_k: 5,
      temperature: 0.5,
      stop: ['END'],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'reply', schema: { type: 'string' }, strict: true },
      },
      tools: [
        { type: 'function', function: { name: 't', parameters: { type: 'object' } }, ...mark },
      ],
      tool_choice: { type: 'function', function: { name: 't' } },
      parallel_tool_calls: false,
      reasoning_effort: 'medium',
      user: 'u',
    });
  });

  test('with images and documents as parts', () => {
    const { messages: said } = say(
      { type: 'text', text: 'Look' },
      image,
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      { type: 'document', source: pdf, title: 'a.pdf' },
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Body' },
        title: 'T',
      },
    );
    assert.deepEqual(said[0]!.content, [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'https://a/b.png' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      { type: 'image_url', image_url: { url: 'file_1' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } },
      { type: 'text', text: 'T\n\nBody' },
    ]);
  });

  test('with the results of tools ahead of the rest of their turn', () => {
    const { messages: said } = say(
      { type: 'text', text: 'go on' },
      { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'ok' }, image] },
      { type: 'tool_result', tool_use_id: 'b', content: 'no', is_error: true },
      { type: 'tool_result', tool_use_id: 'c' },
    );
    assert.deepEqual(said, [
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no' },
      { role: 'tool', tool_call_id: 'c', content: '' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://a/b.png' } },
          { type: 'text', text: 'go on' },
        ],
      },
    ]);
  });

  test('with an effort by budget and name', () => {
    const effort = (more: Json) => chatOf({ ...hello, ...more }).body.reasoning_effort;
    const budget = (budget_tokens: number) =>
      effort({ thinking: { type: 'enabled', budget_tokens } });
    assert.deepEqual([1_024, 4_097, 31_999].map(budget), ['low', 'medium', 'high']);
    assert.equal(effort({ output_config: { effort: 'max' } }), 'high');
    assert.equal(effort({ thinking: { type: 'adaptive' } }), undefined);
    const off = { thinking: { type: 'disabled' }, output_config: { effort: 'high' } };
    assert.equal(effort(off), undefined);
  });

  test('with a schema of many fields, each of which is read a few times only', () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `field ${i}`);
    let reads = 0;
    const required = new Proxy(names, {
      get(list, name) {
        reads++;
        return Reflect.get(list, name) as unknown;
      },
    });
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const schema = { type: 'object', properties, required, additionalProperties: false };
    const format = { type: 'json_schema', schema };
    const { response_format } = messages.chatBody({ ...hello, output_config: { format } });
    assert.equal(objectOf(objectOf(response_format).json_schema).strict, true);
    assert.ok(reads < 10 * names.length, `${reads} reads`);
  });

  test('with a user of at most 64 characters, the same for the same', () => {
    const user = (user_id: string) => String(chatOf({ ...hello, metadata: { user_id } }).body.user);
    assert.equal(user('x'.repeat(200)).length, 64);
    assert.equal(user('x'.repeat(200)), user('x'.repeat(200)));
    assert.notEqual(user('x'.repeat(200)), user('x'.repeat(201)));
  });
});

describe('a reply comes back in the next call', () => {
  test('with tool calls and reasoning as the model sent them', () => {
    const reply = replyOf(
      {
        content: 'Let me see.',
        reasoning_details: [signed, hidden],
        tool_calls: [call('a', '{"x":1}')],
      },
      'tool_calls',
    );
    assert.deepEqual(
      itemsOf(reply.content).map((block) => objectOf(block).type),
      ['thinking', 'redacted_thinking', 'text', 'tool_use'],
    );
    const next = [...hello.messages, { role: 'assistant', content: reply.content }];
    const { messages: said } = chatOf({ ...hello, messages: next });
    assert.deepEqual(said[1], {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'tool_a', arguments: '{"x":1}' } },
      ],
      reasoning_details: [
        { ...signed, index: 0 },
        { ...hidden, index: 1 },
      ],
    });
  });

  test('with unsigned reasoning as a plain text', () => {
    const { content } = replyOf({ content: 'Yes', reasoning_content: 'Hm.' });
    const next = [...hello.messages, { role: 'assistant', content }];
    const [, said] = chatOf({ ...hello, messages: next }).messages;
    assert.deepEqual(said, { role: 'assistant', content: 'Yes', reasoning_content: 'Hm.' });
  });
});

describe('a reply', () => {
  const reasons: [finish: string, message: Json, reason: string][] = [
    ['stop', { content: 'a' }, 'end_turn'],
    ['length', { content: 'a' }, 'max_tokens'],
    ['length', { tool_calls: [call('a', '{"x')] }, 'max_tokens'],
    ['tool_calls', { tool_calls: [call('a', '{}')] }, 'tool_use'],
    ['stop', { tool_calls: [call('a', '{}')] }, 'tool_use'],
    ['content_filter', { content: '' }, 'refusal'],
    ['stop', { refusal: 'No.' }, 'refusal'],
  ];
  for (const [finish, message, reason] of reasons)
    test(`that ends with ${finish} after ${Object.keys(message)} says ${reason}`, () => {
      assert.equal(replyOf(message, finish).stop_reason, reason);
      const streamed = eventsOf([chunk(message), chunk({}, finish)]);
      assert.deepEqual(objectOf(streamed.at(-2)!.delta).stop_reason, reason);
    });

  test('keeps an input that is no JSON object, and does not invent an empty one', () => {
    const inputs = (args: string) =>
      itemsOf(replyOf({ tool_calls: [call('a', args)] }).content).map(
        (block) => objectOf(block).input,
      );
    assert.deepEqual(inputs('{"a": 1'), [{ INVALID_JSON: '{"a": 1' }]);
    assert.deepEqual(inputs('[1]'), [{ INVALID_JSON: '[1]' }]);
    assert.deepEqual(inputs(''), [{}]);
  });

  test('counts cached tokens apart', () => {
    const prompt_tokens_details = { cached_tokens: 5, cache_write_tokens: 3 };
    const counted = messages.reply(
      { ...head, usage: { ...usage, prompt_tokens_details } },
      hello,
      9,
    );
    assert.deepEqual(counted.usage, {
      input_tokens: 1,
      cache_creation_input_tokens: 3,
      cache_read_input_tokens: 5,
      output_tokens: 4,
      cost_usd_micro: '7',
    });
  });

  test('names tool calls that got no id, or one that is taken', () => {
    const nameless = { function: { name: 't', arguments: '{}' } };
    const { content } = replyOf({
      tool_calls: [call('a', '{}'), call('a', '{}'), nameless, nameless],
    });
    const [first, ...others] = itemsOf(content).map((block) => objectOf(block).id);
    assert.equal(first, 'a');
    assert.equal(new Set(others).size, 3);
    for (const id of others) assert.match(String(id), /^toolu_\w+$/);
  });
});

/** Adds up the events, and asserts their order. */
function folded(events: Json[]): Json[] {
  const content: Json[] = [];
  let open = false;
  const names = events.map(({ type }) => type);
  assert.equal(names[0], 'message_start');
  assert.deepEqual(names.slice(-2), ['message_delta', 'message_stop']);
  for (const { type, index, content_block, delta } of events.slice(1, -2)) {
    if (type === 'content_block_start') {
      assert.ok(!open && index === content.length);
      open = true;
      content.push({ ...objectOf(content_block), written: '', signature: '' });
      continue;
    }
    assert.ok(open && index === content.length - 1, String(type));
    if (type === 'content_block_stop') {
      open = false;
      continue;
    }
    assert.equal(type, 'content_block_delta');
    const { text = '', thinking = '', partial_json = '', signature = '' } = objectOf(delta);
    const block = content.at(-1)!;
    block.written = `${block.written}${text}${thinking}${partial_json}`;
    block.signature = `${block.signature}${signature}`;
  }
  assert.ok(!open);
  return content;
}

describe('the events of a stream', () => {
  test('sign a thinking block that came in pieces', () => {
    const detail = (more: Json) =>
      chunk({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...more }] });
    const blocks = folded(
      eventsOf([
        detail({ text: 'H' }),
        detail({ text: 'm' }),
        detail({ signature: 'S' }),
        chunk({ content: 'a' }, 'stop'),
      ]),
    );
    assert.deepEqual(
      blocks.map(({ type, written, signature }) => [type, written, signature]),
      [
        ['thinking', 'Hm', 'S'],
        ['text', 'a', ''],
      ],
    );
  });

  test('keep the input of a call in which a text begins', () => {
    const blocks = folded(
      eventsOf([
        chunk({ tool_calls: [call('a', '{"x":')] }),
        chunk({ content: 'Wait.' }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }, 'tool_calls'),
      ]),
    );
    assert.deepEqual(
      blocks.map(({ type, written }) => [type, written]),
      [
        ['tool_use', '{"x":1}'],
        ['text', 'Wait.'],
      ],
    );
  });

  test('end with the error of a reply that broke off, after what was charged', () => {
    const events = messages.events({ body: hello, chat: chatOf(hello), head });
    const error = {
      code: 'submit_failed',
      message: 'Broken.',
      type: 'upstream_error',
      param: null,
      request_id: 'r',
    };
    const sent = [
      ...events.begin(),
      ...events.add(chunk({ content: 'a' })),
      ...events.fail(error, { ...head, usage }),
    ];
    const names = sent.map(({ event }) => event);
    assert.deepEqual(names.slice(-3), ['content_block_stop', 'message_delta', 'error']);
    assert.deepEqual(JSON.parse(sent.at(-1)!.data), {
      type: 'error',
      error: { code: 'submit_failed', message: 'Broken.', param: null, type: 'api_error' },
      request_id: 'r',
    });
    assert.equal(events.fail(error, null).length, 1);
  });

  /** A reply, cut into chunks in any way. Its calls may come one after the other or mixed. */
  const replies = fc.record({
    reasoning: fc.array(fc.string(), { maxLength: 3 }),
    text: fc.array(fc.string(), { maxLength: 4 }),
    inputs: fc.array(fc.object({ maxDepth: 1, maxKeys: 3 }), { maxLength: 4 }),
    cut: fc.integer({ min: 1, max: 9 }),
    mixed: fc.boolean(),
  });

  test('are in order and lose nothing, however the reply was cut', () => {
    fc.assert(
      fc.property(replies, ({ reasoning, text, inputs, cut, mixed }) => {
        const texts = inputs.map((input) => JSON.stringify(input));
        const opened = texts.map((_, i) => chunk({ tool_calls: [call(String(i), '', i)] }));
        const pieces = texts.map((whole, index) =>
          (whole.match(new RegExp(`[^]{1,${cut}}`, 'g')) ?? []).map((part) =>
            chunk({ tool_calls: [{ index, function: { arguments: part } }] }),
          ),
        );
        const length = Math.max(0, ...pieces.map((each) => each.length));
        const turns = Array.from({ length }, (_, i) =>
          pieces.flatMap((each) => each.slice(i, i + 1)),
        );
        const calls = mixed
          ? [...opened, ...turns.flat()]
          : opened.flatMap((one, i) => [one, ...pieces[i]!]);
        const chunks = [
          ...reasoning.map((piece) => chunk({ reasoning: piece })),
          ...text.map((content) => chunk({ content })),
          ...calls,
          chunk({}, 'stop'),
        ];
        const blocks = folded(eventsOf(chunks));
        const written = (type: string) =>
          blocks.filter((each) => each.type === type).map((each) => each.written);
        assert.equal(written('thinking').join(''), reasoning.join(''));
        assert.equal(written('text').join(''), text.join(''));
        assert.deepEqual(written('tool_use'), texts);
        const gathered = gatherChunks(head);
        for (const each of chunks) gathered.add(each);
        const whole = itemsOf(messages.reply(gathered.completion(), hello, 9).content).map(
          objectOf,
        );
        assert.deepEqual(
          whole.map(({ type }) => type),
          blocks.map(({ type }) => type),
        );
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  test('are in order for any JSON in place of a chunk', () => {
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.record({
        content: fc.jsonValue(),
        tool_calls: fc.jsonValue(),
        reasoning_details: fc.array(fc.jsonValue()),
      }),
    );
    fc.assert(
      fc.property(fc.array(odd, { maxLength: 6 }), (deltas) => {
        folded(eventsOf(deltas.map((delta) => chunk(delta as Json, 'stop'))));
      }),
      { seed: 8, numRuns: 200 },
    );
  });
});

describe('any JSON', () => {
  const block = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.oneof(
        fc.constantFrom(
          'text',
          'image',
          'document',
          'tool_use',
          'tool_result',
          'thinking',
          'redacted_thinking',
        ),
        fc.jsonValue(),
      ),
      text: fc.oneof(fc.string(), fc.jsonValue()),
      source: fc.oneof(
        fc.jsonValue(),
        fc.record({
          type: fc.constantFrom('base64', 'url', 'file', 'text'),
          url: fc.jsonValue(),
          data: fc.jsonValue(),
        }),
      ),
      thinking: fc.oneof(fc.string(), fc.jsonValue()),
      signature: fc.oneof(fc.string(), fc.constant('farebox1.!'), fc.jsonValue()),
      data: fc.oneof(fc.string(), fc.constant('farebox1.e30'), fc.jsonValue()),
      id: fc.string(),
      name: fc.string(),
      input: fc.jsonValue(),
      tool_use_id: fc.string(),
      content: fc.jsonValue(),
    }),
  );
  const message = fc.oneof(
    fc.jsonValue(),
    fc.record({
      role: fc.oneof(fc.constantFrom('user', 'assistant', 'system'), fc.jsonValue()),
      content: fc.oneof(fc.string(), fc.array(block, { maxLength: 3 }), fc.jsonValue()),
    }),
  );
  const maybe = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof(arbitrary, fc.jsonValue());
  const bodies = fc.record(
    {
      messages: maybe(fc.array(message, { minLength: 1, maxLength: 3 })),
      system: maybe(fc.array(block, { maxLength: 2 })),
      tools: maybe(fc.array(fc.record({ name: fc.jsonValue(), input_schema: fc.jsonValue() }))),
      tool_choice: maybe(
        fc.record({ type: fc.constantFrom('auto', 'tool'), name: fc.jsonValue() }),
      ),
      thinking: maybe(
        fc.record({ type: fc.constantFrom('enabled', 'adaptive'), budget_tokens: fc.jsonValue() }),
      ),
      output_config: maybe(fc.record({ effort: fc.jsonValue(), format: fc.jsonValue() })),
      metadata: maybe(fc.record({ user_id: fc.jsonValue() })),
      stop_sequences: fc.jsonValue(),
      container: maybe(fc.constant(null)),
    },
    { requiredKeys: ['messages'] },
  );

  test('is translated or refused by an error of ours, and never refused later', () => {
    fc.assert(
      fc.property(bodies, (more) => {
        let chat: Json;
        try {
          chat = messages.chatBody({ ...hello, ...more });
        } catch (error) {
          assert.ok(error instanceof ApiError && error.param !== null, String(error));
          return;
        }
        parseChat(chat);
      }),
      { seed: 9, numRuns: 1_000 },
    );
  });
});
