import * as s from '../schemas/schema.ts';

/** The calls of OpenAI's Videos. Which options work depends on the model's own inputs. */

const fields = {
  model: s.text('The id of a video model.', { example: 'sandbox/film/text-to-video' }),
  prompt: s.text('A description of the video.'),
  seconds: s.optional(s.either([s.text(), s.number()], 'Its length, such as `4`.')),
  size: s.optional(
    s.text('`WIDTHxHEIGHT` in pixels. A model with resolutions gets the smallest that holds it.', {
      example: '1280x720',
    }),
  ),
  metadata: s.optional(
    s.record(
      s.text(),
      'Pairs of texts that are kept with the request; in a form, write them as JSON.',
    ),
  ),
};

export const VideoCreation = s.namedOpenObject('VideoCreation', {
  ...fields,
  input_reference: s.optional(
    s.either(
      [
        s.object({ image_url: s.text('A public address or a `data:` address.') }),
        s.object({ file_id: s.text('The id of an upload.') }),
        s.text('An address or a `file_id`.'),
      ],
      'A picture that the video begins with.',
    ),
  ),
});

/** The same call as a form. */
export const videoForm = s.openObject({
  ...fields,
  input_reference: s.optional(
    s.text('The bytes of a picture; or `input_reference[image_url]`, `input_reference[file_id]`.', {
      format: 'binary',
    }),
  ),
});

const seconds = (description: string) => s.integer(`${description} In Unix seconds.`);

export const Video = s.namedObject('Video', {
  id: s.id('The id of the request, for the calls below /requests too.'),
  object: s.choice(['video']),
  model: s.text('The model.'),
  status: s.choice(
    ['queued', 'in_progress', 'completed', 'failed'],
    'A cancelled video is `failed`, with the error code `cancelled`.',
  ),
  progress: s.integer('In percent.', { minimum: 0, maximum: 100 }),
  created_at: seconds('When it was asked for.'),
  completed_at: s.nullable(seconds('When it ended.')),
  expires_at: s.nullable(seconds('When its bytes are deleted.')),
  prompt: s.nullable(s.text('As sent.')),
  size: s.text('As sent, else as made; `auto` until then.'),
  seconds: s.text('Its length, as a text.'),
  remixed_from_video_id: s.nullable(s.text('Always null.')),
  error: s.nullable(s.object({ code: s.text(), message: s.text('For people.') })),
});

export const VideoList = s.namedObject('VideoList', {
  object: s.choice(['list']),
  data: s.list(Video),
  first_id: s.nullable(s.text()),
  last_id: s.nullable(s.text('`after` of the next page.')),
  has_more: s.boolean(),
});

export const DeletedVideo = s.namedObject('DeletedVideo', {
  id: s.id(),
  object: s.choice(['video.deleted']),
  deleted: s.boolean(),
});
