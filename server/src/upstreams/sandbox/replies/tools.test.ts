import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faultsIn } from '../faults.ts';
import { toolCalls, toolResults, wrongTool } from './tools.ts';

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
    ['one where calls may be parallel', names('hi', { parallel_tool_calls: true }), ['a']],
    ['all that a star asks for', names('sandbox:tool=*'), ['a', 'b', 'c']],
    [
      'a tool twice, with other arguments',
      names('sandbox:tool=a{"q":"1"} sandbox:tool=a{"q":"2"}'),
      ['a', 'a'],
    ],
    [
      'its second call where calls may not be parallel',
      names(
        'sandbox:tool=a{"q":"1"} sandbox:tool=a{"q":"2"}',
        { parallel_tool_calls: false },
        ...called('a'),
      ),
      ['a'],
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

/** The arguments of the first call of a tool with these fields. */
function args(
  name: string,
  properties: Record<string, unknown>,
  required: string[] = Object.keys(properties),
  said = 'hi',
): unknown {
  const parameters = { type: 'object', properties, required };
  const body = {
    tools: [{ type: 'function', function: { name, parameters } }],
    messages: [user(said)],
  };
  return JSON.parse(toolCalls(body, faultsIn(said))[0]!.input);
}

describe('arguments that an agent can run', () => {
  const text = { type: 'string' };
  const count = { type: 'number' };
  const read = { file_path: text, offset: count, limit: count, pages: text };
  const cases: [name: string, got: unknown, expected: unknown][] = [
    ['required fields only', args('Read', read, ['file_path']), { file_path: 'sandbox.txt' }],
    [
      'a path of the message',
      args('Read', read, ['file_path'], 'Please read "src/main.ts", then stop.'),
      { file_path: 'src/main.ts' },
    ],
    [
      'the last one, without its full stop',
      args('read_file', { absolutePath: text }, undefined, 'Not /etc/hosts but /tmp/a/note.txt.'),
      { absolutePath: '/tmp/a/note.txt' },
    ],
    [
      'no address and no abbreviation',
      args('Read', { file: text }, undefined, 'See https://example.com/a.txt, e.g. 3.5 and/or'),
      { file: 'and/or' },
    ],
    [
      'a file of its own where a tool changes files',
      args('write_file', { file_path: text, content: text }, undefined, 'Read notes.md'),
      { file_path: 'sandbox.txt', content: 'sandbox content' },
    ],
    [
      'a command that exists',
      args('bash', { command: text, timeout: count, run_in_background: { type: 'boolean' } }),
      { command: 'echo sandbox', timeout: 10_000, run_in_background: false },
    ],
    [
      'a command in words',
      args('shell', { command: { type: 'array', items: text }, workdir: text }),
      { command: ['echo', 'sandbox'], workdir: '.' },
    ],
    [
      'a pattern and a folder',
      args('glob', { pattern: text, path: text }),
      { pattern: '*', path: '.' },
    ],
    [
      'other spellings',
      args('x', { cmd: text, cwd: text, workingDirectory: text, dir: text, url: text }),
      {
        cmd: 'echo sandbox',
        cwd: '.',
        workingDirectory: '.',
        dir: '.',
        url: 'https://example.com/',
      },
    ],
    [
      'null for what may be null, as in strict tools',
      args('x', {
        command: text,
        workdir: { type: ['string', 'null'] },
        n: { anyOf: [count, { type: 'null' }] },
      }),
      { command: 'echo sandbox', workdir: null, n: null },
    ],
    [
      'what the schema says, before the name',
      args('x', { command: { enum: ['ls', 'pwd'] }, path: { const: '/a' }, profile: text }),
      { command: 'ls', path: '/a', profile: 'sandbox profile' },
    ],
    [
      'those of the message, with the rest filled in',
      args(
        'bash',
        { command: text, cwd: text, env: text },
        ['command', 'cwd'],
        'sandbox:tool=bash{"command":"ls -l \\"{a}\\"","env":"x"} now',
      ),
      { command: 'ls -l "{a}"', cwd: '.', env: 'x' },
    ],
  ];
  for (const [name, got, expected] of cases) test(name, () => assert.deepEqual(got, expected));
});

describe('a word is refused', () => {
  const shell = {
    type: 'function',
    function: {
      name: 'shell',
      parameters: {
        type: 'object',
        properties: {
          command: { type: 'string' },
          mode: { enum: ['a', 'b'] },
          words: { type: 'array', items: { type: 'integer' } },
        },
        required: ['command'],
        additionalProperties: false,
      },
    },
  };
  const cases: [said: string, says: RegExp][] = [
    ['sandbox:tool=zap', /names a tool .* Offered: shell, grep\./],
    ['sandbox:tool=zap{"a":1}', /names a tool/],
    ['sandbox:tool=shell{"command":7}', /wrong arguments: command must be of type string/],
    ['sandbox:tool=shell{"mode":"c"}', /mode must be "a" or "b"/],
    ['sandbox:tool=shell{"words":[1,"x"]}', /words\[1\] must be of type integer/],
    ['sandbox:tool=shell{"cmd":"ls"}', /cmd is not one of its fields/],
    ['sandbox:tool=shell{"command":', /not a JSON object/],
    ["sandbox:tool=shell{command:'ls'}", /not a JSON object/],
    ['sandbox:tool=grep{"a":1}', /takes none/],
    ['sandbox:tool=*{"a":1}', /takes none/],
  ];
  const offered = [shell, { type: 'custom', custom: { name: 'grep' } }];
  for (const [said, says] of cases)
    test(said, () => assert.match(wrongTool({ tools: offered }, faultsIn(said))!, says));

  test('and none that fits', () => {
    for (const said of [
      'sandbox:tool=shell',
      'sandbox:tool=shell{}',
      'sandbox:tool=*',
      'sandbox:tool=shell{"mode":"a","words":[]}',
    ])
      assert.equal(wrongTool({ tools: offered }, faultsIn(said)), null, said);
  });
});

test('results are read since the last user message', () => {
  const messages = [user('x'), ...called('a'), user('y'), ...called('b')];
  assert.deepEqual(toolResults(messages), [{ name: 'b', content: 'b done' }]);
});
