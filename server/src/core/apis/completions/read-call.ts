import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badField } from '../../bad-request.ts';
import { parseChat } from '../../chat/chat.ts';
import type {
  Block,
  CallBlock,
  Conversation,
  ReplyFormat,
  Tool,
  Turn,
} from '../../chat/conversation.ts';
import { isFilled, isGiven } from '../../check.ts';
import type { ReadCall } from '../api.ts';
import { mediaOf, mediaOrBytes } from '../media.ts';
import { optionalFields } from '../../chat/optional-fields.ts';
import { thoughtIn } from '../thoughts.ts';
import { readChoice } from './read-choice.ts';

/**
 * Reads a call of OpenAI's chat completions.
 *
 * @throws ApiError `bad_messages` or `bad_request`, which names the field
 */
export function readCompletionsCall(body: Json): ReadCall {
  const { model, stream, max_tokens, metadata, ignored, body: given } = parseChat(body);
  const { messages } = given;
  const conversation: Conversation = {
    api: 'completions',
    turns: turnsOf(messages),
    tools: [...itemsOf(given.tools).map(objectOf), ...itemsOf(given.functions).map(asTool)].map(
      toolOf,
    ),
    choice: readChoice(given),
    parallel: typeof given.parallel_tool_calls === 'boolean' ? given.parallel_tool_calls : null,
    format: isObject(given.response_format) ? formatOf(given.response_format) : null,
    settings: settingsOf(given),
    extras: extrasOf(given),
  };
  return { model, stream, max_tokens, metadata, ignored: [...ignored], conversation };
}

/** Fields of the body that are not read as a part of the conversation. */
const extraFields: readonly string[] = [
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  ...Object.keys(optionalFields).filter((name) => name !== 'top_k' && name !== 'thinking'),
];

function extrasOf(given: Json): Json {
  const named = extraFields.filter((name) => isGiven(given[name]));
  return Object.fromEntries(named.map((name) => [name, given[name]]));
}

function settingsOf(given: Json): Conversation['settings'] {
  const of = <T>(name: string): T | null => (given[name] as T | undefined) ?? null;
  const { type, budget_tokens } = objectOf(given.thinking);
  return {
    temperature: of('temperature'),
    top_p: of('top_p'),
    top_k: of('top_k'),
    stop: [given.stop ?? []].flat().map(String),
    effort: of('reasoning_effort'),
    thinking: isFilled(type) ? { type, budget_tokens: Number(budget_tokens ?? NaN) || null } : null,
    verbosity: of('verbosity'),
    logprobs: of('logprobs'),
    top_logprobs: of('top_logprobs'),
    user: of('user'),
  };
}

/** A function of the older form as a tool. */
function asTool(own: unknown): Json {
  return { type: 'function', function: own };
}

function toolOf(tool: Json, i: number): Tool {
  const isCustom = tool.type === 'custom';
  const own = objectOf(isCustom ? tool.custom : tool.function);
  if (!isFilled(own.name)) throw badField(`tools[${i}].function.name`, 'the name of the tool');
  const { syntax, definition } = objectOf(objectOf(own.format).grammar);
  const grammar = isFilled(definition) ? { syntax: String(syntax ?? ''), definition } : null;
  return {
    name: own.name,
    description: isFilled(own.description) ? own.description : null,
    parameters: isObject(own.parameters) ? own.parameters : null,
    strict: typeof own.strict === 'boolean' ? own.strict : null,
    custom: isCustom ? { grammar } : null,
    ...(isGiven(tool.cache_control) && { mark: true }),
  };
}

/** Together and llama.cpp put the schema beside the type. */
function formatOf({ type, json_schema, schema: beside }: Json): ReplyFormat | null {
  if (type === 'text') return null;
  const { name, description, strict, schema = beside } = objectOf(json_schema);
  if (!isObject(schema)) {
    if (type === 'json_object') return { type: 'json' };
    throw badField('response_format.json_schema.schema', 'a JSON schema');
  }
  return {
    type: 'schema',
    name: isFilled(name) ? name : 'reply',
    description: isFilled(description) ? description : null,
    schema,
    strict: typeof strict === 'boolean' ? strict : null,
  };
}

function turnsOf(messages: readonly Json[]): Turn[] {
  /** The ids of calls in the older form, which has none, by the function's name. */
  const legacy = new Map<string, string>();
  return messages.map((message, i) => turnOf(message, `messages[${i}]`, legacy));
}

function turnOf(message: Json, at: string, legacy: Map<string, string>): Turn {
  const { role, name, audio } = message;
  const isResult = role === 'tool' || role === 'function';
  const turn: Turn = {
    by: isResult ? 'user' : (role as Turn['by']),
    name: !isResult && isFilled(name) ? name : null,
    blocks: role === 'assistant' ? thoughtsOf(message, at) : [],
    at,
    ...(Array.isArray(message.content) && { listed: true }),
  };
  const said = partsOf(message.content, `${at}.content`);
  if (isResult) {
    const call = String(
      role === 'tool' ? message.tool_call_id : (legacy.get(String(name)) ?? name),
    );
    const blocks = said as Extract<Block, { type: 'result' }>['blocks'];
    const [mark] = blocks.flatMap((each) => each.mark ?? []);
    return {
      ...turn,
      blocks: [{ type: 'result', call, blocks, failed: false, at, ...(mark && { mark }) }],
    };
  }
  const refusal = isFilled(message.refusal) && { text: message.refusal, at: `${at}.refusal` };
  // A list may have more items than a function takes arguments, so none is spread into a call.
  turn.blocks = [
    ...turn.blocks,
    ...said,
    ...(refusal ? [{ type: 'refusal' as const, ...refusal }] : []),
    ...callsOf(message, at, legacy),
  ];
  const { id } = objectOf(audio);
  return isFilled(id) ? { ...turn, audio_id: id } : turn;
}

/** Reasoning that is given under several names counts once. */
function thoughtsOf(message: Json, at: string): Block[] {
  const details = itemsOf(message.reasoning_details).map(thoughtIn);
  const thoughts = details.filter((each) => each !== null);
  const place = `${at}.reasoning_details`;
  const plain = [message.reasoning_content, message.reasoning].find(isFilled);
  const isTold = thoughts.some(({ form, text }) => form !== 'hidden' && text !== '');
  const none = { signature: null, id: null, format: null };
  return [
    ...(isTold || plain === undefined
      ? []
      : [{ type: 'thought' as const, form: 'text' as const, text: plain, at, ...none }]),
    ...thoughts.map(({ index: _, ...own }) => ({ type: 'thought' as const, ...own, at: place })),
  ];
}

function callsOf(message: Json, at: string, legacy: Map<string, string>): CallBlock[] {
  const calls = itemsOf(message.tool_calls)
    .map(objectOf)
    .map((call, k): CallBlock => {
      const custom = call.type === 'custom' || (call.type !== 'function' && isObject(call.custom));
      const own = objectOf(custom ? call.custom : call.function);
      const input = String((custom ? own.input : own.arguments) ?? '');
      const place = `${at}.tool_calls[${k}]`;
      const [id, name] = [String(call.id ?? ''), String(own.name ?? '')];
      return { type: 'call', id, name, input, custom, at: place };
    });
  if (!isObject(message.function_call)) return calls;
  const { name, arguments: input } = message.function_call;
  const id = `call_${legacy.size}_${at.replaceAll(/\D/g, '')}`;
  legacy.set(String(name), id);
  const own = { id, name: String(name), input: String(input ?? ''), custom: false };
  return [...calls, { type: 'call', ...own, at: `${at}.function_call` }];
}

function partsOf(content: unknown, at: string): Block[] {
  if (typeof content === 'string')
    return content === '' ? [] : [{ type: 'text', text: content, at }];
  return itemsOf(content)
    .map(objectOf)
    .map((part, k) => {
      const block = partOf(part, `${at}[${k}]`);
      return isGiven(part.cache_control) ? { ...block, mark: true as const } : block;
    });
}

/** The type and the fields of a part were checked when the call was read. */
function partOf(part: Json, at: string): Block {
  switch (part.type) {
    case 'image_url': {
      const { url, detail } = objectOf(part.image_url);
      const media = mediaOf(String(url), `${at}.image_url.url`);
      return { type: 'image', media, at, ...(isFilled(detail) && { detail }) };
    }
    case 'input_audio': {
      const { data, format } = objectOf(part.input_audio);
      const media = mediaOrBytes(String(data), `${at}.input_audio.data`);
      return { type: 'audio', media, at, format: String(format) };
    }
    case 'file': {
      const { file_id, file_data, filename } = objectOf(part.file);
      const name = isFilled(filename) ? filename : null;
      const media = isFilled(file_id)
        ? mediaOf(file_id, `${at}.file.file_id`, name)
        : mediaOrBytes(String(file_data), `${at}.file.file_data`, name);
      return { type: 'file', media, at };
    }
    default: {
      const type = part.type === 'refusal' ? 'refusal' : 'text';
      return { type, text: String(part[type]), at };
    }
  }
}
