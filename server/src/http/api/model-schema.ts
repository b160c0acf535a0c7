import {
  cancelRules,
  modalities,
  resolutions,
  tasks,
  type Kind,
  type Unit,
} from '../../core/catalog/catalog.ts';
import * as s from '../schemas/schema.ts';

/** The catalog, its prices, and the input of a model. */

const kinds = ['video', 'image', 'text'] as const satisfies Kind[];
const units = ['sec', 'image', 'request', 'MP', '1M tokens'] as const satisfies Unit[];

export const KindName = s.named('Kind', s.choice(kinds, 'The kind of output.'));
export const UnitName = s.named(
  'Unit',
  s.choice(units, 'The unit of the price. `MP` is a megapixel.'),
);
const ResolutionName = s.named('Resolution', s.choice(resolutions));

const scalars = [s.text(), s.number(), s.boolean()] as const;

const ModelExtra = s.namedObject(
  'ModelExtra',

  {
    label: s.text('The unit that is paid for.'),
    field: s.text('The input field that decides whether the extra applies.'),
    add_usd: s.number('US dollars added to the price of one unit; with `per_item`, for each item.'),
    per_item: s.optional(s.boolean('True: the extra is added for each item of the field.')),
    free: s.optional(s.integer('Number of items that cost nothing extra.')),
    equals: s.optional(s.either(scalars, 'The extra is added if the field has this value.')),
    default: s.optional(s.either(scalars, 'The value assumed for a missing field.')),
  },
  {
    description:
      'A rule that adds to the price: for each item of a list, or if a field has a certain value.',
    example: {
      label: 'sound',
      field: 'generate_audio',
      add_usd: 0.02,
      equals: true,
      default: false,
    },
  },
);

const priceForms = [
  s.number(),
  s.object({
    input: s.number('Per 1M prompt tokens.'),
    output: s.number('Per 1M completion tokens.'),
    cached_input: s.optional(
      s.number("Per 1M prompt tokens read from the model's cache; `input` if missing."),
    ),
    cache_write: s.optional(
      s.number("Per 1M prompt tokens written to the model's cache; `input` if missing."),
    ),
  }),
] as const;

export const Model = s.namedObject('Model', {
  id: s.text('Use it exactly as written here, with its slashes.'),
  object: s.choice(['model']),
  created: s.integer('When the model was added to the catalog, in unix seconds.'),
  owned_by: s.text('The owner of the model.'),
  name: s.text('For people.'),
  description: s.text('A description for people; may be empty.'),
  kind: KindName,
  task: s.choice(tasks, 'The task of the model.'),
  price: s.either(
    priceForms,
    'US dollars per unit, all-inclusive; the highest rate if rates differ by resolution. For a ' +
      'text model: per 1M tokens in and out. For reading only; POST /estimate gives exact prices.',
  ),
  unit: UnitName,
  price_by_resolution: s.optional(
    s.record(s.number(), 'US dollars per unit by resolution; only if they differ.'),
  ),
  extras: s.list(ModelExtra, 'Rules that add to the price of a unit.'),
  max: s.integer('Longest duration or largest count of one request. 0: no stated maximum.'),
  max_unit: s.text('The unit of `max`: `seconds` or `images`, for example.'),
  resolutions: s.list(ResolutionName, 'Values that the input `resolution` may take; may be empty.'),
  uncensored: s.boolean('True: the model has no content filter.'),
  median_seconds: s.nullable(
    s.number(
      'Half of the last finished jobs of the model took less time than this, from the start to ' +
        'the end. Null: none has finished, or the model is a text model.',
    ),
  ),
  status: s.choice(
    ['live', 'stopped'],
    '`stopped`: the operator has stopped its sale. Requests get 503 `capacity_unavailable` with ' +
      '`details.reason` `stopped`; POST /estimate still prices.',
  ),
  status_note: s.optional(
    s.nullable(
      s.text("Only of a stopped model: the operator's words about it; null if there are none."),
    ),
  ),
  input_schema: s.anything('JSON Schema (2020-12) of the input.'),
  example: s.anything('An input that works.'),
  step: s.optional(
    s.integer(
      'Requested and delivered quantities are rounded up to multiples of this. May be missing.',
    ),
  ),
  charged: s.optional(
    s.choice(
      ['asked'],
      'If present, the requested quantity is charged, even if less was delivered.',
    ),
  ),
  on_cancel: s.optional(
    s.choice(
      cancelRules,
      'If present, a running job can be cancelled. It then costs nothing (`free`), what the ' +
        'model bills for it (`upstream`), or all that was reserved (`full`).',
    ),
  ),
  max_prompt_tokens: s.optional(
    s.integer('Maximum number of tokens of the field `prompt`; missing if unlimited.'),
  ),
  context_tokens: s.optional(s.integer('Text models: maximum number of prompt tokens.')),
  refuse_longer_prompts: s.optional(
    s.onlyTrue(
      'Text models; true or missing. True: a prompt is refused if the upper bound of its ' +
        'tokens, which is also reserved, exceeds `context_tokens`.',
    ),
  ),
  max_output_tokens: s.optional(s.integer('Text models: maximum number of completion tokens.')),
  image_tokens: s.optional(
    s.integer('Text models: tokens that are reserved for one image in the prompt.'),
  ),
  on_disconnect: s.optional(
    s.choice(
      ['finish', 'stop'],
      'Text models: what happens when the caller leaves. `finish`: the reply is read to its ' +
        'end and charged in full. `stop`: the model stops, and what was delivered is charged.',
    ),
  ),
  input_modalities: s.optional(
    s.list(s.choice(modalities), 'Text models: what a message may contain.'),
  ),
});

export const ModelList = s.namedObject('ModelList', {
  object: s.choice(['list']),
  data: s.list(Model, 'Every model that can be used now.'),
});

export const ModelInput = s.namedOpenObject(
  'ModelInput',

  {
    prompt: s.optional(s.text('A description of the wanted output.')),
    image_url: s.optional(s.text('A `file_id`, a public http(s) address, or a `data:` address.')),
    video_url: s.optional(s.text('As `image_url`.')),
    audio_url: s.optional(s.text('As `image_url`.')),
    duration_seconds: s.optional(s.number('If missing, 5 seconds are reserved.')),
    resolution: s.optional(
      s.text("One of the model's `resolutions`. If missing, the highest price is reserved."),
    ),
    aspect_ratio: s.optional(s.text('For example `16:9`.')),
    generate_audio: s.optional(s.boolean('True: a video gets audio.')),
    num_images: s.optional(s.integer('If missing: 1.')),
    webhook_url: s.optional(
      s.url(
        'Same as the query parameter; if both are given, they must be equal. Not sent to the model.',
      ),
    ),
  },
  {
    description:
      "The model's own input: `input_schema` in the catalog says what is allowed. The " +
      'fields listed here are the usual ones.',
  },
);

export const EstimateRequest = s.namedObject('EstimateRequest', {
  model_id: s.text('An id of the catalog.'),
  input: s.optional(
    s.anything(
      'The full input, as it will be submitted; null fields count as missing. For a text ' +
        'model: the body of the chat call, or `input_tokens` and `output_tokens` as whole ' +
        'numbers from 0.',
    ),
  ),
});

const QuoteLine = s.namedObject('QuoteLine', {
  label: s.text('The unit that is paid for.'),
  quantity: s.number('How many units.'),
  unit_price_usd_micro: s.microUsd('Price of one unit.'),
  amount_usd_micro: s.microUsd('Amount that the line adds to the price.'),
});

const UnknownInput = s.namedObject('UnknownInput', {
  field: s.text('The name of the field as it was sent.'),
  did_you_mean: s.nullable(
    s.text(
      'The field that was likely meant; null if none is similar. For `metadata`, it is the header ' +
        '`x-metadata`.',
    ),
  ),
});

/** Part of the reply to an estimate and to a submit. */
export const unknownInputs = s.list(
  UnknownInput,
  "Fields that the model's `input_schema` does not have, at most 20; missing if there are " +
    'none. They are accepted, but mostly have no effect.',
);

export const Estimate = s.namedObject('Estimate', {
  model_id: s.text('The requested model.'),
  kind: KindName,
  price_usd_micro: s.microUsd('Reserved by a submit of this input; the charge is never higher.'),
  unit: UnitName,
  unit_price_usd_micro: s.microUsd('Price of one unit, extras included; for text the higher rate.'),
  quantity: s.number('How many units.'),
  price_multiplier: s.optional(
    s.number(
      'The share of the list price that this account pays; missing if it is 1. The rates of the ' +
        'estimate include it already.',
    ),
  ),
  breakdown: s.list(QuoteLine, 'How the price is made up; the amounts add up to it.'),
  assumptions: s.anything(
    'Values assumed for missing fields, by field: the most expensive `resolution`, 5 ' +
      '`duration_seconds`, 1 `num_images`.',
  ),
  unit_price_by_resolution_usd_micro: s.optional(
    s.record(
      s.microUsd('Price of one unit.'),
      'Present if `resolution` is missing and decides the price: the price of a unit for each resolution.',
    ),
  ),
  input_prices_usd_micro: s.optional(
    s.object(
      {
        input: s.microUsd('Tokens that are not in the cache.'),
        cached_input: s.microUsd('Tokens read from the cache.'),
        cache_write: s.microUsd('Tokens written to the cache.'),
      },
      {
        description:
          'Present if cached prompt tokens have prices of their own: the prices of a million ' +
          'prompt tokens. The highest is reserved; the charge follows what the model reports.',
      },
    ),
  ),
  unknown_inputs: s.optional(unknownInputs),
});
