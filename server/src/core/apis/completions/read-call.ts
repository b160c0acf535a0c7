import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badField, badMessages } from '../../bad-request.ts';
import { parseChat } from '../../chat/chat.ts';
import type {
  Block,
  CallBlock,
  Conversation,
  ReplyFormat,
  ThoughtBlock,
  Tool,
  ToolChoice,
  Turn,
} from '../../chat/conversation.ts';
import { isFilled, isGiven } from '../../check.ts';
import type { ReadCall } from '../api.ts';
import { mediaOf, mediaOrBytes } from '../../chat/chat-media.ts';
import { givenInput, readToolChoice, toolOf } from '../tools.ts';
import { optionalFields } from '../../chat/optional-fields.ts';
import { googleFormat, googleProof, thoughtIn } from '../thoughts.ts';

/**
 * Reads a call of OpenAI's chat completions.
 *
 * @throws ApiError `bad_messages` or `bad_request`, which names the field
 */
export function readCompletionsCall(body: Json): ReadCall {
  const { model, stream, max_tokens, metadata, body: given, ...chat } = parseChat(body);
  const ignored = new Set(chat.ignored);
  const offered = [...itemsOf(given.tools), ...itemsOf(given.functions).map(asTool)];
  const tools = offered.map(objectOf).map(readTool);
  const conversation: Conversation = {
    api: 'completions',
    turns: turnsOf(given.messages, ignored),
    tools,
    choice: choiceOf(given, tools),
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
    stop: [given.stop ?? []].flat().filter(isFilled),
    effort: of('reasoning_effort'),
    thinking: isFilled(type) ? { type, budget_tokens: Number(budget_tokens ?? NaN) || null } : null,
    summary: null,
    proofs: false,
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

function readTool(tool: Json, i: number): Tool {
  const isCustom = tool.type === 'custom';
  const own = objectOf(isCustom ? tool.custom : tool.function);
  if (!isFilled(own.name)) throw badField(`tools[${i}].function.name`, 'the name of the tool');
  const { syntax, definition } = objectOf(objectOf(own.format).grammar);
  const grammar = isFilled(definition) ? { syntax: String(syntax ?? ''), definition } : null;
  const mark = isGiven(tool.cache_control) && { mark: true as const };
  return { ...toolOf(own, own.parameters, isCustom ? { grammar } : null), ...mark };
}

/** Mistral's word for `required` is `any`. */
const modes = { auto: 'auto', none: 'none', required: 'any', any: 'any' } as const;

function choiceOf({ tool_choice, function_call: older }: Json, tools: readonly Tool[]): ToolChoice {
  if (isGiven(tool_choice)) return readToolChoice(tool_choice, tools, modes);
  const own = isObject(older) ? { type: 'function', ...older } : older;
  return readToolChoice(own, tools, modes, 'function_call');
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

interface Reading {
  /** Calls that came without an id, as in the older form, and have no result yet. */
  unnamed: CallBlock[];
  ignored: Set<string>;
}

function turnsOf(messages: readonly Json[], ignored: Set<string>): Turn[] {
  const reading: Reading = { unnamed: [], ignored };
  return messages.map((message, i) => turnOf(message, `messages[${i}]`, reading));
}

function turnOf(message: Json, at: string, reading: Reading): Turn {
  const { role, name, audio } = message;
  const isResult = role === 'tool' || role === 'function';
  const turn: Turn = {
    by: isResult ? 'user' : (role as Turn['by']),
    name: !isResult && isFilled(name) ? name : null,
    blocks: role === 'assistant' ? thoughtsOf(message, at, reading) : [],
    at,
    ...(Array.isArray(message.content) && { listed: true }),
  };
  const said = partsOf(message.content, `${at}.content`);
  if (isResult) {
    const call = calledBy(message, at, reading);
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
    ...callsOf(message, at, reading),
  ];
  const { id } = objectOf(audio);
  return isFilled(id) ? { ...turn, audio_id: id } : turn;
}

/** Reasoning that is given under several names counts once. */
function thoughtsOf(message: Json, at: string, { ignored }: Reading): Block[] {
  const details = itemsOf(message.reasoning_details).map(thoughtIn);
  const thoughts = details.filter((each) => each !== null);
  if (thoughts.length < details.length) ignored.add('messages[].reasoning_details');
  const place = `${at}.reasoning_details`;
  const plain = [message.reasoning_content, message.reasoning].find(isFilled);
  const isTold = thoughts.some(({ form, text }) => form !== 'hidden' && text !== '');
  const none = { signature: null, id: null, format: null };
  return [
    ...(isTold || plain === undefined
      ? []
      : [{ type: 'thought' as const, form: 'text' as const, text: plain, at, ...none }]),
    ...thoughts.map((own) => ({ type: 'thought' as const, ...own, at: place })),
    ...proofOf(message, null, `${at}.extra_content`),
  ];
}

/** Google's proof beside a message or a call, as a thought. */
function proofOf(own: Json, id: string | null, at: string): ThoughtBlock[] {
  const text = googleProof(own);
  const form = 'hidden' as const;
  if (text === '') return [];
  return [{ type: 'thought', form, text, signature: null, id, format: googleFormat, at }];
}

/** The id of the call that a result is of. One without an id is of the first call without one. */
function calledBy(
  { role, name, tool_call_id: id }: Json,
  at: string,
  { unnamed }: Reading,
): string {
  if (role === 'tool' && isFilled(id)) return id;
  const first = unnamed.findIndex((call) => role === 'tool' || call.name === name);
  if (first !== -1) return unnamed.splice(first, 1)[0]!.id;
  if (role === 'tool') throw badMessages(`${at}.tool_call_id`, 'must be the id of a tool call');
  if (!isFilled(name)) throw badMessages(`${at}.name`, 'must be the name of a function');
  return name;
}

function callsOf(message: Json, at: string, reading: Reading): Block[] {
  const { tool_calls, function_call: older } = message;
  const calls = itemsOf(tool_calls).flatMap((sent, k): Block[] => {
    const call = callOf(objectOf(sent), `${at}.tool_calls[${k}]`, reading);
    return [...proofOf(objectOf(sent), call.id, call.at), call];
  });
  if (!isObject(older)) return calls;
  return [...calls, callOf(older, `${at}.function_call`, reading)];
}

function callOf({ type, id, ...call }: Json, at: string, { unnamed }: Reading): CallBlock {
  const custom = type === 'custom' || (type !== 'function' && isObject(call.custom));
  const field = custom ? 'custom' : 'function';
  const { name, input, arguments: json } = objectOf(call[field] ?? call);
  const path = isObject(call[field]) ? `${at}.${field}.name` : `${at}.name`;
  if (!isFilled(name)) throw badMessages(path, 'must be the name of a tool');
  const said = custom ? String(input ?? '') : givenInput(json);
  const own: CallBlock = { type: 'call', id: String(id), name, input: said, custom, at };
  if (isFilled(id)) return own;
  own.id = `call${at.replaceAll(/\D+/g, '_')}`;
  unnamed.push(own);
  return own;
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
