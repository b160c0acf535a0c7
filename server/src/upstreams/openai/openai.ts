import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { FetchError, isSuccess } from '../../lib/outbound/fetch.ts';
import { isObject } from '../../lib/json.ts';
import { outcomeUnreadable } from '../inputs.ts';
import { jsonOf, messageIn } from '../replies.ts';
import type { StartJob, StartOutcome, Upstream, UpstreamTools } from '../upstream.ts';
import { createCallback } from './callback.ts';
import { createChat } from './chat.ts';
import { createImages } from './images.ts';
import { callMs, hasModel, listMaxBytes, listModels, listTerms } from './listing.ts';
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
    chat: createChat(wire, options, tools),
    passes: new Set(options.pass),
    ...(callsBack && { callback: createCallback(secret, tools.now) }),
    check: (signal) => check(wire, options.check_path, signal),
    models: (signal) => listModels(wire, options, signal),
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

async function check(wire: Wire, path: string, signal: AbortSignal): Promise<string | null> {
  try {
    const reply = await wire.request(path, { maxBytes: listMaxBytes, timeoutMs: callMs, signal });
    if (!isSuccess(reply.status)) {
      const said = messageIn(jsonOf(reply.body));
      return wire.clean(`answered ${reply.status}${said === null ? '' : `: ${said}`}`);
    }
    const value = jsonOf(reply.body);
    if (value === undefined) return 'its answer is not JSON: is the address right?';
    return isSpent(value) ? 'the credit of its key is used up' : null;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return wire.clean(error.message);
  }
}

/** Whether a key's spending limit is used up; OpenRouter reports what is left. */
function isSpent(value: unknown): boolean {
  const data = isObject(value) ? value.data : undefined;
  const left = isObject(data) ? data.limit_remaining : undefined;
  return typeof left === 'number' && left <= 0;
}
