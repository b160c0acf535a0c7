import { hash } from 'node:crypto';
import type { Json } from '../../../lib/json.ts';
import type {
  Block,
  CallBlock,
  Conversation,
  MediaBlock,
  RefusalBlock,
  ResultBlock,
  TextBlock,
  ThoughtBlock,
  Tool,
  Turn,
} from '../../chat/conversation.ts';
import { cacheMark, optionalFields } from '../../chat/optional-fields.ts';
import { givenFields } from '../../check.ts';
import type { Calling, Manners, WrittenCall } from '../api.ts';
import {
  addressOf,
  choiceOf,
  ignore,
  isUnsaid,
  markOf,
  openWriting,
  sentEffort,
  type Writing as SharedWriting,
} from '../writing.ts';
import { detailOf, googleExtra, googleFormat } from '../thoughts.ts';

/** How servers of OpenAI's chat completions differ. */
export interface CompletionsManners extends Manners {
  /** Names of `extras` and settings that only some servers know. */
  passes: ReadonlySet<string>;
  /** Whether the role `developer` is known; else such a turn is one of `system`. */
  developer: boolean;
  /** The fields of a message that are known, beside role, content and tool calls. */
  message_fields: ReadonlySet<string>;
  /** The server's name for the limit of completion tokens. */
  token_limit: 'max_tokens' | 'max_completion_tokens';
  /** Ask for the usage of each stream; some servers report it only if asked. */
  include_usage: boolean;
}

interface Writing extends SharedWriting<CompletionsManners> {
  fields: Set<string>;
}

/** Writes a call in OpenAI's chat completions. */
export function writeCompletionsCall(
  conversation: Conversation,
  { model, max_tokens, stream }: Calling,
  manners: CompletionsManners,
): WrittenCall {
  const fields = new Set<string>();
  const writing = { ...openWriting(conversation, manners), fields };
  const { names, ignored } = writing;
  const body = givenFields({
    ...extrasOf(writing),
    ...settingsOf(writing),
    ...toolsOf(writing),
    response_format: formatOf(conversation),
    model,
    messages: messagesOf(writing),
    [manners.token_limit]: max_tokens,
    ...(stream && { stream: true }),
    ...(stream && manners.include_usage && { stream_options: { include_usage: true } }),
  });
  return { body, ignored: [...ignored], names: names.shortened, fields };
}

function extrasOf(writing: Writing): Json {
  const { conversation, manners } = writing;
  const sent: Json = {};
  for (const [name, value] of Object.entries(conversation.extras)) {
    if (Object.hasOwn(optionalFields, name) && !manners.passes.has(name)) ignore(writing, name);
    else sent[name] = value;
  }
  return sent;
}

function settingsOf(writing: Writing): Json {
  const { conversation, manners } = writing;
  const { settings } = conversation;
  const { temperature, top_p, stop, verbosity, logprobs, top_logprobs, user } = settings;
  const optional = (name: 'top_k' | 'thinking', value: unknown) => {
    if (value === null) return {};
    if (manners.passes.has(name)) return { [name]: value };
    ignore(writing, name);
    return {};
  };
  const thinking = isUnsaid(conversation) ? settings.thinking : null;
  return {
    temperature,
    top_p,
    ...optional('top_k', settings.top_k),
    ...optional('thinking', thinking && givenFields({ ...thinking })),
    stop: stop.length > 0 ? stop : null,
    reasoning_effort: sentEffort(conversation, writing.ignored),
    verbosity,
    logprobs,
    top_logprobs,
    user: userOf(user, conversation),
  };
}

/** OpenAI accepts 64 characters; Claude Code sends more. */
function userOf(user: string | null, { api }: Conversation): string | null {
  return user !== null && user.length > 64 && api === 'messages'
    ? hash('sha256', user, 'hex')
    : user;
}

function formatOf({ format }: Conversation): Json | null {
  if (format === null) return null;
  if (format.type === 'json') return { type: 'json_object' };
  const { type: _, ...json_schema } = format;
  return { type: 'json_schema', json_schema: givenFields(json_schema) };
}

function toolsOf(writing: Writing): Json {
  const { tools, parallel } = writing.conversation;
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => toolOf(tool, writing)),
    tool_choice: choiceOf(
      writing,
      (type, name) => ({ type, [type]: { name } }),
      (allowed_tools) => ({ type: 'allowed_tools', allowed_tools }),
    ),
    parallel_tool_calls: parallel,
  };
}

function toolOf(tool: Tool, writing: Writing): Json {
  const { description, parameters, strict, custom } = tool;
  const named = { name: writing.names.sent(tool.name), description };
  const mark = markOf(tool.mark, writing);
  if (custom === null)
    return {
      type: 'function',
      function: givenFields({ ...named, parameters, strict }),
      ...mark,
    };
  const format = custom.grammar && { type: 'grammar', grammar: custom.grammar };
  return { type: 'custom', custom: givenFields({ ...named, format }), ...mark };
}

/**
 * Results become messages of the role `tool`. They take only text, so the media of results follow
 * in a message of the user, each behind the id of its call.
 */
function messagesOf(writing: Writing): Json[] {
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
  return messages;
}

/**
 * From Responses, consecutive turns of the system and the developer are one message where both have
 * one role, because the templates of many models take only one.
 */
function joinedTurns({ conversation: { api, turns }, manners }: Writing): readonly Turn[] {
  if (api !== 'responses' || manners.developer) return turns;
  const isSystem = ({ by }: Turn) => by === 'system' || by === 'developer';
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last === undefined || !isSystem(last) || !isSystem(turn)) joined.push(turn);
    else joined[joined.length - 1] = { ...last, blocks: [...last.blocks, ...turn.blocks] };
  }
  return joined;
}

type Shown = TextBlock | RefusalBlock | MediaBlock;
const isShown = (block: Block): block is Shown =>
  !['thought', 'call', 'result'].includes(block.type);

function resultOf(result: ResultBlock, { listed }: Turn, writing: Writing): Json {
  const texts = result.blocks.filter((block) => block.type === 'text');
  const said = (result.failed ? 'Error: ' : '') + texts.map(({ text }) => text).join('\n');
  const mark = markOf(result.mark, writing);
  const isList = cacheMark in mark || (listed === true && texts.length > 1 && !result.failed);
  const parts = cacheMark in mark ? [said] : texts.map(({ text }) => text);
  return {
    role: 'tool',
    tool_call_id: result.call,
    content: isList ? parts.map((text) => ({ type: 'text', text, ...mark })) : said,
  };
}

function mediaOf({ blocks, call }: ResultBlock, writing: Writing): Json[] {
  const media = blocks.filter((block) => block.type !== 'text');
  if (media.length === 0) return [];
  const label = { type: 'text', text: `The result of tool call ${call} has:` };
  return [label, ...media.map((block) => partOf(block, writing))];
}

function messageOf(turn: Turn, blocks: Block[], writing: Writing): Json {
  const { manners } = writing;
  const { by, name, audio_id } = turn;
  const role = by === 'developer' && !manners.developer ? 'system' : by;
  const calls = blocks.filter((block) => block.type === 'call');
  const [thoughts, proofs] = thoughtsIn(blocks, writing);
  const refusals = turn.listed ? [] : blocks.filter((block) => block.type === 'refusal');
  const shown = blocks.filter(isShown).filter((block) => turn.listed || block.type !== 'refusal');
  const optional = (field: string, what: string, value: unknown) => {
    if (value === null || value === undefined) return {};
    if (manners.message_fields.has(field)) return sentField(field, value, writing);
    ignore(writing, what);
    return {};
  };
  const refusal = refusals.map(({ text }) => text).join('');
  return {
    role,
    content: contentOf(shown, turn, calls.length > 0 || refusal !== '', writing),
    ...optional('name', 'name', name),
    ...optional('refusal', 'refusal', refusal || null),
    ...optional('audio', 'audio', audio_id && { id: audio_id }),
    ...thoughtsOf(thoughts, writing),
    ...proofOf(null, proofs, writing),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => callOf(call, proofs, writing)) }),
  };
}

/** A text where there are only texts, because many servers take nothing else. */
function contentOf(
  blocks: Shown[],
  { by, listed }: Turn,
  saysOtherwise: boolean,
  writing: Writing,
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

function partOf(block: Shown, writing: Writing): Json {
  const mark = markOf(block.mark, writing);
  if (block.type === 'text' || block.type === 'refusal')
    return { type: block.type, [block.type]: block.text, ...mark };
  const { media, detail, format } = block;
  if (block.type === 'image')
    return {
      type: 'image_url',
      image_url: { url: addressOf(media), ...(detail && { detail }) },
      ...mark,
    };
  if (block.type === 'audio')
    return { type: 'input_audio', input_audio: { data: media.value, format }, ...mark };
  const filename = media.name && { filename: media.name };
  const named = media.from === 'file_id' ? 'file_id' : 'file_data';
  return { type: 'file', file: { [named]: addressOf(media), ...filename }, ...mark };
}

type Proofs = ReadonlyMap<string | null, string>;

/** The thoughts of a turn, and Google's proofs by the ids of their calls. */
function thoughtsIn(blocks: Block[], { manners }: Writing): [ThoughtBlock[], Proofs] {
  const thoughts = blocks.filter((block) => block.type === 'thought');
  const isProof = ({ format }: ThoughtBlock) =>
    format === googleFormat && manners.message_fields.has('extra_content');
  const proofs = thoughts.filter(isProof).map(({ id, text }) => [id, text] as const);
  return [thoughts.filter((each) => !isProof(each)), new Map(proofs)];
}

function proofOf(call: string | null, proofs: Proofs, { fields }: Writing): Json {
  const proof = proofs.get(call);
  if (proof === undefined) return {};
  fields.add('extra_content');
  return googleExtra(proof);
}

/** Servers get the reasoning in the fields that they know; it counts there once. */
function thoughtsOf(thoughts: ThoughtBlock[], writing: Writing): Json {
  if (thoughts.length === 0) return {};
  const { message_fields: fields } = writing.manners;
  const isDetailed = ({ form, signature, id, format }: ThoughtBlock) =>
    format !== googleFormat && (form === 'hidden' || (signature ?? id ?? format) !== null);
  const details = fields.has('reasoning_details') ? thoughts.filter(isDetailed) : [];
  const plain = thoughts.filter((each) => !details.includes(each) && each.form !== 'hidden');
  const text = plain.map((each) => each.text).join('');
  const name = ['reasoning_content', 'reasoning'].find((each) => fields.has(each));
  if ((text !== '' && name === undefined) || details.length + plain.length < thoughts.length)
    ignore(writing, 'thought');
  return {
    ...(name !== undefined && text !== '' && sentField(name, text, writing)),
    ...(details.length > 0 && sentField('reasoning_details', details.map(detailOf), writing)),
  };
}

function sentField(field: string, value: unknown, { fields }: Writing): Json {
  fields.add(field);
  return { [field]: value };
}

function callOf(call: CallBlock, proofs: Proofs, writing: Writing): Json {
  const { id, name: own, input, custom } = call;
  const name = writing.names.sent(own);
  const called = custom
    ? { id, type: 'custom', custom: { name, input } }
    : { id, type: 'function', function: { name, arguments: input } };
  return { ...called, ...proofOf(id, proofs, writing) };
}
