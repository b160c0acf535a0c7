import type { FindUnsupported } from '../core/catalog/catalog-conflicts.ts';
import type { AdapterName, UpstreamSettings } from '../core/catalog/upstream-definition.ts';
import { createAnthropic } from './anthropic/anthropic.ts';
import { createComfyui } from './comfyui/comfyui.ts';
import { createFal } from './fal/fal.ts';
import { createHttpJob } from './http-job/http-job.ts';
import { createOpenai } from './openai/openai.ts';
import { createReplicate } from './replicate/replicate.ts';
import {
  unsupportedByAnthropic,
  unsupportedByOpenai,
  unsupportedByReplicate,
  unsupportedByWorkflows,
  unsupportedChat,
} from './unsupported-rows.ts';
import type { Upstream, UpstreamTools } from './upstream.ts';

/** The code for one kind of upstream. */
interface Adapter {
  /** Throws if the definition's options are invalid. */
  create(settings: UpstreamSettings, tools: UpstreamTools): Upstream;
  /** Finds rows that an upstream with these options can never serve. */
  findUnsupported(options: Record<string, unknown>): FindUnsupported;
}

/** Every adapter. A test names the other places to change when an adapter is added. */
export const adapters: Record<AdapterName, Adapter> = {
  openai: { create: createOpenai, findUnsupported: unsupportedByOpenai },
  anthropic: { create: createAnthropic, findUnsupported: () => unsupportedByAnthropic },
  fal: { create: createFal, findUnsupported: () => unsupportedChat },
  replicate: { create: createReplicate, findUnsupported: () => unsupportedByReplicate },
  comfyui: { create: createComfyui, findUnsupported: unsupportedByWorkflows },
  'http-job': { create: createHttpJob, findUnsupported: () => unsupportedChat },
};
