import { serve, type Answer, type Call } from './kit.ts';
import { openDesk } from './openai-chat.ts';
import {
  eventOf,
  piecesOf,
  usualUsage,
  type AskedCall,
  type ChatWire,
  type SaidReply,
} from './said.ts';

type Json = Record<string, any>;

/**
 * A strict stand-in of Anthropic's Messages: a call that Anthropic would refuse, or understand in
 * another way than meant, gets a 400.
 */

const key = 'sk-ant-fake-0123456789';

const errorAnswer = (status: number, type: string, message: string): Answer => ({
  status,
  json: { type: 'error', error: { type, message }, request_id: 'req_fake' },
});

async function open() {
  const desk = openDesk();
  const served = await serve((call: Call): Answer => {
    if (call.headers['x-api-key'] !== key)
      return errorAnswer(401, 'authentication_error', 'invalid x-api-key');
    if (call.headers['anthropic-version'] !== '2023-06-01')
      return errorAnswer(400, 'invalid_request_error', 'anthropic-version: header is required');
    if (call.method === 'GET' && call.path === '/v1/models')
      return { json: { data: [{ type: 'model', id: 'claude-fake' }], has_more: false } };
    if (call.method !== 'POST' || call.path !== '/v1/messages')
      return errorAnswer(404, 'not_found_error', 'Not found');
    const wrong = faultIn(call.json<Json>());
    return wrong === null ? desk.answer(call) : errorAnswer(400, 'invalid_request_error', wrong);
  });
  return { url: served.url, key, desk, close: served.close };
}

const fields = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'stop_sequences',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'tools',
  'tool_choice',
  'thinking',
  'metadata',
  'output_config',
]);

export function faultIn(body: Json): string | null {
  const extra = Object.keys(body).find((name) => !fields.has(name));
  if (extra) return `${extra}: Extra inputs are not permitted`;
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 1) return 'max_tokens: wrong';
  if (body.system !== undefined && wrongBlocks(body.system, ['text'])) return 'system: wrong';
  return wrongTools(body) ?? wrongThinking(body) ?? wrongTurns(body.messages);
}

function wrongTools({ tools = [], tool_choice }: Json): string | null {
  for (const { name, input_schema, ...rest } of tools) {
    if (!/^[\w-]{1,128}$/.test(name)) return 'tools: name';
    if (input_schema?.type !== 'object') return 'tools: input_schema.type';
    const own = new Set(['description', 'strict', 'cache_control']);
    if (Object.keys(rest).some((each) => !own.has(each))) return 'tools: extra inputs';
  }
  if (tool_choice === undefined) return null;
  if (tools.length === 0) return 'tool_choice: without tools';
  return ['auto', 'any', 'none', 'tool'].includes(tool_choice.type) ? null : 'tool_choice: wrong';
}

function wrongThinking({ thinking, max_tokens, temperature, top_k, tool_choice }: Json) {
  if (thinking === undefined || thinking.type === 'disabled') return null;
  if (thinking.type === 'enabled') {
    const { budget_tokens: budget } = thinking;
    if (!(budget >= 1_024 && budget < max_tokens)) return 'thinking.budget_tokens: wrong';
  } else if (thinking.type !== 'adaptive') return 'thinking.type: wrong';
  if (temperature !== undefined || top_k !== undefined) return 'temperature: not with thinking';
  return ['any', 'tool'].includes(tool_choice?.type) ? 'tool_choice: not with thinking' : null;
}

const blocks: Record<string, string[]> = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use'],
};

function wrongTurns(messages: Json[]): string | null {
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: at least one';
  let open: string[] = [];
  for (const [i, { role, content, ...rest }] of messages.entries()) {
    const at = `messages.${i}`;
    if (Object.keys(rest).length > 0) return `${at}: Extra inputs are not permitted`;
    if (role !== (i % 2 === 0 ? 'user' : 'assistant')) return `${at}: roles must alternate`;
    if (wrongBlocks(content, blocks[role]!)) return `${at}: wrong content`;
    const list: Json[] = typeof content === 'string' ? [] : content;
    const results = list.filter(({ type }) => type === 'tool_result');
    const ids = results.map(({ tool_use_id }) => tool_use_id);
    if (ids.toSorted().join() !== open.toSorted().join()) return `${at}: tool_use without results`;
    if (list.slice(0, ids.length).some(({ type }) => type !== 'tool_result'))
      return `${at}: results must come first`;
    open = list.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
    if (open.some((id) => !/^[\w-]+$/.test(id))) return `${at}: wrong id`;
  }
  return null;
}

function wrongBlocks(content: unknown, types: string[]): boolean {
  if (typeof content === 'string') return content === '';
  if (!Array.isArray(content) || content.length === 0) return true;
  return content.some((block: Json) => {
    if (!types.includes(block.type)) return true;
    if (block.type === 'text') return typeof block.text !== 'string' || block.text === '';
    if (block.type === 'thinking') return !String(block.signature).startsWith('proof');
    if (block.type === 'tool_use') return Object.getPrototypeOf(block.input) !== Object.prototype;
    if (block.type !== 'image' && block.type !== 'document') return false;
    const { type, media_type, data, url } = block.source;
    if (type === 'url') return typeof url !== 'string';
    return typeof data !== 'string' || !/^[\w.+-]+\/[\w.+-]+$/.test(media_type);
  });
}

function reasonOf({ finish, refuses, calls, stop }: SaidReply): string {
  if (refuses) return 'refusal';
  if (finish === 'length') return 'max_tokens';
  if (calls) return 'tool_use';
  return stop === undefined ? 'end_turn' : 'stop_sequence';
}

const stopOf = (said: SaidReply) => ({
  stop_reason: reasonOf(said),
  stop_sequence: said.stop ?? null,
});

function usageOf({ usage = usualUsage }: SaidReply): Json | undefined {
  if (usage === null) return undefined;
  const { prompt, cached, written, output, thinking } = usage;
  return {
    input_tokens: prompt - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: thinking },
  };
}

function contentOf({ thought, text, calls = [] }: SaidReply): Json[] {
  return [
    ...(thought ? [{ type: 'thinking', thinking: thought.text, signature: thought.proof }] : []),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map((call) => ({ type: 'tool_use', ...call })),
  ];
}

const head = { id: 'msg_fake', type: 'message', role: 'assistant', model: 'claude-fake' };
const sent = (event: Json) => eventOf(event, event.type);

function blockEvents(block: Json, index: number): string[] {
  const { text, thinking, signature, input } = block;
  const empty =
    block.type === 'text'
      ? { ...block, text: '' }
      : block.type === 'thinking'
        ? { ...block, thinking: '', signature: '' }
        : { ...block, input: {} };
  const delta = (own: Json) => sent({ type: 'content_block_delta', index, delta: own });
  return [
    sent({ type: 'content_block_start', index, content_block: empty }),
    ...piecesOf(text ?? '').map((piece) => delta({ type: 'text_delta', text: piece })),
    ...piecesOf(thinking ?? '').map((piece) => delta({ type: 'thinking_delta', thinking: piece })),
    ...(signature ? [delta({ type: 'signature_delta', signature })] : []),
    ...(input ? piecesOf(JSON.stringify(input)) : []).map((piece) =>
      delta({ type: 'input_json_delta', partial_json: piece }),
    ),
    sent({ type: 'content_block_stop', index }),
  ];
}

function events(said: SaidReply): string[] {
  const usage = usageOf(said);
  const begun = usage && { ...usage, output_tokens: 1, output_tokens_details: undefined };
  return [
    sent({ type: 'message_start', message: { ...head, content: [], usage: begun } }),
    sent({ type: 'ping' }),
    sent({ type: 'some_new_event', index: 0, anything: [1] }),
    ...contentOf(said).flatMap(blockEvents),
    sent({
      type: 'message_delta',
      delta: stopOf(said),
      usage: usage && {
        output_tokens: usage.output_tokens,
        output_tokens_details: usage.output_tokens_details,
      },
    }),
    sent({ type: 'message_stop' }),
  ];
}

function asked({ system, messages, tools = [], output_config }: Json): AskedCall {
  const content: Json[] = messages.flatMap((turn: Json) => turn.content);
  const of = (type: string) => content.filter((block) => block.type === type);
  const user: Json[] = messages
    .filter(({ role }: Json) => role === 'user')
    .flatMap((turn: Json) => turn.content);
  const heads =
    typeof system === 'string' ? [system] : (system ?? []).map((each: Json) => each.text);
  return {
    texts: [...heads, ...user.map((block) => block.text ?? block.content).filter(Boolean)],
    images: of('image').map(({ source }) => `data:${source.media_type};base64,${source.data}`),
    tools: tools.map((tool: Json) => tool.name),
    schema: output_config?.format?.schema ?? null,
    effort: output_config?.effort ?? null,
    proofs: of('thinking').map(({ signature }) => signature),
    calls: of('tool_use').map(({ id }) => id),
    results: of('tool_result').map((block) => block.tool_use_id),
  };
}

const types: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

export const messagesWire: ChatWire = {
  adapter: 'anthropic',
  options: '{}',
  open,
  whole: (said) => ({ ...head, content: contentOf(said), ...stopOf(said), usage: usageOf(said) }),
  events,
  broken: (message) => sent({ type: 'error', error: { type: 'overloaded_error', message } }),
  refused: (message) => sent({ type: 'error', error: { type: 'invalid_request_error', message } }),
  refusal: (status, message) => errorAnswer(status, types[status] ?? 'api_error', message),
  asked,
};
