import type {
  Experimental_VideoModelV4 as VideoModelV4,
  Experimental_VideoModelV4CallOptions as VideoModelV4CallOptions,
  Experimental_VideoModelV4VideoData as VideoData,
} from '@ai-sdk/provider';
import type { Farebox } from '../farebox.ts';
import type { Model } from '../types.ts';
import { isFinal } from '../watch.ts';
import { inWords, resultOf, rowOf, submit, type MadeFiles } from './calls.ts';
import { cancelledText } from '../job.ts';
import { specificationVersion } from './chat.ts';
import { Settings, sizeOf, type FilePart } from './settings.ts';
import { fieldOf } from '../unknown.ts';

/**
 * A video model: either waits for the video in one call, or starts the request and finishes it
 * later, by polling or by a webhook.
 */
export function videoModel(client: () => Farebox, modelId: string): VideoModelV4 {
  const row = rowOf(client, modelId, 'video');

  async function begin(options: VideoModelV4CallOptions & { webhookUrl?: string }) {
    const settings = inputOf(await row(options), options);
    const job = await submit(client(), modelId, settings.input, options);
    settings.unknown(job);
    return { warnings: settings.warnings, job };
  }

  const responseOf = () => ({ timestamp: new Date(), modelId, headers: undefined });

  return {
    specificationVersion,
    provider: 'farebox.video',
    modelId,
    maxVideosPerCall: 1,
    async doGenerate(options) {
      const { warnings, job } = await begin(options);
      const response = responseOf();
      return { ...videosOf(await resultOf(client(), job, options)), warnings, response };
    },
    async doStart(options) {
      const { warnings, job } = await begin(options);
      const operation = { request_id: job.requestId };
      const quoted_usd_micro = String(job.submitted!.quoted_usd_micro);
      return {
        operation,
        warnings,
        providerMetadata: { farebox: { ...operation, quoted_usd_micro } },
        response: responseOf(),
      };
    },
    async doStatus({ operation, ...options }) {
      const job = client().attach(String(fieldOf(operation, 'request_id')));
      const status = await inWords(client(), options, () =>
        job.status({ signal: options.abortSignal }),
      );
      const response = responseOf();
      if (!isFinal(status)) return { status: 'pending', response };
      if (status.status === 'COMPLETED') {
        const made = videosOf(await resultOf(client(), job, options));
        return { status: 'completed', ...made, warnings: [], response };
      }
      const why = status.error && `${status.error.message} Nothing was charged.`;
      const error = why ?? cancelledText(status);
      return { status: 'error', error, response };
    },
    async handleWebhookOption({ webhook }) {
      const { url: webhookUrl, received } = await webhook();
      return { webhookUrl, received };
    },
  };
}

/**
 * Videos as bytes, because the SDK itself would not fetch from a service on the caller's own
 * network.
 */
function videosOf({ files, metadata }: MadeFiles) {
  const films = files.filter(({ media }) => media.content_type.startsWith('video/'));
  const videos = films.map(({ media, bytes }): VideoData => ({
    type: 'binary',
    data: bytes,
    mediaType: media.content_type,
  }));
  return { videos, providerMetadata: { farebox: metadata } };
}

function inputOf(model: Model, options: VideoModelV4CallOptions): Settings {
  const settings = new Settings(model);
  settings.set('prompt', options.prompt, 'prompt');
  // 'adaptive' needs no field: the model takes the ratio from the input by itself.
  if (options.aspectRatio !== 'adaptive') {
    settings.set('aspectRatio', options.aspectRatio, 'aspect_ratio');
  }
  if (options.resolution !== undefined) setResolution(settings, model, options.resolution);
  settings.set('duration', options.duration, 'duration_seconds', 'duration');
  settings.set('fps', options.fps, 'fps', 'frames_per_second');
  settings.set('seed', options.seed, 'seed');
  settings.set('generateAudio', options.generateAudio, 'generate_audio');
  setPictures(settings, options);
  Object.assign(settings.input, options.providerOptions.farebox);
  return settings;
}

/** Sets the resolution under the model's name for it, found by its size: 1280x720 is 720p. */
function setResolution(settings: Settings, model: Model, resolution: string): void {
  const { width, height } = sizeOf(resolution);
  const bySize = `${Math.min(width, height)}p`;
  const name = model.resolutions.find((each) => each === resolution || each === bySize);
  if (name !== undefined) return settings.set('resolution', name, 'resolution');
  const offered = model.resolutions.join(', ');
  settings.unsupported('resolution', offered ? `The model offers ${offered}.` : undefined);
}

function setPictures(settings: Settings, options: VideoModelV4CallOptions): void {
  const frame = (type: string) =>
    (options.frameImages ?? []).find(({ frameType }) => frameType === type)?.image;
  const one = (file: FilePart | undefined) => (file ? [file] : []);
  // The SDK may pass the first frame in either of two settings.
  const first = one(options.image ?? frame('first_frame'));
  const firsts = ['image_url', 'start_image_url', 'first_frame_url'];
  settings.setFiles('image', first, ['image_urls'], firsts);
  const lasts = ['end_image_url', 'tail_image_url', 'last_image_url', 'last_frame_url'];
  settings.setFiles('frameImages', one(frame('last_frame')), [], lasts);
  const references = options.inputReferences ?? [];
  const films = references.filter(isFilm);
  const pictures = references.filter((each) => !isFilm(each));
  // A model that animates one image takes it as image_url, which is unused if there is no first
  // frame.
  const free = first.length === 0 ? ['image_url'] : [];
  const lists = ['reference_image_urls', 'image_urls'];
  settings.setFiles('inputReferences', pictures, lists, free);
  settings.setFiles('inputReferences', films, ['video_urls'], ['video_url']);
}

function isFilm({ mediaType }: FilePart): boolean {
  return mediaType?.startsWith('video/') ?? false;
}
