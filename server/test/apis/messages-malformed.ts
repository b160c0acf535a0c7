import type { ErrorCode } from '../../src/core/errors.ts';

type Json = Record<string, unknown>;

const said = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] });
const answered = (...content: unknown[]) => ({
  messages: [
    { role: 'user', content: 'a' },
    { role: 'assistant', content },
  ],
});
const image = (source: Json) => ({ type: 'image', source });
const ours = (text: string) => `farebox1.${Buffer.from(text).toString('base64url')}`;
const tool = { name: 't', input_schema: {} };

/** Changes to a call of `bench/chat`, each with its refusal. */
export const malformed: [what: string, change: Json, code: ErrorCode, param: string][] = [
  ['no model', { model: null }, 'bad_request', 'model'],
  ['an unknown model', { model: 'bench/none' }, 'unknown_model', 'model'],
  ['no max_tokens', { max_tokens: null }, 'bad_request', 'max_tokens'],
  ['max_tokens as text', { max_tokens: '9' }, 'bad_request', 'max_tokens'],
  ['no messages', { messages: [] }, 'bad_messages', 'messages'],
  ['no messages beside a system text', { messages: null, system: 'a' }, 'bad_messages', 'messages'],
  ['a message that is none', { messages: ['a'] }, 'bad_messages', 'messages[0]'],
  [
    'an unknown role',
    { messages: [{ role: 'tool', content: 'a' }] },
    'bad_messages',
    'messages[0].role',
  ],
  ['no content', { messages: [{ role: 'user' }] }, 'bad_messages', 'messages[0].content'],
  ['empty content', said(), 'bad_messages', 'messages[0].content'],
  ['a block that is none', said(5), 'bad_messages', 'messages[0].content[0]'],
  [
    'a signature of ours that was changed',
    answered({ type: 'thinking', thinking: 'a', signature: ours('{') }),
    'bad_messages',
    'messages[1].content[0].signature',
  ],
  ...[`${'['.repeat(8)}${']'.repeat(8)}`, `[${'0,'.repeat(9_999)}0]`].map(
    (more): (typeof malformed)[number] => [
      `a signature of ours that holds too much: ${more.slice(0, 4)}`,
      answered({
        type: 'thinking',
        thinking: 'a',
        signature: ours(`{"proof":"a","more":${more}}`),
      }),
      'bad_messages',
      'messages[1].content[0].signature',
    ],
  ),
  [
    'a block of an unknown type',
    answered({ type: 'holodeck' }),
    'bad_messages',
    'messages[1].content[0].type',
  ],
  [
    'an image of the assistant',
    answered(image({ type: 'url', url: 'https://a/b' })),
    'bad_messages',
    'messages[1].content[0].type',
  ],
  [
    'a text that is a number',
    said({ type: 'text', text: 1 }),
    'bad_messages',
    'messages[0].content[0].text',
  ],
  ['a text that is missing', said({ type: 'text' }), 'bad_messages', 'messages[0].content[0].text'],
  [
    'an image without source',
    said({ type: 'image' }),
    'bad_messages',
    'messages[0].content[0].source',
  ],
  [
    'an image from elsewhere',
    said(image({ type: 's3' })),
    'bad_messages',
    'messages[0].content[0].source.type',
  ],
  [
    'an image without data',
    said(image({ type: 'base64', media_type: 'image/png' })),
    'bad_messages',
    'messages[0].content[0].source.data',
  ],
  [
    'an image that is a film',
    said(image({ type: 'base64', media_type: 'video/mp4', data: 'AA==' })),
    'bad_messages',
    'messages[0].content[0].source.media_type',
  ],
  [
    'an image at no address',
    { system: 'a', ...said({ type: 'text', text: 'a' }, image({ type: 'url', url: 'b' })) },
    'bad_messages',
    'messages[0].content[1].source.url',
  ],
  [
    'an image that was never uploaded',
    said(image({ type: 'file', file_id: `file_${'0'.repeat(32)}` })),
    'bad_messages',
    'messages[0].content[0].source.file_id',
  ],
  [
    'a PDF for a model that takes none',
    said(
      { type: 'text', text: 'a' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' } },
    ),
    'bad_messages',
    'messages[0].content[1]',
  ],
  [
    'a PDF in the result of a tool',
    said({
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }],
    }),
    'bad_messages',
    'messages[0].content[0].content[0]',
  ],
  [
    'a tool result without id',
    said({ type: 'tool_result' }),
    'bad_messages',
    'messages[0].content[0].tool_use_id',
  ],
  [
    'a search result without content',
    said({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'search_result' }] }),
    'bad_messages',
    'messages[0].content[0].content[0].content',
  ],
  [
    'a tool call without name',
    answered({ type: 'tool_use', id: 'a' }),
    'bad_messages',
    'messages[1].content[0].name',
  ],
  [
    'a tool call with a number',
    answered({ type: 'tool_use', id: 'a', name: 'b', input: 5 }),
    'bad_messages',
    'messages[1].content[0].input',
  ],
  [
    'an image in the system',
    { system: [image({ type: 'url', url: 'https://a/b' })] },
    'bad_messages',
    'system[0].type',
  ],
  ['tools that are no list', { tools: {} }, 'bad_request', 'tools'],
  [
    'a web search',
    { tools: [tool, { type: 'web_search_20250305', name: 'web_search' }] },
    'bad_request',
    'tools[1].type',
  ],
  [
    'a computer',
    { tools: [{ type: 'computer_20250124', name: 'computer' }] },
    'bad_request',
    'tools[0].type',
  ],
  ['a tool without name', { tools: [{ input_schema: {} }] }, 'bad_request', 'tools[0].name'],
  ['a tool without schema', { tools: [{ name: 't' }] }, 'bad_request', 'tools[0].input_schema'],
  [
    'a choice that is none',
    { tools: [tool], tool_choice: { type: 'some' } },
    'bad_request',
    'tool_choice.type',
  ],
  [
    'a choice without name',
    { tools: [tool], tool_choice: { type: 'tool' } },
    'bad_request',
    'tool_choice.name',
  ],
  ['servers of tools', { mcp_servers: [{ url: 'https://a' }] }, 'bad_request', 'mcp_servers'],
  ['a container', { container: 'c' }, 'bad_request', 'container'],
  ['a thread', { thread: { type: 'create' } }, 'bad_request', 'thread'],
  [
    'thinking without budget',
    { thinking: { type: 'enabled' } },
    'bad_request',
    'thinking.budget_tokens',
  ],
  ['thinking of no kind', { thinking: {} }, 'bad_request', 'thinking.type'],
  [
    'an unknown effort',
    { output_config: { effort: 'most' } },
    'bad_request',
    'output_config.effort',
  ],
  [
    'a format that is none',
    { output_config: { format: { type: 'xml' } } },
    'bad_request',
    'output_config.format.type',
  ],
  [
    'a format without schema',
    { output_format: { type: 'json_schema' } },
    'bad_request',
    'output_format.schema',
  ],
  ['stops that are no list', { stop_sequences: 'a' }, 'bad_request', 'stop_sequences'],
  ['a stop that is a number', { stop_sequences: ['a', 1] }, 'bad_request', 'stop_sequences[1]'],
  ['a user that is a number', { metadata: { user_id: 1 } }, 'bad_request', 'metadata.user_id'],
  ['a hot text', { temperature: 'hot' }, 'bad_request', 'temperature'],
  ['a stream that is a text', { stream: 'yes' }, 'bad_request', 'stream'],
];
