import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventsOf, marked, read, shortOf } from '../../../../test/kit/read-replies.ts';
import { ReplyBroken } from '../read-reply.ts';
import { messagesReader } from './read-reply.ts';

type Json = Record<string, any>;

const begin = (index: unknown, content_block: Json): Json => ({
  type: 'content_block_start',
  index,
  content_block,
});
const piece = (index: unknown, delta: unknown): Json => ({
  type: 'content_block_delta',
  index,
  delta,
});
const end = (index: unknown): Json => ({ type: 'content_block_stop', index });
const text = (said: string, index = 0): Json => piece(index, { type: 'text_delta', text: said });
const json = (partial_json: unknown, index: unknown = 0): Json =>
  piece(index, { type: 'input_json_delta', partial_json });
const look = (id: unknown, input: unknown = {}): Json => ({
  type: 'tool_use',
  id,
  name: 'look',
  input,
});
const stopped = (stop_reason: unknown, more: Json = {}): Json => ({
  type: 'message_delta',
  delta: { stop_reason, ...more },
});
const over: Json = { type: 'message_stop' };
const hi = [begin(0, { type: 'text', text: '' }), text('Hi'), end(0)];

const called = (call: number, id: string, input = `{"p":${call + 1}}`): string[] => [
  `call ${id} look`,
  `input ${call} ${input}`,
];
const own = (call: number) => `call_0190a${call}`;

type Row = [what: string, events: Json[], reply: string[]];

const tables: Record<string, Row[]> = {
  'a tool call': [
    [
      'comes in pieces',
      [begin(0, look('a')), json('{"p"'), json(':1}'), end(0), stopped('tool_use'), over],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'comes whole',
      [begin(0, look('a', { p: 1 })), end(0), stopped('tool_use'), over],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has an input that is JSON text',
      [begin(0, look('a', '{"p":1}')), end(0), over],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has pieces that are objects',
      [begin(0, look('a')), json({ p: 1 }), end(0), over],
      [...called(0, 'a'), 'tools'],
    ],
    ['has no input', [begin(0, look('a')), end(0), over], [...called(0, 'a', '{}'), 'tools']],
    [
      'has no input and no end',
      [begin(0, look('a', null)), json(''), stopped('tool_use'), over],
      [...called(0, 'a', '{}'), 'tools'],
    ],
    [
      'has no input, no end and no reason',
      [begin(0, look('a', null)), json(''), over],
      ['call a look', 'broken'],
    ],
    [
      'has its input twice',
      [begin(0, look('a', { p: 1 })), json('{"p":1}'), end(0), over],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has no id',
      [begin(0, look('')), json('{"p":1}'), end(0), over],
      [...called(0, own(0)), 'tools'],
    ],
    [
      'has the id of another call',
      [begin(0, look('a')), json('{"p":1}'), end(0), begin(1, look('a')), json('{"p":2}', 1), over],
      [...called(0, 'a'), ...called(1, own(1)), 'tools'],
    ],
    [
      'has the index of another call',
      [
        begin(0, look('a')),
        json('{"p":1}'),
        end(0),
        begin(0, look('b')),
        json('{"p":2}'),
        end(0),
        over,
      ],
      [...called(0, 'a'), ...called(1, 'b'), 'tools'],
    ],
    [
      'has no index',
      [look('a'), look('b')]
        .flatMap((block, call) => [
          begin(undefined, block),
          json(`{"p":${call + 1}}`, undefined),
          end(undefined),
        ])
        .concat(over),
      [...called(0, 'a'), ...called(1, 'b'), 'tools'],
    ],
    [
      'comes mixed with another',
      [begin(0, look('a')), begin(1, look('b')), json('{"p":2}', 1), json('{"p":1}', 0), over],
      ['call a look', 'call b look', 'input 1 {"p":2}', 'input 0 {"p":1}', 'tools'],
    ],
    [
      'is of a custom tool',
      [
        begin(0, { ...look('a'), name: 'patch' }),
        json('{"inp'),
        json('ut":"*** a"}'),
        end(0),
        over,
      ],
      ['custom call a patch', 'input 0 *** a', 'tools'],
    ],
    [
      'has the short form of its name',
      [begin(0, { ...look('a'), name: 'short_x' }), end(0), over],
      ['call a long_x', 'input 0 {}', 'tools'],
    ],
    [
      'is of a tool of the service itself',
      [
        begin(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
        json('{"q":1}'),
        end(0),
        begin(1, { type: 'web_search_tool_result', content: [{ type: 'x', text: 'y' }] }),
        end(1),
        text('Hi', 2),
        stopped('end_turn'),
        over,
      ],
      ['text Hi', 'stop'],
    ],
  ],
  'a text': [
    ['comes in pieces', [...hi, stopped('end_turn'), over], ['text Hi', 'stop']],
    [
      'begins in its block',
      [begin(0, { type: 'text', text: 'H' }), text('i'), over],
      ['text Hi', 'stop'],
    ],
    [
      'has no beginning of its block',
      [text('H'), text('i'), stopped('end_turn')],
      ['text Hi', 'stop'],
    ],
    [
      'stands behind a thought in the same block',
      [
        begin(0, { type: 'thinking', thinking: '' }),
        piece(0, { thinking: 'Hm' }),
        piece(0, { text: 'Hi' }),
        over,
      ],
      ['thought Hm', 'text Hi', 'stop'],
    ],
    [
      'has pings and strange events around it',
      [{ type: 'ping' }, ...hi, { type: 'unheard.of', delta: { text: 'x' } }, {}, over],
      ['text Hi', 'stop'],
    ],
  ],
  'a thought': [
    [
      'has a signature, and the next one its own',
      [
        begin(0, { type: 'thinking', thinking: '', signature: '' }),
        piece(0, { type: 'thinking_delta', thinking: 'Hm' }),
        piece(0, { type: 'signature_delta', signature: 'S' }),
        end(0),
        begin(1, { type: 'redacted_thinking', data: 'QUJD' }),
        end(1),
        ...hi,
        over,
      ],
      ['thought Hm', 'hidden thought QUJD', 'text Hi', 'stop'],
    ],
  ],
  'the end': [
    ['is missing', hi, ['text Hi', 'broken']],
    ['is empty', [...hi, stopped('')], ['text Hi', 'broken']],
    ['is null', [...hi, stopped(null)], ['text Hi', 'broken']],
    ['is only message_stop', [...hi, over], ['text Hi', 'stop']],
    ['is only the reason', [...hi, stopped('max_tokens')], ['text Hi', 'length']],
    [
      'stands beside the delta',
      [...hi, { type: 'message_delta', stop_reason: 'max_tokens' }],
      ['text Hi', 'length'],
    ],
    ['is max_tokens', [...hi, stopped('max_tokens'), over], ['text Hi', 'length']],
    [
      'is a full context',
      [...hi, stopped('model_context_window_exceeded'), over],
      ['text Hi', 'length'],
    ],
    ['is a refusal', [...hi, stopped('refusal'), over], ['text Hi', 'filter']],
    ['is in the words of OpenAI', [...hi, stopped('length'), over], ['text Hi', 'length']],
    [
      'is end_turn behind a tool call',
      [begin(0, look('a')), stopped('end_turn'), over],
      [...called(0, 'a', '{}'), 'tools'],
    ],
    ['is tool_use without any', [...hi, stopped('tool_use'), over], ['text Hi', 'stop']],
    ['is an error', [...hi, stopped('error'), over], ['text Hi', 'broken']],
    [
      'names the stop text',
      [...hi, stopped('stop_sequence', { stop_sequence: 'END' }), over],
      ['text Hi', 'stop at END'],
    ],
    [
      'names another stop text',
      [...hi, stopped('stop_sequence', { stop_sequence: 'x' }), over],
      ['text Hi', 'stop'],
    ],
    ['is followed by more', [...hi, stopped('end_turn'), over, text('x')], ['text Hi', 'stop']],
  ],
  'a whole message': [
    [
      'has blocks of all kinds',
      [
        {
          type: 'message',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 'S' },
            { type: 'redacted_thinking', data: 'QUJD' },
            { type: 'text', text: 'Hi' },
            look('a', { p: 1 }),
            look('a', {}),
          ],
          stop_reason: 'tool_use',
        },
      ],
      [
        'thought Hm',
        'hidden thought QUJD',
        'text Hi',
        ...called(0, 'a'),
        ...called(1, own(1), '{}'),
        'tools',
      ],
    ],
    [
      'has no reason',
      [{ type: 'message', content: [{ type: 'text', text: 'Hi' }] }],
      ['text Hi', 'stop'],
    ],
    [
      'has a text as its content',
      [{ type: 'message', content: 'Hi', stop_reason: 'max_tokens' }],
      ['text Hi', 'length'],
    ],
    ['is empty', [{ type: 'message', content: [], stop_reason: 'end_turn' }], ['stop']],
    ['has no content', [{ type: 'message' }], ['broken']],
  ],
};

for (const [what, rows] of Object.entries(tables))
  describe(what, () => {
    for (const [how, events, reply] of rows)
      test(how, async () => {
        for (const end of ['', marked])
          assert.deepEqual(shortOf(await read(messagesReader, eventsOf(events, end))), reply);
      });
  });

test('an input that comes as a value keeps its long integers', async () => {
  const body = JSON.stringify({
    type: 'message',
    content: [look('a', { id: 'LONG' })],
    stop_reason: 'tool_use',
  });
  const reply = await read(messagesReader, body.replace('"LONG"', '9007199254740993'));
  assert.deepEqual(shortOf(reply).slice(0, 2), ['call a look', 'input 0 {"id":9007199254740993}']);
});

test('the names of events stand for missing types', async () => {
  const named = [...hi, stopped('end_turn')].map(
    ({ type, ...data }) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`,
  );
  assert.deepEqual(shortOf(await read(messagesReader, named.join(''))), ['text Hi', 'stop']);
});

test('a thought is in the form of Claude, and has an index of its own', async () => {
  const blocks = [
    { type: 'thinking', thinking: 'a', signature: 'S' },
    { type: 'thinking', thinking: 'b' },
    { type: 'redacted_thinking', data: 'c' },
  ];
  const { events } = await read(messagesReader, JSON.stringify({ content: blocks }));
  const form = {
    type: 'thought',
    form: 'text',
    signature: null,
    id: null,
    format: 'anthropic-claude-v1',
  };
  assert.deepEqual(events.slice(0, -1), [
    { ...form, text: 'a', signature: 'S', index: 0 },
    { ...form, text: 'b', index: 1 },
    { ...form, form: 'hidden', text: 'c', index: 2 },
  ]);
});

describe('an error', () => {
  const error = { type: 'overloaded_error', message: 'Overloaded' };
  for (const [what, event] of Object.entries({
    'in its event': { type: 'error', error },
    'without a type': { error },
  }))
    test(what, async () => {
      const reading = await read(messagesReader, eventsOf([...hi, event, over]));
      assert.deepEqual(shortOf(reading), ['text Hi', 'broken']);
      assert.deepEqual((reading.error as ReplyBroken).error, error);
    });

  test('that has no more than its name', async () => {
    const reading = await read(messagesReader, `event: error\ndata: {"message":"x"}\n\n`);
    assert.deepEqual((reading.error as ReplyBroken).error, { message: 'x' });
    const words = await read(messagesReader, `event: error\ndata: overloaded\n\n`);
    assert.deepEqual((words.error as ReplyBroken).error, { message: 'overloaded' });
  });
});

describe('usage', () => {
  const full = { input_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
  const none = { input_tokens: 0, cache_read_input_tokens: 0 };
  const output_tokens = 4;
  const start = (usage: unknown): Json => ({
    type: 'message_start',
    message: { content: [], usage },
  });
  const counted = (usage: unknown): Json => ({ ...stopped('end_turn'), usage });
  const prompt = {
    prompt_tokens: 10,
    prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  };
  const whole = { ...prompt, completion_tokens: 4, total_tokens: 14 };
  const told = async (...events: Json[]) =>
    (await read(messagesReader, eventsOf([...events, over]))).events
      .filter((each) => each.type === 'usage')
      .map(({ usage }) => usage);

  const rows: [what: string, begun: unknown, ended: unknown, usage: Json][] = [
    ['in both events', { ...full, output_tokens: 1 }, { output_tokens }, whole],
    ['0 at the end', { ...full, output_tokens: 1 }, { ...none, output_tokens }, whole],
    ['0 at the beginning', { ...none, output_tokens: 0 }, { ...full, output_tokens }, whole],
    ['at the end', {}, { ...full, output_tokens }, whole],
    ['at the end again', full, { ...full, output_tokens }, whole],
    [
      'at the end, more exactly',
      { ...full, cache_read_input_tokens: 1 },
      { cache_read_input_tokens: 3, output_tokens },
      whole,
    ],
    ['null at the end', { input_tokens: 5 }, { ...full, input_tokens: null, output_tokens }, whole],
    [
      'by the names of OpenAI',
      null,
      { prompt_tokens: 10, completion_tokens: 4 },
      { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
    ],
    [
      'with the thoughts',
      full,
      { output_tokens, output_tokens_details: { thinking_tokens: 3 } },
      { ...whole, completion_tokens_details: { thinking_tokens: 3, reasoning_tokens: 3 } },
    ],
    [
      'with the cost, without fields of this API',
      full,
      { output_tokens, cost: 0.1, service_tier: 'standard' },
      { ...whole, cost: 0.1 },
    ],
    ['without a prompt', null, { output_tokens }, { completion_tokens: 4 }],
  ];
  for (const [what, begun, ended, usage] of rows)
    test(`counts the prompt ${what}`, async () => {
      assert.deepEqual((await told(start(begun), ...hi, counted(ended))).at(-1), usage);
    });

  test('of the prompt comes first, without the placeholder of the output', async () => {
    const { events } = await read(
      messagesReader,
      eventsOf([start({ ...full, output_tokens: 1 }), ...hi]),
    );
    assert.deepEqual(events[0], { type: 'usage', usage: prompt });
  });

  test('of a whole message', async () => {
    assert.deepEqual(await told({ content: 'Hi', usage: { ...full, output_tokens } }), [whole]);
  });
});
