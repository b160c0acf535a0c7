import type { Rig } from '../conformance.ts';
import { fakeOpenai } from '../fakes/openai.ts';

/**
 * Videos in OpenAI's form: the start sends a form and gets a job; the content is fetched with the
 * key.
 */
export const rig: Rig = {
  name: 'openai-videos',
  adapter: 'openai',
  class: 'C',
  callsBack: false,
  open: () => fakeOpenai(),
  catalog: `
upstream:
  name: openai-videos
  adapter: openai
  url: URL
  key_from: FAKE_KEY
models:
  - id: openai-videos/film
    kind: video
    task: text-to-video
    name: Film
    price: { unit: sec, usd: "0.10" }
    cost_usd: "0.008"
    max: 12
    upstream_model: sora-fake
    input_mapping: { duration_seconds: seconds }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        duration_seconds: { type: number, minimum: 1, maximum: 12, default: 1 }
    example: { prompt: a harbour, duration_seconds: 1 }
  - id: openai-videos/film/image-to-video
    kind: video
    task: image-to-video
    name: Film from a picture
    price: { unit: sec, usd: "0.10" }
    cost_usd: "0.008"
    max: 12
    upstream_model: sora-fake
    input_mapping: { duration_seconds: seconds }
    input_schema:
      type: object
      required: [prompt, image_url]
      properties:
        prompt: { type: string, minLength: 1 }
        image_url: { type: string, minLength: 1 }
        duration_seconds: { type: number, minimum: 1, maximum: 12, default: 1 }
    example: { prompt: it sails, image_url: "https://example.com/harbour.png" }
`,
  kinds: [
    {
      model_id: 'openai-videos/film',
      kind: 'video',
      input: { prompt: 'a harbour', duration_seconds: 1 },
      charge_usd_micro: 100_000n,
    },
  ],
  withFile: {
    model_id: 'openai-videos/film/image-to-video',
    input: { prompt: 'it sails', image_url: 'FILE', duration_seconds: 1 },
  },
  cannot: {
    'finish-result-422': 'the content is bytes at an address, which fails as in output-404',
    'finish-gone': 'the content is bytes at an address, which fails as in output-404',
    'output-data': 'the content is bytes at an address',
    'output-several': 'a job has one content',
    'cancel-late': 'there is no call that cancels a job',
  },
};
