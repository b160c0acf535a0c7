import type { FakeOpenai } from './fakes/openai.ts';

/** A catalog of one upstream of the operator, `own`, whose key is in OWN_KEY. */
interface OwnCatalog {
  /** The field of `own/edit` for the caller's pictures: one of them, or a list. */
  field: 'image_url' | 'image_urls';
  /** The options of the upstream, as YAML. */
  options?: string;
  /** Further rows of the upstream, as YAML. */
  more?: string;
}

export const ownCatalog = (
  { url }: FakeOpenai,
  { field, options = '{}', more = '' }: OwnCatalog,
) => `
upstream:
  name: own
  adapter: openai
  url: ${url}
  key_from: OWN_KEY
  options: ${options}
models:
  - id: own/edit
    kind: image
    task: edit
    name: Edit
    price: { unit: image, usd: "0.01" }
    upstream_model: dall-e-fake
    input_schema:
      type: object
      required: [prompt, ${field}]
      properties:
        prompt: { type: string }
        ${field}: ${field === 'image_url' ? '{ type: string }' : '{ type: array, items: { type: string } }'}
    example: { prompt: at night, ${field}: ${field === 'image_url' ? 'https://example.com/a.png' : '["https://example.com/a.png"]'} }
${more}`;
