import { hash } from 'node:crypto';
import { itemsOf, type Json } from '../../../lib/json.ts';
import type * as chat from '../../chat/conversation.ts';
import { cacheMark, habits, optionalFields } from '../../chat/optional-fields.ts';
import { givenFields, isFilled, isGiven } from '../../check.ts';
import type { CallSettings, ApiDialect, WrittenCall } from '../api.ts';
import * as common from '../writing.ts';
import { detailOf, googleExtra, googleFormat } from '../thoughts.ts';

/** How servers of OpenAI's chat completions differ. */
export interface CompletionsDialect extends ApiDialect {
  /** Names of `extras` and settings that only some servers know. */
  passes: ReadonlySet<string>;
  /** Whether the role `developer` is known; else such a turn is one of `system`. */
  developer: boolean;
  /** Whether tools of the type `custom` are known; else such a tool is a function. */
  custom_tools: boolean;
  /** The fields of a message that are known, beside role, content and tool calls. */
  message_fields: ReadonlySet<string>;
  /** The server's name for the limit of completion tokens. */
  token_limit: 'max_tokens' | 'max_completion_tokens';
  /** Ask for the usage of each stream; some servers report it only if asked. */
  include_usage: boolean;
}

type CompletionsContext = common.WriteContext<CompletionsDialect>;

/** Writes a call in OpenAI's chat completions. */
export function writeCompletionsCall(
  given: chat.Conversation,
  { model, max_tokens, stream }: CallSettings,
  dialect: CompletionsDialect,
): WrittenCall {
  const conversation = dialect.custom_tools ? given : common.withoutCustom(given);
  const writing = common.openWriting(conversation, dialect);
  const body = givenFields({
    ...optionalsOf(conversation.extras, writing),
    ...settingsOf(writing),
    ...toolsOf(writing),
    response_format: formatOf(conversation),
    model,
    messages: messagesOf(writing),
    [dialect.token_limit]: max_tokens,
    ...(stream && { stream: true }),
    ...(stream && dialect.include_usage && { stream_options: { include_usage: true } }),
  });
  return common.writtenCall(body, writing);
}

function optionalsOf(fields: Json, writing: CompletionsContext): Json {
  const { passes } = writing.dialect;
  const isTaken = (name: string) => !Object.hasOwn(optionalFields, name) || passes.has(name);
  return common.takenFields(writing, fields, isTaken);
}

function settingsOf(writing: CompletionsContext): Json {
  const { conversation } = writing;
  const { settings } = conversation;
  const { temperature, top_p, top_k, stop, verbosity, logprobs, top_logprobs, summary } = settings;
  const thinking = common.dropsThinking(conversation) ? settings.thinking : null;
  common.omitFields(writing, { summary });
  return {
    temperature,
    top_p,
    ...optionalsOf({ top_k, thinking: thinking && givenFields({ ...thinking }) }, writing),
    stop: stop.length > 0 ? stop : null,
    reasoning_effort: common.sentEffort(conversation, writing.ignored),
    verbosity,
    logprobs,
    top_logprobs,
    user: common.userOf(conversation),
  };
}

function formatOf({ format }: chat.Conversation): Json | null {
  if (format === null) return null;
  if (format.type === 'json') return { type: 'json_object' };
  const { type: _, ...json_schema } = format;
  return { type: 'json_schema', json_schema: givenFields(json_schema) };
}

function toolsOf(writing: CompletionsContext): Json {
  const { tools, parallel } = writing.conversation;
  if (tools.length === 0) return common.omitParallel(writing);
  return {
    tools: tools.map((tool) => toolOf(tool, writing)),
    tool_choice: common.choiceOf(
      writing,
      (type, name) => ({ type, [type]: { name } }),
      (allowed_tools) => ({ type: 'allowed_tools', allowed_tools }),
    ),
    parallel_tool_calls: parallel,
  };
}

function toolOf(tool: chat.Tool, writing: CompletionsContext): Json {
  const { description, parameters, strict, custom } = tool;
  const named = { name: writing.names.short(tool.name), description };
  const mark = common.cacheControlOf(tool.mark, writing);
  const own = givenFields({ ...named, parameters, strict });
  if (custom === null) return { type: 'function', function: own, ...mark };
  const format = custom.grammar && { type: 'grammar', grammar: custom.grammar };
  return { type: 'custom', custom: givenFields({ ...named, format }), ...mark };
}

/**
 * Results become messages of the role `tool`. They take only text, so the media of results follow
 * in a message of the user, each behind the id of its call.
 */
function messagesOf(writing: CompletionsContext): Json[] {
  const messages: Json[] = [];
  let media: Json[] = [];
  const flush = () => {
    if (media.length > 0) messages.push({ role: 'user', content: media });
    media = [];
  };
  for (const turn of joinedTurns(writing)) {
    const results = turn.blocks.filter((block) => block.type === 'result');
    if (results.length === 0) flush();
    for (const result of results) {
      messages.push(resultOf(result, turn, writing));
      for (const part of mediaOf(result, writing)) media.push(part);
    }
    const rest = turn.blocks.filter((block) => block.type !== 'result');
    if (results.length > 0 && rest.length === 0) continue;
    if (media.length === 0) messages.push(messageOf(turn, rest, writing));
    else {
      for (const block of rest) if (isShown(block)) media.push(partOf(block, writing));
      flush();
    }
  }
  flush();
  return inOrder(messages, writing.dialect.message_fields);
}

/** The messages in the order that the server was found to want. */
function inOrder(messages: Json[], found: ReadonlySet<string>): Json[] {
  const ordered: Json[] = [];
  for (const message of messages) {
    const last = ordered.at(-1);
    const isOneSide = last?.role === message.role && message.role !== 'tool';
    if (last && isOneSide && !last.tool_calls && found.has(habits.inTurn)) join(last, message);
    else {
      if (last?.role === 'tool' && message.role === 'user' && found.has(habits.answerFirst))
        ordered.push({ role: 'assistant', content: 'OK.' });
      ordered.push(message);
    }
  }
  const end = ordered.at(-1);
  if (end?.role === 'assistant' && found.has(habits.prefix)) end.prefix = true;
  return ordered;
}

/** Adds a message to the one before it of the same side. */
function join(last: Json, message: Json): void {
  const { name, ...before } = last;
  const texts = (['reasoning', 'reasoning_content'] as const)
    .filter((field) => isFilled(before[field]) && isFilled(message[field]))
    .map((field) => [field, joined(before[field], message[field])] as const);
  const content = joined(before.content, message.content);
  Object.assign(last, message, { content, ...Object.fromEntries(texts) });
  // The words of two people have no name together.
  if (name !== message.name) delete last.name;
}

function joined(one: unknown, other: unknown): unknown {
  if (!isGiven(one) || one === '') return other;
  if (!isGiven(other) || other === '') return one;
  if (typeof one === 'string' && typeof other === 'string') return `${one}\n\n${other}`;
  const parts = (content: unknown) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : itemsOf(content);
  return [...parts(one), ...parts(other)];
}

/**
 * Consecutive turns of the system and the developer with one name are one message where they have
 * one role, because the templates of many models take only one.
 */
function joinedTurns({
  conversation: { turns },
  dialect,
}: CompletionsContext): readonly chat.Turn[] {
  if (dialect.developer) return turns;
  const isSystem = ({ by }: chat.Turn) => by === 'system' || by === 'developer';
  const joined: chat.Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (!isSystem(turn)) joined.push(turn);
    else if (last && isSystem(last) && last.name === turn.name)
      for (const block of turn.blocks) last.blocks.push(block);
    else {
      const by = last && dialect.message_fields.has(habits.systemFirst) ? 'user' : turn.by;
      joined.push({ ...turn, by, blocks: [...turn.blocks] });
    }
  }
  return joined;
}

type ShownBlock = Exclude<chat.Block, { type: 'thought' | 'call' | 'result' }>;
const isShown = (block: chat.Block): block is ShownBlock =>
  !['thought', 'call', 'result'].includes(block.type);

function resultOf(
  result: chat.ResultBlock,
  { listed }: chat.Turn,
  writing: CompletionsContext,
): Json {
  const texts = result.blocks.filter((block) => block.type === 'text');
  const said = (result.failed ? 'Error: ' : '') + texts.map(({ text }) => text).join('\n');
  const mark = common.cacheControlOf(result.mark, writing);
  const isList = cacheMark in mark || (listed === true && texts.length > 1 && !result.failed);
  const parts = cacheMark in mark ? [said] : texts.map(({ text }) => text);
  return {
    role: 'tool',
    tool_call_id: idOf(result.call, writing),
    content: isList ? parts.map((text) => ({ type: 'text', text, ...mark })) : said,
  };
}

function mediaOf({ blocks, call }: chat.ResultBlock, writing: CompletionsContext): Json[] {
  const media = blocks.filter((block) => block.type !== 'text');
  if (media.length === 0) return [];
  const label = { type: 'text', text: `The result of tool call ${call} has:` };
  return [label, ...media.map((block) => partOf(block, writing))];
}

function messageOf(turn: chat.Turn, blocks: chat.Block[], writing: CompletionsContext): Json {
  const { dialect } = writing;
  const { by, name, audio_id } = turn;
  common.omitPhase(blocks, writing);
  const role = by === 'developer' && !dialect.developer ? 'system' : by;
  const calls = blocks.filter((block) => block.type === 'call');
  const [thoughts, proofs] = thoughtsIn(blocks, writing);
  const refusals = turn.listed ? [] : blocks.filter((block) => block.type === 'refusal');
  const shown = blocks.filter(isShown).filter((block) => turn.listed || block.type !== 'refusal');
  const refusal = refusals.map(({ text }) => text).join('');
  const optional = { name, refusal: refusal || null, audio: audio_id && { id: audio_id } };
  const isTaken = (field: string) => dialect.message_fields.has(field);
  return {
    role,
    content: contentOf(shown, turn, calls.length > 0 || refusal !== '', writing),
    ...ofMessage(common.takenFields(writing, optional, isTaken), writing),
    ...thoughtsOf(thoughts, writing),
    ...proofOf(null, proofs, writing),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => callOf(call, proofs, writing)) }),
  };
}

/** A text where there are only texts, because many servers take nothing else. */
function contentOf(
  blocks: ShownBlock[],
  { by, listed }: chat.Turn,
  saysOtherwise: boolean,
  writing: CompletionsContext,
): unknown {
  if (blocks.length === 0) return saysOtherwise ? null : '';
  const parts = blocks.map((block) => partOf(block, writing));
  const isMarked = parts.some((part) => cacheMark in part);
  const wasMarked = blocks.some(({ mark }) => mark);
  const isPlain = blocks.every(({ type }) => type === 'text');
  if (!isPlain || isMarked) return parts;
  const isList = by === 'user' ? blocks.length > 1 || listed : listed && !wasMarked;
  return isList ? parts : parts.map(({ text }) => text).join('\n\n');
}

function partOf(block: ShownBlock, writing: CompletionsContext): Json {
  const mark = common.cacheControlOf(block.mark, writing);
  if (block.type === 'text' || block.type === 'refusal')
    return { type: block.type, [block.type]: block.text, ...mark };
  const { media, detail, format } = block;
  const address = common.addressOf(media);
  const image_url = { url: address, ...(detail && { detail }) };
  if (block.type === 'image') return { type: 'image_url', image_url, ...mark };
  const input_audio = { data: media.value, format };
  if (block.type === 'audio') return { type: 'input_audio', input_audio, ...mark };
  const filename = media.name && { filename: media.name };
  const named = media.from === 'file_id' ? 'file_id' : 'file_data';
  return { type: 'file', file: { [named]: address, ...filename }, ...mark };
}

type Proofs = ReadonlyMap<string | null, string>;

/** The thoughts of a turn, and Google's proofs by the ids of their calls. */
function thoughtsIn(
  blocks: chat.Block[],
  { dialect }: CompletionsContext,
): [chat.ThoughtBlock[], Proofs] {
  const thoughts = blocks.filter((block) => block.type === 'thought');
  const isProof = ({ format }: chat.ThoughtBlock) =>
    format === googleFormat && dialect.message_fields.has('extra_content');
  const proofs = thoughts.filter(isProof).map(({ id, text }) => [id, text] as const);
  return [thoughts.filter((each) => !isProof(each)), new Map(proofs)];
}

function proofOf(call: string | null, proofs: Proofs, writing: CompletionsContext): Json {
  const proof = proofs.get(call);
  return proof === undefined ? {} : ofMessage(googleExtra(proof), writing);
}

/** Servers get the reasoning in the fields that they know; it counts there once. */
function thoughtsOf(thoughts: chat.ThoughtBlock[], writing: CompletionsContext): Json {
  if (thoughts.length === 0) return {};
  const { message_fields: fields } = writing.dialect;
  const isDetailed = ({ form, signature, id, format }: chat.ThoughtBlock) =>
    format !== googleFormat && (form === 'hidden' || (signature ?? id ?? format) !== null);
  const takesDetails = fields.has('reasoning_details');
  const details = takesDetails ? thoughts.filter(isDetailed) : [];
  const plain = thoughts.filter(
    (each) => each.form !== 'hidden' && !(takesDetails && isDetailed(each)),
  );
  const text = plain.map((each) => each.text).join('');
  const name = ['reasoning_content', 'reasoning'].find((each) => fields.has(each));
  if ((text !== '' && name === undefined) || details.length + plain.length < thoughts.length)
    common.omitField(writing, 'thought');
  return {
    ...(name !== undefined && text !== '' && ofMessage({ [name]: text }, writing)),
    ...(details.length > 0 && ofMessage({ reasoning_details: details.map(detailOf) }, writing)),
  };
}

/** Fields of a message that a server may refuse: then the call is sent without them. */
function ofMessage(own: Json, { fields }: CompletionsContext): Json {
  for (const field of Object.keys(own)) fields.add(field);
  return own;
}

function callOf(call: chat.CallBlock, proofs: Proofs, writing: CompletionsContext): Json {
  if (call.mark) common.omitField(writing, cacheMark);
  const own = { ...call, id: idOf(call.id, writing), name: writing.names.short(call.name) };
  return { ...common.toolCallOf(own), ...proofOf(call.id, proofs, writing) };
}

/** OpenAI takes 40 characters. Other servers may have put more than a name into an id. */
function idOf(call: string, { dialect }: CompletionsContext): string {
  if (dialect.message_fields.has(habits.shortIds) && !/^[a-z\d]{9}$/i.test(call))
    return hash('sha256', call).slice(0, 9);
  return dialect.developer ? common.shortId(call, 40) : call;
}
