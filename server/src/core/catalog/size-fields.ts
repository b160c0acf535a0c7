import type { ApiError } from '../errors.ts';
import { resolutions, type Model, type Resolution } from './catalog.ts';
import { acceptsValue, optionsOf, hasField } from './model-fields.ts';
import { imageSizeNames, pixelsOf, sizeOf, type Size } from '../price/size.ts';
import type { Json } from '../../lib/json.ts';
import { isOneOf } from '../../lib/records.ts';

/**
 * Translates a size in pixels into the fields by which a model takes a size. A model that knows
 * only ratios gets the nearest ratio, and the smallest resolution with at least as many pixels.
 */

/** The relative difference that a ratio may have: 1792x1024 is 16:9 for a model that has no 7:4. */
const ratioTolerance = 0.02;

/** Makes the error for a size; `allowed` says what the model can make. */
export type Refuse = (allowed: string) => ApiError;

/** Null if the model takes no size. Throws what `refuse` makes if it cannot make this size. */
export function sizeFields(size: Size, model: Model, refuse: Refuse): Json | null {
  if (hasField(model, 'width') && hasField(model, 'height')) return sidesOf(size, model, refuse);
  if (hasField(model, 'image_size'))
    return { image_size: chosen('image_size', imageSizes(size), model, refuse) };
  if (hasField(model, 'size')) return { size: chosen('size', sizeTexts(size), model, refuse) };
  const fields = {
    ...(hasField(model, 'aspect_ratio') && { aspect_ratio: ratioOf(size, model, refuse) }),
    ...(hasField(model, 'resolution') && resolutionFor(size, model, refuse)),
  };
  return Object.keys(fields).length === 0 ? null : fields;
}

function sidesOf({ width, height }: Size, model: Model, refuse: Refuse): Json {
  if (acceptsValue(model, 'width', width) && acceptsValue(model, 'height', height))
    return { width, height };
  const { minimum = 1, maximum = 65_535, multipleOf = 1 } = optionsOf(model, 'width');
  throw refuse(
    `WIDTHxHEIGHT with sides from ${minimum} to ${maximum} pixels in steps of ${multipleOf}`,
  );
}

const sizeTexts = ({ width, height }: Size) => [`${width}x${height}`, `${width}*${height}`];

/**
 * The forms of `image_size` for these pixels. A name comes first, because every model with
 * `image_size` knows the names.
 */
function imageSizes({ width, height }: Size): unknown[] {
  const names = imageSizeNames.filter((name) => {
    const named = sizeOf(name)!;
    return named.width === width && named.height === height;
  });
  return [...names, { width, height }, `${width}x${height}`];
}

function chosen(field: string, forms: unknown[], model: Model, refuse: Refuse): unknown {
  const form = forms.find((each) => acceptsValue(model, field, each));
  if (form !== undefined) return form;
  const sizes = optionsOf(model, field).values.map((each) => {
    const { width, height } = sizeOf(each.replace('*', 'x')) ?? { width: 0, height: 0 };
    return width === 0 ? each : `${width}x${height}`;
  });
  throw refuse(
    sizes.length === 0 ? `a size that ${model.id} can make` : `one of ${sizes.join(', ')}`,
  );
}

/** Empty if the model lists no resolutions. */
function resolutionFor(size: Size, model: Model, refuse: Refuse): { resolution?: Resolution } {
  const offered = optionsOf(model, 'resolution').values.filter((each): each is Resolution =>
    isOneOf(resolutions, each),
  );
  if (offered.length === 0) return {};
  const area = (name: Resolution) => {
    const { width, height } = pixelsOf(name);
    return width * height;
  };
  const [resolution] = offered
    .filter((name) => area(name) >= size.width * size.height)
    .sort((a, b) => area(a) - area(b));
  if (resolution !== undefined) return { resolution };
  const { width, height } = offered.map((name) => pixelsOf(name)).sort(byArea)[0]!;
  throw refuse(
    `at most as large as ${width}x${height}; resolution is one of ${offered.join(', ')}`,
  );
}

function byArea(a: Size, b: Size): number {
  return b.width * b.height - a.width * a.height;
}

function ratioOf({ width, height }: Size, model: Model, refuse: Refuse): string {
  const divisor = commonDivisor(width, height);
  const exact = `${width / divisor}:${height / divisor}`;
  if (acceptsValue(model, 'aspect_ratio', exact)) return exact;
  const known = optionsOf(model, 'aspect_ratio').values.filter((each) => valueOf(each) > 0);
  const off = (ratio: string) => Math.abs(valueOf(ratio) / (width / height) - 1);
  const [nearest] = known.toSorted((a, b) => off(a) - off(b));
  if (nearest !== undefined && off(nearest) <= ratioTolerance) return nearest;
  throw refuse(`of one of the aspect ratios ${known.join(', ')}`);
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** "16:9" → 1.77…; 0 for other texts, such as "auto". */
function valueOf(ratio: string): number {
  const [, width, height] = /^(\d{1,5}):(\d{1,5})$/.exec(ratio) ?? [];
  return width === undefined ? 0 : Number(width) / Number(height);
}
