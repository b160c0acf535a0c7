import { hash } from 'node:crypto';
import { isObject, isWithinDepth, type Json } from '../../lib/json.ts';
import { verbatimJson } from '../../lib/long-integers.ts';
import type { ApiName, Block, CallBlock, Conversation, Media, Tool } from '../chat/conversation.ts';
import { givenFields, isFilled } from '../check.ts';
import { cacheMark, habits } from '../chat/optional-fields.ts';
import type { ReplyContext, ApiDialect, WrittenCall } from './api.ts';
import { depthMax } from './reading/pieces.ts';

/** The writers of calls in all three APIs share these parts. */

/** A call that is being written. */
export interface WriteContext<M extends ApiDialect = ApiDialect> {
  conversation: Conversation;
  dialect: M;
  names: ToolNames;
  /** The caller's names of what the upstream cannot be told. */
  ignored: Set<string>;
  /** Fields of messages in the body that only some servers know. */
  fields: Set<string>;
}

export function openWriting<M extends ApiDialect>(
  conversation: Conversation,
  dialect: M,
): WriteContext<M> {
  const names = toolNames(conversation.tools, dialect.tool_name_max);
  return { conversation, dialect, names, ignored: new Set(), fields: new Set() };
}

export function writtenCall(body: Json, { names, ignored, fields }: WriteContext): WrittenCall {
  return { body, ignored: [...ignored], names: names.shortened, fields };
}

/** Says nothing, and notes this. `what`: a setting, an extra field, or a part of a turn. */
export function omitField({ conversation, ignored }: WriteContext, what: string): Json {
  ignored.add(callersName(conversation.api, what));
  return {};
}

/** The given fields that the upstream takes. Notes the others. */
export function takenFields(
  writing: WriteContext,
  fields: Json,
  isTaken: (name: string) => boolean,
): Json {
  const given = Object.entries(givenFields(fields));
  for (const [name] of given) if (!isTaken(name)) omitField(writing, name);
  return Object.fromEntries(given.filter(([name]) => isTaken(name)));
}

/** Notes those of these fields that are given. */
export function omitFields(writing: WriteContext, fields: Json): void {
  takenFields(writing, fields, () => false);
}

/** As `omitField`, in place of blocks. */
export function omitBlocks(writing: WriteContext, what: string): Json[] {
  omitField(writing, what);
  return [];
}

/** Without tools, an upstream of these APIs is not told whether calls may be parallel. */
export function omitParallel(writing: WriteContext): Json {
  return writing.conversation.parallel === false ? omitField(writing, 'parallel') : {};
}

export function omitPhase(blocks: readonly Block[], writing: WriteContext): void {
  if (blocks.some((block) => 'phase' in block)) omitField(writing, 'phase');
}

export function cacheControlOf(mark: true | undefined, writing: WriteContext): Json {
  if (!mark) return {};
  const { cacheControl } = writing.dialect;
  return cacheControl ? { [cacheMark]: { type: 'ephemeral' } } : omitField(writing, cacheMark);
}

/** A tool call in chat completions. */
export function toolCallOf({ id, name, custom, input }: Omit<CallBlock, 'type' | 'at'>): Json {
  return custom
    ? { id, type: 'custom', custom: { name, input } }
    : { id, type: 'function', function: { name, arguments: input } };
}

const modes = { auto: 'auto', none: 'none', any: 'required', tool: null } as const;

/** The choice of tools in OpenAI's words. `chosen` and `allowed` write them in the API's form. */
export function choiceOf(
  { conversation: { choice, tools }, names }: WriteContext,
  chosen: (type: 'custom' | 'function', name: string) => Json,
  allowed: (fields: Json) => Json,
): unknown {
  const { mode, tool, only } = choice;
  const custom = customNames(tools);
  const choiceOfTool = (own: string) =>
    chosen(custom.has(own) ? 'custom' : 'function', names.short(own));
  if (tool !== null) return choiceOfTool(tool);
  const word = mode && modes[mode];
  return only === null ? word : allowed({ mode: word ?? 'auto', tools: only.map(choiceOfTool) });
}

/**
 * The conversation for servers whose tools take only objects. A tool whose input is a text gets it
 * as `input`, as in the calls of earlier turns.
 */
export function withoutCustom(conversation: Conversation): Conversation {
  const isCustom = (block: Block) => block.type === 'call' && block.custom;
  const plain = (block: Block): Block =>
    block.type === 'call' && block.custom
      ? { ...block, custom: false, input: JSON.stringify({ input: block.input }) }
      : block;
  return {
    ...conversation,
    tools: conversation.tools.map((tool) => (tool.custom === null ? tool : functionOf(tool))),
    turns: conversation.turns.map((turn) =>
      turn.blocks.some(isCustom) ? { ...turn, blocks: turn.blocks.map(plain) } : turn,
    ),
  };
}

function functionOf({ custom, ...tool }: Tool): Tool {
  const { syntax, definition } = custom?.grammar ?? {};
  const about = definition && `The input has this ${syntax} grammar:\n\n${definition}`;
  const said = [tool.description, about].filter(isFilled).join('\n\n');
  return { ...tool, description: said || null, parameters: textInput, custom: null };
}

const textInput = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
};

/** The facts that the reader of a reply needs. `names`: the caller's names of shortened tools. */
export function replyContextOf(
  request_id: string,
  { api, tools, turns, settings }: Conversation,
  names: ReadonlyMap<string, string> = new Map(),
): ReplyContext {
  const ownName = (sent: string) => {
    const [own, meant] = [sent, withoutMarks(sent)].map((each) => names.get(each) ?? each);
    const isMeant = tools.every(({ name }) => name !== own) && tools.some((t) => t.name === meant);
    return isMeant ? meant! : own!;
  };
  const usedIds = () =>
    turns.flatMap(({ blocks }) => blocks.flatMap((each) => (each.type === 'call' ? each.id : [])));
  return { request_id, api, custom: customNames(tools), ownName, usedIds, stops: settings.stop };
}

/** The name of a tool without the marks that a model's template may leave around it. */
function withoutMarks(name: string): string {
  return name.replaceAll(/^functions\.|(?::\d+)?(?:<\|.*)?$/gs, '').trim();
}

/** An address, or the bytes as one. */
export function addressOf({ from, type, value }: Media): string {
  return from === 'base64' && type !== null ? `data:${type};base64,${value}` : value;
}

/** Services refuse a schema that has another type, or none. */
export const anyObject: Json = { type: 'object', properties: {} };

/** Words with a schema or a list of them, and words with schemas by their names. */
const ofSchema = new Set(
  'items prefixItems contains propertyNames not if then else anyOf oneOf allOf'.split(' '),
);
const ofSchemas = new Set(
  'properties patternProperties dependentSchemas $defs definitions'.split(' '),
);

/** The conversation, if need be without `true` and `false` as schemas. */
export function schemasFor(conversation: Conversation, found: ReadonlySet<string>): Conversation {
  if (!found.has(habits.schemas)) return conversation;
  const { format, tools } = conversation;
  return {
    ...conversation,
    format: format?.type === 'schema' ? { ...format, schema: plainly(format.schema) } : format,
    tools: tools.map((tool) => ({
      ...tool,
      parameters: tool.parameters && plainly(tool.parameters),
    })),
  };
}

function plainly(schema: Json): Json {
  return mapped(schema, (value, name) => {
    if (ofSchema.has(name)) return plainSchema(value);
    return ofSchemas.has(name) && isObject(value) ? mapped(value, plainSchema) : value;
  });
}

function plainSchema(schema: unknown): unknown {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} };
  if (Array.isArray(schema)) return schema.map(plainSchema);
  return isObject(schema) ? plainly(schema) : schema;
}

function mapped(object: Json, change: (value: unknown, name: string) => unknown): Json {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, change(value, name)]),
  );
}

/** The names of the tools whose input is a text. */
function customNames(tools: readonly Tool[]): Set<string> {
  return new Set(tools.flatMap(({ name, custom }) => (custom ? [name] : [])));
}

/** Names of tools for an upstream that takes only short and plain ones. */
interface ToolNames {
  /** The name that the upstream gets. */
  short: (own: string) => string;
  /** The caller's names, by those that were changed. */
  shortened: ReadonlyMap<string, string>;
}

function toolNames(tools: readonly Tool[], max: number): ToolNames {
  const short = new Map<string, string>();
  const shortened = new Map<string, string>();
  for (const { name } of tools) {
    const own = shortName(name, max);
    if (own === name) continue;
    short.set(name, own);
    shortened.set(own, name);
  }
  // A call of an earlier turn may name a tool that is no longer offered.
  return { short: (own) => short.get(own) ?? shortName(own, max), shortened };
}

/** A name that OpenAI's and Anthropic's models take: of others, the beginning and a hash. */
export function shortName(name: string, max: number): string {
  if (name.length <= max && !/[^\w-]/.test(name)) return name;
  const plain = name.replaceAll(/[^\w-]/g, '_').slice(0, max - 9);
  return `${plain}_${hash('sha256', name, 'hex').slice(0, 8)}`;
}

/** The id of a tool call, for services that take only short ones. */
export function shortId(id: string, max: number): string {
  return id.length > max ? shortName(id, max) : id;
}

/** The caller's user. OpenAI accepts 64 characters; Claude Code sends more. */
export function userOf({ api, settings: { user } }: Conversation): string | null {
  return api === 'messages' && user && user.length > 64 ? hash('sha256', user) : user;
}

/**
 * The input of a tool call in Messages, where it is an object. A call with a broken input stays in
 * the conversation: its result needs a call, and a client can show the model why it failed.
 */
export function toolInput(text: string): Json {
  if (text.trim() === '') return {};
  try {
    const value: unknown = verbatimJson(text);
    // Deeper nesting would exhaust the stack of readers.
    if (isObject(value) && isWithinDepth(value, depthMax)) return value;
  } catch {
    // Broken JSON is kept as a text.
  }
  return invalidInput(text);
}

/** An input that fits no tool, so that a client tells the model what it wrote. */
export function invalidInput(text: string): Json {
  return { INVALID_JSON: text };
}

/** The names that callers of each API know for what an upstream cannot be told. */
const names = {
  completions: {
    effort: 'reasoning_effort',
    format: 'response_format',
    parallel: 'parallel_tool_calls',
    strict: 'tools[].function.strict',
    thought: 'messages[].reasoning_content',
    name: 'messages[].name',
    refusal: 'messages[].refusal',
    audio: 'messages[].audio',
    detail: 'messages[].content[].image_url.detail',
  },
  messages: {
    effort: 'output_config.effort',
    format: 'output_config.format',
    parallel: 'tool_choice.disable_parallel_tool_use',
    stop: 'stop_sequences',
    thought: 'messages[].content[].thinking',
  },
  responses: {
    effort: 'reasoning.effort',
    format: 'text.format',
    parallel: 'parallel_tool_calls',
    strict: 'tools[].strict',
    verbosity: 'text.verbosity',
    logprobs: 'include',
    thought: 'input[].encrypted_content',
    phase: 'input[].phase',
    summary: 'reasoning.summary',
    detail: 'input[].content[].detail',
  },
} satisfies Record<ApiName, Record<string, string>>;

export function callersName(api: ApiName, what: string): string {
  const own: Readonly<Record<string, string>> = names[api];
  return own[what] ?? what;
}

const usual = new Set(['low', 'medium', 'high']);

/**
 * The effort that a call asks for; null: none. In Messages a budget for thinking stands for an
 * effort, and `xhigh` and `max` count as `high`, because few models know them.
 */
export function effortOf({ settings, api }: Conversation): string | null {
  const { effort, thinking } = settings;
  if (api !== 'messages') return effort;
  if (thinking?.type === 'disabled') return null;
  if (effort !== null) return usual.has(effort) ? effort : 'high';
  const budget = thinking?.type === 'enabled' ? thinking.budget_tokens : null;
  return budget === null ? null : effortOfBudget(budget);
}

/** The reasoning tokens that each effort allows, for services that take a budget instead. */
export const effortBudgets = {
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_768,
  xhigh: 49_152,
  max: 65_536,
} as const;

/** The lowest usual effort with at least this budget; `high` for all larger budgets. */
export function effortOfBudget(budget: number): 'low' | 'medium' | 'high' {
  const { low, medium } = effortBudgets;
  return budget <= low ? 'low' : budget <= medium ? 'medium' : 'high';
}

/** The effort in a call of an OpenAI API. Names in `ignored` what it says less. */
export function sentEffort(conversation: Conversation, ignored: Set<string>): string | null {
  const { settings, api } = conversation;
  const effort = effortOf(conversation);
  if (settings.effort !== null && settings.effort !== effort)
    ignored.add(callersName(api, 'effort'));
  return effort;
}

/** Whether no effort stands for the thinking that is asked for, as it can in Messages. */
export function dropsThinking({ settings: { thinking }, api }: Conversation): boolean {
  return thinking !== null && (api !== 'messages' || thinking.type === 'disabled');
}
