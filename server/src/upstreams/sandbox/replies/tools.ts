import { isObject, objectOf, type Json } from '../../../lib/json.ts';
import type { Faults, ToolWord } from '../faults.ts';
import { misfit } from './misfit.ts';
import { sampleOf } from './sample-json.ts';
import { valuesFor } from './tool-values.ts';
import { lastUserText, listOf } from './texts.ts';

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
 * The tool calls of this reply; none if the reply is a text. As most models do, the sandbox calls
 * one tool even if it may call several; words in the message ask for more. A tool that was called
 * since the last user message is called again only if `tool_choice` demands a call.
 */
export function toolCalls(body: Json, { tools: words, noTool, words: length }: Faults): ToolCall[] {
  const { required, offered } = choiceOf(body);
  if (offered.length === 0 || noTool || length !== null) return [];
  const called = calledTools(body.messages);
  const all = offered.map((tool): ToolWord => ({ name: nameOf(tool), args: null }));
  const asked = words.flatMap((word) => (word.name === '*' ? all : [word]));
  const usual = called.length === 0 ? all.slice(0, 1) : [];
  const wanted = asked.length > 0 ? asked : required ? all : usual;
  const pending = without(wanted, called);
  const now = pending.length > 0 || !required ? pending : wanted.slice(-1);
  const together = asked.length > 1 && body.parallel_tool_calls !== false;
  return now.slice(0, together ? callsMax : 1).flatMap((word) => {
    const tool = offered.find((each) => nameOf(each) === word.name);
    return tool ? [callOf(tool, word, lastUserText(body.messages))] : [];
  });
}

/** The words without one for each call of the same tool. */
function without(words: ToolWord[], called: string[]): ToolWord[] {
  const left = [...called];
  return words.filter(({ name }) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/**
 * The error if a word of the message names a tool that the call does not offer, or arguments that
 * the tool does not take; otherwise null.
 */
export function wrongTool(body: Json, { tools: words }: Faults): string | null {
  const tools = listOf(body.tools);
  for (const word of words) {
    const tool = tools.find((each) => nameOf(each) === word.name);
    if (tool === undefined && word.name !== '*') {
      const known = tools.map(nameOf).join(', ');
      const offered = known === '' ? 'No tools are offered.' : `Offered: ${known}.`;
      return `sandbox:tool=${word.name} names a tool that this call does not offer. ${offered}`;
    }
    const fault = word.args === null ? null : argsFault(tool, word.args);
    if (fault !== null) return `sandbox:tool=${word.name}{…} has wrong arguments: ${fault}.`;
  }
  return null;
}

function argsFault(tool: Json | undefined, text: string): string | null {
  if (tool === undefined || isObject(tool.custom)) return 'this word takes none';
  const args = readArgs(text);
  if (args === null) return 'they are not a JSON object';
  const { parameters = {} } = objectOf(tool.function);
  // The fields that are left out get values of the sandbox.
  return misfit({ ...objectOf(parameters), required: [] }, args, parameters);
}

function readArgs(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
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

function callOf(tool: Json, word: ToolWord, message: string): ToolCall {
  const name = nameOf(tool);
  if (isObject(tool.custom)) return { type: 'custom', name, input: `sandbox ${name}` };
  const { parameters = {} } = objectOf(tool.function);
  const sample = sampleOf(parameters, valuesFor(name, message));
  const args = { ...objectOf(sample), ...(word.args === null ? {} : readArgs(word.args)) };
  return { type: 'function', name, input: JSON.stringify(args) };
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
