import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { FetchError } from '../../lib/outbound/fetch.ts';
import { outcomeUnreadable } from '../inputs.ts';
import type { StartJob, StartOutcome, Upstream, UpstreamTools } from '../upstream.ts';
import { createCallback } from './callback.ts';
import { createChat, unsaidBy } from './chat.ts';
import { checkKey } from './check.ts';
import { chatForm } from './forms.ts';
import { createImages } from './images.ts';
import { hasModel, listModels, listTerms } from './listing.ts';
import { optionsOf } from './options.ts';
import { createVideos } from './videos.ts';
import { createWire, type Wire } from './wire.ts';

const imageTasks = new Set(['text-to-image', 'edit']);
const videoTasks = new Set([
  'text-to-video',
  'image-to-video',
  'reference-to-video',
  'video-edit',
  'video-to-video/edit',
  'video-extend',
]);
/** Tasks that this adapter has a call for. */
export const openaiTasks: ReadonlySet<string> = new Set(['chat', ...imageTasks, ...videoTasks]);

/**
 * OpenAI and compatible servers: chat, images and videos. The definition's `options` describe the
 * differences. Throws if they are invalid.
 */
export function createOpenai(settings: UpstreamSettings, tools: UpstreamTools): Upstream {
  const { name, secret, concurrency } = settings;
  const options = optionsOf(settings.options);
  const wire = createWire(settings, tools, options.base_path);
  const callsBack = options.videos === 'openrouter' && secret !== null;
  const form = chatForm(options);
  const images = createImages(wire, options, tools);
  const videos = createVideos(wire, options, tools, callsBack);
  return {
    name,
    class: callsBack ? 'C+' : 'C',
    concurrency,
    start_seconds: options.start_seconds,
    synchronous: imageTasks,
    start: (job) => started(job, wire, { images, videos: videos.start }),
    poll: videos.poll,
    chat: createChat(wire, form, options, tools),
    unsaid: unsaidBy(form),
    ...(callsBack && { callback: createCallback(secret, tools.now) }),
    check: (signal) => checkKey(wire, options.check_path, signal),
    models: (signal) => listModels(wire, '/models', signal, options),
    ...(options.videos === 'openrouter' && {
      hasModel: (model, signal) => hasModel(wire, model, signal),
    }),
    terms: (models, signal) => listTerms(wire, models, signal),
  };
}

type Start = (job: StartJob) => Promise<StartOutcome>;

async function started(
  job: StartJob,
  wire: Wire,
  { images, videos }: { images: Start; videos: Start },
): Promise<StartOutcome> {
  const start = imageTasks.has(job.task) ? images : videoTasks.has(job.task) ? videos : null;
  if (start === null) {
    const message = `it has no call for the task ${job.task}`;
    return { outcome: 'not_accepted', why: 'model', message };
  }
  try {
    return await start(job);
  } catch (error) {
    const unreadable = outcomeUnreadable(error);
    if (unreadable !== null) return unreadable;
    if (error instanceof FetchError) return wire.fault(error);
    throw error;
  }
}
