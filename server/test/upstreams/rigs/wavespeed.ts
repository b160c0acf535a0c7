import type { Rig } from '../conformance.ts';
import { fakeWavespeed } from '../fakes/wavespeed.ts';
import { shippedDefinition } from '../http-job-kit.ts';

/** The definition that comes with Farebox, and rows that cost little. */
export const rig: Rig = {
  name: 'wavespeed',
  adapter: 'http-job',
  class: 'C',
  callsBack: true,
  open: fakeWavespeed,
  catalog: `${shippedDefinition('wavespeed')}
models:
  - id: wavespeed-ai/flux-schnell
    kind: image
    task: text-to-image
    name: FLUX schnell
    price: { unit: image, usd: "0.01" }
    max: 1
    cost_usd: "0.003"
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
    example: { prompt: a lighthouse }

  - id: bytedance/seedream-v4/edit
    kind: image
    task: edit
    name: Seedream 4 Edit
    price: { unit: image, usd: "0.04" }
    max: 1
    cost_usd: "0.027"
    input_mapping: { image_urls: images }
    input_schema:
      type: object
      required: [prompt, image_urls]
      properties:
        prompt: { type: string, minLength: 1 }
        image_urls: { type: array, maxItems: 10, items: { type: string, minLength: 1 } }
    example: { prompt: make it winter, image_urls: ["https://example.com/garden.png"] }

  - id: wavespeed-ai/wan-2.2/i2v-480p-ultra-fast
    kind: video
    task: image-to-video
    name: Wan 2.2
    price: { unit: sec, usd: "0.02" }
    max: 8
    cost_usd: "0.01"
    input_mapping: { image_url: image, duration_seconds: duration }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        image_url: { type: string, minLength: 1 }
        duration_seconds: { type: integer, minimum: 1, maximum: 8, default: 5 }
    example: { prompt: waves, duration_seconds: 5 }
`,
  kinds: [
    {
      model_id: 'wavespeed-ai/flux-schnell',
      kind: 'image',
      input: { prompt: 'a lighthouse' },
      charge_usd_micro: 10_000n,
    },
    {
      model_id: 'wavespeed-ai/wan-2.2/i2v-480p-ultra-fast',
      kind: 'video',
      input: { prompt: 'waves', duration_seconds: 1 },
      charge_usd_micro: 20_000n,
    },
  ],
  withFile: {
    model_id: 'bytedance/seedream-v4/edit',
    input: { prompt: 'make it winter', image_urls: ['FILE'] },
  },
  cannot: {
    'finish-result-422': 'the look that finds a job done brings its result along',
    'finish-gone': 'the look that finds a job done brings its result along',
    'cancel-late': 'it has no cancel',
  },
};
