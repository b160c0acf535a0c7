/** Makes catalog rows from a vendor's list. Pure. */

import type { Unit } from '../../server/src/core/catalog/catalog.ts';
import { parseCatalogFile } from '../../server/src/core/catalog/catalog-file.ts';
import { divideUp, formatUsd, type Fraction } from '../../server/src/core/price/money.ts';
import { objectOf } from '../../server/src/lib/json.ts';
import { importInput, type ImportedInput } from './input.ts';
import type { FoundModel, Json, Offer, Terms } from './vendor.ts';

const nameMax = 200;
const descriptionMax = 600;
/** The price that is filled in to check an unpriced row. */
const trialPrice = '1';

/** The units of a price that fit the kind of output. */
const unitsOf: Record<Offer['kind'], readonly (Unit | null)[]> = {
  image: ['image', 'request', 'MP'],
  video: ['sec', 'request'],
};

/** Fields that every row has. */
export function headOf(
  offer: Pick<Offer, 'model' | 'id' | 'task' | 'name' | 'description'> & { kind: string },
  { day }: Terms,
): Json {
  const description = plain(offer.description, descriptionMax);
  return {
    id: offer.id,
    kind: offer.kind,
    task: offer.task,
    name: plain(offer.name, nameMax) || offer.model,
    ...(description !== '' && { description }),
    checked_on: day,
  };
}

/** The row of an image or video model, or why there is none. */
export function mediaRow(offer: Offer, terms: Terms): FoundModel {
  const { model, price } = offer;
  const leftOut = (reason: string) => ({ model, reason });
  if (price !== null && !unitsOf[offer.kind].includes(price.unit))
    return leftOut(`it is priced by ${plain(offer.counted, 50)}, a unit that rows do not have`);
  if (price?.cost.n === 0n) return leftOut('its price is listed as 0');
  const input = price ? importInput(offer.input_schema, price.unit!) : unpricedInput(offer);
  if (typeof input === 'string') return leftOut(input);
  const unpriced = price === null && terms.price === null;
  const given = terms.price === null ? trialPrice : formatUsd(terms.price);
  const { input_schema, input_mapping, example, max } = input;
  const row = {
    ...headOf(offer, terms),
    price: {
      unit: price ? rowUnit(price.unit!) : unitOf(offer, input),
      usd: price ? withMargin(price.cost, terms.margin) : given,
    },
    ...(max > 0 && { max }),
    ...(price && { cost_usd: roundedUp(price.cost) }),
    upstream_model: model,
    ...(Object.keys(input_mapping).length > 0 && { input_mapping }),
    input_schema,
    example,
  };
  return { model, row: { row, notes: notesOf(offer, input, terms), unpriced } };
}

function notesOf({ price, counted }: Offer, { left }: ImportedInput, { source }: Terms): string[] {
  const cost = price
    ? `Cost: ${roundedUp(price.cost)} USD, counted in ${plain(counted, 50)}, ${source}.`
    : `Cost: not listed by ${source}; see the model's page, and add cost_usd.`;
  if (left.length === 0) return [cost];
  return [
    cost,
    `Left to the model's defaults: ${left.map((name) => plain(name, 100)).join(', ')}.`,
  ];
}

/**
 * Megapixels become images, because megapixels are billed whole and a row's sizes have at most one.
 */
function rowUnit(unit: Unit): Unit {
  return unit === 'MP' ? 'image' : unit;
}

/**
 * The input of a row without a listed price: images are priced each, videos by the second if the
 * input has a duration.
 */
function unpricedInput(offer: Offer): ImportedInput | string {
  if (offer.kind === 'image') return importInput(offer.input_schema, 'image');
  const bySecond = importInput(offer.input_schema, 'sec');
  return typeof bySecond === 'string' ? importInput(offer.input_schema, 'request') : bySecond;
}

function unitOf({ kind }: Offer, { input_schema }: ImportedInput): Unit {
  if (kind === 'image') return 'image';
  return 'duration_seconds' in objectOf(input_schema.properties) ? 'sec' : 'request';
}

/** The problem that `catalog check` would report for the row in its own file, or null. */
export function problemOf(row: Json, upstream: string): string | null {
  const { problems } = parseCatalogFile({ upstream, models: [row] }, '');
  return problems[0]?.message.replace(/\.$/, '') ?? null;
}

export function withMargin({ n, d }: Fraction, margin: Fraction): string {
  const hundred = 100n * margin.d;
  return formatUsd(divideUp(n * (hundred + margin.n), d * hundred));
}

export function roundedUp({ n, d }: Fraction): string {
  return formatUsd(divideUp(n, d));
}

/** The text on one line, without control characters. */
export function plain(text: string, max: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line;
}
