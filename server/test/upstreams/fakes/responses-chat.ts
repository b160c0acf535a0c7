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

/** A strict stand-in of OpenAI's Responses: a call that OpenAI would refuse gets a 400. */

const key = 'sk-fake-responses-0123456789';

const errorAnswer = (status: number, message: string): Answer => ({
  status,
  json: { error: { message, type: 'invalid_request_error', code: null, param: null } },
});

async function open() {
  const desk = openDesk();
  const served = await serve((call: Call): Answer => {
    if (call.headers.authorization !== `Bearer ${key}`) return errorAnswer(401, 'wrong key');
    if (call.path !== '/responses') return errorAnswer(404, 'Invalid URL');
    const wrong = faultIn(call.json<Json>());
    return wrong === null ? desk.answer(call) : errorAnswer(400, wrong);
  });
  return { url: served.url, key, desk, close: served.close };
}

const fields = new Set([
  'model',
  'input',
  'max_output_tokens',
  'store',
  'stream',
  'reasoning',
  'include',
  'text',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'temperature',
  'top_p',
  'top_logprobs',
  'user',
]);

const itemFields: Record<string, string[]> = {
  message: ['type', 'role', 'content'],
  reasoning: ['type', 'id', 'summary', 'encrypted_content'],
  function_call: ['type', 'call_id', 'name', 'arguments'],
  function_call_output: ['type', 'call_id', 'output'],
};

function faultIn({ input, tools = [], store, ...body }: Json): string | null {
  const extra = Object.keys(body).find((name) => !fields.has(name));
  if (extra) return `Unknown parameter: '${extra}'`;
  if (store !== false) return 'store: must be false here';
  if (tools.some(({ name, parameters, strict }: Json) => !name || !parameters || strict !== false))
    return 'tools: wrong';
  const called = new Set<string>();
  for (const { type = 'message', ...item } of input as Json[]) {
    const wrong = Object.keys(item).find((name) => !itemFields[type]?.includes(name));
    if (wrong) return `Unknown parameter: 'input.${wrong}' of ${type}`;
    if (type === 'function_call') called.add(item.call_id);
    if (type === 'function_call_output' && !called.has(item.call_id)) return 'No tool call found';
    if (type === 'reasoning' && !String(item.encrypted_content).startsWith('proof'))
      return 'The encrypted content could not be verified';
    const kind = item.role === 'assistant' ? /^(output_text|refusal)$/ : /^input_/;
    const parts: Json[] = type === 'message' ? item.content : [];
    if (parts.some((part) => !kind.test(part.type))) return `Invalid value: input.content`;
  }
  return null;
}

function usageOf({ usage = usualUsage }: SaidReply): Json | undefined {
  if (usage === null) return undefined;
  const { prompt, cached, written, output, thinking } = usage;
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thinking },
    total_tokens: prompt + output,
  };
}

function itemsOf({ thought, text, calls = [] }: SaidReply): Json[] {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return [
    ...(thought
      ? [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [],
            content: [{ type: 'reasoning_text', text: thought.text }],
            encrypted_content: thought.proof,
          },
        ]
      : []),
    ...(text === undefined ? [] : [{ type: 'message', id: 'msg_1', role: 'assistant', content }]),
    ...calls.map(({ id, name, input }) => ({
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    })),
  ];
}

function whole(said: SaidReply): Json {
  const reason =
    said.finish === 'length' ? 'max_output_tokens' : said.refuses ? 'content_filter' : null;
  return {
    id: 'resp_fake',
    object: 'response',
    status: reason === null ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === null ? null : { reason },
    model: 'gpt-fake',
    output: itemsOf(said),
    usage: usageOf(said),
  };
}

const sent = (event: Json) => eventOf(event, event.type);

function itemEvents(item: Json, output_index: number): string[] {
  const of = (type: string, text: string, more: Json = {}) =>
    piecesOf(text).map((delta) => sent({ type, output_index, item_id: item.id, delta, ...more }));
  const own =
    item.type === 'message'
      ? of('response.output_text.delta', item.content[0].text, { content_index: 0, logprobs: [] })
      : item.type === 'reasoning'
        ? of('response.reasoning_text.delta', item.content[0].text, { content_index: 0 })
        : of('response.function_call_arguments.delta', item.arguments);
  const begun = { ...item, content: [], arguments: '', encrypted_content: undefined };
  return [
    sent({ type: 'response.output_item.added', output_index, item: begun }),
    ...own,
    sent({ type: 'response.output_item.done', output_index, item }),
  ];
}

function events(said: SaidReply): string[] {
  const response = whole(said);
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  return [
    sent({ type: 'response.created', response: begun }),
    sent({ type: 'response.some_new_event', output_index: 0, delta: 'x' }),
    ...itemsOf(said).flatMap(itemEvents),
    sent({ type: `response.${response.status}`, response }),
  ];
}

function asked({ input, tools = [], text, reasoning }: Json): AskedCall {
  const of = (type: string): Json[] => input.filter((item: Json) => item.type === type);
  const outputs = of('function_call_output');
  const parts = (input as Json[]).flatMap((item): Json[] =>
    item.role === 'assistant' ? [] : (item.content ?? [{ text: item.output }]),
  );
  return {
    texts: parts.map((part) => part.text).filter(Boolean),
    images: parts.flatMap((part) => part.image_url ?? []),
    tools: tools.map((tool: Json) => tool.name),
    schema: text?.format?.schema ?? null,
    effort: reasoning?.effort ?? null,
    proofs: of('reasoning').map((item) => item.encrypted_content),
    calls: of('function_call').map((item) => item.call_id),
    results: outputs.map((item) => item.call_id),
  };
}

export const responsesWire: ChatWire = {
  adapter: 'openai',
  options: '{ api: responses }',
  open,
  whole,
  events,
  broken: (message) => sent({ type: 'error', code: 'server_error', message, sequence_number: 9 }),
  refused: (message) =>
    sent({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'context_length_exceeded', message } },
    }),
  refusal: errorAnswer,
  asked,
};
