import manifest from '../../../package.json' with { type: 'json' };
import { keyed } from '../account.ts';
import { runMcp, type McpOptions } from './mcp.ts';
import type { Context } from '../verb.ts';

export async function mcp(
  context: Context,
  options: Omit<McpOptions, 'client' | 'version'>,
): Promise<void> {
  const token = process.env.FAREBOX_MCP_TOKEN;
  await runMcp({
    ...options,
    ...(token && { token }),
    client: keyed(context),
    version: manifest.version,
  });
}
