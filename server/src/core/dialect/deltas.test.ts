import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deltaReader, type Delta } from './deltas.ts';

type Json = Record<string, unknown>;

const plain = { signature: null, id: null, format: null, index: null };
const claude = { id: null, format: 'anthropic-claude-v1', index: 0 };
const call = (index: number, piece: Json): Json => ({ tool_calls: [{ index, ...piece }] });

/** Deltas of chunks in their order, and what is read from them. */
const table: Record<string, { deltas: Json[]; read: Partial<Delta>[] }> = {
  'text in pieces, and empty pieces': {
    deltas: [{ role: 'assistant', content: '' }, { content: 'Hel' }, { content: 'lo' }, {}],
    read: [
      { type: 'text', text: 'Hel', logprobs: [] },
      { type: 'text', text: 'lo', logprobs: [] },
    ],
  },
  'a refusal': { deltas: [{ refusal: 'No.' }], read: [{ type: 'refusal', text: 'No.' }] },
  'plain reasoning under both names counts once': {
    deltas: [{ reasoning: 'Hm.', reasoning_content: 'Hm.', content: 'Yes' }],
    read: [
      { type: 'reasoning', kind: 'text', text: 'Hm.', ...plain },
      { type: 'text', text: 'Yes', logprobs: [] },
    ],
  },
  'details with their copy, then the signature': {
    deltas: [
      { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', ...claude }] },
      { reasoning_details: [{ type: 'reasoning.text', signature: 'sig', ...claude }] },
    ],
    read: [
      { type: 'reasoning', kind: 'text', text: 'Hm.', ...claude, signature: null },
      { type: 'reasoning', kind: 'text', text: '', ...claude, signature: 'sig' },
    ],
  },
  'a summary and encrypted data': {
    deltas: [
      {
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'I look.' },
          { type: 'reasoning.encrypted', data: 'QUJD', id: 'rs_1', format: 'openai-responses-v1' },
          { type: 'reasoning.unknown', data: 'x' },
        ],
      },
    ],
    read: [
      { type: 'reasoning', kind: 'summary', text: 'I look.', ...plain, index: 0 },
      {
        type: 'reasoning',
        kind: 'encrypted',
        text: 'QUJD',
        signature: null,
        id: 'rs_1',
        format: 'openai-responses-v1',
        index: 1,
      },
    ],
  },
  'two calls, one of a custom tool': {
    deltas: [
      call(0, { id: 'a', type: 'function', function: { name: 'look', arguments: '' } }),
      call(0, { function: { name: 'look', arguments: '{"at":' } }),
      call(0, { function: { arguments: '1}' } }),
      call(1, { id: 'b', type: 'custom', custom: { name: 'patch', input: '*** ' } }),
      call(1, { custom: { input: 'End' } }),
    ],
    read: [
      { type: 'call', call: 0, kind: 'function', id: 'a', name: 'look' },
      { type: 'input', call: 0, text: '{"at":' },
      { type: 'input', call: 0, text: '1}' },
      { type: 'call', call: 1, kind: 'custom', id: 'b', name: 'patch' },
      { type: 'input', call: 1, text: '*** ' },
      { type: 'input', call: 1, text: 'End' },
    ],
  },
  'a name that comes late': {
    deltas: [
      { tool_calls: [{ id: 'a', function: { arguments: '{' } }] },
      { tool_calls: [{ function: { name: 'go', arguments: '}' } }] },
    ],
    read: [
      { type: 'call', call: 0, kind: 'function', id: 'a', name: 'go' },
      { type: 'input', call: 0, text: '{}' },
    ],
  },
  'ids that are taken or missing': {
    deltas: [
      call(0, { id: 'a', function: { name: 'go' } }),
      call(1, { id: 'a', function: { name: 'go' } }),
      call(2, { function: { name: 'go' } }),
    ],
    read: ['a', null, null].map((id, index) => ({
      type: 'call',
      call: index,
      kind: 'function',
      id,
      name: 'go',
    })),
  },
  'values of the wrong type': {
    deltas: [
      { content: 7, refusal: [], reasoning: {}, reasoning_details: 'x', tool_calls: [null, 7, {}] },
      { reasoning_details: [null, 7, { type: 7 }, { type: 'reasoning.text', text: 7 }] },
    ],
    read: [],
  },
};

describe('pieces of a reply', () => {
  for (const [what, { deltas, read }] of Object.entries(table)) {
    test(what, () => {
      const next = deltaReader();
      const got = deltas.flatMap((delta) => next({ choices: [{ index: 0, delta }] }));
      assert.deepEqual(got, read);
    });
  }

  test('calls that no model makes are left out', () => {
    const next = deltaReader();
    const calls = Array.from({ length: 1_030 }, (_, i) => ({ index: i, function: { name: 'f' } }));
    assert.equal(next({ choices: [{ delta: { tool_calls: calls } }] }).length, 1_024);
  });

  test('only the first choice counts, with its log probabilities and its end', () => {
    const next = deltaReader();
    const logprobs = { content: [{ token: 'a' }, null] };
    const first = { index: 0, delta: { content: 'a' }, logprobs, finish_reason: 'stop' };
    const other = { index: 1, delta: { content: 'b' }, finish_reason: 'length' };
    assert.deepEqual(next({ choices: [other, first] }), [
      { type: 'text', text: 'a', logprobs: [{ token: 'a' }] },
      { type: 'finish', reason: 'stop', stop: null },
    ]);
    for (const chunk of [{}, { choices: null }, { choices: [] }, { choices: [7] }])
      assert.deepEqual(next(chunk), []);
  });
});
