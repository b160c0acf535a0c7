import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { isFilled, isGiven } from '../check.ts';
import { badMessages } from '../chat/chat-messages.ts';
import { textOf } from '../chat/completion.ts';
import { responsesFormat } from '../chat/reasoning-details.ts';
import { anyObject, givenOf, messagesOf, partsOf } from './chat-api.ts';

/** Writes the body of a chat completion as a call of OpenAI's Responses that stores nothing. */

const untranslatable = [
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'stop',
  'logit_bias',
  'functions',
  'function_call',
];
/** Fields with the same name in Responses. */
const same = [
  'model',
  'temperature',
  'top_p',
  'top_logprobs',
  'parallel_tool_calls',
  'user',
  'prompt_cache_key',
  'safety_identifier',
];

export const responsesIgnored = (body: Json): string[] => givenOf(untranslatable, body);

/** @throws ApiError `bad_messages` for audio. */
export function responsesCall(body: Json): Json {
  const { max_tokens, reasoning_effort: effort, verbosity, stream } = body;
  const input = inputOf(body);
  const isThinking = isFilled(effort) && effort !== 'none';
  const include = [
    // Models that do not reason refuse this value.
    ...(isThinking || input.some(({ type }) => type === 'reasoning')
      ? ['reasoning.encrypted_content']
      : []),
    ...(body.logprobs === true ? ['message.output_text.logprobs'] : []),
  ];
  const text = {
    ...(isGiven(verbosity) && { verbosity }),
    ...formatOf(objectOf(body.response_format)),
  };
  return {
    ...Object.fromEntries(givenOf(same, body).map((field) => [field, body[field]])),
    input,
    max_output_tokens: max_tokens,
    store: false,
    ...(isGiven(effort) && { reasoning: { effort } }),
    ...(include.length > 0 && { include }),
    ...(Object.keys(text).length > 0 && { text }),
    ...toolsOf(body),
    ...(stream === true && { stream }),
  };
}

function formatOf({ type, json_schema }: Json): Json {
  if (type === 'json_object') return { format: { type } };
  return type === 'json_schema' ? { format: { type, ...objectOf(json_schema) } } : {};
}

function toolsOf({ tools, tool_choice: choice }: Json): Json {
  const list = itemsOf(tools).map(objectOf).map(toolOf);
  if (list.length === 0) return {};
  return { tools: list, ...(isGiven(choice) && { tool_choice: choiceOf(choice) }) };
}

function toolOf({ type, function: called, custom }: Json): Json {
  if (type === 'custom') {
    const { format, ...own } = objectOf(custom);
    const { type: kind, grammar } = objectOf(format);
    return { type, ...own, ...(isGiven(kind) && { format: { type: kind, ...objectOf(grammar) } }) };
  }
  const { name, description, parameters = anyObject, strict = false } = objectOf(called);
  return {
    type: 'function',
    name,
    ...(isFilled(description) && { description }),
    parameters,
    strict,
  };
}

function choiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type, allowed_tools } = choice;
  if (type !== 'allowed_tools') return chosen(choice);
  const { mode, tools } = objectOf(allowed_tools);
  return { type, mode, tools: itemsOf(tools).map(objectOf).map(chosen) };
}

function chosen({ type, function: called, custom }: Json): Json {
  return { type, name: objectOf(called ?? custom).name };
}

function inputOf(body: Json): Json[] {
  /** Ids of custom tool calls. A result names only the id of its call, not its kind. */
  const custom = new Set<unknown>();
  return messagesOf(body).flatMap(({ message, at }) => {
    const { role, tool_call_id: call_id } = message;
    if (role === 'assistant') return answerItems(message, custom);
    if (role === 'tool') {
      const type = custom.has(call_id) ? 'custom_tool_call_output' : 'function_call_output';
      return [{ type, call_id, output: textOf(message.content) }];
    }
    const parts = partsOf(message, at);
    const own = role === 'function' ? 'user' : role;
    return [{ role: own, content: parts.map(({ part, at }) => partOf(part, at)) }];
  });
}

function answerItems(message: Json, custom: Set<unknown>): Json[] {
  const texts = partsOf(message, '').map(({ part }) => textOf(part.text));
  const content = [
    ...texts.filter((text) => text !== '').map((text) => ({ type: 'output_text', text })),
    ...(isFilled(message.refusal) ? [{ type: 'refusal', refusal: message.refusal }] : []),
  ];
  const calls = itemsOf(message.tool_calls).map(objectOf);
  for (const { id, type } of calls) if (type === 'custom') custom.add(id);
  return [
    ...reasoningItems(message),
    ...(content.length > 0 ? [{ type: 'message', role: 'assistant', content }] : []),
    ...calls.map(callItem),
  ];
}

function callItem({ id: call_id, type, function: called, custom }: Json): Json {
  const { name, arguments: text, input } = objectOf(called ?? custom);
  if (type === 'custom') return { type: 'custom_tool_call', call_id, name, input };
  return { type: 'function_call', call_id, name, arguments: text };
}

/** Responses can read reasoning only in its encrypted form, because nothing was stored. */
function reasoningItems({ reasoning_details: details }: Json): Json[] {
  const own = itemsOf(details)
    .map(objectOf)
    .filter(({ format }) => format === responsesFormat);
  return own.flatMap(({ type, data, id }) => {
    if (type !== 'reasoning.encrypted' || !isFilled(data)) return [];
    const summary = own
      .filter((each) => each.id === id && isFilled(each.summary))
      .map(({ summary: text }) => ({ type: 'summary_text', text }));
    return [{ type: 'reasoning', ...(isFilled(id) && { id }), summary, encrypted_content: data }];
  });
}

function partOf(part: Json, at: string): Json {
  if (part.type === 'image_url') {
    const { url, detail = 'auto' } = objectOf(part.image_url);
    return { type: 'input_image', image_url: url, detail };
  }
  if (part.type === 'file') {
    const { file_data, filename } = objectOf(part.file);
    const isUrl = /^https?:/i.test(String(file_data));
    if (isUrl) return { type: 'input_file', file_url: file_data };
    return { type: 'input_file', file_data, ...(isFilled(filename) && { filename }) };
  }
  if (part.type === 'input_audio') throw badMessages(at, 'is audio, which this model cannot hear');
  return { type: 'input_text', text: textOf(part.text) };
}
