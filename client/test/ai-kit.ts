/** A model of each kind, with the fields that the AI SDK's settings are mapped to. */
export const aiCatalog = `
upstream: fake
owned_by: fake
models:
  - id: ai/picture
    kind: image
    task: text-to-image
    name: Picture
    description: One cent an image.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    upstream_model: image
    input_schema:
      type: object
      properties:
        prompt: { type: string }
        num_images: { type: integer, maximum: 4 }
        image_size: { type: object }
        seed: { type: integer }
        image_url: { type: string }
        style: { type: string }
      required: [prompt]
    example: { prompt: a cat }
  - id: ai/film
    kind: video
    task: image-to-video
    name: Film
    description: Priced by second and resolution.
    price: { unit: sec, usd_by_resolution: { 480p: "0.05", 720p: "0.10" } }
    max: 10
    max_unit: seconds
    resolutions: [480p, 720p]
    upstream_model: film
    input_schema:
      type: object
      properties:
        prompt: { type: string }
        duration_seconds: { type: number }
        resolution: { type: string }
        image_url: { type: string }
        end_image_url: { type: string }
        generate_audio: { type: boolean }
      required: [prompt]
    example: { prompt: a cat runs, duration_seconds: 5, resolution: 480p }
  - id: ai/chat
    kind: text
    task: chat
    name: Chat
    description: A dollar in, two out.
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 8192
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;
