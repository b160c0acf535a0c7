/**
 * Converts a model's input schema to the input of a row. Only fields of a simple form are kept, no
 * field that could produce more than the row's price covers, and no additional fields. Pure.
 */

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Unit } from '../../server/src/core/catalog/catalog.ts';
import { isMediaField } from '../../server/src/core/catalog/media-input.ts';
import { isObject, objectOf } from '../../server/src/lib/json.ts';
import { countField, durationField, sizeField, type Field } from './priced.ts';
import type { Json } from './vendor.ts';

export interface ImportedInput {
  input_schema: Json;
  input_mapping: Record<string, string>;
  example: Json;
  /** Maximum number of seconds or images of one request; 0: not stated. */
  max: number;
  /** The upstream's fields that are left out of the row. */
  left: string[];
}

const durationNames = new Set(['duration', 'duration_seconds', 'seconds', 'video_duration']);
const countNames = new Set(['num_images', 'num_outputs', 'number_of_images', 'n']);
/** Fields whose higher values usually cost more, though no price list says how much. */
const dear = new RegExp(
  [
    'audio$|_audio_|service_tier|enable_web_search|max_images|num_(videos|generations|samples)',
    '^(resolution|size|quality|mode|batch_size|num_frames|fps|frames_per_second|megapixels)$',
    '^(upscale_factor|scale|scale_factor|target_(fps|resolution|megapixels))$',
    '^(custom_)?(width|height)$',
  ].join('|'),
);
/**
 * Fields that callers must not set: the operator decides how strictly the model filters and how it
 * answers.
 */
const withheld = /safety|nsfw|moderation|^sync_mode$|webhook|^api_key$|_api_key$/;
const nameForm = /^[A-Za-z][A-Za-z0-9_]{0,99}$/;
const descriptionMax = 300;
const itemsMax = 10;
/** The limits that are kept, by the field's type. Fields of other types are left out. */
const limitsOf: Readonly<Record<string, string[]>> = {
  array: ['minItems', 'maxItems'],
  boolean: [],
  string: ['minLength', 'maxLength'],
  integer: ['minimum', 'maximum'],
  number: ['minimum', 'maximum'],
};
const ajv = new Ajv2020();

/** The input of a row priced by this unit. Returns a string with the reason if none can be made. */
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
      return typeof field === 'string'
        ? field
        : `its input needs ${name}, which rows do not support`;
    left.push(name);
  }
  if (fields.length === 0) return 'its input is not listed';
  const missing = missingOf(unit, fields);
  return missing ?? assembled(fields, left, unit);
}

function missingOf(unit: Unit, fields: Field[]): string | null {
  const has = (ours: string) => fields.some((field) => field.ours === ours);
  if (unit === 'sec' && !has('duration_seconds'))
    return 'it is priced by the second, but its input has no field for the duration';
  if (unit === 'MP' && !has('image_size'))
    return 'it is priced by the megapixel, but its input has no list of sizes';
  return null;
}

/**
 * The field in a row's form; null: it is left out. A string says why a required field cannot be
 * converted.
 */
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
  const required = isRequired && schema?.default === undefined;
  return schema && { ours: name, theirs: name, schema, required };
}

function isMedia(name: string, value: Json): boolean {
  const items = isObject(value.items) ? value.items : {};
  return isMediaField(name) || value.format === 'uri' || items.format === 'uri';
}

function mediaField(name: string, value: Json, isRequired: boolean): Field | null {
  const isList = value.type === 'array';
  if (!isList && typeOf(value) !== 'string' && value.format !== 'uri') return null;
  const stem = name.replace(/^input_|_input$/, '');
  const named = isList ? `${stem.replace(/s$/, '')}_urls` : `${stem}_url`;
  const one = { type: 'string', minLength: 1 };
  const most = Number(value.maxItems);
  const maxItems = Number.isSafeInteger(most) && most > 0 ? Math.min(most, 64) : itemsMax;
  const form = isList ? { type: 'array', minItems: 1, maxItems, items: one } : one;
  return {
    ours: isMediaField(name) ? name : named,
    theirs: name,
    schema: { ...form, ...described(value) },
    required: isRequired,
  };
}

/** The schema of a plain value or of a list of plain values; null for anything else. */
function simple(value: Json): Json | null {
  const form = Array.isArray(value.enum) ? choice(value.enum) : typed(value);
  if (form === null) return null;
  const { default: given } = value;
  // Some vendors write an empty text if there is no default.
  const fits = given !== undefined && given !== '' && ajv.validate(form, given);
  return { ...form, ...(fits && { default: given }), ...described(value) };
}

function choice(options: unknown[]): Json | null {
  const scalars = options.filter((one) => typeof one === 'string' || Number.isFinite(one));
  return scalars.length === 0 ? null : { enum: [...new Set(scalars)] };
}

function typed(value: Json): Json | null {
  const type = String(typeOf(value));
  if (!Object.hasOwn(limitsOf, type)) return null;
  const limits = limitsOf[type]!.filter((name) => Number.isFinite(value[name]));
  const form = { type, ...Object.fromEntries(limits.map((name) => [name, value[name]])) };
  if (type !== 'array') return form;
  const items = isObject(value.items) ? simple(value.items) : null;
  if (items === null || items.type === 'array') return null;
  delete items.description;
  return { ...form, items };
}

function typeOf({ type }: Json): unknown {
  return Array.isArray(type) ? type.find((each) => each !== 'null') : type;
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
    // A request without a field for the number of outputs makes one.
    max: counted ?? (unit === 'image' || unit === 'MP' ? 1 : 0),
    left,
  };
}

/** An example input with only the required fields and the prompt. */
function exampleOf(fields: Field[]): Json {
  const shown = fields.filter(({ ours, required }) => required || ours === 'prompt');
  return Object.fromEntries(shown.map(({ ours, schema }) => [ours, exampleValue(ours, schema)]));
}

function exampleValue(name: string, schema: Json): unknown {
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === 'array') {
    const one = exampleValue(name.replace(/s$/, ''), objectOf(schema.items));
    return Array.from({ length: Math.max(1, Number(schema.minItems ?? 1)) }, () => one);
  }
  if (schema.type === 'boolean') return false;
  if (schema.type !== 'string')
    return Number(schema.minimum ?? Math.min(1, Number(schema.maximum ?? 1)));
  if (!isMediaField(name)) return 'a lighthouse at dawn';
  const ending = /video/.test(name) ? 'film.mp4' : /audio/.test(name) ? 'voice.mp3' : 'photo.jpg';
  return `https://example.com/${ending}`;
}
