import type { InputFile, Upstream } from './upstream.ts';
import { createSandbox } from './sandbox/sandbox.ts';

/** Which upstreams this process has, by name. Null: not set up. */
export interface UpstreamSettings {
  sandbox: { dir: string; concurrency: number; speed: number } | null;
}

export interface UpstreamTools {
  /** Fetches a caller's public address, through the guard. */
  download(url: string, signal: AbortSignal): Promise<InputFile>;
}

export function createUpstreams(
  settings: UpstreamSettings,
  tools: UpstreamTools,
): Map<string, Upstream> {
  const list: Upstream[] = [];
  if (settings.sandbox) list.push(createSandbox({ ...settings.sandbox, download: tools.download }));
  return new Map(list.map((upstream) => [upstream.name, upstream]));
}
