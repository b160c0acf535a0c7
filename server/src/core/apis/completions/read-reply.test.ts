import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asked, eventsOf, marked, read, shortOf } from '../../../../test/kit/read-replies.ts';
import { ReplyBroken } from '../read-reply.ts';
import { completionsReader } from './read-reply.ts';

type Json = Record<string, any>;

/** A chunk with a delta. `more`: further fields of its choice. */
const chunk = (delta: unknown, finish_reason: unknown = null, more: Json = {}): Json => ({
  choices: [{ index: 0, delta, finish_reason, ...more }],
});
const calls = (...tool_calls: Json[]): Json => chunk({ tool_calls });
const look = (p: unknown, more: Json = {}): Json => ({
  type: 'function',
  function: { name: 'look', arguments: typeof p === 'number' ? `{"p":${p}}` : p },
  ...more,
});
const hi = chunk({ role: 'assistant', content: 'Hi' });
const stop = chunk({}, 'stop');
const ended = chunk({}, 'tool_calls');

/** The call `look` with its number, id and input. */
const called = (call: number, id: string, p: unknown = call + 1): string[] => [
  `call ${id} look`,
  `input ${call} ${typeof p === 'number' ? `{"p":${p}}` : p}`,
];
const two = (first: string, second: string) => [...called(0, first), ...called(1, second), 'tools'];
/** An id of ours, for a call that has none. */
const own = (call: number) => `call_0190a${call}`;

/** Chunks, and the reply that they are. Without `end`, the bytes end with [DONE]. */
type Row = [what: string, pieces: Json[], reply: string[], end?: string];

const tables: Record<string, Row[]> = {
  'a piece of a tool call': [
    [
      'begins another call if its id is new, at a repeated index',
      [calls({ index: 0, ...look(1, { id: 'a' }) }), calls({ index: 0, ...look(2, { id: 'b' }) })],
      two('a', 'b'),
    ],
    [
      'begins another call if its id is new, without an index',
      [calls(look(1, { id: 'a' })), calls(look(2, { id: 'b' })), ended],
      two('a', 'b'),
    ],
    [
      'is of the call of its id, without an index',
      [
        calls(look('', { id: 'a' })),
        calls(look('', { id: 'b' })),
        calls({ id: 'a', function: { arguments: '{"p"' } }),
        calls({ id: 'b', function: { arguments: '{"p":2}' } }),
        calls({ id: 'a', function: { arguments: ':1}' } }),
        ended,
      ],
      two('a', 'b'),
    ],
    [
      'is of the call of its id, at the index of another',
      [
        calls({ index: 0, ...look('{"p"', { id: 'a' }) }),
        calls({ index: 0, ...look(2, { id: 'b' }) }),
        calls({ index: 0, id: 'a', function: { arguments: ':1}' } }),
        ended,
      ],
      two('a', 'b'),
    ],
    [
      'is of the last call, without index and id',
      [
        calls(look(1, { id: 'a' })),
        calls(look('', { id: 'b' })),
        calls({ function: { arguments: '{"p"' } }),
        calls({ function: { arguments: ':2}' } }),
        ended,
      ],
      two('a', 'b'),
    ],
    [
      'is of the call of the piece before it, without index and id',
      [
        calls(look('', { id: 'a' })),
        calls(look(2, { id: 'b' })),
        calls({ id: 'a', function: { arguments: '{"p"' } }),
        calls({ function: { arguments: ':1}' } }),
        ended,
      ],
      ['call a look', 'call b look', 'input 1 {"p":2}', 'input 0 {"p":1}', 'tools'],
    ],
    [
      'is of the call at its place, where a chunk has several without index and id',
      [
        calls(look('', { id: 'a' }), look('', { id: 'b' })),
        calls({ function: { arguments: '{"p":1}' } }, { function: { arguments: '{"p":2}' } }),
        ended,
      ],
      two('a', 'b'),
    ],
    [
      'is of the call at its index, a number as a text',
      [
        calls({ index: '0', ...look('{"p"', { id: 'a' }) }),
        calls({ index: '1', ...look(2, { id: 'b' }) }),
        calls({ index: '0', function: { arguments: ':1}' } }),
        ended,
      ],
      two('a', 'b'),
    ],
    [
      'repeats its id and name',
      [
        calls({ index: 0, ...look('{"p"', { id: 'a' }) }),
        calls({ index: 0, ...look(':1}', { id: 'a' }) }),
        calls({ index: 0, ...look('', { id: 'a' }) }),
        ended,
      ],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has an id of its own, as at servers that make one for each piece',
      [
        calls({ index: 0, ...look('', { id: 'x1' }) }),
        calls({ index: 0, id: 'x2', function: { arguments: '{"p":' } }),
        calls({ index: 0, id: 'x3', function: { arguments: '1}' } }),
        ended,
      ],
      [...called(0, 'x1'), 'tools'],
    ],
    [
      'repeats the whole call',
      [
        calls({ index: 0, ...look(1, { id: 'a' }) }),
        calls({ index: 0, ...look(1, { id: 'a' }) }),
        ended,
      ],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'begins another call behind complete input, without ids',
      [calls({ index: 0, ...look(1) }), calls({ index: 0, ...look(2) }), ended],
      two(own(0), own(1)),
    ],
    [
      'begins another call behind complete input that has brackets in texts',
      [calls(look('{"p":"}\\"{"}')), calls(look(2)), ended],
      [...called(0, own(0), '{"p":"}\\"{"}'), ...called(1, own(1)), 'tools'],
    ],
    [
      'begins another call if its name is another one',
      [calls(look('')), calls({ function: { name: 'go', arguments: '[]' } }), ended],
      [`call ${own(0)} look`, `call ${own(1)} go`, 'input 0 {}', 'input 1 {}', 'tools'],
    ],
    [
      'is one of several calls in one chunk, without indexes',
      [calls(look(1, { id: 'a' }), look(2, { id: 'b' })), ended],
      two('a', 'b'),
    ],
    [
      'has an index above the number of calls',
      [calls({ index: 4, ...look(1, { id: 'a' }) }), calls({ index: 7, ...look(2, { id: 'b' }) })],
      two('a', 'b'),
    ],
    [
      'waits until the name is known',
      [calls({ id: 'a', function: { arguments: '{"p"' } }), calls(look(':1}')), ended],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is left out without a name',
      [hi, calls({ id: 'a', function: { arguments: '{}' } }), stop],
      ['text Hi', 'stop'],
    ],
    [
      'is alone, not in a list',
      [chunk({ tool_calls: look(1, { id: 'a' }) }), ended],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'has no object around its name',
      [calls({ id: 'a', name: 'look', arguments: '{"p":1}' }), ended],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is in the old field',
      [
        chunk({ function_call: { name: 'look', arguments: '{"p"' } }),
        chunk({ function_call: { arguments: ':1}' } }),
        chunk({}, 'function_call'),
      ],
      [...called(0, own(0)), 'tools'],
    ],
    [
      'is in both fields',
      [
        chunk({ ...calls(look(1, { id: 'a' })).choices[0].delta, function_call: look(1).function }),
        ended,
      ],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is an empty old field',
      [chunk({ content: 'Hi', function_call: { name: '', arguments: '' } }), stop],
      ['text Hi', 'stop'],
    ],
    [
      'has the short form of its name',
      [calls({ id: 'a', function: { name: 'short_x', arguments: '{}' } }), ended],
      ['call a long_x', 'input 0 {}', 'tools'],
    ],
  ],
  'the id of a tool call': [
    [
      'is ours if it is empty',
      [calls({ index: 0, ...look(1, { id: '' }) }), ended],
      [...called(0, own(0)), 'tools'],
    ],
    [
      'is ours if there is none or null',
      [calls({ index: 0, ...look(1) }), calls({ index: 1, ...look(2, { id: null }) }), ended],
      two(own(0), own(1)),
    ],
    [
      'is ours if an earlier call has it',
      [calls({ index: 0, ...look(1, { id: 'a' }) }), calls({ index: 1, ...look(2, { id: 'a' }) })],
      two('a', own(1)),
    ],
    [
      'is ours if an earlier call has it, without indexes',
      [calls(look(1, { id: 'a' }), look(2, { id: 'a' })), ended],
      two('a', own(1)),
    ],
    [
      'is ours, and differs from an id that another call has',
      [calls(look(1, { id: own(1) }), look(2, { id: '' })), ended],
      two(own(1), `${own(1)}_`),
    ],
    [
      'comes behind the name',
      [
        calls({ index: 0, ...look('') }),
        calls({ index: 0, id: 'a', function: { arguments: '{"p":1}' } }),
        ended,
      ],
      [...called(0, 'a'), 'tools'],
    ],
    ['is a number', [calls(look(1, { id: 7 })), ended], [...called(0, '7'), 'tools']],
  ],
  'the input of a tool call': [
    [
      'is an object',
      [calls({ index: 0, ...look({ p: 1 }, { id: 'a' }) }), ended],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is a list',
      [calls(look([1], { id: 'a' })), ended],
      [...called(0, 'a', '{"INVALID_JSON":"[1]"}'), 'tools'],
    ],
    [
      'is an empty object before its pieces',
      [
        calls({ index: 0, ...look({}, { id: 'a' }) }),
        calls({ index: 0, function: { arguments: '{"p":1}' } }),
        ended,
      ],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is empty',
      [calls({ index: 0, ...look('', { id: 'a' }) }), ended],
      [...called(0, 'a', '{}'), 'tools'],
    ],
    [
      'is missing',
      [calls({ id: 'a', function: { name: 'look' } }), ended],
      [...called(0, 'a', '{}'), 'tools'],
    ],
    ['is null', [calls(look(null, { id: 'a' })), ended], [...called(0, 'a', '{}'), 'tools']],
    ['is blank', [calls(look(' \n', { id: 'a' })), ended], [...called(0, 'a', '{}'), 'tools']],
    [
      'is under another name',
      [calls({ id: 'a', function: { name: 'look', input: { p: 1 } } }), ended],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is a text of a custom tool',
      [
        calls({ index: 0, id: 'a', type: 'custom', custom: { name: 'sql', input: 'sel' } }),
        calls({ index: 0, custom: { input: 'ect' } }),
        ended,
      ],
      ['custom call a sql', 'input 0 select', 'tools'],
    ],
    [
      'is an empty text of a custom tool',
      [calls({ id: 'a', custom: { name: 'sql', input: '' } }), ended],
      ['custom call a sql', 'tools'],
    ],
    [
      'is a text in JSON, where the server knows no custom tools',
      [
        calls({ index: 0, id: 'a', function: { name: 'patch', arguments: '{"inp' } }),
        calls({ index: 0, function: { arguments: 'ut":"*** a\\n"}' } }),
        ended,
      ],
      ['custom call a patch', 'input 0 *** a\n', 'tools'],
    ],
    [
      'is a text without the JSON that it should have',
      [calls({ id: 'a', function: { name: 'patch', arguments: '*** a' } }), ended],
      ['custom call a patch', 'input 0 *** a', 'tools'],
    ],
    [
      'of the old field is an object',
      [chunk({ function_call: { name: 'look', arguments: { p: 1 } } }), ended],
      [...called(0, own(0)), 'tools'],
    ],
  ],
  'the end': [
    ['is missing, and [DONE] too', [hi], ['text Hi', 'broken'], ''],
    [
      'is empty, and [DONE] is missing',
      [chunk({ content: 'Hi ' }, ''), chunk({ content: 'there' }, '')],
      ['text Hi there', 'broken'],
      '',
    ],
    [
      'is the word null, and [DONE] is missing',
      [chunk({ content: 'Hi' }, 'null')],
      ['text Hi', 'broken'],
      '',
    ],
    [
      'is false, and [DONE] is missing',
      [chunk({ content: 'Hi' }, false)],
      ['text Hi', 'broken'],
      '',
    ],
    [
      'is empty until it comes',
      [chunk({ content: 'Hi' }, ''), chunk({ content: '' }, 'stop')],
      ['text Hi', 'stop'],
      '',
    ],
    ['is missing before [DONE]', [hi], ['text Hi', 'stop']],
    [
      'is missing behind a tool call',
      [calls({ index: 0, ...look(1, { id: 'a' }) })],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'is missing behind a call in the old field',
      [chunk({ function_call: look(1).function })],
      [...called(0, own(0)), 'tools'],
    ],
    [
      'is stop behind a tool call',
      [calls(look(1, { id: 'a' })), stop],
      [...called(0, 'a'), 'tools'],
    ],
    ['is tool_calls without any', [hi, ended], ['text Hi', 'stop']],
    [
      'is length behind a tool call',
      [calls(look('{"p', { id: 'a' })), chunk({}, 'length')],
      [...called(0, 'a', '{"p'), 'length'],
    ],
    [
      'comes before the last text',
      [chunk({ content: 'Hi' }, 'stop'), chunk({ content: ' there' }, 'length')],
      ['text Hi there', 'length'],
    ],
    [
      'is a usage alone',
      [hi, { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } }],
      ['text Hi', 'stop'],
      '',
    ],
    [
      'is not a usage that comes early',
      [{ choices: [], usage: { prompt_tokens: 9, completion_tokens: 0 } }, hi],
      ['text Hi', 'broken'],
      '',
    ],
    [
      'is not a usage with text behind it',
      [
        hi,
        { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } },
        chunk({ content: '!' }),
      ],
      ['text Hi!', 'broken'],
      '',
    ],
    [
      'names the stop text',
      [hi, chunk({}, 'stop', { stop_reason: 'END' })],
      ['text Hi', 'stop at END'],
    ],
    [
      'names a stop text of the caller that is blank',
      [hi, chunk({}, 'stop', { matched_stop: ' ' })],
      ['text Hi', 'stop at  '],
    ],
    [
      'names a word of the server',
      [hi, chunk({}, 'stop', { stop_reason: 'eos' })],
      ['text Hi', 'stop'],
    ],
    [
      'names the number of a token',
      [hi, chunk({}, 'stop', { stop_reason: 128_009 })],
      ['text Hi', 'stop'],
    ],
    ['is an error', [hi, chunk({}, 'error')], ['text Hi', 'broken']],
    ['is nothing but [DONE]', [], ['broken']],
    ['comes without a choice before it', [{ choices: [] }], ['broken']],
  ],
  'the text': [
    [
      'is a list of parts',
      [
        chunk({ content: [{ type: 'text', text: 'H' }, 'i', { text: { value: '!' } }, null] }),
        stop,
      ],
      ['text Hi!', 'stop'],
    ],
    [
      'stands among thoughts, as at Mistral',
      [
        chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }),
        chunk({
          content: [
            { type: 'thinking', thinking: '.' },
            { type: 'text', text: 'Hi' },
          ],
        }),
        stop,
      ],
      ['thought Hm.', 'text Hi', 'stop'],
    ],
    [
      'is a number',
      [chunk({ content: 'is ' }), chunk({ content: 42 }), stop],
      ['text is 42', 'stop'],
    ],
    ['is one part', [chunk({ content: { type: 'text', text: 'Hi' } }), stop], ['text Hi', 'stop']],
    [
      'is a refusal',
      [chunk({ refusal: 'I ' }), chunk({ refusal: 'cannot' }), stop],
      ['refusal I cannot', 'stop'],
    ],
    [
      'is a refusal among the parts',
      [chunk({ content: [{ type: 'refusal', refusal: 'No' }] }), stop],
      ['refusal No', 'stop'],
    ],
    [
      'has tags of thinking',
      [chunk({ content: '<think>a</think>b' }), stop],
      ['text <think>a</think>b', 'stop'],
    ],
    [
      'is of the first choice',
      [
        {
          choices: [
            { index: 1, delta: { content: 'NO' } },
            { index: 0, delta: { content: 'Hi' } },
          ],
        },
        stop,
      ],
      ['text Hi', 'stop'],
    ],
    [
      'is of another choice',
      [hi, { choices: [{ index: 1, delta: { content: 'NO' } }] }, stop],
      ['text Hi', 'stop'],
    ],
    [
      'is of a choice without an index',
      [{ choices: [{ delta: { content: 'Hi' } }] }, stop],
      ['text Hi', 'stop'],
    ],
    [
      'is in the field of older completions',
      [{ choices: [{ index: 0, text: 'Hi' }] }, stop],
      ['text Hi', 'stop'],
    ],
    [
      'comes around a choice without a delta',
      [
        hi,
        { id: '', choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] },
        chunk({ content: ' there' }),
        { choices: [{ index: 0, delta: null }] },
        { choices: [{}] },
        { choices: null },
        {},
        stop,
      ],
      ['text Hi there', 'stop'],
    ],
    [
      'comes in lines of Ollama',
      [
        { message: { role: 'assistant', content: '', thinking: 'Hm' }, done: false },
        { message: { role: 'assistant', content: 'H' }, done: false },
        { message: { role: 'assistant', content: 'i' }, done: false },
        { message: { content: '' }, done: true, done_reason: 'length' },
      ],
      ['thought Hm', 'text Hi', 'length'],
      '',
    ],
  ],
  reasoning: [
    [
      'has two names, and counts once',
      [chunk({ reasoning: 'a', reasoning_content: 'a' }), stop],
      ['thought a', 'stop'],
    ],
    [
      'has each name',
      [
        chunk({ reasoning: 'a' }),
        chunk({ reasoning_content: 'b' }),
        chunk({ thinking: 'c' }),
        stop,
      ],
      ['thought abc', 'stop'],
    ],
    [
      'also stands in details and among the parts',
      [
        chunk({
          reasoning: 'a',
          reasoning_details: [{ type: 'reasoning.text', text: 'a' }],
          content: [
            { type: 'thinking', thinking: 'a' },
            { type: 'text', text: 'b' },
          ],
        }),
        stop,
      ],
      ['thought a', 'text b', 'stop'],
    ],
    [
      'is a summary, and data',
      [
        chunk({
          reasoning_details: [
            { type: 'reasoning.summary', summary: 'I look.', index: 0 },
            { type: 'reasoning.encrypted', data: 'QUJD', index: 0 },
            { type: 'reasoning.unknown', data: 'x' },
          ],
        }),
        stop,
      ],
      ['summary thought I look.', 'hidden thought QUJD', 'stop'],
    ],
  ],
  'a whole message': [
    [
      'is the reply',
      [
        {
          object: 'chat.completion',
          choices: [
            { message: { content: null, reasoning: 'Hm', tool_calls: [look(1, { id: 'a' })] } },
          ],
        },
      ],
      ['thought Hm', ...called(0, 'a'), 'tools'],
      '',
    ],
    [
      'is the reply, and says how it ended',
      [{ choices: [{ message: { content: 'Hi' }, finish_reason: 'length' }] }],
      ['text Hi', 'length'],
      '',
    ],
    [
      'is the reply, without an end',
      [{ choices: [{ message: { content: 'Hi' } }] }],
      ['text Hi', 'stop'],
      '',
    ],
    [
      'is empty',
      [{ choices: [{ message: { content: '' }, finish_reason: 'length' }] }],
      ['length'],
      '',
    ],
    ['is missing', [{ object: 'chat.completion', choices: [] }], ['broken'], ''],
    [
      'has calls that differ in nothing',
      [{ choices: [{ message: { tool_calls: [look(1, { id: '' }), look(1, { id: '' })] } }] }],
      [...called(0, own(0)), ...called(1, own(1), 1), 'tools'],
      '',
    ],
    [
      'repeats what came in pieces',
      [
        chunk({ reasoning: 'Hm', content: 'Hi' }),
        calls(look('{"p"', { id: 'a' })),
        calls({ function: { arguments: ':1}' } }),
        {
          choices: [
            {
              message: { content: 'Hi', reasoning: 'Hm', tool_calls: [look(1, { id: 'a' })] },
              finish_reason: 'tool_calls',
            },
          ],
        },
      ],
      ['thought Hm', 'text Hi', ...called(0, 'a'), 'tools'],
    ],
    [
      'has more than the pieces before it',
      [
        chunk({ content: 'Hi' }),
        calls(look('{"p"', { id: 'a' })),
        {
          choices: [
            {
              message: {
                content: 'Hi there',
                refusal: 'No',
                tool_calls: [look(1, { id: 'a' }), look(2, { id: 'b' })],
              },
            },
          ],
        },
      ],
      [
        'text Hi',
        'call a look',
        'input 0 {"p":1}',
        'text  there',
        'refusal No',
        ...called(1, 'b'),
        'tools',
      ],
    ],
    [
      'differs from the pieces before it',
      [
        chunk({ content: 'Hi ' }),
        { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] },
      ],
      ['text Hi ', 'stop'],
    ],
    [
      'has another input than the pieces before it',
      [
        calls(look(1, { id: 'a' })),
        { choices: [{ message: { tool_calls: [look('{"q": 2}', { id: 'a' })] } }] },
      ],
      [...called(0, 'a'), 'tools'],
    ],
    [
      'grows from piece to piece',
      ['H', 'Hi', 'Hi!'].map((content) => ({ choices: [{ message: { content } }] })),
      ['text Hi!', 'stop'],
    ],
    [
      'is in truth a delta',
      ['H', 'i', '!'].map((content) => ({ choices: [{ message: { content } }] })),
      ['text Hi!', 'stop'],
    ],
  ],
};

for (const [what, rows] of Object.entries(tables))
  describe(what, () => {
    for (const [how, pieces, reply, end = marked] of rows)
      test(how, async () => {
        assert.deepEqual(shortOf(await read(completionsReader, eventsOf(pieces, end))), reply);
      });
  });

describe('the words of other services for an end', () => {
  const words: Record<string, string[]> = {
    stop: [
      'stop',
      'STOP',
      'end_turn',
      'eos',
      'eos_token',
      'COMPLETE',
      'stop_sequence',
      'unheard of',
    ],
    length: [
      'length',
      'MAX_TOKENS',
      'max_tokens',
      'model_length',
      'max_output_tokens',
      'FINISH_REASON_MAX_TOKENS',
    ],
    tools: [
      'tool_calls',
      'tool_use',
      'TOOL_CALL',
      'function_call',
      'tool-calls',
      'toolCalls',
      'stop',
      'unheard of',
    ],
    filter: [
      'content_filter',
      'SAFETY',
      'RECITATION',
      'PROHIBITED_CONTENT',
      'refusal',
      'ERROR_TOXIC',
      'content-filter',
    ],
    broken: ['error', 'ERROR', 'network_error', 'abort', 'MALFORMED_FUNCTION_CALL'],
  };
  for (const [reason, list] of Object.entries(words))
    for (const word of list)
      test(`${word} is ${reason}`, async () => {
        const said = reason === 'tools' ? calls(look(1, { id: 'a' })) : hi;
        for (const end of ['', marked]) {
          const reading = await read(completionsReader, eventsOf([said, chunk({}, word)], end));
          assert.equal(shortOf(reading).at(-1), reason);
        }
      });
});

describe('an event', () => {
  const events = async (...pieces: Json[]) =>
    (await read(completionsReader, eventsOf(pieces, marked))).events;
  const plain = { signature: null, id: null, format: null };
  const thought = { type: 'thought', form: 'text', text: '', ...plain, index: null };

  test('of text has its log probabilities, also those of parts of a character', async () => {
    const logged = (content: string, ...tokens: string[]) =>
      chunk({ content }, null, {
        logprobs: { content: [null, ...tokens.map((token) => ({ token }))] },
      });
    assert.deepEqual(
      await events(logged('a', 'a'), logged('', 'x1'), logged('😀b', 'x2', 'b'), stop),
      [
        { type: 'text', text: 'a', logprobs: [{ token: 'a' }] },
        { type: 'text', text: '😀b', logprobs: [{ token: 'x1' }, { token: 'x2' }, { token: 'b' }] },
        { type: 'end', reason: 'stop', stop: null },
      ],
    );
  });

  test('of a refusal has its own log probabilities', async () => {
    const logprobs = { refusal: [{ token: 'No' }], content: null };
    const [event] = await events(chunk({ refusal: 'No' }, null, { logprobs }), stop);
    assert.deepEqual(event, { type: 'refusal', text: 'No', logprobs: [{ token: 'No' }] });
  });

  test('of a plain thought has no index, and each thought with details its own', async () => {
    const detail = (more: Json) => chunk({ reasoning_details: [{ index: 0, ...more }] });
    const claude = { type: 'reasoning.text', format: 'anthropic-claude-v1' };
    const data = { type: 'reasoning.encrypted', data: 'QUJD', id: 'rs_1' };
    assert.deepEqual(
      (
        await events(
          chunk({ reasoning: 'a' }),
          detail({ ...claude, text: 'b' }),
          detail({ type: 'reasoning.text', text: 'c' }),
          detail({ ...claude, signature: 'S' }),
          detail({ ...claude, text: 'd' }),
          detail({ ...claude, text: 'e', format: 'other' }),
          detail(data),
          detail(data),
          stop,
        )
      ).slice(0, -1),
      [
        { ...thought, text: 'a' },
        { ...thought, text: 'b', format: claude.format, index: 0 },
        { ...thought, text: 'c', index: 0 },
        { ...thought, signature: 'S', format: claude.format, index: 0 },
        { ...thought, text: 'd', format: claude.format, index: 1 },
        { ...thought, text: 'e', format: 'other', index: 2 },
        { ...thought, form: 'hidden', text: 'QUJD', id: 'rs_1', index: 3 },
        { ...thought, form: 'hidden', text: 'QUJD', id: 'rs_1', index: 4 },
      ],
    );
  });

  test('for tool calls and thoughts that no model makes is left out', async () => {
    const many = Array.from({ length: 1_030 }, (_, i) => i);
    const details = many.map((index) => ({ type: 'reasoning.encrypted', data: 'x', index }));
    const read = await events(
      calls(...many.map((i) => look(i, { id: `c${i}` }))),
      calls(look(1, { id: 'late' })),
      calls({ function: { arguments: 'x' } }),
      chunk({ reasoning_details: details }),
      stop,
    );
    for (const type of ['call', 'input', 'thought'])
      assert.equal(read.filter((event) => event.type === type).length, 1_024);
  });
});

describe('usage', () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  const report = { ...usage, cached_tokens: 900 };
  const cached = { ...usage, prompt_tokens_details: { cached_tokens: 900 } };
  const rows: Record<string, [pieces: Json[], usage: unknown]> = {
    'in a chunk of its own': [[hi, stop, { choices: [], usage }], usage],
    'in the last choice': [[hi, chunk({}, 'stop', { usage: report })], cached],
    'in the last delta': [[hi, chunk({ usage: report }, 'stop')], cached],
    'in a whole message': [[{ choices: [{ message: { content: 'Hi', usage: report } }] }], cached],
    "in Groq's field": [[hi, { ...stop, x_groq: { usage } }], usage],
    "in Groq's field, and empty in its own": [
      [hi, { ...stop, usage: {}, x_groq: { usage } }],
      usage,
    ],
    "in Gemini's field": [
      [hi, { ...stop, usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 10 } }],
      usage,
    ],
    "in Ollama's own line": [
      [{ message: { content: 'Hi' }, done: true, prompt_eval_count: 1_000, eval_count: 10 }],
      usage,
    ],
    "in llama.cpp's timings": [
      [hi, { ...stop, timings: { cache_n: 900, prompt_n: 100, predicted_n: 10 } }],
      { ...usage, prompt_tokens_details: { cached_tokens: 900 } },
    ],
    "its cache in llama.cpp's timings": [
      [hi, { ...stop, usage, timings: { cache_n: 900, prompt_n: 100, predicted_n: 10 } }],
      { ...usage, prompt_tokens_details: { cached_tokens: 900 } },
    ],
    'with its cost': [[hi, { ...stop, usage: { ...usage, cost: 0.1 } }], { ...usage, cost: 0.1 }],
    'with its cost alone': [[hi, { ...stop, usage: { cost: 0.1 } }], { cost: 0.1 }],
    'that is zero, a figure': [
      [hi, { ...stop, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }],
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    'beside choices that are null': [[hi, stop, { choices: null, usage }], usage],
    'that is null on each chunk before': [
      [
        { ...hi, usage: null },
        { ...stop, usage: null },
        { choices: [], usage },
      ],
      usage,
    ],
    'that is absent': [[hi, stop], undefined],
    'that is null, behind one': [[hi, { ...stop, usage }, { choices: [], usage: null }], usage],
    'that is empty, behind one': [[hi, { ...stop, usage }, { choices: [], usage: {} }], usage],
    'on every chunk, growing': [
      [
        { ...hi, usage: { ...usage, completion_tokens: 1 } },
        { ...stop, usage },
      ],
      usage,
    ],
  };
  for (const [where, [pieces, expected]] of Object.entries(rows))
    test(where, async () => {
      const { events } = await read(completionsReader, eventsOf(pieces, marked));
      const told = events.findLast((event) => event.type === 'usage');
      assert.deepEqual(told?.usage, expected);
    });

  test('comes before the text of its chunk, unless the chunk is the last', async () => {
    const order = async (piece: Json) => {
      const { events } = await read(completionsReader, eventsOf([{ ...piece, usage }], marked));
      return events.map(({ type }) => type);
    };
    assert.deepEqual(await order(hi), ['usage', 'text', 'end']);
    assert.deepEqual(await order(chunk({ content: 'Hi' }, 'stop')), ['text', 'usage', 'end']);
    assert.deepEqual(await order({ choices: [{ message: { content: 'Hi' } }] }), [
      'text',
      'usage',
      'end',
    ]);
  });
});

describe('an error', () => {
  const error = { code: 429, message: 'Slow down.', type: 'rate_limit' };
  const rows: Record<string, [piece: unknown, error: unknown]> = {
    'at the top': [{ error }, error],
    'beside the reply': [{ ...hi, error }, error],
    'that is a text': [
      { error: 'Gone.', code: 500 },
      { message: 'Gone.', code: 500 },
    ],
    'in an error': [{ error: { error } }, error],
    'in a list': [[{ error }], error],
    'in the choice': [chunk({}, 'error', { error }), error],
    'in a choice that goes on': [
      chunk({ content: '' }, null, { error: 'Gone.' }),
      { message: 'Gone.' },
    ],
    "in Groq's field": [{ ...chunk({}), x_groq: { error: 'Gone.' } }, { message: 'Gone.' }],
    'that is the whole object': [
      { object: 'error', message: 'Gone.' },
      { object: 'error', message: 'Gone.' },
    ],
    'in the form of Messages': [{ type: 'error', error }, error],
    'of a validator': [{ detail: [{ msg: 'required' }] }, { detail: [{ msg: 'required' }] }],
    'of a gateway': [{ detail: 'Gone.' }, { detail: 'Gone.' }],
    'without a field': [
      { code: 'X', message: 'Gone.' },
      { code: 'X', message: 'Gone.' },
    ],
    'that only the reason says': [chunk({}, 'error'), { finish_reason: 'error' }],
  };
  for (const [where, [piece, expected]] of Object.entries(rows))
    test(where, async () => {
      const events = eventsOf([hi, piece, stop], marked);
      const line = `${eventsOf([hi])}${JSON.stringify(piece)}\n`;
      for (const body of [events, line, line.trim(), eventsOf([piece]), JSON.stringify(piece)]) {
        const { error } = await read(completionsReader, body);
        assert.ok(error instanceof ReplyBroken);
        assert.deepEqual(error.error, expected);
      }
      assert.match(shortOf(await read(completionsReader, events)).join(), /^text (Hi)+,broken$/);
    });

  test('behind the end and a usage of all words ends nothing', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1 };
    const none = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } };
    for (const counted of [[{ choices: [], usage }], [{ choices: [], usage }, none]]) {
      const reading = await read(completionsReader, eventsOf([hi, stop, ...counted, { error }]));
      assert.deepEqual(shortOf(reading), ['text Hi', 'stop']);
    }
    const reading = await read(completionsReader, eventsOf([hi, stop, none, { error }]));
    assert.deepEqual(shortOf(reading), ['text Hi', 'broken'], 'nothing was counted');
  });

  test('in an empty field is none', async () => {
    for (const none of [null, '', {}, [], false]) {
      const reading = await read(completionsReader, eventsOf([{ ...hi, error: none }, stop]));
      assert.deepEqual(shortOf(reading), ['text Hi', 'stop']);
    }
  });

  test('comes behind the text and the usage of its piece', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 };
    const whole = { choices: [{ message: { content: 'Hi' } }], usage, error };
    const { events } = await read(completionsReader, JSON.stringify(whole));
    assert.deepEqual(
      events.map(({ type }) => type),
      ['text', 'usage'],
    );
  });
});

test('a call whose id an earlier turn has used gets another one', async () => {
  const said = eventsOf([calls(look(1, { id: 'a' }), look(2, { id: 'b' })), ended], marked);
  const of = { ...asked, usedIds: () => ['a'] };
  const reply = shortOf(await read(completionsReader, said, Infinity, of));
  assert.deepEqual(reply, two(own(0), 'b'));
});

test('a list of more choices than a function takes arguments', async () => {
  const choices = Array.from({ length: 200_000 }, (_, i) => ({ index: i + 1, delta: {} }));
  const [first, last] = [hi.choices, stop.choices].map(([own]) => ({ ...own, index: 0 }));
  const body = JSON.stringify({ choices: [...choices, { ...first, finish_reason: 'stop' }] });
  assert.deepEqual(shortOf(await read(completionsReader, body)), ['text Hi', 'stop']);
  const pieces = eventsOf([{ choices: [...choices, first] }, { choices: [last] }], marked);
  assert.deepEqual(shortOf(await read(completionsReader, pieces)), ['text Hi', 'stop']);
});
