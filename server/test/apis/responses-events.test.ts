import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import { readResponsesCall } from '../../src/core/apis/responses/read-call.ts';
import { responsesWriter } from '../../src/core/apis/responses/write-reply.ts';
import type { Block } from '../../src/core/chat/conversation.ts';
import { gatherReply, type ReplyEvent } from '../../src/core/chat/reply.ts';
import { piecesOf, streamedReply, wholeReply } from '../kit/chat-apis.ts';
import { isLong } from '../kit/long.ts';

type Json = Record<string, any>;

/** Replies of random pieces, read by OpenAI's own client and written back as input. */

const head = { id: 'chatcmpl-0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10', created: 1, model: 'a/b' };
const text = fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' });
const index = fc.integer({ min: 0, max: 2 });

const format = fc.constant('some-v1');

const detail = fc.oneof(
  fc.record({ type: fc.constant('reasoning.text'), text, index, format }),
  fc.record({ type: fc.constant('reasoning.summary'), summary: text, index, format }),
  fc.record({ type: fc.constant('reasoning.text'), signature: text, index, format }),
  fc.record({ type: fc.constant('reasoning.encrypted'), data: text, id: text, index, format }),
);

/** Calls 0 and 2 call functions, call 1 calls a custom tool. */
const call = fc.record({ index, id: fc.constantFrom('c0', 'c1', 'c1'), text }).map((each) => {
  const own = { index: each.index, id: each.id };
  return each.index === 1
    ? { ...own, type: 'custom', custom: { name: 'patch', input: each.text } }
    : { ...own, type: 'function', function: { name: `look${each.index}`, arguments: each.text } };
});

const delta = fc.oneof(
  { weight: 4, arbitrary: fc.record({ content: text }) },
  fc.record({ reasoning: text }),
  fc.record({ reasoning_content: text, content: text }),
  { weight: 2, arbitrary: fc.record({ reasoning_details: fc.array(detail, { maxLength: 2 }) }) },
  fc.record({ refusal: text }),
  { weight: 3, arbitrary: fc.record({ tool_calls: fc.array(call, { maxLength: 2 }) }) },
);
const reason = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter');
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost_usd_micro: '7' };

const body = { model: 'a/b', input: 'hello', metadata: { a: 'b' }, stream: true };

function eventsOf(chunks: Json[]): Json[] {
  return streamedReply(responsesWriter, chunks, usage, body).map(({ event, data }) => {
    const value = JSON.parse(data);
    assert.equal(event, value.type);
    return value;
  });
}

function scene(deltas: Json[], finish_reason: string) {
  const chunk = (delta: Json, more: Json = {}) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  const chunks = [...deltas.map((each) => chunk(each)), chunk({}, { finish_reason })];
  const pieces = piecesOf(chunks);
  return { chunks, pieces, end: pieces.at(-1) as Json, events: eventsOf(chunks) };
}

/** Everything that the model wrote, in a form that does not depend on the items. */
function said(output: Json[]): Json {
  const parts = output.flatMap(({ content = [] }) => content as Json[]);
  const joined = (type: string, field: string) =>
    parts
      .filter((part) => part.type === type)
      .map((part) => part[field])
      .join('');
  return {
    content: joined('output_text', 'text'),
    refusal: joined('refusal', 'refusal'),
    calls: output
      .filter(({ call_id: id }) => id !== undefined)
      .map(({ call_id, name, arguments: args, input }) => [call_id, name, args ?? input])
      .toSorted(),
  };
}

/** The same of the events, or of the blocks of a turn. */
function saidIn(pieces: readonly (ReplyEvent | Block)[]): Json {
  const joined = (type: string) =>
    pieces.map((each) => (each.type === type ? (each as { text: string }).text : '')).join('');
  const inputOf = (each: Json) =>
    each.input ??
    pieces.map((one) => (one.type === 'input' && one.call === each.call ? one.text : '')).join('');
  return {
    content: joined('text'),
    refusal: joined('refusal'),
    calls: pieces
      .filter(({ type }) => type === 'call')
      .map((each: Json) => [each.id, each.name, inputOf(each)])
      .toSorted(),
  };
}

/**
 * All that was thought. An item of reasoning may join texts that others came between, so of texts
 * only the letters are compared.
 */
function thoughtsIn(pieces: readonly (ReplyEvent | Block)[]): Json {
  const thoughts = pieces.filter((each) => each.type === 'thought');
  const of = (wanted: string) => thoughts.filter(({ form }) => form === wanted);
  const letters = (wanted: string) =>
    of(wanted)
      .flatMap((each) => [...each.text])
      .toSorted();
  return {
    hidden: of('hidden').map(({ text: data, id }) => ({ data, id })),
    signatures: thoughts.flatMap(({ signature }) => signature ?? []),
    text: letters('text'),
    summary: letters('summary'),
  };
}

const runs = { numRuns: isLong ? 3_000 : 150, seed: 71 };
const anyReply = fc.tuple(fc.array(delta, { maxLength: 12 }), reason);

describe('the events of any reply', () => {
  test('are numbered, and one item ends before the next begins', () => {
    fc.assert(
      fc.property(anyReply, ([deltas, finish]) => {
        const { events, end } = scene(deltas, finish);
        const numbers = events.map((each) => each.sequence_number);
        assert.deepEqual(numbers, [...numbers.keys()]);
        const types = events.map((each) => each.type);
        assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress']);
        const cut = end.reason === 'length' || end.reason === 'filter';
        assert.equal(types.at(-1), `response.${cut ? 'incomplete' : 'completed'}`);
        let open: number | null = null;
        let begun = 0;
        for (const { type, output_index: at } of events.slice(2, -1)) {
          if (type === 'response.output_item.added') {
            assert.equal(open, null);
            assert.equal(at, begun++);
            open = at;
          } else assert.equal(at, open);
          if (type === 'response.output_item.done') open = null;
        }
        assert.equal(open, null);
      }),
      runs,
    );
  });

  test("add up, in OpenAI's own client, to the last response and to the whole reply", () => {
    fc.assert(
      fc.property(anyReply, ([deltas, finish]) => {
        const { chunks, pieces, events } = scene(deltas, finish);
        const last = events.at(-1)!.response;
        let snapshot: any;
        for (const event of events.slice(0, -1))
          snapshot = accumulateResponse(event as never, snapshot);
        assert.deepEqual(snapshot.output, last.output);
        assert.deepEqual(said(last.output), saidIn(pieces));
        const whole = wholeReply(responsesWriter, chunks, usage, body);
        assert.deepEqual(whole.output, last.output);
        assert.deepEqual([whole.status, whole.usage], [last.status, last.usage]);
        assert.equal(last.usage.cost_usd_micro, '7');
      }),
      runs,
    );
  });

  test('are accepted as input, and reach the model as it wrote them', () => {
    fc.assert(
      fc.property(anyReply, ([deltas, finish]) => {
        const { pieces, events } = scene(deltas, finish);
        const { output } = events.at(-1)!.response;
        const user = { role: 'user', content: 'x' };
        const input = [user, ...output, user];
        const { conversation } = readResponsesCall({ model: 'a/b', input });
        const blocks = conversation.turns.flatMap((turn) =>
          turn.by === 'assistant' ? turn.blocks : [],
        );
        const wrote = saidIn(pieces);
        assert.deepEqual(saidIn(blocks), wrote);
        const isSilent = wrote.content + wrote.refusal === '' && wrote.calls.length === 0;
        assert.equal(conversation.turns.length, isSilent ? 2 : 3);
        if (isSilent) return;
        const reply = gatherReply();
        for (const piece of pieces) reply.add(piece);
        assert.deepEqual(thoughtsIn(blocks), thoughtsIn(reply.events()));
      }),
      runs,
    );
  });
});

describe('one reply', () => {
  test('parallel calls whose pieces are mixed come one after the other', () => {
    const piece = (index: number, args: string, more: Json = {}) => ({
      tool_calls: [{ index, function: { arguments: args }, ...more }],
    });
    const { events } = scene(
      [
        piece(0, '', { id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        piece(1, '', { id: 'b', function: { name: 'g', arguments: '{' } }),
        piece(0, ':1}'),
        piece(1, '}'),
      ],
      'tool_calls',
    );
    const done = events.filter(({ type }) => type === 'response.function_call_arguments.done');
    assert.deepEqual(
      done.map(({ arguments: args, output_index: at }) => [at, args]),
      [
        [0, '{"x":1}'],
        [1, '{}'],
      ],
    );
  });

  test('takes time in proportion to the number of its parts', () => {
    const began = process.cpuUsage();
    const { request_id, created } = { request_id: 'r', created: 1 };
    const answering = { request_id, created, now: () => 2, model: 'a/b', body, stream: false };
    const writer = responsesWriter(answering);
    const thought = {
      type: 'thought',
      text: 'a',
      signature: null,
      id: null,
      format: null,
    } as const;
    for (let i = 0; i < 8_000; i++) {
      writer.add({ ...thought, form: 'text', index: 0 });
      writer.add({ ...thought, form: 'summary', index: 1 });
    }
    const { output } = writer.whole(usage) as Json;
    assert.ok(JSON.stringify(output).length > 16_000);
    // Processor time, because other processes may use the cores meanwhile.
    assert.ok(process.cpuUsage(began).user < 2_000_000);
  });

  test('calls without an id, or with a used one, get a new id', () => {
    const calls = ['c', 'c', undefined].map((id, index) => ({
      index,
      id,
      function: { name: 'f', arguments: `{"p":${index}}` },
    }));
    const { events } = scene([{ tool_calls: calls }], 'tool_calls');
    const ids = events.at(-1)!.response.output.map((each: Json) => each.call_id);
    assert.equal(new Set(ids).size, 3);
    assert.ok(ids.every((id: unknown) => typeof id === 'string' && id !== ''));
  });

  test('a reply without a finish reason is incomplete; one that broke off has failed', () => {
    const answering = { request_id: 'r', created: 1, now: () => 2, model: 'a/b', body };
    const piece: ReplyEvent = { type: 'text', text: 'x', logprobs: null };
    const [whole, streamed] = [false, true].map((stream) =>
      responsesWriter({ ...answering, stream }),
    );
    whole!.add(piece);
    assert.equal((whole!.whole(usage) as Json).status, 'incomplete');
    streamed!.add(piece);
    const error = { code: 'upstream_error', message: 'm', type: 't', param: null, request_id: 'r' };
    const last = JSON.parse(streamed!.fail(error, usage).at(-1)!.data);
    assert.equal(last.type, 'response.failed');
    assert.deepEqual([last.response.status, last.response.error.code], ['failed', error.code]);
    assert.equal(last.response.usage.cost_usd_micro, '7');
  });

  test('log probabilities come with their text', () => {
    const logprob = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
    const choice = { index: 0, delta: { content: 'a' }, logprobs: { content: [logprob] } };
    const chunks = [{ ...head, choices: [choice] }];
    const { output } = eventsOf(chunks).at(-1)!.response;
    assert.deepEqual(output[0].content[0].logprobs, [logprob]);
  });
});
