import { hash } from 'node:crypto';
import type { Json } from '../../lib/json.ts';
import type { ApiName, Conversation, Tool } from '../chat/conversation.ts';
import { cacheMark } from '../chat/optional-fields.ts';
import type { Manners } from './api.ts';

/** The writers of calls in all three APIs share these parts. */

/** A call that is being written. */
export interface Writing<M extends Manners = Manners> {
  conversation: Conversation;
  manners: M;
  names: ToolNames;
  /** The caller's names of what the upstream cannot be told. */
  ignored: Set<string>;
}

export function openWriting<M extends Manners>(conversation: Conversation, manners: M): Writing<M> {
  const names = toolNames(conversation.tools, manners.tool_name_max);
  return { conversation, manners, names, ignored: new Set() };
}

/** `what`: a setting, an extra field, or a part of a turn. */
export function ignore({ conversation, ignored }: Writing, what: string): void {
  ignored.add(callersName(conversation.api, what));
}

export function markOf(mark: true | undefined, writing: Writing): Json {
  if (!mark) return {};
  if (writing.manners.marks) return { [cacheMark]: { type: 'ephemeral' } };
  ignore(writing, cacheMark);
  return {};
}

/** The names of the tools whose input is a text. */
export function customNames(tools: readonly Tool[]): Set<string> {
  return new Set(tools.flatMap(({ name, custom }) => (custom ? [name] : [])));
}

const modes = { auto: 'auto', none: 'none', any: 'required', tool: null } as const;

/** The choice of tools in OpenAI's words. `chosen` and `allowed` write them in the API's form. */
export function choiceOf(
  { conversation: { choice, tools }, names }: Writing,
  chosen: (type: 'custom' | 'function', name: string) => Json,
  allowed: (fields: Json) => Json,
): unknown {
  const { mode, tool, only } = choice;
  const custom = customNames(tools);
  const sent = (own: string) => chosen(custom.has(own) ? 'custom' : 'function', names.sent(own));
  if (tool !== null) return sent(tool);
  const word = mode && modes[mode];
  return only === null ? word : allowed({ mode: word ?? 'auto', tools: only.map(sent) });
}

/** Names of tools for an upstream that takes only short and plain ones. */
interface ToolNames {
  /** The name that the upstream gets. */
  sent: (own: string) => string;
  /** The caller's names, by those that were changed. */
  shortened: ReadonlyMap<string, string>;
}

function toolNames(tools: readonly Tool[], max: number): ToolNames {
  const sent = new Map<string, string>();
  const shortened = new Map<string, string>();
  for (const { name } of tools) {
    const own = shortName(name, max);
    if (own === name) continue;
    sent.set(name, own);
    shortened.set(own, name);
  }
  // A call of an earlier turn may name a tool that is no longer offered.
  return { sent: (own) => sent.get(own) ?? shortName(own, max), shortened };
}

/**
 * The beginning of a long name with a hash of all of it. So is a name with characters that OpenAI's
 * and Anthropic's models do not take.
 */
export function shortName(name: string, max: number): string {
  if (name.length <= max && !/[^\w-]/.test(name)) return name;
  const plain = name.replaceAll(/[^\w-]/g, '_').slice(0, max - 9);
  return `${plain}_${hash('sha256', name, 'hex').slice(0, 8)}`;
}

/** The names that callers of each API know for what an upstream cannot be told. */
const names = {
  completions: {
    effort: 'reasoning_effort',
    format: 'response_format',
    parallel: 'parallel_tool_calls',
    thought: 'messages[].reasoning_content',
    name: 'messages[].name',
    refusal: 'messages[].refusal',
    audio: 'messages[].audio',
    detail: 'messages[].content[].image_url.detail',
    strict: 'tools[].function.strict',
  },
  messages: {
    effort: 'output_config.effort',
    format: 'output_config.format',
    parallel: 'tool_choice.disable_parallel_tool_use',
    stop: 'stop_sequences',
    user: 'metadata.user_id',
    thought: 'messages[].content[].thinking',
    strict: 'tools[].strict',
  },
  responses: {
    effort: 'reasoning.effort',
    format: 'text.format',
    parallel: 'parallel_tool_calls',
    verbosity: 'text.verbosity',
    logprobs: 'include',
    thought: 'input[].encrypted_content',
    phase: 'input[].phase',
    detail: 'input[].content[].detail',
    strict: 'tools[].strict',
  },
} satisfies Record<ApiName, Record<string, string>>;

/** `what`: a setting, an extra field, or a part of a turn. */
export function callersName(api: ApiName, what: string): string {
  const own: Readonly<Record<string, string>> = names[api];
  return own[what] ?? what;
}
