/** Converts the fields of an upstream's input that determine the price. Pure. */

import { countMax, durationSecondsMax } from '../../server/src/core/price/priced-fields.ts';
import { imageSizeNames } from '../../server/src/core/price/size.ts';
import { isOneOf } from '../../server/src/lib/records.ts';
import type { Json } from './vendor.ts';

/** One field of a row's input. */
export interface Field {
  ours: string;
  /**
   * The upstream's name of the field. If the upstream takes a number as text, a template follows,
   * such as `duration:{}s`.
   */
  theirs: string;
  schema: Json;
  required: boolean;
  /** Maximum of the counted amount, if this field counts it. */
  max?: number;
}

/** A request without a duration is priced as one of this many seconds. */
const usualSeconds = 5;
const countUsual = 4;

/** Makes `duration_seconds`, a number, from a field that takes a number or one of a few texts. */
export function durationField(theirs: string, value: Json): Field | string {
  const ours = 'duration_seconds';
  const { enum: options } = value;
  const wrong = `its input takes a ${theirs} in a form that is not known`;
  if (Array.isArray(options)) {
    const form = formOf(options);
    if (form === null) return wrong;
    const first = secondsOf(value.default, form.ending);
    const max = Math.max(...form.seconds);
    const name = form.isText ? `${theirs}:{}${form.ending}` : theirs;
    const chosen = { enum: form.seconds, ...defaultSeconds(first, max) };
    return duration({ ours, theirs: name, schema: chosen, required: false, max });
  }
  if (value.type !== 'integer' && value.type !== 'number') return wrong;
  const minimum = Math.max(1, numberOr(value.minimum, 1));
  const maximum = Math.min(durationSecondsMax, numberOr(value.maximum, durationSecondsMax));
  if (maximum < minimum) return wrong;
  const limits = { minimum, ...(value.maximum !== undefined && { maximum }) };
  const given = defaultSeconds(secondsOf(value.default, ''), maximum);
  const schema = { type: value.type, ...limits, ...(given.default! >= minimum && given) };
  const max = value.maximum === undefined ? 0 : Math.floor(maximum);
  return duration({ ours, theirs, schema, required: false, max });
}

/**
 * A duration without a default is required, because the upstream might choose a longer one than is
 * priced.
 */
function duration(field: Field): Field {
  const schema = { ...field.schema, description: 'Length in seconds.' };
  return { ...field, schema, required: field.schema.default === undefined };
}

function defaultSeconds(seconds: number | null, max: number): { default?: number } {
  const isPriced = seconds !== null && seconds <= Math.min(usualSeconds, max);
  return isPriced ? { default: seconds } : {};
}

/**
 * The form of options such as 5, "5" or "5s". Words such as "auto" are ignored, because they
 * determine no price.
 */
function formOf(options: unknown[]) {
  const texts = options.filter((option) => typeof option === 'string');
  const isText = texts.length > 0;
  const ending = texts.some((text) => /^\d+s$/.test(text)) ? 's' : '';
  const seconds = (isText ? texts : options)
    .map((option) => secondsOf(option, ending))
    .filter((each) => each !== null);
  return seconds.length === 0 ? null : { isText, ending, seconds };
}

/** The seconds of an option; null if the number would not be written back in the same way. */
function secondsOf(value: unknown, ending: string): number | null {
  const text = typeof value === 'string' ? value : `${String(value)}${ending}`;
  if (!text.endsWith(ending)) return null;
  const seconds = Number(text.slice(0, text.length - ending.length));
  const isWritten = `${seconds}${ending}` === text;
  return isWritten && seconds > 0 && seconds <= durationSecondsMax ? seconds : null;
}

/** Makes `num_images`, which is at least one. */
export function countField(theirs: string, value: Json): Field | null {
  if (value.type !== 'integer' && value.type !== 'number') return null;
  const most = Math.floor(numberOr(value.maximum, countUsual));
  const max = Math.min(countMax, Math.max(1, most));
  const schema = { type: 'integer', minimum: 1, maximum: max, default: 1 };
  return { ours: 'num_images', theirs, schema, required: false, max };
}

/** Keeps only named sizes, since each of them is billed as one megapixel at most. */
export function sizeField(value: Json, isRequired: boolean): Field | string {
  const options = Array.isArray(value.enum) ? value.enum : [];
  const known = options.filter((option) => isOneOf(imageSizeNames, option));
  if (known.length === 0)
    return 'it is priced by the megapixel, but its input has no list of sizes';
  const isKnown = isOneOf(known, value.default);
  const schema = { enum: known, ...(isKnown && { default: value.default }) };
  // The upstream's default may be larger, or depend on an input image.
  const required = isRequired || !isKnown;
  return { ours: 'image_size', theirs: 'image_size', schema, required };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}
