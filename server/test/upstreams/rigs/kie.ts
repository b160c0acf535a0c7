import type { Rig } from '../conformance.ts';
import { fakeKie } from '../fakes/kie.ts';
import { shippedDefinition } from '../http-job-kit.ts';

/** The definition that comes with Farebox, and rows that cost little. */
export const rig: Rig = {
  name: 'kie',
  adapter: 'http-job',
  class: 'C',
  callsBack: true,
  callbacks: 'unsigned',
  open: fakeKie,
  catalog: `${shippedDefinition('kie', ['https://kieai.redpandaai.co'])}
models:
  - id: kie/nano-banana
    kind: image
    task: text-to-image
    name: Nano Banana
    price: { unit: image, usd: "0.03" }
    max: 1
    cost_usd: "0.02"
    upstream_model: google/nano-banana
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
    example: { prompt: a lighthouse }

  - id: kie/seedance-2
    kind: video
    task: image-to-video
    name: Seedance 2
    price: { unit: sec, usd: "0.1" }
    max: 15
    cost_usd: "0.095"
    upstream_model: bytedance/seedance-2
    input_mapping: { duration_seconds: duration, image_url: first_frame_url }
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        image_url: { type: string, minLength: 1 }
        duration_seconds: { type: integer, minimum: 1, maximum: 15, default: 5 }
    example: { prompt: waves, duration_seconds: 5 }
`,
  kinds: [
    {
      model_id: 'kie/nano-banana',
      kind: 'image',
      input: { prompt: 'a lighthouse' },
      charge_usd_micro: 30_000n,
    },
    {
      model_id: 'kie/seedance-2',
      kind: 'video',
      input: { prompt: 'waves', duration_seconds: 1 },
      charge_usd_micro: 100_000n,
    },
  ],
  withFile: {
    model_id: 'kie/seedance-2',
    input: { prompt: 'waves', duration_seconds: 1, image_url: 'FILE' },
  },
  cannot: {
    'finish-result-422': 'the look that finds a job done brings its result along',
    'finish-gone': 'the look that finds a job done brings its result along',
    'output-data': 'it gives addresses only',
    'cancel-late': 'it has no cancel',
  },
};
