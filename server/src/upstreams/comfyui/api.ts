import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { createBearerApi, type BearerApi } from '../bearer-api.ts';
import type { UpstreamTools } from '../upstream.ts';

/**
 * The HTTP API of a ComfyUI server. Calls have no `Origin` header, because the server refuses
 * foreign origins. ComfyUI has no keys; a configured key is for a proxy in front of it.
 */
export interface Api extends BearerApi {
  /** The address of an output's bytes. */
  outputSource(file: { filename: string; subfolder: string }): {
    url: string;
    headers?: Record<string, string>;
  };
}

export function createApi(settings: UpstreamSettings, tools: UpstreamTools): Api {
  const { url, key } = settings;
  return {
    ...createBearerApi(settings, tools),
    outputSource({ filename, subfolder }) {
      const query = new URLSearchParams({ filename, subfolder, type: 'output' });
      const headers = key === null ? {} : { headers: { authorization: `Bearer ${key}` } };
      return { url: `${url}/view?${query}`, ...headers };
    },
  };
}
