import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { badField, badMessages } from '../bad-request.ts';
import {
  givenFields,
  isFilled,
  isGiven,
  oneOf,
  text,
  type Check,
  type KnownFields,
  type Shape,
} from '../check.ts';
import { mediaInputsMax } from '../catalog/media-input.ts';
import type { ReplyFormat, Settings, Tool, ToolChoice } from '../chat/conversation.ts';
import { tooManyMedia } from '../chat/chat-media.ts';
import { anyObject, shortName } from './writing.ts';
import { hasKey, keysOf } from '../../lib/records.ts';

/** Reads what calls of all APIs have in common. */

export function readModel(value: unknown): string {
  if (!isFilled(value)) throw badField('model', 'the id of a text model');
  return value;
}

/** The most tokens of a reply. */
export const tokenLimit: Check = {
  is: 'an integer of at least 1',
  test: (value) => isCount(value) && value >= 1,
};

/** The shape of a field that is read by itself. */
export const anything: Check = { is: 'anything', test: () => true };

/** Fields of one shape. */
export function each(shape: Shape, ...names: readonly string[]): Record<string, Shape> {
  return Object.fromEntries(names.map((name) => [name, shape]));
}

/** Makes the error for the value at path `at`; `is`: what is allowed. */
type Refuse = (at: string, is: string) => Error;

export const mustBe: Refuse = (at, is) => badMessages(at, `must be ${is}`);

/** The error for a type of an item or a part that is not one of these. */
export function unknownType(type: unknown, at: string, allowed: readonly string[]): Error {
  const said = typeof type === 'string' ? `is ${type.slice(0, 60)}; it ` : '';
  return badMessages(`${at}.type`, `${said}must be one of ${allowed.join(', ')}`);
}

/** Names of fields that were left out, with `[]` in place of each index. */
export class LeftOut {
  readonly names = new Set<string>();

  /** `at`: the path of the object; '' for the body. */
  add(at: string, field: string): void {
    if (this.names.size < namesMax && nameForm.test(field))
      this.names.add(pathOf(at.replaceAll(/\[\d+\]/g, '[]'), field));
  }
}

/** Options of a stream, which the writer of the reply follows. No reply is padded with noise. */
export const streamOptions = {
  fields: each(anything, 'include_usage', 'include_obfuscation'),
};

export function notePadding({ stream_options }: Json, left: LeftOut): void {
  const { include_obfuscation: isWanted } = objectOf(stream_options);
  if (isWanted === true) left.add('stream_options', 'include_obfuscation');
}

/** The names are listed in a header of the reply. */
const namesMax = 20;
const nameForm = /^[\w-]{1,64}$/;

const pathOf = (at: string, field: string) => (at === '' ? field : `${at}.${field}`);

/**
 * The value reduced to its known fields, because an unchecked field may change the price at an
 * upstream. Null counts as omitted. `at`: the path of the value; '' for the body. `left` gets the
 * names of the unknown fields.
 */
export function known(
  value: unknown,
  shape: Shape,
  at: string,
  refuse: Refuse,
  left: LeftOut,
): unknown {
  if ('test' in shape) {
    if (!shape.test(value)) throw refuse(at, shape.is);
    return value;
  }
  if ('list' in shape) {
    if (!Array.isArray(value)) throw refuse(at, 'a list');
    return value.map((item, i) => known(item, shape.list, `${at}[${i}]`, refuse, left));
  }
  if (shape.isText && typeof value === 'string') return value;
  if (!isObject(value)) throw refuse(at, shape.isText ? 'a string or an object' : 'an object');
  return knownFields(value, shape, at, refuse, left);
}

/** As `known`, of an object. */
export function knownFields(
  value: Json,
  { fields }: KnownFields,
  at: string,
  refuse: Refuse,
  left: LeftOut,
): Json {
  const kept: Json = {};
  for (const [field, given] of Object.entries(value)) {
    if (!isGiven(given)) continue;
    const shape = Object.hasOwn(fields, field) ? fields[field]! : null;
    const own = shape && known(given, shape, pathOf(at, field), refuse, left);
    const { meanings } = shape && 'test' in shape ? shape : {};
    const word = meanings && isFilled(own) ? own.toLowerCase() : own;
    const meant = meanings && isFilled(word) ? (meanings[word] ?? null) : own;
    if (meant === null || meant !== word) left.add(at, field);
    if (meant !== null) kept[field] = meant;
  }
  return kept;
}

/** How closely an image is looked at. More than `high` costs more than is reserved for an image. */
export const detail: Check = {
  ...text,
  meanings: { auto: 'auto', low: 'low', high: 'high', xhigh: 'high', original: 'high' },
};

/** The settings that are given. The shapes of the call's fields have checked their types. */
export function settingsOf(given: Partial<Record<keyof Settings, unknown>>): Settings {
  return { ...unsaid, ...givenFields(given) };
}

const unsaid: Settings = {
  temperature: null,
  top_p: null,
  top_k: null,
  stop: [],
  effort: null,
  thinking: null,
  summary: null,
  proofs: false,
  verbosity: null,
  logprobs: null,
  top_logprobs: null,
  user: null,
};

/** The format of a reply that follows a schema. `own`: its checked fields. */
export function schemaFormat({ name, description, strict }: Json, schema: Json): ReplyFormat {
  return {
    type: 'schema',
    name: isFilled(name) ? name : 'reply',
    description: isFilled(description) ? description : null,
    schema,
    strict: typeof strict === 'boolean' ? strict : null,
  };
}

/** Maximum number of messages, and of the parts of all their contents together. */
export const messagesMax = 10_000;
/** Maximum number of tools, also those inside others. Agents with many servers offer hundreds. */
const toolsMax = 1_000;

/**
 * Throws `bad_messages` if a call has too many messages, parts, files or tools. Called before any
 * of them is read, because that takes time, and nobody pays for a refusal. `field`: the caller's
 * name of the list of messages.
 */
export function demandFew(call: Record<string, unknown>, field: 'messages' | 'input'): void {
  const tools = itemsOf(call.tools);
  const inner = tools.map((tool) => itemsOf(objectOf(tool).tools).length);
  if (inner.reduce((sum, count) => sum + count, tools.length) > toolsMax)
    throw tooMany('tools', 'tools', toolsMax);
  const messages = itemsOf(call[field]);
  let parts = 0;
  let files = 0;
  if (messages.length > messagesMax) throw tooMany(field, 'messages');
  for (const message of messages) {
    const { content } = objectOf(message);
    if (!Array.isArray(content)) continue;
    parts += content.length;
    for (const part of content) if (namesFile(part)) files += 1;
    if (files > mediaInputsMax) throw tooManyMedia(field);
  }
  if (parts > messagesMax) throw tooMany(field, 'parts in all its messages');
}

function namesFile(part: unknown): boolean {
  const { url } = objectOf(objectOf(part).image_url);
  return isFilled(url) && !/^data:/i.test(url);
}

function tooMany(field: string, what: string, max_items = messagesMax) {
  return badMessages(field, `must hold at most ${max_items} ${what}`, { max_items });
}

/** The input of a call that is given back: JSON, or the object itself. */
export const inputCheck: Check = {
  is: 'a string or an object',
  test: (value) => typeof value === 'string' || isObject(value),
};

/** Servers parse the input of a call, and cannot parse an empty text. */
export function givenInput(text: unknown): string {
  if (isObject(text)) return JSON.stringify(text);
  return isFilled(text) && text.trim() !== '' ? text : '{}';
}

/** `own`: checked fields. */
export function toolOf(own: Json, schema: unknown, custom: Tool['custom'] = null): Tool {
  const { name, description, strict } = own;
  return {
    name: String(name),
    description: isFilled(description) ? description : null,
    parameters: isObject(schema) ? { ...anyObject, ...givenFields(schema) } : null,
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
  const names = new Set(tools.map(({ name }) => name));
  if (type === 'allowed_tools') return { ...none, ...allowedIn(own, names, at) };
  const isNamed = isObject(choice) && !hasKey(modes, type);
  if (isNamed) return { ...none, mode: 'tool', tool: nameIn(choice, at, names) };
  const mode = modeIn(type, at, modes);
  if (mode === 'any' && tools.length === 0) throw badField('tools', `given, as ${at} demands one`);
  return { ...none, mode };
}

function allowedIn(own: Json, tools: ReadonlySet<string>, at: string) {
  const path = isObject(own.allowed_tools) ? `${at}.allowed_tools` : at;
  const { mode, tools: among } = objectOf(own.allowed_tools ?? own);
  const only = itemsOf(among).map((each, i) =>
    nameIn(objectOf(each), `${path}.tools[${i}]`, tools),
  );
  return {
    mode: isGiven(mode) ? modeIn(mode, `${path}.mode`, modesOfAllowed) : null,
    only: [...new Set(only)],
  };
}

function modeIn(word: unknown, at: string, modes: Modes): ToolChoice['mode'] {
  if (!hasKey(modes, word)) throw badField(at, oneOf(...keysOf(modes)).is);
  return modes[word]!;
}

/** The type need not be said beside a function. */
function nameIn(
  { type = 'function', ...own }: Json,
  at: string,
  tools: ReadonlySet<string>,
): string {
  if (!chosenType.test(type)) throw badField(`${at}.type`, chosenType.is);
  const inner = own[String(type)];
  const { name, namespace } = isObject(inner) ? inner : own;
  const path = isObject(inner) ? `${at}.${String(type)}.name` : `${at}.name`;
  if (!isFilled(name)) throw badField(path, 'the name of a tool');
  const flat = flatName(namespace, name);
  if (!tools.has(flat)) throw badField(path, 'the name of one of tools');
  return flat;
}
