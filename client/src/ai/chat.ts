import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4CallOptions, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { idempotencyKeyOf } from './calls.ts';
import { fieldOf } from '../unknown.ts';

/** Chat calls through the SDK's adapter for OpenAI-compatible APIs, with their cost. */
export class ChatModel extends OpenAICompatibleChatLanguageModel {
  /**
   * Idempotency keys of failed calls, by their list of messages: the SDK retries with the same
   * list. Under the same key a call that was accepted is not charged twice.
   */
  readonly #failed = new WeakMap<object, string>();

  constructor(
    modelId: string,
    connection: { baseUrl: string; headers: () => Record<string, string>; fetch?: typeof fetch },
  ) {
    super(modelId, {
      provider: 'farebox.chat',
      url: ({ path }) => `${connection.baseUrl}${path}`,
      headers: connection.headers,
      fetch: connection.fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
      // The model's upstream fetches image URLs itself, so the SDK need not download them.
      supportedUrls: () => ({ 'image/*': [/^https?:\/\//] }),
      metadataExtractor: {
        extractMetadata: async ({ parsedBody }) => costOf(parsedBody),
        createStreamExtractor: () => {
          let cost: SharedV4ProviderMetadata | undefined;
          return {
            processChunk: (chunk) => (cost = costOf(chunk) ?? cost),
            buildMetadata: () => cost,
          };
        },
      },
    });
  }

  override doGenerate(options: LanguageModelV4CallOptions) {
    return this.#keyed(options, (keyed) => super.doGenerate(keyed));
  }

  override doStream(options: LanguageModelV4CallOptions) {
    return this.#keyed(options, (keyed) => super.doStream(keyed));
  }

  async #keyed<T>(
    options: LanguageModelV4CallOptions,
    call: (keyed: LanguageModelV4CallOptions) => Promise<T>,
  ): Promise<T> {
    if (idempotencyKeyOf(options.headers) !== undefined) return call(options);
    const key = this.#failed.get(options.prompt) ?? crypto.randomUUID();
    try {
      const headers = { ...options.headers, 'idempotency-key': key };
      const result = await call({ ...options, headers });
      this.#failed.delete(options.prompt);
      return result;
    } catch (error) {
      this.#failed.set(options.prompt, key);
      throw error;
    }
  }
}

/**
 * Version of the SDK's model interface in the installed packages: v3 with `ai` 6, v4 with `ai` 7.
 * Images and videos use the part that v3 and v4 share.
 */
export const specificationVersion: 'v4' = new ChatModel('', {
  baseUrl: '',
  headers: () => ({}),
}).specificationVersion;

/** The cost of a reply, from its body or from the one chunk that has the usage. */
function costOf(body: unknown): SharedV4ProviderMetadata | undefined {
  const id = fieldOf(body, 'id');
  const charged_usd_micro = fieldOf(fieldOf(body, 'usage'), 'cost_usd_micro');
  if (typeof charged_usd_micro !== 'string' || typeof id !== 'string') return undefined;
  return { farebox: { request_id: id.replace(/^chatcmpl-/, ''), charged_usd_micro } };
}
