import { isObject, objectOf } from '../../../lib/json.ts';
import type { Json } from '../../../lib/json.ts';
import type { Faults } from '../faults.ts';
import { sampleOf } from './sample-json.ts';

/** Decides which tools of a chat call the sandbox calls, and with what arguments. */

export interface ToolCall {
  type: 'function' | 'custom';
  name: string;
  /** JSON that fits the tool's parameters; for a custom tool, a plain text. */
  input: string;
}

/** Maximum number of tool calls of one reply. */
const callsMax = 16;

/**
 * The tool calls of this reply; none if the reply is a text. A tool that was called since the last
 * user message is called again only if `tool_choice` demands a call.
 */
export function toolCalls(body: Json, { tools: words, noTool, words: length }: Faults): ToolCall[] {
  const { required, offered } = choiceOf(body);
  if (offered.length === 0 || noTool || length !== null) return [];
  const called = calledTools(body.messages);
  const isParallel = body.parallel_tool_calls === true || words.length > 1;
  const wanted = words.length > 0 ? words : required || isParallel ? offered.map(nameOf) : [];
  const first = called.length === 0 ? offered.slice(0, 1).map(nameOf) : [];
  const names = wanted.length > 0 ? wanted : first;
  const pending = names.filter((name) => !called.includes(name));
  const now = pending.length > 0 || !required ? pending : names.slice(-1);
  const together = isParallel && body.parallel_tool_calls !== false;
  return now.slice(0, together ? callsMax : 1).flatMap((name) => {
    const tool = offered.find((each) => nameOf(each) === name);
    return tool ? [callOf(tool)] : [];
  });
}

/** The error if a word of the message names a tool that the call does not offer; otherwise null. */
export function unknownTool(body: Json, { tools: words }: Faults): string | null {
  const known = listOf(body.tools).map(nameOf);
  const unknown = words.find((name) => !known.includes(name));
  if (unknown === undefined) return null;
  const offered = known.length > 0 ? `Offered: ${known.join(', ')}.` : 'No tools are offered.';
  return `sandbox:tool=${unknown} names a tool that this call does not offer. ${offered}`;
}

/** The tools' answers since the last user message, with the names of the tools. */
export function toolResults(messages: unknown): { name: string; content: unknown }[] {
  const turn = sinceUser(messages);
  const names = new Map(callsIn(turn).map((call) => [call.id, nameOf(call)]));
  return turn
    .filter(({ role }) => role === 'tool')
    .map(({ tool_call_id: id, content }) => ({ name: names.get(id) ?? 'A tool', content }));
}

interface Choice {
  required: boolean;
  offered: Json[];
}

function choiceOf({ tools, tool_choice: choice }: Json): Choice {
  const offered = listOf(tools).filter((tool) => nameOf(tool) !== '');
  if (choice === 'none') return { required: false, offered: [] };
  if (!isObject(choice)) return { required: choice === 'required', offered };
  const allowed = isObject(choice.allowed_tools) ? choice.allowed_tools : null;
  const names = new Set((allowed ? listOf(allowed.tools) : [choice]).map(nameOf));
  return {
    required: allowed === null || allowed.mode === 'required',
    offered: offered.filter((tool) => names.has(nameOf(tool))),
  };
}

function callOf(tool: Json): ToolCall {
  const name = nameOf(tool);
  if (isObject(tool.custom)) return { type: 'custom', name, input: `sandbox ${name}` };
  const { parameters = {} } = objectOf(tool.function);
  const args = sampleOf(parameters);
  return { type: 'function', name, input: JSON.stringify(isObject(args) ? args : {}) };
}

function calledTools(messages: unknown): string[] {
  return callsIn(sinceUser(messages)).map(nameOf);
}

function callsIn(messages: Json[]): Json[] {
  return messages.flatMap(({ tool_calls: calls }) => listOf(calls));
}

function sinceUser(messages: unknown): Json[] {
  const all = listOf(messages);
  return all.slice(all.findLastIndex(({ role }) => role === 'user') + 1);
}

/** The name of a tool, a tool choice or a tool call: all three have it in the same field. */
function nameOf({ function: fn, custom }: Json): string {
  const own = isObject(fn) ? fn : isObject(custom) ? custom : {};
  return typeof own.name === 'string' ? own.name : '';
}

/** The objects of a list; empty for anything else. */
export function listOf(list: unknown): Json[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
