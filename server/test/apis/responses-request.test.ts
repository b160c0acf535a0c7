import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { ApiError, type ErrorCode } from '../../src/core/errors.ts';
import { readResponsesCall } from '../../src/core/apis/responses/read-call.ts';
import { responsesWriter } from '../../src/core/apis/responses/write-reply.ts';
import { chatBodyOf, wholeReply } from '../kit/chat-apis.ts';
import { isLong } from '../kit/long.ts';
import { openStage, type Stage } from './responses-kit.ts';

type Json = Record<string, any>;

/** Calls of OpenAI's Responses as chat bodies, and calls that are refused. */

const user = { role: 'user', content: 'hello' };
const base = { model: 'stage/chat', input: 'hello' };
const look = { type: 'function', name: 'look', parameters: { type: 'object' } };
const call = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' };
const answer = { type: 'function_call_output', call_id: 'c1', output: 'Sunny.' };
const called = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
const origin = { id: 'rs_1', format: 'openai-responses-v1' };

/** Fields of a call, and fields of the chat body that they become. */
const translated: Record<string, [call: Json, chat: Json]> = {
  'a text': [{}, { messages: [user] }],
  'null for every optional field': [
    {
      instructions: null,
      tools: null,
      tool_choice: null,
      text: null,
      reasoning: null,
      max_output_tokens: null,
      include: null,
      truncation: null,
      previous_response_id: null,
    },
    { messages: [user] },
  ],
  'limits and settings': [
    {
      max_output_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_logprobs: 2,
      user: 'u',
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'high' },
    },
    {
      max_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_logprobs: 2,
      logprobs: true,
      user: 'u',
      reasoning_effort: 'low',
      verbosity: 'high',
    },
  ],
  'fields that are not passed on': [
    {
      store: true,
      metadata: { a: 'b' },
      service_tier: 'priority',
      truncation: 'auto',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      background: false,
      unknown: {},
      include: ['reasoning.encrypted_content'],
      stream_options: {},
    },
    { messages: [user], service_tier: undefined, metadata: undefined, logprobs: undefined },
  ],
  'log probabilities by include': [
    { include: ['message.output_text.logprobs'] },
    { logprobs: true },
  ],
  'a JSON object': [
    { text: { format: { type: 'json_object' } } },
    { response_format: { type: 'json_object' } },
  ],
  'a schema': [
    { text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: true } } },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: {}, strict: true },
      },
    },
  ],
  tools: [
    {
      tools: [
        { ...look, strict: null },
        { type: 'custom', name: 'patch', format: { type: 'text' } },
        {
          type: 'custom',
          name: 'sql',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
        },
        { type: 'namespace', name: 'mcp__git', tools: [{ type: 'function', name: 'log' }] },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'look' }],
      },
      parallel_tool_calls: false,
    },
    {
      tools: [
        {
          type: 'function',
          function: { name: 'look', parameters: { type: 'object', properties: {} } },
        },
        { type: 'custom', custom: { name: 'patch' } },
        {
          type: 'custom',
          custom: {
            name: 'sql',
            format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
          },
        },
        { type: 'function', function: { name: 'mcp__git__log' } },
      ],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'required',
          tools: [{ type: 'function', function: { name: 'look' } }],
        },
      },
      parallel_tool_calls: false,
    },
  ],
  'a choice without tools': [
    { tools: [], tool_choice: 'auto', parallel_tool_calls: true },
    { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined },
  ],
  'one tool chosen': [
    { tools: [look], tool_choice: { type: 'function', name: 'look' } },
    { tool_choice: { type: 'function', function: { name: 'look' } } },
  ],
  'system and developer messages in a row': [
    {
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
        { type: 'message', role: 'system', content: 'Be quick.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_text', text: 'b' },
          ],
        },
      ],
    },
    {
      messages: [
        { role: 'system', content: 'Be brief.\n\nBe kind.\n\nBe quick.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    },
  ],
  'images and files': [
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_image', file_id: 'file_1', detail: 'high' },
            { type: 'input_image', image_url: 'https://a.test/b.png', detail: null },
            { type: 'input_file', file_id: 'file_2' },
            { type: 'input_file', file_data: 'QUJD', filename: 'a.pdf' },
            { type: 'input_file', file_url: 'https://a.test/b.pdf' },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'file_1', detail: 'high' } },
            { type: 'image_url', image_url: { url: 'https://a.test/b.png' } },
            { type: 'file', file: { file_id: 'file_2' } },
            { type: 'file', file: { file_data: 'QUJD', filename: 'a.pdf' } },
            { type: 'file', file: { file_data: 'https://a.test/b.pdf' } },
          ],
        },
      ],
    },
  ],
  'reasoning, text and calls of one reply': [
    {
      input: [
        user,
        {
          type: 'reasoning',
          id: 'rs_1',
          encrypted_content: 'QUJD',
          summary: [{ type: 'summary_text', text: 'Look.' }],
          content: [{ type: 'reasoning_text', text: 'I must look.' }],
        },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
        },
        call,
        { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '***' },
        answer,
        {
          type: 'custom_tool_call_output',
          call_id: 'c2',
          output: [{ type: 'input_text', text: 'ok' }],
        },
      ],
    },
    {
      messages: [
        user,
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_details: [
            { type: 'reasoning.summary', summary: 'Look.', ...origin, index: 0 },
            { type: 'reasoning.text', text: 'I must look.', ...origin, index: 1 },
            { type: 'reasoning.encrypted', data: 'QUJD', ...origin, index: 2 },
          ],
          tool_calls: [
            called,
            { id: 'c2', type: 'custom', custom: { name: 'patch', input: '***' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'Sunny.' },
        { role: 'tool', tool_call_id: 'c2', content: 'ok' },
      ],
    },
  ],
  'reasoning of another service in two items': [
    {
      input: [
        user,
        ...['rs_1', 'rs_2'].map((id) => ({
          type: 'reasoning',
          id,
          summary: [{ type: 'summary_text', text: `Of ${id}.` }],
          encrypted_content: 'QUJD',
        })),
        call,
        answer,
      ],
    },
    {
      messages: [
        user,
        {
          role: 'assistant',
          content: null,
          reasoning_details: ['rs_1', 'rs_2'].flatMap((id, i) => [
            { type: 'reasoning.summary', summary: `Of ${id}.`, ...origin, id, index: 2 * i },
            { type: 'reasoning.encrypted', data: 'QUJD', ...origin, id, index: 2 * i + 1 },
          ]),
          tool_calls: [called],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'Sunny.' },
      ],
    },
  ],
  'an empty address beside another way to name a file': [
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_image', image_url: '', file_id: 'file_1' },
            { type: 'input_image', image_url: 'https://a.test/b.png', file_id: '' },
            { type: 'input_file', file_id: '', file_data: '', file_url: 'https://a.test/b.pdf' },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'file_1' } },
            { type: 'image_url', image_url: { url: 'https://a.test/b.png' } },
            { type: 'file', file: { file_data: 'https://a.test/b.pdf' } },
          ],
        },
      ],
    },
  ],
  'outputs that belong to no call, as Codex tells of events': [
    {
      input: [
        user,
        call,
        {
          type: 'function_call_output',
          name: 'goal_objective',
          namespace: 'agent',
          output: 'Read it.',
        },
        answer,
        { type: 'function_call_output', call_id: null, name: 'heartbeat', output: 'Tick.' },
        {
          type: 'custom_tool_call_output',
          output: [
            { type: 'input_text', text: 'See.' },
            { type: 'input_image', image_url: 'https://a.test/b.png' },
          ],
        },
      ],
    },
    {
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [called] },
        { role: 'tool', tool_call_id: 'c1', content: 'Sunny.' },
        { role: 'user', content: 'Output of agent.goal_objective:\nRead it.' },
        { role: 'user', content: 'Output of heartbeat:\nTick.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Output of a tool:\nSee.' },
            { type: 'image_url', image_url: { url: 'https://a.test/b.png' } },
          ],
        },
      ],
    },
  ],
  'messages of the user between calls and their results': [
    {
      input: [
        user,
        call,
        { ...call, call_id: 'c2' },
        user,
        answer,
        user,
        { ...answer, call_id: 'c2' },
      ],
    },
    {
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [called, { ...called, id: 'c2' }] },
        { role: 'tool', tool_call_id: 'c1', content: 'Sunny.' },
        { role: 'tool', tool_call_id: 'c2', content: 'Sunny.' },
        user,
        user,
      ],
    },
  ],
  'a call of a tool in a namespace': [
    { input: [user, { ...call, name: 'log', namespace: 'mcp__git' }] },
    {
      messages: [
        user,
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...called, function: { name: 'mcp__git__log', arguments: '{}' } }],
        },
      ],
    },
  ],
  'a refusal, and reasoning without a reply': [
    {
      input: [
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        user,
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
        user,
      ],
    },
    { messages: [{ role: 'assistant', content: null, refusal: 'No.' }, user, user] },
  ],
};

describe('a call becomes a chat body', () => {
  for (const [what, [change, chat]] of Object.entries(translated)) {
    test(what, () => {
      const body = chatBodyOf(readResponsesCall({ ...base, ...change }));
      for (const [field, value] of Object.entries(chat)) assert.deepEqual(body[field], value);
    });
  }

  test('a call without a limit gets one that agents can work with', () => {
    assert.equal(readResponsesCall(base).max_tokens, 32_768);
  });

  test('a tool with a long name in a namespace gets a short one, and is called by its own', () => {
    const name = 'n'.repeat(60);
    const tools = [{ type: 'namespace', name: 'mcp__git', tools: [{ type: 'function', name }] }];
    const body = chatBodyOf(readResponsesCall({ ...base, tools }));
    const short = body.tools[0].function.name;
    assert.equal(short.length, 64);
    const message = { tool_calls: [{ id: 'c', function: { name: short, arguments: '{}' } }] };
    const completion = { choices: [{ message, finish_reason: 'tool_calls' }] };
    const { output } = wholeReply(responsesWriter, [completion], {}, { ...base, tools });
    assert.deepEqual([output[0].namespace, output[0].name], ['mcp__git', name]);
  });
});

const thought = { type: 'reasoning', encrypted_content: 'QUJD' };
const item = (more: Json) => ({ input: [user, more] });
const part = (more: Json) => item({ role: 'user', content: [more] });
const tool = (more: Json) => ({ tools: [look, more] });

const hostedTypes = [
  'web_search',
  'web_search_preview',
  'file_search',
  'code_interpreter',
  'image_generation',
  'mcp',
  'computer_use',
  'local_shell',
];

/** Reasoning as a caller may forge it. */
const forged = (more: string) => {
  const text = `{"details":[],"text":"","more":${more}}`;
  return { type: 'reasoning', encrypted_content: `farebox1.${btoa(text).replace(/=+$/, '')}` };
};

/** Calls that are refused, with the code and the field at fault. */
const refused: [change: Json, code: ErrorCode, param: string | null][] = [
  [{ model: undefined }, 'bad_request', 'model'],
  [{ model: 'none' }, 'unknown_model', 'model'],
  [{ input: undefined }, 'bad_messages', 'input'],
  [{ input: [] }, 'bad_messages', 'input'],
  [{ input: 7 }, 'bad_messages', 'input'],
  [{ input: Array.from({ length: 10_001 }, () => user) }, 'bad_messages', 'input'],
  [{ instructions: ['x'] }, 'bad_request', 'instructions'],
  [{ previous_response_id: 'resp_1' }, 'bad_request', 'previous_response_id'],
  [{ conversation: 'conv_1' }, 'bad_request', 'conversation'],
  [{ prompt: { id: 'pmpt_1' } }, 'bad_request', 'prompt'],
  [{ background: true }, 'bad_request', 'background'],
  [{ max_output_tokens: 0 }, 'bad_request', 'max_output_tokens'],
  [{ max_output_tokens: '9' }, 'bad_request', 'max_output_tokens'],
  [{ temperature: 'x' }, 'bad_request', 'temperature'],
  [{ top_logprobs: 1.5 }, 'bad_request', 'top_logprobs'],
  [{ stream: 'yes' }, 'bad_request', 'stream'],
  [{ truncation: 'middle' }, 'bad_request', 'truncation'],
  [{ include: 'x' }, 'bad_request', 'include'],
  [{ reasoning: 'high' }, 'bad_request', 'reasoning'],
  [{ reasoning: { effort: 3 } }, 'bad_request', 'reasoning.effort'],
  [{ text: { verbosity: 3 } }, 'bad_request', 'text.verbosity'],
  [{ text: { format: { type: 'grammar' } } }, 'bad_request', 'text.format.type'],
  [{ text: { format: { type: 'json_schema', schema: {} } } }, 'bad_request', 'text.format.name'],
  [{ text: { format: { type: 'json_schema', name: 'n' } } }, 'bad_request', 'text.format.schema'],
  [{ tools: {} }, 'bad_request', 'tools'],
  [tool({ type: 'function' }), 'bad_request', 'tools[1].name'],
  [tool({ type: 'function', name: 'f', parameters: [] }), 'bad_request', 'tools[1].parameters'],
  ...hostedTypes.map((type): [Json, ErrorCode, string] => [
    tool({ type }),
    'bad_request',
    'tools[1].type',
  ]),
  [
    tool({ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }),
    'bad_request',
    'tools[1].tools[0].type',
  ],
  [
    {
      tools: [
        { type: 'namespace', name: 'a', tools: [{ type: 'custom', name: 'b__c' }] },
        { type: 'namespace', name: 'a__b', tools: [look, { type: 'function', name: 'c' }] },
      ],
    },
    'bad_request',
    'tools[1].tools[1].name',
  ],
  [{ tool_choice: 'any' }, 'bad_request', 'tool_choice'],
  [{ tool_choice: { type: 'web_search' } }, 'bad_request', 'tool_choice.type'],
  [{ tool_choice: { type: 'function' } }, 'bad_request', 'tool_choice.name'],
  [
    { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp' }] } },
    'bad_request',
    'tool_choice.tools[0].type',
  ],
  [item({ type: 'item_reference', id: 'msg_1' }), 'bad_messages', 'input[1].type'],
  [item({ type: 'holodeck_call', id: 'ws_1' }), 'bad_messages', 'input[1].type'],
  [{ input: [user, 'x'] }, 'bad_messages', 'input[1]'],
  [item({ role: 'tool', content: 'x' }), 'bad_messages', 'input[1].role'],
  [item({ role: 'user' }), 'bad_messages', 'input[1].content'],
  [item({ role: 'user', content: [] }), 'bad_messages', 'input[1].content'],
  [part({ type: 'input_audio' }), 'bad_messages', 'input[1].content[0]'],
  [part({ type: 'input_text' }), 'bad_messages', 'input[1].content[0].text'],
  [part({ type: 'input_image' }), 'bad_messages', 'input[1].content[0]'],
  [
    part({ type: 'input_image', image_url: 'data:text/html,x' }),
    'bad_messages',
    'input[1].content[0].image_url',
  ],
  [
    part({ type: 'input_image', file_id: `file_${'0'.repeat(32)}` }),
    'bad_messages',
    'input[1].content[0].file_id',
  ],
  [
    part({ type: 'input_file', file_url: 'data:text/html,' }),
    'bad_messages',
    'input[1].content[0].file_url',
  ],
  [
    { model: 'stage/text', ...part({ type: 'input_file', file_data: 'QUJD' }) },
    'bad_messages',
    'input[1].content[0]',
  ],
  [
    part({ type: 'input_image', image_url: 'https://a.test/b.png', detail: 2 }),
    'bad_messages',
    'input[1].content[0].detail',
  ],
  [part({ type: 'input_file' }), 'bad_messages', 'input[1].content[0]'],
  [
    part({ type: 'input_file', file_id: 'file-openai' }),
    'bad_messages',
    'input[1].content[0].file_id',
  ],
  [item({ ...call, call_id: '' }), 'bad_messages', 'input[1].call_id'],
  [item({ ...answer, call_id: '' }), 'bad_messages', 'input[1].call_id'],
  [item({ ...answer, call_id: undefined, name: 7 }), 'bad_messages', 'input[1].name'],
  [item({ ...call, arguments: 7 }), 'bad_messages', 'input[1].arguments'],
  [item({ type: 'custom_tool_call', call_id: 'c', name: 'n' }), 'bad_messages', 'input[1].input'],
  [
    item({ ...answer, output: [{ type: 'input_image', image_url: 'x:y' }] }),
    'bad_messages',
    'input[1].output[0].image_url',
  ],
  [item({ type: 'reasoning', summary: [{}] }), 'bad_messages', 'input[1].summary[0].text'],
  [
    item({ type: 'reasoning', encrypted_content: 'farebox1.QUJD' }),
    'bad_messages',
    'input[1].encrypted_content',
  ],
  [item(forged(`${'['.repeat(8)}${']'.repeat(8)}`)), 'bad_messages', 'input[1].encrypted_content'],
  [item(forged(`[${'0,'.repeat(9_999)}0]`)), 'bad_messages', 'input[1].encrypted_content'],
  [
    { input: [user, ...Array.from({ length: 4_097 }, () => thought), user] },
    'bad_messages',
    'input[4097]',
  ],
  [{ metadata: { a: 'b'.repeat(513) } }, 'bad_request', 'metadata'],
];

test('tools whose names are the same with their namespaces are both named', () => {
  const log = { type: 'function', name: 'log' };
  const git = { type: 'namespace', name: 'git', tools: [log] };
  const refusal = (...tools: Json[]) => {
    let said = '';
    try {
      readResponsesCall({ ...base, tools });
    } catch (error) {
      said = String(error);
    }
    return said;
  };
  const flat = { ...log, name: 'git__log' };
  for (const tools of [
    [flat, git],
    [git, flat],
  ])
    assert.match(
      refusal(...tools),
      /tools\[[01]\].*name and tools\[[01]\].*name are both git__log/,
    );
  assert.match(refusal(git, git), /tools\[1\]\.tools\[0\]\.name and tools\[0\]\.tools\[0\]/);
  assert.equal(refusal(git, log, { ...git, name: 'svn' }), '');
});

describe('a call that is refused', () => {
  let stage: Stage;
  before(async () => void (stage = await openStage()));
  after(() => stage.close());

  test('names its field, and costs nothing', async () => {
    const { service, account, fake } = stage;
    const transfers = await service.transfers();
    for (const [change, code, param] of refused) {
      const reply = await account.post('/v1/responses', { ...base, ...change });
      const { error } = reply.body;
      const what = JSON.stringify(change).slice(0, 200);
      assert.ok(error, what);
      assert.deepEqual([reply.status, error.code, error.param], [400, code, param], what);
      assert.doesNotMatch(error.message, /messages\[|max_tokens|type image_url|type file\b/);
    }
    assert.equal(fake.chat.asked.length, 0);
    assert.equal((await service.balance(account)).reserved, 0n);
    assert.equal(await service.transfers(), transfers);
  });

  test('without a key or without money is refused as a chat is', async () => {
    const { service } = stage;
    const refusals = [{ key: 'x' }, { key: (await service.account({ usd: 0 })).key }];
    for (const { key } of refusals) {
      const [chat, response] = await Promise.all([
        service.call('POST', '/v1/chat/completions', {
          key,
          body: { model: base.model, messages: [user], max_tokens: 9 },
        }),
        service.call('POST', '/v1/responses', { key, body: { ...base, max_output_tokens: 9 } }),
      ]);
      const shown = ({ status, body }: Json) => [status, { ...body.error, request_id: null }];
      assert.deepEqual(shown(response), shown(chat));
    }
  });
});

test('any JSON in any place is translated or refused by name', () => {
  const whole: Json = {
    ...base,
    ...translated.tools![0],
    ...translated['limits and settings']![0],
    input: [
      ...(translated['reasoning, text and calls of one reply']![0].input as Json[]),
      ...(translated['images and files']![0].input as Json[]),
    ],
    text: { format: { type: 'json_schema', name: 'n', schema: {} } },
  };
  const places: (string | number)[][] = [];
  const visit = (value: unknown, path: (string | number)[]): void => {
    if (path.length > 0) places.push(path);
    if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value))
        visit(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  };
  visit(whole, []);
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
    fc.constantFrom('function', 'custom', 'namespace', 'reasoning', 'farebox1.e30', '__proto__'),
    fc.constantFrom('farebox1.eyJkZXRhaWxzIjpbe31dLCJ0ZXh0IjoiIn0'),
  );
  const changed = (value: unknown, [key, ...rest]: (string | number)[], to: unknown): any => {
    const copy: any = Array.isArray(value) ? [...value] : { ...(value as object) };
    copy[key!] = rest.length === 0 ? to : changed(copy[key!], rest, to);
    return copy;
  };
  fc.assert(
    fc.property(fc.constantFrom(...places), odd, (path, to) => {
      const body = changed(whole, path, to);
      try {
        readResponsesCall(body);
      } catch (error) {
        assert.ok(error instanceof ApiError, String((error as Error).stack));
        assert.ok(error.param !== null && error.status === 400);
        assert.ok(error.message.includes(error.param), error.message);
      }
      const completion = { choices: [{ message: { content: 'x' } }] };
      assert.equal(wholeReply(responsesWriter, [completion], {}, body).object, 'response');
    }),
    { numRuns: isLong ? 20_000 : 1_000, seed: 7 },
  );
});
