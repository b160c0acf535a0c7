/**
 * Checks that a request with omitted fields runs as it was priced. An omitted field is sent with
 * the value that the quote assumed, or with the schema's default. So a default must not ask for
 * more than the price covers, and the model must accept the assumed values. Pure.
 */

import { isObject, itemsOf, objectOf } from '../../lib/json.ts';
import { isOneOf } from '../../lib/records.ts';
import type { Model } from './catalog.ts';
import type { RowFault } from './catalog-words.ts';
import { upstreamInput, validateInput } from './model-input.ts';
import { price } from '../price/price.ts';
import { costliest, offeredResolutions, ratesByResolution } from '../price/rates.ts';

type Schema = Record<string, unknown>;
type Check = (field: string, fits: (value: unknown) => boolean, allowed: string) => void;

/**
 * A size can be given in several ways. A default for one of them would override the size that a
 * caller gives in another way.
 */
const sizeFields = ['image_size', 'width', 'height'];

/** Defaults in the schema that would ask for something other than what is priced. */
export function defaultFaults(model: Model): RowFault[] {
  const { price: rules, input_schema } = model;
  const faults: RowFault[] = [];
  const check: Check = (field, fits, allowed) => {
    const value = propertyOf(input_schema, field)?.default;
    if (value === undefined || fits(value)) return;
    const message =
      `the default of ${field} in input_schema must be ${allowed}; ` +
      'otherwise a request without the field asks for something other than what is priced.';
    faults.push({ path: `/input_schema/properties/${field}/default`, message });
  };
  if (rules.unit === 'sec') {
    // A shorter default than the reserved length is fine, because the delivered seconds are
    // charged.
    const seconds = rules.max > 0 ? Math.min(5, rules.max) : 5;
    const fits = (value: unknown) => typeof value === 'number' && value > 0 && value <= seconds;
    check('duration_seconds', fits, `at most ${seconds}`);
  }
  if (rules.unit === 'image' || rules.unit === 'MP')
    check('num_images', (value) => value === 1, '1');
  if (rules.unit === 'MP') {
    for (const field of sizeFields) check(field, () => false, 'left out');
    check('aspect_ratio', (value) => isNoWider(model, value), 'no wider than 16:9');
  }
  checkResolution(model, check);
  for (const extra of rules.extras) {
    if (extra.kind !== 'per_item') continue;
    const fits = (value: unknown) => Array.isArray(value) && value.length <= extra.free;
    check(extra.field, fits, `a list of at most ${extra.free}`);
  }
  return faults;
}

function checkResolution({ price: rules }: Model, check: Check): void {
  const offered = offeredResolutions(rules);
  const top = costliest(rules);
  if (top === undefined) return;
  // If megapixels are priced, other fields also decide which resolution costs most.
  if (rules.unit === 'MP' && offered.length > 1)
    return check('resolution', () => false, 'left out');
  // If several cost the same, the quote assumes the first offered one.
  if (rules.by_resolution) check('resolution', (value) => value === top, `${top}, or left out`);
  else {
    const fits = (value: unknown) => isOneOf(offered, value);
    check('resolution', fits, `one of ${offered.join(', ')}`);
  }
}

function isNoWider(model: Model, aspect_ratio: unknown): boolean {
  if (typeof aspect_ratio !== 'string') return false;
  if (offeredResolutions(model.price).length === 0) return true;
  return price(model, { aspect_ratio }).price_usd_micro <= price(model, {}).price_usd_micro;
}

/**
 * Faults in the values that the quote assumes for fields without a default. The row's example must
 * have a price.
 */
export function omissionFaults(model: Model): RowFault[] {
  const { price: rules, input_schema, example, kind } = model;
  if (kind === 'text') return [];
  if (ratesByResolution(rules) && !propertyOf(input_schema, 'resolution')) {
    const message =
      'the price differs by resolution, but input_schema.properties has no resolution; the ' +
      'output could have another resolution than the one that is reserved.';
    return [{ path: '/input_schema/properties', message }];
  }
  const required = itemsOf(input_schema.required);
  const least = Object.entries(example).filter(([name]) => required.includes(name));
  const bare = Object.fromEntries(least);
  // An input without a size may have no price; then nothing is assumed.
  const assumptions = assumedFor(model, bare);
  const sent = upstreamInput(model, { input_mapping: {}, input_defaults: {} }, bare, assumptions);
  return (validateInput(model, sent) ?? []).flatMap(({ path, message }): RowFault[] => {
    const field = path.slice(1);
    if (!Object.hasOwn(assumptions, field)) return [];
    const said =
      `a request without ${field} is priced and sent with ${JSON.stringify(sent[field])}, ` +
      `which ${message}; give ${field} a default, or require it.`;
    return [{ path: `/input_schema/properties/${field}`, message: said }];
  });
}

function assumedFor(model: Model, input: Record<string, unknown>): Record<string, unknown> {
  try {
    return price(model, input).assumptions;
  } catch {
    return {};
  }
}

export function propertyOf(schema: Schema, field: string): Schema | undefined {
  const properties = objectOf(schema.properties);
  const property = Object.hasOwn(properties, field) ? properties[field] : undefined;
  return isObject(property) ? property : undefined;
}
