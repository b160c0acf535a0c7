import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { badField, badMessages } from '../bad-request.ts';
import { isFilled, isGiven, type Check } from '../check.ts';
import { mediaInputsMax } from '../catalog/media-input.ts';
import { tooManyMedia } from '../chat/chat-media.ts';

/** Reads what calls of all APIs have in common. */

export function readModel(value: unknown): string {
  if (!isFilled(value)) throw badField('model', 'the id of a text model');
  return value;
}

export function readFlag(value: unknown, field: string): boolean {
  if (!isGiven(value)) return false;
  if (typeof value !== 'boolean') throw badField(field, 'true or false');
  return value;
}

/** Null: not given. */
export function readTokenLimit(value: unknown, field: string): number | null {
  if (!isGiven(value)) return null;
  if (!isCount(value) || value < 1) throw badField(field, 'an integer of at least 1');
  return value;
}

/**
 * Rebuilds objects from their known fields. An unchecked field does not reach an upstream, because
 * it may change the price there.
 */

/** `isText`: the value may also be a plain string. */
export interface KnownFields {
  isText?: true;
  fields: Readonly<Record<string, Shape>>;
}

export type Shape = Check | KnownFields | { list: Shape };

/**
 * Makes the error for the value at path `at`, such as `tools[0].function.name`; `is`: what is
 * allowed.
 */
type Refuse = (at: string, is: string) => Error;

/** Names of fields that were left out, with `[]` in place of each index. */
export class LeftOut {
  readonly names = new Set<string>();

  /** `at`: the path of the object; '' for the body. */
  add(at: string, fields: Json, isKnown: (field: string) => boolean): void {
    for (const field of Object.keys(fields)) {
      if (this.names.size >= namesMax) return;
      if (isKnown(field) || !isGiven(fields[field]) || !nameForm.test(field)) continue;
      const path = at.replaceAll(/\[\d+\]/g, '[]');
      this.names.add(path === '' ? field : `${path}.${field}`);
    }
  }
}

/**
 * The fields of a call's body that have a shape, checked. Adds to `left` all others, except those
 * in `read`, which are read elsewhere.
 *
 * @throws ApiError `bad_request`, which names the field
 */
export function knownFields(
  body: Json,
  shapes: Readonly<Record<string, Shape>>,
  read: ReadonlySet<string>,
  left: LeftOut,
): Json {
  left.add('', body, (field) => read.has(field) || Object.hasOwn(shapes, field));
  const kept: Json = {};
  for (const [field, shape] of Object.entries(shapes)) {
    const value = Object.hasOwn(body, field) ? body[field] : undefined;
    if (isGiven(value)) kept[field] = rebuilt(value, shape, field, badField, left);
  }
  return kept;
}

/** The names are listed in a header of the reply. */
const namesMax = 20;
const nameForm = /^[\w-]{1,64}$/;

/**
 * The value reduced to its known fields; null counts as omitted. Adds the unknown ones to `left`.
 */
export function rebuilt(
  value: unknown,
  shape: Shape,
  at: string,
  refuse: Refuse,
  left?: LeftOut,
): unknown {
  if ('test' in shape) {
    if (!shape.test(value)) throw refuse(at, shape.is);
    return value;
  }
  if ('list' in shape) {
    if (!Array.isArray(value)) throw refuse(at, 'a list');
    return value.map((item, i) => rebuilt(item, shape.list, `${at}[${i}]`, refuse, left));
  }
  if (shape.isText && typeof value === 'string') return value;
  if (!isObject(value)) throw refuse(at, shape.isText ? 'a string or an object' : 'an object');
  left?.add(at, value, (field) => Object.hasOwn(shape.fields, field));
  const kept: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(shape.fields)) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (isGiven(given)) kept[field] = rebuilt(given, inner, `${at}.${field}`, refuse, left);
  }
  return kept;
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
