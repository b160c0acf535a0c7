import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { createBearerApi, type BearerApi } from '../bearer-api.ts';
import type { UpstreamTools } from '../upstream.ts';

/**
 * The HTTP API of a ComfyUI server. It never gets an `Origin`, which it refuses where that is not
 * its own. It has no key by itself; one that is set is for a proxy before it.
 */
export interface Api extends BearerApi {
  /** Where the bytes of an output are. */
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
