import type { InputFile, Upstream } from './upstream.ts';
import { createSandbox } from './sandbox/sandbox.ts';

/** Every upstream that there is an adapter for, and what sets it up. A catalog names no other. */
export const adapters: Readonly<Record<string, string>> = { sandbox: 'FAREBOX_SANDBOX=on' };

/** Which upstreams this process has, by name. Null: not set up. */
export interface UpstreamSettings {
  sandbox: { dir: string; concurrency: number; speed: number; inputSeconds: number } | null;
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
