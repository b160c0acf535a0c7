import {
  modalities,
  resolutions,
  tasks,
  type Kind,
  type Unit,
} from '../../core/catalog/catalog.ts';
import {
  anything,
  boolean,
  integer,
  list,
  microUsd,
  nullable,
  number,
  object,
  openObject,
  ref,
  text,
  url,
  type Schema,
} from './schema.ts';

/** What the catalog and its prices look like. */

const kinds = ['video', 'image', 'text'] satisfies Kind[];
const units = ['sec', 'image', 'request', 'MP', '1M tokens'] satisfies Unit[];

const scalar: Schema = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };

const modelFields: Record<string, Schema> = {
  id: text('Used exactly as it stands here, slashes and all.'),
  object: { type: 'string', enum: ['model'] },
  created: integer('When the row was added, unix seconds.'),
  owned_by: text('Whose model it is.'),
  name: text('For people.'),
  description: text('For people; may be empty.'),
  kind: ref('Kind'),
  task: { type: 'string', enum: [...tasks], description: 'What the model does.' },
  price: {
    description:
      'US dollars per unit, all-inclusive; where rates differ by resolution, the highest. Of a ' +
      'text model: per 1M tokens in and out. Shown for reading; reckon with POST /estimate.',
    anyOf: [
      { type: 'number' },
      object({
        input: number('Per 1M prompt tokens.'),
        output: number('Per 1M completion tokens.'),
      }),
    ],
  },
  unit: ref('Unit'),
  price_by_resolution: {
    type: 'object',
    description: 'US dollars per unit by resolution; only where they differ.',
    additionalProperties: { type: 'number' },
  },
  extras: list(ref('ModelExtra'), 'What adds to the price of a unit.'),
  max: integer('Longest duration or largest count of one request. 0: no maximum is stated.'),
  max_unit: text('What `max` counts, such as `seconds` or `images`.'),
  resolutions: list(ref('Resolution'), 'Values the input `resolution` may take; may be empty.'),
  uncensored: boolean('True: the model has no content filter.'),
  input_schema: anything('JSON Schema (2020-12) of the input.'),
  example: anything('An input that works.'),
  step: integer(
    'Only where it is so: quantities are rounded up to multiples of it, asked or delivered.',
  ),
  charged: {
    type: 'string',
    enum: ['asked'],
    description: 'Only where it is so: what was asked for is charged, also where less came.',
  },
  max_prompt_tokens: integer('Only where there is a limit: tokens of the field `prompt` at most.'),
  context_tokens: integer('Text models: prompt tokens at most.'),
  refuse_longer_prompts: {
    type: 'boolean',
    enum: [true],
    description:
      'Text models, only where it is so: a prompt that may have more than `context_tokens`, by the bound that is reserved, is refused.',
  },
  max_output_tokens: integer('Text models: completion tokens at most.'),
  image_tokens: integer('Text models: what is reserved for a picture in the prompt, in tokens.'),
  on_disconnect: {
    type: 'string',
    enum: ['finish', 'stop'],
    description:
      'Text models: what happens when the caller leaves. `finish`: the reply is read on to its end and charged whole. `stop`: the model stops, and what was delivered is charged.',
  },
  input_modalities: list(
    { type: 'string', enum: [...modalities] },
    'Text models: what a message may hold.',
  ),
};

const extraFields: Record<string, Schema> = {
  label: text('What is paid for.'),
  field: text('The input field that decides.'),
  add_usd: number('US dollars added to the price of one unit; with `per_item`, for each item.'),
  per_item: boolean('Counts the items of the field.'),
  free: integer('Items that add nothing.'),
  equals: { ...scalar, description: 'Adds when the field holds this.' },
  default: { ...scalar, description: 'What an omitted field counts as.' },
};

const quoteFields: Record<string, Schema> = {
  model_id: text('The model asked for.'),
  kind: ref('Kind'),
  price_usd_micro: microUsd('What a submit of this input reserves, and the most it is charged.'),
  unit: ref('Unit'),
  unit_price_usd_micro: microUsd('What one unit costs, extras included; for text the dearer rate.'),
  quantity: number('How many units.'),
  price_multiplier: number(
    "Only where it is not 1: what this account pays of the list price. The estimate's rates have " +
      'it in them already.',
  ),
  breakdown: list(ref('QuoteLine'), 'How the price comes about; the amounts add up to it.'),
  assumptions: anything(
    'What was taken for fields that were left out, by field: the dearest `resolution`, 5 ' +
      '`duration_seconds`, 1 `num_images`.',
  ),
  unit_price_by_resolution_usd_micro: {
    type: 'object',
    description:
      'Where `resolution` was left out and decides the price: what a unit costs in each.',
    additionalProperties: microUsd('What one unit costs.'),
  },
};

/** Of an estimate and of a submit. */
export const unknownInputs: Schema = list(
  ref('UnknownInput'),
  "Fields that the model's `input_schema` does not have, at most 20; only if there are any. They " +
    'are accepted, and mostly without effect.',
);

const inputFields: Record<string, Schema> = {
  prompt: text('What to make.'),
  image_url: text('A `file_id`, a public http(s) address, or a base64 `data:` address.'),
  video_url: text('As `image_url`.'),
  audio_url: text('As `image_url`.'),
  duration_seconds: number('Left out: 5 are reserved.'),
  resolution: text("One of the model's `resolutions`. Left out: the dearest is reserved."),
  aspect_ratio: text('Such as `16:9`.'),
  generate_audio: boolean('Whether a video gets sound.'),
  num_images: integer('Left out: 1.'),
  webhook_url: url(
    'As the query parameter; where both are given they must agree. No model sees it.',
  ),
};

export const schemas: Record<string, Schema> = {
  Kind: { type: 'string', enum: kinds, description: 'What comes out.' },
  Unit: { type: 'string', enum: units, description: 'What is priced. `MP` is a megapixel.' },
  Resolution: { type: 'string', enum: [...resolutions] },
  Model: object(modelFields, [
    'price_by_resolution',
    'step',
    'charged',
    'max_prompt_tokens',
    'context_tokens',
    'refuse_longer_prompts',
    'max_output_tokens',
    'image_tokens',
    'on_disconnect',
    'input_modalities',
  ]),
  ModelExtra: object(extraFields, ['per_item', 'free', 'equals', 'default'], {
    description:
      'One rule that adds to the price: per item of a list, or when a field has a value.',
    example: {
      label: 'sound',
      field: 'generate_audio',
      add_usd: 0.02,
      equals: true,
      default: false,
    },
  }),
  ModelList: object({
    object: { type: 'string', enum: ['list'] },
    data: list(ref('Model'), 'Every model that can be used now.'),
  }),
  ModelInput: openObject(inputFields, Object.keys(inputFields), {
    description:
      "The model's own input: its `input_schema` in the catalog says what is allowed. These " +
      'fields are the usual ones.',
  }),
  EstimateRequest: object(
    {
      model_id: text('An id of the catalog.'),
      input: anything(
        'The full input, as it will be submitted; null fields count as left out. For a text model ' +
          'the body of the chat call, or `input_tokens` and `output_tokens`, whole numbers from 0.',
      ),
    },
    ['input'],
  ),
  QuoteLine: object({
    label: text('What is paid for.'),
    quantity: number('How many units.'),
    unit_price_usd_micro: microUsd('What one unit costs.'),
    amount_usd_micro: microUsd('What the line adds to the price.'),
  }),
  Estimate: object({ ...quoteFields, unknown_inputs: unknownInputs }, [
    'unit_price_by_resolution_usd_micro',
    'price_multiplier',
    'unknown_inputs',
  ]),
  UnknownInput: object({
    field: text('As it was sent.'),
    did_you_mean: nullable(text('The field that was likely meant; null if none is near.')),
  }),
};
