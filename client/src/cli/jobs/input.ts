import { statSync, type Stats } from 'node:fs';
import { file, type Model } from '../../index.ts';
import { isObject, messageOf } from '../../unknown.ts';
import { usage } from '../exits.ts';
import { remark } from '../terminal/terminal.ts';
import { fileText, remarkOnUnread, stdinText } from '../text.ts';

/** Builds a model's input from the command line. */

export interface InputOptions {
  prompt?: string;
  image?: string[];
  video?: string[];
  audio?: string[];
  set?: string[];
  input?: string;
}

export type Fields = Record<string, unknown>;

export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  items?: Schema;
  default?: unknown;
  description?: string;
  minimum?: number;
  maximum?: number;
}

/**
 * The input that the command line gives. Values replace those of `--input`; any other input that is
 * given twice is refused.
 */
export async function readInput(
  model: Model,
  values: string[],
  options: InputOptions,
  quiet: boolean,
): Promise<Fields> {
  const schema = schemaOf(model);
  const base = options.input === undefined ? {} : await readJson(options.input);
  const given: Fields = {};
  const put = (name: string, value: unknown) => {
    if (Object.hasOwn(given, name)) throw usage(`${name} is given twice.`, 'Give it once.');
    given[name] = value;
  };
  if (options.prompt !== undefined)
    put('prompt', options.prompt === '-' ? (await stdinText()).trimEnd() : options.prompt);
  for (const medium of ['image', 'video', 'audio'] as const) {
    const files = options[medium];
    if (files) put(...placedMedia(model, schema, medium, files));
  }
  const lists = new Map<string, unknown[]>();
  for (const pair of [...values, ...(options.set ?? [])]) {
    const [name, text] = partsOf(pair);
    const field = schema.properties?.[name];
    const value = await givenValue(name, text, schema);
    if (!typesOf(field).has('array') || Array.isArray(value)) put(name, value);
    // A repeated name adds to a list.
    else if (lists.has(name)) lists.get(name)!.push(value);
    else {
      lists.set(name, [value]);
      put(name, lists.get(name));
    }
  }
  if (!process.stdin.readableEnded)
    remarkOnUnread(quiet, 'put "-" in place of the prompt or the input file, or key=@-.');
  for (const name of Object.keys(given))
    if (Object.hasOwn(base, name))
      remark(quiet, `${name} replaces the one ${placeOf(options.input!)}.`);
  return { ...base, ...given };
}

function partsOf(pair: string): [name: string, text: string] {
  const [, name, text] = /^([^=\s]+?)=([^]*)$/.exec(pair) ?? [];
  if (name !== undefined && text !== undefined) return [name, text];
  throw usage(
    `${JSON.stringify(pair)} is not an input.`,
    'Inputs look like key=value; a prompt goes into --prompt "…".',
  );
}

async function readJson(file: string): Promise<Fields> {
  const text = file === '-' ? await stdinText() : fileText(file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (isObject(value)) return demandWhole(value, `The input ${placeOf(file)}`);
  throw usage(`The input ${placeOf(file)} is not a JSON object.`);
}

function placeOf(file: string): string {
  return file === '-' ? 'on stdin' : `in ${file}`;
}

/** `@path` is an upload in a media field; elsewhere it stands for the text of the file. */
async function givenValue(name: string, text: string, schema: Schema): Promise<unknown> {
  const field = schema.properties?.[name];
  if (!text.startsWith('@')) return demandWhole(valueOf(field, text), name);
  const path = text.slice(1);
  if (path === '') throw usage(`${name}=@ names no file.`, textHint(schema));
  if (!isMediaField(name)) {
    const said = path === '-' ? await stdinText() : fileText(path, textHint(schema));
    return valueOf(field, said.trimEnd());
  }
  if (path !== '-') return localFile(path);
  throw usage(`${name} cannot be read from stdin.`, `Upload it first: ${name}=$(fare upload -)`);
}

/** JavaScript would round such an integer on its way, and the model would get another seed. */
export function demandWhole<T>(value: T, place: string): T {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw usage(
      `${place} has an integer beyond ${Number.MAX_SAFE_INTEGER}, which this command would round.`,
      'Send it with another program, such as curl, or take a smaller one.',
    );
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) demandWhole(inner, place);
  return value;
}

/** The service finds media by the names of their fields. */
function isMediaField(name: string): boolean {
  return /(^|_)urls?$/.test(name);
}

function textHint({ properties = {} }: Schema): string {
  const media = Object.keys(properties).filter(isMediaField);
  const uploads = media.length > 0 ? ` Files to upload go into ${media.join(', ')}.` : '';
  return `key=@path stands for the text of a file; a prompt that begins with @ goes into --prompt.${uploads}`;
}

export function schemaOf({ input_schema }: Model): Schema {
  // The catalog takes only JSON Schema.
  return input_schema as Schema;
}

function typesOf(schema: Schema | undefined): Set<string> {
  if (!schema) return new Set();
  const own = [schema.type ?? []].flat();
  const named = (schema.enum ?? []).map((value) => (value === null ? 'null' : typeof value));
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return new Set([...own, ...named, ...parts.flatMap((part) => [...typesOf(part)])]);
}

/** The value of a text. The schema decides its type; the service validates it. */
export function valueOf(schema: Schema | undefined, text: string): unknown {
  const types = typesOf(schema);
  if (types.size === 1 && types.has('string')) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // If the schema does not know the field, a text in quotes keeps its quotes.
  if (types.size === 0) return typeof value === 'string' ? text : value;
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const fits = types.has(type) || (type === 'number' && types.has('integer'));
  return fits || !types.has('string') ? value : text;
}

/** The field for the files of `--image`, `--video` or `--audio`, and its value. */
function placedMedia(
  model: Model,
  schema: Schema,
  medium: string,
  given: string[],
): [name: string, value: unknown] {
  const names = Object.keys(schema.properties ?? {});
  const lists = (name: string) => typesOf(schema.properties?.[name]).has('array');
  const ofMedium = names.filter(
    (name) => name.includes(medium) && isMediaField(name) && !/^(end|mask)_/.test(name),
  );
  const single = [`${medium}_url`, ...ofMedium].find(
    (name) => names.includes(name) && !lists(name),
  );
  const list = [`${medium}_urls`, ...ofMedium].find((name) => names.includes(name) && lists(name));
  const files = given.map((text) => mediaOf(medium, text));
  if (list !== undefined && (files.length > 1 || single === undefined)) return [list, files];
  if (single !== undefined && files.length === 1) return [single, files[0]];
  const takes = single === undefined ? `takes no --${medium}` : `takes one --${medium} only`;
  throw usage(`${model.id} ${takes}.`, `Its inputs are: ${names.join(', ')}.`);
}

/** Addresses, file ids and the sandbox's samples are sent unchanged. */
function mediaOf(medium: string, text: string): unknown {
  if (/^(https?:\/\/|data:|file_[0-9a-f]{32}$|sandbox:)/.test(text)) return text;
  if (text !== '-') return localFile(text);
  const how = `Upload it first: --${medium} "$(fare upload -)"`;
  throw usage(`--${medium} cannot be read from stdin.`, how);
}

/**
 * A file or pipe that is uploaded once the price is accepted. Its existence is checked now, before
 * anything is uploaded.
 */
export function localFile(
  path: string,
  hint = 'Give a path, a public http(s) address or a file id.',
): ReturnType<typeof file> {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw usage(`${path} cannot be read: ${messageOf(error)}`, hint);
  }
  if (!found) throw usage(`There is no file ${path}.`, hint);
  if (found.isDirectory()) throw usage(`${path} is a folder.`, hint);
  if (found.isSocket()) throw usage(`${path} is a socket.`, hint);
  return file(path);
}
