import { readFileSync, statSync } from 'node:fs';
import { file, type Model } from '../../index.ts';
import { isObject, itemsOf, messageOf } from '../../unknown.ts';
import { usage } from '../exits.ts';
import { readStdin } from '../terminal/terminal.ts';

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

export async function readInput(
  model: Model,
  values: string[],
  options: InputOptions,
): Promise<Fields> {
  const schema = schemaOf(model);
  if (options.input === '-' && options.prompt === '-')
    throw usage('Only one of --input and --prompt can be read from stdin.');
  const input: Fields = options.input === undefined ? {} : await readJson(options.input);
  if (options.prompt !== undefined)
    input.prompt = options.prompt === '-' ? (await stdinText()).trimEnd() : options.prompt;
  for (const medium of ['image', 'video', 'audio'] as const) {
    const given = options[medium];
    if (given) placeMedia(model, schema, medium, given, input);
  }
  const lists = new Set<string>();
  for (const pair of [...values, ...(options.set ?? [])]) {
    const [, name, text] = /^([^=\s]+?)=([^]*)$/.exec(pair) ?? [];
    if (name === undefined || text === undefined) {
      throw usage(
        `${JSON.stringify(pair)} is not an input.`,
        'Inputs look like key=value; a prompt goes into --prompt "…".',
      );
    }
    const value = valueOf(schema.properties?.[name], text);
    // A repeated name adds to a list.
    if (typesOf(schema.properties?.[name]).has('array') && !Array.isArray(value)) {
      const before = lists.has(name) ? itemsOf(input[name]) : [];
      lists.add(name);
      input[name] = [...before, value];
    } else input[name] = value;
  }
  return input;
}

async function readJson(file: string): Promise<Fields> {
  const text = file === '-' ? await stdinText() : readText(file);
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw usage(`${file === '-' ? 'The input on stdin' : file} is not a JSON object.`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(`${file} cannot be read: ${messageOf(error)}`);
  }
}

/** All of stdin. Throws on a terminal, because a pipe is expected. */
export async function stdinText(): Promise<string> {
  if (process.stdin.isTTY)
    throw usage('Nothing can be read, because stdin is a terminal.', 'Pipe the text in.');
  return readStdin();
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

/**
 * `@path` is a file. For other texts the schema decides the type; the service validates the value.
 */
export function valueOf(schema: Schema | undefined, text: string): unknown {
  if (text.startsWith('@')) return localFile(text.slice(1));
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

function placeMedia(
  model: Model,
  schema: Schema,
  medium: string,
  given: string[],
  input: Fields,
): void {
  const names = Object.keys(schema.properties ?? {});
  const lists = (name: string) => typesOf(schema.properties?.[name]).has('array');
  const ofMedium = names.filter(
    (name) => name.includes(medium) && /_?urls?$/.test(name) && !/^(end|mask)_/.test(name),
  );
  const single = [`${medium}_url`, ...ofMedium].find(
    (name) => names.includes(name) && !lists(name),
  );
  const list = [`${medium}_urls`, ...ofMedium].find((name) => names.includes(name) && lists(name));
  const files = given.map(mediaOf);
  if (list !== undefined && (files.length > 1 || single === undefined)) input[list] = files;
  else if (single !== undefined && files.length === 1) input[single] = files[0];
  else {
    const takes = single === undefined ? `takes no --${medium}` : `takes one --${medium} only`;
    throw usage(`${model.id} ${takes}.`, `Its inputs are: ${names.join(', ')}.`);
  }
}

/** Addresses, file ids and the sandbox's samples are sent unchanged. */
function mediaOf(text: string): unknown {
  return /^(https?:\/\/|data:|file_[0-9a-f]{32}$|sandbox:)/.test(text) ? text : localFile(text);
}

/**
 * A file that is uploaded once the price is accepted. Its existence is checked now, before anything
 * is uploaded.
 */
export function localFile(
  path: string,
  hint = 'Give a path, a public http(s) address or a file id.',
): ReturnType<typeof file> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw usage(`${path} is a folder.`, hint);
  if (!found?.isFile()) throw usage(`There is no file ${path}.`, hint);
  return file(path);
}
