import {
  cancelRules,
  modalities,
  resolutions,
  tasks,
  type Kind,
  type Unit,
} from '../../core/catalog/catalog.ts';
import {
  anything,
  boolean,
  choice,
  either,
  integer,
  list,
  microUsd,
  named,
  nullable,
  number,
  object,
  onlyTrue,
  openObject,
  optional,
  record,
  text,
  url,
} from '../schemas/schema.ts';

/** The catalog, its prices, and the input of a model. */

const kinds = ['video', 'image', 'text'] as const satisfies Kind[];
const units = ['sec', 'image', 'request', 'MP', '1M tokens'] as const satisfies Unit[];

export const KindName = named('Kind', choice(kinds, 'The kind of output.'));
export const UnitName = named('Unit', choice(units, 'The unit of the price. `MP` is a megapixel.'));
const ResolutionName = named('Resolution', choice(resolutions));

const scalars = [text(), number(), boolean()] as const;

const ModelExtra = named(
  'ModelExtra',
  object(
    {
      label: text('The unit that is paid for.'),
      field: text('The input field that decides whether the extra applies.'),
      add_usd: number('US dollars added to the price of one unit; with `per_item`, for each item.'),
      per_item: optional(boolean('True: the extra is added for each item of the field.')),
      free: optional(integer('Number of items that cost nothing extra.')),
      equals: optional(either(scalars, 'The extra is added if the field has this value.')),
      default: optional(either(scalars, 'The value assumed for a missing field.')),
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
  ),
);

const priceForms = [
  number(),
  object({
    input: number('Per 1M prompt tokens.'),
    output: number('Per 1M completion tokens.'),
    cached_input: optional(
      number("Per 1M prompt tokens read from the model's cache; `input` if missing."),
    ),
    cache_write: optional(
      number("Per 1M prompt tokens written to the model's cache; `input` if missing."),
    ),
  }),
] as const;

export const Model = named(
  'Model',
  object({
    id: text('Use it exactly as written here, with its slashes.'),
    object: choice(['model']),
    created: integer('When the model was added to the catalog, in unix seconds.'),
    owned_by: text('The owner of the model.'),
    name: text('For people.'),
    description: text('A description for people; may be empty.'),
    kind: KindName,
    task: choice(tasks, 'The task of the model.'),
    price: either(
      priceForms,
      'US dollars per unit, all-inclusive; the highest rate if rates differ by resolution. For a ' +
        'text model: per 1M tokens in and out. For reading only; POST /estimate gives exact prices.',
    ),
    unit: UnitName,
    price_by_resolution: optional(
      record(number(), 'US dollars per unit by resolution; only if they differ.'),
    ),
    extras: list(ModelExtra, 'Rules that add to the price of a unit.'),
    max: integer('Longest duration or largest count of one request. 0: no stated maximum.'),
    max_unit: text('The unit of `max`: `seconds` or `images`, for example.'),
    resolutions: list(ResolutionName, 'Values that the input `resolution` may take; may be empty.'),
    uncensored: boolean('True: the model has no content filter.'),
    input_schema: anything('JSON Schema (2020-12) of the input.'),
    example: anything('An input that works.'),
    step: optional(
      integer(
        'Requested and delivered quantities are rounded up to multiples of this. May be missing.',
      ),
    ),
    charged: optional(
      choice(
        ['asked'],
        'If present, the requested quantity is charged, even if less was delivered.',
      ),
    ),
    on_cancel: optional(
      choice(
        cancelRules,
        'If present, a running job can be cancelled. It then costs nothing (`free`), what the ' +
          'model bills for it (`upstream`), or all that was reserved (`full`).',
      ),
    ),
    max_prompt_tokens: optional(
      integer('Maximum number of tokens of the field `prompt`; missing if unlimited.'),
    ),
    context_tokens: optional(integer('Text models: maximum number of prompt tokens.')),
    refuse_longer_prompts: optional(
      onlyTrue(
        'Text models; true or missing. True: a prompt is refused if the upper bound of its ' +
          'tokens, which is also reserved, exceeds `context_tokens`.',
      ),
    ),
    max_output_tokens: optional(integer('Text models: maximum number of completion tokens.')),
    image_tokens: optional(
      integer('Text models: tokens that are reserved for one image in the prompt.'),
    ),
    on_disconnect: optional(
      choice(
        ['finish', 'stop'],
        'Text models: what happens when the caller leaves. `finish`: the reply is read to its ' +
          'end and charged in full. `stop`: the model stops, and what was delivered is charged.',
      ),
    ),
    input_modalities: optional(
      list(choice(modalities), 'Text models: what a message may contain.'),
    ),
  }),
);

export const ModelList = named(
  'ModelList',
  object({
    object: choice(['list']),
    data: list(Model, 'Every model that can be used now.'),
  }),
);

export const ModelInput = named(
  'ModelInput',
  openObject(
    {
      prompt: optional(text('A description of the wanted output.')),
      image_url: optional(text('A `file_id`, a public http(s) address, or a `data:` address.')),
      video_url: optional(text('As `image_url`.')),
      audio_url: optional(text('As `image_url`.')),
      duration_seconds: optional(number('If missing, 5 seconds are reserved.')),
      resolution: optional(
        text("One of the model's `resolutions`. If missing, the highest price is reserved."),
      ),
      aspect_ratio: optional(text('For example `16:9`.')),
      generate_audio: optional(boolean('True: a video gets audio.')),
      num_images: optional(integer('If missing: 1.')),
      webhook_url: optional(
        url(
          'Same as the query parameter; if both are given, they must be equal. Not sent to the model.',
        ),
      ),
    },
    {
      description:
        "The model's own input: `input_schema` in the catalog says what is allowed. The " +
        'fields listed here are the usual ones.',
    },
  ),
);

export const EstimateRequest = named(
  'EstimateRequest',
  object({
    model_id: text('An id of the catalog.'),
    input: optional(
      anything(
        'The full input, as it will be submitted; null fields count as missing. For a text ' +
          'model: the body of the chat call, or `input_tokens` and `output_tokens` as whole ' +
          'numbers from 0.',
      ),
    ),
  }),
);

const QuoteLine = named(
  'QuoteLine',
  object({
    label: text('The unit that is paid for.'),
    quantity: number('How many units.'),
    unit_price_usd_micro: microUsd('Price of one unit.'),
    amount_usd_micro: microUsd('Amount that the line adds to the price.'),
  }),
);

const UnknownInput = named(
  'UnknownInput',
  object({
    field: text('The name of the field as it was sent.'),
    did_you_mean: nullable(
      text(
        'The field that was likely meant; null if none is similar. For `metadata`, it is the header ' +
          '`x-metadata`.',
      ),
    ),
  }),
);

/** Part of the reply to an estimate and to a submit. */
export const unknownInputs = list(
  UnknownInput,
  "Fields that the model's `input_schema` does not have, at most 20; missing if there are " +
    'none. They are accepted, but mostly have no effect.',
);

export const Estimate = named(
  'Estimate',
  object({
    model_id: text('The requested model.'),
    kind: KindName,
    price_usd_micro: microUsd('Reserved by a submit of this input; the charge is never higher.'),
    unit: UnitName,
    unit_price_usd_micro: microUsd('Price of one unit, extras included; for text the higher rate.'),
    quantity: number('How many units.'),
    price_multiplier: optional(
      number(
        'The share of the list price that this account pays; missing if it is 1. The rates of the ' +
          'estimate include it already.',
      ),
    ),
    breakdown: list(QuoteLine, 'How the price is made up; the amounts add up to it.'),
    assumptions: anything(
      'Values assumed for missing fields, by field: the most expensive `resolution`, 5 ' +
        '`duration_seconds`, 1 `num_images`.',
    ),
    unit_price_by_resolution_usd_micro: optional(
      record(
        microUsd('Price of one unit.'),
        'Present if `resolution` is missing and decides the price: the price of a unit for each resolution.',
      ),
    ),
    input_prices_usd_micro: optional(
      object(
        {
          input: microUsd('Tokens that are not in the cache.'),
          cached_input: microUsd('Tokens read from the cache.'),
          cache_write: microUsd('Tokens written to the cache.'),
        },
        {
          description:
            'Present if cached prompt tokens have prices of their own: the prices of a million ' +
            'prompt tokens. The highest is reserved; the charge follows what the model reports.',
        },
      ),
    ),
    unknown_inputs: optional(unknownInputs),
  }),
);
