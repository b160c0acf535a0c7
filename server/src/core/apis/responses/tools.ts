import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { boolean, isFilled, isGiven, object, oneOf, text, type KnownFields } from '../../check.ts';
import { badField, badRequest } from '../../bad-request.ts';
import { anything, each, flatName, knownFields, toolOf, type LeftOut } from '../read-call.ts';
import type { Tool } from '../../chat/conversation.ts';
import type { ApiError } from '../../errors.ts';

/**
 * Reads the tools of a call of OpenAI's Responses. A tool in a namespace, such as a tool of an MCP
 * server in Codex, gets the namespace in its name.
 */

const functionShape: KnownFields = {
  fields: { type: text, name: text, description: text, parameters: object, strict: boolean },
};
const customShape: KnownFields = {
  fields: {
    type: text,
    name: text,
    description: text,
    format: { fields: { type: oneOf('text', 'grammar'), syntax: text, definition: text } },
  },
};

const namespaceShape: KnownFields = { fields: each(anything, 'type', 'name', 'tools') };

const offering = new Set(['additional_tools', 'tool_search_output']);

/** The lists of tools, with their paths. Codex offers some of them in items of the input. */
function listsIn({ tools, input }: Json): [list: unknown, at: string][] {
  const lists: [unknown, string][] = [[tools, 'tools']];
  for (const [i, item] of itemsOf(input).entries())
    if (isObject(item) && offering.has(String(item.type)))
      lists.push([item.tools, `input[${i}].tools`]);
  return lists;
}

/** The tools of a call, with their paths. */
export function offeredIn(body: Json): [tool: unknown, at: string][] {
  return listsIn(body).flatMap(([list, at]) =>
    itemsOf(list).map((tool, i): [unknown, string] => [tool, `${at}[${i}]`]),
  );
}

/** `left` gets the names of fields that are not read. Throws `bad_request`. */
export function readTools(body: Json, left: LeftOut): Tool[] {
  for (const [list, at] of listsIn(body)) inList(list, at);
  const read = offeredIn(body).flatMap(([tool, at]): ReadTool[] => {
    const { type, name, tools: inner } = objectOf(tool);
    if (type !== 'namespace') return [readTool(tool, at, null, left)];
    if (!isFilled(name)) throw badField(`${at}.name`, 'the name of the namespace');
    knownFields(objectOf(tool), namespaceShape, at, badField, left);
    return inList(inner, `${at}.tools`).map((each, k) =>
      readTool(each, `${at}.tools[${k}]`, name, left),
    );
  });
  return distinct(read).map(({ tool }) => tool);
}

interface ReadTool {
  tool: Tool;
  name: string;
  at: string;
  namespace: string | null;
}

/** The names that tools of a list have in the conversation. */
export function namesOf(list: unknown): string[] {
  return itemsOf(list).flatMap((tool) => {
    const { type, name, tools } = objectOf(tool);
    const inner = type === 'namespace' ? itemsOf(tools).map(objectOf) : [{ name }];
    const space = type === 'namespace' ? name : null;
    return inner.map((each) => flatName(space, String(each.name)));
  });
}

/**
 * The tools without those that Codex offers again. If two other tools had one name, a call could
 * not be given back to the right one.
 */
function distinct(tools: ReadTool[]): ReadTool[] {
  const first = new Map<string, ReadTool>();
  return tools.filter((tool) => {
    const { name, at, namespace } = tool;
    const other = first.get(name);
    if (other?.namespace === namespace && at.startsWith('input')) return false;
    if (other && (namespace ?? other.namespace) !== null)
      throw badRequest(
        `${at}.name`,
        `${at}.name and ${other.at}.name are both ${name} once their namespaces are added. Rename one of the two.`,
      );
    first.set(name, tool);
    return true;
  });
}

function readTool(given: unknown, at: string, namespace: string | null, left: LeftOut): ReadTool {
  if (!isObject(given)) throw badField(at, 'an object');
  const { type = 'function', function: inner } = given;
  // Clients of chat completions put the fields of a function into another object.
  const tool = type === 'function' && isObject(inner) ? inner : given;
  if (type !== 'function' && type !== 'custom') throw hosted(`${at}.type`, type);
  const shape = type === 'function' ? functionShape : customShape;
  const own = knownFields(tool, shape, at, badField, left);
  if (!isFilled(own.name)) throw badField(`${at}.name`, 'the name of the tool');
  const name = flatName(namespace, own.name);
  const { syntax = '', definition } = objectOf(own.format);
  const grammar = isFilled(definition) ? { syntax: String(syntax), definition } : null;
  const read = toolOf({ ...own, name }, own.parameters, type === 'custom' ? { grammar } : null);
  return { tool: read, name, at, namespace };
}

interface NamedTool {
  name: string;
  namespace?: string;
}

/** The name and the namespace of each tool in a namespace, by its name in the conversation. */
export function ownNames(body: Json): Map<string, NamedTool> {
  const names = new Map<string, NamedTool>();
  for (const [tool] of offeredIn(body)) {
    const { type, name: namespace, tools: inner } = objectOf(tool);
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
