import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Model } from '../../core/catalog/catalog.ts';
import { requiredByChoice } from '../../core/catalog/input-choice.ts';
import type { Model as ModelSchema } from '../api/model-schema.ts';
import type { Static } from '../schemas/schema.ts';

type Entry = Static<typeof ModelSchema>;

/** The live catalog, one model per line. */
export function catalogLines(models: readonly Model[]): string {
  const head = 'id | kind | task | price | max of one request | resolutions | required input';
  return [head, '', ...models.map((model) => catalogLine(catalogEntry(model)))].join('\n');
}

function catalogLine(entry: Entry): string {
  const { id, kind, task, resolutions, uncensored, status, input_schema } = entry;
  const required = Array.isArray(input_schema.required) ? [...input_schema.required] : [];
  const choice = requiredByChoice(input_schema.anyOf ?? input_schema.oneOf);
  if (choice !== null) required.push(`(${choice.join(' or ')})`);
  const cells = [
    `- ${id}${uncensored ? ' [uncensored]' : ''}${status === 'stopped' ? ' [stopped]' : ''}`,
    kind,
    task,
    priceWords(entry),
    maxWords(entry),
    resolutions.length === 0 ? 'no choice' : resolutions.join(', '),
    required.length === 0 ? 'none' : required.join(', '),
  ];
  return cells.join(' | ');
}

export function maxWords({ max, max_unit, context_tokens, max_output_tokens }: Entry): string {
  if (context_tokens !== undefined)
    return `${grouped(context_tokens)} tokens in, ${grouped(max_output_tokens ?? 0)} tokens out`;
  return max === 0 ? 'none stated' : `${grouped(max)} ${max_unit}`;
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

export function priceWords({ price, unit, price_by_resolution: rates, extras }: Entry): string {
  if (typeof price === 'object') {
    const { input, output, cached_input, cache_write } = price;
    const parts = [
      `$${amount(input)} in`,
      ...(cached_input === undefined ? [] : [`$${amount(cached_input)} from cache`]),
      ...(cache_write === undefined ? [] : [`$${amount(cache_write)} to cache`]),
      `$${amount(output)} out`,
    ];
    return `${parts.join(', ')} per ${unit}`;
  }
  const more = extras.length === 0 ? '' : ' and extras';
  if (!rates) return `$${amount(price)} per ${unit}${more}`;
  const each = Object.entries(rates).map(([name, rate]) => `$${amount(rate)} at ${name}`);
  return `${each.join(', ')} per ${unit}${more}`;
}

/** Writes no exponent: 0.0000005 must not turn into 5e-7. */
function amount(usd: number): string {
  return usd.toFixed(6).replace(/\.?0+$/, '');
}
