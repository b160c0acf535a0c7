import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import { parseChat } from '../../src/core/chat/chat.ts';
import { completionFromChunks, isUnfinished } from '../../src/core/chat/completion.ts';
import { openOutput } from '../../src/core/dialect/responses-events.ts';
import { responses } from '../../src/core/dialect/responses.ts';
import { isLong } from '../kit/long.ts';

type Json = Record<string, any>;

/** Replies of random pieces, read by OpenAI's own client and written back as input. */

const head = { id: 'chatcmpl-0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10', created: 1, model: 'a/b' };
const text = fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' });
const index = fc.integer({ min: 0, max: 2 });

const detail = fc.oneof(
  fc.record({ type: fc.constant('reasoning.text'), text, index }),
  fc.record({ type: fc.constant('reasoning.summary'), summary: text, index }),
  fc.record({ type: fc.constant('reasoning.text'), signature: text, index }),
  fc.record({ type: fc.constant('reasoning.encrypted'), data: text, id: text, index }),
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

function eventsOf(chunks: Json[], completion: Json): Json[] {
  const told = responses.events({ body, chat: parseChat(responses.chatBody(body)), head });
  const sent = [
    ...told.begin(),
    ...chunks.flatMap((each) => told.add(each)),
    ...told.end(completion, 9),
  ];
  return sent.map(({ event, data }) => {
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
  const completion = { ...completionFromChunks(chunks, head), usage };
  return { chunks, completion, events: eventsOf(chunks, completion) };
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
      .map(({ name, arguments: args, input }) => [name, args ?? input])
      .toSorted(),
  };
}

function saidIn({ content, refusal, tool_calls: calls = [] }: Json): Json {
  const own = (each: Json) => each.function ?? each.custom;
  return {
    content: content ?? '',
    refusal: refusal ?? '',
    calls: calls
      .map((each: Json) => [own(each).name, own(each).arguments ?? own(each).input])
      .toSorted(),
  };
}

const runs = { numRuns: isLong ? 3_000 : 150, seed: 71 };
const anyReply = fc.tuple(fc.array(delta, { maxLength: 12 }), reason);

describe('the events of any reply', () => {
  test('are numbered, and one item ends before the next begins', () => {
    fc.assert(
      fc.property(anyReply, ([deltas, finish]) => {
        const { events } = scene(deltas, finish);
        const numbers = events.map((each) => each.sequence_number);
        assert.deepEqual(numbers, [...numbers.keys()]);
        const types = events.map((each) => each.type);
        assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress']);
        const cut = finish === 'length' || finish === 'content_filter';
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
        const { completion, events } = scene(deltas, finish);
        const last = events.at(-1)!.response;
        let snapshot: any;
        for (const event of events.slice(0, -1))
          snapshot = accumulateResponse(event as never, snapshot);
        assert.deepEqual(snapshot.output, last.output);
        const message = (completion as Json).choices[0].message;
        assert.deepEqual(said(last.output), saidIn(message));
        const whole = responses.reply(completion, body, 9) as Json;
        assert.deepEqual(said(whole.output), saidIn(message));
        assert.deepEqual([whole.status, whole.usage], [last.status, last.usage]);
        assert.equal(last.usage.cost_usd_micro, '7');
      }),
      runs,
    );
  });

  test('are accepted as input, and reach the model as it wrote them', () => {
    fc.assert(
      fc.property(anyReply, ([deltas, finish]) => {
        const { completion, events } = scene(deltas, finish);
        const { output } = events.at(-1)!.response;
        const user = { role: 'user', content: 'x' };
        const next = responses.chatBody({ model: 'a/b', input: [user, ...output, user] });
        const { messages } = parseChat(next);
        const message = (completion as Json).choices[0].message;
        const wrote = saidIn(message);
        const isSilent = wrote.content + wrote.refusal === '' && wrote.calls.length === 0;
        assert.equal(messages.length, isSilent ? 2 : 3);
        if (isSilent) return;
        const back = messages[1]!;
        assert.deepEqual(saidIn(back).calls, wrote.calls);
        assert.deepEqual(back.reasoning_details ?? [], message.reasoning_details ?? []);
        const texts = output.filter(({ type }: Json) => type === 'message').length;
        if (texts === 1) assert.deepEqual(saidIn(back), wrote);
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
    const output = openOutput('r', []);
    const details = [
      { type: 'reasoning.text', text: 'a', index: 0 },
      { type: 'reasoning.summary', summary: 'b', index: 1 },
    ];
    const chunk = { choices: [{ index: 0, delta: { reasoning_details: details } }] };
    for (let i = 0; i < 8_000; i++) output.add(chunk);
    output.end(true);
    const [item] = output.shown() as [{ content: Json[] }];
    assert.equal(item.content.length, 8_000);
    // Processor time, because other processes may use the cores meanwhile.
    assert.ok(process.cpuUsage(began).user < 2_000_000);
  });

  test('calls without an id, or with a used one, get a new id', () => {
    const calls = ['c', 'c', undefined].map((id, index) => ({
      index,
      id,
      function: { name: 'f', arguments: '{}' },
    }));
    const { events } = scene([{ tool_calls: calls }], 'tool_calls');
    const ids = events.at(-1)!.response.output.map((each: Json) => each.call_id);
    assert.equal(new Set(ids).size, 3);
    assert.ok(ids.every((id: unknown) => typeof id === 'string' && id !== ''));
  });

  test('a reply without a finish reason is incomplete; one that ended in an error has failed', () => {
    const completion = { ...head, choices: [{ message: { content: 'x' } }], usage };
    assert.ok(isUnfinished(completion));
    assert.equal(responses.reply(completion, body, 9).status, 'incomplete');
    const failed = { ...head, choices: [{ message: {}, finish_reason: 'error' }], usage };
    const { status, error } = responses.reply(failed, body, 9) as Json;
    assert.deepEqual([status, error.code], ['failed', 'server_error']);
  });

  test('log probabilities come with their text', () => {
    const logprob = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
    const choice = { index: 0, delta: { content: 'a' }, logprobs: { content: [logprob] } };
    const chunks = [{ ...head, choices: [choice] }];
    const completion = { ...completionFromChunks(chunks, head), usage };
    const { output } = eventsOf(chunks, completion).at(-1)!.response;
    assert.deepEqual(output[0].content[0].logprobs, [logprob]);
  });
});
