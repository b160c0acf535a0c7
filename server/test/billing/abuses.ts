import type { Model } from '../../src/core/catalog/catalog.ts';
import { deliveredQuantity } from '../../src/core/price/delivered.ts';
import { isMediaField } from '../../src/core/catalog/media-input.ts';
import { upstreamInput, validateInput } from '../../src/core/catalog/model-input.ts';
import { charge, price } from '../../src/core/price/price.ts';
import type { Biller } from '../upstreams/fakes/kit.ts';
import { addedValue, billOrNull } from './bill.ts';

/** The ways in which a caller can use a media row, or abuse it. */

export type Input = Record<string, unknown>;
type Schema = Record<string, any>;

/** The caller's files, by the placeholder that an input has for each until it is uploaded. */
export interface Wares {
  png: string[];
  mp4: string[];
  wav: string[];
}

/** The fate of a request after its submit. */
export type Course = 'left alone' | 'cancelled' | 'timed out';

export interface Abuse {
  name: string;
  input: (row: Model, wares: Wares, biller: Biller, files: Map<string, Buffer>) => Input;
  course: Course;
  /** The service may refuse the input, which costs nobody anything. */
  refusable?: true;
}

export const abuses: readonly Abuse[] = [
  {
    name: 'as its example',
    input: (row, wares) => withWares(row.example, wares),
    course: 'left alone',
  },
  {
    name: 'most costly input, unknown fields',
    input: (row, wares, biller, files) => ({
      ...added(row),
      ...worstInput(row, wares, biller, files),
    }),
    course: 'left alone',
  },
  { name: 'most costly input', input: worstInput, course: 'left alone' },
  { name: 'only what it requires', input: leastInput, course: 'left alone' },
  { name: 'every field at its most', input: fullInput, course: 'left alone' },
  {
    name: 'longest prompt in a rare script',
    input: wordyInput,
    course: 'left alone',
    refusable: true,
  },
  { name: 'cancels', input: worstInput, course: 'cancelled' },
  { name: 'lets it time out', input: worstInput, course: 'timed out' },
];

/**
 * Fields with which vendors make more, or in another way. A row without such a field must not send
 * it.
 */
const costly = (
  'n num_outputs num_images num_samples batch_size batch_count max_images image_count samples ' +
  'quality size image_size resolution megapixels width height target_resolution upscale_mode ' +
  'upscale_factor scale scale_factor duration seconds video_length length num_frames fps ' +
  'frames_per_second frame_rate steps num_inference_steps go_fast speed_mode turbo ' +
  'input_fidelity partial_images stream enable_web_search google_search web_search ' +
  'sequential_image_generation generate_audio audio sound loras lora_scale controlnets model ' +
  'version sync_mode priority expand_prompt enable_prompt_expansion multi_prompt shots ' +
  'num_videos safety_tolerance disable_safety_checker webhook output_quality'
).split(' ');

function added(row: Model): Input {
  const known = propertiesOf(row);
  const fields = costly.filter((field) => !Object.hasOwn(known, field));
  // The service refuses these fields in a wrong type, because it prices by them.
  const own = new Set(['num_images', 'image_size', 'resolution', 'width', 'height']);
  return Object.fromEntries(
    fields.filter((each) => !own.has(each)).map((each) => [each, addedValue]),
  );
}

/** A character of four bytes, each a token. */
const rare = '\u{13000}';
const wordy = 'x';

function propertiesOf({ input_schema }: Model): Record<string, Schema> {
  return (input_schema.properties ?? {}) as Record<string, Schema>;
}

/** Values to try for a field, the largest one last. */
function candidates(field: string, schema: Schema, wares: Wares): unknown[] {
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum) return schema.enum;
  if (schema.anyOf) return schema.anyOf.flatMap((each: Schema) => candidates(field, each, wares));
  switch (schema.type) {
    case 'boolean':
      return [false, true];
    case 'integer':
    case 'number':
      return [schema.minimum ?? 0, schema.default ?? schema.minimum ?? 1, schema.maximum ?? 1000];
    case 'array': {
      const items = candidates(field, schema.items, wares);
      const most = (each: unknown) => Array.from({ length: schema.maxItems ?? 4 }, () => each);
      return [...items.map((each) => [each]), ...items.map(most)];
    }
    case 'object':
      return objects(schema, wares);
    default:
      return isMediaField(field) ? waresFor(field, wares) : texts(schema);
  }
}

function objects({ properties = {} }: Schema, wares: Wares): Input[] {
  const fields = Object.entries(properties as Record<string, Schema>);
  const at = (pick: number) =>
    Object.fromEntries(
      fields.map(([name, schema]) => [name, candidates(name, schema, wares).at(pick)]),
    );
  return [at(0), at(-1)];
}

/** Texts of growing length, because a row may limit a text by more than its characters. */
function texts({ minLength = 1, maxLength = 4_000 }: Schema): string[] {
  const lengths = Array.from({ length: 8 }, (_, i) => Math.floor(maxLength / 2 ** i)).reverse();
  const long = lengths.filter((length) => length >= minLength).map((length) => rare.repeat(length));
  return [wordy.repeat(Math.max(1, minLength)), wordy.repeat(maxLength), ...long];
}

function waresFor(field: string, wares: Wares): string[] {
  if (field.startsWith('audio')) return wares.wav;
  return field.startsWith('video') ? wares.mp4 : wares.png;
}

function withWares(input: Input, wares: Wares): Input {
  const entries = Object.entries(input).map(([field, value]) => {
    if (!isMediaField(field)) return [field, value];
    const [first] = waresFor(field, wares);
    return [field, Array.isArray(value) ? value.map(() => first) : first];
  });
  return Object.fromEntries(entries);
}

function leastInput(row: Model, wares: Wares): Input {
  const required = (row.input_schema.required ?? []) as string[];
  const known = Object.entries(withWares(row.example, wares));
  return Object.fromEntries(known.filter(([field]) => required.includes(field)));
}

/** The prompt has as many characters as its schema allows, even if another limit is lower. */
function wordyInput(row: Model, wares: Wares): Input {
  const { prompt } = propertiesOf(row);
  const input = withWares(row.example, wares);
  return prompt ? { ...input, prompt: rare.repeat(prompt.maxLength ?? 4_000) } : input;
}

/** The largest value of each field with which row and vendor take the whole input. */
function fullInput(row: Model, wares: Wares, biller: Biller, files: Map<string, Buffer>): Input {
  let input = leastInput(row, wares);
  for (const [field, schema] of Object.entries(propertiesOf(row))) {
    const largest = candidates(field, schema, wares)
      .map((value) => ({ ...input, [field]: value }))
      .findLast((each) => isTaken(row, each) && ratioOf(row, each, biller, files) < Infinity);
    input = largest ?? input;
  }
  return input;
}

/** The input at which the vendor takes most for each dollar that the caller pays. */
function worstInput(row: Model, wares: Wares, biller: Biller, files: Map<string, Buffer>): Input {
  const ratio = (input: Input) => ratioOf(row, input, biller, files);
  let worst = leastInput(row, wares);
  for (let pass = 0; pass < 2; pass++) {
    for (const [field, schema] of Object.entries(propertiesOf(row))) {
      for (const value of candidates(field, schema, wares)) {
        const next = { ...worst, [field]: value };
        if (isTaken(row, next) && ratio(next) < ratio(worst)) worst = next;
      }
    }
  }
  return worst;
}

function isTaken(row: Model, input: Input): boolean {
  try {
    price(row, input);
  } catch {
    return false;
  }
  return validateInput(row, input) === null;
}

/** The charge for each dollar of cost, without a service: it only chooses an input. */
function ratioOf(row: Model, input: Input, biller: Biller, files: Map<string, Buffer>): number {
  const quote = price(row, input);
  const [route] = row.upstreams as [Model['upstreams'][0]];
  const sent = upstreamInput(row, route, input, quote.assumptions);
  const bill = billOrNull(() => biller({ model: route.model, input: sent }, files));
  if (bill === null) return Infinity;
  const { usd, made } = bill;
  const outputs = made.map(({ kind, width = 1024, height = 1024, seconds = null }) => ({
    field: kind === 'mp4' ? 'video' : 'images',
    content_type: { png: 'image/png', mp4: 'video/mp4', svg: 'image/svg+xml' }[kind],
    width,
    height,
    duration_seconds: seconds,
  }));
  const sold = { unit: quote.unit, task: row.task };
  const quantity = deliveredQuantity(sold, outputs, quote.quantity);
  return Number(charge(quote, quantity === null ? {} : { quantity })) / (usd * 1e6);
}
