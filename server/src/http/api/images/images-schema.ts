import * as s from '../../schemas/schema.ts';
import { unknownInputs } from '../model-schema.ts';

/** The calls of OpenAI's Images. Which options work depends on the model's own inputs. */

const shared = {
  model: s.text('The id of an image model.', { example: 'sandbox/canvas/text-to-image' }),
  prompt: s.text('A description of the image.'),
  n: s.optional(
    s.integer('The number of images: `num_images` of the model.', { minimum: 1, default: 1 }),
  ),
  size: s.optional(
    s.text(
      '`auto`, or `WIDTHxHEIGHT` in pixels. A model that has only aspect ratios gets ' +
        'the nearest one, and the smallest `resolution` with at least as many pixels.',
      { example: '1024x1024' },
    ),
  ),
  response_format: s.optional(
    s.choice(['url', 'b64_json'], 'The form of the images; both forms if left out.'),
  ),
  quality: s.optional(s.text('`auto`, `standard` or a value of the model.')),
  output_format: s.optional(s.text('A value of the model, such as `png`, `jpeg` or `webp`.')),
  background: s.optional(s.text('`auto` or a value of the model.')),
  metadata: s.optional(
    s.record(
      s.text(),
      'Pairs of texts that are kept with the request; in a form, write them as JSON.',
    ),
  ),
  user: s.optional(s.text('Ignored.')),
};

export const ImageGeneration = s.namedOpenObject('ImageGeneration', shared);

const ImageReference = s.either([
  s.text('A `file_id`, a public address or a `data:` address.'),
  s.object({ image_url: s.text('A public address or a `data:` address.') }),
  s.object({ file_id: s.text('The id of an upload.') }),
]);

export const ImageEdit = s.namedOpenObject('ImageEdit', {
  ...shared,
  image: s.optional(s.either([ImageReference, s.list(ImageReference)], 'The images; at most 16.')),
  images: s.optional(s.list(ImageReference, 'The same as `image`.')),
  mask: s.optional(ImageReference),
});

const bytes = (description: string) => s.text(description, { format: 'binary' });

/** The same call as a form. */
export const imageEditForm = s.openObject({
  ...shared,
  image: s.either(
    [bytes('An image.'), s.list(bytes('An image.'))],
    'The images; at most 16. `image[]` is the same.',
  ),
  mask: s.optional(bytes('For models that take a mask.')),
});

export const ImagesResponse = s.namedObject('ImagesResponse', {
  created: s.integer('Unix seconds.'),
  data: s.list(
    s.object({
      b64_json: s.optional(s.text('The bytes of the image in base64.')),
      url: s.optional(s.url('A signed link; works for 24 hours.')),
    }),
  ),
  usage: s.object({
    input_tokens: s.integer('Always 0: images are not priced by tokens.'),
    output_tokens: s.integer('Always 0.'),
    total_tokens: s.integer('Always 0.'),
    input_tokens_details: s.object({ text_tokens: s.integer(), image_tokens: s.integer() }),
    cost_usd_micro: s.microUsd('The charge.'),
  }),
  request_id: s.text('The id of the request, for the calls below /requests.', { format: 'uuid' }),
  unknown_inputs: s.optional(unknownInputs),
});
