import { hash } from 'node:crypto';
import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { hasKey, keysOf } from '../../lib/records.ts';
import { badField } from '../bad-request.ts';
import type { Tool, ToolChoice } from '../chat/conversation.ts';
import { isFilled, isGiven, oneOf } from '../check.ts';
import { exactJson } from '../../lib/long-integers.ts';

/** Tools, their choice, names and inputs, as all APIs read and write them. */

/** Services refuse a schema that has another type, or none. */
export const anyObject: Json = { type: 'object', properties: {} };

/** `own`: checked fields. */
export function toolOf(own: Json, schema: unknown, custom: Tool['custom'] = null): Tool {
  const { name, description, strict } = own;
  return {
    name: String(name),
    description: isFilled(description) ? description : null,
    parameters: isObject(schema) ? { ...anyObject, ...schema } : null,
    strict: typeof strict === 'boolean' ? strict : null,
    custom,
  };
}

/** Maximum length of a name in a namespace, as OpenAI's models take it. */
const nameMax = 64;

/** The name that a tool has in the conversation. */
export function flatName(namespace: unknown, name: string): string {
  if (!isFilled(namespace)) return name;
  const whole = `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`;
  return shortName(whole, nameMax);
}

/** An API's words for the ways to choose. */
type Modes = Readonly<Partial<Record<string, 'auto' | 'none' | 'any'>>>;

const modesOfAllowed = { auto: 'auto', required: 'any' } as const;
const chosenType = oneOf('function', 'custom', 'tool');

/**
 * Reads which of the tools the model may or must call, as a word or an object of any API's form.
 * `at`: the caller's field.
 *
 * @throws ApiError `bad_request`
 */
export function readToolChoice(
  choice: unknown,
  tools: readonly Tool[],
  modes: Modes,
  at = 'tool_choice',
): ToolChoice {
  const none = { mode: null, tool: null, only: null };
  if (!isGiven(choice)) return none;
  const { type, ...own } = isObject(choice) ? choice : { type: choice };
  if (type === 'allowed_tools') return { ...none, ...allowedIn(own, tools, at) };
  const isNamed = isObject(choice) && !hasKey(modes, type);
  if (isNamed) return { ...none, mode: 'tool', tool: nameIn(choice, at, tools) };
  const mode = modeIn(type, at, modes);
  if (mode === 'any' && tools.length === 0) throw badField('tools', `given, as ${at} demands one`);
  return { ...none, mode };
}

function allowedIn(own: Json, tools: readonly Tool[], at: string) {
  const path = isObject(own.allowed_tools) ? `${at}.allowed_tools` : at;
  const { mode, tools: among } = objectOf(own.allowed_tools ?? own);
  const only = itemsOf(among).map((each, i) =>
    nameIn(objectOf(each), `${path}.tools[${i}]`, tools),
  );
  return { mode: isGiven(mode) ? modeIn(mode, `${path}.mode`, modesOfAllowed) : null, only };
}

function modeIn(word: unknown, at: string, modes: Modes): ToolChoice['mode'] {
  if (!hasKey(modes, word)) throw badField(at, oneOf(...keysOf(modes)).is);
  return modes[word]!;
}

/** The type need not be said beside a function. */
function nameIn({ type = 'function', ...own }: Json, at: string, tools: readonly Tool[]): string {
  if (!chosenType.test(type)) throw badField(`${at}.type`, chosenType.is);
  const inner = own[String(type)];
  const { name, namespace } = isObject(inner) ? inner : own;
  const path = isObject(inner) ? `${at}.${String(type)}.name` : `${at}.name`;
  if (!isFilled(name)) throw badField(path, 'the name of a tool');
  const flat = flatName(namespace, name);
  if (!tools.some((tool) => tool.name === flat)) throw badField(path, 'the name of one of tools');
  return flat;
}

/** The names of the tools whose input is a text. */
export function customNames(tools: readonly Tool[]): Set<string> {
  return new Set(tools.flatMap(({ name, custom }) => (custom ? [name] : [])));
}

/** Names of tools for an upstream that takes only short and plain ones. */
export interface ToolNames {
  /** The name that the upstream gets. */
  sent: (own: string) => string;
  /** The caller's names, by those that were changed. */
  shortened: ReadonlyMap<string, string>;
}

export function toolNames(tools: readonly Tool[], max: number): ToolNames {
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

/** The input of a call that is given back. Servers parse it, and cannot parse an empty text. */
export function givenInput(text: unknown): string {
  return isFilled(text) && text.trim() !== '' ? text : '{}';
}

/**
 * The input of a tool call in Messages, where it is an object. A call with a broken input stays in
 * the conversation: its result needs a call, and a client can show the model why it failed.
 */
export function toolInput(text: string): Json {
  if (text.trim() === '') return {};
  try {
    const value: unknown = exactJson(text);
    if (isObject(value)) return value;
  } catch {
    // Broken JSON is kept as a text.
  }
  return { INVALID_JSON: text };
}
