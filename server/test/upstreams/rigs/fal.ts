import type { Rig } from '../conformance.ts';
import { fakeFal } from '../fakes/fal.ts';

export const rig: Rig = {
  name: 'fal',
  adapter: 'fal',
  class: 'C',
  callsBack: true,
  open: fakeFal,
  catalog: `
upstream:
  name: fal
  adapter: fal
  url: URL
  key_from: FAKE_KEY
  options: { rest_url: URL, api_url: URL/v1 }
models:
  - id: fal-ai/flux/dev
    kind: image
    task: text-to-image
    name: FLUX.1 dev
    price: { unit: image, usd: "0.03" }
    max: 4
    cost_usd: "0.025"
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string }
        num_images: { type: integer, minimum: 1, maximum: 4, default: 1 }
    example: { prompt: a lighthouse }
  - id: fal-ai/test-video/image-to-video
    kind: video
    task: image-to-video
    name: Test video
    price: { unit: sec, usd: "0.1" }
    max: 10
    cost_usd: "0.05"
    input_mapping: { duration_seconds: "duration:{}s" }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string }
        image_url: { type: string }
        duration_seconds: { type: number, minimum: 1, maximum: 10, default: 1 }
    example: { prompt: the sea, duration_seconds: 1 }
`,
  kinds: [
    {
      model_id: 'fal-ai/flux/dev',
      kind: 'image',
      input: { prompt: 'a lighthouse' },
      charge_usd_micro: 30_000n,
    },
    {
      model_id: 'fal-ai/test-video/image-to-video',
      kind: 'video',
      input: { prompt: 'the sea', duration_seconds: 1 },
      charge_usd_micro: 100_000n,
    },
  ],
  withFile: {
    model_id: 'fal-ai/test-video/image-to-video',
    input: { prompt: 'the sea', duration_seconds: 1, image_url: 'FILE' },
  },
  cannot: {},
};
