import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { streamedReply, wholeReply } from '../../../../test/kit/chat-apis.ts';
import { itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { messagesWriter } from './write-reply.ts';

const usage = { prompt_tokens: 9, completion_tokens: 4, cost_usd_micro: '7' };
const answering = { request_id: 'r', created: 1, now: () => 2, model: 'm', body: {} };

function chunk(delta: Json, finish_reason: string | null = null): Json {
  return { choices: [{ index: 0, delta, finish_reason }] };
}

/** All events of a stream of these chunks. */
function eventsOf(chunks: Json[]): Json[] {
  return streamedReply(messagesWriter, chunks, usage).map(({ event, data }) => {
    const value = JSON.parse(data) as Json;
    assert.equal(event, value.type);
    return value;
  });
}

function replyOf(message: Json, finish_reason = 'stop'): Json {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }];
  return wholeReply(messagesWriter, [{ object: 'chat.completion', choices }], usage);
}

const call = (id: string, args: string, index = 0) => ({
  index,
  id,
  type: 'function',
  function: { name: `tool_${id}`, arguments: args },
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
    assert.deepEqual(inputs('{"a": "1'), [{ INVALID_JSON: '{"a": "1' }]);
    assert.deepEqual(inputs('[1]'), [{ INVALID_JSON: '[1]' }]);
    assert.deepEqual(inputs(''), [{}]);
  });

  test('counts cached tokens apart', () => {
    const prompt_tokens_details = { cached_tokens: 5, cache_write_tokens: 3 };
    const counted = { ...usage, prompt_tokens_details };
    const reply = wholeReply(messagesWriter, [chunk({ content: 'a' }, 'stop')], counted);
    assert.deepEqual(reply.usage, {
      input_tokens: 1,
      cache_creation_input_tokens: 3,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
      cache_read_input_tokens: 5,
      output_tokens: 4,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: null,
      speed: null,
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
    for (const id of others) assert.match(String(id), /^\w+$/);
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
    const writer = messagesWriter({ ...answering, stream: true });
    const error = {
      code: 'submit_failed',
      message: 'Broken.',
      type: 'upstream_error',
      param: null,
      request_id: 'r',
    };
    const sent = [
      ...writer.begin(() => usage),
      ...writer.add({ type: 'text', text: 'a', logprobs: null }),
      ...writer.fail(error, usage),
    ];
    const names = sent.map(({ event }) => event);
    assert.deepEqual(names.slice(-3), ['content_block_stop', 'message_delta', 'error']);
    assert.deepEqual(JSON.parse(sent.at(-1)!.data), {
      type: 'error',
      error: { code: 'submit_failed', message: 'Broken.', param: null, type: 'api_error' },
      request_id: 'r',
    });
    assert.equal(writer.fail(error, null).length, 1);
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
        const whole = itemsOf(wholeReply(messagesWriter, chunks, usage).content).map(objectOf);
        assert.deepEqual(
          whole.flatMap(({ input }) => (input === undefined ? [] : [input])),
          texts.map((each) => JSON.parse(each) as unknown),
        );
        assert.deepEqual(
          whole.map(({ type }) => type),
          blocks.map(({ type }) => type),
        );
      }),
      { seed: 7, numRuns: 200 },
    );
  });
});
