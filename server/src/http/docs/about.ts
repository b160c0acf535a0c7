import type { ApiProse } from './prose.ts';

/** The parts of the document that belong to no route. */

export const about = {
  title: 'Farebox',
  version: '1',
  contact: { name: 'The operator of this service' },
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
};

/** The pages of docs/api/ by tag. The first paragraph of the first one describes the tag. */
const pages: Record<string, [string, ...string[]]> = {
  Catalog: ['models'],
  Balance: ['balance'],
  Deposits: ['deposits'],
  Queue: ['queue', 'images', 'videos', 'fal', 'replicate'],
  Requests: ['requests', 'outputs', 'usage'],
  Files: ['files'],
  Chat: ['chat', 'responses', 'messages'],
  Keys: ['keys'],
  Companions: ['companions', 'callbacks'],
  Operator: ['operator', 'operator-models', 'operator-jobs', 'operator-deposits'],
  Health: ['health'],
};

export function tagsOf({ intros }: ApiProse): { name: string; description: string }[] {
  return Object.entries(pages).map(([name, [first]]) => ({
    name,
    description: intros.get(first)!,
  }));
}

/** Throws if the page has no tag. */
export function tagOf(page: string): string {
  const [tag] = Object.entries(pages).find(([, names]) => names.includes(page)) ?? [];
  if (tag === undefined) throw new Error(`docs/about.ts gives docs/api/${page}.md no tag`);
  return tag;
}

export const securitySchemes = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Authorization: Key <API_KEY>`. Keys begin with `fbx_`.',
  },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      '`Authorization: Bearer <API_KEY>` means the same, so that stock OpenAI clients work.',
  },
  XApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: '`x-api-key: <API_KEY>` means the same, for clients of Anthropic.',
  },
  OperatorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Authorization: Key <OPERATOR_KEY>`. Operator keys begin with `fbo_`.',
  },
  OperatorBearer: {
    type: 'http',
    scheme: 'bearer',
    description: '`Authorization: Bearer <OPERATOR_KEY>` means the same.',
  },
  OperatorXApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: '`x-api-key: <OPERATOR_KEY>` means the same.',
  },
  MetricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The metrics token that the operator has set. API keys are not accepted.',
  },
};

/** The ways to send an API key. */
export const keySecurity: Record<string, string[]>[] = [
  { ApiKey: [] },
  { Bearer: [] },
  { XApiKey: [] },
];
