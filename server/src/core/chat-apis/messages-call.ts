import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { hasKey } from '../../lib/records.ts';
import { isFilled, isGiven } from '../check.ts';
import { textOf } from '../chat/completion.ts';
import { cacheMark } from '../chat/optional-fields.ts';
import { effortBudgets } from '../chat/reasoning-effort.ts';
import { anyObject, givenOf, messagesOf } from './chat-api.ts';
import { blocksOf, isClaudes, markIn } from './messages-blocks.ts';

/** Writes the body of a chat completion as a call of Anthropic's Messages. */

/** The abilities of an upstream's models. */
export interface Capabilities {
  /**
   * How thinking is requested. Older models need a limit (`budget`), newer ones decide how much
   * they think (`adaptive`). The newest (`summarized`) show no thinking unless a summary is
   * requested, and may refuse a call that turns thinking off.
   */
  thinking: 'summarized' | 'adaptive' | 'budget';
  /** Whether the models take `temperature`, `top_p` and `top_k`. */
  sampling: boolean;
}

const untranslatable = [
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'functions',
  'function_call',
  'verbosity',
];
const samplingFields = ['temperature', 'top_p', 'top_k'];

export function messagesCall(body: Json, takes: Capabilities): Json {
  const { model, max_tokens, user } = body;
  const thinking = thinkingOf(body, takes);
  const stops = [body.stop].flat().filter((stop) => isFilled(stop) && stop.trim() !== '');
  const effort = isOn(thinking) && takes.thinking !== 'budget' ? effortOf(body) : null;
  const format = formatOf(body);
  const { messages, system } = turnsOf(body);
  return withoutAbsent({
    model,
    max_tokens,
    system,
    messages,
    ...(takesSampling(thinking, takes) &&
      Object.fromEntries(samplingFields.map((name) => [name, body[name]]))),
    ...toolsOf(body),
    ...(stops.length > 0 && { stop_sequences: stops }),
    thinking,
    ...((effort ?? format) !== null && {
      output_config: {
        ...(effort !== null && { effort: effort === 'minimal' ? 'low' : effort }),
        ...(format !== null && { format }),
      },
    }),
    ...(isFilled(user) && { metadata: { user_id: user } }),
    ...(body.stream === true && { stream: true }),
  });
}

export function messagesIgnored(body: Json, takes: Capabilities): string[] {
  const { type } = objectOf(body.response_format);
  const thinking = thinkingOf(body, takes);
  // If the caller gives `thinking`, the effort is sent only if that turns thinking on.
  const hasEffort = isObject(body.thinking)
    ? isOn(thinking) && takes.thinking !== 'budget' && effortOf(body) !== null
    : thinking !== undefined;
  return [
    ...givenOf(untranslatable, body),
    ...(takesSampling(thinking, takes) ? [] : givenOf(samplingFields, body)),
    ...(isGiven(type) && type !== 'text' && formatOf(body) === null ? ['response_format'] : []),
    ...(isGiven(body.reasoning_effort) && !hasEffort ? ['reasoning_effort'] : []),
  ];
}

/**
 * Names of the tools whose input is a text. Anthropic gets each as a tool with one field, `input`.
 */
export function customTools({ tools }: Json): ReadonlySet<string> {
  const own = itemsOf(tools).map(objectOf);
  return new Set(own.filter(isCustom).map(({ custom }) => String(objectOf(custom).name)));
}

const isCustom = ({ type }: Json) => type === 'custom';

interface Turn {
  role: 'user' | 'assistant';
  content: Json[];
}

/**
 * Consecutive messages of one role become one turn: the results of all calls of a turn must be
 * together. A list may have more items than a function takes arguments, so none is spread into a
 * call.
 */
function turnsOf(body: Json): { messages: Turn[]; system: unknown } {
  const turns: Turn[] = [];
  const system: Json[] = [];
  for (const { message, at } of messagesOf(body)) {
    const blocks = blocksOf(message, at);
    if (message.role === 'system' || message.role === 'developer')
      for (const block of blocks) system.push(block);
    else if (blocks.length > 0)
      addTurn(turns, message.role === 'assistant' ? 'assistant' : 'user', blocks);
  }
  for (const turn of turns) turn.content = [...results(turn, true), ...results(turn, false)];
  const isMarked = system.some((block) => cacheMark in block);
  const said = system.map(({ text }) => text).join('\n\n');
  return { messages: turns, system: isMarked ? system : said || undefined };
}

function addTurn(turns: Turn[], role: Turn['role'], content: Json[]): void {
  const last = turns.at(-1);
  if (last?.role !== role) turns.push({ role, content: [...content] });
  else for (const block of content) last.content.push(block);
}

/** The tool results of a turn, or its other blocks. Anthropic wants the results first. */
function results({ content }: Turn, isWanted: boolean): Json[] {
  return content.filter(({ type }) => (type === 'tool_result') === isWanted);
}

function toolsOf(body: Json): Json {
  const choice = choiceOf(body);
  const names = allowedNames(body);
  const tools = itemsOf(body.tools)
    .map(objectOf)
    .map(toolOf)
    .filter(({ name }) => names === null || names.has(name));
  if (tools.length === 0) return {};
  return { tools, ...(choice !== null && { tool_choice: choice }) };
}

function toolOf(tool: Json): Json {
  const { name, description, parameters, strict, format } = objectOf(tool.function ?? tool.custom);
  if (isCustom(tool))
    return {
      name,
      description: [description, ...grammarOf(format)].filter(isFilled).join('\n\n'),
      input_schema: {
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
      },
      ...markIn(tool),
    };
  return {
    name,
    ...(isFilled(description) && { description }),
    input_schema: isObject(parameters) ? { ...anyObject, ...parameters } : anyObject,
    ...(strict === true && { strict }),
    ...markIn(tool),
  };
}

function grammarOf(format: unknown): string[] {
  const { syntax, definition } = objectOf(objectOf(format).grammar);
  return isFilled(definition) ? [`The input has this ${textOf(syntax)} grammar:`, definition] : [];
}

/** Names of the tools among which the model may choose; null: all. */
function allowedNames({ tool_choice }: Json): ReadonlySet<unknown> | null {
  const { type, allowed_tools } = objectOf(tool_choice);
  return type === 'allowed_tools'
    ? new Set(itemsOf(objectOf(allowed_tools).tools).map(nameOf))
    : null;
}

function nameOf(tool: unknown): unknown {
  const own = objectOf(tool);
  return objectOf(own.function ?? own.custom).name;
}

const modes: Readonly<Record<string, string>> = { auto: 'auto', required: 'any', none: 'none' };

function choiceOf({ tool_choice: choice, parallel_tool_calls: parallel }: Json): Json | null {
  const { type, allowed_tools } = objectOf(choice);
  const mode = type === 'allowed_tools' ? objectOf(allowed_tools).mode : choice;
  const single = parallel === false && { disable_parallel_tool_use: true };
  if (type === 'function' || type === 'custom')
    return { type: 'tool', name: nameOf(choice), ...single };
  const word = typeof mode === 'string' && Object.hasOwn(modes, mode) ? modes[mode] : null;
  if (word === 'none') return { type: word };
  if (word === null && !single) return null;
  return { type: word ?? 'auto', ...single };
}

function formatOf({ response_format }: Json): Json | null {
  const { type, json_schema } = objectOf(response_format);
  const { schema } = objectOf(json_schema);
  return type === 'json_schema' && isObject(schema) ? { type, schema } : null;
}

const budgetMin = 1_024;

/** Null if the effort is missing or unknown. */
function effortOf({ reasoning_effort: effort }: Json): keyof typeof effortBudgets | null {
  return hasKey(effortBudgets, effort) ? effort : null;
}

/** Undefined: the model's default. */
function thinkingOf(body: Json, takes: Capabilities): Json | undefined {
  const { thinking, reasoning_effort: effort, max_tokens } = body;
  const display = takes.thinking === 'summarized' && { display: 'summarized' };
  if (isObject(thinking)) return isOn(thinking) ? { ...thinking, ...display } : thinking;
  if (effort === 'none') return display ? undefined : { type: 'disabled' };
  const level = effortOf(body);
  // A model cannot think beside a forced tool call.
  if (level === null || ['any', 'tool'].includes(String(choiceOf(body)?.type))) return undefined;
  if (takes.thinking !== 'budget') return { type: 'adaptive', ...display };
  // `max_tokens` covers thinking and reply, so half of it is left for the reply.
  const budget = Math.min(effortBudgets[level], Math.floor(Number(max_tokens) / 2));
  if (budget < budgetMin || callsWithoutThought(body)) return undefined;
  return { type: 'enabled', budget_tokens: budget };
}

function isOn(thinking: Json | undefined): boolean {
  return thinking !== undefined && thinking.type !== 'disabled';
}

/** Whether the sampling fields may be sent. Anthropic refuses them beside thinking. */
function takesSampling(thinking: Json | undefined, takes: Capabilities): boolean {
  return takes.sampling && !isOn(thinking);
}

/** Whether the last turn calls tools without a thought, which Anthropic refuses beside a budget. */
function callsWithoutThought(body: Json): boolean {
  const all = messagesOf(body).map(({ message }) => message);
  const last = all.findLast(({ role }) => role === 'assistant' || role === 'user');
  if (last?.role !== 'assistant' || itemsOf(last.tool_calls).length === 0) return false;
  return !itemsOf(last.reasoning_details).map(objectOf).some(isClaudes);
}

function withoutAbsent(call: Json): Json {
  return Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined));
}
