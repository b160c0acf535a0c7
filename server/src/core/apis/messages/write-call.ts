import type { Json } from '../../../lib/json.ts';
import { hasKey } from '../../../lib/records.ts';
import { badMessages } from '../../bad-request.ts';
import { demandUsers, saysNothing } from '../../chat/chat-media.ts';
import type {
  Block,
  Conversation,
  Media,
  MediaBlock,
  Tool,
  Turn,
} from '../../chat/conversation.ts';
import { cacheMark } from '../../chat/optional-fields.ts';
import {
  anyObject,
  effortBudgets,
  effortOfBudget,
  ignore,
  markOf,
  openWriting,
  toolInput,
  type Writing as SharedWriting,
} from '../writing.ts';
import { givenFields } from '../../check.ts';
import type { Calling, Manners, WrittenCall } from '../api.ts';
import { claudeFormat, type Thought } from '../thoughts.ts';

/** How the models of services with Anthropic's Messages API differ. */
export interface MessagesManners extends Manners {
  /**
   * How thinking is requested. Older models need a limit (`budget`), newer ones decide how much
   * they think (`adaptive`). The newest (`summarized`) show no thinking unless a summary is
   * requested, and may refuse a call that turns thinking off.
   */
  thinking: 'summarized' | 'adaptive' | 'budget';
  /** Whether the models take `temperature`, `top_p` and `top_k`. */
  sampling: boolean;
}

interface Writing extends SharedWriting<MessagesManners> {
  max_tokens: number;
}

/**
 * Writes a call in Anthropic's Messages.
 *
 * @throws ApiError `bad_messages` for audio, and for a file that is neither text nor a PDF
 */
export function writeMessagesCall(
  conversation: Conversation,
  { model, max_tokens, stream }: Calling,
  manners: MessagesManners,
): WrittenCall {
  const writing = { ...openWriting(conversation, manners), max_tokens };
  const { stop, user } = conversation.settings;
  for (const name of Object.keys(conversation.extras)) ignore(writing, name);
  for (const name of ['verbosity', 'logprobs', 'top_logprobs'] as const)
    if (conversation.settings[name] !== null) ignore(writing, name);
  const thinking = thinkingOf(writing);
  const asked = conversation.settings.thinking;
  if (asked && (thinking === undefined || isOn(thinking) === (asked.type === 'disabled')))
    ignore(writing, 'thinking');
  const stops = stop.filter((each) => each.trim() !== '');
  if (stops.length < stop.length) ignore(writing, 'stop');
  const body = givenFields({
    model,
    max_tokens,
    ...turnsOf(writing),
    ...samplingOf(thinking, writing),
    ...toolsOf(writing),
    stop_sequences: stops.length > 0 ? stops : undefined,
    thinking,
    output_config: configOf(thinking, writing),
    metadata: user ? { user_id: user } : undefined,
    stream: stream || undefined,
  });
  return { body, ignored: [...writing.ignored], names: writing.names.shortened, fields: new Set() };
}

function samplingOf(thinking: Json | undefined, writing: Writing): Json {
  const { temperature, top_p, top_k } = writing.conversation.settings;
  const all = { temperature, top_p: temperature !== null && top_p === 1 ? null : top_p, top_k };
  const given = Object.entries(all).filter(([, value]) => value !== null);
  // Anthropic refuses them beside thinking, and its newer models `top_p` beside a temperature.
  if (writing.manners.sampling && !isOn(thinking)) return Object.fromEntries(given);
  for (const [name] of given) ignore(writing, name);
  return {};
}

function configOf(thinking: Json | undefined, writing: Writing): Json | undefined {
  const { conversation, manners } = writing;
  const { format, settings } = conversation;
  const level = isOn(thinking) && manners.thinking !== 'budget' ? levelOf(conversation) : null;
  const isSaid = level !== null || (thinking !== undefined && settings.thinking === null);
  if (settings.effort !== null && !isSaid) ignore(writing, 'effort');
  if (format?.type === 'json') ignore(writing, 'format');
  const schema = format?.type === 'schema' ? { type: 'json_schema', schema: format.schema } : null;
  if (level === null && schema === null) return undefined;
  return {
    ...(level !== null && { effort: level === 'minimal' ? 'low' : level }),
    ...(schema !== null && { format: schema }),
  };
}

/** Null if the effort is missing or unknown. */
function levelOf(conversation: Conversation): keyof typeof effortBudgets | null {
  const { effort: said, thinking } = conversation.settings;
  const budget = thinking?.type === 'enabled' ? thinking.budget_tokens : null;
  const effort = said ?? (budget && effortOfBudget(budget));
  return hasKey(effortBudgets, effort) ? effort : null;
}

const budgetMin = 1_024;

/** Undefined: the model's default. */
function thinkingOf({ conversation, manners, max_tokens }: Writing): Json | undefined {
  const { thinking, effort } = conversation.settings;
  const display = manners.thinking === 'summarized' && { display: 'summarized' };
  const off = display ? undefined : { type: 'disabled' };
  if (thinking?.type === 'disabled' && conversation.api === 'completions')
    return { type: 'disabled' };
  if (thinking?.type === 'disabled' || effort === 'none') return off;
  const level = levelOf(conversation);
  const isAsked = level !== null || thinking !== null;
  // A model cannot think beside a forced tool call.
  if (!isAsked || ['any', 'tool'].includes(conversation.choice.mode ?? '')) return undefined;
  if (manners.thinking !== 'budget') return { type: 'adaptive', ...display };
  // `max_tokens` covers thinking and reply, so half of it is left for the reply.
  const usual = Math.min(effortBudgets[level ?? 'high'], Math.floor(max_tokens / 2));
  const budget = thinking?.budget_tokens ?? usual;
  if (budget < budgetMin || budget >= max_tokens || callsWithoutThought(conversation))
    return undefined;
  return { type: 'enabled', budget_tokens: budget };
}

function isOn(thinking: Json | undefined): boolean {
  return thinking !== undefined && thinking.type !== 'disabled';
}

/** Whether the last turn calls tools without a thought, which Anthropic refuses beside a budget. */
function callsWithoutThought({ turns }: Conversation): boolean {
  const said = turns.filter(({ blocks }) => blocks.some(({ type }) => type !== 'result'));
  const last = said.findLast(({ by }) => by === 'assistant' || by === 'user');
  if (last?.by !== 'assistant' || !last.blocks.some(({ type }) => type === 'call')) return false;
  return !last.blocks.some((block) => block.type === 'thought' && isClaudes(block));
}

/** Whether Claude can verify the reasoning as its own. Anthropic refuses any other reasoning. */
function isClaudes({ form, text, signature, format }: Thought): boolean {
  if ((format ?? claudeFormat) !== claudeFormat) return false;
  return form === 'hidden' ? text !== '' : signature !== null;
}

function toolsOf(writing: Writing): Json {
  const { tools, choice } = writing.conversation;
  const offered = tools.filter(({ name }) => choice.only === null || choice.only.includes(name));
  if (offered.length === 0) return {};
  return { tools: offered.map((tool) => toolOf(tool, writing)), tool_choice: choiceOf(writing) };
}

function toolOf({ name, description, parameters, strict, custom, mark }: Tool, writing: Writing) {
  const named = { name: writing.names.sent(name) };
  if (custom === null)
    return {
      ...named,
      ...(description !== null && { description }),
      input_schema: parameters ?? anyObject,
      ...(strict === true && { strict }),
      ...markOf(mark, writing),
    };
  const { grammar } = custom;
  const about = grammar && `The input has this ${grammar.syntax} grammar:\n\n${grammar.definition}`;
  const said = [description, about].filter((each) => each !== null).join('\n\n');
  return {
    ...named,
    ...(said !== '' && { description: said }),
    input_schema: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
    },
    ...markOf(mark, writing),
  };
}

function choiceOf({ conversation, names }: Writing): Json | undefined {
  const { choice, parallel } = conversation;
  const single = parallel === false && { disable_parallel_tool_use: true };
  if (choice.tool !== null) return { type: 'tool', name: names.sent(choice.tool), ...single };
  if (choice.mode === 'none') return { type: 'none' };
  if (choice.mode === null && !single) return undefined;
  return { type: choice.mode ?? 'auto', ...single };
}

interface Message {
  role: 'user' | 'assistant';
  content: Json[];
}

/**
 * Consecutive turns of one side become one message: the results of all calls of a turn must be
 * together. A list may have more items than a function takes arguments, so none is spread into a
 * call.
 */
function turnsOf(writing: Writing): Json {
  const messages: Message[] = [];
  const system: Json[] = [];
  for (const turn of writing.conversation.turns) {
    const blocks = blocksOf(turn, writing);
    if (turn.by === 'system' || turn.by === 'developer')
      for (const block of blocks) system.push(block);
    else if (blocks.length > 0) addMessage(messages, turn.by, blocks);
  }
  for (const message of messages)
    message.content = [...results(message, true), ...results(message, false)];
  // Anthropic wants at least one message.
  if (messages.length === 0 && system.length === 0) throw saysNothing(writing.conversation);
  if (messages.length === 0) return { messages: [{ role: 'user', content: system }] };
  withoutLastBlank(messages);
  const isMarked = system.some((block) => cacheMark in block);
  const said = system.map(({ text }) => text).join('\n\n');
  return { system: isMarked ? system : said || undefined, messages };
}

function addMessage(messages: Message[], role: Message['role'], content: Json[]): void {
  const last = messages.at(-1);
  if (last?.role !== role) messages.push({ role, content: [...content] });
  else for (const block of content) last.content.push(block);
}

/** Anthropic refuses a text that is to be continued if it ends with white space. */
function withoutLastBlank(messages: Message[]): void {
  const last = messages.at(-1);
  const block = last?.content.at(-1);
  if (last?.role === 'assistant' && block?.type === 'text')
    block.text = String(block.text).trimEnd();
}

/** The tool results of a message, or its other blocks. Anthropic wants the results first. */
function results({ content }: Message, isWanted: boolean): Json[] {
  return content.filter(({ type }) => (type === 'tool_result') === isWanted);
}

function blocksOf({ by, blocks, name, audio_id }: Turn, writing: Writing): Json[] {
  if (name !== null) ignore(writing, 'name');
  if (audio_id !== undefined) ignore(writing, 'audio');
  return blocks.flatMap((block) =>
    blockOf(block, by, writing).map((each) => ({ ...each, ...markOf(block.mark, writing) })),
  );
}

function blockOf(block: Block, by: Turn['by'], writing: Writing): Json[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
      // Anthropic refuses texts of white space alone.
      return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text }];
    case 'thought':
      return thoughtOf(block, writing);
    case 'call': {
      const { id, name, input: text, custom } = block;
      const input = custom ? { input: text } : toolInput(text);
      return [{ type: 'tool_use', id: toolId(id), name: writing.names.sent(name), input }];
    }
    case 'result': {
      const { call, blocks, failed } = block;
      const content = blocks.flatMap((each) => blockOf(each, by, writing));
      const isPlain = content.length === 1 && content[0]!.type === 'text';
      const said = isPlain ? content[0]!.text : content;
      return [
        {
          type: 'tool_result',
          tool_use_id: toolId(call),
          ...(content.length > 0 && { content: said }),
          ...(failed && { is_error: true }),
        },
      ];
    }
    default:
      demandUsers(by, block);
      return mediaOf(block, writing);
  }
}

function thoughtOf(thought: Thought, writing: Writing): Json[] {
  if (!isClaudes(thought)) {
    ignore(writing, 'thought');
    return [];
  }
  const { form, text, signature } = thought;
  if (form === 'hidden') return [{ type: 'redacted_thinking', data: text }];
  return [{ type: 'thinking', thinking: text, signature }];
}

/** Ids of other services may have characters that Anthropic refuses. */
function toolId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_');
}

function mediaOf({ type, media, at, detail }: MediaBlock, writing: Writing): Json[] {
  if (type === 'audio') throw badMessages(at, 'is audio, which this model cannot hear');
  if (detail !== undefined && detail !== 'auto') ignore(writing, 'detail');
  const { from, value, name } = media;
  if (type === 'image') {
    const media_type = media.type ?? 'image/png';
    const bytes = { type: 'base64', media_type, data: value };
    return [{ type, source: from === 'base64' ? bytes : { type: 'url', url: value } }];
  }
  return [
    { type: 'document', source: fileSource(media, at), ...(name !== null && { title: name }) },
  ];
}

function fileSource({ from, type, value }: Media, at: string): Json {
  if (from === 'url') return { type: 'url', url: value };
  if (from === 'text') return { type: 'text', media_type: 'text/plain', data: value };
  // Bare base64 counts as a PDF, as at other services.
  const media_type = type ?? 'application/pdf';
  if (media_type === 'application/pdf') return { type: 'base64', media_type, data: value };
  throw badMessages(at, `is a file of ${media_type}, and this model reads text and PDF`);
}
