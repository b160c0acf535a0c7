import { randomBytes } from 'node:crypto';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { formatUsd, parseUsd, type Farebox } from '../../index.ts';
import { Budget } from './budget.ts';
import { listen } from './http.ts';
import { createServer } from './server.ts';

export interface McpOptions {
  client: Farebox;
  version: string;
  /** USD that all calls of this server together may spend. */
  maxUsd?: string;
  /** Never ask the user before money is spent. */
  yes?: boolean;
  /** Folders that files may be uploaded from. */
  root?: string[];
  /** Listen on this port instead of standard input; 0 takes a free port. */
  http?: number;
  host?: string;
  /** For HTTP; generated if missing. */
  token?: string;
}

/** Enough for a dozen images or a few short videos: an agent may spend it without asking. */
export const defaultMaxUsd = '1';

/**
 * `fare mcp`: offers the service as tools for an agent. Returns when the agent's program
 * disconnects, or at SIGINT and SIGTERM. Standard output belongs to the protocol; messages for
 * people go to standard error.
 */
export async function runMcp(options: McpOptions): Promise<void> {
  const { client, version, root: roots = [], yes = false } = options;
  const budget = new Budget(parseUsd(options.maxUsd ?? defaultMaxUsd));
  const open = () => createServer({ client, budget, ask: !yes, roots }, version);
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const ended = new AbortController();
  const stop = () => ended.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);

  if (options.http === undefined) {
    const server = open();
    // Covers every way the connection can end: the SDK does not notice the end of the input.
    Object.assign(server.server, { onclose: stop });
    process.stdin.once('end', stop);
    await server.connect(new StdioServerTransport());
    say(`Farebox is ready for an agent and may spend ${formatUsd(budget.limit)}.`);
    await aborted(ended.signal);
    await server.close();
    return;
  }

  const token = options.token ?? randomBytes(24).toString('base64url');
  const host = options.host ?? '127.0.0.1';
  const { url, close } = await listen({ port: options.http, host, token }, open);
  say(`Farebox listens at ${url} and may spend ${formatUsd(budget.limit)}.`);
  say(options.token ? 'The token is the one you gave.' : `Authorization: Bearer ${token}`);
  await aborted(ended.signal);
  await close();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
