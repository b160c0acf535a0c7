import { chunkOf } from './openai-chat.ts';
import { fakeOpenai } from './openai.ts';
import {
  eventOf,
  piecesOf,
  usualUsage,
  type AskedCall,
  type ChatWire,
  type SaidReply,
} from './said.ts';

type Json = Record<string, any>;

/** OpenAI's chat completions, with reasoning in OpenRouter's form. */

const finishOf = ({ finish, refuses, calls }: SaidReply) =>
  refuses ? 'content_filter' : (finish ?? (calls ? 'tool_calls' : 'stop'));

/** `stop_reason` is a field of vLLM. */
const endOf = (said: SaidReply) => ({
  finish_reason: finishOf(said),
  ...(said.stop !== undefined && { stop_reason: said.stop }),
});

function usageOf({ usage = usualUsage }: SaidReply): Json | undefined {
  if (usage === null) return undefined;
  const { prompt, cached, written, output, thinking } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: thinking },
  };
}

const detailOf = (thought: Json, index = 0) => ({
  type: 'reasoning.text',
  index,
  format: 'anthropic-claude-v1',
  ...thought,
});

const callOf = ({ id, name, input }: Json) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});

function messageOf({ thought, text, calls }: SaidReply): Json {
  return {
    role: 'assistant',
    content: text ?? null,
    ...(thought && {
      reasoning: thought.text,
      reasoning_details: [detailOf({ text: thought.text, signature: thought.proof })],
    }),
    ...(calls && { tool_calls: calls.map(callOf) }),
  };
}

function events(said: SaidReply): string[] {
  const { thought, text = '', calls = [] } = said;
  const usage = usageOf(said);
  const deltas: Json[] = [
    { role: 'assistant', content: '' },
    ...piecesOf(thought?.text ?? '').map((piece) => ({
      reasoning: piece,
      reasoning_details: [detailOf({ text: piece })],
    })),
    ...(thought ? [{ reasoning_details: [detailOf({ signature: thought.proof })] }] : []),
    ...piecesOf(text).map((content) => ({ content })),
    ...calls.flatMap((call, index) => {
      const { function: own, ...rest } = callOf(call);
      const pieces = piecesOf(own.arguments).map((piece) => ({ arguments: piece }));
      return [
        { ...rest, function: { name: own.name, arguments: '' } },
        ...pieces.map((each) => ({ function: each })),
      ].map((each) => ({ tool_calls: [{ index, ...each }] }));
    }),
  ];
  return [
    ...deltas.map((delta) => eventOf(chunkOf(delta))),
    eventOf(chunkOf({}, { choices: [{ index: 0, delta: {}, logprobs: null, ...endOf(said) }] })),
    ...(usage ? [eventOf(chunkOf({}, { choices: [], usage }))] : []),
    'data: [DONE]\n\n',
  ];
}

function asked({ messages, tools = [], response_format, reasoning_effort }: Json): AskedCall {
  const ofRole = (role: string): Json[] => messages.filter((each: Json) => each.role === role);
  const parts = (each: Json): Json[] =>
    typeof each.content === 'string' ? [{ text: each.content }] : (each.content ?? []);
  const said = messages.filter(({ role }: Json) => role !== 'assistant').flatMap(parts);
  const own = ofRole('assistant');
  return {
    texts: said.map(({ text }: Json) => text).filter(Boolean),
    images: said.flatMap(({ image_url: image }: Json) => (image ? [image.url] : [])),
    tools: tools.map((tool: Json) => tool.function.name),
    schema: response_format?.json_schema?.schema ?? null,
    effort: reasoning_effort ?? null,
    proofs: own.flatMap(({ reasoning_details: details = [] }) =>
      details.map((each: Json) => each.signature),
    ),
    calls: own.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }: Json) => id)),
    results: ofRole('tool').map((each) => each.tool_call_id),
  };
}

export const completionsWire: ChatWire = {
  adapter: 'openai',
  options: '{}',
  async open() {
    const { url, key, chat, close } = await fakeOpenai();
    return { url, key, desk: chat, close };
  },
  whole: (said) => ({
    id: 'chatcmpl-fake',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'gpt-fake',
    choices: [{ index: 0, message: messageOf(said), logprobs: null, ...endOf(said) }],
    usage: usageOf(said),
  }),
  events,
  broken: (message) => eventOf({ error: { message, type: 'server_error' } }),
  refused: (message) => eventOf({ error: { message, type: 'invalid_request_error' } }),
  refusal: (status, message) => ({ status, json: { error: { message, type: 'server_error' } } }),
  asked,
};
