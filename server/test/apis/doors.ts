import { completionFromChunks } from '../kit/completions.ts';
import type { Reply } from '../kit/service.ts';
import type { SaidReply } from '../upstreams/fakes/said.ts';

type Json = Record<string, any>;

/** A caller's question, independent of an API. */
export interface Ask {
  text: string;
  image?: { type: string; data: string };
  /** The name of a tool. */
  tool?: string;
  schema?: Json;
  thinks?: boolean;
}

/** A reply as the caller reads it. */
export interface HeardReply extends SaidReply {
  text: string;
  /** Micro-USD, as the reply states it. */
  cost: string | undefined;
  /** The reply in the API's form, for the next turn. */
  own: Json[];
}

/** A chat API of Farebox: how a caller writes a call and reads the reply. */
export interface Door {
  path: string;
  body(ask: Ask): Json;
  /** The next turn: the call with the reply and the results of its tool calls. */
  next(body: Json, heard: HeardReply, result: string): Json;
  whole(reply: Json): HeardReply;
  /** `data`: the events of a stream. */
  streamed(data: Json[]): HeardReply;
}

/** The data of the events of a stream. */
export const dataIn = ({ text }: Pick<Reply, 'text'>): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));

const limit = 4_000;
const parameters = { type: 'object', properties: { at: { type: 'number' } } };
const callOf = (id: string, name: string, text: string) => ({ id, name, input: JSON.parse(text) });

function completionHeard(completion: Json): HeardReply {
  const [{ message, finish_reason }] = completion.choices;
  const [detail] = message.reasoning_details ?? [];
  const calls = (message.tool_calls ?? []).map((each: Json) =>
    callOf(each.id, each.function.name, each.function.arguments),
  );
  return {
    text: message.content ?? '',
    ...(detail && { thought: { text: detail.text, proof: detail.signature } }),
    ...(calls.length > 0 && { calls }),
    ...(finish_reason === 'content_filter' && { refuses: true }),
    finish: finish_reason === 'length' ? 'length' : 'stop',
    cost: completion.usage?.cost_usd_micro,
    own: [message],
  };
}

const completions: Door = {
  path: '/v1/chat/completions',
  body: ({ text, image, tool, schema, thinks }) => ({
    max_tokens: limit,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: image
          ? [
              { type: 'text', text },
              { type: 'image_url', image_url: { url: `data:${image.type};base64,${image.data}` } },
            ]
          : text,
      },
    ],
    ...(tool && { tools: [{ type: 'function', function: { name: tool, parameters } }] }),
    ...(schema && {
      response_format: { type: 'json_schema', json_schema: { name: 'reply', schema } },
    }),
    ...(thinks && { reasoning_effort: 'low' }),
  }),
  next: (body, { own, calls = [] }, result) => ({
    ...body,
    messages: [
      ...body.messages,
      ...own,
      ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: result })),
      { role: 'user', content: 'And now?' },
    ],
  }),
  whole: completionHeard,
  streamed: (data) => completionHeard(completionFromChunks(data)),
};

function messageHeard({ content, stop_reason, usage }: Json): HeardReply {
  const of = (type: string): Json[] => content.filter((block: Json) => block.type === type);
  const [thought] = of('thinking');
  const calls = of('tool_use').map(({ id, name, input }) => ({ id, name, input }));
  return {
    text: of('text')
      .map(({ text }) => text)
      .join(''),
    ...(thought && { thought: { text: thought.thinking, proof: thought.signature } }),
    ...(calls.length > 0 && { calls }),
    ...(stop_reason === 'refusal' && { refuses: true }),
    finish: stop_reason === 'max_tokens' ? 'length' : 'stop',
    cost: usage?.cost_usd_micro,
    own: content,
  };
}

function messageIn(data: Json[]): Json {
  const content: Json[] = [];
  const message: Json = { content, stop_reason: null };
  const inputs: string[] = [];
  for (const { type, index, content_block: block, delta, usage } of data) {
    if (type === 'content_block_start') content[index] = { ...block };
    if (type === 'message_delta') Object.assign(message, delta, { usage });
    if (type !== 'content_block_delta') continue;
    const own = content[index]!;
    if (delta.type === 'input_json_delta')
      inputs[index] = `${inputs[index] ?? ''}${delta.partial_json}`;
    else
      for (const field of ['text', 'thinking', 'signature'])
        if (field in delta) own[field] += delta[field];
  }
  inputs.forEach((text, index) => (content[index]!.input = JSON.parse(text)));
  return message;
}

const messages: Door = {
  path: '/v1/messages',
  body: ({ text, image, tool, schema, thinks }) => ({
    max_tokens: limit,
    system: 'Be brief.',
    messages: [
      {
        role: 'user',
        content: image
          ? [
              { type: 'text', text },
              {
                type: 'image',
                source: { type: 'base64', media_type: image.type, data: image.data },
              },
            ]
          : text,
      },
    ],
    ...(tool && { tools: [{ name: tool, input_schema: parameters }] }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
    ...(thinks && { thinking: { type: 'enabled', budget_tokens: 2_000 } }),
  }),
  next: (body, { own, calls = [] }, result) => ({
    ...body,
    messages: [
      ...body.messages,
      { role: 'assistant', content: own },
      {
        role: 'user',
        content: [
          ...calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result })),
          { type: 'text', text: 'And now?' },
        ],
      },
    ],
  }),
  whole: messageHeard,
  streamed: (data) => messageHeard(messageIn(data)),
};

function responseHeard({ output, incomplete_details, usage }: Json): HeardReply {
  const of = (type: string): Json[] => output.filter((item: Json) => item.type === type);
  const parts = of('message').flatMap(({ content }) => content);
  const [thought] = of('reasoning');
  const calls = of('function_call').map((each) => callOf(each.call_id, each.name, each.arguments));
  return {
    text: parts.map(({ text = '' }) => text).join(''),
    ...(thought && { thought: { text: thought.content?.[0]?.text ?? '', proof: '' } }),
    ...(calls.length > 0 && { calls }),
    ...(incomplete_details?.reason === 'content_filter' && { refuses: true }),
    finish: incomplete_details?.reason === 'max_output_tokens' ? 'length' : 'stop',
    cost: usage?.cost_usd_micro,
    own: output,
  };
}

const responses: Door = {
  path: '/v1/responses',
  body: ({ text, image, tool, schema, thinks }) => ({
    max_output_tokens: limit,
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: image
          ? [
              { type: 'input_text', text },
              { type: 'input_image', image_url: `data:${image.type};base64,${image.data}` },
            ]
          : text,
      },
    ],
    ...(tool && { tools: [{ type: 'function', name: tool, parameters, strict: false }] }),
    ...(schema && { text: { format: { type: 'json_schema', name: 'reply', schema } } }),
    ...(thinks && { reasoning: { effort: 'low' } }),
  }),
  next: (body, { own, calls = [] }, result) => ({
    ...body,
    input: [
      ...body.input,
      ...own,
      ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: result })),
      { role: 'user', content: 'And now?' },
    ],
  }),
  whole: responseHeard,
  streamed: (data) => responseHeard(data.at(-1)!.response),
};

export const doors = { completions, messages, responses };
