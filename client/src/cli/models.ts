import { formatUsd, parseUsd, type Model } from '../index.ts';
import { fieldOf } from '../unknown.ts';
import { open } from './account.ts';
import { exits, Stop } from './exits.ts';
import type { Context } from './verb.ts';
import {
  columnsOf,
  jsonOf,
  oneLine,
  paint,
  plain,
  print,
  printFields,
  printJson,
  printTable,
  remark,
  wrap,
} from './terminal/terminal.ts';
import { schemaOf, type Schema } from './jobs/input.ts';

export async function models(
  { json, quiet }: Context,
  words: string[],
  { kind }: { kind?: string },
): Promise<void> {
  const all = await open({ quiet }).models.list();
  const wanted = words.map((word) => word.toLowerCase());
  const found = all.filter((model) => {
    const text = `${model.id} ${model.name} ${model.task} ${model.description}`.toLowerCase();
    return (!kind || model.kind === kind) && wanted.every((word) => text.includes(word));
  });
  if (json) for (const model of found) printJson(model);
  else if (found.length > 0)
    printTable(
      ['MODEL', 'KIND', 'PRICE'],
      found.map((model) => [model.id, model.kind, priceText(model)]),
    );
  if (found.length > 0) return;
  const none = 'No model matches. `fare models` lists all of them.';
  remark(false, all.length === 0 ? 'The service offers no models.' : none);
}

/** One model. Throws with similar ids if it is unknown. */
export async function findModel({ quiet }: Context, id: string): Promise<Model> {
  const client = open({ quiet });
  try {
    return await client.models.get(id);
  } catch (error) {
    if (fieldOf(error, 'status') !== 404) throw error;
    const all = await client.models.list();
    throw new Stop(
      exits.usage,
      'unknown_model',
      `There is no model ${id}.`,
      didYouMean(id, all, '`fare models` lists the ids.'),
      { param: 'model_id' },
    );
  }
}

/** A question that names similar ids, or `otherwise` if there are none. */
export function didYouMean(wanted: string, models: Model[], otherwise: string): string {
  const ids = models.map(({ id }) => id);
  const near = nearest(wanted, ids);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : otherwise;
}

/** The largest share of the typed text that may be wrong. */
const slipMost = 0.34;

export function nearest(wanted: string, ids: string[]): string[] {
  const text = wanted.toLowerCase();
  return ids
    .map((id) => ({ id, slip: id.includes(text) ? 0 : distance(text, id) / text.length }))
    .filter(({ slip }) => slip <= slipMost)
    .sort((a, b) => a.slip - b.slip || a.id.length - b.id.length)
    .slice(0, 3)
    .map(({ id }) => id);
}

/** The number of characters to change, add or leave out to make `typed` the beginning of `id`. */
function distance(typed: string, id: string): number {
  let row = Array.from({ length: id.length + 1 }, (_, at) => at);
  for (let i = 1; i <= typed.length; i++) {
    const next = [i];
    for (let j = 1; j <= id.length; j++) {
      const change = row[j - 1]! + (typed[i - 1] === id[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return Math.min(...row);
}

export async function model(context: Context, id: string): Promise<void> {
  const found = await findModel(context, id);
  if (context.json) return printJson(found);
  print(`${paint(process.stdout, 'bold', oneLine(found.name))}  ${oneLine(found.id)}`);
  for (const line of wrap(oneLine(found.description), columnsOf(process.stdout))) print(line);
  print('');
  printFields([
    ['task', `${found.task} (${found.kind})`],
    ['price', priceText(found)],
    ['', resolutionPrices(found)],
    ['extras', found.extras.map((extra) => extraText(extra)).join('; ')],
    ['at most', found.max === 0 ? 'no maximum is stated' : `${found.max} ${found.max_unit}`],
    ['context', found.context_tokens === undefined ? null : `${found.context_tokens} tokens`],
    ['filter', found.uncensored ? 'none: uncensored' : null],
  ]);
  print('');
  printTable(['INPUT', 'TYPE', 'DEFAULT', 'WHAT'], inputRows(found));
  print('');
  print(paint(process.stdout, 'dim', 'Example:'));
  print(plain(exampleCall(found)));
  if (found.kind !== 'text') return;
  print(paint(process.stdout, 'dim', 'To get the price of a number of input and output tokens:'));
  print(plain(priceCall(found)));
}

const perUnit: Record<string, string> = {
  sec: 'a second',
  image: 'an image',
  request: 'a request',
  MP: 'a megapixel',
};

/** A price of the catalog, which is a plain number, without an exponent. */
function usdText(price: number): string {
  return formatUsd(parseUsd(price.toFixed(6)));
}

export function priceText({ price, unit, price_by_resolution }: Model): string {
  if (typeof price === 'object') {
    const { input, output, cached_input, cache_write } = price;
    const read = cached_input === undefined ? '' : `, ${usdText(cached_input)} from cache`;
    const written = cache_write === undefined ? '' : `, ${usdText(cache_write)} to cache`;
    return `${usdText(input)} in${read}${written}, ${usdText(output)} out per 1M tokens`;
  }
  const rates = Object.values(price_by_resolution ?? {});
  const least = rates.length > 0 ? Math.min(...rates) : price;
  const range = least < price ? `${usdText(least)} to ${usdText(price)}` : usdText(price);
  return `${range} ${perUnit[unit] ?? `per ${unit}`}`;
}

function resolutionPrices({ price_by_resolution = {} }: Model): string {
  return Object.entries(price_by_resolution)
    .map(([resolution, price]) => `${resolution}: ${usdText(price)}`)
    .join(', ');
}

function extraText({ label, field, add_usd, per_item, free, equals }: Model['extras'][number]) {
  const each = per_item ? ` for each of ${field}${free ? ` after the first ${free}` : ''}` : '';
  const when = equals === undefined ? '' : ` if ${field} is ${String(equals)}`;
  return `${label}: ${usdText(add_usd)} more a unit${each}${when}`;
}

function inputRows(model: Model): string[][] {
  const { properties = {}, required = [] } = schemaOf(model);
  return Object.entries(properties).map(([name, field]) => [
    required.includes(name) ? `${name} *` : name,
    typeText(field),
    required.includes(name) ? 'needed' : field.default === undefined ? '' : jsonOf(field.default),
    field.description ?? '',
  ]);
}

function typeText(field: Schema): string {
  if (field.enum) return field.enum.map(String).join('|');
  const parts = [...(field.anyOf ?? []), ...(field.oneOf ?? [])];
  if (parts.length > 0)
    return [...new Set(parts.map((part) => [part.type ?? 'string'].flat()[0]))].join('|');
  if (field.type === 'array') return `list of ${field.items ? typeText(field.items) : 'any'}`;
  const { minimum, maximum } = field;
  const bounds =
    minimum !== undefined && maximum !== undefined
      ? ` ${minimum} to ${maximum}`
      : minimum !== undefined
        ? ` from ${minimum}`
        : maximum !== undefined
          ? ` to ${maximum}`
          : '';
  return `${[field.type ?? 'any'].flat().join('|')}${bounds}`;
}

/** The catalog's own example, as a command to paste. */
export function exampleCall({ id, kind, example }: Model): string {
  if (kind === 'text') return `fare chat ${id} "Hello"`;
  const { prompt, ...rest } = example;
  const parts = Object.entries(rest).map(([name, value]) =>
    quoted(`${name}=${typeof value === 'string' ? value : jsonOf(value)}`),
  );
  if (prompt !== undefined) parts.unshift(`--prompt ${quoted(String(prompt))}`);
  return ['fare run', id, ...parts].join(' ');
}

/** A command that asks for a text model's price by tokens. */
export function priceCall({ id }: Model): string {
  return `fare price ${quoted(id)} input_tokens=1000 output_tokens=500`;
}

export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
