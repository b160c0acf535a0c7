import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventsOf, marked, read, shortOf } from '../../../../test/kit/read-replies.ts';
import type { ReplyBroken } from '../read-reply.ts';
import { responsesReader } from './read-reply.ts';

type Json = Record<string, any>;

const message = (said: string, more: Json = {}): Json => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: said }],
  ...more,
});
const look = (call_id: unknown, input: unknown, more: Json = {}): Json => ({
  type: 'function_call',
  call_id,
  name: 'look',
  arguments: input,
  ...more,
});
const added = (output_index: unknown, item: Json): Json => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: unknown, item: Json): Json => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const event = (type: string, more: Json): Json => ({ type: `response.${type}`, ...more });
const text = (delta: string, more: Json = {}): Json =>
  event('output_text.delta', { output_index: 0, content_index: 0, delta, ...more });
const json = (delta: unknown, more: Json = {}): Json =>
  event('function_call_arguments.delta', { output_index: 0, delta, ...more });
const completed = (...output: Json[]): Json =>
  event('completed', { response: { status: 'completed', output } });

const called = (call: number, id: string, input = `{"p":${call + 1}}`): string[] => [
  `call ${id} look`,
  `input ${call} ${input}`,
];
const two = [...called(0, 'a'), ...called(1, 'b'), 'tools'];
const own = (call: number) => `call_0190a${call}`;
/** Two calls, each in the events that `of` makes of its number, its id and its JSON. */
const both = (of: (call: number, id: string, json: string) => Json[]): Json[] => [
  ...of(0, 'a', '{"p":1}'),
  ...of(1, 'b', '{"p":2}'),
];

type Row = [what: string, events: Json[], reply: string[]];

const tables: Record<string, Row[]> = {
  'the last event': [
    [
      'has a call that no event had',
      [text('Looking.'), completed(message('Looking.'), look('a', '{"p":1}'))],
      ['text Looking.', ...called(0, 'a'), 'tools'],
    ],
    ['has all of the reply', [completed(message('Hi'))], ['text Hi', 'stop']],
    [
      'has the rest of a text',
      [text('H', { item_id: 'm1' }), completed(message('Hi', { id: 'm1' }))],
      ['text Hi', 'stop'],
    ],
    [
      'has the rest of an input',
      [added(0, look('a', '')), json('{"p"'), completed(look('a', '{"p":1}'))],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has an item before the known one',
      [
        text('Two', { item_id: 'm2' }),
        completed(message('One', { id: 'm1' }), message('Two', { id: 'm2' })),
      ],
      ['text TwoOne', 'stop'],
    ],
    [
      'has thoughts that no event had',
      [
        text('Hi'),
        completed(
          {
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: 'Hm' }],
            encrypted_content: 'QUJD',
          },
          message('Hi'),
        ),
      ],
      ['text Hi', 'summary thought Hm', 'hidden thought QUJD', 'stop'],
    ],
    [
      'repeats everything, under other ids',
      [
        added(0, { type: 'reasoning', id: 'r1' }),
        event('reasoning_summary_text.delta', {
          output_index: 0,
          item_id: 'r2',
          summary_index: 0,
          delta: 'Hm',
        }),
        done(0, {
          type: 'reasoning',
          id: 'r3',
          summary: [{ text: 'Hm' }],
          encrypted_content: 'QUJD',
        }),
        text('Hi', { output_index: 1, item_id: 'm1' }),
        done(1, message('Hi', { id: 'm2' })),
        added(2, look('a', '', { id: 'f1' })),
        json('{"p":1}', { output_index: 2, item_id: 'f2' }),
        done(2, look('a', '{"p":1}', { id: 'f3' })),
        completed(
          { type: 'reasoning', id: 'r4', summary: [{ text: 'Hm' }], encrypted_content: 'QUJD' },
          message('Hi', { id: 'm3' }),
          look('a', '{"p":1}', { id: 'f4' }),
        ),
      ],
      ['summary thought Hm', 'hidden thought QUJD', 'text Hi', ...called(0, 'a'), 'tools'],
    ],
    [
      'differs from the pieces before it',
      [text('Hi '), completed(message('Hi'))],
      ['text Hi ', 'stop'],
    ],
    ['has no output', [text('Hi'), event('completed', { response: {} })], ['text Hi', 'stop']],
  ],
  'a tool call': [
    [
      'comes in pieces',
      both((output_index, id, input) => [
        added(output_index, look(id, '')),
        json(input, { output_index }),
        done(output_index, look(id, input)),
      ]).concat(completed()),
      two,
    ],
    ['comes whole', both((i, id, input) => [done(i, look(id, input))]).concat(completed()), two],
    [
      'has the index of another call',
      both((_, id, input) => [
        added(0, look(id, '', { id: `f${id}` })),
        json(input, { item_id: `f${id}` }),
        done(0, look(id, input, { id: `f${id}` })),
      ]).concat(completed()),
      two,
    ],
    [
      'has no index',
      both((_, id, input) => [
        added(undefined, look(id, '')),
        json(input, { output_index: undefined }),
        done(undefined, look(id, input)),
      ]).concat(completed()),
      two,
    ],
    [
      'has no index, but an id, and comes mixed with another',
      [
        added(undefined, look('a', '', { id: 'f1' })),
        added(undefined, look('b', '', { id: 'f2' })),
        json('{"p":1}', { output_index: undefined, item_id: 'f1' }),
        json('{"p":2}', { output_index: undefined, item_id: 'f2' }),
        completed(),
      ],
      [...called(0, 'a'), ...called(1, 'b', '{"p":2}'), 'tools'],
    ],
    [
      'has the id of the item of another call',
      both((i, id, input) => [done(i, look(id, input, { id: 'same' }))]).concat(completed()),
      two,
    ],
    [
      'has the id of another call',
      [done(0, look('a', '{"p":1}')), done(1, look('a', '{"p":2}')), completed()],
      [...called(0, 'a'), ...called(1, own(1)), 'tools'],
    ],
    [
      'has neither index nor ids, like the call before it',
      [1, 2].map((p) => done(undefined, look('', `{"p":${p}}`))).concat(completed()),
      [...called(0, own(0)), ...called(1, own(1)), 'tools'],
    ],
    [
      'has only the id of its item',
      [done(0, look(undefined, '{"p":1}', { id: 'f1' })), completed()],
      [...called(0, 'f1'), 'tools'],
    ],
    ['has no id', [done(0, look('', '{"p":1}')), completed()], [...called(0, own(0)), 'tools']],
    [
      'has no beginning',
      [json('{"p":1}'), done(0, look('a', '{"p":1}')), completed()],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has an input that is an object',
      [done(0, look('a', { p: 1 })), completed()],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has pieces that are objects',
      [added(0, look('a', '')), json({ text: 'x' }), completed()],
      [...called(0, 'a', '{"text":"x"}'), 'tools'],
    ],
    [
      'has no input',
      [added(0, look('a', '')), done(0, look('a', '')), completed(look('a', null))],
      [...called(0, 'a', '{}'), 'tools'],
    ],
    [
      'has its input only at its end',
      [
        added(0, look('a', '')),
        event('function_call_arguments.done', { output_index: 0, arguments: '{"p":1}' }),
        completed(),
      ],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is of a custom tool',
      [
        added(0, { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: '' }),
        event('custom_tool_call_input.delta', { output_index: 0, delta: 'sel' }),
        event('custom_tool_call_input.done', { output_index: 0, input: 'select' }),
        completed(),
      ],
      ['custom call a sql', 'input 0 select', 'tools'],
    ],
    [
      'is of a custom tool, and has an input that is an object',
      [
        done(0, { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: { p: 1 } }),
        completed(),
      ],
      ['custom call a sql', 'input 0 {"p":1}', 'tools'],
    ],
    [
      'is of a custom tool, where the server knows none',
      [done(0, { ...look('a', '{"input":"*** a"}'), name: 'patch' }), completed()],
      ['custom call a patch', 'input 0 *** a', 'tools'],
    ],
    [
      'has the short form of its name',
      [done(0, { ...look('a', '{}'), name: 'short_x' }), completed()],
      ['call a long_x', 'input 0 {}', 'tools'],
    ],
    [
      'is of a tool of the service itself',
      [done(0, { type: 'web_search_call', id: 'w' }), text('Hi', { output_index: 1 }), completed()],
      ['text Hi', 'stop'],
    ],
  ],
  'a text': [
    [
      'comes in pieces',
      [
        added(0, message('', { content: [] })),
        text('H'),
        text('i'),
        event('output_text.done', { output_index: 0, content_index: 0, text: 'Hi' }),
        completed(),
      ],
      ['text Hi', 'stop'],
    ],
    [
      'comes at its end',
      [event('output_text.done', { output_index: 0, content_index: 0, text: 'Hi' }), completed()],
      ['text Hi', 'stop'],
    ],
    [
      'has parts',
      [
        text('A'),
        text('B', { content_index: 1 }),
        done(0, { type: 'message', content: [{ text: 'A' }, { text: 'B' }, { text: 'C' }] }),
        completed(),
      ],
      ['text ABC', 'stop'],
    ],
    [
      'has parts without indexes',
      [
        text('A', { content_index: undefined }),
        text('B', { content_index: undefined }),
        done(0, { type: 'message', content: [{ text: 'A' }, { text: 'B' }] }),
        completed(),
      ],
      ['text AB', 'stop'],
    ],
    [
      'is two items under one id',
      [done(0, message('A', { id: 'm' })), done(1, message('B', { id: 'm' })), completed()],
      ['text AB', 'stop'],
    ],
    [
      'is a refusal',
      [
        event('refusal.delta', { output_index: 0, content_index: 0, delta: 'No' }),
        done(0, { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }),
        completed(),
      ],
      ['refusal No.', 'stop'],
    ],
    [
      'is plain text as its content',
      [done(0, { type: 'message', content: 'Hi' }), completed()],
      ['text Hi', 'stop'],
    ],
    [
      'has strange events around it',
      [
        event('created', { response: {} }),
        { type: 'keepalive' },
        text('Hi'),
        event('constructor.delta', { delta: 'x' }),
        {},
        completed(),
      ],
      ['text Hi', 'stop'],
    ],
  ],
  'the end': [
    ['is missing', [text('Hi')], ['text Hi', 'broken']],
    [
      'is incomplete',
      [
        text('Hi'),
        event('incomplete', { response: { incomplete_details: { reason: 'max_output_tokens' } } }),
      ],
      ['text Hi', 'length'],
    ],
    [
      'is incomplete by a filter',
      [
        text('Hi'),
        event('incomplete', { response: { incomplete_details: { reason: 'content_filter' } } }),
      ],
      ['text Hi', 'filter'],
    ],
    [
      'is incomplete for another reason',
      [text('Hi'), event('incomplete', { response: {} })],
      ['text Hi', 'length'],
    ],
    [
      'is incomplete as the status says',
      [
        text('Hi'),
        event('completed', {
          response: { status: 'incomplete', incomplete_details: { reason: 'max_tokens' } },
        }),
      ],
      ['text Hi', 'length'],
    ],
    [
      'is done',
      [text('Hi'), event('done', { response: { status: 'completed' } })],
      ['text Hi', 'stop'],
    ],
    ['is a failure', [text('Hi'), event('failed', { response: {} })], ['text Hi', 'broken']],
    ['is cancelled', [text('Hi'), event('cancelled', { response: {} })], ['text Hi', 'broken']],
    ['is followed by more', [text('Hi'), completed(), text('x')], ['text Hi', 'stop']],
  ],
  'a whole response': [
    [
      'has items of all kinds',
      [
        {
          object: 'response',
          status: 'completed',
          error: null,
          output: [
            { type: 'reasoning', content: [{ text: 'Hm' }] },
            message('Hi'),
            look('a', '{"p":1}'),
          ],
        },
      ],
      ['thought Hm', 'text Hi', ...called(0, 'a'), 'tools'],
    ],
    [
      'has calls that differ in nothing',
      [{ output: [look('a', '{"p":1}'), look('a', '{"p":1}')] }],
      [...called(0, 'a'), ...called(1, own(1), '{"p":1}'), 'tools'],
    ],
    ['is incomplete', [{ status: 'incomplete', output: [message('Hi')] }], ['text Hi', 'length']],
    ['failed', [{ status: 'failed', output: [message('Hi')] }], ['text Hi', 'broken']],
    ['is still in progress', [{ status: 'in_progress', output: [] }], ['broken']],
    ['is empty', [{ status: 'completed', output: [] }], ['stop']],
    ['has no output', [{ status: 'completed' }], ['broken']],
  ],
};

for (const [what, rows] of Object.entries(tables))
  describe(what, () => {
    for (const [how, events, reply] of rows)
      test(how, async () => {
        for (const end of ['', marked])
          assert.deepEqual(shortOf(await read(responsesReader, eventsOf(events, end))), reply);
      });
  });

describe('an event', () => {
  const events = async (...pieces: Json[]) =>
    (await read(responsesReader, eventsOf(pieces))).events.slice(0, -1);

  test('of text has its phase and its log probabilities', async () => {
    const logprobs = [{ token: 'Hi' }];
    const said = { type: 'text', text: 'Hi', logprobs, phase: 'commentary' };
    const begun = added(0, { type: 'message', phase: 'commentary', content: [] });
    const whole = { type: 'message', phase: 'commentary', content: [{ text: 'Hi', logprobs }] };
    for (const pieces of [
      [begun, text('Hi', { logprobs }), done(0, whole), completed(whole)],
      [begun, completed(whole)],
      [done(0, whole), completed()],
    ])
      assert.deepEqual(await events(...pieces), [said]);
    assert.deepEqual(await events(text('Hi'), completed()), [
      { type: 'text', text: 'Hi', logprobs: null },
    ]);
  });

  test('of a thought has the id of its item, and each part is a thought', async () => {
    const item = { type: 'reasoning', id: 'rs_1' };
    const summary = (summary_index: number, delta: string) =>
      event('reasoning_summary_text.delta', {
        output_index: 0,
        item_id: 'rs_1',
        summary_index,
        delta,
      });
    const thought = {
      type: 'thought',
      form: 'summary',
      signature: null,
      id: 'rs_1',
      format: 'openai-responses-v1',
    };
    assert.deepEqual(
      await events(
        added(0, item),
        summary(0, 'a'),
        summary(0, 'b'),
        summary(1, 'c'),
        done(0, { ...item, encrypted_content: 'd' }),
        completed(),
      ),
      [
        { ...thought, text: 'a', index: 0 },
        { ...thought, text: 'b', index: 0 },
        { ...thought, text: 'c', index: 1 },
        { ...thought, form: 'hidden', text: 'd', index: 2 },
      ],
    );
  });
});

describe('usage', () => {
  const counts = { input_tokens: 1_000, output_tokens: 50 };
  const output_tokens_details = { reasoning_tokens: 500 };
  const rows: [what: string, usage: Json, told: Json][] = [
    [
      'includes the cache',
      { ...counts, input_tokens_details: { cached_tokens: 900, cache_write_tokens: 50 } },
      {
        prompt_tokens: 1_000,
        completion_tokens: 50,
        total_tokens: 1_050,
        prompt_tokens_details: { cached_tokens: 900, cache_write_tokens: 50 },
      },
    ],
    [
      'leaves out the reasoning',
      { ...counts, total_tokens: 1_550, output_tokens_details },
      {
        prompt_tokens: 1_000,
        completion_tokens: 550,
        total_tokens: 1_550,
        completion_tokens_details: output_tokens_details,
      },
    ],
    [
      'has its cost',
      { ...counts, cost: 0.1, own: 1 },
      { prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050, cost: 0.1 },
    ],
    [
      'is in the names of chat completions',
      { prompt_tokens: 1_000, completion_tokens: 50 },
      { prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 },
    ],
  ];
  for (const [what, usage, told] of rows)
    test(what, async () => {
      for (const type of ['completed', 'incomplete', 'failed']) {
        const { events } = await read(
          responsesReader,
          eventsOf([event(type, { response: { usage } })]),
        );
        assert.deepEqual(events[0], { type: 'usage', usage: told });
      }
    });
});

describe('an error', () => {
  const error = { code: 'server_error', message: 'Gone.' };
  const rows: [what: string, event: Json, error: Json][] = [
    ['in its event', { type: 'error', ...error }, { type: 'error', ...error }],
    ['in an object of its event', { type: 'error', error }, error],
    ['in the failed response', event('failed', { response: { error } }), error],
    ['in a whole response', { status: 'failed', output: [], error }, error],
    ['in a response that should be complete', event('completed', { response: { error } }), error],
    ['without words', event('failed', { response: { error: null } }), { status: 'failed' }],
  ];
  for (const [what, event, expected] of rows)
    test(what, async () => {
      const reading = await read(responsesReader, eventsOf([text('Hi'), event]));
      assert.deepEqual(shortOf(reading), ['text Hi', 'broken']);
      assert.deepEqual((reading.error as ReplyBroken).error, expected);
    });
});
