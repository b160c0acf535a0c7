import type { Json } from '../../../lib/json.ts';
import { waitingIn, type WaitingList } from '../../../lib/waiting-list.ts';
import { hasKey } from '../../../lib/records.ts';
import { badMessages } from '../../bad-request.ts';
import { demandUsers, saysNothing } from '../../chat/chat-media.ts';
import type * as chat from '../../chat/conversation.ts';
import { cacheMark } from '../../chat/optional-fields.ts';
import * as common from '../writing.ts';
import { givenFields, isFilled } from '../../check.ts';
import type { CallSettings, ApiDialect, WrittenCall } from '../api.ts';
import { claudeFormat, type Thought } from '../thoughts.ts';
import { isOpenSchema, schemaForClaude } from './schema.ts';

/** How the models of services with Anthropic's Messages API differ. */
export interface MessagesDialect extends ApiDialect {
  /**
   * How thinking is requested. Older models need a limit (`budget`), newer ones decide how much
   * they think (`adaptive`). The newest (`summarized`) show no thinking unless a summary is
   * requested, and may refuse a call that turns thinking off.
   */
  thinking: 'summarized' | 'adaptive' | 'budget';
  /** Whether the models take `temperature`, `top_p` and `top_k`. */
  sampling: boolean;
}

interface MessagesContext extends common.WriteContext<MessagesDialect> {
  max_tokens: number;
  ids: CallIds;
}

/** Writes a call in Messages. Throws `bad_messages` for audio, and files but text and PDF. */
export function writeMessagesCall(
  given: chat.Conversation,
  { model, max_tokens, stream }: CallSettings,
  dialect: MessagesDialect,
): WrittenCall {
  const conversation = common.withoutCustom(given);
  const writing = { ...common.openWriting(conversation, dialect), max_tokens, ids: callIds() };
  const { stop, user, verbosity, logprobs, top_logprobs } = conversation.settings;
  common.omitFields(writing, { ...conversation.extras, verbosity, logprobs, top_logprobs });
  const thinking = thinkingOf(writing);
  const asked = conversation.settings.thinking;
  if (asked && (thinking === undefined || isOn(thinking) === (asked.type === 'disabled')))
    common.omitField(writing, 'thinking');
  const stops = stop.filter((each) => each.trim() !== '');
  if (stops.length < stop.length) common.omitField(writing, 'stop');
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
  return common.writtenCall(body, writing);
}

function samplingOf(thinking: Json | undefined, writing: MessagesContext): Json {
  const { api, settings } = writing.conversation;
  const { top_p, top_k } = settings;
  // OpenAI's temperatures go up to 2, Anthropic's up to 1.
  const temperature =
    api === 'messages' || settings.temperature === null
      ? settings.temperature
      : Math.min(settings.temperature, 1);
  // Anthropic refuses them beside thinking, and its newer models `top_p` beside a temperature.
  const takesAny = writing.dialect.sampling && !isOn(thinking);
  const all = { temperature, top_p: temperature !== null && top_p === 1 ? null : top_p, top_k };
  const isTaken = (name: string) => takesAny && (name !== 'top_p' || temperature === null);
  return common.takenFields(writing, all, isTaken);
}

function configOf(thinking: Json | undefined, writing: MessagesContext): Json | undefined {
  const { conversation, dialect } = writing;
  const { format, settings } = conversation;
  const level = isOn(thinking) && dialect.thinking !== 'budget' ? levelOf(conversation) : null;
  const isSaid = level !== null || (thinking !== undefined && settings.thinking === null);
  if (settings.effort !== null && !isSaid) common.omitField(writing, 'effort');
  const schema = format?.type === 'schema' ? schemaOf(format.schema, writing) : null;
  if (format !== null && schema === null) common.omitField(writing, 'format');
  const config = givenFields({
    effort: level === 'minimal' ? 'low' : level,
    format: schema && { type: 'json_schema', schema },
  });
  return Object.keys(config).length > 0 ? config : undefined;
}

/** Null: Claude takes none of its meaning. Callers of Anthropic's API know what it takes. */
function schemaOf(schema: Json, { conversation }: MessagesContext): unknown {
  if (conversation.api === 'messages') return schema;
  return isOpenSchema(schema) ? null : schemaForClaude(schema);
}

/** Null if the effort is missing or unknown. */
function levelOf(conversation: chat.Conversation): keyof typeof common.effortBudgets | null {
  const { effort: said, thinking } = conversation.settings;
  const budget = thinking?.type === 'enabled' ? thinking.budget_tokens : null;
  const effort = said ?? (budget && common.effortOfBudget(budget));
  return hasKey(common.effortBudgets, effort) ? effort : null;
}

const budgetMin = 1_024;

/** Undefined: the model's default. */
function thinkingOf({ conversation, dialect, max_tokens }: MessagesContext): Json | undefined {
  const { thinking, effort } = conversation.settings;
  const display = dialect.thinking === 'summarized' && { display: 'summarized' };
  const off = display ? undefined : { type: 'disabled' };
  if (thinking?.type === 'disabled' && conversation.api === 'completions')
    return { type: 'disabled' };
  if (thinking?.type === 'disabled' || effort === 'none') return off;
  const level = levelOf(conversation);
  const isAsked = level !== null || thinking !== null;
  // A model cannot think beside a forced tool call.
  if (!isAsked || ['any', 'tool'].includes(conversation.choice.mode ?? '')) return undefined;
  if (dialect.thinking !== 'budget') return { type: 'adaptive', ...display };
  // `max_tokens` covers thinking and reply, so half of it is left for the reply.
  const usual = Math.min(common.effortBudgets[level ?? 'high'], Math.floor(max_tokens / 2));
  const budget = thinking?.budget_tokens ?? usual;
  if (budget < budgetMin || budget >= max_tokens || callsWithoutThought(conversation))
    return undefined;
  return { type: 'enabled', budget_tokens: budget };
}

function isOn(thinking: Json | undefined): boolean {
  return thinking !== undefined && thinking.type !== 'disabled';
}

/** Whether the last turn calls tools without a thought, which Anthropic refuses beside a budget. */
function callsWithoutThought({ turns }: chat.Conversation): boolean {
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

function toolsOf(writing: MessagesContext): Json {
  const { tools, choice } = writing.conversation;
  if (tools.length === 0) return common.omitParallel(writing);
  const isAll = choice.only === null || choice.only.length === 0;
  const offered = isAll ? tools : tools.filter(({ name }) => choice.only!.includes(name));
  return { tools: offered.map((tool) => toolOf(tool, writing)), tool_choice: choiceOf(writing) };
}

function toolOf(
  { name, description, parameters, strict, mark }: chat.Tool,
  writing: MessagesContext,
) {
  const closed = parameters && strict === true ? schemaOf(parameters, writing) : null;
  const isOpen = parameters && strict === true && closed === null;
  return {
    name: writing.names.short(name),
    ...(isFilled(description) && { description }),
    input_schema: closed ?? parameters ?? common.anyObject,
    ...(isOpen ? common.omitField(writing, 'strict') : strict === true && { strict }),
    ...common.cacheControlOf(mark, writing),
  };
}

function choiceOf(writing: MessagesContext): Json | undefined {
  const { conversation, names } = writing;
  const { choice, parallel } = conversation;
  if (choice.only?.length === 0 && choice.mode === 'any') common.omitField(writing, 'tool_choice');
  const single = parallel === false && { disable_parallel_tool_use: true };
  if (choice.tool !== null) return { type: 'tool', name: names.short(choice.tool), ...single };
  if (choice.mode === 'none' || choice.only?.length === 0) return { type: 'none' };
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
function turnsOf(writing: MessagesContext): Json {
  const messages: Message[] = [];
  const system: Json[] = [];
  const { turns } = writing.conversation;
  const isOfSystem = ({ by }: chat.Turn) => by === 'system' || by === 'developer';
  const last = turns.findLastIndex((turn) => !isOfSystem(turn));
  for (const [at, turn] of turns.entries()) {
    const blocks = blocksOf(turn, writing);
    // Behind the answer that would be last it asks for the next one.
    const isAsking = at > last && turns[last]?.by === 'assistant';
    const by = isOfSystem(turn) && isAsking ? 'user' : turn.by;
    if (by === 'system' || by === 'developer') for (const block of blocks) system.push(block);
    else if (blocks.length > 0) addMessage(messages, by, blocks);
  }
  // Anthropic wants the results of tools first.
  const isOther = ({ type }: Json) => Number(type !== 'tool_result');
  for (const { content } of messages) content.sort((a, b) => isOther(a) - isOther(b));
  // Anthropic wants at least one message.
  if (messages.length === 0 && system.length === 0) throw saysNothing(writing.conversation);
  if (messages.length === 0) return { messages: [{ role: 'user', content: system }] };
  // Anthropic refuses a text that is to be continued if it ends with white space.
  const end = messages.at(-1)!;
  const block = end.content.at(-1)!;
  if (end.role === 'assistant' && block.type === 'text') block.text = String(block.text).trimEnd();
  const isMarked = system.some((block) => cacheMark in block);
  const said = system.map(({ text }) => text).join('\n\n');
  return { system: isMarked ? system : said || undefined, messages };
}

function addMessage(messages: Message[], role: Message['role'], content: Json[]): void {
  const last = messages.at(-1);
  if (last?.role !== role) messages.push({ role, content: [...content] });
  else for (const block of content) last.content.push(block);
}

function blocksOf({ by, blocks, name, audio_id }: chat.Turn, writing: MessagesContext): Json[] {
  common.omitFields(writing, { name, audio: audio_id });
  common.omitPhase(blocks, writing);
  return blocks.flatMap((block) =>
    blockOf(block, by, writing).map((each) => ({
      ...each,
      ...common.cacheControlOf(block.mark, writing),
    })),
  );
}

type CallIds = ReturnType<typeof callIds>;

/** Anthropic wants unique ids. Other services use them again, even in one turn. */
function callIds() {
  /** Ids of calls without a result, by the id that the caller gave. */
  const open = new Map<string, WaitingList<string>>();
  const answered = new Map<string, string>();
  const taken = new Set<string>();
  return {
    ofCall(own: string): string {
      let id = common.shortName(own, 64);
      if (taken.has(id)) id = common.shortName(`${own}_${taken.size}`, 64);
      taken.add(id);
      waitingIn(open, own).add(id);
      return id;
    },
    ofResult(own: string): string {
      const id = open.get(own)?.take() ?? answered.get(own) ?? common.shortName(own, 64);
      answered.set(own, id);
      return id;
    },
  };
}

function blockOf(block: chat.Block, by: chat.Turn['by'], writing: MessagesContext): Json[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
      // Anthropic refuses texts of white space alone.
      return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text }];
    case 'thought':
      return thoughtOf(block, writing);
    case 'call': {
      const { id, name } = block;
      const input = common.toolInput(block.input);
      return [
        { type: 'tool_use', id: writing.ids.ofCall(id), name: writing.names.short(name), input },
      ];
    }
    case 'result': {
      const { call, blocks, failed } = block;
      const content = blocks.flatMap((each) => blockOf(each, by, writing));
      const isPlain = content.length === 1 && content[0]!.type === 'text';
      const said = content.length > 0 && { content: isPlain ? content[0]!.text : content };
      const isError = failed && { is_error: true };
      return [
        { type: 'tool_result', tool_use_id: writing.ids.ofResult(call), ...said, ...isError },
      ];
    }
    default:
      demandUsers(by, block);
      return mediaOf(block, writing);
  }
}

function thoughtOf(thought: Thought, writing: MessagesContext): Json[] {
  const { form, text, signature } = thought;
  if (!isClaudes(thought)) return common.omitBlocks(writing, 'thought');
  if (form === 'hidden') return [{ type: 'redacted_thinking', data: text }];
  return [{ type: 'thinking', thinking: text, signature }];
}

function mediaOf({ type, media, at, detail }: chat.MediaBlock, writing: MessagesContext): Json[] {
  if (type === 'audio') throw badMessages(at, 'is audio, which this model cannot hear');
  if (detail !== undefined && detail !== 'auto') common.omitField(writing, 'detail');
  const { from, value, name } = media;
  const title = name !== null && { title: name };
  if (type === 'file') return [{ type: 'document', source: fileSource(media, at), ...title }];
  const bytes = { type: 'base64', media_type: media.type ?? 'image/png', data: value };
  return [{ type, source: from === 'base64' ? bytes : { type: 'url', url: value } }];
}

function fileSource({ from, type, value }: chat.Media, at: string): Json {
  if (from === 'url') return { type: 'url', url: value };
  if (from === 'text') return { type: 'text', media_type: 'text/plain', data: value };
  // Bare base64 counts as a PDF, as at other services.
  const media_type = type ?? 'application/pdf';
  if (media_type === 'application/pdf') return { type: 'base64', media_type, data: value };
  throw badMessages(at, `is a file of ${media_type}, and this model reads text and PDF`);
}
