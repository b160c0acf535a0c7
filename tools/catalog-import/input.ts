/**
 * A model's input in its upstream's names, made into the input of a row: only what has a simple
 * form, nothing that could make more than the row's price covers, and closed to all else. Pure.
 */

import type { Unit } from '../../server/src/core/catalog/catalog.ts';
import { isMediaField } from '../../server/src/core/catalog/media-input.ts';
import { isObject } from '../../server/src/lib/json.ts';
import { countField, durationField, sizeField, type Field } from './priced.ts';
import type { Json } from './vendor.ts';

export interface ImportedInput {
  input_schema: Json;
  input_mapping: Record<string, string>;
  example: Json;
  /** Seconds, or images, of one request; 0: none is stated. */
  max: number;
  /** Fields of the upstream's that the row does not have. */
  left: string[];
}

const durationNames = new Set(['duration', 'duration_seconds', 'seconds', 'video_duration']);
const countNames = new Set(['num_images', 'num_outputs', 'number_of_images', 'n']);
/** More of what these ask for costs more, as a rule, and no list of prices tells how much. */
const dear = new RegExp(
  [
    'audio$|_audio_|service_tier|enable_web_search|max_images|num_(videos|generations|samples)',
    '^(resolution|size|quality|mode|batch_size|num_frames|fps|frames_per_second|megapixels)$',
    '^(upscale_factor|scale|scale_factor|target_(fps|resolution|megapixels))$',
    '^(custom_)?(width|height)$',
  ].join('|'),
);
/** How strictly it filters, and in which form it answers, is the operator's to say. */
const withheld = /safety|nsfw|moderation|^sync_mode$|webhook|^api_key$|_api_key$/;
const nameForm = /^[A-Za-z][A-Za-z0-9_]{0,99}$/;
const descriptionMax = 300;
const itemsMax = 10;
/** Media fields by their usual names, where only their format marks them as addresses. */
const mediaNames: Readonly<Record<string, string>> = {
  input_image: 'image_url',
  image_input: 'image_urls',
  input_images: 'image_urls',
  images: 'image_urls',
  input_video: 'video_url',
  input_audio: 'audio_url',
};

/** The input of a row priced by this unit. A text: why there can be none. */
export function importInput(schema: Json, unit: Unit): ImportedInput | string {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields: Field[] = [];
  const left: string[] = [];
  for (const [name, value] of Object.entries(properties)) {
    if (!nameForm.test(name) || !isObject(value)) continue;
    const isRequired = required.includes(name);
    const field = fieldOf(name, value, unit, isRequired);
    const isTaken = (ours: string) => fields.some((other) => other.ours === ours);
    if (typeof field === 'object' && field !== null && !isTaken(field.ours)) {
      fields.push(field);
      continue;
    }
    if (isRequired && value.default === undefined)
      return typeof field === 'string' ? field : `its input needs ${name}, which is in no row`;
    left.push(name);
  }
  if (fields.length === 0) return 'it tells no input';
  const missing = missingOf(unit, fields);
  return missing ?? assembled(fields, left, unit);
}

function missingOf(unit: Unit, fields: Field[]): string | null {
  const has = (ours: string) => fields.some((field) => field.ours === ours);
  if (unit === 'sec' && !has('duration_seconds'))
    return 'it is priced by the second, and its input tells no duration';
  if (unit === 'MP' && !has('image_size'))
    return 'it is priced by the megapixel, and its input names no sizes';
  return null;
}

/** The field as a row has it; null: left out. A text: it is needed, and cannot be had. */
function fieldOf(
  name: string,
  value: Json,
  unit: Unit,
  isRequired: boolean,
): Field | string | null {
  if (durationNames.has(name)) return unit === 'sec' ? durationField(name, value) : null;
  if (countNames.has(name))
    return unit === 'image' || unit === 'MP' ? countField(name, value) : null;
  if (unit === 'MP' && name === 'image_size') return sizeField(value, isRequired);
  if (isMedia(name, value)) return mediaField(name, value, isRequired);
  if (dear.test(name) || withheld.test(name)) return null;
  const schema = simple(value);
  return (
    schema && { ours: name, theirs: name, schema, required: isRequired && !hasDefault(schema) }
  );
}

function isMedia(name: string, value: Json): boolean {
  const items = isObject(value.items) ? value.items : {};
  return isMediaField(name) || value.format === 'uri' || items.format === 'uri';
}

function mediaField(name: string, value: Json, isRequired: boolean): Field | null {
  const isList = value.type === 'array';
  const usual = Object.hasOwn(mediaNames, name) ? mediaNames[name]! : null;
  const fits = usual !== null && usual.endsWith('s') === isList;
  const ours = isMediaField(name)
    ? name
    : fits
      ? usual
      : isList
        ? `${name.replace(/s$/, '')}_urls`
        : `${name}_url`;
  const one = { type: 'string', minLength: 1 };
  if (!isList) {
    if (typeOf(value) !== 'string' && value.format !== 'uri') return null;
    return { ours, theirs: name, schema: { ...one, ...described(value) }, required: isRequired };
  }
  const most = Number(value.maxItems);
  const maxItems = Number.isSafeInteger(most) && most > 0 ? Math.min(most, 64) : itemsMax;
  const schema = { type: 'array', minItems: 1, maxItems, items: one, ...described(value) };
  return { ours, theirs: name, schema, required: isRequired };
}

/** Only values, and lists of values; null for anything else. */
function simple(value: Json): Json | null {
  const type = typeOf(value);
  if (type === 'array') {
    const items = isObject(value.items) ? simple(value.items) : null;
    if (items === null || items.type === 'array') return null;
    delete items.description;
    const limits = numbersIn(value, ['minItems', 'maxItems']);
    return { type, ...limits, items, ...described(value) };
  }
  if (Array.isArray(value.enum)) return choice(value, value.enum);
  if (type === 'boolean') return { type, ...defaultOf(value, isBoolean), ...described(value) };
  if (type === 'string') {
    const limits = numbersIn(value, ['minLength', 'maxLength']);
    return { type, ...limits, ...defaultOf(value, isText), ...described(value) };
  }
  if (type !== 'integer' && type !== 'number') return null;
  const limits = numbersIn(value, ['minimum', 'maximum']);
  const { minimum = -Infinity, maximum = Infinity } = limits;
  const fits = (given: unknown) =>
    typeof given === 'number' &&
    given >= minimum &&
    given <= maximum &&
    (type === 'number' || Number.isSafeInteger(given));
  return { type, ...limits, ...defaultOf(value, fits), ...described(value) };
}

function choice(value: Json, options: unknown[]): Json | null {
  const scalars = options.filter((option) => isText(option) || Number.isFinite(option));
  if (scalars.length === 0) return null;
  const fits = (given: unknown) => scalars.includes(given);
  return { enum: [...new Set(scalars)], ...defaultOf(value, fits), ...described(value) };
}

function typeOf({ type }: Json): unknown {
  return Array.isArray(type) ? type.find((each) => each !== 'null') : type;
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 2000;
}

function defaultOf(value: Json, fits: (given: unknown) => boolean): Json {
  // An empty text is how some say that there is none.
  const isGiven = value.default !== undefined && value.default !== '';
  return isGiven && fits(value.default) ? { default: value.default } : {};
}

function hasDefault(schema: Json): boolean {
  return schema.default !== undefined;
}

function numbersIn<K extends string>(value: Json, names: K[]): Partial<Record<K, number>> {
  const found = names.filter((name) => Number.isFinite(value[name]));
  return Object.fromEntries(found.map((name) => [name, value[name]])) as Partial<Record<K, number>>;
}

function described({ description }: Json): Json {
  if (typeof description !== 'string') return {};
  const text = description.replaceAll(/\s+/g, ' ').trim();
  if (text === '') return {};
  const short = text.length > descriptionMax ? `${text.slice(0, descriptionMax - 1)}…` : text;
  return { description: short.toWellFormed() };
}

function assembled(fields: Field[], left: string[], unit: Unit): ImportedInput {
  const needed = fields.filter(({ required }) => required).map(({ ours }) => ours);
  const mapped = fields.filter(({ ours, theirs }) => ours !== theirs);
  const counted = fields.find(({ max }) => max !== undefined)?.max;
  return {
    input_schema: {
      type: 'object',
      ...(needed.length > 0 && { required: needed }),
      additionalProperties: false,
      properties: Object.fromEntries(fields.map(({ ours, schema }) => [ours, schema])),
    },
    input_mapping: Object.fromEntries(mapped.map(({ ours, theirs }) => [ours, theirs])),
    example: exampleOf(fields),
    // Without a field that asks for several it makes one.
    max: counted ?? (unit === 'image' || unit === 'MP' ? 1 : 0),
    left,
  };
}

/** What a call needs at least. */
function exampleOf(fields: Field[]): Json {
  const shown = fields.filter(({ ours, required }) => required || ours === 'prompt');
  return Object.fromEntries(shown.map(({ ours, schema }) => [ours, exampleValue(ours, schema)]));
}

function exampleValue(name: string, schema: Json): unknown {
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === 'array') {
    const items = schema.items as Json;
    const one = exampleValue(name.replace(/s$/, ''), items);
    return Array.from({ length: Math.max(1, Number(schema.minItems ?? 1)) }, () => one);
  }
  if (schema.type === 'boolean') return false;
  if (schema.type !== 'string')
    return Number(schema.minimum ?? Math.min(1, Number(schema.maximum ?? 1)));
  if (!isMediaField(name)) return 'a lighthouse at dawn';
  const ending = /video/.test(name) ? 'film.mp4' : /audio/.test(name) ? 'voice.mp3' : 'photo.jpg';
  return `https://example.com/${ending}`;
}
