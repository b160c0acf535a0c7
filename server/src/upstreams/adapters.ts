import type { FindUnsupported } from '../core/catalog/catalog-conflicts.ts';
import type {
  AdapterName,
  UpstreamDefinition,
  UpstreamSettings,
} from '../core/catalog/upstream-definition.ts';
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
  unsupportedStop,
} from './unsupported-rows.ts';
import type { Upstream, UpstreamTools } from './upstream.ts';

/** The code for one kind of upstream. */
interface Adapter {
  /** Throws if the definition's options are invalid. */
  create(settings: UpstreamSettings, tools: UpstreamTools): Upstream;
  /** Finds rows that an upstream with these options can never serve. */
  findUnsupported(options: Record<string, unknown>): FindUnsupported;
  /** Whether an upstream with these options can stop a job. */
  canStop(options: Record<string, unknown>): boolean;
}

const always = () => true;
const never = () => false;

/** Every adapter. A test names the other places to change when an adapter is added. */
export const adapters: Record<AdapterName, Adapter> = {
  openai: { create: createOpenai, findUnsupported: unsupportedByOpenai, canStop: never },
  anthropic: {
    create: createAnthropic,
    findUnsupported: () => unsupportedByAnthropic,
    canStop: never,
  },
  fal: { create: createFal, findUnsupported: () => unsupportedChat, canStop: always },
  replicate: {
    create: createReplicate,
    findUnsupported: () => unsupportedByReplicate,
    canStop: always,
  },
  comfyui: { create: createComfyui, findUnsupported: unsupportedByWorkflows, canStop: always },
  'http-job': {
    create: createHttpJob,
    findUnsupported: () => unsupportedChat,
    canStop: ({ cancel }) => cancel !== undefined,
  },
};

/** Finds rows that a defined upstream can never serve as they say. */
export function unsupportedBy({
  adapter,
  options,
}: Pick<UpstreamDefinition, 'adapter' | 'options'>): FindUnsupported {
  const { findUnsupported, canStop } = adapters[adapter];
  const find = findUnsupported(options);
  return (row, route) => find(row, route) ?? unsupportedStop(row, canStop(options));
}
