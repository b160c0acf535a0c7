/**
 * Reads the input fields that decide the price. An unusable value is refused with a sentence that
 * names the field and what is allowed. An omitted field is undefined. `withoutNulls` has removed a
 * caller's null fields before, so that no upstream takes null for a default of its own.
 */

import { isObject } from '../../lib/json.ts';
import { isOneOf } from '../../lib/records.ts';
import type { Kind, PriceRules, Resolution, Unit } from '../catalog/catalog.ts';
import { ApiError } from '../errors.ts';
import { imageSizeNames, sizeOf, type Size } from './size.ts';

/** The parts of a catalog row that pricing needs; a `Model` has all of them. */
export interface PricingRow {
  kind: Kind;
  price: PriceRules;
  /**
   * The field that `price.max` limits: `seconds` limits duration_seconds, `images` and `count`
   * limit num_images, `megapixels` limits the whole output.
   */
  max_unit: string;
}

export type Input = Record<string, unknown>;

/** An hour: no model makes a longer video in one request. */
export const durationSecondsMax = 3600;
/**
 * A hundred outputs: each has to be fetched, stored and signed. Larger orders should be several
 * requests.
 */
export const countMax = 100;
/** A hundred megapixels: 400 MB once decoded, the most that an image tool may have to hold. */
export const pixelsMax = 100_000_000;
/** The longest side that a JPEG can have. */
export const sideMax = 65_535;
/** A thousand times the longest context offered today; a larger number is a mistake. */
export const tokensMax = 1_000_000_000;
/** A billion US dollars: far below the limit of a bigint column, so that sums of many still fit. */
export const priceMaxUsdMicro = 10n ** 15n;

/** The fields that a row's price depends on, even if its schema does not list them. */
export function pricedFields({ unit, by_resolution, extras }: PriceRules): string[] {
  return [
    ...fieldsOfUnit[unit],
    ...(by_resolution ? ['resolution'] : []),
    ...extras.map(({ field }) => field),
  ];
}

const fieldsOfUnit: Record<Unit, string[]> = {
  sec: ['duration_seconds'],
  image: ['num_images'],
  request: [],
  MP: ['image_size', 'width', 'height', 'aspect_ratio', 'resolution', 'num_images'],
  '1M tokens': [],
};

/** The error 400 `unpriceable`. `rule` follows the field's name in the message: "must be …". */
export function unpriceable(
  field: string,
  rule: string,
  allowed: Record<string, unknown> = {},
): ApiError {
  const details = { field, ...allowed };
  return new ApiError('unpriceable', { message: `${field} ${rule}.`, param: field, details });
}

/** A number of seconds above 0, fractions allowed; undefined if omitted. */
export function readDuration(model: PricingRow, input: Input): number | undefined {
  const value = input.duration_seconds;
  if (value === undefined) return undefined;
  const maximum = limitOf(model, 'seconds', durationSecondsMax);
  if (typeof value === 'number' && value > 0 && value <= maximum) return value;
  const rule = `must be a number of seconds above 0 and at most ${maximum}`;
  throw unpriceable('duration_seconds', rule, { type: 'number', exclusive_minimum: 0, maximum });
}

/** A whole number of outputs, at least 1; undefined if omitted. */
export function readCount(model: PricingRow, input: Input): number | undefined {
  const value = input.num_images;
  if (value === undefined) return undefined;
  const word = model.max_unit === 'count' ? 'count' : 'images';
  const maximum = limitOf(model, word, countMax);
  if (isInteger(value) && value >= 1 && value <= maximum) return value;
  const rule = `must be an integer from 1 to ${maximum}`;
  throw unpriceable('num_images', rule, { type: 'integer', minimum: 1, maximum });
}

/** One of the offered resolutions; undefined if omitted, or if the price does not depend on it. */
export function readResolution(
  rules: PriceRules,
  offered: readonly Resolution[],
  input: Input,
): Resolution | undefined {
  const value = input.resolution;
  if (value === undefined) return undefined;
  if (offered.length > 0) {
    if (isOneOf(offered, value)) return value;
    throw unpriceable('resolution', `must be one of ${offered.join(', ')}`, { one_of: offered });
  }
  if (typeof value !== 'string')
    throw unpriceable('resolution', 'must be a string', { type: 'string' });
  if (rules.unit !== 'MP') return undefined;
  throw unpriceable('resolution', 'is not offered by this model; send image_size instead');
}

/**
 * The requested size of the output. `strict` is for rows priced by size: it refuses an unknown size
 * name, a single side, and two sizes that differ. For other rows the model's own schema decides.
 */
export function readSize(input: Input, strict: boolean): Size | undefined {
  const named =
    input.image_size === undefined ? undefined : readImageSize(input.image_size, strict);
  const sides = readSides(input, strict);
  if (strict && named && sides && (named.width !== sides.width || named.height !== sides.height)) {
    throw unpriceable(
      'image_size',
      'differs from width and height; send either image_size, or width and height',
    );
  }
  return named ?? sides;
}

/** A whole number of tokens, at least 0. Required, because there is no price without it. */
export function readTokens(value: unknown, field: 'input_tokens' | 'output_tokens'): number {
  if (isInteger(value) && value >= 0 && value <= tokensMax) return value;
  const rule = `must be an integer from 0 to ${tokensMax}`;
  throw unpriceable(field, rule, { type: 'integer', minimum: 0, maximum: tokensMax });
}

/** The number of items in a list field. A single string is one item, an omitted field none. */
export function readItems(input: Input, field: string): number {
  const value = ownField(input, field);
  if (value === undefined) return 0;
  if (Array.isArray(value)) return value.length;
  if (typeof value === 'string') return 1;
  throw unpriceable(field, 'must be a list, or one text', { type: 'array' });
}

/**
 * A field that a rule compares with the value `equals`. It must have the same type: an upstream may
 * read "true" or 1 as true, and the rule's extra would be free.
 */
export function readOption(input: Input, field: string, equals: unknown): unknown {
  const value = ownField(input, field);
  if (value === undefined || typeof value === typeof equals) return value;
  const type = typeof equals;
  throw unpriceable(field, `must be a ${type === 'string' ? 'text' : type}`, { type });
}

/** A ratio or a word such as "auto"; checked only if the price depends on pixels. */
export function readAspectRatio(input: Input): string | undefined {
  const value = input.aspect_ratio;
  if (value === undefined || typeof value === 'string') return value;
  throw unpriceable('aspect_ratio', 'must be a string such as "16:9"', { type: 'string' });
}

/**
 * Refuses an image larger than the service handles. `field`: the field that the caller can change.
 */
export function checkSize(size: Size, field: string): Size {
  if (size.width * size.height <= pixelsMax) return size;
  const rule = `asks for more than ${pixelsMax / 1e6} megapixels`;
  throw unpriceable(field, rule, { maximum_pixels: pixelsMax });
}

/** The row's max if it is stated in the unit `word`, but at most the service's own ceiling. */
export function limitOf(model: PricingRow, word: string, ceiling: number): number {
  const max = model.price.max;
  return max > 0 && model.max_unit === word ? Math.min(max, ceiling) : ceiling;
}

function readImageSize(value: unknown, strict: boolean): Size | undefined {
  const size = typeof value === 'string' ? sizeOf(value) : value;
  if (size === undefined && !strict) return undefined;
  if (isSize(size)) return checkSize({ width: size.width, height: size.height }, 'image_size');
  const rule =
    'must be {"width": W, "height": H} in whole pixels, "WxH", or one of ' +
    `${imageSizeNames.join(', ')}`;
  throw unpriceable('image_size', rule, { one_of: imageSizeNames, maximum_side: sideMax });
}

function readSides(input: Input, strict: boolean): Size | undefined {
  const { width, height } = input;
  if (width === undefined && height === undefined) return undefined;
  if (width !== undefined && !isSide(width)) throw badSide('width');
  if (height !== undefined && !isSide(height)) throw badSide('height');
  if (width !== undefined && height !== undefined) return checkSize({ width, height }, 'width');
  if (!strict) return undefined;
  const [missing, given] = width === undefined ? ['width', 'height'] : ['height', 'width'];
  throw unpriceable(missing!, `must be given with ${given}, in whole pixels`);
}

function badSide(field: string): ApiError {
  const rule = `must be an integer from 1 to ${sideMax}, in pixels`;
  return unpriceable(field, rule, { type: 'integer', minimum: 1, maximum: sideMax });
}

function isSize(value: unknown): value is Size {
  return isObject(value) && isSide(value.width) && isSide(value.height);
}

function isSide(value: unknown): value is number {
  return isInteger(value) && value >= 1 && value <= sideMax;
}

/** Safe integers only: above 2^53, several integers share one number. */
function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function ownField(input: Input, field: string): unknown {
  return Object.hasOwn(input, field) ? input[field] : undefined;
}
