import type { Answer } from './kit.ts';
import { errorAnswer } from './openai-media.ts';

/** OpenRouter's public lists of models and prices. */

interface ListedModel {
  id: string;
  name: string;
  context_length: number | null;
  pricing: Record<string, unknown>;
  max_completion_tokens?: number | null;
  output_modalities?: string[];
  expiration_date?: string;
}

const listed: ListedModel[] = [
  {
    id: 'maker/plain',
    name: 'Maker: Plain',
    context_length: 131_072,
    // A price with digits below a micro-dollar for a million tokens.
    pricing: { prompt: '0.0000001500001', completion: '0.0000006', request: '0', image: '0' },
    max_completion_tokens: 16_384,
    expiration_date: '2999-12-31',
  },
  {
    id: 'maker/plain:free',
    name: 'Maker: Plain (free)',
    context_length: 131_072,
    pricing: { prompt: '0', completion: '0' },
    max_completion_tokens: null,
  },
  {
    id: 'maker/thinker',
    name: 'Maker: Thinker',
    context_length: 1_000_000,
    pricing: {
      prompt: '0.00000125',
      completion: '0.00001',
      internal_reasoning: '0.000012',
      image: '0.000005',
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.0000025', completion: '0.000015' }],
    },
    max_completion_tokens: 65_536,
  },
  {
    id: 'other/by-the-hour',
    name: 'Other: By the hour',
    context_length: 8192,
    expiration_date: '2026-01-01',
    pricing: {
      prompt: '1e-6',
      completion: '2e-6',
      overrides: [{ utc_start: '08:00', utc_end: '20:00', prompt: '3e-6' }],
    },
  },
  {
    id: 'other/per-call',
    name: 'Other: Per call',
    context_length: 8192,
    pricing: { prompt: '0.000001', completion: '0.000001', request: '0.005' },
  },
  {
    id: 'router/auto',
    name: 'Auto',
    context_length: 2_000_000,
    pricing: { prompt: '-1', completion: '-1' },
  },
  {
    id: 'other/speaker',
    name: 'Other: Speaker',
    context_length: 8192,
    pricing: { prompt: '0.000001', completion: '0.000001' },
    output_modalities: ['audio'],
  },
  {
    id: 'other/no-window',
    name: 'Other: No window',
    context_length: null,
    pricing: { prompt: '0.000001', completion: '0.000001' },
  },
];
/** Models of another list, or of no list. */
const videos = ['maker/film', 'sora-fake'];
const unlisted = ['maker/painter', 'gpt-fake', 'gpt-image-fake', 'dall-e-fake'];

/** The answer to a call that needs no key; null for other calls. */
export function routerAnswer(method: string, path: string): Answer | null {
  if (method !== 'GET') return null;
  if (path === '/models') return { json: { data: listed.map(entry) } };
  if (path === '/videos/models')
    return { json: { data: videos.map((id) => ({ id, pricing_skus: {} })) } };
  const [, model] = /^\/models\/(.+)\/endpoints$/.exec(path) ?? [];
  if (model === undefined) return null;
  const id = decodeURIComponent(model);
  const isThere = [...listed.map((each) => each.id), ...videos, ...unlisted].includes(id);
  if (!isThere) return errorAnswer(404, 'Model not found');
  return { json: { data: { id, endpoints: [] } } };
}

function entry({ id, name, context_length, pricing, ...more }: ListedModel) {
  const { max_completion_tokens = null, output_modalities = ['text'] } = more;
  const { expiration_date = null } = more;
  return {
    id,
    canonical_slug: id,
    name,
    created: 1_790_000_000,
    description: `${name} is\na model. # not a comment`,
    context_length,
    architecture: { modality: 'text->text', input_modalities: ['text'], output_modalities },
    pricing,
    top_provider: { context_length, max_completion_tokens, is_moderated: false },
    supported_parameters: ['max_tokens', 'temperature'],
    expiration_date,
  };
}
