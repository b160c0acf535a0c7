import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isObject, type Json } from '../../lib/json.ts';
import fc from 'fast-check';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import {
  chunksFromCompletion,
  completionFromChunks,
  deliveredText,
  finished,
  gatherChunks,
  isUnfinished,
  usageOf,
  withCallTypes,
} from './completion.ts';

const identity = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'acme/small/chat' };
const head = { ...identity, object: 'chat.completion.chunk' };
const chunk = (delta: unknown, more: object = {}) => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const gather = (...chunks: unknown[]) => completionFromChunks(chunks, identity);
const choiceOf = (completion: Json) => (completion.choices as Json[])[0] as Json;
const messageOf = (completion: Json) => choiceOf(completion).message as Json;

const toolPieces = [
  chunk({ role: 'assistant', content: null }),
  chunk({
    tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
  }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] }),
  chunk({
    tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }],
  }),
  chunk({
    tool_calls: [
      { index: 0, function: { arguments: ':1}' } },
      { index: 1, function: { arguments: '{}' } },
    ],
  }),
  chunk({}, { finish_reason: 'tool_calls' }),
];
const toolCalls = [
  { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
  { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
];

describe('completionFromChunks', () => {
  test('puts a text stream together', () => {
    const completion = gather(
      chunk({ role: 'assistant', content: '' }, {}),
      { ...chunk({ content: 'Hel' }), system_fingerprint: 'fp_1' },
      chunk({ content: 'lo' }),
      chunk({}, { finish_reason: 'stop' }),
      { ...head, choices: [], usage },
    );
    assert.deepEqual(completion, {
      ...identity,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage,
      system_fingerprint: 'fp_1',
    });
  });

  test('puts the pieces of tool calls together, by their index', () => {
    const message = messageOf(gather(...toolPieces));
    assert.deepEqual(message, {
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: toolCalls,
    });
  });

  test('orders tool calls by index and takes position where the index is missing', () => {
    const piece = (index: number | undefined, id: string) =>
      chunk({ tool_calls: [{ index, id, function: { name: id } }] });
    const ids = (completion: Json) => (messageOf(completion).tool_calls as Json[]).map((c) => c.id);
    assert.deepEqual(ids(gather(piece(2, 'c'), piece(0, 'a'))), ['a', 'c']);
    assert.deepEqual(ids(gather(piece(undefined, 'a'))), ['a']);
  });

  test('keeps refusal, reasoning under both names, custom and old calls, log probabilities', () => {
    assert.equal(
      messageOf(gather(chunk({ refusal: 'I ' }), chunk({ refusal: 'cannot' }))).refusal,
      'I cannot',
    );
    const thought = messageOf(
      gather(
        chunk({ reasoning_content: 'a' }),
        chunk({ reasoning_content: 'b', content: 'x' }),
        chunk({ reasoning: 'c' }),
      ),
    );
    assert.deepEqual(
      [thought.reasoning_content, thought.reasoning, thought.content],
      ['ab', 'c', 'x'],
    );
    const custom = messageOf(
      gather(
        chunk({
          tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'q', input: 'se' } }],
        }),
        chunk({ tool_calls: [{ index: 0, custom: { input: 'lect' } }] }),
      ),
    );
    assert.deepEqual(custom.tool_calls, [
      { type: 'custom', id: 'a', custom: { name: 'q', input: 'select' } },
    ]);
    const old = messageOf(
      gather(
        chunk({ function_call: { name: 'f', arguments: '{' } }),
        chunk({ function_call: { arguments: '}' } }),
      ),
    );
    assert.deepEqual([old.function_call, old.content], [{ name: 'f', arguments: '{}' }, null]);
    const logged = choiceOf(
      gather(
        chunk({ content: 'a' }, { logprobs: { content: [{ token: 'a' }], refusal: null } }),
        chunk({ content: 'b' }, { logprobs: { content: [{ token: 'b' }] } }),
      ),
    );
    assert.deepEqual(logged.logprobs, { content: [{ token: 'a' }, { token: 'b' }] });
  });

  test('a stream that broke off has what came, no finish reason and no usage', () => {
    const completion = gather(chunk({ role: 'assistant', content: 'Hel' }));
    assert.equal(messageOf(completion).content, 'Hel');
    assert.equal(choiceOf(completion).finish_reason, null);
    assert.equal('usage' in completion, false);
  });

  test('an empty stream is an empty completion of the given identity', () => {
    assert.deepEqual(gather(), {
      ...identity,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: '', refusal: null },
          logprobs: null,
          finish_reason: null,
        },
      ],
    });
  });

  test('usage is the last one that came, wherever it stood; null does not erase it', () => {
    const at = (value: unknown) => ({ ...chunk({ content: 'x' }), usage: value });
    const grown = gather(at({ completion_tokens: 1 }), at({ completion_tokens: 2 }), at(null));
    assert.deepEqual(grown.usage, { completion_tokens: 2 });
  });

  const zero = { usage: { prompt_tokens: 9, completion_tokens: 0 } };
  const word = chunk({ content: 'Hi' });
  const stop = chunk({}, { finish_reason: 'stop' });
  const zeros: [what: string, chunks: object[], ended: boolean, counts: boolean][] = [
    ['that came before what was written is none', [{ ...word, ...zero }, word, stop], true, false],
    ['beside a word that is not the last is none', [{ ...word, ...zero }], true, false],
    [
      'beside the last word is one',
      [chunk({ content: 'Hi' }, { finish_reason: 'stop' })],
      true,
      true,
    ],
    ['after the last word is one', [word, stop], true, true],
    ['after a word of what broke off is none', [word, stop], false, false],
    ['where nothing was written is one', [stop], true, true],
    ['where nothing was written before it broke off is one', [stop], false, true],
  ];
  for (const [what, chunks, ended, counts] of zeros) {
    test(`a completion of 0 ${what}`, () => {
      const gatherer = gatherChunks(identity);
      const last = chunks.length - 1;
      const isEarly = 'usage' in chunks[0]!;
      for (const [i, each] of chunks.entries())
        gatherer.add(!isEarly && i === last ? { ...each, ...zero } : each);
      const { usage: gathered } = gatherer.completion(ended);
      const details = { cached_tokens: 0, cache_write_tokens: 0 };
      const prompt = { prompt_tokens: 9, prompt_tokens_details: details };
      assert.deepEqual(gathered, counts ? zero.usage : prompt);
    });
  }

  test('id, time and model are the first that are any', () => {
    const odd = { id: '', created: 'soon', model: '' };
    const { id, created, model } = gather(odd, { ...odd, id: 'x', created: 5, model: 'm' }, head);
    assert.deepEqual([id, created, model], ['x', 5, 'm']);
    const nameless = chunk({ tool_calls: [{ index: 0, id: '' }] });
    const named = chunk({ tool_calls: [{ index: 0, id: 'a' }] });
    assert.equal((messageOf(gather(nameless, named)).tool_calls as Json[])[0]!.id, 'a');
  });

  test('what ended without a reason is finished with one; another stays as it is', () => {
    const open = gather(word);
    assert.equal(isUnfinished(open), true);
    assert.equal(choiceOf(finished(open)).finish_reason, 'stop');
    const whole = gather(word, chunk({}, { finish_reason: 'length' }));
    assert.equal(finished(whole), whole);
    for (const none of [{}, { choices: [] }, { choices: 'x' }]) {
      assert.equal(isUnfinished(none), false);
      assert.equal(finished(none), none);
    }
  });

  test('other choices than the first are not mixed in', () => {
    const other = { ...head, choices: [{ index: 1, delta: { content: 'NO' } }] };
    assert.equal(messageOf(gather(chunk({ content: 'a' }), other)).content, 'a');
  });

  test('a later look does not disturb the gathering', () => {
    const gatherer = gatherChunks(identity);
    gatherer.add(chunk({ content: 'a' }));
    assert.equal(messageOf(gatherer.completion()).content, 'a');
    gatherer.add(chunk({ content: 'b' }));
    assert.equal(messageOf(gatherer.completion()).content, 'ab');
  });

  test('a million tool calls do not fill the memory', () => {
    const gatherer = gatherChunks(identity);
    for (let i = 0; i < 5_000; i++) gatherer.add(chunk({ tool_calls: [{ index: i, id: `${i}` }] }));
    assert.equal((messageOf(gatherer.completion()).tool_calls as Json[]).length, 1_024);
  });

  test('a faulty upstream cannot open details of reasoning without end', () => {
    const gatherer = gatherChunks(identity);
    for (let index = 0; index < 300; index++)
      gatherer.add(chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'x', index }] }));
    const details = messageOf(gatherer.completion()).reasoning_details as Json[];
    assert.equal(details.length, 256);
  });

  test("agrees with OpenAI's own client", async () => {
    const texts = ['', 'Hel', 'lo ', '😀', '\n'].map((content) => chunk({ content }));
    const end = [chunk({}, { finish_reason: 'stop' }), { ...head, choices: [], usage }];
    const refusal = [chunk({ role: 'assistant', refusal: 'no' }), chunk({ refusal: 'pe' })];
    const streams = [
      [chunk({ role: 'assistant', content: '' }), ...texts, ...end],
      [...toolPieces, { ...head, choices: [], usage }],
      [...refusal, ...end],
    ];
    for (const chunks of streams) {
      const lines = chunks.map((c) => `${JSON.stringify(c)}\n`).join('');
      const stream = new Blob([lines]).stream() as ReadableStream;
      const theirs = await ChatCompletionStream.fromReadableStream(stream).finalChatCompletion();
      const ours = gather(...chunks);
      const { parsed: _parsed, ...message } = theirs.choices[0]!.message as unknown as Json;
      const calls = message.tool_calls as { function: Json }[] | undefined;
      for (const { function: called } of calls ?? []) delete called.parsed_arguments;
      assert.deepEqual(
        { ...messageOf(ours), content: messageOf(ours).content || null },
        { refusal: null, ...message, content: message.content || null },
      );
      assert.equal(choiceOf(ours).finish_reason, theirs.choices[0]?.finish_reason);
      assert.deepEqual(ours.usage, theirs.usage);
    }
  });
});

describe('usageOf', () => {
  const cases: [name: string, usage: unknown, expected: unknown][] = [
    ['a full report', usage, { prompt_tokens: 9, completion_tokens: 4 }],
    [
      'zeros',
      { prompt_tokens: 0, completion_tokens: 0 },
      { prompt_tokens: 0, completion_tokens: 0 },
    ],
    ['no prompt', { completion_tokens: 4 }, { prompt_tokens: null, completion_tokens: 4 }],
    [
      'null for the prompt',
      { prompt_tokens: null, completion_tokens: 4 },
      { prompt_tokens: null, completion_tokens: 4 },
    ],
    [
      'the largest count',
      { prompt_tokens: 1, completion_tokens: 100_000_000 },
      { prompt_tokens: 1, completion_tokens: 100_000_000 },
    ],
    ['nothing', undefined, null],
    ['null', null, null],
    ['a list', [9, 4], null],
    ['a text', '13', null],
    ['an empty object', {}, null],
    ['no completion', { prompt_tokens: 9 }, null],
    ['a null completion', { prompt_tokens: 9, completion_tokens: null }, null],
    ...[-1, -0.5, 1.5, 'four', true, [4], {}, NaN, Infinity, 100_000_001, 1e300].flatMap(
      (value): [string, unknown, unknown][] => [
        [
          `completion ${JSON.stringify(value)}`,
          { prompt_tokens: 9, completion_tokens: value },
          null,
        ],
        [`prompt ${JSON.stringify(value)}`, { prompt_tokens: value, completion_tokens: 4 }, null],
      ],
    ),
  ];
  const notCached = { cached_tokens: 0, cache_write_tokens: 0 };
  for (const [name, value, tokens] of cases) {
    const expected = isObject(tokens) ? { ...tokens, ...notCached } : null;
    test(`reads ${name}`, () => {
      assert.deepEqual(usageOf({ usage: value }), expected);
      assert.deepEqual(usageOf({ ...chunk({}), usage: value }), expected);
    });
  }

  const tokens = { prompt_tokens: 100, completion_tokens: 4 };
  const cached: [name: string, report: object, cached_tokens: number, written: number][] = [
    ['OpenAI', { prompt_tokens_details: { cached_tokens: 60 } }, 60, 0],
    [
      'OpenRouter',
      { prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } },
      60,
      30,
    ],
    ['Anthropic', { cache_read_input_tokens: 60, cache_creation_input_tokens: 30 }, 60, 30],
    ['DeepSeek', { prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 }, 60, 0],
    ['more than the prompt', { prompt_tokens_details: { cached_tokens: 101 } }, 100, 0],
    [
      'more than the rest',
      { cache_read_input_tokens: 60, cache_creation_input_tokens: 41 },
      60,
      40,
    ],
    [
      'no counts',
      { prompt_tokens_details: { cached_tokens: -1, cache_write_tokens: 'nine' } },
      0,
      0,
    ],
  ];
  for (const [name, report, cached_tokens, cache_write_tokens] of cached) {
    test(`reads the use of a cache: ${name}`, () => {
      const expected = { ...tokens, cached_tokens, cache_write_tokens };
      assert.deepEqual(usageOf({ usage: { ...tokens, ...report } }), expected);
    });
  }

  test('never throws, and gives safe whole numbers or null', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        for (const usage of [usageOf(value), usageOf({ usage: value })]) {
          assert.ok(usage === null || Number.isSafeInteger(usage.completion_tokens));
        }
      }),
    );
  });
});

describe('deliveredText', () => {
  test('is everything the model wrote', () => {
    const message = {
      reasoning_content: 'think ',
      content: 'say ',
      refusal: 'no ',
      function_call: { name: 'old', arguments: '{} ' },
      tool_calls: [
        { function: { name: 'f', arguments: '{"x":1} ' } },
        { custom: { name: 'q', input: 'select' } },
      ],
    };
    assert.equal(
      deliveredText({ choices: [{ index: 0, message }] }),
      'think say no old{} f{"x":1} qselect',
    );
  });

  const cases: [name: string, message: unknown, text: string][] = [
    ['reasoning under two names counts once', { reasoning: 'a', reasoning_content: 'a' }, 'a'],
    ['reasoning under its other name', { reasoning: 'a', content: 'b' }, 'ab'],
    [
      'reasoning in details only, without what is encrypted',
      { reasoning_details: [{ text: 'a' }, { summary: 'b' }, { data: 'c' }, null], content: 'd' },
      'abd',
    ],
    ['reasoning also in details', { reasoning: 'a', reasoning_details: [{ text: 'a' }] }, 'a'],
    [
      'content in parts',
      { content: [{ type: 'text', text: 'a' }, { text: 'b' }, 'x', null] },
      'ab',
    ],
    ['null content', { content: null }, ''],
    ['odd content', { content: 5, tool_calls: [null, 'x', { function: 7 }] }, ''],
    ['no message', null, ''],
  ];
  for (const [name, message, text] of cases) {
    test(name, () => assert.equal(deliveredText({ choices: [{ message }] }), text));
  }

  test('of a stream that broke off is what came', () => {
    assert.equal(deliveredText(gather(...toolPieces.slice(0, 3))), 'f{"x"');
    assert.equal(deliveredText(gather()), '');
  });
});

describe('chunksFromCompletion', () => {
  const completion = gather(
    chunk({ role: 'assistant', content: 'Hello' }),
    chunk({}, { finish_reason: 'stop' }),
    { ...head, choices: [], usage },
  );

  test('the text in one piece, then the finish reason, and no usage unless asked for', () => {
    const chunks = chunksFromCompletion(completion, false);
    const delta = { role: 'assistant', content: 'Hello', refusal: null };
    assert.deepEqual(chunks, [
      { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }] },
    ]);
  });

  test('with usage: null in every chunk, then a chunk of its own with the same usage', () => {
    const chunks = chunksFromCompletion(completion, true);
    assert.deepEqual(
      chunks.map((c) => c.usage),
      [null, null, usage],
    );
    assert.deepEqual(chunks[2], { ...head, choices: [], usage });
  });

  test('tool calls carry their index', () => {
    const [first] = chunksFromCompletion(gather(...toolPieces), false);
    const delta = choiceOf(first!).delta as Json;
    assert.deepEqual(delta.tool_calls, [
      { ...toolCalls[0], index: 0 },
      { ...toolCalls[1], index: 1 },
    ]);
  });

  test('makes the same completion again', () => {
    const piece = fc.oneof(
      fc.record({ content: fc.string() }),
      fc.record({ refusal: fc.string() }),
      fc.record({ reasoning_content: fc.string() }),
      fc.record({
        tool_calls: fc.array(
          fc.record({
            index: fc.nat(3),
            id: fc.string(),
            function: fc.record({ name: fc.string(), arguments: fc.string() }),
          }),
        ),
      }),
    );
    fc.assert(
      fc.property(
        fc.array(piece),
        fc.option(fc.constantFrom('stop', 'length')),
        (deltas, finish) => {
          const once = gather(
            ...deltas.map((delta) => chunk(delta)),
            chunk({}, { finish_reason: finish }),
            { choices: [], usage },
          );
          const again = completionFromChunks(chunksFromCompletion(once, true), {
            id: 'x',
            created: 0,
            model: 'x',
          });
          assert.deepEqual(again, once);
          assert.equal(deliveredText(again), deliveredText(once));
        },
      ),
    );
  });
});

test('tool calls of a whole reply have a type, whether the server gave one or not', () => {
  const custom = { id: 'b', custom: { name: 'g', input: 'x' } };
  const called = { id: 'a', function: { name: 'f', arguments: '{}' } };
  const told = (calls: unknown[]) => ({ choices: [{ index: 0, message: { tool_calls: calls } }] });
  const typed = (calls: unknown[]) => {
    const { choices } = withCallTypes(told(calls)) as ReturnType<typeof told>;
    return choices[0]!.message.tool_calls;
  };
  assert.deepEqual(typed([called, custom]), [
    { ...called, type: 'function' },
    { ...custom, type: 'custom' },
  ]);
  assert.deepEqual(typed([{ ...called, type: 'function' }]), [{ ...called, type: 'function' }]);
  assert.deepEqual(typed([null, 'x']), []);
  for (const odd of [{}, { choices: null }, { choices: [null, { message: 'x' }] }]) {
    assert.deepEqual(withCallTypes(odd), odd);
  }
});

test('no upstream can make any of this throw', () => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        id: fc.jsonValue(),
        created: fc.jsonValue(),
        usage: fc.jsonValue(),
        choices: fc.oneof(
          fc.jsonValue(),
          fc.array(
            fc.oneof(
              fc.jsonValue(),
              fc.record(
                {
                  index: fc.constantFrom(0, 1, null, '0'),
                  logprobs: fc.oneof(fc.jsonValue(), fc.record({ content: fc.jsonValue() })),
                  message: fc.jsonValue(),
                  delta: fc.oneof(
                    fc.jsonValue(),
                    fc.record({
                      content: fc.jsonValue(),
                      function_call: fc.oneof(fc.jsonValue(), fc.record({ name: fc.jsonValue() })),
                      tool_calls: fc.array(
                        fc.oneof(
                          fc.jsonValue(),
                          fc.record({
                            index: fc.jsonValue(),
                            id: fc.jsonValue(),
                            function: fc.oneof(
                              fc.jsonValue(),
                              fc.record({ name: fc.jsonValue(), arguments: fc.jsonValue() }),
                            ),
                          }),
                        ),
                      ),
                    }),
                  ),
                },
                { requiredKeys: [] },
              ),
            ),
          ),
        ),
      },
      { requiredKeys: [] },
    ),
  );
  fc.assert(
    fc.property(fc.array(odd, { maxLength: 4 }), (chunks) => {
      const completion = completionFromChunks(chunks, identity);
      assert.equal(completion.object, 'chat.completion');
      assert.equal(typeof deliveredText(completion), 'string');
      for (const value of chunks) {
        assert.equal(typeof deliveredText(value), 'string');
        usageOf(value);
        if (typeof value !== 'object' || value === null) continue;
        chunksFromCompletion(value as Json, true);
        withCallTypes(value as Json);
      }
    }),
    { numRuns: 1_000 },
  );
});
