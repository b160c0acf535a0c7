/**
 * What each vendor takes for the tokens of a chat, as its own price list says, with where and when
 * it was read. Kept apart from the catalog's costs, as `rules.ts` is.
 */

export interface ChatRule {
  /** The upstream's name, and its model's names. */
  of: string;
  /** US dollars for a million tokens, by model: prompt, completion; and whether it thinks unseen. */
  models: Readonly<Record<string, readonly [input: number, output: number, thinks?: 'thinks']>>;
  /** Times the prompt's price, for what a caller has written to the vendor's cache. */
  cache_write?: number;
  /** US dollars for a million tokens of sound; left out: as the prompt. */
  audio?: number;
  /** US dollars for a page of a PDF that the vendor has read by another service. */
  page?: number;
  read: string;
}

export const chatRules: readonly ChatRule[] = [
  {
    of: 'openai',
    models: {
      'gpt-5.4': [2.5, 15, 'thinks'],
      'gpt-5.4-mini': [0.75, 4.5, 'thinks'],
      'gpt-5.2': [1.75, 14, 'thinks'],
      'gpt-5-mini': [0.25, 2, 'thinks'],
      'gpt-5-nano': [0.05, 0.4, 'thinks'],
      'gpt-4.1': [2, 8],
      'gpt-4.1-mini': [0.4, 1.6],
      'gpt-4o-mini': [0.15, 0.6],
    },
    read: 'platform.openai.com/docs/pricing, November 2026',
  },
  {
    of: 'openrouter',
    models: {
      'anthropic/claude-sonnet-5': [2, 10, 'thinks'],
      'anthropic/claude-sonnet-4.6': [3, 15, 'thinks'],
      'anthropic/claude-haiku-4.5': [1, 5, 'thinks'],
      'openai/gpt-5.2': [1.75, 14, 'thinks'],
      'openai/gpt-5-mini': [0.25, 2, 'thinks'],
      'google/gemini-2.5-flash': [0.3, 2.5, 'thinks'],
      'deepseek/deepseek-v4-flash': [0.14, 0.28, 'thinks'],
      'qwen/qwen3.6-plus': [0.325, 1.95, 'thinks'],
      // By the hour of the day 0.43 to 0.50, and 1.74 to 2.00.
      'z-ai/glm-4.6': [0.5, 2, 'thinks'],
    },
    // Anthropic's, for an hour.
    cache_write: 2,
    // Google's.
    audio: 1,
    // mistral-ocr, the default of its file parser.
    page: 0.002,
    read:
      'openrouter.ai/models, /docs/guides/overview/multimodal/pdfs, ' +
      'docs.claude.com prompt caching, ai.google.dev pricing, November 2026',
  },
  {
    of: 'groq',
    models: {
      'llama-3.3-70b-versatile': [0.59, 0.79],
      'llama-3.1-8b-instant': [0.05, 0.08],
      'openai/gpt-oss-120b': [0.15, 0.6, 'thinks'],
      'openai/gpt-oss-20b': [0.075, 0.3, 'thinks'],
      'qwen/qwen3-32b': [0.29, 0.59, 'thinks'],
    },
    read: 'groq.com/pricing, June 2026',
  },
  {
    of: 'together',
    models: {
      'meta-llama/Llama-3.3-70B-Instruct-Turbo': [1.04, 1.04],
      'openai/gpt-oss-120b': [0.15, 0.6, 'thinks'],
      'openai/gpt-oss-20b': [0.05, 0.2, 'thinks'],
      'moonshotai/Kimi-K2.5': [0.5, 2.8, 'thinks'],
      'zai-org/GLM-4.7': [0.45, 2, 'thinks'],
    },
    read: 'together.ai/pricing, 2026',
  },
];
