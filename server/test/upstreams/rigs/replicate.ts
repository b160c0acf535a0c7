import type { Rig } from '../conformance.ts';
import { fakeReplicate } from '../fakes/replicate.ts';

export const rig: Rig = {
  name: 'replicate',
  adapter: 'replicate',
  class: 'C',
  callsBack: true,
  open: fakeReplicate,
  catalog: `
upstream:
  name: replicate
  adapter: replicate
  url: URL
  key_from: FAKE_KEY
  secret_from: FAKE_SECRET
  concurrency: 4
models:
  - id: maker/pictures
    kind: image
    task: text-to-image
    name: Pictures
    price: { unit: image, usd: "0.02" }
    max: 4
    max_unit: images
    cost_usd: "0.01"
    input_mapping: { num_images: num_outputs }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        num_images: { type: integer, minimum: 1, maximum: 4, default: 1 }
    example: { prompt: a lighthouse }

  - id: maker/films
    kind: video
    task: text-to-video
    name: Films
    price: { unit: sec, usd: "0.05" }
    max: 10
    max_unit: seconds
    cost_usd: "0.03"
    upstream_model: deployments/maker/films-live
    input_mapping: { duration_seconds: duration }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        duration_seconds: { type: integer, minimum: 1, maximum: 10, default: 1 }
    example: { prompt: the sea, duration_seconds: 1 }

  - id: maker/retouch
    kind: image
    task: edit
    name: Retouch
    price: { unit: image, usd: "0.02" }
    cost_usd: "0.01"
    input_mapping: { image_url: image }
    input_schema:
      type: object
      required: [prompt, image_url]
      properties:
        prompt: { type: string, minLength: 1 }
        image_url: { type: string, minLength: 1 }
    example: { prompt: brighter, image_url: https://example.com/photo.png }
`,
  kinds: [
    {
      model_id: 'maker/pictures',
      kind: 'image',
      input: { prompt: 'a lighthouse' },
      charge_usd_micro: 20_000n,
    },
    {
      model_id: 'maker/films',
      kind: 'video',
      input: { prompt: 'the sea', duration_seconds: 1 },
      charge_usd_micro: 50_000n,
    },
  ],
  withFile: { model_id: 'maker/retouch', input: { prompt: 'brighter', image_url: 'FILE' } },
  cannot: {
    'finish-result-422': 'status and result come in one answer, there is no second one to fail',
  },
};
