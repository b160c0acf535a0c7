import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faultsIn } from '../faults.ts';
import { toolCalls, toolResults, unknownTool } from './tools.ts';

const tool = (name: string) => ({
  type: 'function',
  function: {
    name,
    parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
  },
});
const custom = { type: 'custom', custom: { name: 'shell' } };
const tools = [tool('a'), tool('b'), tool('c')];
const user = (content: string) => ({ role: 'user', content });
const called = (...names: string[]) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: names.map((name) => ({ id: `id-${name}`, type: 'function', function: { name } })),
  },
  ...names.map((name) => ({ role: 'tool', tool_call_id: `id-${name}`, content: `${name} done` })),
];

function names(said: string, more: Record<string, unknown> = {}, ...after: object[]): string[] {
  const body = { tools, messages: [user(said), ...after], ...more };
  return toolCalls(body, faultsIn(said)).map(({ name }) => name);
}

const choose = (name: string) => ({ tool_choice: { type: 'function', function: { name } } });
const allow = (mode: string) => ({
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'b' } }] },
  },
});

describe('the sandbox calls', () => {
  const cases: [name: string, got: string[], expected: string[]][] = [
    ['the first tool', names('hi'), ['a']],
    ['nothing without tools', names('hi', { tools: undefined }), []],
    ['nothing where the choice is none', names('hi', { tool_choice: 'none' }), []],
    ['nothing where the message says so', names('sandbox:no-tool'), []],
    ['nothing where a length is asked for', names('sandbox:words=9'), []],
    ['the tool that is chosen', names('hi', choose('c')), ['c']],
    ['one of those allowed', names('hi', allow('auto')), ['b']],
    ['the tool that the message names', names('sandbox:tool=b'), ['b']],
    ['all that it names', names('sandbox:tool=c sandbox:tool=a'), ['c', 'a']],
    [
      'one at a time where calls may not be parallel',
      names('sandbox:tool=c sandbox:tool=a', { parallel_tool_calls: false }),
      ['c'],
    ],
    [
      'then the next one',
      names('sandbox:tool=c sandbox:tool=a', { parallel_tool_calls: false }, ...called('c')),
      ['a'],
    ],
    [
      'all where calls shall be parallel',
      names('hi', { parallel_tool_calls: true }),
      ['a', 'b', 'c'],
    ],
    ['nothing once it has a result', names('hi', {}, ...called('a')), []],
    ['the first again after the next message', names('hi', {}, ...called('a'), user('and')), ['a']],
    [
      'the next tool where a call is required',
      names('hi', { tool_choice: 'required' }, ...called('a')),
      ['b'],
    ],
    [
      'the last again where all were called',
      names('hi', { tool_choice: 'required' }, ...called('a', 'b', 'c')),
      ['c'],
    ],
    ['a custom tool', names('hi', { tools: [custom] }), ['shell']],
  ];
  for (const [name, got, expected] of cases) test(name, () => assert.deepEqual(got, expected));

  test('with arguments that fit, or a text', () => {
    const [first] = toolCalls({ tools, messages: [] }, faultsIn(''));
    assert.deepEqual(first, { type: 'function', name: 'a', input: '{"q":"sandbox q"}' });
    const [other] = toolCalls({ tools: [custom], messages: [] }, faultsIn(''));
    assert.deepEqual(other, { type: 'custom', name: 'shell', input: 'sandbox shell' });
  });
});

test('a word that names no tool of the call is refused, with those there are', () => {
  const message = unknownTool({ tools }, faultsIn('sandbox:tool=zap'));
  assert.match(message!, /sandbox:tool=zap .* Offered: a, b, c\./);
  assert.equal(unknownTool({ tools }, faultsIn('sandbox:tool=b')), null);
});

test('results are read since the last user message', () => {
  const messages = [user('x'), ...called('a'), user('y'), ...called('b')];
  assert.deepEqual(toolResults(messages), [{ name: 'b', content: 'b done' }]);
});
