import type { Rig } from './conformance.ts';

/** Two rows of films, from words and from a picture, at an upstream that sends bytes. */
export function films(
  upstream: string,
  { model, seconds }: { model: string; seconds: string },
): Pick<Rig, 'catalog' | 'kinds' | 'withFile' | 'cannot'> {
  const row = (of: { id: string; task: string; name: string; needs: string; example: string }) => `
  - id: ${of.id}
    kind: video
    task: ${of.task}
    name: ${of.name}
    price: { unit: sec, usd: "0.10" }
    cost_usd: "0.008"
    max: 12
    upstream_model: ${model}
    input_mapping: { duration_seconds: ${seconds} }
    input_schema:
      type: object
      required: [${of.needs}]
      properties:
        prompt: { type: string, minLength: 1 }
        ${of.needs.includes('image_url') ? 'image_url: { type: string, minLength: 1 }' : ''}
        duration_seconds: { type: number, minimum: 1, maximum: 12, default: 1 }
    example: ${of.example}`;
  const film = `${upstream}/film`;
  const fromPicture = `${film}/image-to-video`;
  const bytes = 'the content is bytes at an address';
  return {
    catalog: [
      row({
        id: film,
        task: 'text-to-video',
        name: 'Film',
        needs: 'prompt',
        example: '{ prompt: a harbour, duration_seconds: 1 }',
      }),
      row({
        id: fromPicture,
        task: 'image-to-video',
        name: 'Film from a picture',
        needs: 'prompt, image_url',
        example: '{ prompt: it sails, image_url: "https://example.com/harbour.png" }',
      }),
    ].join(''),
    kinds: [
      {
        model_id: film,
        kind: 'video',
        input: { prompt: 'a harbour', duration_seconds: 1 },
        charge_usd_micro: 100_000n,
      },
    ],
    withFile: {
      model_id: fromPicture,
      input: { prompt: 'it sails', image_url: 'FILE', duration_seconds: 1 },
    },
    cannot: {
      'finish-result-422': `${bytes}, which fails as in output-404`,
      'finish-gone': `${bytes}, which fails as in output-404`,
      'output-data': bytes,
      'cancel-late': 'there is no call that cancels a job',
    },
  };
}
