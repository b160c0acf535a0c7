import {
  choice,
  either,
  integer,
  list,
  microUsd,
  named,
  object,
  openObject,
  optional,
  record,
  text,
  url,
} from '../../schemas/schema.ts';
import { unknownInputs } from '../model-schema.ts';

/** The calls of OpenAI's Images. Which options work depends on the model's own inputs. */

const shared = {
  model: text('The id of an image model.', { example: 'sandbox/canvas/text-to-image' }),
  prompt: text('A description of the image.'),
  n: optional(
    integer('The number of images: `num_images` of the model.', { minimum: 1, default: 1 }),
  ),
  size: optional(
    text(
      '`auto`, or `WIDTHxHEIGHT` in pixels. A model that has only aspect ratios gets ' +
        'the nearest one, and the smallest `resolution` with at least as many pixels.',
      { example: '1024x1024' },
    ),
  ),
  response_format: optional(
    choice(['url', 'b64_json'], 'The form of the images; both forms if left out.'),
  ),
  quality: optional(text('`auto`, `standard` or a value of the model.')),
  output_format: optional(text('A value of the model, such as `png`, `jpeg` or `webp`.')),
  background: optional(text('`auto` or a value of the model.')),
  metadata: optional(
    record(text(), 'Pairs of texts that are kept with the request; in a form, write them as JSON.'),
  ),
  user: optional(text('Ignored.')),
};

export const ImageGeneration = named('ImageGeneration', openObject(shared));

const ImageReference = either([
  text('A `file_id`, a public address or a `data:` address.'),
  object({ image_url: text('A public address or a `data:` address.') }),
  object({ file_id: text('The id of an upload.') }),
]);

export const ImageEdit = named(
  'ImageEdit',
  openObject({
    ...shared,
    image: optional(either([ImageReference, list(ImageReference)], 'The images; at most 16.')),
    images: optional(list(ImageReference, 'The same as `image`.')),
    mask: optional(ImageReference),
  }),
);

const bytes = (description: string) => text(description, { format: 'binary' });

/** The same call as a form. */
export const imageEditForm = openObject({
  ...shared,
  image: either(
    [bytes('An image.'), list(bytes('An image.'))],
    'The images; at most 16. `image[]` is the same.',
  ),
  mask: optional(bytes('For models that take a mask.')),
});

export const ImagesResponse = named(
  'ImagesResponse',
  object({
    created: integer('Unix seconds.'),
    data: list(
      object({
        b64_json: optional(text('The bytes of the image in base64.')),
        url: optional(url('A signed link; works for 24 hours.')),
      }),
    ),
    usage: object({
      input_tokens: integer('Always 0: images are not priced by tokens.'),
      output_tokens: integer('Always 0.'),
      total_tokens: integer('Always 0.'),
      input_tokens_details: object({ text_tokens: integer(), image_tokens: integer() }),
      cost_usd_micro: microUsd('The charge.'),
    }),
    request_id: text('The id of the request, for the calls below /requests.', { format: 'uuid' }),
    unknown_inputs: optional(unknownInputs),
  }),
);
