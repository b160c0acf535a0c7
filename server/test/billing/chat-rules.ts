/**
 * Each vendor's price of chat tokens from its own price list, with the list's address and the day
 * on which it was read. Independent of the catalog's costs, like `rules.ts`, so that a wrong row
 * shows.
 */

export type ModelRule = readonly [
  input: number,
  output: number,
  window: number | readonly [takes: number, usual: number, dearer: number],
  thinks?: 'thinks',
];

export interface ChatRule {
  /** The name of the upstream. */
  of: string;
  /**
   * By model: US dollars for a million tokens of prompt and completion, the longest prompt, from
   * which length on a prompt costs more, and whether the model thinks unseen.
   */
  models: Readonly<Record<string, ModelRule>>;
  /** Factor on the prompt's price for what is written to the vendor's cache for five minutes. */
  cache_write?: number;
  /** The same for an hour; default: as for five minutes. */
  cache_write_hour?: number;
  /** US dollars for a million tokens of audio; default: the price of the prompt. */
  audio?: number;
  /** The fewest tokens (an empty page) of a PDF page that the model itself reads. */
  page_tokens?: number;
  /** US dollars for a page of a PDF that another service reads for the vendor. */
  page?: number;
  read: string;
}

/** OpenAI's window of 1,050,000 tokens: above 272,000 a prompt costs twice as much. */
const million = [1_050_000, 272_000, 2] as const;

export const chatRules: readonly ChatRule[] = [
  {
    of: 'openai',
    models: {
      'gpt-5.4': [2.5, 15, million, 'thinks'],
      'gpt-5.4-mini': [0.75, 4.5, 272_000, 'thinks'],
      'gpt-5.2': [1.75, 14, 272_000, 'thinks'],
      // 1.25 times the listed price of a prompt, because OpenAI caches it unasked.
      'gpt-6.1-sol': [2.5, 10, million, 'thinks'],
      'gpt-6.1-terra': [1.25, 5, million, 'thinks'],
      'gpt-6-luna': [0.125, 0.5, million, 'thinks'],
    },
    read:
      'developers.openai.com/api/docs/pricing and /docs/guides/prompt-caching, of the last three ' +
      'third-party copies, 2026-11-22',
  },
  {
    of: 'openrouter',
    models: {
      'anthropic/claude-sonnet-5.5': [2, 10, 1_000_000, 'thinks'],
      'anthropic/claude-haiku-5.5': [0.1, 0.5, [1_000_000, 100_000, 5], 'thinks'],
      'anthropic/claude-sonnet-5': [2, 10, 1_000_000, 'thinks'],
      'anthropic/claude-sonnet-4.6': [3, 15, [1_000_000, 200_000, 2], 'thinks'],
      'anthropic/claude-haiku-4.5': [1, 5, 200_000, 'thinks'],
      'openai/gpt-5.2': [1.75, 14, 272_000, 'thinks'],
      // 1.25 times the listed price of a prompt, because OpenAI caches it unasked.
      'openai/gpt-6.1-terra': [1.25, 5, million, 'thinks'],
      'openai/gpt-6-luna': [0.125, 0.5, million, 'thinks'],
      // Until the end of 2026 half as much.
      'google/gemini-3.8-flash': [1.5, 7.5, 1_048_576, 'thinks'],
      // The price at DeepSeek's own peak hours.
      'deepseek/deepseek-v4.1-flash': [0.3, 1.2, 1_048_576, 'thinks'],
      'qwen/qwen3.6-plus': [0.325, 1.95, [1_000_000, 256_000, 2], 'thinks'],
      // 0.43 to 0.50 and 1.74 to 2.00, by the hour of the day.
      'z-ai/glm-4.6': [0.5, 2, 202_800, 'thinks'],
      'z-ai/glm-5.3': [1.4, 4.4, 1_048_576, 'thinks'],
    },
    // The factor of Anthropic's models.
    cache_write: 1.25,
    cache_write_hour: 2,
    // The price of Google's models.
    audio: 1,
    // mistral-ocr, the default of OpenRouter's file parser.
    page: 0.002,
    read:
      'openrouter.ai/models, /docs/guides/overview/multimodal/pdfs, ' +
      'docs.claude.com prompt caching, ai.google.dev pricing, November 2026',
  },
  {
    of: 'anthropic',
    models: {
      'claude-fable-5-2': [8, 40, 1_000_000, 'thinks'],
      'claude-opus-5-5': [4, 20, 1_000_000, 'thinks'],
      'claude-sonnet-5-5': [2, 10, 1_000_000, 'thinks'],
      'claude-haiku-5-5': [0.1, 0.5, [1_000_000, 100_000, 5], 'thinks'],
    },
    cache_write: 1.25,
    cache_write_hour: 2,
    page_tokens: 800,
    read: 'platform.claude.com/docs/en/models, of October and November 2026, 2026-11-28',
  },
  {
    of: 'groq',
    models: {
      'openai/gpt-oss-120b': [0.15, 0.6, 131_072, 'thinks'],
      'openai/gpt-oss-20b': [0.075, 0.3, 131_072, 'thinks'],
      'qwen/qwen3.8-27b': [0.8, 4, 131_072, 'thinks'],
    },
    read: 'groq.com/pricing, as copies of August and September 2026 have it, 2026-11-22',
  },
  {
    of: 'together',
    models: {
      'meta-llama/Llama-3.3-70B-Instruct-Turbo': [1.04, 1.04, 131_072],
      'openai/gpt-oss-120b': [0.15, 0.6, 131_072, 'thinks'],
      'openai/gpt-oss-20b': [0.05, 0.2, 131_072, 'thinks'],
      'moonshotai/Kimi-K3': [3, 15, 262_144, 'thinks'],
      'zai-org/GLM-5.3': [1.4, 4.4, 202_752, 'thinks'],
    },
    read: 'together.ai/pricing, as a copy of 2026-09-17 has it, 2026-11-22',
  },
];
