import { numberIn, type LongInteger } from '../../exact-json.ts';

/** Chooses the control for each field of a model's input from its JSON Schema. */

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  minimum?: number | LongInteger;
  maximum?: number | LongInteger;
  exclusiveMinimum?: number | LongInteger;
  exclusiveMaximum?: number | LongInteger;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  required?: string[];
}

export type Scalar = string | number | boolean;

export type Control =
  | { as: 'text'; long: boolean; max: number | undefined }
  | { as: 'number'; whole: boolean; min: number | undefined; max: number | undefined; step: number }
  | { as: 'seed'; min: number; max: number }
  | { as: 'switch' }
  | { as: 'choice'; options: Scalar[] }
  | { as: 'ratio'; options: string[]; free: boolean }
  | { as: 'size'; names: string[]; min: number; max: number }
  | { as: 'media'; media: Media }
  | { as: 'media_list'; media: Media; max: number }
  | { as: 'text_list'; max: number }
  | { as: 'json' };

export interface Field {
  name: string;
  required: boolean;
  schema: Schema;
  control: Control;
}

const usualRatios = ['1:1', '4:3', '3:4', '3:2', '2:3', '16:9', '9:16', '21:9'];
const seedMax = 2_147_483_647;
/** A text that cannot be longer than this gets no textarea, whatever its name. */
const shortText = 120;

/** The fields of a model's input schema; required ones first. */
export function fieldsOf(input_schema: Record<string, unknown>): Field[] {
  const schema = schemaOf(input_schema);
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, given]) => {
    const own = resolved(given, schema);
    return { name, required: required.has(name), schema: own, control: controlOf(name, own) };
  });
  return fields.toSorted((a, b) => Number(b.required) - Number(a.required));
}

export function controlOf(name: string, schema: Schema): Control {
  const type = typeOf(schema);
  const options = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  const media = mediaOf(name);
  if (options?.every(isScalar)) return choice(options);
  if (/(^|_)size$/.test(name) && schema.anyOf) return sizeOf(schema) ?? { as: 'json' };
  if (media !== null && type === 'array') {
    return { as: 'media_list', media, max: schema.maxItems ?? 64 };
  }
  if (media !== null && (type === 'string' || type === undefined)) return { as: 'media', media };
  if (type === 'boolean') return { as: 'switch' };
  if (type === 'integer' || type === 'number') return number(name, schema, type === 'integer');
  if (type === 'string' && name === 'aspect_ratio') return ratios(schema);
  if (type === 'string') {
    const { maxLength } = schema;
    const long = /prompt|text|lyrics|script|instruction/.test(name) || (maxLength ?? 0) > 400;
    return { as: 'text', long: long && !(maxLength && maxLength <= shortText), max: maxLength };
  }
  if (type === 'array' && typeOf(schema.items ?? {}) === 'string' && !schema.items?.enum) {
    return { as: 'text_list', max: schema.maxItems ?? 64 };
  }
  return { as: 'json' };
}

function choice(options: Scalar[]): Control {
  const texts = options.filter((each) => typeof each === 'string');
  const shapes = texts.filter((each) => sidesOf(each) !== null);
  const isNamed = (each: Scalar) => shapes.includes(String(each)) || /^[a-z_]+$/.test(String(each));
  if (shapes.length > 1 && options.every(isNamed))
    return { as: 'ratio', options: texts, free: false };
  return { as: 'choice', options };
}

/** The sides of `16:9`, `1024x768`, `portrait_4_3` or `square`; null if the model chooses them. */
export function sidesOf(option: string): [width: number, height: number] | null {
  const [, name, ...digits] =
    /^(square|portrait|landscape)?[a-z_]*?(?:(\d+)[:x*_](\d+))?$/.exec(option) ?? [];
  const [one, other] = digits.map(Number) as [number, number];
  if (name === 'square') return [1, 1];
  if (!one || !other) return null;
  if (name === undefined) return [one, other];
  const [short, long] = [Math.min(one, other), Math.max(one, other)];
  return name === 'portrait' ? [short, long] : [long, short];
}

/** The common ratios that the pattern allows; others can be typed. */
function ratios({ pattern }: Schema): Control {
  const allowed = pattern === undefined ? null : new RegExp(pattern, 'u');
  const options = ['auto', ...usualRatios].filter((each) => allowed?.test(each) ?? each !== 'auto');
  return { as: 'ratio', options, free: true };
}

function number(name: string, schema: Schema, whole: boolean): Control {
  const min = numberIn(schema.minimum ?? schema.exclusiveMinimum);
  const max = numberIn(schema.maximum ?? schema.exclusiveMaximum);
  if (/(^|_)seed$/.test(name)) return { as: 'seed', min: min ?? 0, max: max ?? seedMax };
  const span = min !== undefined && max !== undefined ? max - min : undefined;
  const fine = span === undefined || span > 20 ? 0.5 : span > 2 ? 0.1 : 0.01;
  return { as: 'number', whole, min, max, step: schema.multipleOf ?? (whole ? 1 : fine) };
}

/** A random seed: if the model allows that, not negative and at most `seedMax`. */
export function anotherSeed(min: number, max: number): number {
  const low = min < 0 && max > 0 ? 0 : min;
  const high = Math.max(low, Math.min(max, seedMax));
  return low + Math.floor(Math.random() * (high - low));
}

/** The control for a size: by name, or as width and height. */
function sizeOf({ anyOf = [] }: Schema): Control | null {
  const names = anyOf.find((each) => each.enum)?.enum ?? [];
  const sides = anyOf.find((each) => each.properties?.width)?.properties;
  if (!names.every((each) => typeof each === 'string') || !sides) return null;
  const { minimum = 64, maximum = 4096 } = sides.width ?? {};
  return { as: 'size', names, min: numberIn(minimum), max: numberIn(maximum) };
}

function typeOf({ type, anyOf, oneOf }: Schema): string | undefined {
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return type.find((each) => each !== 'null');
  const branches = (anyOf ?? oneOf ?? []).filter((each) => each.type !== 'null');
  return branches.length === 1 ? typeOf(branches[0]!) : undefined;
}

/** Resolves references and `allOf`, and an `anyOf` or `oneOf` that has a single branch. */
function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > 8) return schema;
  const { $ref, allOf, ...own } = schema;
  if ($ref?.startsWith('#/$defs/')) {
    const target = root.$defs?.[$ref.slice('#/$defs/'.length)];
    return target ? { ...resolved(target, root, depth + 1), ...own } : own;
  }
  if (allOf) {
    const whole: Schema = {};
    for (const part of allOf) Object.assign(whole, resolved(part, root, depth + 1));
    return { ...whole, ...own };
  }
  const lone = (schema.anyOf ?? schema.oneOf ?? []).filter((each) => each.type !== 'null');
  if (lone.length !== 1) return schema;
  const { anyOf: _any, oneOf: _one, ...rest } = schema;
  return { ...resolved(lone[0]!, root, depth + 1), ...rest };
}

function isScalar(value: unknown): value is Scalar {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** The initial input. */
export function defaultsOf(schema: Record<string, unknown>): Record<string, unknown> {
  const filled = fieldsOf(schema).flatMap((field): [string, unknown][] => {
    if (field.schema.default !== undefined) return [[field.name, field.schema.default]];
    return field.schema.const !== undefined && field.required
      ? [[field.name, field.schema.const]]
      : [];
  });
  return Object.fromEntries(filled);
}

/** Required fields that are empty. */
export function missing(fields: Field[], input: Record<string, unknown>): Field[] {
  return fields.filter(({ name, required }) => {
    const value = input[name];
    return required && (value === undefined || value === '' || isEmptyList(value));
  });
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/**
 * Whether a field is shown unfolded: if it is required, affects the price, or is a media field, the
 * prompt, the aspect ratio or the size.
 */
export function isInFront({ name, required, control }: Field, priced: Set<string>): boolean {
  if (required || priced.has(name)) return true;
  if (control.as === 'media' || control.as === 'media_list' || control.as === 'ratio') return true;
  return /^(prompt|(image_)?size|aspect_ratio|width|height)$/.test(name);
}

/** The same input with its fields in the form's order. */
export function inOrder(fields: Field[], input: Record<string, unknown>): Record<string, unknown> {
  const known = fields.filter(({ name }) => Object.hasOwn(input, name));
  return { ...Object.fromEntries(known.map(({ name }) => [name, input[name]])), ...input };
}

/** A model's schema as far as the form reads it. */
export function schemaOf(input_schema: Record<string, unknown>): Schema {
  // The catalog takes only JSON Schema.
  return input_schema as Schema;
}

export type Media = 'image' | 'video' | 'audio' | 'any';

/** The kind of media that a field takes, by the field's name; null if it takes no URL. */
export function mediaOf(field: string): Media | null {
  if (!/(^|_)urls?$/.test(field)) return null;
  if (/video|film|clip/.test(field)) return 'video';
  if (/audio|voice|sound|music|speech/.test(field)) return 'audio';
  if (/image|img|mask|picture|photo|frame|face|reference/.test(field)) return 'image';
  return 'any';
}
