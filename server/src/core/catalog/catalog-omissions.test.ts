/** That what is made, what is quoted and what is charged agree where a caller leaves fields out. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { isLong } from '../../../test/kit/long.ts';
import { parseCatalogFile } from './catalog-file.ts';
import type { Model } from './catalog.ts';
import { upstreamInput, validateInput } from './model-input.ts';
import { charge, price } from '../price/price.ts';

type Input = Record<string, unknown>;

const plain = { input_mapping: {}, input_defaults: {} };
const folder = new URL('../../../../catalog/', import.meta.url);

/** The charge for just what the upstream is asked for, and the price of asking for it by name. */
function outcome(model: Model, input: Input) {
  const quote = price(model, input);
  const made = upstreamInput(model, plain, input, quote.assumptions);
  const said = price(model, made);
  return { quote, made, said, charged: charge(quote, { quantity: said.quantity }) };
}

function agrees(model: Model, input: Input): void {
  const { quote, made, said, charged } = outcome(model, input);
  assert.equal(charged, said.price_usd_micro);
  assert.ok(charged <= quote.price_usd_micro);
  // Only a shorter default leaves something of the reservation: the law has it at 5 seconds.
  if (made.duration_seconds === (input.duration_seconds ?? quote.assumptions.duration_seconds))
    assert.equal(charged, quote.price_usd_micro);
}

describe('a request that leaves fields out', () => {
  const maybe = <T>(...values: T[]) => fc.constantFrom(undefined, ...values);
  const anyRow = fc.record({
    unit: fc.constantFrom('sec', 'image', 'request', 'MP'),
    rates: fc.constantFrom(['0.01', '0.02'], ['0.02', '0.01'], ['0.01', '0.01'], null),
    max: fc.constantFrom(0, 3),
    resolution: maybe('1k', '1080p'),
    num_images: maybe(1, 2),
    duration_seconds: maybe(2, 3, 5, 8),
    image_size: maybe('square', '4096x4096'),
    aspect_ratio: maybe('1:1', '32:9'),
    reference_image_urls: maybe<unknown>([], ['a'], ['a', 'b']),
    generate_audio: maybe(true, false),
  });
  const anyInput = fc.record(
    {
      resolution: fc.constantFrom('1k', '1080p'),
      num_images: fc.integer({ min: 1, max: 3 }),
      duration_seconds: fc.constantFrom(0.5, 2, 3),
      image_size: fc.constantFrom('square', 'landscape_16_9'),
      aspect_ratio: fc.constantFrom('9:16', '21:9'),
      reference_image_urls: fc.constantFrom(['a'], ['a', 'b', 'c']),
      generate_audio: fc.boolean(),
    },
    { requiredKeys: [] },
  );

  test('is made as it is quoted, or its row is refused', () => {
    const seen = { taken: 0, refused: 0 };
    const generated = fc.property(anyRow, fc.array(anyInput, { maxLength: 5 }), (form, inputs) => {
      const row = rowWith(form);
      if (row) for (const input of [{}, ...inputs]) agrees(row, input);
      seen[row ? 'taken' : 'refused'] += 1;
    });
    fc.assert(generated, { numRuns: isLong ? 2000 : 500 });
    assert.ok(seen.taken > 100 && seen.refused > 100, JSON.stringify(seen));
  });

  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    const content = parse(readFileSync(new URL(file, folder), 'utf8'), { merge: true });
    const media = parseCatalogFile(content, file).rows.filter(({ kind }) => kind !== 'text');
    if (media.length === 0) continue;
    test(`is made as it is quoted by every row of ${file}`, () => {
      for (const row of media) {
        const required = (row.input_schema.required ?? []) as string[];
        const optional = Object.keys(row.example).filter((name) => !required.includes(name));
        for (const left of [[], optional, ...optional.map((name) => [name])]) {
          const input = Object.fromEntries(
            Object.entries(row.example).filter(([name]) => !left.includes(name)),
          );
          agrees(row, input);
          const isTaken = validateInput(row, input) === null;
          const { made } = outcome(row, input);
          if (isTaken) assert.equal(validateInput(row, made), null, row.id);
        }
      }
    });
  }
});

/** A row whose schema has these defaults; null where the catalog's check refuses it. */
function rowWith(form: Input & { unit: string; rates: readonly string[] | null; max: number }) {
  const { unit, rates, max, ...defaults } = form;
  const isVideo = unit === 'sec';
  const price = rates
    ? { unit, usd_by_resolution: { '1k': rates[0], '1080p': rates[1] } }
    : { unit, usd: '0.03' };
  const properties = Object.entries(defaults).map(([name, value]) => {
    return [name, value === undefined ? {} : { default: value }];
  });
  const { rows } = parseCatalogFile(
    {
      upstream: 'any',
      models: [
        {
          id: 'example',
          name: 'Example',
          kind: isVideo ? 'video' : 'image',
          task: isVideo ? 'text-to-video' : 'text-to-image',
          price,
          max,
          resolutions: ['1k', '1080p'],
          extras: [
            { per_item: 'reference_image_urls', free: 1, add_usd: '0.002', label: 'references' },
            { when: 'generate_audio', equals: true, add_usd: '0.005', label: 'sound' },
          ],
          input_schema: { type: 'object', properties: Object.fromEntries(properties) },
          example: { resolution: '1k' },
        },
      ],
    },
    'any.yaml',
  );
  return rows[0] ?? null;
}
