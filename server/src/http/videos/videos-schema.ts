import {
  boolean,
  choice,
  either,
  id,
  integer,
  list,
  named,
  nullable,
  number,
  object,
  openObject,
  optional,
  record,
  text,
} from '../schemas/schema.ts';

/** The calls of OpenAI's Videos. Which options work depends on the model's own inputs. */

const fields = {
  model: text('The id of a video model.', { example: 'sandbox/film/text-to-video' }),
  prompt: text('A description of the video.'),
  seconds: optional(either([text(), number()], 'Its length, such as `4`.')),
  size: optional(
    text('`WIDTHxHEIGHT` in pixels. A model with resolutions gets the smallest that holds it.', {
      example: '1280x720',
    }),
  ),
  metadata: optional(
    record(text(), 'Pairs of texts that are kept with the request; in a form, write them as JSON.'),
  ),
};

export const VideoCreation = named(
  'VideoCreation',
  openObject({
    ...fields,
    input_reference: optional(
      either(
        [
          object({ image_url: text('A public address or a `data:` address.') }),
          object({ file_id: text('The id of an upload.') }),
          text('An address or a `file_id`.'),
        ],
        'A picture that the video begins with.',
      ),
    ),
  }),
);

/** The same call as a form. */
export const videoForm = openObject({
  ...fields,
  input_reference: optional(
    text('The bytes of a picture; or `input_reference[image_url]`, `input_reference[file_id]`.', {
      format: 'binary',
    }),
  ),
});

const seconds = (description: string) => integer(`${description} In Unix seconds.`);

export const Video = named(
  'Video',
  object({
    id: id('The id of the request, for the calls below /requests too.'),
    object: choice(['video']),
    model: text('The model.'),
    status: choice(
      ['queued', 'in_progress', 'completed', 'failed'],
      'A cancelled video is `failed`, with the error code `cancelled`.',
    ),
    progress: integer('In percent.', { minimum: 0, maximum: 100 }),
    created_at: seconds('When it was asked for.'),
    completed_at: nullable(seconds('When it ended.')),
    expires_at: nullable(seconds('When its bytes are deleted.')),
    prompt: nullable(text('As sent.')),
    size: text('As sent, else as made; `auto` until then.'),
    seconds: text('Its length, as a text.'),
    remixed_from_video_id: nullable(text('Always null.')),
    error: nullable(object({ code: text(), message: text('For people.') })),
  }),
);

export const VideoList = named(
  'VideoList',
  object({
    object: choice(['list']),
    data: list(Video),
    first_id: nullable(text()),
    last_id: nullable(text('`after` of the next page.')),
    has_more: boolean(),
  }),
);

export const DeletedVideo = named(
  'DeletedVideo',
  object({ id: id(), object: choice(['video.deleted']), deleted: boolean() }),
);
