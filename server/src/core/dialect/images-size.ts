import type { Model } from '../catalog/catalog.ts';
import { resolutions, type Resolution } from '../catalog/catalog.ts';
import { fits, optionsOf, takes } from '../catalog/model-fields.ts';
import { badField } from '../bad-request.ts';
import { imageSizeNames, pixelsOf, sizeOf, type Size } from '../price/size.ts';
import type { Json } from '../../lib/json.ts';
import { isOneOf } from '../../lib/records.ts';

/**
 * Translates `size` of OpenAI's Images into the fields by which a model takes a size. A model that
 * knows only ratios gets the nearest ratio, and the smallest resolution with at least as many
 * pixels.
 */

/** The relative difference that a ratio may have: 1792x1024 is 16:9 for a model that has no 7:4. */
const ratioTolerance = 0.02;

/** @throws ApiError `bad_request` if the model cannot make this size. */
export function sizeFields(value: unknown, model: Model): Json {
  const size = typeof value === 'string' && /^\d+x\d+$/.test(value) ? sizeOf(value) : undefined;
  if (size === undefined || size.width === 0 || size.height === 0)
    throw badField('size', 'auto or WIDTHxHEIGHT in pixels, such as 1024x1024');
  if (takes(model, 'width') && takes(model, 'height')) return sidesOf(size, model);
  if (takes(model, 'image_size'))
    return { image_size: chosen('image_size', imageSizes(size), model) };
  if (takes(model, 'size')) return { size: chosen('size', sizeTexts(size), model) };
  if (takes(model, 'aspect_ratio')) return ratioFields(size, model);
  if (model.upstreams.every(({ input_defaults }) => input_defaults.size === value)) return {};
  throw badField('size', `left out: ${model.id} makes images of one size`);
}

function sidesOf({ width, height }: Size, model: Model): Json {
  if (fits(model, 'width', width) && fits(model, 'height', height)) return { width, height };
  const { minimum = 1, maximum = 65_535, multipleOf = 1 } = optionsOf(model, 'width');
  throw badField(
    'size',
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

function chosen(field: string, forms: unknown[], model: Model): unknown {
  const form = forms.find((each) => fits(model, field, each));
  if (form !== undefined) return form;
  const sizes = optionsOf(model, field).values.map((each) => {
    const { width, height } = sizeOf(each.replace('*', 'x')) ?? { width: 0, height: 0 };
    return width === 0 ? each : `${width}x${height}`;
  });
  throw badField(
    'size',
    sizes.length === 0 ? `a size that ${model.id} can make` : `one of ${sizes.join(', ')}`,
  );
}

function ratioFields(size: Size, model: Model): Json {
  const aspect_ratio = ratioOf(size, model);
  if (!takes(model, 'resolution')) return { aspect_ratio };
  const offered = optionsOf(model, 'resolution').values.filter((each): each is Resolution =>
    isOneOf(resolutions, each),
  );
  const area = (name: Resolution) => {
    const { width, height } = pixelsOf(name);
    return width * height;
  };
  const [resolution] = offered
    .filter((name) => area(name) >= size.width * size.height)
    .sort((a, b) => area(a) - area(b));
  if (resolution !== undefined) return { aspect_ratio, resolution };
  if (offered.length === 0) return { aspect_ratio };
  const { width, height } = offered.map((name) => pixelsOf(name)).sort(byArea)[0]!;
  throw badField('size', `at most as large as ${width}x${height}`);
}

function byArea(a: Size, b: Size): number {
  return b.width * b.height - a.width * a.height;
}

function ratioOf({ width, height }: Size, model: Model): string {
  const divisor = commonDivisor(width, height);
  const exact = `${width / divisor}:${height / divisor}`;
  if (fits(model, 'aspect_ratio', exact)) return exact;
  const known = optionsOf(model, 'aspect_ratio').values.filter((each) => valueOf(each) > 0);
  const off = (ratio: string) => Math.abs(valueOf(ratio) / (width / height) - 1);
  const [nearest] = known.toSorted((a, b) => off(a) - off(b));
  if (nearest !== undefined && off(nearest) <= ratioTolerance) return nearest;
  throw badField('size', `of one of the aspect ratios ${known.join(', ')}`);
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** "16:9" → 1.77…; 0 for other texts, such as "auto". */
function valueOf(ratio: string): number {
  const [, width, height] = /^(\d{1,5}):(\d{1,5})$/.exec(ratio) ?? [];
  return width === undefined ? 0 : Number(width) / Number(height);
}
