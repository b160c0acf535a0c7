/** fal's list of models: category, and the OpenAPI document if the call asks for it. */

const nullable = (schema: object, more: object = {}) => ({
  anyOf: [schema, { type: 'null' }],
  ...more,
});
const ImageSize = {
  type: 'object',
  properties: { width: { type: 'integer' }, height: { type: 'integer' } },
};
const sizes = ['square_hd', 'square', 'portrait_4_3', 'landscape_16_9', 'auto'];

const inputs: Record<string, { category: string; input: Record<string, unknown> }> = {
  'fal-ai/flux/dev': {
    category: 'text-to-image',
    input: {
      type: 'object',
      'x-fal-order-properties': ['prompt', 'image_size', 'num_images'],
      required: ['prompt'],
      properties: {
        sync_mode: { type: 'boolean', default: false },
        num_images: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
        image_size: {
          anyOf: [{ $ref: '#/components/schemas/ImageSize' }, { type: 'string', enum: sizes }],
          default: 'square_hd',
        },
        prompt: { type: 'string', description: 'What to draw:\n # a picture' },
        seed: nullable({ type: 'integer' }, { description: 'The seed' }),
        guidance_scale: { type: 'number', minimum: 1, maximum: 20, default: 3.5 },
        enable_safety_checker: { type: 'boolean', default: true },
        loras: { type: 'array', items: { type: 'object', properties: {} } },
        output_format: { type: 'string', enum: ['jpeg', 'png'], default: 'jpeg' },
      },
    },
  },
  'fal-ai/test-video': {
    category: 'image-to-video',
    input: {
      type: 'object',
      required: ['prompt', 'image_url'],
      properties: {
        prompt: { type: 'string', maxLength: 2000 },
        image_url: { type: 'string', description: 'The first frame' },
        duration: { type: 'string', enum: ['5s', '10s', 'auto'], default: '10s' },
        resolution: { type: 'string', enum: ['720p', '1080p'], default: '720p' },
        generate_audio: { type: 'boolean', default: true },
        negative_prompt: { type: 'string', default: '' },
      },
    },
  },
};

const usual = {
  category: 'text-to-image',
  input: { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string' } } },
};

export function falModel(endpoint_id: string, expands: boolean) {
  const { category, input } = inputs[endpoint_id] ?? usual;
  const metadata = {
    display_name: endpoint_id.split('/').slice(1).join(' '),
    category,
    description: `Makes what ${endpoint_id} makes`,
    status: 'active',
  };
  return { endpoint_id, metadata, ...(expands && { openapi: openapiOf(endpoint_id, input) }) };
}

function openapiOf(id: string, Input: unknown) {
  const schema = { $ref: '#/components/schemas/Input' };
  const post = { requestBody: { content: { 'application/json': { schema } } } };
  return {
    openapi: '3.0.4',
    components: { schemas: { Input, ImageSize } },
    paths: { [`/${id}/requests/{request_id}/status`]: { get: {} }, [`/${id}`]: { post } },
  };
}
