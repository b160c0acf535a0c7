import type { ImageModelV4, ImageModelV4CallOptions } from '@ai-sdk/provider';
import type { Farebox } from '../farebox.ts';
import type { Model } from '../types.ts';
import { resultOf, rowOf, submit } from './calls.ts';
import { specificationVersion } from './chat.ts';
import { Settings, sizeOf } from './settings.ts';

export function imageModel(client: () => Farebox, modelId: string): ImageModelV4 {
  const row = rowOf(client, modelId, 'image');
  return {
    specificationVersion,
    provider: 'farebox.image',
    modelId,
    maxImagesPerCall: async () => mostImages(await row({})),
    async doGenerate(options) {
      const settings = inputOf(await row(options), options);
      const timestamp = new Date();
      const job = await submit(client(), modelId, settings.input, options);
      settings.unknown(job);
      const { files, metadata } = await resultOf(client(), job, options);
      const images = files.filter(({ media }) => media.content_type.startsWith('image/'));
      const shown = images.map(({ media: { width, height, file_name } }) => ({
        request_id: job.requestId,
        file_name,
        ...(width !== undefined && { width, height }),
      }));
      return {
        images: images.map(({ bytes }) => bytes),
        // The request has been charged, so it must not be made again.
        isRetryable: false,
        warnings: settings.warnings,
        providerMetadata: { farebox: { ...metadata, images: shown } },
        response: { timestamp, modelId, headers: undefined },
      };
    },
  };
}

/** The most images in one request; the SDK makes several requests for more. */
function mostImages(model: Model): number {
  const field = 'num_images';
  const settings = new Settings(model);
  if (settings.field(field) === undefined) return 1;
  return settings.maximum(field) ?? (model.max_unit === 'images' && model.max > 0 ? model.max : 1);
}

function inputOf(model: Model, options: ImageModelV4CallOptions): Settings {
  const settings = new Settings(model);
  settings.set('prompt', options.prompt, 'prompt');
  if (options.n > 1) settings.set('n', options.n, 'num_images');
  if (options.size !== undefined) setSize(settings, options.size);
  settings.set('aspectRatio', options.aspectRatio, 'aspect_ratio');
  settings.set('seed', options.seed, 'seed');
  const lists = ['image_urls', 'reference_image_urls'];
  settings.setFiles('files', options.files ?? [], lists, ['image_url']);
  settings.setFiles('mask', options.mask ? [options.mask] : [], [], ['mask_url', 'mask_image_url']);
  Object.assign(settings.input, options.providerOptions.farebox);
  return settings;
}

function setSize(settings: Settings, size: string): void {
  const { width, height } = sizeOf(size);
  if (settings.field('width') !== undefined && settings.field('height') !== undefined) {
    Object.assign(settings.input, { width, height });
  } else {
    settings.set('size', { width, height }, 'image_size');
  }
}
