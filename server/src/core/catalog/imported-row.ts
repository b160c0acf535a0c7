/** A row of the catalog made from what an upstream tells of a model. Pure. */

import type { Unit } from './catalog.ts';
import { parseCatalogFile } from './catalog-file.ts';
import { importInput } from './imported-input.ts';
import type { ImportedInput } from './imported-input.ts';
import type { ListedPrice } from './listed-price.ts';
import { divideUp, formatUsd } from '../price/money.ts';
import type { Fraction } from '../price/money.ts';
import type { ChatOffer, MediaOffer, Offer } from './offer.ts';

type Json = Record<string, unknown>;

export interface ImportedRow {
  /** As it stands in a catalog file. */
  row: Json;
  /** What a reader should know of it, a line each. */
  notes: string[];
  /** It has no price yet, and so is no row before its reader gives one. */
  unpriced: boolean;
}

export interface ImportTerms {
  upstream: string;
  /** Put before the upstream's own name. */
  prefix: string;
  /** What is added to the cost, in percent. */
  margin: Fraction;
  /** What one unit is sold for where its upstream tells no price, micro-USD; null: not said. */
  price: bigint | null;
  /** Who tells the prices, and the day: goes into each row's comment. */
  source: string;
  /** That day, 2026-11-22. */
  day: string;
}

const idForm = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*){0,7}$/;
const nameMax = 200;
const descriptionMax = 600;
/** What an unpriced row is tried with. */
const trialPrice = '1';

/** The row, or why there can be none, in words. */
export function importRow(offer: Offer, terms: ImportTerms): ImportedRow | string {
  const id = terms.prefix + offer.id;
  if (!idForm.test(id) || id.length > 128) return 'its name cannot be an id of a row';
  const made = offer.kind === 'text' ? chatRow(offer, id, terms) : mediaRow(offer, id, terms);
  if (typeof made === 'string') return made;
  const problem = problemOf(made, terms.upstream);
  return problem === null ? made : `no row came of it: ${problem}`;
}

function head(offer: Offer, id: string, task: string, { day }: ImportTerms): Json {
  const name = plain(offer.name, nameMax);
  const description = plain(offer.description, descriptionMax);
  return {
    id,
    kind: offer.kind,
    task,
    name: name === '' ? offer.model : name,
    ...(description !== '' && { description }),
    checked_on: day,
  };
}

function chatRow(offer: ChatOffer, id: string, terms: ImportTerms): ImportedRow | string {
  const { price, model, context_tokens, is_cut, max_output_tokens } = offer;
  if (price === null || price.cost_output === null) return 'no price is told for it';
  const { cost, cost_output } = price;
  const usd = {
    input_usd: withMargin(cost, terms.margin),
    output_usd: withMargin(cost_output, terms.margin),
  };
  const row = {
    ...head(offer, id, 'chat', terms),
    price: { unit: '1M tokens', ...usd },
    cost_input_usd: roundedUp(cost),
    cost_output_usd: roundedUp(cost_output),
    context_tokens,
    ...(is_cut && { refuse_longer_prompts: true }),
    max_output_tokens,
    // No list says whether a model thinks unseen.
    hidden_tokens: true,
    upstream_model: model,
  };
  return { row, notes: [`Cost: ${terms.source}.`, ...offer.notes], unpriced: false };
}

function mediaRow(offer: MediaOffer, id: string, terms: ImportTerms): ImportedRow | string {
  const priced = offer.price === null ? 'none' : unitFor(offer, offer.price);
  if (priced === null)
    return `it is priced by ${plain(offer.price!.counted, 50)}, by which no row is`;
  const { price } = offer;
  // Nobody works for nothing: it only is not told.
  if (price !== null && price.cost.n === 0n) return 'its price is told as 0';
  const known = price !== null && priced !== 'none';
  const input = known ? importInput(offer.input_schema, priced) : openInput(offer);
  if (typeof input === 'string') return input;
  const unit = known ? rowUnit(priced) : unitOfInput(offer, input);
  const sold = known
    ? withMargin(price.cost, terms.margin)
    : terms.price === null
      ? trialPrice
      : formatUsd(terms.price);
  const { input_schema, input_mapping, example, max } = input;
  const row = {
    ...head(offer, id, offer.task, terms),
    price: { unit, usd: sold },
    ...(max > 0 && { max }),
    ...(known && { cost_usd: roundedUp(price.cost) }),
    upstream_model: offer.model,
    ...(Object.keys(input_mapping).length > 0 && { input_mapping }),
    input_schema,
    example,
  };
  const unpriced = !known && terms.price === null;
  return { row, notes: notesOf(offer, input, terms, known), unpriced };
}

function notesOf(offer: MediaOffer, input: ImportedInput, terms: ImportTerms, known: boolean) {
  const notes = known
    ? [`Cost: ${exact(offer.price!)}, ${terms.source}.`]
    : [`Cost: not told by ${terms.source}; see the model's page, and add cost_usd.`];
  if (input.left.length > 0)
    notes.push(
      `Left to the model's defaults: ${input.left.map((name) => plain(name, 100)).join(', ')}.`,
    );
  return notes;
}

/** The unit of the price where it goes with what comes out. */
function unitFor({ kind }: MediaOffer, { unit }: ListedPrice): Unit | null {
  const allowed: Record<MediaOffer['kind'], readonly (Unit | null)[]> = {
    image: ['image', 'request', 'MP'],
    video: ['sec', 'request'],
  };
  return allowed[kind].includes(unit) ? unit : null;
}

/** Megapixels are billed whole, and the sizes of a row have one at most. */
function rowUnit(unit: Unit): Unit {
  return unit === 'MP' ? 'image' : unit;
}

/** Nobody says what is counted: images by the piece, films by the second where they tell one. */
function openInput(offer: MediaOffer): ImportedInput | string {
  if (offer.kind === 'image') return importInput(offer.input_schema, 'image');
  const bySecond = importInput(offer.input_schema, 'sec');
  return typeof bySecond === 'string' ? importInput(offer.input_schema, 'request') : bySecond;
}

function unitOfInput({ kind }: MediaOffer, { input_schema }: ImportedInput): Unit {
  if (kind === 'image') return 'image';
  return Object.hasOwn(input_schema.properties as Json, 'duration_seconds') ? 'sec' : 'request';
}

/** As `catalog check` would see it in a file of its own. */
function problemOf({ row }: ImportedRow, upstream: string): string | null {
  const { problems } = parseCatalogFile({ upstream, models: [row] }, '');
  return problems[0]?.message.replace(/\.$/, '') ?? null;
}

function withMargin({ n, d }: Fraction, margin: Fraction): string {
  const hundred = 100n * margin.d;
  return formatUsd(divideUp(n * (hundred + margin.n), d * hundred));
}

function roundedUp({ n, d }: Fraction): string {
  return formatUsd(divideUp(n, d));
}

/** `0.025 USD for one of megapixels`. */
function exact({ cost, counted }: ListedPrice): string {
  return `${roundedUp(cost)} USD, counted in ${plain(counted, 50)}`;
}

/** On one line, with nothing in it that is no text. */
export function plain(text: string, max: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line;
}
