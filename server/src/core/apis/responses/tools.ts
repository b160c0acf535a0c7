import { hash } from 'node:crypto';
import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { boolean, isFilled, isGiven, object, oneOf, text } from '../../check.ts';
import { badField, badRequest } from '../../bad-request.ts';
import { rebuilt, type KnownFields } from '../../chat/known-fields.ts';
import type { ApiError } from '../../errors.ts';

/**
 * Translates tools of OpenAI's Responses into tools of a chat completion. A tool in a namespace,
 * such as a tool of an MCP server in Codex, gets the namespace in its name.
 */

const functionShape: KnownFields = {
  fields: { name: text, description: text, parameters: object, strict: boolean },
};
const customShape: KnownFields = {
  fields: {
    name: text,
    description: text,
    format: {
      fields: { type: oneOf('text', 'grammar'), syntax: text, definition: text },
    },
  },
};

/** Maximum length of a tool's name for OpenAI's models. */
const nameMax = 64;

/** @throws ApiError `bad_request` */
export function readTools(tools: unknown): Json[] {
  const read = inList(tools, 'tools').flatMap((tool, i): ReadTool[] => {
    const at = `tools[${i}]`;
    const { type, name, tools: inner } = objectOf(tool);
    if (type !== 'namespace') return [readTool(tool, at, null)];
    if (!isFilled(name)) throw badField(`${at}.name`, 'the name of the namespace');
    return inList(inner, `${at}.tools`).map((each, k) => readTool(each, `${at}.tools[${k}]`, name));
  });
  refuseSameName(read);
  return read.map(({ tool }) => tool);
}

interface ReadTool {
  /** For the chat body. */
  tool: Json;
  name: string;
  at: string;
  namespace: string | null;
}

/** If two tools had one name, a call could not be given back to the right tool. */
function refuseSameName(tools: ReadTool[]): void {
  const first = new Map<string, ReadTool>();
  for (const tool of tools) {
    const { name, at, namespace } = tool;
    const other = first.get(name);
    if (other && (namespace ?? other.namespace) !== null)
      throw badRequest(
        `${at}.name`,
        `${at}.name and ${other.at}.name are both ${name} once their namespaces are added. Rename one of the two.`,
      );
    first.set(name, tool);
  }
}

function readTool(tool: unknown, at: string, namespace: string | null): ReadTool {
  if (!isObject(tool)) throw badField(at, 'an object');
  const { type } = tool;
  if (type !== 'function' && type !== 'custom') throw hosted(`${at}.type`, type);
  const shape = type === 'function' ? functionShape : customShape;
  const { format, ...own } = objectOf(rebuilt(tool, shape, at, badField));
  if (!isFilled(own.name)) throw badField(`${at}.name`, 'the name of the tool');
  const name = flatName(namespace, own.name);
  const shown = { ...own, name, ...(isObject(format) && { format: nested(format) }) };
  return { tool: { type, [type]: shown }, name, at, namespace };
}

function nested({ type, ...grammar }: Json): Json {
  return type === 'grammar' ? { type, grammar } : { type };
}

/** @throws ApiError `bad_request` */
export function readToolChoice(choice: unknown): unknown {
  if (!isGiven(choice)) return undefined;
  const modes = oneOf('none', 'auto', 'required');
  if (typeof choice === 'string') {
    if (!modes.test(choice)) throw badField('tool_choice', modes.is);
    return choice;
  }
  if (!isObject(choice)) throw badField('tool_choice', 'a string or an object');
  if (choice.type !== 'allowed_tools') return readChosen(choice, 'tool_choice');
  const mode = oneOf('auto', 'required');
  if (!mode.test(choice.mode)) throw badField('tool_choice.mode', mode.is);
  const tools = inList(choice.tools, 'tool_choice.tools').map((tool, i) =>
    readChosen(objectOf(tool), `tool_choice.tools[${i}]`),
  );
  return { type: choice.type, allowed_tools: { mode: choice.mode, tools } };
}

function readChosen({ type, name, namespace }: Json, at: string): Json {
  if (type !== 'function' && type !== 'custom') throw hosted(`${at}.type`, type);
  if (!isFilled(name)) throw badField(`${at}.name`, 'the name of a tool');
  return { type, [type]: { name: flatName(namespace, name) } };
}

/** The name that a tool has in the chat body. */
export function flatName(namespace: unknown, name: string): string {
  if (!isFilled(namespace)) return name;
  const whole = `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`;
  if (whole.length <= nameMax) return whole;
  const short = hash('sha256', whole, 'hex').slice(0, 8);
  return `${whole.slice(0, nameMax - 9)}_${short}`;
}

interface NamedTool {
  name: string;
  namespace?: string;
}

/** The name and the namespace of each tool in a namespace, by its name in the chat body. */
export function ownNames(tools: unknown): Map<string, NamedTool> {
  const names = new Map<string, NamedTool>();
  for (const { type, name: namespace, tools: inner } of itemsOf(tools).map(objectOf)) {
    if (type !== 'namespace' || !isFilled(namespace)) continue;
    for (const { name } of itemsOf(inner).map(objectOf))
      if (isFilled(name)) names.set(flatName(namespace, name), { name, namespace });
  }
  return names;
}

function inList(value: unknown, at: string): unknown[] {
  if (isGiven(value) && !Array.isArray(value)) throw badField(at, 'a list');
  return itemsOf(value);
}

/** Hosted tools have fees that are not part of the reservation. */
function hosted(param: string, type: unknown): ApiError {
  const said = typeof type === 'string' ? type.slice(0, 60) : 'missing';
  const message = `${param} is ${said}. Only tools of the types function and custom, also in a namespace, are accepted: this service has no built-in tools and runs none for a model.`;
  return badRequest(param, message);
}
