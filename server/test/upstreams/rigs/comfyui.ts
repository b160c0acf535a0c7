import type { Rig } from '../conformance.ts';
import { fakeComfyui, textToImage } from '../fakes/comfyui.ts';

const pictures = textToImage();
const { '9': _save, ...drawn } = pictures;
const films = {
  ...drawn,
  '9': { class_type: 'SaveVideo', inputs: { filename_prefix: 'video/farebox', video: ['8', 0] } },
};
const retouch = {
  '1': { class_type: 'LoadImage', inputs: { image: 'example.png' } },
  '9': { class_type: 'SaveImage', inputs: { filename_prefix: 'farebox', images: ['1', 0] } },
};

export const rig: Rig = {
  name: 'comfyui',
  adapter: 'comfyui',
  class: 'B',
  callsBack: false,
  open: fakeComfyui,
  catalog: `
upstream:
  name: comfyui
  adapter: comfyui
  url: URL
  concurrency: 2
  options:
    workflows:
      pictures:
        prompt: ${JSON.stringify(pictures)}
        inputs: { prompt: "6.text", num_images: "5.batch_size", seed: "3.seed" }
        outputs: ["9"]
      films:
        prompt: ${JSON.stringify(films)}
        inputs: { prompt: "6.text", seed: "3.seed" }
        outputs: all
      retouch:
        prompt: ${JSON.stringify(retouch)}
        files: { image_url: "1.image" }
models:
  - id: own/pictures
    kind: image
    task: text-to-image
    name: Pictures
    price: { unit: image, usd: "0.01" }
    cost_usd: "0.002"
    max: 4
    max_unit: images
    upstream_model: pictures
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        num_images: { type: integer, minimum: 1, maximum: 4, default: 1 }
        seed: { type: integer, minimum: 0 }
    example: { prompt: a lighthouse }

  - id: own/films
    kind: video
    task: text-to-video
    name: Films
    price: { unit: sec, usd: "0.03" }
    cost_usd: "0.01"
    max: 10
    max_unit: seconds
    upstream_model: films
    input_schema:
      type: object
      required: [prompt]
      properties:
        prompt: { type: string, minLength: 1 }
        duration_seconds: { type: integer, minimum: 1, maximum: 10, default: 1 }
    example: { prompt: the sea, duration_seconds: 1 }

  - id: own/retouch
    kind: image
    task: edit
    name: Retouch
    price: { unit: image, usd: "0.01" }
    cost_usd: "0.002"
    upstream_model: retouch
    input_schema:
      type: object
      required: [image_url]
      properties:
        image_url: { type: string, minLength: 1 }
    example: { image_url: https://example.com/photo.png }
`,
  kinds: [
    {
      model_id: 'own/pictures',
      kind: 'image',
      input: { prompt: 'a lighthouse' },
      charge_usd_micro: 10_000n,
    },
    {
      model_id: 'own/films',
      kind: 'video',
      input: { prompt: 'the sea', duration_seconds: 1 },
      charge_usd_micro: 30_000n,
    },
  ],
  withFile: { model_id: 'own/retouch', input: { image_url: 'FILE' } },
  cannot: {
    'submit-429': 'it has no limit of calls, its queue takes all',
    'submit-429-date': 'it has no limit of calls, its queue takes all',
    'submit-429-bare': 'it has no limit of calls, its queue takes all',
    'submit-account': 'it is the own server, nothing is paid there',
    'submit-credential': 'it asks for no credential',
    'poll-429': 'it has no limit of calls',
    'finish-refused': 'it has no policy',
    'finish-result-422':
      'the end and its outputs come in one answer, there is no second one to fail',
    'output-data': 'outputs are files in its folder',
  },
};
