import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  asked,
  eventsOf,
  marked,
  read,
  shortOf,
  type Reading,
} from '../../../test/kit/read-replies.ts';
import { FetchError } from '../../lib/outbound/fetch-error.ts';
import type { ReplyEvent } from '../chat/reply.ts';
import type { OpenReader } from './api.ts';
import { completionsReader } from './completions/read-reply.ts';
import { messagesReader } from './messages/read-reply.ts';
import { readReply, ReplyBroken } from './read-reply.ts';
import { responsesReader } from './responses/read-reply.ts';

type Json = Record<string, any>;

const chunk = (content: string, finish_reason: string | null = null): Json => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});
const chunks = [chunk('Hel'), chunk('lo ✓'), chunk('', 'stop')];
const whole = { choices: [{ message: { content: 'Hello ✓' }, finish_reason: 'stop' }] };
const error = { message: 'max_tokens is too large', code: 400 };
const hello = ['text Hello ✓', 'stop'];
const sse = eventsOf(chunks);
const pretty = (value: unknown) => JSON.stringify(value, null, 2);

const bodies: Record<string, [body: string, reply: string[]]> = {
  'server-sent events': [sse + marked, hello],
  'events without [DONE]': [sse, hello],
  'events without the last empty line': [sse.trimEnd(), hello],
  'events with more behind [DONE]': [`${sse}${marked}data: {"choices": "none"}\n\n{{`, hello],
  'events whose lines end in CRLF': [sse.replaceAll('\n', '\r\n'), hello],
  'events whose lines end in CR': [sse.replaceAll('\n', '\r'), hello],
  'events with comments and other fields': [
    sse.replaceAll('data: ', ': hm\nid: 1\nevent: message\nretry: 10\nstrange\nother: x\ndata:'),
    hello,
  ],
  'events with a byte order mark and empty lines': [`\ufeff\n\n${sse}`, hello],
  'events in several lines': [sse.replaceAll('{"choices"', '{\ndata: "choices"'), hello],
  'a whole reply in an event': [eventsOf([whole], marked), hello],
  'a list of chunks in an event': [eventsOf([chunks]), hello],
  'a whole reply': [JSON.stringify(whole), hello],
  'a whole reply in many lines': [pretty(whole), hello],
  'a whole reply with empty lines': [
    `\ufeff \n\n${pretty(whole).replaceAll('\n', '\r\n\r\n')}\n`,
    hello,
  ],
  'a list of chunks': [JSON.stringify(chunks), hello],
  'a list of chunks in many lines': [pretty(chunks), hello],
  'a chunk in each line': [chunks.map((each) => `${JSON.stringify(each)}\n`).join(''), hello],
  'a chunk in each line, and [DONE]': [
    `${JSON.stringify(chunks[0])}\n${JSON.stringify(chunks[1])}\n[DONE]\n`,
    hello,
  ],
  'chunks behind events': [
    `${eventsOf([chunks[0]])}${JSON.stringify(chunks[1])}\n${eventsOf([chunks[2]])}`,
    hello,
  ],
  'a chunk directly behind an event': [
    `${eventsOf([chunks[0]]).trimEnd()}\n${JSON.stringify(chunks[1])}\n${eventsOf([chunks[2]])}`,
    hello,
  ],
  'a plain error': [JSON.stringify({ error }), ['broken']],
  'a plain error in many lines, before events': [`${pretty([{ error }])}\n\n${marked}`, ['broken']],
  'a plain error behind events': [
    `${eventsOf(chunks.slice(0, 1))}${pretty({ error })}`,
    ['text Hel', 'broken'],
  ],
  'a page': ['<!DOCTYPE html>\n<html>Bad gateway</html>', ['broken']],
  'a page behind events': [`${eventsOf(chunks.slice(0, 1))}<html></html>`, ['text Hel', 'broken']],
  'a plain text': ['upstream connect error', ['broken']],
  nothing: ['', ['broken']],
  'only comments': [': hm\n\n', ['broken']],
  'half of a whole reply': [JSON.stringify(whole).slice(0, 50), ['broken']],
  'an event that is half': [
    `${eventsOf(chunks.slice(0, 1))}data: {"choi\n\n`,
    ['text Hel', 'broken'],
  ],
  'an event that is a number': [eventsOf([chunks[0], 7, chunks[1]]), ['text Hel', 'broken']],
  'another object': ['{"hello":1}', ['broken']],
};

describe('a body is told by its bytes', () => {
  for (const [what, [body, reply]] of Object.entries(bodies))
    test(`${what}, however it is cut`, async () => {
      for (let size = 1; size <= body.length + 9; size++) {
        const reading = await read(completionsReader, body, size);
        assert.deepEqual(shortOf(reading), reply, `pieces of ${size}`);
        assert.ok(reading.error === null || reading.error instanceof ReplyBroken);
      }
    });

  test('and its errors have the words of the upstream, or none', async () => {
    for (const [what, [body, reply]] of Object.entries(bodies)) {
      if (reply.at(-1) !== 'broken') continue;
      const { error: broken } = await read(completionsReader, body);
      assert.ok(broken instanceof ReplyBroken);
      assert.deepEqual(broken.error, what.includes('error') && body.includes('{') ? error : null);
    }
  });
});

describe('the bytes', () => {
  async function* broken(...texts: string[]): AsyncGenerator<Uint8Array> {
    for (const text of texts) yield Buffer.from(text);
    throw new FetchError('reset', 'the connection broke off', { sent: true });
  }

  async function readBytes(bytes: AsyncIterable<Uint8Array>): Promise<Reading> {
    const events: ReplyEvent[] = [];
    try {
      for await (const event of readReply(bytes, completionsReader, asked)) events.push(event);
      return { events, error: null };
    } catch (error) {
      return { events, error: error as Error };
    }
  }

  test('may break off: what came before counts as delivered', async () => {
    const reading = await readBytes(broken(eventsOf(chunks.slice(0, 2)), 'data: {"choi'));
    assert.deepEqual(shortOf(reading), ['text Hello ✓', 'broken']);
    assert.ok(reading.error instanceof FetchError);
  });

  test('may break off behind the end, which is said all the same', async () => {
    const reading = await readBytes(broken(sse));
    assert.deepEqual(shortOf(reading), [...hello, 'broken']);
    assert.ok(reading.error instanceof FetchError);
  });

  test('are not read on behind [DONE] and when the reader stops', async () => {
    for (const stops of [false, true]) {
      let closed = 0;
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          yield Buffer.from(stops ? eventsOf(chunks) : sse + marked);
          assert.ok(stops, 'reads on');
          for (;;) yield Buffer.from(': hm\n');
        } finally {
          closed++;
        }
      }
      for await (const event of readReply(endless(), completionsReader, asked))
        if (stops && event.type === 'text') break;
      assert.equal(closed, 1);
    }
  });

  test('may be larger than a reply, which is an error of its own', async () => {
    async function* large(before: string, text: string): AsyncGenerator<Uint8Array> {
      yield Buffer.from(before);
      const mebibyte = Buffer.from(text.repeat(1024 * 1024));
      for (let i = 0; i < 33; i++) yield mebibyte;
    }
    for (const bytes of [large('data: {"x":"', 'x'), large('{"x":"', 'x'), large('{\n', '\n')]) {
      const { error } = await readBytes(bytes);
      assert.ok(error instanceof FetchError && error.kind === 'too_large', String(error));
    }
  });

  test('is refused if it is nested too deeply', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    for (const value of [
      deep,
      `{"usage":${deep}}`,
      `{"choices":[{"delta":{"content":${deep}}}]}`,
    ]) {
      const { error } = await read(completionsReader, `data: ${value}\n\n`);
      assert.ok(error instanceof ReplyBroken);
    }
  });
});

/** Whether events are in their form. `isBroken`: the reply did not come to its end. */
function assertLawful(events: ReplyEvent[], isBroken: boolean): void {
  const calls: { id: string; custom: boolean; input: string }[] = [];
  let hasEnded = false;
  for (const event of events) {
    assert.ok(!hasEnded || event.type === 'usage');
    if (event.type === 'text' || event.type === 'refusal') assert.notEqual(event.text, '');
    if (event.type === 'thought') assert.ok(event.text !== '' || event.signature !== null);
    if (event.type === 'call') {
      assert.equal(event.call, calls.length);
      assert.ok(event.id !== '' && event.name !== '' && calls.every(({ id }) => id !== event.id));
      calls.push({ id: event.id, custom: event.custom, input: '' });
    }
    if (event.type === 'input') {
      assert.notEqual(event.text, '');
      calls[event.call]!.input += event.text;
    }
    hasEnded ||= event.type === 'end';
  }
  assert.equal(hasEnded, !isBroken);
  if (!isBroken) for (const { custom, input } of calls) assert.ok(custom || input.trim() !== '');
}

describe('whatever an upstream sends', () => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('a', 'b', '', 'x', null, 0, 1, '0', 7, {}, { p: 1 }, []),
  );
  const record = (fields: Record<string, fc.Arbitrary<unknown>>) =>
    fc.oneof(
      { arbitrary: fc.record(fields, { requiredKeys: [] }), weight: 9 },
      { arbitrary: odd, weight: 1 },
    );
  const word = fc.constantFrom('stop', 'tool_calls', 'length', '', null, 'error', 'MAX_TOKENS');
  const text = fc.oneof({ arbitrary: fc.string(), weight: 3 }, { arbitrary: odd, weight: 1 });
  const json = fc.constantFrom('', '{', '{"p":1}', '}', { p: 1 }, null, '{"input":"x"}');
  const name = fc.constantFrom('look', 'go', 'patch', '', null, undefined);
  const id = fc.constantFrom('a', 'b', '', null, undefined, 'call_0190a0', 7);
  const index = fc.constantFrom(0, 1, '1', null, undefined, {});
  const own = record({ name, arguments: json, input: json });
  const call = record({
    index,
    id,
    type: fc.constantFrom('function', 'custom', null),
    function: own,
    custom: own,
  });
  const said = record({
    content: fc.oneof(text, fc.array(record({ type: text, text, thinking: odd }))),
    reasoning: text,
    refusal: text,
    reasoning_details: fc.array(
      record({
        type: fc.constantFrom('reasoning.text', 'reasoning.encrypted'),
        text,
        data: text,
        signature: text,
        index,
      }),
    ),
    tool_calls: fc.array(call, { maxLength: 3 }),
    function_call: own,
  });
  const counts = record({
    prompt_tokens: odd,
    input_tokens: odd,
    completion_tokens: odd,
    cost: odd,
  });
  const completion = record({
    choices: fc.array(
      record({ index, delta: said, message: said, finish_reason: word, logprobs: odd, error: odd }),
      { maxLength: 2 },
    ),
    usage: counts,
    error: fc.constantFrom(undefined, undefined, undefined, null, {}, 'x'),
  });
  const event = record({
    type: fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ),
    index,
    message: record({ usage: counts }),
    content_block: record({
      type: fc.constantFrom('text', 'tool_use', 'thinking'),
      id,
      name,
      input: json,
      text,
      thinking: text,
    }),
    delta: record({ text, thinking: text, signature: text, partial_json: json, stop_reason: word }),
    usage: counts,
    content: odd,
  });
  const item = record({
    type: fc.constantFrom('message', 'reasoning', 'function_call', 'custom_tool_call'),
    id,
    call_id: id,
    name,
    arguments: json,
    input: json,
    content: fc.oneof(text, fc.array(record({ type: text, text, refusal: text }))),
    summary: fc.array(record({ text })),
    encrypted_content: text,
  });
  const kinds = [
    'output_text',
    'refusal',
    'reasoning_text',
    'reasoning_summary_text',
    'function_call_arguments',
  ];
  const types = [
    ...kinds.flatMap((kind) => [`response.${kind}.delta`, `response.${kind}.done`]),
    'response.output_item.added',
    'response.output_item.done',
    'response.completed',
    'response.incomplete',
  ];
  const response = record({
    type: fc.constantFrom(...types),
    output_index: index,
    content_index: index,
    item_id: id,
    item,
    delta: fc.oneof(text, json),
    text,
    arguments: json,
    response: record({
      output: fc.array(item),
      usage: counts,
      status: fc.constantFrom('completed', 'incomplete'),
    }),
  });
  const both = { arguments: '{', input: { p: 1 } };
  const begun = [{ function: { name: 'look', ...both } }, { function: both }];
  const again = { choices: [{ delta: { tool_calls: begun } }] };
  const readers: [OpenReader, fc.Arbitrary<unknown>][] = [
    [completionsReader, completion],
    [messagesReader, event],
    [responsesReader, response],
  ];
  for (const [open, piece] of readers)
    test(`events are lawful, and the same for any cut: ${open.name}`, async () => {
      const bodies = fc.tuple(
        fc.array(
          fc.oneof({ arbitrary: piece, weight: 9 }, { arbitrary: fc.jsonValue(), weight: 1 }),
          { maxLength: 8 },
        ),
        fc.constantFrom('', marked),
        fc.nat(40),
      );
      await fc.assert(
        fc.asyncProperty(bodies, async ([pieces, end, size]) => {
          const body = eventsOf(pieces, end);
          const { events, error } = await read(open, body);
          assert.ok(error === null || error instanceof ReplyBroken, error?.stack);
          assertLawful(events, error !== null);
          const lines = pieces.map((each) => `${JSON.stringify(each)}\n`).join('') + end;
          for (const [other, bytes] of [
            [body, size + 1],
            [body, 1],
            [lines, size + 20],
          ] as const) {
            const again = await read(open, other, bytes);
            if (other === body) assert.deepEqual(again.events, events);
            assert.ok(
              again.error === null || again.error instanceof ReplyBroken,
              again.error?.stack,
            );
            if (other === body) assert.equal(again.error?.message, error?.message);
          }
        }),
        { numRuns: 100, examples: [[[[again], '', 0]]] },
      );
    });
});

for (const [what, open, piece] of [
  [
    'completions',
    completionsReader,
    { choices: [{ message: { tool_calls: [{ function: { name: 'f' } }] } }] },
  ],
  ['messages', messagesReader, { content: [{ type: 'tool_use', name: 'f', input: {} }] }],
  ['responses', responsesReader, { output: [{ type: 'function_call', name: 'f' }] }],
] as [string, OpenReader, Json][])
  test(`a call of ${what} without an id gets one in the form of the caller's API`, async () => {
    for (const [api, id] of [
      ['completions', /^call_/],
      ['messages', /^toolu_\w+$/],
      ['responses', /^call_/],
    ] as const) {
      const { events } = await read(open, eventsOf([piece]), Infinity, { ...asked, api });
      const call = events.find(({ type }) => type === 'call');
      assert.match(call?.type === 'call' ? call.id : '', id, api);
    }
  });
