import type { Rig } from '../conformance.ts';
import { fakeOpenai } from '../fakes/openai.ts';

const noPoll = 'the result comes in the answer to the start, so there is nothing to look at';

/** Images: the answer to the start is the result. */
export const rig: Rig = {
  name: 'openai-images',
  adapter: 'openai',
  class: 'C',
  callsBack: false,
  open: () => fakeOpenai(),
  catalog: `
upstream:
  name: openai-images
  adapter: openai
  url: URL
  key_from: FAKE_KEY
models:
  - id: openai-images/draw
    kind: image
    task: text-to-image
    name: Draw
    price: { unit: image, usd: "0.01" }
    cost_usd: "0.008"
    max: 4
    upstream_model: dall-e-fake
    input_mapping: { num_images: n }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        num_images: { type: integer, minimum: 1, maximum: 4, default: 1 }
    example: { prompt: a harbour }
  - id: openai-images/edit
    kind: image
    task: edit
    name: Edit
    price: { unit: image, usd: "0.02" }
    cost_usd: "0.008"
    upstream_model: dall-e-fake
    input_schema:
      type: object
      required: [prompt, image_url]
      properties:
        prompt: { type: string, minLength: 1 }
        image_url: { type: string, minLength: 1 }
    example: { prompt: at night, image_url: "https://example.com/harbour.png" }
`,
  kinds: [
    {
      model_id: 'openai-images/draw',
      kind: 'image',
      input: { prompt: 'a harbour' },
      charge_usd_micro: 10_000n,
    },
  ],
  withFile: { model_id: 'openai-images/edit', input: { prompt: 'at night', image_url: 'FILE' } },
  cannot: {
    'poll-500': noPoll,
    'poll-502': noPoll,
    'poll-504': noPoll,
    'poll-429': noPoll,
    'poll-404-once': noPoll,
    'poll-404-always': noPoll,
    'poll-reset': noPoll,
    'poll-garbage': noPoll,
    'poll-unknown-word': noPoll,
    'poll-upper-case': noPoll,
    'poll-error-in-200': noPoll,
    'poll-regress': noPoll,
    'poll-at-once-done': noPoll,
    'finish-failed': 'a call that fails answers 500, which tells nothing of what was made',
    'finish-result-422': 'there is no result beside the answer to the start',
    'finish-gone': 'there is no result beside the answer to the start',
    'cancel-late': 'a call under way cannot be cancelled',
  },
};
