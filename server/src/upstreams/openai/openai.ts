import { completionsReader } from '../../core/apis/completions/read-reply.ts';
import { writeCompletionsCall } from '../../core/apis/completions/write-call.ts';
import { responsesReader } from '../../core/apis/responses/read-reply.ts';
import { writeResponsesCall } from '../../core/apis/responses/write-call.ts';
import { cacheMark } from '../../core/chat/optional-fields.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { FetchError } from '../../lib/outbound/fetch.ts';
import { outcomeUnreadable } from '../inputs.ts';
import type { StartJob, StartOutcome, Upstream, UpstreamTools } from '../upstream.ts';
import { createChat, type ChatForm } from './chat.ts';
import { createImages } from './images.ts';
import { checkKey, hasModel, listModels, listTerms } from './listing.ts';
import { optionsOf, type OpenaiOptions } from './options.ts';
import { createCallback, createVideos } from './videos.ts';
import { createWire, type OpenaiWire } from './wire.ts';

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

/** OpenAI and compatible servers: chat, images and videos. Throws if `options` are invalid. */
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
    chat: createChat(wire, chatForm(options), options, tools),
    ...(callsBack && { callback: createCallback(secret, tools.now) }),
    check: (signal) => checkKey(wire, options.check_path, signal),
    models: (signal) => listModels(wire, '/models', signal, options),
    ...(options.videos === 'openrouter' && {
      hasModel: (model, signal) => hasModel(wire, model, signal),
    }),
    terms: (models, signal) => listTerms(wire, models, signal),
  };
}

/** The API of a server's chat, with what its models take. */
export function chatForm(options: OpenaiOptions): ChatForm {
  const { token_limit, include_usage, developer_role, custom_tools, tool_name_max } = options;
  const passes = new Set(options.pass);
  const message_fields = new Set(options.message_fields);
  const own = { passes, tool_name_max, message_fields };
  const readsText = false;
  if (options.api === 'responses') {
    const dialect = { ...own, cacheControl: false };
    const path = '/responses';
    return { path, readsText, dialect, write: writeResponsesCall, open: responsesReader };
  }
  const cacheControl = passes.has(cacheMark);
  const more = { custom_tools, token_limit, include_usage };
  const dialect = { ...own, ...more, cacheControl, developer: developer_role };
  const path = '/chat/completions';
  return { path, readsText, dialect, write: writeCompletionsCall, open: completionsReader };
}

type Start = (job: StartJob) => Promise<StartOutcome>;

async function started(
  job: StartJob,
  wire: OpenaiWire,
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
