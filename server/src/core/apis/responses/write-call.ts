import type { Json } from '../../../lib/json.ts';
import { badMessages } from '../../bad-request.ts';
import { demandUsers, saysNothing } from '../../chat/chat-media.ts';
import type { Block, Conversation, MediaBlock, Tool, Turn } from '../../chat/conversation.ts';
import { givenFields, isFilled } from '../../check.ts';
import type { CallSettings, ApiDialect, WrittenCall } from '../api.ts';
import * as common from '../writing.ts';
import { responsesFormat, type Thought } from '../thoughts.ts';

/** How servers of OpenAI's Responses differ. */
export interface ResponsesDialect extends ApiDialect {
  /** Which of `prompt_cache_key` and `safety_identifier` the server gets. */
  passes: ReadonlySet<string>;
}

interface ResponsesContext extends common.WriteContext<ResponsesDialect> {
  /** Ids of custom calls. A result names only the id of its call, not its kind. */
  custom: Set<string>;
}

/** Writes a call that stores nothing. Throws `bad_messages` for audio. */
export function writeResponsesCall(
  conversation: Conversation,
  { model, max_tokens, stream }: CallSettings,
  dialect: ResponsesDialect,
): WrittenCall {
  const writing: ResponsesContext = {
    ...common.openWriting(conversation, dialect),
    custom: new Set(),
  };
  const { temperature, top_p, top_logprobs, logprobs, summary, proofs } = conversation.settings;
  const effort = common.sentEffort(conversation, writing.ignored);
  const input = conversation.turns.flatMap((turn) => itemsOf(turn, writing));
  if (input.length === 0) throw saysNothing(conversation);
  const isThinking = isFilled(effort) && effort !== 'none';
  const include: string[] = [];
  // Models that do not reason refuse this value.
  if (isThinking || proofs || input.some(({ type }) => type === 'reasoning'))
    include.push('reasoning.encrypted_content');
  if (logprobs === true) include.push('message.output_text.logprobs');
  const body = givenFields({
    model,
    temperature,
    top_p,
    top_logprobs,
    user: common.userOf(conversation),
    ...extrasOf(writing),
    input,
    max_output_tokens: max_tokens,
    store: false,
    reasoning: (effort ?? summary) === null ? null : givenFields({ effort, summary }),
    include: include.length > 0 ? include : null,
    text: textOf(conversation),
    ...toolsOf(writing),
    stream: stream || null,
  });
  return common.writtenCall(body, writing);
}

const known = new Set(['prompt_cache_key', 'safety_identifier']);

function extrasOf(writing: ResponsesContext): Json {
  const { conversation, dialect } = writing;
  const { extras, settings } = conversation;
  const { top_k, thinking } = settings;
  const stop = settings.stop.length > 0 ? settings.stop : null;
  const isTaken = (name: string) => known.has(name) && dialect.passes.has(name);
  const taken = common.takenFields(writing, extras, isTaken);
  const isDropped = common.dropsThinking(conversation);
  common.omitFields(writing, { stop, top_k, thinking: isDropped ? thinking : null });
  return taken;
}

function textOf({ format, settings: { verbosity } }: Conversation): Json | null {
  const isSchema = format?.type === 'schema';
  const said = format && { ...format, type: isSchema ? 'json_schema' : 'json_object' };
  const text = givenFields({ verbosity, format: said && givenFields(said) });
  return Object.keys(text).length > 0 ? text : null;
}

function toolsOf(writing: ResponsesContext): Json {
  const { tools, parallel } = writing.conversation;
  if (tools.length === 0) return { parallel_tool_calls: parallel };
  return {
    parallel_tool_calls: parallel,
    tools: tools.map((tool) => toolOf(tool, writing)),
    tool_choice: common.choiceOf(
      writing,
      (type, name) => ({ type, name }),
      (fields) => ({ type: 'allowed_tools', ...fields }),
    ),
  };
}

function toolOf(
  { name: own, description, parameters, strict, custom, mark }: Tool,
  writing: ResponsesContext,
) {
  if (mark) common.omitField(writing, 'cache_control');
  const name = writing.names.short(own);
  if (custom !== null) {
    const format = custom.grammar && { type: 'grammar', ...custom.grammar };
    return givenFields({ type: 'custom', name, description, format });
  }
  const given = { parameters: parameters ?? common.anyObject, strict: strict ?? false };
  return givenFields({ type: 'function', name, description, ...given });
}

/** The blocks become items in the order in which they were said. */
function itemsOf(turn: Turn, writing: ResponsesContext): Json[] {
  common.omitFields(writing, { name: turn.name, audio: turn.audio_id });
  const items: Json[] = [];
  let content: Json[] = [];
  let phase: string | undefined;
  const flush = () => {
    const own = { role: turn.by, content, ...(phase !== undefined && { phase }) };
    if (content.length > 0) items.push(turn.by === 'assistant' ? { type: 'message', ...own } : own);
    content = [];
  };
  for (const block of turn.blocks) {
    if (block.mark) common.omitField(writing, 'cache_control');
    const part = partOf(block, turn.by);
    const own = 'phase' in block ? block.phase : undefined;
    if (part === null || own !== phase) flush();
    phase = own;
    if (part !== null) content.push(part);
    else items.push(...itemOf(block, writing));
  }
  flush();
  return withSummaries(items);
}

/** A part of a message's content; null for a block that is an item of its own. */
function partOf(block: Block, by: Turn['by']): Json | null {
  if (block.type === 'text')
    return { type: by === 'assistant' ? 'output_text' : 'input_text', text: block.text };
  if (block.type === 'refusal') return { type: 'refusal', refusal: block.text };
  if (block.type === 'thought' || block.type === 'call' || block.type === 'result') return null;
  demandUsers(by, block);
  return mediaOf(block);
}

function itemOf(block: Block, writing: ResponsesContext): Json[] {
  switch (block.type) {
    case 'call': {
      const { id, input, custom } = block;
      const call_id = common.shortId(id, 64);
      const name = writing.names.short(block.name);
      if (!custom) return [{ type: 'function_call', call_id, name, arguments: input }];
      writing.custom.add(id);
      return [{ type: 'custom_tool_call', call_id, name, input }];
    }
    case 'result': {
      const { call, blocks, failed } = block;
      const call_id = common.shortId(call, 64);
      const type = writing.custom.has(call) ? 'custom_tool_call_output' : 'function_call_output';
      const parts = blocks.map((each) =>
        each.type === 'text' ? { type: 'input_text', text: each.text } : mediaOf(each),
      );
      const [first] = blocks;
      if (blocks.length < 2 && (first === undefined || first.type === 'text'))
        return [{ type, call_id, output: (failed ? 'Error: ' : '') + (first?.text ?? '') }];
      const label = failed ? [{ type: 'input_text', text: 'Error:' }] : [];
      return [{ type, call_id, output: [...label, ...parts] }];
    }
    case 'thought':
      return thoughtOf(block, writing);
    default:
      return [];
  }
}

/** Responses can read reasoning only in its hidden form, because nothing was stored. */
function thoughtOf({ form, text, id, format }: Thought, writing: ResponsesContext): Json[] {
  if (format !== responsesFormat) return common.omitBlocks(writing, 'thought');
  if (form === 'summary') return [{ type: 'summary', id, text }];
  if (form !== 'hidden') return [];
  return [{ type: 'reasoning', ...(id !== null && { id }), summary: [], encrypted_content: text }];
}

/** Summaries become a part of the reasoning with the same id; without one, of the next without. */
function withSummaries(items: Json[]): Json[] {
  const summaries = new Map<unknown, Json[]>();
  let unnamed = 0;
  return items.flatMap((item) => {
    const key = item.id ?? unnamed;
    const summary = summaries.get(key) ?? [];
    summaries.set(key, summary);
    if (item.type === 'summary') summary.push({ type: 'summary_text', text: item.text });
    if (item.type === 'reasoning' && key === unnamed) unnamed++;
    if (item.type === 'summary') return [];
    return [item.type === 'reasoning' ? { ...item, summary } : item];
  });
}

function mediaOf({ type, media, at, detail = 'auto' }: MediaBlock): Json {
  const { from, value, name } = media;
  const url = common.addressOf(media);
  if (type === 'image') return { type: 'input_image', image_url: url, detail };
  if (type === 'audio') throw badMessages(at, 'is audio, which this model cannot hear');
  if (from === 'url') return { type: 'input_file', file_url: value };
  return { type: 'input_file', file_data: url, ...(name !== null && { filename: name }) };
}
