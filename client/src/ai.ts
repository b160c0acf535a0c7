import {
  NoSuchModelError,
  type ImageModelV4,
  type LanguageModelV4,
  type ProviderV4,
  type Experimental_VideoModelV4,
} from '@ai-sdk/provider';
import { ChatModel, specificationVersion } from './ai/chat.ts';
import { imageModel } from './ai/image.ts';
import { videoModel } from './ai/video.ts';
import { Farebox, type FareboxOptions } from './farebox.ts';
import { environment } from './runtime.ts';

/** Farebox as a provider of the AI SDK. Each result has its cost in `providerMetadata.farebox`. */
export interface FareboxProvider extends ProviderV4 {
  (modelId: string): LanguageModelV4;
  image(modelId: string): ImageModelV4;
  video(modelId: string): Experimental_VideoModelV4;
  videoModel(modelId: string): Experimental_VideoModelV4;
}

export function createFarebox(options: FareboxOptions = {}): FareboxProvider {
  let made: Farebox | undefined;
  // Created on first use, because the environment may be loaded from a file after this import.
  const client = () => (made ??= new Farebox(options));
  const headers = () => {
    const key = options.apiKey ?? environment('FAREBOX_API_KEY');
    return { ...options.headers, ...(key !== undefined && { authorization: `Key ${key.trim()}` }) };
  };
  const languageModel = (modelId: string): LanguageModelV4 =>
    new ChatModel(modelId, { baseUrl: client().baseUrl, headers, fetch: options.fetch });
  const image = (modelId: string) => imageModel(client, modelId);
  const video = (modelId: string) => videoModel(client, modelId);
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion,
    languageModel,
    imageModel: image,
    image,
    videoModel: video,
    video,
    embeddingModel(modelId: string): never {
      throw new NoSuchModelError({ modelId, modelType: 'embeddingModel' });
    },
  });
}

/** A provider with the key and address of the environment (FAREBOX_API_KEY, FAREBOX_BASE_URL). */
export const farebox: FareboxProvider = createFarebox();
